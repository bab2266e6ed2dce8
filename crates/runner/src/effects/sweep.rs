//! Compares the worktrees on disk with the server.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trackside_worktree::{RemoveOutcome, RemoveRequest, RequestOrigin, WorktreeRecord, WorktreeState};

use super::git_work::{GitWork, removal_words};
use super::work_report::report_state;
use crate::server_api::{ApiError, RequestActor, ServerApi};

/// A pass over the worktrees of a repository, again and again.
#[derive(Debug, Default)]
pub(super) struct WorktreeSweep {
    /// Entities whose worktree was gone in the pass before. A run in it has ended by the next one, and its end is reported
    /// first.
    gone: BTreeSet<String>,
    /// Messages that were printed.
    said: BTreeSet<String>,
}

impl WorktreeSweep {
    /// Finishes the operations of killed processes. Then reports worktrees whose folder is gone, and removes those of
    /// entities that have ended. `pack` is the beginning of the names of its lifecycles.
    pub fn pass(&mut self, git: &GitWork, api: &ServerApi, pack: &str, say: &dyn Fn(&str)) {
        match git.repository.recover() {
            Ok(report) => report.iter().for_each(|line| say(line)),
            Err(error) => say(&error.to_string()),
        }
        let before = std::mem::take(&mut self.gone);
        let records = git.repository.worktree_records().unwrap_or_default();
        for record in records.iter().filter(|it| it.state == WorktreeState::Ready) {
            let Some(entity) = record.entity.as_deref().filter(|it| it.starts_with(pack)) else { continue };
            if record.made_for.origin != git.origin {
                continue;
            }
            match self.compare(git, api, record, entity, before.contains(entity)) {
                Ok(words) if words.is_empty() => {}
                Ok(words) => {
                    if self.said.insert(words.clone()) {
                        say(&words);
                    }
                }
                // The next pass tries again.
                Err(ApiError::Unreachable(_)) => return,
                // An entity that this runner may not see.
                Err(ApiError::Refused(_)) => {}
            }
        }
    }

    /// Compares one worktree with its entity. Returns a message for people.
    fn compare(
        &mut self,
        git: &GitWork,
        api: &ServerApi,
        record: &WorktreeRecord,
        entity: &str,
        was_gone: bool,
    ) -> Result<String, ApiError> {
        let Some((lifecycle, id)) = entity.split_once('/') else { return Ok(String::new()) };
        if api.entity(RequestActor::Runner, lifecycle, id)?.is_final {
            return Ok(git.remove_of_ended(api, record, entity));
        }
        let Ok(Some(lost)) = git.repository.find_lost(record) else { return Ok(String::new()) };
        self.gone.insert(entity.to_owned());
        let known = api.get(&format!("/v1/entities/{entity}/worktree"));
        let known = known.ok().and_then(|it| it.get("state").and_then(Value::as_str).map(str::to_owned));
        if !was_gone || known.as_deref() == Some("vanished") {
            return Ok(String::new());
        }
        report_state(api, entity, json!({ "state": "vanished" }))?;
        Ok(format!("the worktree {} of {entity} is gone", lost.record.path.display()))
    }
}

impl GitWork {
    /// Removes the worktree of an entity that has ended. It is there because the first attempt failed.
    fn remove_of_ended(&self, api: &ServerApi, record: &WorktreeRecord, entity: &str) -> String {
        let path = record.path.strip_prefix(self.repository.root()).unwrap_or(&record.path);
        let made_for =
            RequestOrigin { number: record.made_for.number.saturating_add(1), ..record.made_for.clone() };
        let request = RemoveRequest {
            path: path.to_string_lossy().into_owned(),
            branch: record.branch.clone(),
            made_for,
        };
        match self.repository.remove_worktree(&request) {
            Ok(RemoveOutcome::Removed { saved }) => {
                self.report_removed(api, entity);
                removal_words(entity, saved.as_deref())
            }
            Ok(RemoveOutcome::Outdated) => String::new(),
            Err(error) => format!("the worktree of {entity} was not removed: {error}"),
        }
    }
}
