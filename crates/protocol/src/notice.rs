//! Alerts, and how people handle them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An alert, with its acknowledgement and resolution.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Alert)]
pub struct AlertBody {
    /// The id of the alert: the number of the journal entry that raised it.
    pub alert_id: String,
    pub kind: String,
    /// `info`, `warning`, `error` or `critical`.
    pub severity: String,
    /// The lifecycle of the entity that the alert is about.
    pub lifecycle: String,
    /// The id of that entity.
    pub id: String,
    pub message: String,
    pub seq: u64,
    #[schema(format = DateTime)]
    pub since: String,
    /// The first person who acknowledged it; null if it is not acknowledged.
    pub acknowledged_by: Option<String>,
    #[schema(format = DateTime)]
    pub acknowledged_at: Option<String>,
    pub acknowledged_note: Option<String>,
    /// True if the alert is resolved.
    pub resolved: bool,
    pub resolved_by: Option<String>,
    #[schema(format = DateTime)]
    pub resolved_at: Option<String>,
    pub resolved_note: Option<String>,
}

/// A note on an alert.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertNote {
    /// The text, stored in the journal; at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000)]
    pub note: Option<String>,
}

/// The result of acknowledging or resolving an alert.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AlertReply {
    pub success: bool,
    pub alert: AlertBody,
    /// False if the alert was acknowledged or resolved before. `alert` names the person who did it first.
    pub changed: bool,
    pub replayed: bool,
}
