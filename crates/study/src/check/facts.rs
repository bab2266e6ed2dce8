//! Facts about a lifecycle that are computed once.

use std::collections::BTreeMap;

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Lifecycle, Pack, Timer, TimerKind};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::check::check_budget::CheckBudget;
use crate::check::values::{FieldValues, field_values};
use crate::truth::{DefaultSettings, Partial};

/// A lifecycle, its pack, and the possible values of its fields.
#[derive(Debug)]
pub struct Facts<'a> {
    pub pack: &'a Pack,
    pub life: &'a Lifecycle,
    pub known: BTreeMap<Name, FieldValues>,
    pub work: &'a CheckBudget<'a>,
}

impl<'a> Facts<'a> {
    pub fn new(pack: &'a Pack, life: &'a Lifecycle, work: &'a CheckBudget<'a>) -> Self {
        Self { pack, life, known: field_values(pack, life), work }
    }

    /// The field that a timer waits for, if no rule or request sets it.
    pub fn waits_for_nothing<'t>(&self, timer: &'t Timer) -> Option<&'t Name> {
        match &timer.kind {
            TimerKind::At(field) => {
                Some(field).filter(|it| self.known.get(*it).is_some_and(FieldValues::is_empty))
            }
            TimerKind::After(_) | TimerKind::Every(_) => None,
        }
    }
}

/// The value of an expression with default settings, if it depends on nothing else.
pub fn by_default(life: &Lifecycle, guard: &Guard) -> Option<Value> {
    Partial::new(&life.reads, DefaultSettings { settings: &life.settings, state: None }).value(guard)
}
