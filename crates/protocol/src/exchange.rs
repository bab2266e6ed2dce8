//! Imports from other systems.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

/// Entities to import: all of them or none. At most 1,000 by default.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Import {
    pub entities: Vec<ImportEntity>,
    /// The name of the imported file, for the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// An entity to import.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportEntity {
    pub lifecycle: String,
    pub id: String,
    /// The state; the initial state by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// The values of its counters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<ImportCount>,
    /// Leases to grant at the time of the import.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<ImportLease>,
    /// The name of the entity in the other system. Later imports recognise the entity by it.
    pub origin: String,
}

/// The value of a counter under one key.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportCount {
    pub counter: String,
    /// The key of the tally; empty for a counter without keys.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    pub value: f64,
}

/// A lease to grant on a slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportLease {
    pub slot: String,
    pub holder: String,
}

/// The result of an import.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportReply {
    /// The number of entities that were imported, or would be in a dry run.
    pub imported: u64,
    /// Entities that an earlier import created from the same origin, as `lifecycle/id`. They are not changed.
    pub already: Vec<String>,
    pub dry_run: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}
