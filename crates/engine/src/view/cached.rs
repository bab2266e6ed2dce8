//! A value in a partial view, with the marks that its eviction needs.

use std::ops::{Deref, DerefMut};

#[derive(Clone, Debug, Default)]
pub(crate) struct Cached<T> {
    pub(super) value: T,
    /// Not used since the last eviction. A partial view reports an idle value as not loaded, so that its owner learns
    /// of the use and calls [`super::View::touch`].
    pub idle: bool,
    /// Of an entity: all of its groups that are not empty are loaded, too.
    pub whole: bool,
    /// Of a group: a question needed its list of members.
    pub asked: bool,
    /// The memory that it takes, about; 0 in a whole view.
    pub bytes: usize,
}

impl<T> Cached<T> {
    pub fn new(value: T) -> Self {
        Self { value, idle: false, whole: false, asked: false, bytes: 0 }
    }

    /// The value, unless it is idle.
    pub fn in_use(&self) -> Option<&T> {
        (!self.idle).then_some(&self.value)
    }

    /// Marks it as idle until its next use; false if it was already.
    pub fn retire(&mut self) -> bool {
        !std::mem::replace(&mut self.idle, true)
    }
}

impl<T> Deref for Cached<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Cached<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: PartialEq> PartialEq for Cached<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}
