//! Promises, ready to be explored.

use super::lifecycle::StateSet;
use crate::guard::Guard;
use crate::name::Name;
use crate::time::Span;

/// A property that `check` and `explore` verify.
#[derive(Clone, Debug)]
pub struct Property {
    /// In one sentence.
    pub says: String,
    /// Only for entities in these states.
    pub within: Option<StateSet>,
    /// Only right after these transitions; none means at any time.
    pub on: Vec<Name>,
    pub kind: PropertyKind,
}

#[derive(Clone, Debug)]
pub enum PropertyKind {
    Never(Guard),
    Always(Guard),
    Reachable(Guard),
    /// By time alone.
    Eventually {
        goal: Guard,
        when: Option<Guard>,
        within: Option<Span>,
    },
    /// No single actor.
    Alone {
        who: Guard,
        from: Guard,
        to: Guard,
    },
}

impl PropertyKind {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Never(_) => "never",
            Self::Always(_) => "always",
            Self::Reachable(_) => "reachable",
            Self::Eventually { .. } => "eventually",
            Self::Alone { .. } => "alone",
        }
    }

    /// Its expressions.
    pub fn guards(&self) -> Vec<&Guard> {
        match self {
            Self::Never(it) | Self::Always(it) | Self::Reachable(it) => vec![it],
            Self::Eventually { goal, when, .. } => std::iter::once(goal).chain(when).collect(),
            Self::Alone { who, from, to } => vec![who, from, to],
        }
    }
}
