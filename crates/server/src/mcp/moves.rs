//! Tools that change something, by the doors that requests go through.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::model::{Aim, Lifecycle};
use trackside_lifecycle::name::Name;
use trackside_protocol::{self as wire, Transition};

use super::args::{Claim, Create, Fire, Heartbeat, Report};
use super::told::{Claimed, Told};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;
use crate::rest::{Body, Done, Wanted, claims, entities, transitions};

pub(super) async fn create(app: &App, caller: &Caller, asked: Create) -> Result<Told, Refused> {
    let wanted = Wanted::said(asked.idempotency_key.as_deref(), None)?;
    let body = wire::Create { id: asked.id, fields: asked.fields };
    moved(entities::created(app, caller, &asked.lifecycle, &wanted, asked.dry_run, body).await?)
}

pub(super) async fn fire(app: &App, caller: &Caller, asked: Fire) -> Result<Told, Refused> {
    let key = EntityKey::new(asked.lifecycle.as_str(), asked.id.as_str());
    let wanted = Wanted::said(asked.idempotency_key.as_deref(), asked.if_version)?;
    let Fire { to, event, fields, reason, fence, dry_run, .. } = asked;
    let body = Transition { to, event, fields, reason, fence };
    moved(transitions::fired(app, caller, key, &wanted, dry_run, &body).await?)
}

/// Only what leaves an entity in its state is a report.
pub(super) async fn report(app: &App, caller: &Caller, asked: Report) -> Result<Told, Refused> {
    let key = EntityKey::new(asked.lifecycle.as_str(), asked.id.as_str());
    let (seen, actor, law) = (key.clone(), caller.actor().clone(), app.runtime.law());
    let entity = app.read(move |reads| reads.readable(&seen, &actor)).await?;
    let life = law.definition(&key.lifecycle, entity.definition).ok_or_else(Refused::broken)?;
    let event = must_be_report(life, &entity.state, asked.event.as_deref())?;
    let wanted = Wanted::said(asked.idempotency_key.as_deref(), None)?;
    let Report { fields, reason, fence, .. } = asked;
    let body = Transition { to: None, event: Some(event), fields, reason, fence };
    moved(transitions::fired(app, caller, key, &wanted, false, &body).await?)
}

/// The event, if it moves nothing.
fn must_be_report(life: &Lifecycle, state: &Name, event: Option<&str>) -> Result<String, Refused> {
    let stays = |it: &&trackside_lifecycle::model::Transition| {
        it.arms.iter().all(|arm| arm.target.aims().iter().all(|aim| **aim == Aim::Stay))
    };
    let reports = life.transitions.iter().filter(stays);
    let here: Vec<&str> = reports
        .clone()
        .filter(|it| it.arms.iter().any(|arm| arm.from.has(state)))
        .map(|it| it.name.as_str())
        .collect();
    let known = match here.as_slice() {
        [] => format!("There is nothing to report on a {} that is {state}", life.name),
        all => format!("Reports on a {} that is {state}: {}", life.name, all.join(", ")),
    };
    let refused =
        |code: &str, detail: String| Err(Refused::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail));
    match event {
        None => refused("report-missing", format!("Say which report it is in `event`. {known}")),
        Some(event) if reports.clone().any(|it| *it.name == *event) => Ok(event.to_owned()),
        Some(event) if life.transition(event).is_some() => {
            refused("moves", format!("{event} moves it: use `fire` for that. {known}"))
        }
        Some(event) => {
            let near = nearest(event, here.iter().copied());
            let hint = near.map(|it| format!(". Did you mean {it}?")).unwrap_or_default();
            refused("unknown-event", format!("{} has no report {event}{hint} {known}", life.name))
        }
    }
}

pub(super) async fn claim(app: &App, caller: &Caller, asked: Claim) -> Result<Told, Refused> {
    let wanted = Wanted::said(asked.idempotency_key.as_deref(), None)?;
    let Claim { lifecycle, event, only, fields, reason, .. } = asked;
    let body = wire::Claim { event, only, fields, reason };
    let Some(done) = claims::claimed(app, caller, &lifecycle, &wanted, body).await? else {
        let says =
            format!("There is no {lifecycle} for you to claim now. wait, without an id, waits for one.");
        return Ok(Told::new(says, &Claimed { claimed: false, entity: None, transition: None }));
    };
    let says = format!("{} is yours.", done.entity);
    let claimed =
        Claimed { claimed: true, entity: done.moved.entity, transition: Some(done.moved.transition) };
    Ok(Told::new(says, &claimed))
}

pub(super) async fn heartbeat(app: &App, caller: &Caller, asked: Heartbeat) -> Result<Told, Refused> {
    let place = Path((asked.lifecycle, asked.id));
    let body = wire::Heartbeat { slot: asked.slot, fence: asked.fence };
    let wanted = Wanted::default();
    let told = claims::heartbeat(State(app.clone()), caller.clone(), place, wanted, Body(body)).await?.0;
    let until = told.expires_at.as_deref().unwrap_or("its end");
    let says = match &told.stop {
        Some(stop) => format!("Yours until {until}, but stop: {}", stop.why),
        None => format!("Yours until {until}."),
    };
    Ok(Told::new(says, &told))
}

/// What became of a command, in a sentence.
fn moved(done: Done) -> Result<Told, Refused> {
    let Done { moved, entity, version, .. } = done;
    let state = moved.entity.as_ref().and_then(|it| it.get("state")).and_then(|it| it.as_str());
    let to = moved.transition.get("to").and_then(|it| it.as_str());
    let says = match (moved.dry_run, to.or(state)) {
        (true, Some(to)) => format!("It would be done: {entity} would be {to}. Nothing has changed."),
        (true, None) => "It would be done. Nothing has changed.".to_owned(),
        (false, Some(to)) => format!("{entity} is {} (version {version}).", state.unwrap_or(to)),
        (false, None) => format!("Done: {entity} is at version {version}."),
    };
    Ok(Told::new(says, &moved))
}
