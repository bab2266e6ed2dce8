//! Tools that change entities, with the functions behind the HTTP routes.

use axum::extract::{Path, State};
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Code;
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::model::{Aim, Lifecycle, Transition as Declared};
use trackside_protocol::{self as wire, ClaimReply, ProblemCode, TransitionBody};

use super::args::{ClaimInput, CreateInput, FireInput, HeartbeatInput, ReportInput};
use super::tool_answer::ToolAnswer;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::rest::{Body, CommandHeaders, Done, claims, entities, transitions};

pub(super) async fn create(app: &App, caller: &Caller, asked: CreateInput) -> Result<ToolAnswer, Refused> {
    let headers = CommandHeaders::from_arguments(asked.idempotency_key.as_deref(), None)?;
    let body = wire::CreateBody { id: asked.id, fields: asked.fields };
    Ok(moved_answer(&entities::created(app, caller, &asked.lifecycle, &headers, asked.dry_run, body).await?))
}

pub(super) async fn fire(app: &App, caller: &Caller, asked: FireInput) -> Result<ToolAnswer, Refused> {
    let key = EntityKey::new(asked.lifecycle.as_str(), asked.id.as_str());
    let headers = CommandHeaders::from_arguments(asked.idempotency_key.as_deref(), asked.if_version)?;
    let FireInput { to, event, fields, reason, fence, dry_run, .. } = asked;
    let body = TransitionBody { to, event, fields, reason, fence };
    Ok(moved_answer(&transitions::fired(app, caller, key, &headers, dry_run, &body).await?))
}

/// Fires a transition that does not change the state.
pub(super) async fn report(app: &App, caller: &Caller, asked: ReportInput) -> Result<ToolAnswer, Refused> {
    let key = EntityKey::new(asked.lifecycle.as_str(), asked.id.as_str());
    let (seen, actor, law) = (key.clone(), caller.actor().clone(), app.runtime.law());
    let entity = app.read(move |reads| reads.readable(&seen, &actor)).await?;
    let life = law
        .definition(&key.lifecycle, entity.definition)
        .ok_or_else(|| Refused::broken("an entity without its definition"))?;
    let is_report = |event: &str| life.transition(event).is_some_and(stays);
    let Some(event) = asked.event.as_deref().filter(|it| is_report(it)).map(str::to_owned) else {
        return Err(no_report(app, caller, &key, life, asked.event.as_deref()).await);
    };
    let headers = CommandHeaders::from_arguments(asked.idempotency_key.as_deref(), None)?;
    let ReportInput { fields, reason, fence, .. } = asked;
    let body = TransitionBody { to: None, event: Some(event), fields, reason, fence };
    Ok(moved_answer(&transitions::fired(app, caller, key, &headers, false, &body).await?))
}

/// Whether a transition does not change the state.
fn stays(transition: &Declared) -> bool {
    transition.arms.iter().all(|arm| arm.target.aims().iter().all(|aim| **aim == Aim::Stay))
}

/// The refusal for a transition that is not a report, with the reports that the caller can make.
async fn no_report(
    app: &App,
    caller: &Caller,
    key: &EntityKey,
    life: &Lifecycle,
    event: Option<&str>,
) -> Refused {
    let (seen, actor) = (key.clone(), caller.actor().clone());
    let ways = match app.read(move |reads| reads.explain(&seen, &actor)).await {
        Ok(explanation) => explanation.transitions,
        Err(refused) => return refused,
    };
    let mut here: Vec<&str> = ways.iter().filter(|it| it.permitted).map(|it| it.event.as_str()).collect();
    here.retain(|it| life.transition(it).is_some_and(stays));
    here.dedup();
    let known = match here.as_slice() {
        [] => format!("You cannot report anything on {key} now"),
        all => format!("You can report on {key} now: {}", all.join(", ")),
    };
    let (code, detail) = match event {
        None => (ProblemCode::ReportMissing, format!("Name the report in `event`. {known}")),
        Some(event) if life.transition(event).is_some() => {
            (ProblemCode::ReportMoves, format!("{event} changes the state: use `fire`. {known}"))
        }
        Some(event) => {
            let near = nearest(event, here.iter().copied());
            let hint = near.map(|it| format!(" Did you mean {it}?")).unwrap_or_default();
            (Code::UnknownEvent.into(), format!("{} has no report {event}.{hint} {known}", life.name))
        }
    };
    Refused::new(code, detail)
}

pub(super) async fn claim(app: &App, caller: &Caller, asked: ClaimInput) -> Result<ToolAnswer, Refused> {
    let headers = CommandHeaders::from_arguments(asked.idempotency_key.as_deref(), None)?;
    let ClaimInput { lifecycle, event, only, fields, reason, .. } = asked;
    let body = wire::ClaimBody { event, only, fields, reason };
    let Some(done) = claims::claimed(app, caller, &lifecycle, &headers, false, body).await? else {
        let says = format!(
            "There is no {lifecycle} for you to claim now. Call `wait` without an id to wait for one."
        );
        return Ok(ToolAnswer::new(says, &ClaimReply { claimed: false, entity: None, transition: None }));
    };
    let says = format!("{} is yours.", done.entity);
    let moved = done.moved;
    let claimed = ClaimReply { claimed: true, entity: moved.entity, transition: Some(moved.transition) };
    Ok(ToolAnswer::new(says, &claimed))
}

pub(super) async fn heartbeat(
    app: &App,
    caller: &Caller,
    asked: HeartbeatInput,
) -> Result<ToolAnswer, Refused> {
    let place = Path((asked.lifecycle, asked.id));
    let body = wire::HeartbeatBody { slot: asked.slot, fence: asked.fence };
    let headers = CommandHeaders::default();
    let told = claims::heartbeat(State(app.clone()), caller.clone(), place, headers, Body(body)).await?.0;
    let until = told.expires_at.as_deref().unwrap_or("its end");
    let says = match &told.stop {
        Some(stop) => format!("You hold it until {until}, but stop: {}", stop.why),
        None => format!("You hold it until {until}."),
    };
    Ok(ToolAnswer::new(says, &told))
}

/// The outcome of a command as text and data.
fn moved_answer(done: &Done) -> ToolAnswer {
    let Done { moved, entity, version, .. } = done;
    let state = moved.entity.as_ref().map(|it| &it.state);
    let to = moved.transition.to.as_ref();
    let says = match (moved.dry_run, to.or(state)) {
        (true, Some(to)) => format!("It would succeed: {entity} would be {to}. Nothing has changed."),
        (true, None) => "It would succeed. Nothing has changed.".to_owned(),
        (false, Some(to)) => format!("{entity} is {} (version {version}).", state.unwrap_or(to)),
        (false, None) => format!("Done: {entity} is at version {version}."),
    };
    ToolAnswer::new(says, moved)
}
