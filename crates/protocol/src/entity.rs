//! Entities in responses.

use serde::{Serialize, Serializer};
use trackside_engine::present::PresentedEntity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
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
    /// The running timers.
    pub timers: Vec<TimerBody>,
    /// Facts about a past moment that cannot be found out and are left out: names of computed fields, or
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

/// An open approval request.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Approval)]
pub struct ApprovalBody {
    #[serde(flatten)]
    pub entity: EntityBody,
    /// True if the request is marked as urgent.
    pub urgent: bool,
}

/// A running timer.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Timer)]
pub struct TimerBody {
    /// When the timer is due.
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = String, format = DateTime)]
    pub due_at: Timestamp,
    #[schema(value_type = String)]
    pub name: Name,
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
    #[schema(value_type = String)]
    pub holder: Name,
    #[schema(value_type = String)]
    pub slot: Name,
}

impl From<&PresentedEntity> for EntityBody {
    fn from(presented: &PresentedEntity) -> Self {
        let PresentedEntity { entity, facts, now } = presented;
        let lease = |(slot, holder, lease): (&Name, &Name, &trackside_engine::entity::Lease)| LeaseBody {
            expires_at: lease.expires_at,
            fence: lease.fence,
            holder: holder.clone(),
            slot: slot.clone(),
        };
        let timer = |(name, due_at): (&Name, Timestamp)| TimerBody { due_at, name: name.clone() };
        Self {
            allowed_transitions: facts.allowed.clone(),
            archive_file: None,
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

pub(crate) fn as_json<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    Outward(value).serialize(serializer)
}
