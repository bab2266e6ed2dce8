//! What is written behind the journal: everything that was decided between two of its entries, coalesced.

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

/// All that has changed since the position before, as plain data. Written in one transaction.
#[derive(Clone, Debug, Default)]
pub struct Projection {
    /// The last entry that is in it; what is stored becomes what the journal says up to there.
    pub position: u64,
    /// The time of that entry.
    pub at: Timestamp,
    /// Each entity that was touched, as it now is.
    pub entities: Vec<EntityRow>,
    pub groups: BTreeMap<GroupKey, GroupChange>,
    /// Changes of rankings, in the order in which they happened.
    pub reranked: Vec<Reranked>,
    /// Lifecycle, value and the id of who let go of it: it is free unless another has it.
    pub freed: BTreeSet<(Name, Name, Name)>,
    /// Lifecycle and value, and who has it now.
    pub sames: BTreeMap<(Name, Name), Option<EntityKey>>,
    /// Idempotency keys, with the entry they came with.
    pub keys: Vec<(u64, Timestamp, KeyRecord)>,
    /// Entries that people are to look at: alerts, violations, notifications, messages.
    pub notices: Vec<Notice>,
    /// Kinds and numbers of such entries that are not to be looked at any more.
    pub settled: Vec<(&'static str, u64)>,
    /// How long states were stayed in: lifecycle, state, milliseconds, as they were left.
    pub stays: Vec<(Name, Name, i64)>,
    pub project: Option<Project>,
    /// Entities of which something was kept that they never were: all that is kept of them is written anew, and
    /// those in each state are counted anew.
    pub remade: BTreeSet<EntityKey>,
    /// Of these, the groups that each is in: it is in no other, and those in them and in the groups of it are counted anew.
    pub regrouped: BTreeMap<EntityKey, Vec<GroupKey>>,
}

/// An entity and what it can be found by.
#[derive(Clone, Debug)]
pub struct EntityRow {
    pub entity: Arc<Entity>,
    /// Whether its state is one that it does not leave.
    pub last: bool,
    /// Values of the fields that its lifecycle declares as indexes.
    pub indexed: Vec<(Name, Value)>,
    /// When it becomes overdue, where it does; see `Reader::overdue`.
    pub overdue_at: Option<Timestamp>,
}

/// How a group has changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupChange {
    /// More or fewer in a state.
    pub counts: BTreeMap<Name, i64>,
    /// Who joined (true) or left (false) since.
    pub members: BTreeMap<EntityKey, bool>,
    pub moved_at: Timestamp,
}

/// An entry that is looked up by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub seq: u64,
    /// `ALERT_RAISED`, `VIOLATION` and so on.
    pub kind: &'static str,
    pub entity: EntityKey,
}
