//! Results of MCP tools that no HTTP route has.

use serde::Serialize;
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

use crate::entity::{EntityBody, LeaseBody};
use crate::entry::EntryBody;
use crate::explain::HeadlineBody;
use crate::work::{WorkBody, WorkEventBody};

/// The work of the caller: the result of the tool `my_work`.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkSummary {
    /// Your identity.
    pub you: WorkerIdentity,
    #[schema(format = DateTime)]
    pub now: String,
    /// The entity of your run, or the one you asked for: its instructions, and the events that you may fire, each with the JSON Schema of its fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskInstructions>,
    /// Open entities that name you: you work on them, review them or wait for them.
    pub yours: Vec<EntityBrief>,
    /// The entities that `claim` would give you now, by lifecycle.
    pub claimable: Vec<ClaimableEntity>,
    /// Approval requests that you may decide.
    pub decisions: Vec<EntityBrief>,
    /// Other open entities that the rules let you move.
    pub open: Vec<EntityBrief>,
    /// True if there are more entities than listed. Ask for one lifecycle, or use `list`.
    pub more: bool,
}

/// What an agent is asked to do with an entity.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TaskInstructions {
    pub lifecycle: String,
    pub id: String,
    pub role: String,
    pub state: String,
    pub instructions: String,
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<WorkEventBody>,
}

impl From<&WorkBody> for TaskInstructions {
    fn from(work: &WorkBody) -> Self {
        Self {
            lifecycle: work.lifecycle.to_string(),
            id: work.id.to_string(),
            role: work.role.to_string(),
            state: work.entity.state.to_string(),
            instructions: work.instructions.clone(),
            events: work.events.clone(),
        }
    }
}

/// The identity of an actor.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerIdentity {
    pub actor: String,
    /// `human`, `agent` or `system`.
    pub kind: String,
    pub roles: Vec<String>,
    /// The actor on whose behalf you act; null if there is none.
    pub acting_for: Option<String>,
}

/// A summary of an entity. `show` returns the whole entity.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntityBrief {
    pub lifecycle: String,
    pub id: String,
    pub state: String,
    pub version: u64,
    /// The fields that name you.
    #[serde(rename = "as", skip_serializing_if = "Vec::is_empty")]
    pub naming_fields: Vec<String>,
    /// The target states that the rules permit you. Required fields are not considered.
    pub allowed_transitions: Vec<String>,
    /// Short fields. For a request that you may decide: all fields except those in `leftOut`.
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// For a request that you may decide: fields that are too long to list. Call `show` before you decide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The leases that you hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<LeaseBody>,
}

/// An entity that a claim would give you.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ClaimableEntity {
    pub lifecycle: String,
    /// The transition that would claim it.
    pub event: String,
    /// The id of the entity.
    pub id: String,
}

/// The short result of the tool `explain`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainBrief {
    /// The entity, as `LIFECYCLE/ID`.
    pub entity: String,
    pub state: String,
    pub headline: HeadlineBody,
    /// Transitions from the state: yours first.
    pub moves: Vec<MoveBrief>,
    /// The number of transitions that are left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// The next timer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A transition in a short explanation.
#[derive(Clone, Debug, Serialize)]
pub struct MoveBrief {
    pub event: String,
    /// The possible target states; empty if the entity stays in its state.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<String>,
    /// True if it would be accepted now, without fields.
    pub ready: bool,
    /// What a request must send.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// The first condition that fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmet: Option<String>,
    /// Who may take it, if you may not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The result of the tool `claim`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ClaimReply {
    /// False if there is nothing for you to claim now.
    pub claimed: bool,
    /// The claimed entity, with your lease and its fence; null if there is none.
    #[schema(value_type = Option<Object>)]
    pub entity: Option<EntityBody>,
    /// The journal entry of the claim; null if there is none.
    #[schema(value_type = Option<Object>)]
    pub transition: Option<EntryBody>,
}

/// The result of the tool `wait`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WaitReply {
    /// True if the condition became true; false if the time ran out.
    pub happened: bool,
    /// The current entity.
    #[schema(value_type = Option<Object>)]
    pub entity: Option<EntityBody>,
    /// The entities that you can claim now.
    pub claimable: Vec<ClaimableEntity>,
}
