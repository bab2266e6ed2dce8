//! Merges, removals, checks and commits, in a thread beside the agent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trackside_protocol::EffectBody;

use super::effect_client::{open_effects, still_open, take_effect};
use super::git_work::GitWork;
use super::sweep::WorktreeSweep;
use super::task_commands::commands_of;
use super::upkeep::RepositoryUpkeep;
use crate::agent_loop::{AgentLoop, LoopEnd};
use crate::server_api::{ApiError, ServerApi};

/// The pause between two looks for effects, and the shorter one between looks for the end.
const POLL: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(100);
/// The pause between two comparisons of the worktrees on disk with the server.
const SWEEP: Duration = Duration::from_secs(10);
/// Seconds for which an effect is taken, beside the time of its commands.
const LEASE: u64 = 120;
/// Seconds for which a commit is taken: its hooks can take long.
const COMMIT_LEASE: u64 = 720;

/// Runs the loop of an agent, and the effects of its pack beside it.
pub(crate) fn work_beside(agent: &mut AgentLoop<'_>) -> LoopEnd {
    let Some(git) = agent.git.clone() else { return agent.work() };
    let worker = BackgroundWorker {
        git,
        api: agent.api().clone(),
        pack: format!("{}.", agent.pack()),
        say: agent.say,
    };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let beside = std::thread::Builder::new().name("effects".to_owned());
        let started = beside.spawn_scoped(scope, || worker.run(&is_over));
        if let Err(error) = started {
            return LoopEnd::Failed(format!("no thread for merges: {error}"));
        }
        let end = agent.work();
        is_over.store(true, Ordering::Relaxed);
        end
    })
}

struct BackgroundWorker<'a> {
    git: GitWork,
    api: ServerApi,
    /// The beginning of the names of its lifecycles.
    pack: String,
    say: &'a (dyn Fn(&str) + Sync),
}

