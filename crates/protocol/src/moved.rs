//! Answers to commands.

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
    pub entity: Option<EntityBody>,
    /// The journal entry that answers it.
    pub transition: EntryBody,
    /// Whether the same command came before and this is its first answer again.
    pub replayed: bool,
    /// Fields the engine owns; the values that were sent are ignored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>, required = false)]
    pub ignored: Vec<Name>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub dry_run: bool,
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
