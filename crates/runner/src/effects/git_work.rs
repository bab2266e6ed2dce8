//! Carries out one git effect in the repository of the runner.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use trackside_worktree::{
    CreateOutcome, CreateRequest, FileLock, MergeOutcome, MergeRequest, RemoveOutcome, RemoveRequest,
    Repository, RequestOrigin, RequestedSettings, WorktreeError, WorktreeRecord,
};

use super::effect_client::{HeldEffect, settle_effect};
use super::work_report::{report_facts, store_artifact};
use crate::run_monitor::shortened;
use crate::server_api::{ApiError, ServerApi};

/// The folder below the main checkout in which packs have their worktrees.
pub(super) const WORKTREES: &str = ".worktrees";
/// The longest text of a failure in a field.
pub(super) const LONGEST: usize = 3_900;

/// A repository, and what its commands need.
#[derive(Clone, Debug)]
pub(crate) struct GitWork {
    pub repository: Repository,
    /// The name of the server. Numbers of effects count within one server.
    pub origin: String,
    /// The environment of setup commands and checks, without credentials.
    pub environment: BTreeMap<String, String>,
}

/// How an attempt to make a worktree ended.
#[derive(Debug)]
pub(crate) enum MadeWorktree {
    Ready(Box<WorktreeRecord>),
    Outdated,
    /// It failed, and why. `is_unfit` blames this machine.
    Failed {
        why: String,
        is_unfit: bool,
    },
}

impl GitWork {
    /// The repository with the settings that an effect names.
    pub fn repository_for(&self, with: &Map<String, Value>) -> Result<Repository, String> {
        let requested: RequestedSettings = serde_json::from_value(Value::Object(with.clone()))
            .map_err(|it| format!("the settings of the effect cannot be read: {it}"))?;
        Ok(self.repository.clone().with_settings(requested))
    }

    pub(super) fn made_for(&self, effect: &HeldEffect) -> RequestOrigin {
        RequestOrigin { origin: self.origin.clone(), number: effect.id }
    }

    /// Makes a worktree. `slot` is that of the lease under which the task was claimed.
    pub fn make_worktree(&self, effect: &HeldEffect, slot: Option<&str>) -> MadeWorktree {
        let text = |name: &str| effect.text(name);
        let (Some(path), Some(branch), Some(from)) = (text("path"), text("branch"), text("from")) else {
            let why = "the effect needs `path`, `branch` and `from`".to_owned();
            return MadeWorktree::Failed { why, is_unfit: false };
        };
        let request = CreateRequest {
            path,
            branch,
            from,
            reset: text("reset").as_deref() == Some("true"),
            entity: Some(effect.entity_key()),
            slot: slot.map(str::to_owned),
            made_for: self.made_for(effect),
            environment: self.environment.clone(),
        };
        let repository = match self.repository_for(&effect.with) {
            Ok(repository) => repository,
            Err(why) => return MadeWorktree::Failed { why, is_unfit: false },
        };
        match repository.create_worktree(&request) {
            Ok(CreateOutcome::Ready { record, .. }) => MadeWorktree::Ready(Box::new(record)),
            Ok(CreateOutcome::Outdated) => MadeWorktree::Outdated,
            Err(error) => {
                MadeWorktree::Failed { why: error.to_string(), is_unfit: error.is_fault_of_machine() }
            }
        }
    }

    /// Reports how a worktree was made.
    pub fn settle_worktree(
        &self,
        api: &ServerApi,
        effect: &HeldEffect,
        made: &MadeWorktree,
    ) -> Result<(), ApiError> {
        let grant = effect.with.get("grant").cloned().unwrap_or(Value::Null);
        let with_grant = |mut fields: Map<String, Value>| {
            if !grant.is_null() {
                fields.insert("grant".to_owned(), grant.clone());
            }
            Value::Object(fields)
        };
        let one = |name: &str, value: &str| Map::from_iter([(name.to_owned(), Value::from(value))]);
        match made {
            MadeWorktree::Ready(record) => {
                report_facts(api, &self.repository, record, "ready");
                settle_effect(api, effect, true, with_grant(one("commit", &record.base)))
            }
            MadeWorktree::Outdated => settle_effect(api, effect, true, with_grant(Map::new())),
            MadeWorktree::Failed { why, .. } => {
                settle_effect(api, effect, false, with_grant(one("detail", &shortened(why, LONGEST))))
            }
        }
    }

