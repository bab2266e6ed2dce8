//! What comes from elsewhere.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

/// Entities that come from elsewhere: all of them, or none.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Import {
    pub entities: Vec<ImportEntity>,
    /// The file that told of them, for the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// One of them, as it is to be here.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportEntity {
    pub lifecycle: String,
    pub id: String,
    /// The initial one if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// What its counters have counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<ImportCount>,
    /// Leases that are granted anew, from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<ImportLease>,
    /// What it is called where it comes from: by this an import knows it again.
    pub origin: String,
}

/// What a counter has counted under a key.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportCount {
    pub counter: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    pub value: f64,
}

/// Who holds a slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportLease {
    pub slot: String,
    pub holder: String,
}

/// What became of an import.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportReply {
    /// How many came in, or would.
    pub imported: u64,
    /// Those that an earlier import brought from the same place, as `lifecycle/id`: they are left as they are by now.
    pub already: Vec<String>,
    pub dry_run: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}
