//! The record of each worktree, beside git's own data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{AtPath as _, WorktreeError};
use crate::files::{read_json, write_json};
use crate::repository::Repository;
use crate::settings::WorktreeKind;

/// The state of a worktree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorktreeState {
    /// It contains no work yet.
    #[default]
    Making,
    Ready,
    Removed,
}

/// The request for which something was done. Later requests of one origin have greater numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestOrigin {
    /// The server.
    pub origin: String,
    pub number: u64,
}

/// A worktree of a task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WorktreeRecord {
    pub path: PathBuf,
    pub branch: String,
    pub kind: WorktreeKind,
    pub state: WorktreeState,
    /// LIFECYCLE/ID of its task.
    pub entity: Option<String>,
    /// The slot of the lease under which it was made.
    pub slot: Option<String>,
    /// The commit from which its branch was started, recorded when it was made.
    pub base: String,
    /// The branch that it is merged into.
    pub integration: String,
    pub made_for: RequestOrigin,
    /// The name of the folder in which git keeps its state, once it is ready. None of a clone.
    pub admin: Option<String>,
    /// The first of its ports.
    pub port: Option<u16>,
    /// Variables for processes in it.
    pub variables: BTreeMap<String, String>,
}

impl WorktreeRecord {
    pub(crate) fn is_living(&self) -> bool {
        self.state != WorktreeState::Removed
    }
}

/// The name of the files of a worktree among the records.
pub(crate) fn record_name(place: &Path, root: &Path) -> String {
    let path = place.strip_prefix(root).unwrap_or(place);
    path.to_string_lossy().trim_start_matches('/').replace('%', "%25").replace('/', "+")
}

impl Repository {
    pub(crate) fn record_folder(&self) -> PathBuf {
        self.data().join("worktrees")
    }

    pub(crate) fn record_path(&self, place: &Path) -> PathBuf {
        self.record_folder().join(format!("{}.json", record_name(place, self.root())))
    }

    /// The record of the worktree at this path.
    pub fn worktree_record(&self, place: &Path) -> Result<Option<WorktreeRecord>, WorktreeError> {
        read_json(&self.record_path(place))
    }

    pub(crate) fn save_record(&self, record: &WorktreeRecord) -> Result<(), WorktreeError> {
        write_json(&self.record_path(&record.path), record)
    }

    /// All records, by path.
    pub fn worktree_records(&self) -> Result<Vec<WorktreeRecord>, WorktreeError> {
        let folder = self.record_folder();
        let mut records: Vec<WorktreeRecord> = Vec::new();
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(records),
            entries => entries.at(&folder)?,
        };
        for entry in entries {
            let path = entry.at(&folder)?.path();
            // Drafts have another ending.
            if path.extension().is_some_and(|it| it == "json") {
                records.extend(read_json(&path)?);
            }
        }
        records.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(records)
    }

    /// The worktree of an entity that is ready.
    pub fn worktree_of(&self, entity: &str) -> Result<Option<WorktreeRecord>, WorktreeError> {
        let records = self.worktree_records()?;
        let is_its =
            |it: &WorktreeRecord| it.entity.as_deref() == Some(entity) && it.state == WorktreeState::Ready;
        Ok(records.into_iter().find(is_its))
    }
}
