//! Bodies of answers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

/// An entity as the caller sees it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entity {
    pub lifecycle: String,
    pub id: String,
    pub state: String,
    pub previous_state: Option<String>,
    /// Whether there is no way out of its state.
    #[serde(rename = "final")]
    pub last: bool,
    pub version: u64,
    /// The version of the definition it lives by.
    pub definition: u32,
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    #[schema(format = DateTime)]
    pub created_at: String,
    #[schema(format = DateTime)]
    pub updated_at: String,
    #[schema(format = DateTime)]
    pub state_entered_at: String,
    /// Seconds.
    pub time_in_state: f64,
    pub timers: Vec<TimerTold>,
    pub leases: Vec<LeaseTold>,
    /// Targets that the rules permit this caller from here, before required fields are asked for.
    pub allowed_transitions: Vec<String>,
}

/// A clock that runs.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimerTold {
    pub name: String,
    #[schema(format = DateTime)]
    pub due_at: String,
}

/// A lease that somebody holds.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseTold {
    pub slot: String,
    pub holder: String,
    pub fence: u64,
    #[schema(format = DateTime)]
    pub expires_at: String,
}

/// What happened, as the journal tells it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// Its number: there are no gaps.
    pub seq: u64,
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// One of a closed list of kinds, such as `STATE_TRANSITION`.
    pub event: String,
    pub lifecycle: String,
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The transition or event that was asked for.
    pub trigger: String,
    pub actor: String,
    /// `human`, `agent`, `system` or `timeout`.
    pub actor_kind: String,
    /// For whom the actor acted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The entity's version after it.
    pub version: u64,
    /// What belongs to the kind of event.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Json>,
    /// The entry it follows from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// The rule that triggered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The name of the request that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The key under which the command counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// It covers the entry before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Values and words were dropped from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

/// A command that was carried out.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Moved {
    pub success: bool,
    #[schema(value_type = Option<Entity>)]
    pub entity: Option<Json>,
    /// The journal entry that answers it.
    #[schema(value_type = JournalEntry)]
    pub transition: Json,
    /// Whether the same command came before and this is its first answer again.
    pub replayed: bool,
    /// Fields the engine owns that were sent all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// A page of a list.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page<T = Json> {
    pub items: Vec<T>,
    /// Send it as `cursor` for the next page; null on the last.
    pub next_cursor: Option<String>,
}

/// What a heartbeat brings back.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatTold {
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    pub fence: Option<u64>,
    /// Why the holder should stop, where it should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// What the holder was told since its last heartbeat.
    pub notices: Vec<Json>,
    #[serde(default)]
    pub replayed: bool,
}

/// A holder is to stop.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Stop {
    pub why: String,
}

/// Work for the outside that nobody has answered.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectTold {
    pub id: u64,
    pub kind: String,
    /// The entity that asked for it.
    pub lifecycle: String,
    pub entity: String,
    /// What it is to be carried out with.
    #[schema(value_type = Object)]
    pub with: Map<String, Json>,
    /// Who is at it now.
    pub taken_by: Option<String>,
    /// The number that goes with the result, where the caller has taken it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
}

/// Work for the outside that the caller has taken.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EffectTaken {
    pub id: u64,
    pub kind: String,
    pub lifecycle: String,
    pub entity: String,
    /// What it is to be carried out with.
    #[schema(value_type = Object)]
    pub with: Map<String, Json>,
    /// Comes back with the result.
    pub fence: u64,
    /// When it is handed to somebody else, if there is no result by then.
    #[schema(format = DateTime)]
    pub until: String,
}

/// Words posted on an entity.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Message {
    pub seq: u64,
    pub kind: String,
    pub text: String,
    /// Whose words they are.
    pub from: String,
    /// The actors they are for; null: whoever may see the entity.
    pub to: Option<Vec<String>>,
    #[schema(format = DateTime)]
    pub at: String,
    /// They were taken out of the journal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

/// What the policy says of an action.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Judged {
    pub pack: String,
    pub action: String,
    pub role: Option<String>,
    /// One of the levels of the policy.
    pub level: String,
    /// `allow`, `approve` (somebody must say yes first) or `deny`.
    pub outcome: String,
    pub why: String,
}

/// Content that is kept under its hash.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ArtifactKept {
    pub sha256: String,
    pub size: u64,
    /// False if it was there already.
    pub stored: bool,
}

/// What time it is for the server.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Clock {
    #[schema(format = DateTime)]
    pub now: String,
    /// `system` or `manual`.
    pub clock: String,
}
