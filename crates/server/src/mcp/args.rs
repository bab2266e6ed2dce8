//! The arguments of the MCP tools.

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

/// An optional filter by lifecycle, or one entity.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MyWorkInput {
    /// Only entities of this lifecycle, such as `mission.task`. By default all lifecycles.
    #[serde(default)]
    pub lifecycle: Option<String>,
    /// With `lifecycle`: the instructions for this entity.
    #[serde(default)]
    pub id: Option<String>,
}

/// What to list of the inbox.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct InboxInput {
    /// Only this kind: `approval`, `decision`, `escalation` or `alert`.
    #[serde(default)]
    pub kind: Option<String>,
    /// Page size: 50 by default, 200 at most.
    #[serde(default)]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// One entity.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EntityInput {
    /// The lifecycle, such as `mission.task`.
    pub lifecycle: String,
    /// The id of the entity, such as `T-1`.
    pub id: String,
}

/// One entity to explain.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplainInput {
    /// The lifecycle, such as `mission.task`.
    pub lifecycle: String,
    /// The id of the entity, such as `T-1`.
    pub id: String,
    /// If true, every transition with each check and the values it read. By default a short answer.
    #[serde(default)]
    pub full: bool,
}

/// A filter and a page of entities.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListInput {
    /// The lifecycle, such as `mission.task`.
    pub lifecycle: String,
    /// Only entities in this state; several states are separated by commas.
    #[serde(default)]
    pub state: Option<String>,
    /// Only entities for which this expression is true: comparisons of fields with `&&`, `||`, `!` and `in`, such as `priority <= 2 && "ada" in assigneeIds`.
    #[serde(default, rename = "where")]
    pub only: Option<String>,
    /// Only overdue entities.
    #[serde(default)]
    pub overdue: bool,
    /// The page size: 50 by default, at most 200.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 200)]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// An entity to create.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CreateInput {
    /// The lifecycle, such as `mission.task`.
    pub lifecycle: String,
    /// The id: 1 to 128 letters, digits or `._@-`. By default the server generates one.
    #[serde(default)]
    pub id: Option<String>,
    /// Initial values of fields, by name.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// If true, the server decides the request but changes nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// A key that makes the request safe to repeat after a lost answer: requests with the same key are executed once.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// A requested transition of an entity.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct FireInput {
    /// The lifecycle, such as `mission.task`.
    pub lifecycle: String,
    /// The id of the entity, such as `T-1`.
    pub id: String,
    /// The name of the transition, such as `submit`. Send either this or `to`.
    #[serde(default)]
    pub event: Option<String>,
    /// The target state. Send either this or `event`.
    #[serde(default)]
    pub to: Option<String>,
    /// The fields of the request, by name. `explain` lists the accepted and required fields of each transition.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// The reason, for the journal.
    #[serde(default)]
    pub reason: Option<String>,
    /// The fence of the lease that you hold.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub fence: Option<u64>,
    /// The request is refused if the entity is not at this version.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub if_version: Option<u64>,
    /// If true, the server decides the request but changes nothing. Use it to find out whether a request would be accepted.
    #[serde(default)]
    pub dry_run: bool,
    /// A key that makes the request safe to repeat after a lost answer: requests with the same key are executed once.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// A report on an entity: a transition that does not change its state.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ReportInput {
    /// The lifecycle, such as `mission.task`.
    pub lifecycle: String,
    /// The id of the entity, such as `T-1`.
    pub id: String,
    /// The name of the report, such as `comment`. Without it, the answer lists the reports that you can make.
    #[serde(default)]
    pub event: Option<String>,
    /// The fields of the report, by name.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// The reason, for the journal.
    #[serde(default)]
    pub reason: Option<String>,
    /// The fence of the lease that you hold.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub fence: Option<u64>,
    /// A key that makes the request safe to repeat after a lost answer: requests with the same key are executed once.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// A claim of the next available entity.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ClaimInput {
    /// The lifecycle, such as `coding.task`.
    pub lifecycle: String,
    /// The transition that claims the entity. Needed if several can.
    #[serde(default)]
    pub event: Option<String>,
    /// Only an entity for which this expression is true, such as `priority <= 2`.
    #[serde(default, rename = "where")]
    pub only: Option<String>,
    /// The fields of the request, by name.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// The reason, for the journal.
    #[serde(default)]
    pub reason: Option<String>,
    /// A key that makes the request safe to repeat after a lost answer: requests with the same key are executed once.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// A heartbeat, which extends a lease.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HeartbeatInput {
    /// The lifecycle, such as `coding.task`.
    pub lifecycle: String,
    /// The id of the entity, such as `T-1`.
    pub id: String,
    /// The slot of the lease. Needed if the lifecycle has several slots and you hold none of them.
    #[serde(default)]
    pub slot: Option<String>,
    /// The fence of the lease, as it was granted.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub fence: Option<u64>,
}

/// A condition to wait for.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitInput {
    /// The lifecycle, such as `mission.approval`.
    pub lifecycle: String,
    /// The entity that should leave its state, such as an approval request that a person decides. Without it, the tool waits until you can claim an entity of this lifecycle.
    #[serde(default)]
    pub id: Option<String>,
    /// The state that the entity should leave; its current state by default. If the entity has left this state already, the tool answers immediately.
    #[serde(default)]
    pub state: Option<String>,
    /// The longest wait in seconds: 30 by default, at most 300. If the client supports MCP tasks and `id` is given, the wait is a task: 3600 by default, at most 86400.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 86400)]
    pub seconds: Option<u64>,
}
