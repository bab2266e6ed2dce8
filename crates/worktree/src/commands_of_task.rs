//! Commands and commits in the folder of a task, with the hooks and the settings of its owner.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::commands::{CommandEnding, run_command};
use crate::error::{AtPath as _, WorktreeError};
use crate::files::{FileLock, random_id, remove_file};
use crate::git::GitFolder;
use crate::record::{RequestOrigin, record_name};
use crate::repository::Repository;
use crate::settings::CommandRule;
use crate::step_log::LoggedOperation;

/// The time that git and the hooks of a commit may take.
const LIMIT: Duration = Duration::from_secs(600);
/// Commits among which one that was made before a kill is looked for.
const SEARCHED: &str = "--max-count=200";
/// The line of a commit message that names the request.
const TRAILER: &str = "Trackside-Request";

/// A request to commit everything in a folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CommitRequest {
    pub folder: PathBuf,
    pub message: String,
    pub made_for: RequestOrigin,
    /// The environment of git and its hooks.
    #[serde(skip)]
    pub environment: BTreeMap<String, String>,
}

/// The result of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    Committed {
        commit: String,
    },
    /// A hook refused it, or there was nothing to commit. `output` is what git and the hooks wrote.
    Refused {
        summary: String,
        output: String,
    },
}

impl Repository {
    /// Takes a folder for the commands of a task. None while another process runs commands in it.
    pub fn take_folder(&self, folder: &Path) -> Result<Option<FileLock>, WorktreeError> {
        let name = format!("in-{}.lock", record_name(folder, self.root()));
        FileLock::take(&self.data().join("commands").join(name))
    }

    /// Runs a command in a folder of this repository.
    pub fn run_command_in(
        &self,
        folder: &Path,
        rule: &CommandRule,
        environment: &BTreeMap<String, String>,
    ) -> Result<CommandEnding, WorktreeError> {
        run_command(rule, folder, environment, &self.data().join("tmp"))
    }

    /// Commits everything in a folder, with its hooks. The same request again gives the same commit. Hold the lock of the
    /// merge queue.
    pub fn commit_all(
        &self,
        request: &CommitRequest,
        _queue: &FileLock,
    ) -> Result<CommitOutcome, WorktreeError> {
        if let Some(commit) = self.earlier_commit(request)? {
            return Ok(CommitOutcome::Committed { commit });
        }
        let own = GitFolder::new(&request.folder);
        if own.text(&["status", "--porcelain"])?.is_empty() {
            let summary = "there is nothing to commit".to_owned();
            return Ok(CommitOutcome::Refused { summary, output: String::new() });
        }
        let mut operation = LoggedOperation::begin(&self.steps(), "commit", request, &self.hook)?;
        let mut ending = None;
        let result = operation.step("commit", || {
            ending = Some(self.run_commit(request)?);
            Ok(())
        });
        operation.conclude(result)?;
        if let Some(commit) = self.earlier_commit(request)? {
            return Ok(CommitOutcome::Committed { commit });
        }
        let output = ending.map(|it: CommandEnding| it.output).unwrap_or_default();
        if output.contains(".lock': File exists") {
            return Err(WorktreeError::Hold(format!(
                "another program works in {}: {}",
                request.folder.display(),
                output.trim()
            )));
        }
        let said = output.lines().map(str::trim).rfind(|it| !it.is_empty()).unwrap_or("git wrote no reason");
        Ok(CommitOutcome::Refused { summary: said.to_owned(), output })
    }

    fn run_commit(&self, request: &CommitRequest) -> Result<CommandEnding, WorktreeError> {
        let scratch = self.data().join("tmp");
        fs::create_dir_all(&scratch).at(&scratch)?;
        let file = scratch.join(format!("message-{}", random_id()));
        let text = format!("{}\n\n{TRAILER}: {}\n", request.message.trim_end(), mark_of(request));
        fs::write(&file, text).at(&file)?;
        let mut environment = request.environment.clone();
        environment.insert("TRACKSIDE_MESSAGE_FILE".to_owned(), file.display().to_string());
        let rule = CommandRule {
            name: None,
            run: "git add --all && git commit --quiet --file \"$TRACKSIDE_MESSAGE_FILE\"".to_owned(),
            limit: LIMIT,
        };
        let ending = run_command(&rule, &request.folder, &environment, &scratch);
        remove_file(&file)?;
        ending
    }

    /// The commit that was made for this request.
    fn earlier_commit(&self, request: &CommitRequest) -> Result<Option<String>, WorktreeError> {
        let own = GitFolder::new(&request.folder);
        if own.commit("HEAD")?.is_none() {
            return Ok(None);
        }
        let format = format!("--format=%H %(trailers:key={TRAILER},valueonly,separator=%x20)");
        let mark = mark_of(request);
        let lines = own.lines(&["log", SEARCHED, &format])?;
        Ok(lines.iter().find_map(|it| {
            let (commit, marks) = it.split_once(' ')?;
            marks.split(' ').any(|it| it == mark).then(|| commit.to_owned())
        }))
    }
}

fn mark_of(request: &CommitRequest) -> String {
    let origin: String =
        request.made_for.origin.chars().map(|it| if it.is_whitespace() { '-' } else { it }).collect();
    format!("{origin}/{}", request.made_for.number)
}
