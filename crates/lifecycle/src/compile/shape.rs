//! What is known of every lifecycle of a pack before any expression is compiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::guard::Type;
use crate::model::FieldType;
use crate::name::Name;

/// Everything the pack's expressions may speak of.
#[derive(Debug, Default)]
pub(super) struct PackShape {
    /// Its name.
    pub pack: String,
    pub roles: BTreeMap<Name, Vec<Name>>,
    pub audiences: Vec<Name>,
    pub levels: Option<Arc<Vec<Name>>>,
    pub lifecycles: BTreeMap<Name, Shape>,
}

/// The outline of one lifecycle.
#[derive(Debug)]
pub(super) struct Shape {
    pub name: Name,
    pub one: bool,
    pub states: Arc<Vec<Name>>,
    pub finals: Vec<Name>,
    /// States that drop what is stored.
    pub erasing: Vec<Name>,
    pub sets: BTreeMap<Name, Vec<Name>>,
    pub path: Vec<Name>,
    /// Stored fields; computed ones join as they are compiled.
    pub fields: BTreeMap<Name, FieldType>,
    /// Fields nobody may send.
    pub owned: Vec<Name>,
    pub computed: Vec<Name>,
    pub refs: BTreeMap<Name, RefShape>,
    pub inverses: BTreeMap<Name, Name>,
    /// Counter to the type of its value, and whether it has several tallies.
    pub counters: BTreeMap<Name, (Type, bool)>,
    /// Counters whose tallies are kept apart by expressions.
    pub keyed: Vec<Name>,
    pub slots: Vec<Name>,
    pub rankings: BTreeMap<Name, RankingShape>,
    /// Counters that forget with time.
    pub windowed: Vec<Name>,
    pub me: Option<Name>,
    pub effects: Vec<Name>,
    /// Transition to the names its arms take.
    pub transitions: BTreeMap<Name, Vec<Name>>,
    /// The transition that creating an id again fires.
    pub again: Option<Name>,
    /// What creation takes.
    pub create_takes: Vec<Name>,
}

#[derive(Clone, Debug)]
pub(super) struct RefShape {
    pub to: Name,
    pub many: bool,
    pub inverse: Option<Name>,
}

#[derive(Clone, Debug)]
pub(super) struct RankingShape {
    /// The refs it is kept within.
    pub within: Vec<Name>,
    /// What weighs most is there, and the smaller comes first.
    pub ascending: bool,
}

impl Shape {
    pub fn is_state(&self, name: &str) -> bool {
        self.states.iter().any(|it| it == name)
    }
}
