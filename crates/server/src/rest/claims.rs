//! Taking the next one, and staying its holder.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use trackside_engine::command::{Ask, Claim as Claiming};
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_protocol::{Claim, Heartbeat, HeartbeatTold, Moved, Problem, Stop};
use trackside_runtime::{Answer, ReadError, Reads};

use super::body::fields;
use super::carry::{Done, answer_told, command, submit};
use super::notices::notice;
use super::{Body, Wanted};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Sight;
use crate::problem::Refused;

/// Claims the next claimable one for the caller.
#[utoipa::path(
    post, path = "/v1/entities/{lifecycle}/claim", tag = "entities", operation_id = "claim",
    params(("lifecycle" = String, Path), super::Keyed),
    request_body = Option<Claim>,
    responses((status = 200, body = Moved), (status = 204, description = "There is none."), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn claim(
    State(app): State<App>,
    caller: Caller,
    Path(lifecycle): Path<String>,
    wanted: Wanted,
    Body(body): Body<Claim>,
) -> Result<Response, Refused> {
    match claimed(&app, &caller, &lifecycle, &wanted, body).await? {
        Some(done) => Ok(done.into_response_with(StatusCode::OK)),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Claims, whatever way the request came; none if there is nothing to claim.
pub(crate) async fn claimed(
    app: &App,
    caller: &Caller,
    lifecycle: &str,
    wanted: &Wanted,
    body: Claim,
) -> Result<Option<Done>, Refused> {
    let lifecycle = Name::new(lifecycle);
    let only = match body.only {
        Some(text) => {
            let lifecycle = lifecycle.clone();
            Some(app.read(move |reads| reads.condition(&lifecycle, &text)).await?)
        }
        None => None,
    };
    let event = body.event.as_deref().map(Name::new);
    let ask = Ask::Claim(Claiming { lifecycle, event, only, fields: fields(&body.fields) });
    let command = command(caller, wanted, ask, body.reason.as_deref());
    match submit(app, command).await? {
        Answer::Refused(refusal) if refusal.code == "nothing-claimable" => Ok(None),
        answer => answer_told(app, caller, answer).await.map(Some),
    }
}

/// Extends a lease.
#[utoipa::path(
    post, path = "/v1/entities/{lifecycle}/{id}/heartbeat", tag = "entities", operation_id = "heartbeat",
    params(("lifecycle" = String, Path), ("id" = String, Path), super::Keyed),
    request_body = Option<Heartbeat>,
    responses((status = 200, body = HeartbeatTold), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn heartbeat(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
    wanted: Wanted,
    Body(body): Body<Heartbeat>,
) -> Result<Json<HeartbeatTold>, Refused> {
    let entity = EntityKey::new(lifecycle.as_str(), id.as_str());
    let slot = match body.slot {
        Some(slot) => Name::new(&slot),
        None => own_slot(&app, &caller, &entity).await?,
    };
    let ask = Ask::Heartbeat { entity: entity.clone(), slot: slot.clone(), fence: body.fence };
    let (entry, replayed) = match submit(&app, command(&caller, &wanted, ask, None)).await? {
        Answer::Accepted(accepted) => (accepted.entry().cloned(), false),
        Answer::Refused(refusal) => return Err((&*refusal).into()),
        Answer::Replayed { first, .. } => (Some(app.read(move |reads| written(reads, first)).await?), true),
    };
    let lease = entry.as_ref().and_then(|it| renewed(&it.event));
    let actor = caller.actor().clone();
    let holder = caller.on_behalf_of.clone().unwrap_or_else(|| actor.id.clone());
    let sight = Sight::of(&app, &caller);
    let (stops, notices) = app
        .read(move |reads| {
            let stops = reads.stops(&entity, &slot, &actor)?;
            let told = match entry {
                Some(entry) => reads.told_since_renewal(entry.seq, &slot, &holder)?,
                None => Vec::new(),
            };
            let mut notices = Vec::new();
            for entry in &told {
                if sight.sees(reads, entry)? {
                    notices.push(notice(entry));
                }
            }
            Ok((stops, notices))
        })
        .await?;
    Ok(Json(HeartbeatTold {
        expires_at: lease.as_ref().map(|(until, _)| until.clone()),
        fence: lease.map(|(_, fence)| fence),
        stop: (!stops.is_empty()).then(|| Stop { why: stops.join("; ") }),
        notices,
        replayed,
    }))
}

/// What was written the first time.
fn written(reads: &Reads, seq: u64) -> Result<Entry, ReadError> {
    let found = reads.written_by(seq, 1)?;
    let record = found.first().ok_or(ReadError::EntryArchived(seq))?;
    Ok(record.entry()?)
}

fn renewed(event: &Event) -> Option<(String, u64)> {
    match event {
        Event::LeaseRenewed { lease, .. } | Event::LeaseGranted { lease, .. } => {
            Some((lease.expires_at.to_string(), lease.fence))
        }
        _ => None,
    }
}

/// The slot that is meant when nobody names one: the only one, the one that the caller holds, or one that it has lost.
async fn own_slot(app: &App, caller: &Caller, key: &EntityKey) -> Result<Name, Refused> {
    let law = app.runtime.law();
    let Some(life) = law.newest(&key.lifecycle) else {
        return Err(ReadError::UnknownEntity(key.clone()).into());
    };
    let slots: Vec<Name> = life.slots.iter().map(|it| it.name.clone()).collect();
    if let [only] = &slots[..] {
        return Ok(only.clone());
    }
    let (wanted, actor) = (key.clone(), caller.actor().clone());
    let entity = app.read(move |reads| reads.readable(&wanted, &actor)).await?;
    let holder = caller.on_behalf_of.as_ref().unwrap_or(&caller.actor().id);
    let held_by = |is_meant: &dyn Fn(&Name) -> bool| {
        let held = entity.leases.iter().find(|(_, lease)| lease.holder.as_ref().is_some_and(is_meant));
        held.map(|(slot, _)| slot.clone())
    };
    // Whoever holds none has lost theirs, and is told so by any of them: first by one that somebody else has by now.
    let lost = || held_by(&|_| true).or_else(|| slots.first().cloned());
    held_by(&|it| it == holder).or_else(lost).ok_or_else(|| {
        let detail = format!("{} has no slots, so nothing of it is held", key.lifecycle);
        Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown-slot", detail)
    })
}
