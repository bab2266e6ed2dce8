//! What tools give, as the one who called reads it: a sentence, and the same as data.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use trackside_protocol::{EntityBody, EntryBody, LeaseBody, Problem, UnmetBody};
use utoipa::ToSchema;

use crate::problem::Refused;

/// Something that was done, in one sentence and as data.
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

/// What a call came to.
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

/// A refusal for whoever is to set it right.
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
        text.push_str(&format!("\nFrom here you may go to: {}", problem.allowed_transitions.join(", ")));
    }
    if let Some(who) = &problem.who {
        text.push_str(&format!("\nWho may: {who}"));
    }
    text
}

/// What there is to do for whoever asks.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkSummary {
    /// Who you are here.
    pub you: You,
    #[schema(format = DateTime)]
    pub now: String,
    /// Open entities that name you: yours to work on, to review, or that you wait for.
    pub yours: Vec<Brief>,
    /// What `claim` would give you now, by lifecycle.
    pub claimable: Vec<Claimable>,
    /// Requests that you may decide.
    pub decisions: Vec<Brief>,
    /// Further open entities that the rules let you move.
    pub open: Vec<Brief>,
    /// Whether there is more than is listed: ask for one lifecycle, or use `list`.
    pub more: bool,
}

/// Who somebody is.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct You {
    pub actor: String,
    /// `human`, `agent` or `system`.
    pub kind: String,
    pub roles: Vec<String>,
    /// For whom you act.
    pub acting_for: Option<String>,
}

/// An entity in short; `show` has the whole.
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
    /// Where you may take it, before required fields are asked for.
    pub allowed_transitions: Vec<String>,
    /// Short fields only; of what you are to decide, all that are not too long.
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// Fields of what you are to decide that are too long to be here: `show` it before you decide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Leases that you hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<LeaseBody>,
}

/// What a claim would give.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct Claimable {
    pub lifecycle: String,
    /// The transition that would take it.
    pub event: String,
    /// The one that would be next.
    pub id: String,
}

/// What a claim came to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct Claimed {
    /// False: there is nothing for you to claim now.
    pub claimed: bool,
    /// What you have now, with your lease and its fence.
    #[schema(value_type = Option<Object>)]
    pub entity: Option<EntityBody>,
    /// The journal entry.
    #[schema(value_type = Option<Object>)]
    pub transition: Option<EntryBody>,
}

/// What became of waiting.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct Waited {
    /// True: what was waited for has happened. False: the time ran out and nothing has changed.
    pub happened: bool,
    /// The entity as it is now.
    #[schema(value_type = Option<Object>)]
    pub entity: Option<EntityBody>,
    /// What can be claimed now.
    pub claimable: Vec<Claimable>,
}

/// Where an entity stands, and why.
#[derive(Clone, Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what `explain` gives")]
pub(super) struct Explained {
    /// One sentence: where it is since when, what you could ask for, what happens next.
    summary: String,
    #[schema(value_type = Option<Object>)]
    entity: Option<Json>,
    /// Events that would be done now, with nothing sent along.
    ready: Vec<String>,
    /// Every way out, with who may, what it takes, and each check passed or failed with the values it saw.
    #[schema(value_type = Vec<Object>)]
    transitions: Vec<Json>,
    /// What would come of each event now.
    #[schema(value_type = Vec<Object>)]
    attempts: Vec<Json>,
    /// Who must act, and what is not so yet.
    #[schema(value_type = Vec<Object>)]
    waiting_for: Vec<Json>,
    /// Other entities because of which you are not heard here, and who could do what there about it.
    #[schema(value_type = Vec<Object>)]
    kept_back_by: Vec<Json>,
    /// What comes by itself, and when.
    #[schema(value_type = Option<Object>)]
    next: Option<Json>,
}
