//! A value that is copied when it changes, not when the view is.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value that copies of a view share until one of them changes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CopyOnWrite<T>(Arc<T>);

impl<T> From<T> for CopyOnWrite<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for CopyOnWrite<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for CopyOnWrite<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}
