//! A broken promise.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BrokenPromise {
    pub(crate) promise: &'static str,
    pub(crate) what: String,
}

impl BrokenPromise {
    pub(crate) fn new(promise: &'static str, what: impl Into<String>) -> Self {
        Self { promise, what: what.into() }
    }
}

impl fmt::Display for BrokenPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is broken: {}", self.promise, self.what)
    }
}
