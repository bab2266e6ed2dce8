//! Reports worktrees and their changes to the server.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use trackside_worktree::{GitFolder, Repository, WorktreeKind, WorktreeRecord, read_change};

use crate::launch::new_uuid;
use crate::server_api::{ApiError, ServerApi};

/// Stores content on the server and returns its address there; none if that is not possible.
pub(crate) fn store_artifact(api: &ServerApi, content: &[u8]) -> Option<String> {
    let digest = Sha256::digest(content);
    let id: String = digest.iter().map(|it| format!("{it:02x}")).collect();
    api.put_artifact(&id, content).ok().map(|()| id)
}

/// Reports the state of a worktree of an entity, LIFECYCLE/ID.
pub(crate) fn report_state(api: &ServerApi, entity: &str, body: Value) -> Result<(), ApiError> {
    api.post_report(&format!("/v1/entities/{entity}/worktree"), &body, &new_uuid()).map(|_| ())
}

/// Reports a worktree with its figures. Nothing depends on it.
pub(crate) fn report_facts(api: &ServerApi, repository: &Repository, record: &WorktreeRecord, state: &str) {
    let Some(entity) = &record.entity else { return };
    let facts = repository.worktree_facts(record).unwrap_or_default();
    let kind = match record.kind {
        WorktreeKind::Worktree => "worktree",
        WorktreeKind::Clone => "clone",
    };
    let mut body = json!({
        "state": state, "path": record.path, "branch": record.branch, "base": record.base, "kind": kind,
        "integration": record.integration, "slot": record.slot,
    });
    if let (Some(head), Some(fields)) = (facts.head, body.as_object_mut()) {
        fields.insert("head".to_owned(), head.into());
        fields.insert("dirty".to_owned(), (facts.dirty > 0).into());
        for (name, value) in
            [("unmerged", facts.unmerged), ("additions", facts.additions), ("deletions", facts.deletions)]
        {
            fields.insert(name.to_owned(), value.into());
        }
    }
    let _ = report_state(api, entity, body);
}

/// Uploads the change between two commits of an entity's work, and reports it.
pub(crate) fn report_change(
    api: &ServerApi,
    repository: &Repository,
    entity: &str,
    from: &str,
    to: &str,
) -> Result<(), String> {
    let git = GitFolder::new(repository.root());
    let change = read_change(&git, from, to).map_err(|it| it.to_string())?;
    let content = serde_json::to_vec(&change).map_err(|it| it.to_string())?;
    let Some(artifact) = store_artifact(api, &content) else {
        return Err("the change could not be stored".to_owned());
    };
    let body = json!({
        "from": from, "to": to, "artifact": artifact, "files": change.stats.files,
        "additions": change.stats.additions, "deletions": change.stats.deletions,
    });
    let path = format!("/v1/entities/{entity}/changes");
    api.post_report(&path, &body, &new_uuid()).map(|_| ()).map_err(|it| it.words())
}
