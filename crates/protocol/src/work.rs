//! The work of agents: what an agent is asked, and the event that follows a step of its run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use trackside_engine::work::{Instructions, OfferedEvent};
use trackside_lifecycle::model::{FieldType, Fit, Lifecycle, RoleWork, WorkStep};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use utoipa::ToSchema;

use crate::changes::{ChangeSummaryBody, WorktreeBody};
use crate::entity::{EntityBody, FieldMap, as_json};
use crate::entry::EntryBody;
use crate::number::optional_whole_number;

/// What an agent is asked to do with an entity.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Work)]
pub struct WorkBody {
    #[schema(value_type = String)]
    pub lifecycle: Name,
    #[schema(value_type = String)]
    pub id: Name,
    #[schema(value_type = String)]
    pub role: Name,
    /// The agent: you, or the actor on whose behalf you ask.
    #[schema(value_type = String)]
    pub agent: Name,
    /// Everything the agent needs to know: the task, feedback, notes, the events and what happens at the end.
    pub instructions: String,
    /// What the last review said; null if there is nothing.
    #[serde(serialize_with = "as_json")]
    #[schema(value_type = Value)]
    pub feedback: Value,
    /// The notes of the process before; null if there are none.
    #[serde(serialize_with = "as_json")]
    #[schema(value_type = Value)]
    pub handoff: Value,
    /// The entity, without its leases.
    pub entity: EntityBody,
    /// The events that the agent may fire now.
    pub events: Vec<WorkEventBody>,
    /// The event that takes the entity, if the agent may fire it now; else null.
    #[schema(value_type = Option<String>)]
    pub claim: Option<Name>,
    /// The event that is fired when a run ended well without moving the entity.
    #[schema(value_type = Option<String>)]
    pub done: Option<Name>,
    /// The event that is fired when a run failed for good.
    #[schema(value_type = Option<String>)]
    pub failed: Option<Name>,
    /// Conditions that must hold before the agent starts; empty if it may start now.
    pub waits: Vec<String>,
    /// The worktree of the entity; null if none was reported.
    pub worktree: Option<WorktreeBody>,
    /// What changed in the work on the entity, and where it can be read; null if nothing was reported.
    pub change: Option<WorkChange>,
}

/// The latest change of the work on an entity, without its lines.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WorkChange {
    #[serde(flatten)]
    pub change: ChangeSummaryBody,
    /// The route that returns its files and lines.
    pub route: String,
    /// The command that prints them.
    pub command: String,
}

/// An event that an agent may fire.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WorkEvent)]
pub struct WorkEventBody {
    #[schema(value_type = String)]
    pub event: Name,
    /// The possible target states; empty if the state stays.
    #[schema(value_type = Vec<String>)]
    pub to: Vec<Name>,
    pub about: String,
    /// True if the request must give a reason.
    pub needs_reason: bool,
    /// What the fields must fulfil.
    pub conditions: Vec<String>,
    /// The JSON Schema of `fields`.
    #[schema(value_type = Object)]
    pub schema: FieldSchema,
}

/// A JSON Schema of a value.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldSchema {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<&'static str>,
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<FieldSchema>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<Name, FieldSchema>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<Name>,
}

impl WorkBody {
    /// The answer for an agent.
    pub fn new(work: &RoleWork, agent: Name, instructions: &Instructions, entity: EntityBody) -> Self {
        let event = |step: WorkStep| work.event(step).map(|it| it.fire.clone());
        // A fence belongs to the runner.
        let entity = EntityBody { leases: Vec::new(), ..entity };
        Self {
            lifecycle: entity.lifecycle.clone(),
            id: entity.id.clone(),
            role: work.role.clone(),
            agent,
            instructions: instructions.text.clone(),
            feedback: instructions.feedback.clone(),
            handoff: instructions.handoff.clone(),
            entity,
            events: instructions.events.iter().map(WorkEventBody::from).collect(),
            claim: instructions.claim.clone(),
            done: event(WorkStep::Done),
            failed: event(WorkStep::Failed),
            waits: instructions.waits.clone(),
            worktree: None,
            change: None,
        }
    }
}

impl From<&OfferedEvent> for WorkEventBody {
    fn from(offered: &OfferedEvent) -> Self {
        let mut schema = FieldSchema { kind: Some("object"), ..FieldSchema::default() };
        for field in &offered.fields {
            let mut of_field = FieldSchema::of(&field.fits);
            of_field.description.clone_from(&field.about);
            schema.properties.insert(field.name.clone(), of_field);
            schema.required.extend(field.required.then(|| field.name.clone()));
        }
        Self {
            event: offered.event.clone(),
            to: offered.to.clone(),
            about: offered.about.clone(),
            needs_reason: offered.needs_reason,
            conditions: offered.conditions.clone(),
            schema,
        }
    }
}

