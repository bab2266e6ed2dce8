//! The arguments of the tools.

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

/// Whether to look at one lifecycle only.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MyWorkInput {
    /// Only of this lifecycle, such as `mission.task`. Without it: of all.
    #[serde(default)]
    pub lifecycle: Option<String>,
}

/// One entity.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EntityInput {
    /// Such as `mission.task`.
    pub lifecycle: String,
    /// Its id, such as `T-1`.
    pub id: String,
}

/// Which entities.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListInput {
    /// Such as `mission.task`.
    pub lifecycle: String,
    /// Only those in this state; several with commas between them.
    #[serde(default)]
    pub state: Option<String>,
    /// Only those for which this is true: comparisons of fields with `&&`, `||`, `!` and `in`, as in `priority <= 2 && "ada" in assigneeIds`.
    #[serde(default, rename = "where")]
    pub only: Option<String>,
    /// Only those that are overdue.
    #[serde(default)]
    pub overdue: bool,
    /// How many: 50 if nothing is said, 200 at most.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub limit: Option<usize>,
    /// The `nextCursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// An entity that is to be.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CreateInput {
    /// Such as `mission.task`.
    pub lifecycle: String,
    /// Its id: letters, digits and `._@-`. Without it the server makes one.
    #[serde(default)]
    pub id: Option<String>,
    /// What it starts with, by name.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// Decides, and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// The same key counts once: safe to repeat after a lost answer.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// What is to happen to an entity.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct FireInput {
    /// Such as `mission.task`.
    pub lifecycle: String,
    /// Its id, such as `T-1`.
    pub id: String,
    /// The transition, by name, such as `submit`. Either this or `to`.
    #[serde(default)]
    pub event: Option<String>,
    /// The state it is to go to. Either this or `event`.
    #[serde(default)]
    pub to: Option<String>,
    /// What the transition takes, by name. `explain` lists what each one takes and needs.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// Why, for the journal.
    #[serde(default)]
    pub reason: Option<String>,
    /// The number of the lease under which you work.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub fence: Option<u64>,
    /// Only if it is still at this version.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub if_version: Option<u64>,
    /// Decides, and changes nothing: try it out first where you are not sure.
    #[serde(default)]
    pub dry_run: bool,
    /// The same key counts once: safe to repeat after a lost answer.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// What is to be told about an entity.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ReportInput {
    /// Such as `mission.task`.
    pub lifecycle: String,
    /// Its id, such as `T-1`.
    pub id: String,
    /// Which kind of report, such as `comment`. Without it, the answer lists those that there are.
    #[serde(default)]
    pub event: Option<String>,
    /// What the report says, by name.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// Why, for the journal.
    #[serde(default)]
    pub reason: Option<String>,
    /// The number of the lease under which you work.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub fence: Option<u64>,
    /// The same key counts once: safe to repeat after a lost answer.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// What is to be claimed.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ClaimInput {
    /// Such as `coding.task`.
    pub lifecycle: String,
    /// The transition that takes it, where several could.
    #[serde(default)]
    pub event: Option<String>,
    /// Only one for which this is true, as in `priority <= 2`.
    #[serde(default, rename = "where")]
    pub only: Option<String>,
    /// What the transition takes, by name.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// Why, for the journal.
    #[serde(default)]
    pub reason: Option<String>,
    /// The same key counts once: safe to repeat after a lost answer.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// A sign of life.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HeartbeatInput {
    /// Such as `coding.task`.
    pub lifecycle: String,
    /// Its id, such as `T-1`.
    pub id: String,
    /// Which lease; needed where the lifecycle has several and you hold none of them.
    #[serde(default)]
    pub slot: Option<String>,
    /// The number of the lease, as it was granted.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub fence: Option<u64>,
}

/// What is waited for.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitInput {
    /// Such as `mission.approval`.
    pub lifecycle: String,
    /// The entity that is to leave its state, such as an approval that people decide. Without it: until something of this lifecycle can be claimed by you.
    #[serde(default)]
    pub id: Option<String>,
    /// The state it is to leave; the one it is in now if nothing is said. If it has left that already, the answer comes at once.
    #[serde(default)]
    pub state: Option<String>,
    /// How long at most: 30 if nothing is said, 300 at most. A client that knows tasks of the protocol gets one instead: an hour if nothing is said, 24 hours at most.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 86400)]
    pub seconds: Option<u64>,
}
