//! Which changes of the main checkout belong to which task, if agents work there without worktrees.
//!
//! The state of the checkout is recorded when a run begins and ends. What changed in between belongs to the tasks whose
//! runs were open. What changed at other times, or was there before, belongs to a person.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::error::WorktreeError;
use crate::files::{FileLock, read_json, write_json};
use crate::fingerprint::{CheckoutFingerprint, PathState};
use crate::repository::Repository;

/// What is known about the main checkout.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct CheckoutWork {
    /// The task of each agent that has a run.
    open: BTreeMap<String, String>,
    /// The state of the checkout when it was last looked at.
    last: CheckoutFingerprint,
    /// By entity, LIFECYCLE/ID.
    tasks: BTreeMap<String, TaskWork>,
}

/// The work of one task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct TaskWork {
    /// Paths with changes that were not committed before its first run.
    before: BTreeSet<String>,
    /// Paths that changed while only its runs were open.
    own: BTreeSet<String>,
    /// Paths that changed while runs of several tasks were open.
    shared: BTreeSet<String>,
    /// Every changed path at the last beginning or end of one of its runs. A review has seen this.
    seen: BTreeMap<String, PathState>,
    /// When that was, in seconds.
    at: i64,
}

/// Tasks that are remembered. Those of packs without commits are never forgotten otherwise.
const REMEMBERED: usize = 500;

/// The paths of a task that can be committed now, or why they cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathsOfTask {
    Known(BTreeSet<String>),
    Refused {
        summary: String,
        output: String,
    },
    /// No run of the task was recorded in this checkout.
    Unknown,
}

impl CheckoutWork {
    /// Assigns what has changed since the last look to the open runs.
    fn look(&mut self, repository: &Repository) -> Result<(), WorktreeError> {
        let now = repository.fingerprint()?;
        let touched = repository.touched_between(&self.last, &now)?;
        let working: BTreeSet<String> = self.open.values().cloned().collect();
        for entity in &working {
            let Some(work) = self.tasks.get_mut(entity) else { continue };
            let paths = if working.len() == 1 { &mut work.own } else { &mut work.shared };
            paths.extend(touched.iter().filter(|it| now.changed.contains_key(*it)).cloned());
        }
        self.last = now;
        Ok(())
    }

    fn forget_oldest(&mut self) {
        while self.tasks.len() > REMEMBERED {
            let idle = self.tasks.iter().filter(|(entity, _)| !self.open.values().any(|it| it == *entity));
            let Some(oldest) = idle.min_by_key(|(_, it)| it.at).map(|(entity, _)| entity.clone()) else {
                return;
            };
            self.tasks.remove(&oldest);
        }
    }

    fn paths_of(&self, entity: &str) -> PathsOfTask {
        let Some(work) = self.tasks.get(entity) else { return PathsOfTask::Unknown };
        let changed = &self.last.changed;
        let is_of_other =
            |path: &String| self.tasks.iter().any(|(other, it)| other != entity && it.own.contains(path));
        let is_seen = |path: &String| has_same_content(work.seen.get(path), changed.get(path));
        let own: BTreeSet<&String> = work.own.iter().filter(|it| changed.contains_key(*it)).collect();
        let listed = |paths: Vec<&&String>| paths.iter().map(|it| format!("{it}\n")).collect::<String>();
        let mixed: Vec<_> = own.iter().filter(|it| work.before.contains(**it)).collect();
        if let Some(first) = mixed.first() {
            let summary = format!(
                "{first} had changes that were not committed before the first run of the task, and has changed since. Commit or stash changes of your own before agents work in this folder"
            );
            return PathsOfTask::Refused { summary, output: listed(mixed) };
        }
        let unseen: Vec<_> = own.iter().filter(|it| !is_seen(it)).collect();
        if let Some(first) = unseen.first() {
            let summary =
                format!("{first} has changed after the last run of the task: nobody has reviewed it");
            return PathsOfTask::Refused { summary, output: listed(unseen) };
        }
        let shared = work.shared.iter().filter(|it| {
            changed.contains_key(*it) && !work.before.contains(*it) && is_seen(it) && !is_of_other(it)
        });
        PathsOfTask::Known(own.into_iter().chain(shared).cloned().collect())
    }
}

/// Whether a path has not been written between two looks. How it differs from the commit does not count: adding it to
/// the index changes that.
fn has_same_content(before: Option<&PathState>, now: Option<&PathState>) -> bool {
    match (before, now) {
        (Some((_, size, time)), Some((_, size_now, time_now))) => (size, time) == (size_now, time_now),
        _ => false,
    }
}

impl Repository {
    /// Records that a run of an agent for a task begins in the main checkout.
    pub fn begin_work(&self, entity: &str, agent: &str) -> Result<(), WorktreeError> {
        self.with_checkout_work(|work| {
            work.open.remove(agent);
            work.look(self)?;
            let before = || work.last.changed.keys().cloned().collect();
            let task = work.tasks.entry(entity.to_owned());
            let task = task.or_insert_with(|| TaskWork { before: before(), ..TaskWork::default() });
            task.seen.clone_from(&work.last.changed);
            task.at = jiff::Timestamp::now().as_second();
            work.open.insert(agent.to_owned(), entity.to_owned());
            work.forget_oldest();
            Ok(())
        })
    }

    /// Records that the run of an agent has ended. Without a beginning, this does nothing.
    pub fn end_work(&self, entity: &str, agent: &str) -> Result<(), WorktreeError> {
        self.with_checkout_work(|work| {
            if work.open.get(agent).is_none_or(|it| it != entity) {
                return Ok(());
            }
            work.look(self)?;
            work.open.remove(agent);
            if let Some(task) = work.tasks.get_mut(entity) {
                task.seen.clone_from(&work.last.changed);
            }
            Ok(())
        })
    }

    /// Whether a run of a task was recorded in the main checkout.
    pub fn has_work_of(&self, entity: &str) -> Result<bool, WorktreeError> {
        self.with_checkout_work(|work| Ok(work.tasks.contains_key(entity)))
    }

    /// The paths of the main checkout that belong to a task.
    pub(crate) fn paths_of_task(&self, entity: &str) -> Result<PathsOfTask, WorktreeError> {
        self.with_checkout_work(|work| {
            work.look(self)?;
            Ok(work.paths_of(entity))
        })
    }

    /// Forgets the work of a task that was committed.
    pub(crate) fn forget_work(&self, entity: &str) -> Result<(), WorktreeError> {
        self.with_checkout_work(|work| {
            work.look(self)?;
            work.tasks.remove(entity);
            work.open.retain(|_, it| it != entity);
            Ok(())
        })
    }

    fn with_checkout_work<T>(
        &self,
        act: impl FnOnce(&mut CheckoutWork) -> Result<T, WorktreeError>,
    ) -> Result<T, WorktreeError> {
        let _lock = FileLock::wait(&self.data().join("checkout.lock"))?;
        let path = self.data().join("checkout.json");
        let before: Option<CheckoutWork> = read_json(&path)?;
        let mut work = before.unwrap_or_default();
        let result = act(&mut work)?;
        write_json(&path, &work)?;
        Ok(result)
    }
}
