//! Looking after a project: its packs, settings, versions, copies.

use std::collections::BTreeMap;

use crate::Problem;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

use crate::number::{all, needed};

/// The texts of a pack: path within it and text.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PackFiles)]
pub struct PackBody {
    /// `pack.yaml`, and `lifecycles/….yaml`.
    pub files: BTreeMap<String, String>,
}

/// A pack that is in force.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PackSummary {
    pub pack: String,
    pub version: u32,
    pub about: String,
    pub roles: Vec<String>,
    pub lifecycles: Vec<String>,
}

/// What became of a pack that was sent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PackInstalled {
    pub pack: String,
    pub version: u32,
    pub lifecycles: Vec<String>,
    /// False if the same was in force already.
    pub installed: bool,
}

/// A setting of a pack.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Setting)]
pub struct SettingBody {
    pub name: String,
    /// What holds.
    pub value: Json,
    /// What the pack says.
    pub default: Json,
    /// `project` where the project has a word of its own, else `default`.
    pub origin: String,
    /// `string`, `number`, `integer`, `boolean`, `span`, `list`, `map` or `any`.
    #[serde(rename = "type")]
    pub kind: String,
    pub about: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

/// The settings of a pack.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Settings)]
pub struct SettingsBody {
    pub pack: String,
    pub items: Vec<SettingBody>,
}

/// What is the same for the whole project.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Project)]
pub struct ProjectBody {
    /// IANA name of its time zone; empty means UTC.
    pub zone: String,
    pub packs: Vec<SettingsBody>,
}

/// What of the project is to change.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectPut {
    /// As in `Europe/Berlin`; empty means UTC.
    pub zone: String,
}

/// Running entities that are to live by another version of their definition.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Migrate)]
pub struct MigrateBody {
    pub lifecycle: String,
    /// The version they are to live by; with `undo`, the one they were moved to.
    #[serde(deserialize_with = "needed")]
    pub to: u32,
    /// State to its name there, where that is another one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub states: BTreeMap<String, String>,
    /// What becomes of fields that cannot stay as they are.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// Takes it back, of those to which nothing has happened since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
    /// Only those with an id after this one: the `next` of the answer before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Looks at no more than so many, so that each is named; without it at all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// What became, or would become, of the entities of a lifecycle.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Migrated {
    pub lifecycle: String,
    pub to: u32,
    pub dry_run: bool,
    /// How many moved, or would.
    pub moved: u64,
    /// How many cannot.
    pub stuck: u64,
    /// How many were looked at, those that live by that version already among them.
    pub looked_at: u64,
    /// After whom to go on, where `limit` left some; none if all are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The first thousand of those that moved.
    pub items: Vec<MigratedOne>,
    /// The first thousand of those that cannot, each with its refusal.
    pub cannot: Vec<MigratedOne>,
}

/// What became of one.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MigratedOne {
    pub id: String,
    /// The version it lived by.
    pub from: u32,
    /// The state it has there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub refusal: Option<Problem>,
}

/// Old journal that is to go into files.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Archive)]
pub struct ArchiveBody {
    /// How old an entry must be, such as `30d`, `24h` or `90m`.
    pub older_than: String,
}

/// A copy of the project that is to be made.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// A name in the folder `backups` of the project, or a whole path; a name is made if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// Values and words that are to leave the journal.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Redact)]
pub struct RedactBody {
    pub lifecycle: String,
    pub id: String,
    /// Numbers of its entries. Either these, or `all`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "all")]
    pub entries: Vec<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// What fields become that came from them; without a word they are cleared.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub becomes: Map<String, Json>,
    pub reason: String,
}