impl BackgroundWorker<'_> {
    fn run(&self, is_over: &AtomicBool) {
        match self.git.repository.recover() {
            Ok(report) => report.iter().for_each(|line| (self.say)(line)),
            Err(error) => (self.say)(&error.to_string()),
        }
        let mut upkeep = RepositoryUpkeep::new();
        let (mut sweep, mut swept) = (WorktreeSweep::default(), None::<Instant>);
        let mut said = String::new();
        loop {
            if swept.is_none_or(|it| it.elapsed() >= SWEEP) {
                sweep.pass(&self.git, &self.api, &self.pack, self.say);
                swept = Some(Instant::now());
            }
            // One more look after the end, for the effects of the agent's last step.
            let is_last = is_over.load(Ordering::Relaxed);
            match self.look() {
                Ok(why) => {
                    if let Some(why) = why.filter(|it| *it != said) {
                        (self.say)(&why);
                        said = why;
                    }
                }
                Err(ApiError::Unreachable(_)) => {}
                Err(refused) => {
                    let why = refused.words();
                    if why != said {
                        (self.say)(&format!("effects are left to other runners: {why}"));
                        said = why;
                    }
                }
            }
            if is_last {
                return;
            }
            self.tell(&upkeep.run(&self.git, &self.api).unwrap_or_default());
            let until = Instant::now() + POLL;
            while Instant::now() < until && !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
            }
        }
    }

    /// Carries out the open effects. Returns why one has to wait.
    fn look(&self) -> Result<Option<String>, ApiError> {
        for effect in self.own(open_effects(&self.api, "worktree.remove")?) {
            if let Some(held) = take_effect(&self.api, &effect, LEASE)? {
                self.tell(&self.git.remove_worktree(&self.api, &held)?);
            }
        }
        for effect in self.own(open_effects(&self.api, "check.run")?) {
            self.run_checks(&effect)?;
        }
        let waiting = [self.commit_all()?, self.write_plans()?];
        if self.own(open_effects(&self.api, "merge")?).is_empty() {
            return Ok(waiting.into_iter().flatten().next());
        }
        Ok(self.merge_all()?.or(waiting.into_iter().flatten().next()))
    }

    /// Runs the checks of an effect, unless another runner has their folder. All runners with one token can continue with
    /// an effect that one of them has taken.
    fn run_checks(&self, effect: &EffectBody) -> Result<(), ApiError> {
        let Some(_folder) = self.git.take_folder_of(effect) else { return Ok(()) };
        // The runner that had the folder may have reported the result meanwhile.
        let Some(effect) = still_open(&self.api, effect)? else { return Ok(()) };
        let limits = commands_of(&effect.with).unwrap_or_default();
        let limits: u64 = limits.iter().map(|it| it.limit.as_secs()).sum();
        if let Some(held) = take_effect(&self.api, &effect, LEASE + limits)? {
            self.tell(&self.git.run_checks(&self.api, &held)?);
        }
        Ok(())
    }

    /// Commits in order, one at a time in a repository.
    fn commit_all(&self) -> Result<Option<String>, ApiError> {
        if self.own(open_effects(&self.api, "commit")?).is_empty() {
            return Ok(None);
        }
        let queue = match self.git.repository.take_merge_queue() {
            Ok(Some(queue)) => queue,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(error.to_string())),
        };
        let mut waits = None;
        // Listed again: another runner may have carried one out before this one had the queue.
        for effect in self.own(open_effects(&self.api, "commit")?) {
            // A runner of another clone can have it.
            if let Some(why) = self.git.foreign_work(&format!("{}/{}", effect.lifecycle, effect.entity)) {
                waits = Some(format!("a commit waits: {why}"));
                continue;
            }
            let Some(_folder) = self.git.take_folder_of(&effect) else { continue };
            let Some(held) = take_effect(&self.api, &effect, COMMIT_LEASE)? else { continue };
            match self.git.commit(&self.api, &held, &queue)? {
                Ok(words) => self.tell(&words),
                Err(why) => return Ok(Some(format!("commits wait: {why}"))),
            }
        }
        Ok(waits)
    }

    /// Marks closed tasks in their plan files, one at a time in a repository.
    fn write_plans(&self) -> Result<Option<String>, ApiError> {
        let effects = self.own(open_effects(&self.api, "plan.write")?);
        if effects.is_empty() {
            return Ok(None);
        }
        let queue = match self.git.repository.take_merge_queue() {
            Ok(Some(queue)) => queue,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(error.to_string())),
        };
        for effect in effects {
            if let Some(held) = take_effect(&self.api, &effect, LEASE)? {
                self.tell(&self.git.write_plan(&self.api, &held, &queue)?);
            }
        }
        Ok(None)
    }

    /// Merges in order, one at a time in a repository.
    fn merge_all(&self) -> Result<Option<String>, ApiError> {
        let queue = match self.git.repository.take_merge_queue() {
            Ok(Some(queue)) => queue,
            // Another runner merges now.
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(error.to_string())),
        };
        let mut waits = None;
        for effect in self.own(open_effects(&self.api, "merge")?) {
            let into = effect.with.get("into").and_then(|it| it.as_str()).unwrap_or_default();
            let commit = effect.with.get("commit").and_then(|it| it.as_str()).unwrap_or_default();
            if let Err(error) = self.git.repository.check_merge_is_possible(into) {
                return Ok(Some(format!("merges wait: {error}")));
            }
            // A runner of another clone can have it.
            if !self.git.repository.has_commit(commit) {
                waits =
                    Some(format!("the commit {commit} is not in {}", self.git.repository.root().display()));
                continue;
            }
            let settings = self.git.repository_for(&effect.with).ok().and_then(|it| it.settings().ok());
            let limits: u64 = settings.map_or(0, |it| it.checks.iter().map(|it| it.limit.as_secs()).sum());
            let Some(held) = take_effect(&self.api, &effect, LEASE + limits)? else { continue };
            match self.git.merge(&self.api, &held, &queue)? {
                Ok(words) => self.tell(&words),
                Err(why) => return Ok(Some(format!("merges wait: {why}"))),
            }
        }
        Ok(waits)
    }

    fn own(&self, effects: Vec<EffectBody>) -> Vec<EffectBody> {
        effects.into_iter().filter(|it| it.lifecycle.starts_with(&self.pack)).collect()
    }

    fn tell(&self, words: &str) {
        if !words.is_empty() {
            (self.say)(words);
        }
    }
}
