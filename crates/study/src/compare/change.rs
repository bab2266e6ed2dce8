//! One difference between two definitions, as text and for machines.

use serde::Serialize;
use trackside_lifecycle::name::Name;

/// One thing that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    pub kind: ChangeKind,
    pub direction: Direction,
    /// None: the change is in the pack's shared declarations.
    pub lifecycle: Option<Name>,
    /// Its subject: `state REVIEW`, `start from ASSIGNED`.
    pub subject: String,
    pub sentence: String,
    /// Only texts for people changed, not behaviour.
    pub wording: bool,
    /// Whether it changes the states or moves of entities.
    #[serde(skip)]
    pub path: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    Added,
    Removed,
    Changed,
}

/// The meaning of a change for running entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Less is possible, or more is required.
    Tighter,
    Looser,
    Longer,
    Shorter,
    /// Neither, or unknown.
    Neutral,
}

impl ChangeKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

impl Direction {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tighter => "tighter",
            Self::Looser => "looser",
            Self::Longer => "longer",
            Self::Shorter => "shorter",
            Self::Neutral => "neutral",
        }
    }

    /// The other way round.
    pub fn opposite(self) -> Self {
        match self {
            Self::Tighter => Self::Looser,
            Self::Looser => Self::Tighter,
            Self::Longer => Self::Shorter,
            Self::Shorter => Self::Longer,
            Self::Neutral => Self::Neutral,
        }
    }
}

impl Change {
    /// Its rank in a list: removals and restrictions first, texts last.
    pub fn weight(&self) -> u8 {
        match (self.wording, self.kind, self.direction) {
            (true, ..) => 9,
            (_, ChangeKind::Removed, _) if self.path => 0,
            (_, _, Direction::Tighter) => 1,
            (_, _, Direction::Shorter) => 2,
            (_, ChangeKind::Removed, _) => 3,
            (_, ChangeKind::Changed, Direction::Neutral) => 4,
            (_, _, Direction::Longer) => 5,
            (_, ChangeKind::Added, _) if self.path => 6,
            (_, _, Direction::Looser) => 7,
            (_, ChangeKind::Added, _) => 8,
        }
    }
}

/// The changes of each lifecycle, the pack's own first, the most important first in each list.
pub fn group_by_lifecycle(changes: &[Change]) -> Vec<(Option<Name>, Vec<&Change>)> {
    let mut groups: Vec<(Option<Name>, Vec<&Change>)> = Vec::new();
    for change in changes {
        match groups.iter_mut().find(|(name, _)| *name == change.lifecycle) {
            Some((_, list)) => list.push(change),
            None => groups.push((change.lifecycle.clone(), vec![change])),
        }
    }
    for (_, list) in &mut groups {
        list.sort_by_key(|it| it.weight());
    }
    groups.sort_by_key(|(name, _)| name.is_some());
    groups
}
