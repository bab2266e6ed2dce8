//! The approvals inbox: open requests to people, of every lifecycle with the approval face.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State as AppState};
use axum::http::StatusCode;
use axum::response::Response;
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Fire, TransitionRef};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::model::{Arm, Fit, Lifecycle, State, Take};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::{ApprovalBody, Decide, Moved, Page, Problem, ProblemCode};
use trackside_runtime::read::{ListQuery, MOST};
use trackside_runtime::{ReadError, Reads};

use super::commands::{carry_out_or_try, command};
use super::inbox::waiting_states;
use super::{Body, CommandHeaders, Cursors, DryRun, Paging, Parameters, entity_bodies};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Most open requests that are read for one page.
const BUDGET: usize = 5_000;

/// The lifecycles with the approval face.
pub(super) fn inboxes(app: &App) -> Vec<Arc<Lifecycle>> {
    let law = app.runtime.law();
    let newest = law.lifecycle_names().iter().filter_map(|it| law.newest(it));
    newest.filter(|it| it.asks_people()).cloned().collect()
}

/// The lifecycles in which people approve something: requests to people, and those with a state that waits for people
/// and a transition by which they approve.
fn deciding(app: &App) -> Vec<Arc<Lifecycle>> {
    let law = app.runtime.law();
    let newest = law.lifecycle_names().iter().filter_map(|it| law.newest(it));
    newest.filter(|it| !states_to_approve(it).is_empty()).cloned().collect()
}

/// The states of a lifecycle in which people approve something.
fn states_to_approve(life: &Lifecycle) -> Vec<Name> {
    let mut states = waiting_states(life);
    let approved = |it: &State| life.decision(it).approve.is_some();
    states.retain(|it| life.asks_people() || life.state(it).is_some_and(approved));
    states
}

