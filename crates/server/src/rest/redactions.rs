//! Redaction: drops payloads from the journal while the chain still verifies.

use axum::Json;
use axum::extract::State;
use trackside_engine::Decision;
use trackside_engine::command::RequestDigest;
use trackside_engine::event::Event;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_protocol::{FieldMap, Problem, ProblemCode, RedactBody, RedactReply};
use trackside_runtime::{CommandAnswer, Failure, ReadError, Redaction, Requester};
use trackside_store::{Record, StoreError};

use super::body::fields;
use super::{Body, CommandHeaders, DryRun, Parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Drops the payloads of journal entries of an entity, and the field values that came from them. With `dryRun`, says
/// which ones it would drop.
#[utoipa::path(
    post, path = "/v1/redactions", tag = "journal", operation_id = "redact", params(DryRun, super::KeyHeader), request_body = RedactBody,
    responses((status = 200, body = RedactReply), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn redact(
    State(app): State<App>,
    caller: Caller,
    headers: CommandHeaders,
    Parameters(how): Parameters<DryRun>,
    Body(body): Body<RedactBody>,
) -> Result<Json<RedactReply>, Refused> {
    caller.must_be_admin("redact")?;
    if body.entries.is_empty() != body.all {
        return Err(Refused::shape("Send either `entries` (their numbers) or `all: true`"));
    }
    if body.reason.trim().is_empty() {
        return Err(Refused::shape("`reason` is required: it stays in the journal"));
    }
    let by = caller.by();
    let once = headers.used.map(|it| (it.key.clone(), it.said(None)));
    app.blocking(move |app| drop_payloads(app, by, body, once, how.dry_run)).await.map(Json)
}

fn drop_payloads(
    app: &App,
    by: Requester,
    body: RedactBody,
    once: Option<(Name, RequestDigest)>,
    dry_run: bool,
) -> Result<RedactReply, Refused> {
    let entity = EntityKey::new(body.lifecycle.as_str(), body.id.as_str());
    let records = records(app, &entity)?;
    let (entries, becomes, reason) = (body.entries, fields(&body.becomes), body.reason);
    let redaction = Redaction { entity: entity.clone(), entries, becomes, reason, once };
    let (entry, replayed) = match dry_run {
        true => match app.runtime.try_redaction(by, redaction, &records)? {
            Decision::Accepted(accepted) => (accepted.entries.get(accepted.root).cloned(), false),
            Decision::Refused(refusal) => return Err((&*refusal).into()),
            Decision::Replayed { first, root, .. } => (app.reads.entry(first + u64::from(root))?, true),
        },
        false => match app.runtime.redact_knowing(by, redaction, &records)? {
            CommandAnswer::Accepted(accepted) => (accepted.entry().cloned(), false),
            CommandAnswer::Refused(refusal) => return Err((&*refusal).into()),
            CommandAnswer::Replayed { first, root, .. } => (app.reads.entry(first + u64::from(root))?, true),
        },
    };
    let redacted = entry.as_ref().and_then(|entry| match &entry.event {
        Event::Redacted { entries, changes } => Some((entry.seq, entries, changes)),
        _ => None,
    });
    if !dry_run {
        // Waits until the data is gone from every file.
        app.runtime.wait_until_written()?;
    }
    Ok(RedactReply {
        success: true,
        lifecycle: entity.lifecycle,
        id: entity.id,
        replayed,
        seq: redacted.map(|(seq, ..)| seq).filter(|_| !dry_run),
        dry_run,
        entries: redacted.map(|(_, entries, _)| entries.to_vec()),
        fields: redacted.map(|(.., changes)| FieldMap(changes.fields.to_vec())),
    })
}

/// All records of an entity, the oldest first, including archived ones.
fn records(app: &App, entity: &EntityKey) -> Result<Vec<Record>, Refused> {
    let unavailable = |it: StoreError| Refused::from(Failure::Unavailable(it.to_string()));
    let Some(last) = app.reads.entity(entity)?.map(|it| it.seq) else {
        return Err(ReadError::UnknownEntity(entity.clone()).into());
    };
    let store = app.runtime.store();
    let mut reader = store.reader().map_err(unavailable)?;
    let archive = store.archive().map_err(unavailable)?;
    let mut records = archive.trail(reader.as_mut(), last, usize::MAX).map_err(unavailable)?;
    records.reverse();
    let missing = records.first().map_or(last, |it| it.prev);
    if missing > 0 {
        let detail = format!(
            "Entry {missing} of {entity} is archived and its file is missing. Restore the file first"
        );
        return Err(Refused::new(ProblemCode::ArchiveMissing, detail));
    }
    Ok(records)
}
