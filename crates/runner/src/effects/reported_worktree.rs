//! The worktree of a task of which this repository has no record: another clone or machine made it, or the records were
//! lost.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use trackside_worktree::{RequestOrigin, WorktreeKind, WorktreeRecord, WorktreeState};

use super::git_work::{GitWork, WORKTREES};
use super::work_report::report_state;
use crate::server_api::{ApiError, ServerApi};

/// Where the work of a task is that this repository has no record of.
#[derive(Debug)]
pub(super) enum ReportedWork {
    /// The task has no worktree.
    None,
    /// Its commits are here, so the record can be made again. The text is its last commit.
    Here(Box<WorktreeRecord>, String),
    /// Its commits are in another repository.
    Elsewhere(String),
}

#[derive(Debug, Deserialize)]
struct ReportedRecord {
    state: String,
    path: Option<String>,
    branch: Option<String>,
    base: Option<String>,
    head: Option<String>,
    kind: Option<WorktreeKind>,
    integration: Option<String>,
    slot: Option<String>,
}

impl GitWork {
    /// Looks for the work of an entity by what runners have reported. `slot` is that of the lease under which the entity
    /// was claimed.
    pub(super) fn find_reported(
        &self,
        api: &ServerApi,
        entity: &str,
        slot: Option<&str>,
    ) -> Result<ReportedWork, ApiError> {
        let reported = match api.get(&format!("/v1/entities/{entity}/worktree")) {
            Ok(reported) => reported,
            Err(error) if error.is_refusal() => return Ok(ReportedWork::None),
            Err(error) => return Err(error),
        };
        let reported: ReportedRecord = serde_json::from_value(reported)
            .map_err(|it| ApiError::Unreachable(format!("unreadable answer: {it}")))?;
        if reported.state == "removed" {
            return Ok(ReportedWork::None);
        }
        let elsewhere = || {
            let place = reported.path.as_deref().unwrap_or("another repository");
            let root = self.repository.root().display();
            ReportedWork::Elsewhere(format!("the work of {entity} is in {place}, and not in {root}"))
        };
        let (Some(branch), Some(head)) = (&reported.branch, &reported.head) else { return Ok(elsewhere()) };
        let record = WorktreeRecord {
            path: self.repository.root().join(WORKTREES).join(folder_name(&reported, entity)),
            branch: branch.clone(),
            kind: reported.kind.unwrap_or_default(),
            state: WorktreeState::Ready,
            entity: Some(entity.to_owned()),
            slot: reported.slot.clone(),
            base: reported.base.clone().unwrap_or_default(),
            integration: reported.integration.clone().unwrap_or_default(),
            made_for: RequestOrigin { origin: self.origin.clone(), number: 0 },
            ..WorktreeRecord::default()
        };
        // The agent that owns the worktree continues its branch. Others need the commit alone.
        let is_here = if owns(&record, slot) {
            !record.integration.is_empty() && self.has_branch_at(branch, head)
        } else {
            self.repository.has_commit(head)
        };
        Ok(if is_here { ReportedWork::Here(Box::new(record), head.clone()) } else { elsewhere() })
    }

    /// Whether a branch is here and contains a commit.
    fn has_branch_at(&self, branch: &str, head: &str) -> bool {
        let git = self.repository.git();
        let tip = git.commit(&format!("refs/heads/{branch}")).ok().flatten();
        tip.is_some_and(|tip| git.is_ancestor(head, &tip).unwrap_or(false))
    }

    /// Says that the work of an entity is in another repository: the pack ends the claim.
    pub(super) fn report_elsewhere(&self, api: &ServerApi, entity: &str) {
        let body: Value = json!({ "state": "elsewhere" });
        let _ = report_state(api, entity, body);
    }
}

/// Whether the holder of a lease owns a worktree: it was made under a lease of the same slot.
pub(super) fn owns(record: &WorktreeRecord, slot: Option<&str>) -> bool {
    record.slot.is_none() || slot.is_none() || record.slot.as_deref() == slot
}

/// The name of the folder of a worktree.
fn folder_name(reported: &ReportedRecord, entity: &str) -> String {
    let path = reported.path.as_deref().map(Path::new);
    let name = path.and_then(Path::file_name).map(|it| it.to_string_lossy().into_owned());
    name.unwrap_or_else(|| entity.rsplit('/').next().unwrap_or(entity).to_owned())
}
