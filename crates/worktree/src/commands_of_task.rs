//! Commands and commits in the folder of a task, with the hooks and the settings of its owner.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::checkout_git::RemovedFolder;
use crate::checkout_work::PathsOfTask;
use crate::commands::{CommandEnding, run_command};
use crate::error::{AtPath as _, WorktreeError};
use crate::files::{FileLock, exists, random_id};
use crate::git::GitFolder;
use crate::record::{RequestOrigin, record_name};
use crate::repository::Repository;
use crate::settings::CommandRule;
use crate::step_log::LoggedOperation;

/// The time that git and the hooks of a commit may take.
const LIMIT: Duration = Duration::from_secs(600);
/// Commits among which one that was made before a kill is looked for.
const SEARCHED: &str = "--max-count=200";
/// Commits the paths that a file lists.
const COMMIT_PATHS: &str = r#"{ test ! -s "$TRACKSIDE_PRESENT_FILE" ||
git --literal-pathspecs add --pathspec-from-file="$TRACKSIDE_PRESENT_FILE" --pathspec-file-nul; } &&
git --literal-pathspecs commit --quiet --file "$TRACKSIDE_MESSAGE_FILE" \
--only --pathspec-from-file="$TRACKSIDE_PATHS_FILE" --pathspec-file-nul"#;
/// The line of a commit message that names the request.
const TRAILER: &str = "Trackside-Request";

/// A request to commit the work in a folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CommitRequest {
    pub folder: PathBuf,
    /// LIFECYCLE/ID of the task. In the main checkout, only its own changes are committed. None for everything in the
    /// folder.
    pub entity: Option<String>,
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

    /// Commits the work in a folder, with its hooks. The same request again gives the same commit. Hold the lock of the
    /// merge queue.
    pub fn commit_work(
        &self,
        request: &CommitRequest,
        _queue: &FileLock,
    ) -> Result<CommitOutcome, WorktreeError> {
        if let Some(commit) = self.earlier_commit(request)? {
            return self.committed(request, commit);
        }
        let entity = request.entity.as_deref().filter(|_| request.folder == self.root());
        let paths = match entity.map(|it| self.paths_of_task(it)).transpose()? {
            None => None,
            Some(PathsOfTask::Known(paths)) => Some(paths),
            Some(PathsOfTask::Refused { summary, output }) => {
                return Ok(CommitOutcome::Refused { summary, output });
            }
            Some(PathsOfTask::Unknown) => {
                return Err(WorktreeError::Hold(self.unknown_work(entity.unwrap_or_default())));
            }
        };
        let is_empty = match &paths {
            Some(paths) => paths.is_empty(),
            None => GitFolder::new(&request.folder).text(&["status", "--porcelain"])?.is_empty(),
        };
        if is_empty {
            let summary = "there is nothing to commit".to_owned();
            return Ok(CommitOutcome::Refused { summary, output: String::new() });
        }
        let mut operation = LoggedOperation::begin(&self.steps(), "commit", request, &self.hook)?;
        let mut ending = None;
        let result = operation.step("commit", || {
            ending = Some(self.run_commit(request, paths.as_ref())?);
            Ok(())
        });
        operation.conclude(result)?;
        if let Some(commit) = self.earlier_commit(request)? {
            return self.committed(request, commit);
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

    /// Says that the changes of a task are not known here.
    pub fn unknown_work(&self, entity: &str) -> String {
        format!(
            "no run of {entity} was recorded in {}, so it is not known which changes there are its own. A runner of the checkout in which its agents worked commits them. If they worked without a runner, commit the changes yourself and report the commit",
            self.root().display()
        )
    }

    fn committed(&self, request: &CommitRequest, commit: String) -> Result<CommitOutcome, WorktreeError> {
        if let Some(entity) = &request.entity {
            self.forget_work(entity)?;
        }
        Ok(CommitOutcome::Committed { commit })
    }

    /// Commits these paths, or everything. What else is in the index stays there.
    fn run_commit(
        &self,
        request: &CommitRequest,
        paths: Option<&BTreeSet<String>>,
    ) -> Result<CommandEnding, WorktreeError> {
        let scratch = self.data().join("tmp").join(format!("commit-{}", random_id()));
        fs::create_dir_all(&scratch).at(&scratch)?;
        let _removed = RemovedFolder(scratch.clone());
        let write = |name: &str, text: String| {
            let file = scratch.join(name);
            fs::write(&file, text).at(&file).map(|()| file.display().to_string())
        };
        let text = format!("{}\n\n{TRAILER}: {}\n", request.message.trim_end(), mark_of(request));
        let mut environment = request.environment.clone();
        environment.insert("TRACKSIDE_MESSAGE_FILE".to_owned(), write("message", text)?);
        let command = match paths {
            None => "git add --all && git commit --quiet --file \"$TRACKSIDE_MESSAGE_FILE\"".to_owned(),
            Some(paths) => {
                let listed = |is_meant: &dyn Fn(&String) -> bool| -> String {
                    paths.iter().filter(|it| is_meant(it)).map(|it| format!("{it}\0")).collect()
                };
                // A path that is gone from the index cannot be added. The commit takes it from the last one.
                let present = listed(&|it| exists(&request.folder.join(it)));
                environment.insert("TRACKSIDE_PRESENT_FILE".to_owned(), write("present", present)?);
                environment.insert("TRACKSIDE_PATHS_FILE".to_owned(), write("paths", listed(&|_| true))?);
                COMMIT_PATHS.to_owned()
            }
        };
        let rule = CommandRule { name: None, run: command, limit: LIMIT };
        run_command(&rule, &request.folder, &environment, &scratch)
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
