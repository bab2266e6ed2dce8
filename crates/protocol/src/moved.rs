//! Responses to commands.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use trackside_lifecycle::name::Name;
use utoipa::ToSchema;

use crate::entity::EntityBody;
use crate::entry::EntryBody;

/// An accepted command.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Moved {
    pub success: bool,
    /// The entity after the command.
    pub entity: Option<EntityBody>,
    /// The journal entry of the command.
    pub transition: EntryBody,
    /// True if the same command was sent before under its idempotency key. The response repeats the first answer.
    pub replayed: bool,
    /// Fields that were sent but ignored, because only the engine writes them. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>, required = false)]
    pub ignored: Vec<Name>,
    /// True if the command was only decided and nothing changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub dry_run: bool,
    /// In a dry run, the other journal entries that would follow, of other entities too, as far as the caller may see
    /// them. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub consequences: Vec<EntryBody>,
}

/// [`Moved`] as a client reads it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MovedReply {
    pub entity: Option<Json>,
    pub transition: Json,
    pub replayed: bool,
    #[serde(default)]
    pub ignored: Vec<String>,
    #[serde(default)]
    pub dry_run: bool,
}
