//! Online backups.

use std::fs;
use std::path::{Component, Path, PathBuf};

use axum::Json;
use axum::extract::State;
use trackside_engine::refusal::Code;
use trackside_lifecycle::hex;
use trackside_protocol::{Backup, BackupReply, ChainEnd, Problem, ProblemCode};
use trackside_runtime::Failure;
use trackside_store::backups::{BACKUPS, BackupSummary, back_up};
use trackside_store::{BackupSet, StoreError};

use super::Body;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Copies journal, state, archive and artifacts to an empty or new folder, and verifies the copy. Artifacts that do
/// not match their hash are listed and not copied. With `increment` it adds the entries since to an existing backup.
#[utoipa::path(
    post, path = "/v1/backup", tag = "journal", operation_id = "backup", params(super::KeyHeader), request_body = Option<Backup>,
    responses((status = 200, body = BackupReply), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn backup(
    State(app): State<App>,
    caller: Caller,
    Body(body): Body<Backup>,
) -> Result<Json<BackupReply>, Refused> {
    caller.must_be_admin("make backups")?;
    let to = target(&app, body.to.as_deref())?;
    let copied =
        app.blocking(move |app| if body.increment { increment(app, &to) } else { copy(app, &to) }).await;
    match &copied {
        Ok(_) => app.telemetry.upkeep.backed_up.well(),
        Err(_) => app.telemetry.upkeep.backed_up.failed(),
    }
    copied.map(Json)
}

/// The target folder: a plain name is inside the backup folder, anything else must be an absolute path.
fn target(app: &App, asked: Option<&str>) -> Result<PathBuf, Refused> {
    let folder = app.options.data.join(BACKUPS);
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
        let detail = "`to` must be a name inside the project's folder `backups`, or an absolute path";
        return Err(Refused::shape(detail));
    }
    Ok(folder.join(path))
}

fn copy(app: &App, to: &Path) -> Result<BackupReply, Refused> {
    if fs::read_dir(to).is_ok_and(|mut it| it.next().is_some()) {
        let detail = format!(
            "{} is not empty: choose another name, or add an increment to the backup in it with `increment`",
            to.display()
        );
        return Err(Refused::new(Code::AlreadyExists, detail));
    }
    let done = back_up(app.runtime.store().as_ref(), &app.options.data, to, &mut |_, _| {});
    let BackupSummary { end, archive_files, artifacts } = done.map_err(unavailable)?;
    app.runtime
        .options()
        .clock
        .note(to)
        .map_err(|it| unavailable(StoreError::io(format!("note the clock in {}", to.display()), it)))?;
    Ok(BackupReply {
        to: to.display().to_string(),
        end: ChainEnd { seq: end.seq, hash: hex::encode(end.hash) },
        archive_files,
        artifacts: artifacts.whole,
        damaged_artifacts: artifacts.damaged,
    })
}

/// Adds the entries since to a backup.
fn increment(app: &App, to: &Path) -> Result<BackupReply, Refused> {
    let mut set = BackupSet::open(to).map_err(unavailable)?;
    set.add_increment(app.runtime.store().as_ref(), &app.options.data).map_err(unavailable)?;
    let end = set.end();
    Ok(BackupReply {
        to: to.display().to_string(),
        end: ChainEnd { seq: end.seq, hash: hex::encode(end.hash) },
        archive_files: 0,
        artifacts: 0,
        damaged_artifacts: Vec::new(),
    })
}

/// The problem for an error of the store. Changed rules are not fixed by a retry.
pub(super) fn unavailable(error: StoreError) -> Refused {
    match error {
        StoreError::Rules { .. } => Refused::new(ProblemCode::RulesChanged, error.to_string()),
        error => Failure::from(error).into(),
    }
}
