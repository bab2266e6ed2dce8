//! What is worked out once about a lifecycle and asked again and again.

use std::collections::BTreeMap;

use trackside_lifecycle::model::{Lifecycle, Pack, Timer, TimerKind};
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

    /// The field that a timer waits for, if nothing ever fills it.
    pub fn waits_for_nothing<'t>(&self, timer: &'t Timer) -> Option<&'t Name> {
        match &timer.kind {
            TimerKind::At(field) => Some(field).filter(|it| self.known.get(*it).is_some_and(Known::is_empty)),
            TimerKind::After(_) | TimerKind::Every(_) => None,
        }
    }
}
