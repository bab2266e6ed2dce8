//! Data that a question must read and a partial view does not hold.

use trackside_lifecycle::name::Name;

use crate::key::{EntityKey, GroupKey};
use crate::ranking::RankingKey;

/// Data that must be loaded before a question can be answered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    Entity(EntityKey),
    /// An entity, and all entities of its lifecycle that it reaches through a field of ids.
    Reachable {
        from: EntityKey,
        by: Name,
    },
    /// The number of a group's members per state, and the time of its last move.
    Counts(GroupKey),
    /// The same, with the list of members.
    Members(GroupKey),
    Ranking(RankingKey),
    /// The open entity of a lifecycle that has this unique value.
    UniqueValue {
        lifecycle: Name,
        value: Name,
    },
    /// The record of an idempotency key.
    Key {
        actor: Name,
        key: Name,
    },
}

impl std::fmt::Display for Need {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Entity(key) => write!(f, "{key}"),
            Self::Reachable { from, by } => write!(f, "{from} and what it reaches through {by}"),
            Self::Counts(group) | Self::Members(group) => write!(f, "{} of {}", group.name, group.of),
            Self::Ranking(key) => write!(f, "{} of {}", key.name, key.lifecycle),
            Self::UniqueValue { lifecycle, value } => write!(f, "the {lifecycle} with {value}"),
            Self::Key { actor, key } => write!(f, "the key {key} of {actor}"),
        }
    }
}

/// Everything that a question read and the view does not hold: load it and ask again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs(Vec<Need>);

impl Needs {
    pub(super) fn new(mut needs: Vec<Need>) -> Self {
        needs.sort();
        needs.dedup();
        Self(needs)
    }

    /// All answers, or the needs of all questions together, so that they are loaded at once.
    pub fn collect<T>(answers: impl IntoIterator<Item = Result<T, Self>>) -> Result<Vec<T>, Self> {
        let (mut all, mut needs) = (Vec::new(), Vec::new());
        for answer in answers {
            match answer {
                Ok(it) => all.push(it),
                Err(Self(more)) => needs.extend(more),
            }
        }
        if needs.is_empty() { Ok(all) } else { Err(Self::new(needs)) }
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Need> {
        self.0.iter()
    }
}

impl IntoIterator for Needs {
    type Item = Need;
    type IntoIter = std::vec::IntoIter<Need>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl std::fmt::Display for Needs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        write!(f, "not loaded: {}", names.join(", "))
    }
}
