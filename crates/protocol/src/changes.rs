//! Worktrees of entities, and what changed in them.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;
use trackside_lifecycle::name::Name;
use utoipa::ToSchema;

use crate::number::{optional_whole_number, whole_number};

/// What changed between two commits: the content of the artifact that a runner reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Change)]
pub struct ChangeArtifact {
    /// The commit before the change.
    pub base: String,
    /// The commit with the change.
    pub head: String,
    /// True if lines or files were left out because there are too many.
    #[serde(default)]
    pub truncated: bool,
    /// Figures of the whole change, also of what was left out.
    #[serde(default)]
    pub stats: ChangeStats,
    #[serde(default)]
    pub files: Vec<FileChange>,
}

/// Figures of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangeStats {
    /// Changed files.
    #[serde(default)]
    pub files: u64,
    /// Added lines.
    #[serde(default)]
    pub additions: u64,
    /// Deleted lines.
    #[serde(default)]
    pub deletions: u64,
}

/// A changed file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    pub path: String,
    /// The path before, of a file that was renamed or copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    pub status: FileStatus,
    /// True if its content is not text. It has no hunks.
    #[serde(default)]
    pub binary: bool,
    #[serde(default)]
    pub additions: u64,
    #[serde(default)]
    pub deletions: u64,
    #[serde(default)]
    pub hunks: Vec<DiffHunk>,
}

/// What happened to a file. `mode`: only its permissions changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileStatus {
    Added,
    Modified,
    Deleted,
    Renamed,
    Copied,
    Mode,
}

impl FileStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
            Self::Copied => "copied",
            Self::Mode => "mode",
        }
    }
}

/// Changed lines of a file with the lines around them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffHunk {
    pub old_start: u64,
    pub old_lines: u64,
    pub new_start: u64,
    pub new_lines: u64,
    /// The text after the second `@@`, such as the function that the lines are in.
    #[serde(default)]
    pub header: String,
    pub lines: Vec<DiffLine>,
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffLine {
    pub kind: DiffLineKind,
    /// Without its line break.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiffLineKind {
    Context,
    Add,
    Delete,
}

/// A change of the work on an entity. Its artifact has been stored before.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportChange {
    /// The commit before the change.
    pub from: String,
    /// The commit with the change.
    pub to: String,
    /// The SHA-256 of the artifact, a `Change`.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub artifact: String,
    /// Changed files.
    #[serde(default, deserialize_with = "whole_number")]
    pub files: u64,
    #[serde(default, deserialize_with = "whole_number")]
    pub additions: u64,
    #[serde(default, deserialize_with = "whole_number")]
    pub deletions: u64,
}

/// The state of the worktree of an entity. Members that are left out keep their last reported value.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportWorktree {
    /// `making`, `ready`, `vanished` or `removed`. `elsewhere` and `strayed` leave the state as it is: a runner has
    /// claimed the entity and has no copy of its work, or the main checkout changed while an agent worked in the worktree.
    #[schema(pattern = "^(making|ready|vanished|removed|elsewhere|strayed)$")]
    pub state: String,
    /// Its folder on the runner's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that it started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Its present commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Commits of its branch that the integration branch does not have.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole_number")]
    pub unmerged: Option<u64>,
    /// Whether it has changes that are not committed. A number counts as true if it is not 0.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "flag")]
    pub dirty: Option<bool>,
    /// Lines added since the base.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole_number")]
    pub additions: Option<u64>,
    /// Lines deleted since the base.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole_number")]
    pub deletions: Option<u64>,
    /// How it is isolated: `worktree` or `clone`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The branch that its work is merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integration: Option<String>,
    /// The slot of the lease under which it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// Paths of the main checkout that changed during a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched: Option<Vec<String>>,
}

fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    match Json::deserialize(from)? {
        Json::Null => Ok(None),
        Json::Bool(it) => Ok(Some(it)),
        Json::Number(it) => Ok(Some(it.as_f64() != Some(0.0))),
        other => Err(serde::de::Error::custom(format!("{other} is neither true nor false"))),
    }
}

/// The worktree of an entity.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Worktree)]
pub struct WorktreeBody {
    /// `making`, `ready`, `vanished` or `removed`.
    pub state: String,
    #[schema(format = DateTime)]
    pub since: String,
    /// Who reported it last.
    pub runner: Option<String>,
    #[schema(format = DateTime)]
    pub reported_at: Option<String>,
    /// Its folder on the runner's machine.
    pub path: Option<String>,
    pub branch: Option<String>,
    /// The commit that it started from.
    pub base: Option<String>,
    /// Its present commit.
    pub head: Option<String>,
    /// Commits of its branch that the integration branch does not have.
    pub unmerged: Option<i64>,
    /// Whether it has changes that are not committed.
    pub dirty: Option<bool>,
    /// Lines added since the base.
    pub additions: Option<i64>,
    /// Lines deleted since the base.
    pub deletions: Option<i64>,
    /// How it is isolated: `worktree` or `clone`.
    pub kind: Option<String>,
    /// The branch that its work is merged into.
    pub integration: Option<String>,
    /// The slot of the lease under which it was made.
    pub slot: Option<String>,
    /// Paths of the main checkout that changed during the last run that changed any.
    pub touched: Vec<String>,
}

/// The report of a worktree or of a change was recorded.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Reported)]
pub struct ReportedBody {
    pub success: bool,
    /// The lifecycle of the record.
    #[schema(value_type = String)]
    pub lifecycle: Name,
    /// The id of the record.
    #[schema(value_type = String)]
    pub id: Name,
    /// The journal entry of the report.
    pub seq: u64,
    /// True if the same request was sent before under its idempotency key.
    pub replayed: bool,
}

/// A reported change, without its files.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ChangeSummary)]
pub struct ChangeSummaryBody {
    /// The commit before the change.
    pub from: String,
    /// The commit with the change.
    pub to: String,
    /// When it was first reported.
    #[schema(format = DateTime)]
    pub at: String,
    /// Who reported it.
    pub runner: Option<String>,
    pub artifact: String,
    /// Changed files.
    pub files: i64,
    pub additions: i64,
    pub deletions: i64,
}

/// The change of an entity's work between two commits.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Diff)]
pub struct DiffBody {
    #[schema(value_type = String)]
    pub lifecycle: Name,
    #[schema(value_type = String)]
    pub id: Name,
    /// The change that is shown.
    pub change: ChangeSummaryBody,
    /// True if lines or files were left out because there are too many.
    pub truncated: bool,
    pub stats: ChangeStats,
    pub files: Vec<FileChange>,
    /// Every reported change, the oldest first. Each can be read with its `from` and `to`.
    pub changes: Vec<ChangeSummaryBody>,
}