impl FieldSchema {
    /// The schema of a field of this type.
    pub fn of(ty: &FieldType) -> Self {
        let plain = |kind: &'static str| Self { kind: Some(kind), ..Self::default() };
        match &ty.fit {
            Fit::Any => Self::default(),
            Fit::Bool => plain("boolean"),
            Fit::Int { min, max } => Self { minimum: *min, maximum: *max, ..plain("integer") },
            Fit::Number { min, max } => Self { minimum: *min, maximum: *max, ..plain("number") },
            Fit::Text { min, max, .. } => Self { min_length: *min, max_length: *max, ..plain("string") },
            Fit::Choice(values) => Self { values: values.to_vec(), ..plain("string") },
            Fit::Time => Self { format: Some("date-time"), ..plain("string") },
            Fit::Span => Self { description: "A span such as 15m".to_owned(), ..plain("string") },
            Fit::List { items, min, max, .. } => {
                let items = Some(Box::new(Self::of(items)));
                Self { items, min_items: *min, max_items: *max, ..plain("array") }
            }
            Fit::Object { properties, required } => Self {
                properties: properties.iter().map(|(name, it)| (name.clone(), Self::of(it))).collect(),
                required: required.clone(),
                ..plain("object")
            },
            Fit::Map(_) => plain("object"),
        }
    }
}

/// The work of one role on the entities of a lifecycle, by the names of its events.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RoleWork)]
pub struct RoleWorkBody {
    pub about: String,
    /// The event that takes an entity.
    #[schema(value_type = Option<String>)]
    pub claim: Option<Name>,
    /// True if `POST /v1/entities/{lifecycle}/claim` takes the next entity by this event.
    pub claim_route: bool,
    /// The query of the pack that lists the entities that wait for the role.
    #[schema(value_type = Option<String>)]
    pub query: Option<Name>,
    #[schema(value_type = Option<String>)]
    pub begin: Option<Name>,
    #[schema(value_type = Option<String>)]
    pub done: Option<Name>,
    #[schema(value_type = Option<String>)]
    pub failed: Option<Name>,
    #[schema(value_type = Option<String>)]
    pub meter: Option<Name>,
    #[schema(value_type = Option<String>)]
    pub note: Option<Name>,
    /// The agent's own record; null if there is none.
    pub agent: Option<WorkAgentBody>,
}

/// The record of an agent, which a runner creates before the work and leaves after it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = WorkAgent)]
pub struct WorkAgentBody {
    #[schema(value_type = String)]
    pub lifecycle: Name,
    /// The fields of the record, for the caller or the actor on whose behalf it asks.
    #[schema(value_type = Object)]
    pub fields: FieldMap,
    /// The event after the record was created.
    #[schema(value_type = Option<String>)]
    pub ready: Option<Name>,
    /// The event after the work.
    #[schema(value_type = Option<String>)]
    pub leave: Option<Name>,
}

impl RoleWorkBody {
    pub fn new(life: &Lifecycle, work: &RoleWork, agent: Option<WorkAgentBody>) -> Self {
        let event = |step: WorkStep| work.event(step).map(|it| it.fire.clone());
        Self {
            about: work.about.clone(),
            claim: work.claim.clone(),
            claim_route: life.claims_by_ranking(work),
            query: work.query.clone(),
            begin: event(WorkStep::Begin),
            done: event(WorkStep::Done),
            failed: event(WorkStep::Failed),
            meter: event(WorkStep::Meter),
            note: event(WorkStep::Note),
            agent,
        }
    }
}

/// A step of a run whose event is to be fired on its entity.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyStep {
    /// `begin`, `done`, `failed`, `meter` or `note`.
    pub action: String,
    /// Values that the runner knows better than the run: `commit`, `metered`, `meteredTokens`, `summary`, `next`,
    /// `why` and other fields of the run.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub values: Map<String, Json>,
    /// The fence of the lease under which the agent works.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole_number")]
    pub fence: Option<u64>,
}

/// Whether the event of a step was fired.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StepApplied {
    pub applied: bool,
    /// Why nothing was fired; null if an event was.
    pub why: Option<String>,
    /// The entity of the run.
    pub entity: Option<EntityBody>,
    /// The journal entry of the event; null if nothing was fired.
    pub transition: Option<EntryBody>,
    /// True if the same request was sent before under its idempotency key.
    pub replayed: bool,
}
