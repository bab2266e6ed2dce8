//! What is worked out once about a lifecycle and asked again and again.

use std::collections::BTreeMap;

use trackside_lifecycle::model::{Lifecycle, Pack};
use trackside_lifecycle::name::Name;

use crate::values::{Known, known};

/// A lifecycle, its pack, and what its fields can hold.
#[derive(Debug)]
pub struct Facts<'a> {
    pub pack: &'a Pack,
    pub life: &'a Lifecycle,
    pub known: BTreeMap<Name, Known>,
}

impl<'a> Facts<'a> {
    pub fn new(pack: &'a Pack, life: &'a Lifecycle) -> Self {
        Self { pack, life, known: known(pack, life) }
    }
}
