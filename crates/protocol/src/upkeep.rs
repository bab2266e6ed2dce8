//! Upkeep of a project: packs, settings, migrations, archives, backups and redactions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use trackside_lifecycle::name::Name;
use utoipa::ToSchema;

use crate::entity::FieldMap;
use crate::number::{all, whole_number};
use crate::problem::Problem;
use crate::reports::ChainEnd;

/// The files of a pack.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PackFiles)]
pub struct PackBody {
    /// Path within the pack to text: `pack.yaml` and `lifecycles/….yaml`.
    pub files: BTreeMap<String, String>,
}

/// A pack in force.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PackSummary {
    pub pack: String,
    pub version: u32,
    pub about: String,
    pub roles: Vec<String>,
    pub lifecycles: Vec<String>,
}

/// The result of installing a pack.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PackInstalled {
    pub pack: String,
    pub version: u32,
    pub lifecycles: Vec<String>,
    /// False if the same files were in force before.
    pub installed: bool,
}

/// A setting of a pack.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Setting)]
pub struct SettingBody {
    pub name: String,
    /// The current value.
    pub value: Json,
    /// The default of the pack.
    pub default: Json,
    /// `project` if the project overrides the default, else `default`.
    pub origin: String,
    /// `string`, `number`, `integer`, `boolean`, `span`, `list`, `map` or `any`.
    #[serde(rename = "type")]
    pub kind: String,
    pub about: String,
    /// The smallest allowed value. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The largest allowed value. Absent if there is none.
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

/// The settings of the whole project.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Project)]
pub struct ProjectBody {
    /// IANA name of the time zone, such as `Europe/Berlin`; empty means UTC.
    pub zone: String,
    pub packs: Vec<SettingsBody>,
}

/// A change of the project.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectPut {
    /// IANA name of the time zone, such as `Europe/Berlin`; empty means UTC.
    pub zone: String,
}

/// A migration of running entities to another version of their lifecycle.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Migrate)]
pub struct MigrateBody {
    pub lifecycle: String,
    /// The version to migrate to. With `undo`: the version that they were migrated to.
    #[serde(deserialize_with = "whole_number")]
    pub to: u32,
    /// State to its name in the other version, for states that were renamed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub states: BTreeMap<String, String>,
    /// Values for fields that are not set or do not fit the other version; null means the default, or not set. Fields that fit are not changed.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// Reverts a migration, for entities that have not changed since. Cannot be combined with `states`, `fields` or a dry run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
    /// Only entities with an id after this one: the `next` of the previous response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The largest number of entities to examine, so that the response lists each of them. Without it, all are examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
}

/// The result of a migration or of its dry run.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Migrated {
    pub lifecycle: String,
    pub to: u32,
    pub dry_run: bool,
    /// The number of entities that were migrated, or would be.
    pub moved: u64,
    /// The number of entities that cannot be migrated.
    pub stuck: u64,
    /// The number of entities that were examined, including those that follow the version already.
    pub looked_at: u64,
    /// The id to send as `after` to continue. Absent if all entities were examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The entities that were migrated; the first 1,000.
    pub items: Vec<MigratedOne>,
    /// The entities that cannot be migrated, each with its refusal; the first 1,000.
    pub cannot: Vec<MigratedOne>,
}

/// The result for one entity.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MigratedOne {
    pub id: String,
    /// The version that it followed before.
    pub from: u32,
    /// Its state in the other version. Absent if it cannot be migrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Why it cannot be migrated. Absent if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub refusal: Option<Problem>,
}

/// Old journal entries to move into archive files.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Archive)]
pub struct ArchiveBody {
    /// The smallest age of an entry, such as `30d`, `24h` or `90m`.
    pub older_than: String,
}

/// A backup to create.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// A name in the folder `backups` of the project, or an absolute path. By default the server generates a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// True: add the journal entries since to the backup in `to`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub increment: bool,
}

/// Content to remove from the journal.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Redact)]
pub struct RedactBody {
    pub lifecycle: String,
    pub id: String,
    /// Numbers of entries of the entity. Send either this or `all`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "all")]
    pub entries: Vec<u64>,
    /// True: all entries of the entity. Send either this or `entries`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// New values of fields that come from these entries. Such fields are cleared if they are not named here.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub becomes: Map<String, Json>,
    /// The reason, for the journal.
    pub reason: String,
}

/// The result of a redaction.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Redacted)]
pub struct RedactReply {
    pub success: bool,
    #[schema(value_type = String)]
    pub lifecycle: Name,
    #[schema(value_type = String)]
    pub id: Name,
    pub replayed: bool,
    /// The journal entry of the redaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// True if the redaction was only decided: it would do what `entries` and `fields` say, and nothing changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    #[serde(rename = "dryRun")]
    pub dry_run: bool,
    /// The entries without a payload now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<u64>>,
    /// The fields that changed, with their new values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub fields: Option<FieldMap>,
}

/// The archive files that were written.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Archived)]
pub struct ArchiveReply {
    pub files: Vec<ArchiveFile>,
}

/// An archive file.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ArchiveFile {
    /// Its path in the project folder.
    pub path: String,
    /// Its first journal entry.
    pub first: u64,
    /// Its last journal entry.
    pub last: u64,
    /// The hash of the chain after its last entry.
    pub hash: String,
}

/// A backup that was made and verified.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BackupMade)]
pub struct BackupReply {
    /// The folder of the backup.
    pub to: String,
    /// The last journal entry in it.
    pub end: ChainEnd,
    /// The number of archive files that were copied.
    pub archive_files: usize,
    /// The number of artifacts that were copied.
    pub artifacts: u64,
    /// Artifacts that do not match their hash and were not copied.
    pub damaged_artifacts: Vec<String>,
}
