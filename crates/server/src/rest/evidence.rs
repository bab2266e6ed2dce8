//! Evidence of an entity, for people who are not here: its entries, what they refer to, and the proof.

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use trackside_engine::actor::Actor;
use trackside_engine::key::EntityKey;
use trackside_protocol::Problem;
use trackside_runtime::read::ListQuery;
use trackside_runtime::{Failure, ReadError, Reads};
use trackside_store::evidence::{Bundle, Wanted};
use trackside_store::{Artifacts, StoreError};

use super::approvals;
use super::streamed::{self, Ended};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Most requests to people that one file tells of.
const REQUESTS: usize = 1_000;

/// Writes evidence of an entity as JSON lines, to be checked far from here with `trackside audit verify FILE`: its
/// entries, approvals that are about it, artifacts, and the chain to the end of the journal. Of other entities
/// nothing is told.
#[utoipa::path(
    get, path = "/v1/audit/export/{lifecycle}/{id}", tag = "journal", operation_id = "exportEvidence",
    params(("lifecycle" = String, Path), ("id" = String, Path)),
    responses((status = 200, description = "One line about it, then entities, entries, links of the chain and artifacts.", body = String, content_type = "application/jsonl"),
        (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn export(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
) -> Result<Response, Refused> {
    // Entries as they are kept name whom they rank and count among: more than their entity alone.
    caller.must_be_admin("take evidence out: it holds entries as they are kept")?;
    let name = HeaderValue::from_str(&format!("attachment; filename=\"{lifecycle}-{id}.evidence.jsonl\""));
    let (key, actor) = (EntityKey::new(lifecycle.as_str(), id.as_str()), caller.actor().clone());
    let bundle = app.blocking(move |app| gather(app, &key, &actor)).await?;
    let mut response = streamed::answer(move |out| {
        let store = app.runtime.store();
        let (mut reader, archive) = (store.reader()?, store.archive()?);
        let artifacts = Artifacts::of(&app.options.data);
        let content = |id: &str| artifacts.get(id);
        bundle.write::<Ended>(reader.as_mut(), &archive, &content, &mut |line| out.say(line))
    });
    if let Ok(name) = name {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

fn gather(app: &App, key: &EntityKey, actor: &Actor) -> Result<Bundle, Refused> {
    // What comes meanwhile is left out.
    let upto = app.reads.seq();
    let entity = app.reads.readable(key, actor)?;
    let wanted = Wanted {
        entity: key.clone(),
        newest: entity.seq,
        approvals: requests(app, key, actor)?,
        upto,
        at: app.reads.now().to_string(),
        by: actor.id.to_string(),
    };
    let store = app.runtime.store();
    let gathered = store.reader().and_then(|mut reader| {
        let archive = store.archive()?;
        Bundle::gather(reader.as_mut(), &archive, &wanted)
    });
    gathered.map_err(refused)
}

fn refused(error: StoreError) -> Refused {
    let code = match error {
        StoreError::NotArchived { .. } => "archive-missing",
        StoreError::Unreadable { .. } | StoreError::Chain { .. } | StoreError::Damaged { .. } => {
            "journal-damaged"
        }
        error => return Failure::Unavailable(error.to_string()).into(),
    };
    Refused::new(StatusCode::CONFLICT, code, error.to_string())
}

/// Requests to people that refer to an entity, each with its last entry: those that the caller may see.
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
            let hint = format!("Evidence tells of {REQUESTS} requests at most");
            return Err(ReadError::TooExpensive { looked: found.len(), hint });
        }
        if page.next_cursor.is_none() {
            return Ok(());
        }
        query.cursor = page.next_cursor;
    }
}
