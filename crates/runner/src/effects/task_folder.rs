//! The folder in which an agent works on its task.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::json;
use trackside_protocol::TransitionBody;
use trackside_worktree::{
    CheckoutFingerprint, CreateOutcome, CreateRequest, GitFolder, RequestedSettings, WorktreeKind,
    WorktreeRecord, is_present,
};

use super::effect_client::{open_effects, take_effect};
use super::git_work::{GitWork, MadeWorktree};
use super::reported_worktree::{ReportedWork, owns};
use super::review_folder::prepare_review_folder;
use super::work_report::{report_change, report_facts, report_state};
use crate::agent_loop::{AgentLoop, LoopError, members};
use crate::launch::{self, LaunchSettings};
use crate::run_monitor::shortened;
use crate::runner_folder::AssignmentRecord;
use crate::server_api::RequestActor;

/// Seconds for which the effect of a worktree is taken.
const LEASE: u64 = 60;
const TICK: Duration = Duration::from_millis(50);

/// The folder of an assignment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskFolder {
    pub path: PathBuf,
    /// The worktree of the task. None for a folder of a reviewer.
    pub worktree: Option<WorktreeRecord>,
    /// The commit at the start of the run.
    pub commit: Option<String>,
    /// The commit at the start of the first run of the assignment: the one that was reviewed before.
    pub round: Option<String>,
    /// The commit of the integration branch of which the agent knows.
    pub integration: Option<String>,
    /// The main checkout at the start of the run.
    pub main: CheckoutFingerprint,
    pub variables: BTreeMap<String, String>,
}

/// A repository that cannot be used now.
#[derive(Clone, Debug)]
pub(crate) struct UnfitRepository {
    /// The integration branch that could not be used; none if something else was the reason.
    from: Option<String>,
    /// When it is tried again, and the pause after the next failure.
    until: Instant,
    pause: Duration,
}

/// Most paths of the main checkout in a report.
const MOST_TOUCHED: usize = 20;
/// The shortest and the longest pause before an unfit repository is tried again.
const SHORTEST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(300);

/// Whether an agent can start.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FolderState {
    Ready,
    /// There is no worktree, and the task was given back.
    GivenBack,
    /// Another runner makes the worktree.
    Waiting,
}

