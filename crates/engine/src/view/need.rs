//! What a decision must see and a partial view does not hold.

use std::sync::{Mutex, PoisonError};

use trackside_lifecycle::name::Name;

use crate::key::{EntityKey, GroupKey};
use crate::ranking::RankingKey;

/// Something that must be loaded before a question can be answered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    Entity(EntityKey),
    /// How many of a group are in which state, and when one last moved.
    Counts(GroupKey),
    /// Who they are, too.
    Members(GroupKey),
    Ranking(RankingKey),
    /// Which open entity of a lifecycle has this value.
    Same {
        lifecycle: Name,
        value: Name,
    },
    /// What came of a command under its idempotency key.
    Key {
        actor: Name,
        key: Name,
    },
}

impl std::fmt::Display for Need {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Entity(key) => write!(f, "{key}"),
            Self::Counts(group) | Self::Members(group) => write!(f, "{} of {}", group.name, group.of),
            Self::Ranking(key) => write!(f, "{} of {}", key.name, key.lifecycle),
            Self::Same { lifecycle, value } => write!(f, "the {lifecycle} with {value}"),
            Self::Key { actor, key } => write!(f, "the key {key} of {actor}"),
        }
    }
}

/// What was asked for and not there, noted where the question was put, so that no answer is built on it.
#[derive(Debug, Default)]
pub(super) struct Missed(Mutex<Vec<Need>>);

impl Missed {
    pub fn note(&self, need: Need) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(need);
    }

    pub fn take(&self) -> Vec<Need> {
        let mut needs = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        needs.sort();
        needs.dedup();
        needs
    }
}

impl Clone for Missed {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Missed {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
