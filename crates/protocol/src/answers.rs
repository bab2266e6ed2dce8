//! Bodies of responses.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

use crate::reports::NotificationBody;

/// One page of a list.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page<T = Json> {
    pub items: Vec<T>,
    /// The cursor of the next page: send it as `cursor`. Null on the last page.
    pub next_cursor: Option<String>,
}

/// The answer to a heartbeat.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatReply {
    /// When the renewed lease expires.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// The fence of the lease.
    pub fence: Option<u64>,
    /// Present if the holder should stop, with the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Notifications to the holder since its previous heartbeat.
    pub notices: Vec<NotificationBody>,
    /// True if the same heartbeat was sent before under its idempotency key.
    #[serde(default)]
    pub replayed: bool,
}

/// A request to the holder of a lease to stop.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Stop {
    /// The messages of the failed checks of the slot, separated by `; `.
    pub why: String,
}

/// An effect that has no result yet.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Effect)]
pub struct EffectBody {
    pub id: u64,
    pub kind: String,
    /// The lifecycle of the entity that requested it.
    pub lifecycle: String,
    /// The id of that entity.
    pub entity: String,
    /// The arguments of the effect, by name.
    #[schema(value_type = Object)]
    pub with: Map<String, Json>,
    /// When it was requested.
    #[serde(default)]
    #[schema(format = DateTime)]
    pub since: Option<String>,
    /// The actor that has taken the effect; null if none has.
    pub taken_by: Option<String>,
    /// When that actor loses it without a result.
    #[serde(default)]
    #[schema(format = DateTime)]
    pub until: Option<String>,
    /// The effect of its queue that has to be answered first; null if it is the first.
    #[serde(default)]
    pub behind: Option<u64>,
    /// The fence to send with the result. Present only if the caller has taken the effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
}

/// An effect that the caller has taken.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EffectTaken {
    pub id: u64,
    pub kind: String,
    /// The lifecycle of the entity that requested it.
    pub lifecycle: String,
    /// The id of that entity.
    pub entity: String,
    /// The arguments of the effect, by name.
    #[schema(value_type = Object)]
    pub with: Map<String, Json>,
    /// The fence to send with the result.
    pub fence: u64,
    /// When another worker can take the effect, if it has no result by then.
    #[schema(format = DateTime)]
    pub until: String,
}

/// A message posted on an entity.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Message {
    /// The number of the journal entry.
    pub seq: u64,
    pub kind: String,
    pub text: String,
    /// The author.
    pub from: String,
    /// The recipients; null means every actor that may read the entity.
    pub to: Option<Vec<String>>,
    #[schema(format = DateTime)]
    pub at: String,
    /// True if the text was redacted from the journal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

/// The decision of the risk policy on an action.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PolicyJudgement {
    pub pack: String,
    pub action: String,
    pub role: Option<String>,
    /// The risk level: one of the `levels` of the policy.
    pub level: String,
    /// `allow`, `approve` (a person must approve first) or `deny`.
    pub outcome: String,
    pub why: String,
    /// The rule that decided, such as `policy.rules[3]`; null if no rule names the action.
    pub rule: Option<String>,
}

/// The answer to a call of an action that may need an approval.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ActionAnswer {
    /// `allow`, `approve` (a person has not decided yet) or `deny`.
    pub outcome: String,
    pub why: String,
    /// The request that people decide, or decided; null if there is none.
    pub approval: Option<ActionApproval>,
}

/// The request for the approval of an action.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ActionApproval {
    pub lifecycle: String,
    pub id: String,
    pub state: String,
    /// The entity that the request is about, such as `mission.task/T-1`.
    pub about: String,
}

/// An artifact, stored under the hash of its content.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ArtifactKept {
    pub sha256: String,
    /// The size in bytes.
    pub size: u64,
    /// False if it was stored before.
    pub stored: bool,
}

/// The time of the server.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Clock {
    #[schema(format = DateTime)]
    pub now: String,
    /// `system` (elapsed time, steered towards the clock of the machine) or `manual`.
    pub clock: String,
    /// The time of the machine's clock, unless the clock is manual.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub machine: Option<String>,
    /// Why project time does not follow the machine's clock, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alarm: Option<String>,
}

/// The correction of project time.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClockCorrected {
    /// Project time before.
    #[schema(format = DateTime)]
    pub from: String,
    /// Project time after, which is the time of the machine's clock.
    #[schema(format = DateTime)]
    pub to: String,
    /// The number of entities whose timers or leases were moved back with it.
    pub moved: usize,
    /// Entities whose timers could not be moved because their records cannot be read.
    pub unmoved: usize,
}

/// The recorded result of an effect.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EffectSettled {
    pub success: bool,
    /// The id of the effect.
    pub id: u64,
    /// The journal entry of the result.
    pub seq: Option<u64>,
    pub replayed: bool,
}

/// The request succeeded.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Success {
    pub success: bool,
}
