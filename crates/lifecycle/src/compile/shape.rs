//! The outline of every lifecycle of a pack, known before any expression is compiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::guard::Type;
use crate::model::FieldType;
use crate::name::Name;

/// All names that the pack's expressions may use.
#[derive(Debug, Default)]
pub(super) struct PackShape {
    /// Its name.
    pub pack: String,
    pub roles: BTreeMap<Name, Vec<Name>>,
    pub audiences: Vec<Name>,
    pub levels: Option<Arc<Vec<Name>>>,
    /// The actions that the risk policy names; none without a policy.
    pub actions: Option<Vec<Name>>,
    pub lifecycles: BTreeMap<Name, LifecycleShape>,
}

/// The outline of one lifecycle.
#[derive(Debug)]
pub(super) struct LifecycleShape {
    pub name: Name,
    pub one: bool,
    pub states: Arc<Vec<Name>>,
    pub finals: Vec<Name>,
    /// States that erase stored fields.
    pub erasing: Vec<Name>,
    pub sets: BTreeMap<Name, Vec<Name>>,
    pub path: Vec<Name>,
    /// Stored fields; computed ones join as they are compiled.
    pub fields: BTreeMap<Name, FieldType>,
    /// Fields that only the engine writes.
    pub owned: Vec<Name>,
    pub computed: Vec<Name>,
    pub refs: BTreeMap<Name, RefShape>,
    pub inverses: BTreeMap<Name, Name>,
    /// Counter to the type of its value, and whether it has several tallies.
    pub counters: BTreeMap<Name, (Type, bool)>,
    /// Counters whose tallies are separated by expressions.
    pub keyed: Vec<Name>,
    pub slots: Vec<Name>,
    pub rankings: BTreeMap<Name, RankingShape>,
    /// Counters with a time window.
    pub windowed: Vec<Name>,
    pub me: Option<Name>,
    pub effects: Vec<Name>,
    /// Transition to the names its arms take.
    pub transitions: BTreeMap<Name, Vec<Name>>,
    /// The transition that creating an id again fires, if it may leave a final state.
    pub again: Option<Name>,
    /// The fields that creation takes.
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
    /// The refs that own its orders.
    pub within: Vec<Name>,
    /// Whether it has a main weight that sorts ascending.
    pub ascending: bool,
}

impl LifecycleShape {
    pub fn is_state(&self, name: &str) -> bool {
        self.states.iter().any(|it| it == name)
    }
}