/// Lists open requests and other entities that wait for an approval, if the caller may see them: urgent ones first, then the oldest.
#[utoipa::path(
    get, path = "/v1/approvals", tag = "approvals", operation_id = "listApprovals", params(Paging),
    responses((status = 200, body = Page<ApprovalBody>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    AppState(app): AppState<App>,
    caller: Caller,
    Parameters(page): Parameters<Paging>,
) -> Result<Json<Page<ApprovalBody>>, Refused> {
    let most = super::page_size(page.limit)?;
    let cursors = Cursors::of(&["approvals"]);
    let after = cursors.place(page.cursor.as_deref())?;
    let (inboxes, actor) = (deciding(&app), caller.actor().clone());
    let page = app.read(move |reads| {
        let mut all = Vec::new();
        for life in inboxes {
            open(reads, &life, &actor, &mut all)?;
        }
        all.sort_by(|a, b| a.place.cmp(&b.place));
        if let Some(after) = &after {
            all.retain(|it| it.place > *after);
        }
        let next_cursor =
            all.get(most.saturating_sub(1)).filter(|_| all.len() > most).map(|it| cursors.give(&it.place));
        all.truncate(most);
        Ok(Page { items: all.into_iter().map(|it| it.body).collect(), next_cursor })
    });
    Ok(Json(page.await?))
}

/// A request with its position in the list.
struct Request {
    place: String,
    body: ApprovalBody,
}

/// Open requests of one lifecycle.
fn open(reads: &Reads, life: &Lifecycle, actor: &Actor, all: &mut Vec<Request>) -> Result<(), ReadError> {
    let mut query = ListQuery::of(life.name.clone(), actor.clone());
    query.states = states_to_approve(life);
    query.limit = MOST;
    loop {
        let listed = reads.list(&query)?;
        for entity in entity_bodies(reads, &listed.items, actor)? {
            let urgent = life.face.as_ref().and_then(|it| it.urgent.as_ref());
            let urgent = urgent.is_some_and(|it| entity.fields.get(it) == Some(&Value::Bool(true)));
            let place = format!("{}~{}~{}/{}", u8::from(!urgent), entity.created_at, life.name, entity.id);
            all.push(Request { place, body: ApprovalBody { entity, urgent } });
        }
        if listed.next_cursor.is_none() {
            return Ok(());
        }
        if all.len() >= BUDGET {
            let hint = "Decide some, or list one lifecycle at a time at /v1/entities".to_owned();
            return Err(ReadError::TooExpensive { looked: all.len(), hint, reached: None });
        }
        query.cursor = listed.next_cursor;
    }
}

/// Queries for the requests of a lifecycle that refer to an entity: one for each reference field.
pub(super) fn referring(
    reads: &Reads,
    life: &Lifecycle,
    key: &EntityKey,
    actor: &Actor,
) -> Result<Vec<ListQuery>, ReadError> {
    let refs = life.refs.iter().filter(|it| it.to == key.lifecycle);
    let fields = refs.filter_map(|it| Some((it.by.as_ref()?, it.many)));
    let asked = fields.map(|(by, many)| {
        // Ids contain no character that needs escaping.
        let id = &key.id;
        let condition = if many { format!("\"{id}\" in {by}") } else { format!("{by} == \"{id}\"") };
        let mut query = ListQuery::of(life.name.clone(), actor.clone());
        query.filter = Some(reads.condition(&life.name, &condition)?);
        query.limit = MOST;
        Ok(query)
    });
    asked.collect()
}

/// Approves or denies a request, by the transition that its lifecycle's face names.
#[utoipa::path(
    post, path = "/v1/approvals/{id}/decision", tag = "approvals", operation_id = "decideApproval",
    params(("id" = String, Path), DryRun, super::KeyHeader),
    request_body = Decide,
    responses((status = 200, body = Moved), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn decide(
    AppState(app): AppState<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: CommandHeaders,
    Parameters(how): Parameters<DryRun>,
    Body(body): Body<Decide>,
) -> Result<Response, Refused> {
    let approves = match body.decision.as_str() {
        "approve" => true,
        "deny" => false,
        other => return Err(Refused::shape(format!("decision is `approve` or `deny`, not `{other}`"))),
    };
    let (life, entity, state) = find(&app, &caller, &id, body.lifecycle.as_deref()).await?;
    let decision = life.state(&state).map(|it| life.decision(it)).unwrap_or_default();
    let Some(event) = (if approves { decision.approve } else { decision.deny }) else {
        let detail = match life.asks_people() {
            true => {
                format!("{} declares no transition to {}. Its `face` can name one", life.name, body.decision)
            }
            false => format!(
                "{} declares no single transition to {} in {state}. `waits_for` of the state can name one. Fire one of the transitions that `trackside inbox` lists",
                life.name, body.decision
            ),
        };
        return Err(Refused::new(ProblemCode::NoSuchDecision, detail));
    };
    let fields = sent(&life, &event, &body);
    let fire = Fire {
        entity,
        what: TransitionRef::Event(event),
        fields,
        fence: None,
        if_version: headers.if_version,
    };
    let command = command(&caller, &headers, Ask::Fire(fire), body.note.as_deref());
    Ok(carry_out_or_try(&app, &caller, command, how.dry_run).await?.into_response_with(StatusCode::OK))
}

/// The fields for the transition: the note if it takes one, and always the target, so that an invalid one is refused.
fn sent(life: &Lifecycle, event: &Name, body: &Decide) -> Fields {
    let arms = life.transition(event).map(|it| it.arms.as_slice()).unwrap_or_default();
    let takes = |name: &Name| arms.iter().any(|arm| arm.takes.iter().any(|it| it.name == *name));
    let mut fields = Fields::default();
    let declared = life.face.as_ref().filter(|_| life.asks_people()).and_then(|it| it.note.clone());
    let place = declared.filter(|it| takes(it)).or_else(|| only_required_text(arms));
    if let (Some(name), Some(note)) = (&place, &body.note) {
        fields.put(name, Value::text(note));
    }
    if let Some(to) = &body.to {
        fields.put(&Name::new("to"), Value::text(to));
    }
    fields
}

/// The field for the note: the only one that the transition requires, if that is text.
fn only_required_text(arms: &[Arm]) -> Option<Name> {
    let mut required: Vec<&Take> =
        arms.iter().flat_map(|it| &it.takes).filter(|it| it.required.is_some()).collect();
    required.dedup_by(|a, b| a.name == b.name);
    match required.as_slice() {
        [only] if matches!(only.fits.fit, Fit::Text { .. }) => Some(only.name.clone()),
        _ => None,
    }
}

/// The request with this id, if the caller may see it.
async fn find(
    app: &App,
    caller: &Caller,
    id: &str,
    lifecycle: Option<&str>,
) -> Result<(Arc<Lifecycle>, EntityKey, Name), Refused> {
    let mut inboxes = deciding(app);
    inboxes.retain(|it| lifecycle.is_none_or(|name| *it.name == *name));
    let (name, actor) = (Name::new(id), caller.actor().clone());
    let law = app.runtime.law();
    let found = app.read(move |reads| {
        let mut found = Vec::new();
        for life in inboxes {
            let key = EntityKey { lifecycle: life.name.clone(), id: name.clone() };
            match reads.readable(&key, &actor) {
                // The definition version it was created under.
                Ok(entity) => {
                    let life = law.definition(&life.name, entity.definition).cloned().unwrap_or(life);
                    if life.asks_people() || states_to_approve(&life).contains(&entity.state) {
                        found.push((life, key, entity.state.clone()));
                    }
                }
                Err(ReadError::UnknownEntity(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    });
    let mut found = found.await?;
    let last = found.pop();
    match (last, found.first()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(Refused::new(ProblemCode::UnknownApproval, format!("There is no request {id}"))),
        (Some((life, ..)), Some((other, ..))) => {
            let detail =
                format!("{} and {} both have a request {id}: name the `lifecycle`", other.name, life.name);
            Err(Refused::new(ProblemCode::AmbiguousApproval, detail))
        }
    }
}