impl AgentLoop<'_> {
    /// Makes the worktree of the task that was claimed, and chooses the folder of its run.
    pub(crate) fn prepare_folder(&mut self, record: &mut AssignmentRecord) -> Result<FolderState, LoopError> {
        let (Some(git), Some((lifecycle, id))) = (self.git.clone(), record.entity.clone()) else {
            return Ok(FolderState::Ready);
        };
        let entity = format!("{lifecycle}/{id}");
        let slot = record.lease.as_ref().map(|it| it.slot.clone());
        let mut is_awaited = false;
        for effect in open_effects(&self.api, "worktree.create")? {
            if effect.lifecycle != lifecycle || effect.entity != id {
                continue;
            }
            // Another runner has it: it was taken for an earlier claim, and its result counts for that one.
            let Some(held) = take_effect(&self.api, &effect, LEASE)? else {
                is_awaited = true;
                continue;
            };
            let making =
                json!({ "state": "making", "path": held.text("path"), "branch": held.text("branch") });
            let _ = report_state(&self.api, &entity, making);
            let made = self.while_beating(|| git.make_worktree(&held, slot.as_deref()))?;
            git.settle_worktree(&self.api, &held, &made)?;
            if let MadeWorktree::Failed { why, is_unfit } = made {
                (self.say)(&format!("{entity} has no worktree and is given back: {why}"));
                if is_unfit {
                    self.set_unfit(held.text("from"), &why);
                }
                return Ok(FolderState::GivenBack);
            }
        }
        let found = git.repository.worktree_of(&entity).map_err(|it| LoopError::Folder(it.to_string()))?;
        let (mut worktree, commit) = match found {
            Some(worktree) => (worktree, None),
            None if is_awaited => return Ok(FolderState::Waiting),
            None => match git.find_reported(&self.api, &entity, slot.as_deref())? {
                ReportedWork::None => {
                    record.task_folder = None;
                    return Ok(FolderState::Ready);
                }
                ReportedWork::Here(worktree, commit) => (*worktree, Some(commit)),
                ReportedWork::Elsewhere(why) => {
                    (self.say)(&format!("{entity} is given back: {why}"));
                    git.report_elsewhere(&self.api, &entity);
                    self.set_unfit(None, &why);
                    return Ok(FolderState::GivenBack);
                }
            },
        };
        let is_own = owns(&worktree, slot.as_deref());
        let folder = if is_own {
            if commit.is_some() || !git.repository.is_usable(&worktree).unwrap_or(false) {
                // Its folder is gone. The branch continues, from the base that was recorded.
                match self.while_beating(|| remake(&git, &worktree))? {
                    Ok(again) => worktree = again,
                    Err(why) => {
                        (self.say)(&format!("{entity} has no worktree: {why}"));
                        self.set_unfit(Some(worktree.integration.clone()), &why);
                        return Ok(FolderState::GivenBack);
                    }
                }
                report_facts(&self.api, &git.repository, &worktree, "ready");
            }
            // The run before has ended with everything that it started.
            let _ = git.repository.clear_stale_locks(&worktree.path, &worktree.branch);
            self.restore_links(&git, &worktree);
            worktree.path.clone()
        } else {
            let agent = self.settings.agent.clone();
            let prepared =
                self.while_beating(|| prepare_review_folder(&git.repository, &worktree, commit, &agent))?;
            prepared.map_err(|it| LoopError::Folder(it.to_string()))?
        };
        let mut variables = worktree.variables.clone();
        // Git must not collect garbage while others work in the repository.
        for (name, value) in [
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "gc.auto"),
            ("GIT_CONFIG_VALUE_0", "0"),
            ("GIT_CONFIG_KEY_1", "maintenance.auto"),
            ("GIT_CONFIG_VALUE_1", "false"),
        ] {
            variables.insert(name.to_owned(), value.to_owned());
        }
        let commit = if is_own {
            git.repository.task_head(&worktree).ok().flatten()
        } else {
            GitFolder::new(&folder).commit("HEAD").ok().flatten()
        };
        let integration = format!("refs/heads/{}", worktree.integration);
        let earlier = record.task_folder.take().filter(|it| it.path == folder);
        record.task_folder = Some(TaskFolder {
            round: earlier.and_then(|it| it.round).or_else(|| commit.clone()),
            commit,
            integration: git.repository.git().commit(&integration).ok().flatten(),
            main: git.repository.fingerprint().map_err(|it| LoopError::Folder(it.to_string()))?,
            path: folder,
            worktree: is_own.then_some(worktree),
            variables,
        });
        self.folder.save_assignment(record)?;
        if self.unfit.take().is_some() {
            self.describe_unfit(None);
        }
        Ok(FolderState::Ready)
    }

    /// Does something long while the leases are kept.
    fn while_beating<T: Send>(&mut self, act: impl FnOnce() -> T + Send) -> Result<T, LoopError> {
        std::thread::scope(|scope| {
            let acting = scope.spawn(act);
            while !acting.is_finished() {
                let _ = self.beat();
                std::thread::sleep(TICK);
            }
            acting.join().map_err(|_| LoopError::Folder("the thread for git ended".to_owned()))
        })
    }

    /// The settings of a run in the folder of its task.
    pub(crate) fn launch_in_folder(&self, record: &AssignmentRecord) -> LaunchSettings {
        let mut launch = self.settings.launch.clone();
        let (Some(task), Some(git)) = (&record.task_folder, &self.git) else { return launch };
        launch.folder.clone_from(&task.path);
        // An adapter with a sandbox of its own gets a list of writable folders. The folder of all worktrees is not among it.
        let is_clone = task.worktree.as_ref().is_some_and(|it| it.kind == WorktreeKind::Clone);
        launch.git_folders = Some(if is_clone { vec![task.path.join(".git")] } else { Vec::new() });
        let common = git.repository.common();
        launch.read.push(common.to_owned());
        if let Some(worktree) = task.worktree.as_ref().filter(|it| it.kind == WorktreeKind::Worktree) {
            let refs = std::path::Path::new(&worktree.branch).parent().map(PathBuf::from).unwrap_or_default();
            for folder in [
                common.join("objects"),
                common.join("refs/heads").join(&refs),
                common.join("logs/refs/heads").join(&refs),
            ] {
                let _ = std::fs::create_dir_all(&folder);
                launch.write.push(folder);
            }
            launch.write.extend(git.repository.admin_folder(&worktree.path));
        }
        launch
    }

    /// Puts back git's own files of a worktree, if the run before changed them.
    fn restore_links(&self, git: &GitWork, worktree: &WorktreeRecord) {
        match git.repository.restore_links(worktree) {
            Ok(true) => (self.say)(&format!(
                "the files with which git finds the repository of {} were changed, and are put back",
                worktree.path.display()
            )),
            Ok(false) => {}
            Err(error) => (self.say)(&error.to_string()),
        }
    }

    /// Whether the folder of the task is gone, so that its run must end.
    pub(crate) fn has_vanished(&self, record: &AssignmentRecord) -> bool {
        record.task_folder.as_ref().is_some_and(|it| !is_present(&it.path))
    }

    /// Reports what a run did in the folder of its task. Returns the paths of the main checkout that were touched.
    pub(crate) fn report_folder(&mut self, record: &AssignmentRecord) -> Vec<String> {
        let (Some(task), Some(git)) = (&record.task_folder, &self.git) else { return Vec::new() };
        let repository = &git.repository;
        let touched = if self.settings.launch.protects(repository.root()) {
            // The agent cannot have changed anything there. A person can.
            Vec::new()
        } else {
            let touched =
                repository.fingerprint().and_then(|now| repository.touched_between(&task.main, &now));
            touched.unwrap_or_else(|error| vec![format!("not readable: {error}")])
        };
        let Some(worktree) = &task.worktree else { return touched };
        if !is_present(&worktree.path) {
            report_facts(&self.api, repository, worktree, "vanished");
            return touched;
        }
        self.restore_links(git, worktree);
        if let Err(error) = repository.fetch_home(worktree) {
            (self.say)(&format!("the commits of {} were not fetched: {error}", worktree.path.display()));
        }
        report_facts(&self.api, repository, worktree, "ready");
        let head = repository.task_head(worktree).ok().flatten();
        let entity = worktree.entity.as_deref().unwrap_or_default();
        if let Some(head) = head.filter(|it| Some(it) != task.commit.as_ref()) {
            // The whole change, and the change since the review before.
            let since = task.round.as_deref().filter(|it| *it != worktree.base && *it != head);
            for from in since.into_iter().chain([worktree.base.as_str()]) {
                if let Err(why) = report_change(&self.api, repository, entity, from, &head) {
                    (self.say)(&format!("the change of {} was not reported: {why}", worktree.branch));
                }
            }
        }
        touched
    }

    /// Reports that the main checkout changed during a run: the pack decides what happens to the work. Returns whether the
    /// agent no longer has it. `version` is that of the entity when the run began.
    pub(crate) fn report_strayed(
        &self,
        record: &AssignmentRecord,
        touched: &[String],
        version: u64,
    ) -> Result<bool, LoopError> {
        let (Some((lifecycle, id)), true) = (&record.entity, owns_worktree(record)) else { return Ok(false) };
        let touched: Vec<&String> = touched.iter().take(MOST_TOUCHED).collect();
        let body = json!({ "state": "strayed", "touched": touched });
        match report_state(&self.api, &format!("{lifecycle}/{id}"), body) {
            Err(error) if !error.is_refusal() => Err(error.into()),
            _ => self.is_over(record, version),
        }
    }

    /// Takes no work for a while, and says on the server why: the machine is the reason, and not the task.
    fn set_unfit(&mut self, from: Option<String>, why: &str) {
        let pause = self.unfit.take().map_or(SHORTEST, |it| it.pause);
        self.unfit =
            Some(UnfitRepository { from, until: Instant::now() + pause, pause: (pause * 2).min(LONGEST) });
        self.describe_unfit(Some(shortened(why, 1_900)));
    }

    /// Says on the server why this machine cannot start agents, or that it can again.
    fn describe_unfit(&self, why: Option<String>) {
        let fence = self.leases.get("fleet.runner", &self.settings.runner).map(|it| it.fence);
        let fields = members(json!({ "unfit": why }));
        let body =
            TransitionBody { event: Some("describe".to_owned()), fields, fence, ..TransitionBody::default() };
        let runner = self.settings.runner.clone();
        let _ = self.api.fire(RequestActor::Runner, "fleet.runner", &runner, &body, &launch::new_uuid());
    }

    /// Whether work can be taken now. An unfit repository takes none until it is repaired.
    pub(crate) fn is_fit(&mut self) -> bool {
        let (Some(unfit), Some(git)) = (&self.unfit, &self.git) else { return true };
        let is_repaired = |from: &String| git.repository.check_fitness(from).is_ok();
        Instant::now() >= unfit.until && unfit.from.as_ref().is_none_or(is_repaired)
    }
}

fn remake(git: &GitWork, record: &WorktreeRecord) -> Result<WorktreeRecord, String> {
    let root = git.repository.root();
    let request = CreateRequest {
        path: record.path.strip_prefix(root).unwrap_or(&record.path).to_string_lossy().into_owned(),
        branch: record.branch.clone(),
        from: record.integration.clone(),
        reset: false,
        entity: record.entity.clone(),
        slot: record.slot.clone(),
        made_for: record.made_for.clone(),
        environment: git.environment.clone(),
    };
    // The kind stays, even if the settings have changed since.
    let kind = Some(record.kind);
    let repository =
        git.repository.clone().with_settings(RequestedSettings { kind, ..RequestedSettings::default() });
    match repository.create_worktree(&request) {
        Ok(CreateOutcome::Ready { record, .. }) => Ok(record),
        Ok(CreateOutcome::Outdated) => Err("it was removed".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether the folder of an assignment is the worktree of its task, and not that of a reviewer.
fn owns_worktree(record: &AssignmentRecord) -> bool {
    record.task_folder.as_ref().is_some_and(|it| it.worktree.is_some())
}
