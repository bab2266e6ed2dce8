//! A projection: the changes between two journal positions, coalesced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trackside_engine::entity::Entity;
use trackside_engine::event::KeyRecord;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::Reranked;
use trackside_engine::view::Project;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

/// All changes since the previous position. Written in one transaction.
#[derive(Clone, Debug, Default)]
pub struct Projection {
    /// The last entry it includes. Once written, the store matches the journal up to there.
    pub position: u64,
    /// The time of that entry.
    pub at: Timestamp,
    /// Each changed entity in its new state.
    pub entities: Vec<EntityRow>,
    pub groups: BTreeMap<GroupKey, GroupChange>,
    /// Changes of rankings, in the order in which they happened.
    pub reranked: Vec<Reranked>,
    /// Unique values that were released: lifecycle, value and the id that released it. It is free unless another
    /// entity has it.
    pub freed: BTreeSet<(Name, Name, Name)>,
    /// Unique values by lifecycle and value, with the entity that has it now.
    pub unique_values: BTreeMap<(Name, Name), Option<EntityKey>>,
    /// Idempotency keys, with the entry they came with.
    pub keys: Vec<(u64, Timestamp, KeyRecord)>,
    /// Entries that are looked up by kind: alerts, violations, notifications, messages.
    pub notices: Vec<Notice>,
    /// Kinds and numbers of such entries that are resolved.
    pub settled: Vec<(&'static str, u64)>,
    /// Dwell times of states that were left: lifecycle, state, milliseconds.
    pub dwell_times: Vec<(Name, Name, i64)>,
    pub project: Option<Project>,
    /// Entities whose stored rows were wrong. All their rows are rewritten, and the entities in each state are
    /// recounted.
    pub to_rebuild: BTreeSet<EntityKey>,
    /// For each of these, the exact groups it is in. These groups and its own are recounted.
    pub regrouped: BTreeMap<EntityKey, Vec<GroupKey>>,
}

/// An entity and the values it is indexed by.
#[derive(Clone, Debug)]
pub struct EntityRow {
    pub entity: Arc<Entity>,
    /// Whether its state is final.
    pub last: bool,
    /// Values of the fields that its lifecycle declares as indexes.
    pub indexed: Vec<(Name, Value)>,
    /// The time at which it becomes overdue, if it does.
    pub overdue_at: Option<Timestamp>,
}

/// The change of a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupChange {
    /// By how much the number in a state changes.
    pub counts: BTreeMap<Name, i64>,
    /// Members that joined (true) or left (false).
    pub members: BTreeMap<EntityKey, bool>,
    /// The time of the last move, if there was one.
    pub moved_at: Option<Timestamp>,
}

/// An entry that is looked up by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub seq: u64,
    /// `ALERT_RAISED`, `VIOLATION` and so on.
    pub kind: &'static str,
    pub entity: EntityKey,
}
