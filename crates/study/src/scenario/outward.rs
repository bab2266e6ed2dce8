//! Results of a step as JSON, in the form that clients of the server get.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value as Json;
use trackside_engine::actor::Actor;
use trackside_engine::entity::Entity;
use trackside_engine::event::Entry;
use trackside_engine::present::PresentedEntity;
use trackside_engine::supervise::{Act, Verdict};
use trackside_engine::work::Instructions;
use trackside_engine::world::World;
use trackside_lifecycle::name::Name;
use trackside_protocol::{EntityBody, EntryBody, FieldMap};

pub(super) fn to_json(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

pub(super) fn entry_json(entry: &Entry) -> Json {
    to_json(&EntryBody::new(entry))
}

/// An entity as a reader sees it; null if a rule cannot be evaluated.
pub(super) fn entity_json(world: &World, entity: &Entity, reader: &Actor) -> Json {
    let entity = Arc::new(entity.clone());
    match PresentedEntity::new(&world.law, &world.view, &entity, reader, world.now) {
        Ok(presented) => to_json(&EntityBody::from(&presented)),
        Err(_) => Json::Null,
    }
}

/// The answer to a heartbeat: the reasons to stop, if there are any.
#[derive(Serialize)]
pub(super) struct HeartbeatResult<T> {
    pub stop: T,
}

/// The decision of the risk policy on an action.
#[derive(Serialize)]
pub(super) struct PolicyResult {
    pub level: Name,
    pub outcome: &'static str,
    pub why: String,
    /// The action that the call counts as for the tools of a state.
    pub action: Name,
}

/// The member of a result with the instructions of an agent.
pub(super) const INSTRUCTIONS: &str = "instructions";

/// What an agent is asked.
#[derive(Serialize)]
pub(super) struct WorkResult {
    pub instructions: String,
    pub feedback: Json,
    pub handoff: Json,
    /// The names of the events that the agent may fire now.
    pub events: Vec<Name>,
    pub claim: Option<Name>,
    /// Conditions that must hold before the agent starts.
    pub waits: Vec<String>,
}

impl From<&Instructions> for WorkResult {
    fn from(it: &Instructions) -> Self {
        Self {
            instructions: it.text.clone(),
            feedback: it.feedback.to_json(),
            handoff: it.handoff.to_json(),
            events: it.events.iter().map(|it| it.event.clone()).collect(),
            claim: it.claim.clone(),
            waits: it.waits.clone(),
        }
    }
}

/// The event that followed a step of a run.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum WorkEventResult {
    Applied { applied: bool, event: Name, with: FieldMap, reason: Option<String> },
    Nothing { applied: bool, why: String },
}

/// The action of the supervisor after the exit of a process.
#[derive(Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum ExitResult {
    Stop { why: String },
    Restart { after: String, why: String },
    Wait { after: String, why: String },
    Hold { why: String },
    GiveUp { on: Name, fire: Name, with: FieldMap, why: String },
}

impl From<&Verdict> for ExitResult {
    fn from(verdict: &Verdict) -> Self {
        let why = verdict.why.clone();
        match &verdict.act {
            Act::Stop => Self::Stop { why },
            Act::Restart { after } => Self::Restart { after: after.to_string(), why },
            Act::Wait { after } => Self::Wait { after: after.to_string(), why },
            Act::Hold => Self::Hold { why },
            Act::GiveUp { on, fire, fields } => {
                Self::GiveUp { on: on.clone(), fire: fire.clone(), with: fields.iter().collect(), why }
            }
        }
    }
}
