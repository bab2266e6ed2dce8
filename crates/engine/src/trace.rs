//! Records the rules that a decision touched, for coverage. Costs nothing when it is off.

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
    Supervision,
    Work,
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
            Self::Supervision => "supervision",
            Self::Work => "work",
        }
    }
}

/// The rules one decision touched.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    /// Points of which it is not known yet whether they count.
    pub(crate) open: Vec<Point>,
    pub(crate) sure: Vec<Point>,
}

impl Hits {
    /// Settles every point since `mark`: refusals count if the request was refused, everything else if it
    /// was accepted.
    pub(crate) fn settle(&mut self, mark: usize, accepted: bool) {
        let since = self.open.split_off(mark.min(self.open.len()));
        self.sure.extend(since.into_iter().filter(|it| match it.kind {
            PointKind::Refusal => !accepted,
            PointKind::Invariant | PointKind::Supervision | PointKind::Work => true,
            PointKind::Transition | PointKind::Deadline | PointKind::Counter | PointKind::Reaction => {
                accepted
            }
        }));
    }
}

impl Trace {
    /// Adds points that were reached.
    pub fn add(&self, points: Vec<Point>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(points);
    }

    pub fn points(&self) -> BTreeSet<Point> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
