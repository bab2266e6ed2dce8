//! Entities: new ones, lists, and one.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use trackside_engine::command::Ask;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_protocol::{Create, Entity, Moved, Page, Problem};
use trackside_runtime::read::ListQuery;
use utoipa::IntoParams;

use super::body::fields;
use super::carry::{Done, command, try_out};
use super::{Body, Cursors, Parameters, Wanted, carry_out};
use crate::app::App;
use crate::auth::{AccessError, Caller, Secret};
use crate::problem::Refused;

/// Creates an entity.
#[utoipa::path(
    post, path = "/v1/entities/{lifecycle}", tag = "entities", operation_id = "createEntity",
    params(("lifecycle" = String, Path, description = "As in `mission.task`."), super::DryRun,
        super::Keyed),
    request_body = Option<Create>,
    responses((status = 201, body = Moved), (status = 200, body = Moved, description = "It was there already, and its lifecycle allows that."), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: Caller,
    Path(lifecycle): Path<String>,
    wanted: Wanted,
    Parameters(how): Parameters<super::DryRun>,
    Body(body): Body<Create>,
) -> Result<Response, Refused> {
    let done = created(&app, &caller, &lifecycle, &wanted, how.dry_run, body).await?;
    // Creating again may mean moving one that is there.
    let is_new = !how.dry_run && done.created;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(done.into_response_with(status))
}

/// Creates, whatever way the request came.
pub(crate) async fn created(
    app: &App,
    caller: &Caller,
    lifecycle: &str,
    wanted: &Wanted,
    dry_run: bool,
    body: Create,
) -> Result<Done, Refused> {
    let id = match body.id {
        Some(id) => Name::new(&id),
        None => made_up(caller, wanted, lifecycle, None)?,
    };
    let entity = EntityKey { lifecycle: Name::new(lifecycle), id };
    let ask = Ask::Create { entity, fields: fields(&body.fields) };
    let command = command(caller, wanted, ask, None);
    match dry_run {
        true => try_out(app, caller, command).await,
        false => carry_out(app, caller, command).await,
    }
}

/// An id that nobody gave. The same request has the same one.
pub(crate) fn made_up(
    caller: &Caller,
    wanted: &Wanted,
    lifecycle: &str,
    place: Option<usize>,
) -> Result<Name, Refused> {
    let text = match &wanted.key {
        Some(key) => {
            let place = place.map(|it| format!("\n{it}")).unwrap_or_default();
            let said = format!("{}\n{lifecycle}\n{key}{place}", caller.actor().id);
            Sha256::digest(said.as_bytes()).iter().take(6).map(|it| format!("{it:02x}")).collect()
        }
        None => Secret::new().ok_or_else(|| Refused::broken(AccessError::NoRandomness))?.id,
    };
    Ok(Name::new(&text))
}

/// Which entities.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// Only those in this state; several with commas between them.
    pub state: Option<String>,
    /// Only those for which this expression is true.
    pub r#where: Option<String>,
    /// Only those that are overdue.
    #[serde(default)]
    pub overdue: bool,
    /// How many: 50 if nothing is said; of more than 200, 200.
    #[param(minimum = 1)]
    pub limit: Option<usize>,
    /// The `nextCursor` of the page before.
    pub cursor: Option<String>,
    /// At least as new as this entry of the journal.
    #[param(minimum = 0)]
    pub seq: Option<i64>,
}

/// Lists entities of a lifecycle.
#[utoipa::path(
    get, path = "/v1/entities/{lifecycle}", tag = "entities", operation_id = "listEntities",
    params(("lifecycle" = String, Path, description = "As in `mission.task`."), Which),
    responses((status = 200, body = Page<Entity>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(lifecycle): Path<String>,
    Parameters(which): Parameters<Which>,
) -> Result<Json<Page<Value>>, Refused> {
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
        let listed = reads.list(&query)?;
        let next_cursor = listed.next_cursor.map(|it| cursors.give(it));
        Ok(Page { items: reads.present_all(&listed.items, &actor)?, next_cursor })
    });
    Ok(Json(page.await?))
}

/// As it was when.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct When {
    /// As it was right after this entry of the journal.
    #[param(minimum = 0)]
    at: Option<i64>,
}

/// Shows one entity.
#[utoipa::path(
    get, path = "/v1/entities/{lifecycle}/{id}", tag = "entities", operation_id = "showEntity",
    params(("lifecycle" = String, Path), ("id" = String, Path), When),
    responses((status = 200, body = Entity), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
    Parameters(when): Parameters<When>,
) -> Result<Response, Refused> {
    let (key, actor) = (EntityKey::new(lifecycle.as_str(), id.as_str()), caller.actor().clone());
    let at = super::number("at", when.at)?;
    let found = app.read(move |reads| {
        // Whoever may not see it now may not see it as it was.
        let now = reads.readable(&key, &actor)?;
        let entity = match at {
            Some(seq) => reads.entity_at(&key, seq)?.entity,
            None => now,
        };
        Ok((entity.version, reads.present_all(&[entity], &actor)?.pop()))
    });
    let (version, entity) = found.await?;
    let mut response = Json(entity).into_response();
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}
