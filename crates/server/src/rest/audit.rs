//! Whether the journal is what was written.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use trackside_engine::actor::ActorKind;
use trackside_protocol::Problem;
use trackside_runtime::Failure;
use trackside_store::archive::Archive;
use trackside_store::audit::{Audit, Dropped};
use trackside_store::record::hex;
use trackside_store::{Chain, Reader, StoreError};

use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Goes through every entry of the journal and of its archive, and through every link between them.
#[utoipa::path(
    get, path = "/v1/audit/verify", tag = "journal", operation_id = "verifyAudit",
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn verify(State(app): State<App>, caller: Caller) -> Result<Json<Value>, Refused> {
    if caller.actor().kind != ActorKind::Human {
        return Err(Refused::forbidden("The audit is for people: it goes through everything", "human"));
    }
    let looked = app.blocking(|app| look(app).map_err(|error| refused(app, error)));
    looked.await.map(Json)
}

fn look(app: &App) -> Result<Value, StoreError> {
    let store = app.runtime.store();
    let (mut reader, archive) = (store.reader()?, store.archive()?);
    let audit = archive.verify(reader.as_mut(), &[], &mut |_, _| {})?;
    app.watch.upkeep.audited(audit.is_clean());
    let dropped: Vec<Value> = audit.dropped.iter().map(|it| why(&archive, reader.as_mut(), *it)).collect();
    Ok(told(&audit, archive.files().len(), dropped))
}

/// What cannot be read is an answer of the audit, not a trouble of the server.
fn refused(app: &App, error: StoreError) -> Refused {
    match error {
        StoreError::Unreadable { .. } | StoreError::Chain { .. } | StoreError::Damaged { .. } => {
            app.watch.upkeep.audited(false);
            Refused::new(StatusCode::CONFLICT, "journal-damaged", error.to_string())
        }
        error => Failure::Unavailable(error.to_string()).into(),
    }
}

fn told(audit: &Audit, files: usize, dropped: Vec<Value>) -> Value {
    let end = |it: Chain| json!({ "seq": it.seq, "hash": hex(&it.hash) });
    let problems: Vec<Value> = audit
        .problems
        .iter()
        .map(|it| json!({ "seq": it.seq, "code": it.what.code(), "message": it.to_string() }))
        .collect();
    json!({
        "intact": audit.is_clean(), "entries": audit.entries, "archiveFiles": files,
        "from": end(audit.from), "to": end(audit.to), "problems": problems, "more": audit.more,
        "payloadsDropped": audit.redacted, "dropped": dropped,
    })
}

/// Why payloads are gone: which entry says so. What entity it was stays with those who may see it.
fn why(archive: &Archive, reader: &mut dyn Reader, dropped: Dropped) -> Value {
    let here = reader.record(dropped.by).ok().flatten();
    let record = here.or_else(|| archive.record(dropped.by).ok().flatten());
    let at = record.and_then(|it| it.entry().ok()).map(|it| it.at.to_string());
    let event = if dropped.erased { "ERASED" } else { "REDACTED" };
    json!({ "seq": dropped.by, "event": event, "payloads": dropped.payloads, "timestamp": at })
}
