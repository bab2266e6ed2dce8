//! Entities in responses.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use trackside_engine::apply::lease_timer;
use trackside_engine::decide::CounterValue;
use trackside_engine::entity::{Lease, TimerState};
use trackside_engine::present::PresentedEntity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::{Outward, Value};
use utoipa::ToSchema;

/// An entity as the caller sees it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Entity)]
pub struct EntityBody {
    /// The target states that the rules permit the caller from the current state. Required fields are not considered.
    #[schema(value_type = Vec<String>)]
    pub allowed_transitions: Vec<Name>,
    /// The file in the data folder with its journal entries, if it is in long-term storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive_file: Option<String>,
    /// The counters that you may see, by name. Absent if there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, CounterBody>, required = false)]
    pub counters: BTreeMap<Name, CounterBody>,
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// The version of the lifecycle that the entity follows.
    pub definition: u32,
    #[schema(value_type = Object)]
    pub fields: FieldMap,
    /// True if no transition leaves its state.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// The number of its life, from 2 on: its id had ended and was created again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u32>,
    #[schema(value_type = String)]
    pub id: Name,
    pub leases: Vec<LeaseBody>,
    #[schema(value_type = String)]
    pub lifecycle: Name,
    /// The state before the current one; null if there was none.
    #[schema(value_type = Option<String>)]
    pub previous_state: Option<Name>,
    #[schema(value_type = String)]
    pub state: Name,
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = String, format = DateTime)]
    pub state_entered_at: Timestamp,
    /// Seconds since it entered its state.
    pub time_in_state: f64,
    /// The running timers, and those that are paused in the current state.
    pub timers: Vec<TimerBody>,
    /// Facts about a past moment that cannot be found out and are left out: names of computed fields or counters, or
    /// `allowedTransitions`. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>, required = false)]
    pub unknown: Vec<Name>,
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// Increases when the entity changes.
    pub version: u64,
}

/// The values of a counter.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Counter)]
pub struct CounterBody {
    /// Its value; absent if it separates its tallies by keys. Of a counter per state, that of the present state.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_number")]
    #[schema(value_type = Option<f64>)]
    pub value: Option<Value>,
    /// Its limit; absent if it has none, or if the limit depends on a request.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_number")]
    #[schema(value_type = Option<f64>)]
    pub limit: Option<Value>,
    /// The tallies that are not zero, by key or by state. Absent if there are none.
    #[serde(skip_serializing_if = "FieldMap::is_empty")]
    #[schema(value_type = BTreeMap<String, f64>, required = false)]
    pub by_key: FieldMap,
}

impl From<&CounterValue> for CounterBody {
    fn from(it: &CounterValue) -> Self {
        let by_key = it.by_key.iter().map(|(key, value)| (key, value)).collect();
        Self { value: it.value.clone(), limit: it.limit.clone(), by_key }
    }
}

/// An open approval request.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Approval)]
pub struct ApprovalBody {
    #[serde(flatten)]
    pub entity: EntityBody,
    /// True if the request is marked as urgent.
    pub urgent: bool,
}

/// A timer: running, or paused in the current state.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Timer)]
pub struct TimerBody {
    /// When the timer is due; null while it is paused.
    #[serde(serialize_with = "as_optional_text")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub due_at: Option<Timestamp>,
    #[schema(value_type = String)]
    pub name: Name,
    /// True if it does not run in the current state and will continue in another one.
    pub paused: bool,
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// The percentages of its time at which it warns, such as 80.
    pub warn: Vec<u32>,
}

/// A lease with its holder.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Lease)]
pub struct LeaseBody {
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// Increases with every grant of the lease. Send it with requests under this lease.
    pub fence: u64,
    /// How long after its end the lease is lost, such as `30s`.
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = String)]
    pub grace: Span,
    /// When the holder got it; null if that is not stored.
    #[serde(serialize_with = "as_optional_text")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub granted_at: Option<Timestamp>,
    #[schema(value_type = String)]
    pub holder: Name,
    /// The time between its last renewal and its end, such as `15m`.
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = String)]
    pub length: Span,
    #[schema(value_type = String)]
    pub slot: Name,
}

impl LeaseBody {
    fn new(slot: &Name, holder: &Name, lease: &Lease, timer: Option<&TimerState>) -> Self {
        // The timer of a lease starts with each renewal and ends with the grace.
        let ends_at = timer.and_then(TimerState::ends_at).unwrap_or(lease.expires_at);
        let renewed_at = timer.map_or(lease.expires_at, |it| it.started_at);
        Self {
            expires_at: lease.expires_at,
            fence: lease.fence,
            grace: ends_at.since(lease.expires_at),
            granted_at: lease.granted_at,
            holder: holder.clone(),
            length: lease.expires_at.since(renewed_at),
            slot: slot.clone(),
        }
    }
}

impl From<&PresentedEntity> for EntityBody {
    fn from(presented: &PresentedEntity) -> Self {
        let PresentedEntity { entity, facts, now } = presented;
        let lease = |(slot, holder, lease): (&Name, &Name, &Lease)| {
            LeaseBody::new(slot, holder, lease, entity.timer(&lease_timer(slot)))
        };
        let timer = |(name, timer): &(Name, TimerState)| TimerBody {
            due_at: timer.ends_at(),
            name: name.clone(),
            paused: timer.running_since.is_none(),
            started_at: timer.started_at,
            warn: presented.warnings(name).to_vec(),
        };
        Self {
            allowed_transitions: facts.allowed.clone(),
            archive_file: None,
            counters: facts.counters.iter().map(|it| (it.name.clone(), CounterBody::from(it))).collect(),
            created_at: entity.created_at,
            definition: entity.definition,
            fields: presented.fields().into_iter().collect(),
            is_final: facts.is_final,
            generation: (entity.generation > 1).then_some(entity.generation),
            id: entity.key.id.clone(),
            leases: presented.leases().map(lease).collect(),
            lifecycle: entity.key.lifecycle.clone(),
            previous_state: entity.previous_state.clone(),
            state: entity.state.clone(),
            state_entered_at: entity.state_entered_at,
            time_in_state: now.since(entity.state_entered_at).0 as f64 / 1_000.0,
            timers: presented.timers().map(timer).collect(),
            unknown: facts.unknown.clone(),
            updated_at: entity.updated_at,
            version: entity.version,
        }
    }
}

/// Values by name, written as a JSON object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldMap(pub Vec<(Name, Value)>);

impl FieldMap {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(it, _)| *it == *name).map(|(_, value)| value)
    }
}

impl<'a> FromIterator<(&'a Name, &'a Value)> for FieldMap {
    fn from_iter<I: IntoIterator<Item = (&'a Name, &'a Value)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect())
    }
}

impl Serialize for FieldMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, Outward(value))))
    }
}

pub(crate) fn as_text<S: Serializer>(
    value: &impl std::fmt::Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn as_optional_text<S: Serializer>(
    value: &Option<impl std::fmt::Display>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

fn as_number<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(Outward).serialize(serializer)
}

pub(crate) fn as_json<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    Outward(value).serialize(serializer)
}
