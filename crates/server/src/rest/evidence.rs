//! Evidence: everything about one entity with proofs, for offline verification.

use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use trackside_engine::actor::Actor;
use trackside_engine::key::EntityKey;
use trackside_protocol::{Problem, ProblemCode};
use trackside_runtime::read::ListQuery;
use trackside_runtime::{Failure, ReadError, Reads};
use trackside_store::evidence::{Bundle, EvidenceRequest};
use trackside_store::{Artifacts, StoreError};

use super::approvals;
use super::json_lines::{self, StreamEnd};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Most approval requests in one file.
const REQUESTS: usize = 1_000;

/// Exports evidence about an entity as JSON lines: its entries, approvals about it, artifacts, and the hash chain to
/// the end of the journal. Verify it anywhere with `trackside audit verify FILE`. Contains nothing about other
/// entities.
#[utoipa::path(
    get, path = "/v1/audit/export/{lifecycle}/{id}", tag = "journal", operation_id = "exportEvidence",
    params(("lifecycle" = String, Path), ("id" = String, Path)),
    responses((status = 200, description = "A header line, then entities, entries, links of the hash chain and artifacts.", body = String, content_type = "application/jsonl"),
        (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn export(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
) -> Result<Response, Refused> {
    // Stored entries name other entities for ranking and counting, so they are admin only.
    caller.must_be_admin("export evidence: it contains the stored entries")?;
    let name = HeaderValue::from_str(&format!("attachment; filename=\"{lifecycle}-{id}.evidence.jsonl\""));
    let (key, actor) = (EntityKey::new(lifecycle.as_str(), id.as_str()), caller.actor().clone());
    let bundle = app.blocking(move |app| gather(app, &key, &actor)).await?;
    let mut response = json_lines::answer(move |out| {
        let store = app.runtime.store();
        let (mut reader, archive) = (store.reader()?, store.archive()?);
        let artifacts = Artifacts::of(&app.options.data);
        let content = |id: &str| artifacts.get(id);
        bundle.write::<StreamEnd>(reader.as_mut(), &archive, &content, &mut |line| out.say(line))
    });
    if let Ok(name) = name {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

fn gather(app: &App, key: &EntityKey, actor: &Actor) -> Result<Bundle, Refused> {
    // Later entries are left out.
    let upto = app.reads.seq();
    let entity = app.reads.readable(key, actor)?;
    let wanted = EvidenceRequest {
        entity: key.clone(),
        newest: entity.seq,
        approvals: requests(app, key, actor)?,
        upto,
        at: app.reads.now().to_string(),
        by: actor.id.to_string(),
    };
    let store = app.runtime.store();
    let write_metrics = store.reader().and_then(|mut reader| {
        let archive = store.archive()?;
        Bundle::gather(reader.as_mut(), &archive, &wanted)
    });
    write_metrics.map_err(refused)
}

fn refused(error: StoreError) -> Refused {
    let code = match error {
        StoreError::NotArchived { .. } | StoreError::ArchiveFile { .. } => ProblemCode::ArchiveMissing,
        StoreError::Unreadable { .. } | StoreError::Chain { .. } | StoreError::Damaged { .. } => {
            ProblemCode::JournalDamaged
        }
        error => return Failure::Unavailable(error.to_string()).into(),
    };
    Refused::new(code, error.to_string())
}

/// Approval requests that refer to an entity and that the caller may see, each with its last entry.
fn requests(app: &App, key: &EntityKey, actor: &Actor) -> Result<Vec<(EntityKey, u64)>, ReadError> {
    let mut found = Vec::new();
    for life in approvals::inboxes(app) {
        for query in approvals::referring(&app.reads, &life, key, actor)? {
            all(&app.reads, query, &mut found)?;
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn all(reads: &Reads, mut query: ListQuery, found: &mut Vec<(EntityKey, u64)>) -> Result<(), ReadError> {
    loop {
        let page = reads.list(&query)?;
        found.extend(page.items.iter().map(|it| (it.key.clone(), it.seq)));
        if found.len() > REQUESTS {
            let hint = format!("Evidence contains at most {REQUESTS} requests");
            return Err(ReadError::TooExpensive { looked: found.len(), hint, reached: None });
        }
        if page.next_cursor.is_none() {
            return Ok(());
        }
        query.cursor = page.next_cursor;
    }
}
