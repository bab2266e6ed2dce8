//! Something kept in memory, and whether anybody has used it lately.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// A value that knows whether it was used since somebody last asked.
#[derive(Debug, Default)]
pub(crate) struct Held<T> {
    value: T,
    used: AtomicBool,
    /// Everything that belongs to it is here, too.
    pub whole: bool,
    /// Somebody wanted to know all of it.
    pub asked: bool,
}

impl<T> Held<T> {
    pub fn new(value: T) -> Self {
        Self { value, used: AtomicBool::new(true), whole: false, asked: false }
    }

    pub fn whole(value: T) -> Self {
        Self { whole: true, ..Self::new(value) }
    }

    pub fn asked(value: T) -> Self {
        Self { asked: true, ..Self::new(value) }
    }

    /// The value, noting that it was used.
    pub fn used(&self) -> &T {
        self.used.store(true, Ordering::Relaxed);
        &self.value
    }

    /// Whether it was used since the last time this was asked.
    pub fn was_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }
}

impl<T> Deref for Held<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Held<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Clone> Clone for Held<T> {
    fn clone(&self) -> Self {
        Self { whole: self.whole, asked: self.asked, ..Self::new(self.value.clone()) }
    }
}

impl<T: PartialEq> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}
