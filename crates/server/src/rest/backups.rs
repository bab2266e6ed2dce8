//! Copies of the project, made while it is worked on.

use std::fs;
use std::path::{Component, Path, PathBuf};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use trackside_protocol::{Backup, Problem};
use trackside_runtime::Failure;
use trackside_store::record::hex;
use trackside_store::{Artifacts, StoreError};

use super::{Body, KeyUse, Wanted, answer_once};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Copies journal, state, archive and artifacts to a folder that is empty or not there, and checks the copy. Artifacts
/// whose content is not what their hash says are named, and not copied.
#[utoipa::path(
    post, path = "/v1/backup", tag = "journal", operation_id = "backup", params(super::Keyed), request_body = Option<Backup>,
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn backup(
    State(app): State<App>,
    caller: Caller,
    wanted: Wanted,
    Body(body): Body<Backup>,
) -> Result<Json<Value>, Refused> {
    caller.must_be_admin("make backups")?;
    let used = KeyUse::of(&caller, &wanted, "/v1/backup", &body);
    let copying = app.clone();
    let copied = async move {
        let to = target(&copying, body.to.as_deref())?;
        let copied = copying.blocking(move |app| copy(app, &to)).await;
        match &copied {
            Ok(_) => copying.watch.upkeep.backed_up.well(),
            Err(_) => copying.watch.upkeep.backed_up.failed(),
        }
        copied
    };
    answer_once(&app, used, copied).await
}

/// Where it goes: never out of the folder by a name, only by a whole path.
fn target(app: &App, asked: Option<&str>) -> Result<PathBuf, Refused> {
    let folder = app.options.data.join("backups");
    let Some(asked) = asked else {
        let now: String =
            app.reads.now().to_string().chars().filter(|it| it.is_ascii_alphanumeric()).collect();
        return Ok(folder.join(format!("{now}-{}", app.reads.seq())));
    };
    let path = Path::new(asked);
    if path.is_absolute() {
        return Ok(path.to_path_buf());
    }
    let plain = path.components().all(|it| matches!(it, Component::Normal(_)));
    if !plain || asked.is_empty() || asked.contains('\0') {
        let detail = "`to` is a name within the folder `backups` of the project, or a whole path";
        return Err(Refused::shape(detail));
    }
    Ok(folder.join(path))
}

fn copy(app: &App, to: &Path) -> Result<Value, Refused> {
    let store = app.runtime.store();
    if fs::read_dir(to).is_ok_and(|mut it| it.next().is_some()) {
        let detail = format!("There is something in {} already: choose another name", to.display());
        return Err(Refused::new(StatusCode::CONFLICT, "already-exists", detail));
    }
    let end = store.backup(to, &mut |_, _| {}).map_err(unavailable)?;
    let files = store.archive().and_then(|it| it.copy(to)).map_err(unavailable)?;
    let artifacts = Artifacts::of(&app.options.data).copy(to).map_err(unavailable)?;
    app.runtime
        .options()
        .clock
        .note(to)
        .map_err(|it| unavailable(StoreError::io(format!("note the clock in {}", to.display()), it)))?;
    Ok(json!({
        "to": to.display().to_string(), "end": { "seq": end.seq, "hash": hex(&end.hash) },
        "archiveFiles": files, "artifacts": artifacts.whole, "damagedArtifacts": artifacts.damaged,
    }))
}

/// What the store says. Rules that were changed do not become right by trying again.
pub(super) fn unavailable(error: StoreError) -> Refused {
    match error {
        StoreError::Rules { .. } => Refused::new(StatusCode::CONFLICT, "rules-changed", error.to_string()),
        error => Failure::Unavailable(error.to_string()).into(),
    }
}
