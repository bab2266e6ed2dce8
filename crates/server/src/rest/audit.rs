//! Verifies the journal.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use trackside_engine::actor::ActorKind;
use trackside_engine::event::EventKind;
use trackside_lifecycle::hex;
use trackside_protocol::{Problem, ProblemCode};
use trackside_runtime::Failure;
use trackside_store::archive::Archive;
use trackside_store::audit::Dropped;
use trackside_store::{Chain, Reader, StoreError};
use utoipa::IntoParams;

use super::Parameters;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Most known ends in one request.
const MOST_KNOWN: usize = 16;

/// Parameters of a verification.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifyQuery {
    /// Ends from earlier audits, as `SEQ:HASH` separated by commas, 16 at most. The journal must contain each of
    /// them.
    #[param(pattern = "^[0-9]{1,18}:[0-9a-f]{64}(,[0-9]{1,18}:[0-9a-f]{64}){0,15}$")]
    known: Option<String>,
}

impl VerifyQuery {
    fn ends(&self) -> Result<Vec<Chain>, Refused> {
        let one = |text: &str| {
            let (seq, hash) = text.split_once(':')?;
            let plain = seq.len() <= 18 && seq.bytes().all(|it| it.is_ascii_digit());
            let lower = hash.bytes().all(|it| !it.is_ascii_uppercase());
            (plain && lower).then_some(())?;
            Some(Chain { seq: seq.parse().ok()?, hash: hex::decode(hash)? })
        };
        let ends = self.known.as_deref().map_or(Some(Vec::new()), |it| it.split(',').map(one).collect());
        let ends: Option<Vec<Chain>> = ends.filter(|it: &Vec<Chain>| it.len() <= MOST_KNOWN);
        ends.ok_or_else(|| {
            let detail = format!(
                "known must be at most {MOST_KNOWN} ends of earlier audits, as SEQ:HASH separated by commas"
            );
            Refused::parameter("known", detail)
        })
    }
}

/// Verifies every entry of the journal and its archive, and the hash chain between them.
#[utoipa::path(
    get, path = "/v1/audit/verify", tag = "journal", operation_id = "verifyAudit", params(VerifyQuery),
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn verify(
    State(app): State<App>,
    caller: Caller,
    Parameters(noted): Parameters<VerifyQuery>,
) -> Result<Json<Value>, Refused> {
    if caller.actor().kind != ActorKind::Human {
        return Err(Refused::forbidden(
            "Only people may run the audit, because it reads everything",
            "human",
        ));
    }
    let known = noted.ends()?;
    let admin = caller.identity.is_admin();
    let looked = app.blocking(move |app| look(app, &known, admin).map_err(|error| refused(app, error)));
    looked.await.map(Json)
}

fn look(app: &App, known: &[Chain], admin: bool) -> Result<Value, StoreError> {
    let store = app.runtime.store();
    let (mut reader, archive) = (store.reader()?, store.archive()?);
    let audit = archive.verify(reader.as_mut(), known, &mut |_, _| {})?;
    app.telemetry.upkeep.audited(audit.is_clean());
    let dropped: Vec<Value> =
        audit.dropped.iter().map(|it| why(&archive, reader.as_mut(), *it, admin)).collect();
    Ok(audit.to_json(archive.files().len(), dropped))
}

/// Unreadable data is a finding of the audit, not a server error.
fn refused(app: &App, error: StoreError) -> Refused {
    match error {
        StoreError::Unreadable { .. } | StoreError::Chain { .. } | StoreError::Damaged { .. } => {
            app.telemetry.upkeep.audited(false);
            Refused::new(ProblemCode::JournalDamaged, error.to_string())
        }
        error => Failure::Unavailable(error.to_string()).into(),
    }
}

/// Why payloads are missing: the entry that dropped them. Its entity and author are shown only to callers who may see
/// everything.
fn why(archive: &Archive, reader: &mut dyn Reader, dropped: Dropped, admin: bool) -> Value {
    let here = reader.record(dropped.by).ok().flatten();
    let record = here.or_else(|| archive.record(dropped.by).ok().flatten());
    let entry = record.and_then(|it| it.entry().ok());
    let at = entry.as_ref().map(|it| it.at.to_string());
    let event = if dropped.erased { EventKind::Erased } else { EventKind::Redacted };
    let mut told =
        json!({ "seq": dropped.by, "event": event, "payloads": dropped.payloads, "timestamp": at });
    if let (true, Some(entry), Value::Object(map)) = (admin, entry, &mut told) {
        map.extend([
            ("entity".to_owned(), json!(entry.entity.to_string())),
            ("actor".to_owned(), json!(entry.actor.to_string())),
            ("reason".to_owned(), json!(entry.reason.map(|it| it.to_string()))),
        ]);
    }
    told
}
