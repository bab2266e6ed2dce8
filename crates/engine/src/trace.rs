//! Which rules a decision touched, for coverage. Costs nothing when nobody listens.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use trackside_lifecycle::name::Name;

/// Collects the rules that were exercised.
#[derive(Debug, Default)]
pub struct Trace(Mutex<BTreeSet<Point>>);

/// One rule of a lifecycle that a scenario can exercise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    pub lifecycle: Name,
    pub kind: PointKind,
    /// Its path in the definition, for instance `transitions.start from ASSIGNED`.
    pub what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PointKind {
    Transition,
    Refusal,
    Deadline,
    Counter,
    Reaction,
    Invariant,
}

impl PointKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transition => "transition",
            Self::Refusal => "refusal",
            Self::Deadline => "deadline",
            Self::Counter => "counter",
            Self::Reaction => "reaction",
            Self::Invariant => "invariant",
        }
    }
}

impl Trace {
    pub(crate) fn hit(&self, lifecycle: &Name, kind: PointKind, what: String) {
        let mut points = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        points.insert(Point { lifecycle: lifecycle.clone(), kind, what });
    }

    pub fn points(&self) -> BTreeSet<Point> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
