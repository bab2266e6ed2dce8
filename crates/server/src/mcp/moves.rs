//! Tools that change something, by the doors that requests go through.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::model::{Aim, Lifecycle, Transition as Declared};
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
    let life = law
        .definition(&key.lifecycle, entity.definition)
        .ok_or_else(|| Refused::broken("an entity without its definition"))?;
    let is_report = |event: &str| life.transition(event).is_some_and(stays);
    let Some(event) = asked.event.as_deref().filter(|it| is_report(it)).map(str::to_owned) else {
        return Err(no_report(app, caller, &key, life, asked.event.as_deref()).await);
    };
    let wanted = Wanted::said(asked.idempotency_key.as_deref(), None)?;
    let Report { fields, reason, fence, .. } = asked;
    let body = Transition { to: None, event: Some(event), fields, reason, fence };
    moved(transitions::fired(app, caller, key, &wanted, false, &body).await?)
}

/// Whether a transition leads nowhere else.
fn stays(transition: &Declared) -> bool {
    transition.arms.iter().all(|arm| arm.target.aims().iter().all(|aim| **aim == Aim::Stay))
}

/// Why it is no report, and which ones the caller could make.
async fn no_report(
    app: &App,
    caller: &Caller,
    key: &EntityKey,
    life: &Lifecycle,
    event: Option<&str>,
) -> Refused {
    let (seen, actor) = (key.clone(), caller.actor().clone());
    let ways = match app.read(move |reads| reads.explain(&seen, &actor)).await {
        Ok(explanation) => explanation.ways,
        Err(refused) => return refused,
    };
    let mut here: Vec<&str> = ways.iter().filter(|it| it.permitted).map(|it| it.event.as_str()).collect();
    here.retain(|it| life.transition(it).is_some_and(stays));
    here.dedup();
    let known = match here.as_slice() {
        [] => format!("There is nothing that you could report on {key} now"),
        all => format!("What you could report on {key} now: {}", all.join(", ")),
    };
    let (code, detail) = match event {
        None => ("report-missing", format!("Say which report it is in `event`. {known}")),
        Some(event) if life.transition(event).is_some() => {
            ("moves", format!("{event} moves it: use `fire` for that. {known}"))
        }
        Some(event) => {
            let near = nearest(event, here.iter().copied());
            let hint = near.map(|it| format!(" Did you mean {it}?")).unwrap_or_default();
            ("unknown-event", format!("{} has no report {event}.{hint} {known}", life.name))
        }
    };
    Refused::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail)
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
    let moved = done.moved()?;
    let claimed = Claimed { claimed: true, entity: moved.entity, transition: Some(moved.transition) };
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
    let moved = done.moved()?;
    let Done { entity, version, .. } = done;
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