    /// Removes a worktree. Returns a message for people.
    pub fn remove_worktree(&self, api: &ServerApi, effect: &HeldEffect) -> Result<String, ApiError> {
        let entity = effect.entity_key();
        let (Some(path), Some(branch)) = (effect.text("path"), effect.text("branch")) else {
            settle_effect(api, effect, false, json!({ "detail": "the effect needs `path` and `branch`" }))?;
            return Ok(format!("{entity}: the effect needs `path` and `branch`"));
        };
        let request = RemoveRequest { path, branch, made_for: self.made_for(effect) };
        let repository = match self.repository_for(&effect.with) {
            Ok(repository) => repository,
            Err(why) => {
                settle_effect(api, effect, false, json!({ "detail": why }))?;
                return Ok(format!("{entity}: {why}"));
            }
        };
        match repository.remove_worktree(&request) {
            Ok(outcome) => {
                settle_effect(api, effect, true, json!({}))?;
                Ok(match outcome {
                    RemoveOutcome::Removed { saved } => {
                        self.report_removed(api, &entity);
                        removal_words(&entity, saved.as_deref())
                    }
                    RemoveOutcome::Outdated => String::new(),
                })
            }
            Err(error) => {
                let why = shortened(&error.to_string(), LONGEST);
                settle_effect(api, effect, false, json!({ "detail": why }))?;
                Ok(format!("{entity}: {why}"))
            }
        }
    }

    pub(super) fn report_removed(&self, api: &ServerApi, entity: &str) {
        let _ = super::work_report::report_state(api, entity, json!({ "state": "removed" }));
    }

    /// Merges a reviewed commit. `Err` of the inner result: the merge has to wait, and why.
    pub fn merge(
        &self,
        api: &ServerApi,
        effect: &HeldEffect,
        queue: &FileLock,
    ) -> Result<Result<String, String>, ApiError> {
        let entity = effect.entity_key();
        let text = |name: &str| effect.text(name);
        let (Some(branch), Some(commit), Some(into)) = (text("branch"), text("commit"), text("into")) else {
            settle_effect(
                api,
                effect,
                false,
                json!({ "detail": "the effect needs `branch`, `commit` and `into`" }),
            )?;
            return Ok(Ok(format!("{entity}: the effect needs `branch`, `commit` and `into`")));
        };
        let request = MergeRequest {
            path: text("path"),
            branch,
            commit: commit.clone(),
            into: into.clone(),
            base: text("base"),
            entity: Some(entity.clone()),
            made_for: self.made_for(effect),
            environment: self.environment.clone(),
        };
        let repository = match self.repository_for(&effect.with) {
            Ok(repository) => repository,
            Err(why) => {
                settle_effect(api, effect, false, json!({ "detail": why, "commit": commit }))?;
                return Ok(Ok(format!("{entity}: {why}")));
            }
        };
        match repository.merge(&request, queue) {
            Ok(MergeOutcome::Merged {
                merge_commit, before, drift, output, is_removed, warnings, ..
            }) => {
                let mut fields = Map::from_iter([
                    ("merge_commit".to_owned(), Value::from(merge_commit.as_str())),
                    ("commit".to_owned(), commit.into()),
                ]);
                fields.extend(drift.map(|it| ("drift".to_owned(), it.into())));
                fields.extend(before.map(|it| ("merge_before".to_owned(), it.into())));
                fields.extend(stored_output(api, &output));
                settle_effect(api, effect, true, Value::Object(fields))?;
                // If not, the sweep tries again.
                if is_removed {
                    self.report_removed(api, &entity);
                }
                let short: String = merge_commit.chars().take(12).collect();
                let mut words = format!("{entity} is merged into {into} as {short}");
                for warning in warnings {
                    words.push_str(&format!(". {warning}"));
                }
                Ok(Ok(words))
            }
            Ok(MergeOutcome::Failed { summary, output }) => {
                let mut fields = Map::from_iter([
                    ("integration_failure".to_owned(), shortened(&summary, LONGEST).into()),
                    ("commit".to_owned(), commit.into()),
                ]);
                fields.extend(stored_output(api, &output));
                settle_effect(api, effect, false, Value::Object(fields))?;
                Ok(Ok(format!("{entity} is not merged: {summary}")))
            }
            Err(WorktreeError::Request(why)) => {
                settle_effect(api, effect, false, json!({ "integration_failure": why, "commit": commit }))?;
                Ok(Ok(format!("{entity} is not merged: {why}")))
            }
            // The repository or this machine is the reason: the task waits, and another runner can take over.
            Err(error) => Ok(Err(error.to_string())),
        }
    }
}

/// Stores what the checks of a merge wrote, and returns the member that names it; none if they wrote nothing.
fn stored_output(api: &ServerApi, output: &str) -> Option<(String, Value)> {
    let stored = if output.is_empty() { None } else { store_artifact(api, output.as_bytes()) };
    stored.map(|it| ("integration_output".to_owned(), it.into()))
}

pub(super) fn removal_words(entity: &str, saved: Option<&str>) -> String {
    match saved {
        Some(id) => format!(
            "the worktree of {entity} was removed. Its unmerged work is saved: trackside worktree restore {id}"
        ),
        None => String::new(),
    }
}
