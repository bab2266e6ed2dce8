//! Entities: create, list and show.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use trackside_engine::command::Ask;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::hex;
use trackside_lifecycle::name::Name;
use trackside_protocol::{CreateBody, EntityBody, Moved, Page, Problem};
use trackside_runtime::ReadError;
use trackside_runtime::read::ListQuery;
use utoipa::IntoParams;

use super::body::fields;
use super::commands::{Done, carry_out_or_try, command};
use super::{Body, CommandHeaders, Cursors, Parameters, entity_bodies};
use crate::app::App;
use crate::auth::{AccessError, Caller, Secret};
use crate::problem::Refused;

/// Creates an entity.
#[utoipa::path(
    post, path = "/v1/entities/{lifecycle}", tag = "entities", operation_id = "createEntity",
    params(("lifecycle" = String, Path, description = "Such as `mission.task`."), super::DryRun,
        super::KeyHeader),
    request_body = Option<CreateBody>,
    responses((status = 201, body = Moved), (status = 200, body = Moved, description = "It existed already, and its lifecycle allows that."), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: Caller,
    Path(lifecycle): Path<String>,
    headers: CommandHeaders,
    Parameters(how): Parameters<super::DryRun>,
    Body(body): Body<CreateBody>,
) -> Result<Response, Refused> {
    let done = created(&app, &caller, &lifecycle, &headers, how.dry_run, body).await?;
    // Creating may also move an existing entity, if its lifecycle allows that.
    let is_new = !how.dry_run && done.created;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(done.into_response_with(status))
}

/// Creates for HTTP and MCP.
pub(crate) async fn created(
    app: &App,
    caller: &Caller,
    lifecycle: &str,
    headers: &CommandHeaders,
    dry_run: bool,
    body: CreateBody,
) -> Result<Done, Refused> {
    let id = match body.id {
        Some(id) => Name::new(&id),
        None => made_up(caller, headers, lifecycle, None)?,
    };
    let entity = EntityKey { lifecycle: Name::new(lifecycle), id };
    let ask = Ask::Create { entity, fields: fields(&body.fields) };
    let command = command(caller, headers, ask, None);
    carry_out_or_try(app, caller, command, dry_run).await
}

/// A generated id. The same request gets the same one.
pub(crate) fn made_up(
    caller: &Caller,
    headers: &CommandHeaders,
    lifecycle: &str,
    place: Option<usize>,
) -> Result<Name, Refused> {
    let text = match &headers.key {
        Some(key) => {
            let place = place.map(|it| format!("\n{it}")).unwrap_or_default();
            let said = format!("{}\n{lifecycle}\n{key}{place}", caller.actor().id);
            hex::encode(Sha256::digest(said.as_bytes()).get(..6).unwrap_or_default())
        }
        None => Secret::new(None).ok_or_else(|| Refused::broken(AccessError::NoRandomness))?.id,
    };
    Ok(Name::new(&text))
}

/// Parameters of a list of entities.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntitiesQuery {
    /// Only in this state; separate several with commas.
    pub state: Option<String>,
    /// Only if this expression is true.
    pub r#where: Option<String>,
    /// Only overdue ones.
    #[serde(default)]
    pub overdue: bool,
    /// Page size: 50 by default, 200 at most.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    pub cursor: Option<String>,
    /// At least as new as this journal entry.
    #[param(minimum = 0)]
    pub seq: Option<i64>,
}

/// Lists entities of a lifecycle.
#[utoipa::path(
    get, path = "/v1/entities/{lifecycle}", tag = "entities", operation_id = "listEntities",
    params(("lifecycle" = String, Path, description = "Such as `mission.task`."), EntitiesQuery),
    responses((status = 200, body = Page<EntityBody>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(lifecycle): Path<String>,
    Parameters(which): Parameters<EntitiesQuery>,
) -> Result<Json<Page<EntityBody>>, Refused> {
    let (limit, seq) = (super::limit(which.limit)?, super::number("seq", which.seq)?);
    let actor = caller.actor().clone();
    let cursors = Cursors::of(&["entities", &lifecycle]);
    let after = cursors.place(which.cursor.as_deref())?;
    let page = app.read(move |reads| {
        let lifecycle = Name::new(&lifecycle);
        let mut query = ListQuery::of(lifecycle.clone(), actor.clone());
        let states = which.state.iter().flat_map(|it| it.split(',')).map(str::trim);
        query.states = states.filter(|it| !it.is_empty()).map(Name::new).collect();
        query.filter = which.r#where.as_ref().map(|it| reads.condition(&lifecycle, it)).transpose()?;
        (query.overdue, query.limit) = (which.overdue, limit);
        (query.cursor, query.after_seq) = (after, seq);
        let listed = match reads.list(&query) {
            // Nothing was found so far: the refusal names the cursor to continue from.
            Err(ReadError::TooExpensive { looked, hint, reached }) => {
                let reached = reached.map(|it| cursors.give(it));
                return Ok(Err(ReadError::TooExpensive { looked, hint, reached }));
            }
            listed => listed?,
        };
        let next_cursor = listed.next_cursor.map(|it| cursors.give(it));
        Ok(Ok(Page { items: entity_bodies(reads, &listed.items, &actor)?, next_cursor }))
    });
    Ok(Json(page.await??))
}

/// Parameters of one entity.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntityAtQuery {
    /// The entity right after this journal entry. Computed fields have the time, settings and other entities of that
    /// moment; those that cannot be found out are left out and named in `unknown`.
    #[param(minimum = 0)]
    at: Option<i64>,
}

/// Shows one entity.
#[utoipa::path(
    get, path = "/v1/entities/{lifecycle}/{id}", tag = "entities", operation_id = "showEntity",
    params(("lifecycle" = String, Path), ("id" = String, Path), EntityAtQuery),
    responses((status = 200, body = EntityBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
    Parameters(when): Parameters<EntityAtQuery>,
) -> Result<Response, Refused> {
    let (key, actor) = (EntityKey::new(lifecycle.as_str(), id.as_str()), caller.actor().clone());
    let at = super::number("at", when.at)?;
    let found = app.read(move |reads| {
        // A caller who may not see it now may not see its past.
        reads.readable(&key, &actor)?;
        let found = match at {
            Some(seq) => reads.present_at(&key, seq, &actor)?,
            None => reads.present(&key, &actor)?,
        };
        Ok((found, reads.archive_file(&key)?))
    });
    let (found, archive_file) = found.await?;
    let version = found.entity.version;
    let mut response = Json(EntityBody { archive_file, ..EntityBody::from(&found) }).into_response();
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}
