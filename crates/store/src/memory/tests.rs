//! The memory does what every store does; crashes and faults are its own.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use super::Memory;
use crate::Store;
use crate::conformance::Place;

struct InMemory(Memory);

impl Place for InMemory {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.0.reopen())
    }
}

mod conforms {
    use super::*;

    crate::conformance!(|| Box::new(InMemory(Memory::new())) as Box<dyn Place>);
}
