//! Answers of the MCP tools: text for the agent, and the same content as data.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use trackside_protocol::{EntityBody, EntryBody, LeaseBody, Problem, UnmetBody};
use utoipa::ToSchema;

use crate::problem::Refused;

/// The answer to a successful call: one sentence, and data.
#[derive(Clone, Debug)]
pub(super) struct ToolAnswer {
    pub says: String,
    pub holds: Json,
}

impl ToolAnswer {
    pub fn new(says: impl Into<String>, holds: &impl Serialize) -> Self {
        Self { says: says.into(), holds: serde_json::to_value(holds).unwrap_or_default() }
    }
}

/// The result of a tool call.
pub(super) fn result(outcome: Result<ToolAnswer, Refused>) -> CallToolResult {
    let (says, holds, is_refused) = match outcome {
        Ok(told) => (told.says, told.holds, false),
        Err(refused) => (in_words(&refused.0), serde_json::to_value(&*refused.0).unwrap_or_default(), true),
    };
    let content = vec![ContentBlock::text(says), ContentBlock::text(holds.to_string())];
    let mut result = match is_refused {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    result.structured_content = Some(holds);
    result
}

/// A refusal as text: every reason, the permitted targets and who may.
fn in_words(problem: &Problem) -> String {
    let mut text = format!("Refused ({}): {}", problem.code, problem.detail);
    let reasons = problem.errors.iter().filter(|it| it.field.is_some() || it.message != problem.detail);
    for UnmetBody { field, message, .. } in reasons {
        match field {
            Some(field) => text.push_str(&format!("\n- {field}: {message}")),
            None => text.push_str(&format!("\n- {message}")),
        }
    }
    if !problem.allowed_transitions.is_empty() {
        text.push_str(&format!("\nYou can move it to: {}", problem.allowed_transitions.join(", ")));
    }
    if let Some(who) = &problem.who {
        text.push_str(&format!("\nWho may: {who}"));
    }
    text
}

/// The work of the caller.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkSummary {
    /// Your identity.
    pub you: You,
    #[schema(format = DateTime)]
    pub now: String,
    /// Open entities that name you: you work on them, review them or wait for them.
    pub yours: Vec<Brief>,
    /// The entities that `claim` would give you now, by lifecycle.
    pub claimable: Vec<Claimable>,
    /// Approval requests that you may decide.
    pub decisions: Vec<Brief>,
    /// Other open entities that the rules let you move.
    pub open: Vec<Brief>,
    /// True if there are more entities than listed. Ask for one lifecycle, or use `list`.
    pub more: bool,
}

/// The identity of an actor.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct You {
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
pub(super) struct Brief {
    pub lifecycle: String,
    pub id: String,
    pub state: String,
    pub version: u64,
    /// The fields that name you.
    #[serde(rename = "as", skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
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
pub(super) struct Claimable {
    pub lifecycle: String,
    /// The transition that would claim it.
    pub event: String,
    /// The id of the entity.
    pub id: String,
}

/// The result of a claim.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct Claimed {
    /// False if there is nothing for you to claim now.
    pub claimed: bool,
    /// The claimed entity, with your lease and its fence; null if there is none.
    #[schema(value_type = Option<Object>)]
    pub entity: Option<EntityBody>,
    /// The journal entry of the claim; null if there is none.
    #[schema(value_type = Option<Object>)]
    pub transition: Option<EntryBody>,
}

/// The result of a wait.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct Waited {
    /// True if the condition became true; false if the time ran out.
    pub happened: bool,
    /// The current entity.
    #[schema(value_type = Option<Object>)]
    pub entity: Option<EntityBody>,
    /// The entities that you can claim now.
    pub claimable: Vec<Claimable>,
}

/// A page of entities.
#[derive(Clone, Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes the result of `list`")]
pub(super) struct EntityPage {
    items: Vec<EntityBody>,
    /// The cursor of the next page: send it as `cursor`. Null on the last page.
    next_cursor: Option<String>,
}

/// An explanation of an entity: its state, its transitions and the conditions it waits for.
#[derive(Clone, Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what `explain` gives")]
pub(super) struct Explained {
    /// A summary: the state and since when, the transitions that you can request, and the next timer.
    summary: String,
    #[schema(value_type = Option<Object>)]
    entity: Option<Json>,
    /// Transitions that would be accepted now without any fields.
    ready: Vec<String>,
    /// Every transition out of the current state: who may, its fields, and each check with its result and the values it read.
    #[schema(value_type = Vec<Object>)]
    transitions: Vec<Json>,
    /// The outcome of each transition if you requested it now.
    #[schema(value_type = Vec<Object>)]
    attempts: Vec<Json>,
    /// Who must act, and the conditions that are not met yet.
    #[schema(value_type = Vec<Object>)]
    waiting_for: Vec<Json>,
    /// Other entities that close a gate for you, with the transitions that would open it and who may take them.
    #[schema(value_type = Vec<Object>)]
    kept_back_by: Vec<Json>,
    /// The next timer, with its time and its transition; null if there is none.
    #[schema(value_type = Option<Object>)]
    next: Option<Json>,
}
