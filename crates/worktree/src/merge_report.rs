//! What a merge has to report besides its commit. It is stored before the branch moves, so a runner that finds the merge
//! done reports the same.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::error::WorktreeError;
use crate::files::{read_json, write_json};
use crate::repository::Repository;

/// How long a report is stored. By then a runner has sent it.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The report of a merge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct MergeReport {
    /// The commit of the integration branch before the merge.
    pub before: Option<String>,
    /// What the checks wrote.
    pub output: String,
}

impl Repository {
    fn merge_reports(&self) -> PathBuf {
        self.data().join("merges")
    }

    fn merge_report_path(&self, marker: &str) -> PathBuf {
        let name = marker.trim_start_matches("refs/trackside/merged/").replace('%', "%25").replace('/', "+");
        self.merge_reports().join(format!("{name}.json"))
    }

    /// Stores the report of the merge that a marker stands for. Removes old ones.
    pub(crate) fn save_merge_report(&self, marker: &str, report: &MergeReport) -> Result<(), WorktreeError> {
        for entry in std::fs::read_dir(self.merge_reports()).into_iter().flatten().flatten() {
            let written = entry.metadata().and_then(|it| it.modified()).unwrap_or_else(|_| SystemTime::now());
            if written.elapsed().is_ok_and(|it| it > KEPT) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        write_json(&self.merge_report_path(marker), report)
    }

    /// The report of the merge that a marker stands for; empty if it is not stored any more.
    pub(crate) fn merge_report(&self, marker: &str) -> Result<MergeReport, WorktreeError> {
        Ok(read_json(&self.merge_report_path(marker))?.unwrap_or_default())
    }
}
