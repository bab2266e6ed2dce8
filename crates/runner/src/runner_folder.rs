//! The records of a runner on disk. The next process with its name continues from them.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use trackside_shim::RunFolder;

use crate::adapter::RunUsage;
use crate::effects::TaskFolder;
use crate::held_leases::HeldLease;
use crate::run_monitor::RunResult;
use crate::work_reach::WorkReach;

/// The folder of one runner. At most one process has it open.
#[derive(Debug)]
pub struct RunnerFolder {
    path: PathBuf,
    _lock: File,
}

/// The runner's registrations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RegistrationRecord {
    pub leases: Vec<HeldLease>,
    pub generation: u64,
    /// The idempotency key of a registration that was sent and has no stored answer, by the id of its entity.
    pub unanswered: BTreeMap<String, String>,
}

/// The work of the runner's agent, from its claim until everything about it is reported.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AssignmentRecord {
    /// Identifies the assignment; part of every idempotency key.
    pub key: String,
    /// Lifecycle and id. `None` while the claim is under way, and for a run without an entity.
    pub entity: Option<(String, String)>,
    /// The entity was claimed, or needs no claim.
    pub is_claimed: bool,
    pub lease: Option<HeldLease>,
    /// The lease ended because the work was moved on.
    pub is_released: bool,
    /// What the agent could do with the entity when its last process started.
    pub reach: WorkReach,
    /// The folder of its runs; none for the folder of the runner.
    pub task_folder: Option<TaskFolder>,
    /// The run under way.
    pub run: Option<RunRecord>,
    /// The run that has ended and whose consequences are not complete yet.
    pub ended: Option<EndedRun>,
    /// The run before it.
    pub previous: Option<String>,
    pub starts: u32,
    /// Restarts after `code` without progress.
    pub restarts: u32,
    /// Starts without progress.
    pub reruns: u32,
    pub code: Option<i64>,
    /// The conversation to continue.
    pub session: Option<String>,
    pub total: RunUsage,
}

/// A run that has ended and was reported. The steps after it are repeated until they are complete.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndedRun {
    pub id: String,
    pub result: RunResult,
    /// The exit code by which the pack's rules judge it.
    pub code: i64,
    /// Its entity moved.
    pub moved: bool,
    /// The version of the entity at the start.
    pub version: u64,
    /// What the agent changed in the main checkout, outside its worktree.
    #[serde(default)]
    pub touched: Vec<String>,
}

/// The run under way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecord {
    pub id: String,
    /// The server knows the run.
    pub is_created: bool,
    /// The process was started.
    pub is_started: bool,
    /// The id of its token.
    pub token: Option<String>,
    /// The entity's version and state at its start.
    pub version: u64,
    pub state: String,
    /// Changes of the entity that the runner made itself.
    pub own_moves: u64,
    /// The next line of the transcript that the server expects.
    pub next_line: u64,
    /// Number of times that usage was passed on to the entity, and how much.
    pub meterings: u32,
    pub metered: f64,
    pub metered_tokens: u64,
    /// The last message to the agent that was passed on.
    pub delivered: u64,
    /// Folders that the program may leave behind and that were not there before.
    pub leftovers: Vec<String>,
}

impl RunnerFolder {
    /// Opens the folder. `None` if another process of this machine has it open.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        fs::DirBuilder::new().mode(0o700).recursive(true).create(path.join("runs"))?;
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path.join("lock"))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { path: path.to_owned(), _lock: lock })),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn run_folder(&self, run: &str) -> PathBuf {
        self.path.join("runs").join(run)
    }

    /// Whether the shim of a run was started. It may have ended since.
    pub fn has_process(&self, run: &str) -> bool {
        RunFolder::new(self.run_folder(run)).has("running")
    }

    /// The runs that have a folder.
    pub fn runs(&self) -> io::Result<Vec<String>> {
        let names = fs::read_dir(self.path.join("runs"))?.flatten();
        Ok(names.filter_map(|it| it.file_name().into_string().ok()).collect())
    }

    pub fn registration(&self) -> io::Result<RegistrationRecord> {
        Ok(self.files().read("registration")?.unwrap_or_default())
    }

    pub fn save_registration(&self, record: &RegistrationRecord) -> io::Result<()> {
        self.files().write("registration", record)
    }

    pub fn assignment(&self) -> io::Result<Option<AssignmentRecord>> {
        self.files().read("assignment")
    }

    /// Durable before the next step is taken.
    pub fn save_assignment(&self, record: &AssignmentRecord) -> io::Result<()> {
        self.files().write("assignment", record)
    }

    pub fn clear_assignment(&self) -> io::Result<()> {
        remove(&self.path.join("assignment"))
    }

    pub fn clear_registration(&self) -> io::Result<()> {
        remove(&self.path.join("registration"))
    }

    fn files(&self) -> RunFolder {
        RunFolder::new(&self.path)
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_has_the_folder_and_the_next_finds_its_records() {
        let path = std::env::temp_dir().join(format!("trackside-runner-folder-{}", std::process::id()));
        let folder = RunnerFolder::open(&path).unwrap().unwrap();
        assert!(RunnerFolder::open(&path).unwrap().is_none());
        assert!(folder.assignment().unwrap().is_none());
        let record = AssignmentRecord { key: "k".to_owned(), restarts: 3, ..AssignmentRecord::default() };
        folder.save_assignment(&record).unwrap();
        drop(folder);
        let folder = RunnerFolder::open(&path).unwrap().unwrap();
        assert_eq!(folder.assignment().unwrap().unwrap().restarts, 3);
        folder.clear_assignment().unwrap();
        folder.clear_assignment().unwrap();
        assert!(folder.assignment().unwrap().is_none());
        fs::remove_dir_all(path).unwrap();
    }
}
