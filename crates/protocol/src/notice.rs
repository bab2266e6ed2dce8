//! What people should look at, and what they say of it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An alert, and what people have said of it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Alert)]
pub struct AlertBody {
    /// Its own number: that of the journal entry that raised it.
    pub alert_id: String,
    pub kind: String,
    /// `info`, `warning`, `error` or `critical`.
    pub severity: String,
    /// Of the entity it is about.
    pub lifecycle: String,
    pub id: String,
    pub message: String,
    pub seq: u64,
    #[schema(format = DateTime)]
    pub since: String,
    /// Who said first that it is seen.
    pub acknowledged_by: Option<String>,
    #[schema(format = DateTime)]
    pub acknowledged_at: Option<String>,
    pub acknowledged_note: Option<String>,
    /// Whether it is seen to.
    pub resolved: bool,
    pub resolved_by: Option<String>,
    #[schema(format = DateTime)]
    pub resolved_at: Option<String>,
    pub resolved_note: Option<String>,
}

/// What a person says of an alert.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertNote {
    /// Kept in the journal, at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000)]
    pub note: Option<String>,
}

/// What became of it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AlertReply {
    pub success: bool,
    pub alert: AlertBody,
    /// False if somebody had said the same before: the alert tells who.
    pub changed: bool,
    pub replayed: bool,
}
