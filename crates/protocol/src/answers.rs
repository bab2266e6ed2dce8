//! Bodies of answers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

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
pub struct HeartbeatReply {
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
#[schema(as = Effect)]
pub struct EffectBody {
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
pub struct PolicyJudgement {
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
