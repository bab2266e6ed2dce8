//! Verifies the journal.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use trackside_engine::actor::ActorKind;
use trackside_engine::event::EventKind;
use trackside_lifecycle::hex;
use trackside_protocol::{AuditBody, AuditProblemBody, ChainEnd, DroppedBody, Problem, ProblemCode};
use trackside_runtime::Failure;
use trackside_store::archive::Archive;
use trackside_store::audit::{Audit, AuditFinding, AuditProblem, Dropped};
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
    responses((status = 200, body = AuditBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn verify(
    State(app): State<App>,
    caller: Caller,
    Parameters(noted): Parameters<VerifyQuery>,
) -> Result<Json<AuditBody>, Refused> {
    if caller.actor().kind != ActorKind::Human {
        return Err(Refused::forbidden(
            "Only people may run the audit, because it reads everything",
            "human",
        ));
    }
    let known = noted.ends()?;
    let admin = caller.identity.is_admin();
    let audited = app.blocking(move |app| audit(app, &known, admin).map_err(|error| refused(app, error)));
    audited.await.map(Json)
}

fn audit(app: &App, known: &[Chain], admin: bool) -> Result<AuditBody, StoreError> {
    let store = app.runtime.store();
    let (mut reader, archive) = (store.reader()?, store.archive()?);
    let audit = archive.verify(reader.as_mut(), known, &mut |_, _| {})?;
    app.telemetry.upkeep.audited(audit.is_clean());
    Ok(audit_body(&audit, &archive, reader.as_mut(), admin))
}

/// An audit as clients read it. The entity, author and reason of dropped payloads are shown only to callers who may
/// see everything.
pub fn audit_body(audit: &Audit, archive: &Archive, reader: &mut dyn Reader, admin: bool) -> AuditBody {
    let end = |it: Chain| ChainEnd { seq: it.seq, hash: hex::encode(it.hash) };
    let problem = |it: &AuditProblem| {
        let message = match &it.what {
            // The reason names the entity.
            AuditFinding::PayloadUnread(_) if !admin => format!(
                "the payload of entry {} cannot be checked: its archive file is missing or damaged",
                it.seq
            ),
            _ => it.to_string(),
        };
        AuditProblemBody { seq: it.seq, code: it.what.code(), message }
    };
    AuditBody {
        intact: audit.is_clean(),
        entries: audit.entries,
        archive_files: archive.files().len(),
        from: end(audit.from),
        to: end(audit.to),
        problems: audit.problems.iter().map(problem).collect(),
        more: audit.more,
        payloads_dropped: audit.redacted,
        dropped: audit.dropped.iter().map(|it| dropped_body(archive, reader, *it, admin)).collect(),
    }
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

/// Why payloads are missing: the entry that dropped them.
fn dropped_body(archive: &Archive, reader: &mut dyn Reader, dropped: Dropped, admin: bool) -> DroppedBody {
    let here = reader.record(dropped.by).ok().flatten();
    let record = here.or_else(|| archive.record(dropped.by).ok().flatten());
    let entry = record.and_then(|it| it.entry().ok());
    let event = if dropped.erased { EventKind::Erased } else { EventKind::Redacted };
    let details = entry.as_ref().filter(|_| admin);
    DroppedBody {
        seq: dropped.by,
        event: event.as_str().to_owned(),
        payloads: dropped.payloads,
        timestamp: entry.as_ref().map(|it| it.at.to_string()),
        entity: details.map(|it| it.entity.to_string()),
        actor: details.map(|it| it.actor.to_string()),
        reason: details.and_then(|it| it.reason.as_ref()).map(|it| it.to_string()),
    }
}
