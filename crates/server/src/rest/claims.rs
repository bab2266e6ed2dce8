//! Claims and heartbeats.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use trackside_engine::command::{Ask, Claim as Claiming};
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Code;
use trackside_lifecycle::name::Name;
use trackside_protocol::{ClaimBody, HeartbeatBody, HeartbeatReply, Moved, Problem, Stop};
use trackside_runtime::{CommandAnswer, ReadError, Reads};

use super::body::fields;
use super::commands::{Done, carry_out_or_try, command, submit};
use super::notices::notification_body;
use super::{Body, CommandHeaders, DryRun, Parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Visibility;
use crate::problem::Refused;

/// Claims the next available entity for the caller.
#[utoipa::path(
    post, path = "/v1/entities/{lifecycle}/claim", tag = "entities", operation_id = "claim",
    params(("lifecycle" = String, Path), DryRun, super::KeyHeader),
    request_body = Option<ClaimBody>,
    responses((status = 200, body = Moved), (status = 204, description = "Nothing to claim."), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn claim(
    State(app): State<App>,
    caller: Caller,
    Path(lifecycle): Path<String>,
    headers: CommandHeaders,
    Parameters(how): Parameters<DryRun>,
    Body(body): Body<ClaimBody>,
) -> Result<Response, Refused> {
    match claimed(&app, &caller, &lifecycle, &headers, how.dry_run, body).await? {
        Some(done) => Ok(done.into_response_with(StatusCode::OK)),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Claims for HTTP and MCP; none if nothing is available.
pub(crate) async fn claimed(
    app: &App,
    caller: &Caller,
    lifecycle: &str,
    headers: &CommandHeaders,
    dry_run: bool,
    body: ClaimBody,
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
    let command = command(caller, headers, ask, body.reason.as_deref());
    match carry_out_or_try(app, caller, command, dry_run).await {
        Err(refused) if refused.0.has_code(Code::NothingClaimable) => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// Extends a lease.
#[utoipa::path(
    post, path = "/v1/entities/{lifecycle}/{id}/heartbeat", tag = "entities", operation_id = "heartbeat",
    params(("lifecycle" = String, Path), ("id" = String, Path), super::KeyHeader),
    request_body = Option<HeartbeatBody>,
    responses((status = 200, body = HeartbeatReply), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn heartbeat(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
    headers: CommandHeaders,
    Body(body): Body<HeartbeatBody>,
) -> Result<Json<HeartbeatReply>, Refused> {
    let entity = EntityKey::new(lifecycle.as_str(), id.as_str());
    let beat = LeaseRenewal::of(&app, &caller, entity, body).await?;
    let answer = submit(&app, command(&caller, &headers, beat.ask(), None)).await?;
    Ok(Json(beat.reply(&app, &caller, answer).await?))
}

/// A heartbeat whose slot is known.
#[derive(Clone, Debug)]
pub(super) struct LeaseRenewal {
    entity: EntityKey,
    slot: Name,
    fence: Option<u64>,
}

impl LeaseRenewal {
    pub async fn of(
        app: &App,
        caller: &Caller,
        entity: EntityKey,
        body: HeartbeatBody,
    ) -> Result<Self, Refused> {
        let slot = match body.slot {
            Some(slot) => Name::new(&slot),
            None => own_slot(app, caller, &entity).await?,
        };
        Ok(Self { entity, slot, fence: body.fence })
    }

    pub fn ask(&self) -> Ask {
        Ask::Heartbeat { entity: self.entity.clone(), slot: self.slot.clone(), fence: self.fence }
    }

    /// The response to the answer of the engine.
    pub async fn reply(
        self,
        app: &App,
        caller: &Caller,
        answer: CommandAnswer,
    ) -> Result<HeartbeatReply, Refused> {
        reply(app, caller, self, answer).await
    }
}

async fn reply(
    app: &App,
    caller: &Caller,
    LeaseRenewal { entity, slot, .. }: LeaseRenewal,
    answer: CommandAnswer,
) -> Result<HeartbeatReply, Refused> {
    let (entry, replayed) = match answer {
        CommandAnswer::Accepted(accepted) => (accepted.entry().cloned(), false),
        CommandAnswer::Refused(refusal) => return Err((&*refusal).into()),
        CommandAnswer::Replayed { first, .. } => {
            (Some(app.read(move |reads| entry_of_first_request(reads, first)).await?), true)
        }
    };
    let lease = entry.as_ref().and_then(|it| renewed(&it.event));
    let actor = caller.actor().clone();
    let holder = caller.on_behalf_of.clone().unwrap_or_else(|| actor.id.clone());
    let visibility = Visibility::of(app, caller);
    let (stops, notices) = app
        .read(move |reads| {
            let stops = match &entry {
                Some(entry) if replayed => reads.stops_at(&entity, &slot, &actor, entry.seq)?,
                _ => reads.stops(&entity, &slot, &actor)?,
            };
            let told = match entry {
                Some(entry) => reads.told_since_renewal(entry.seq, &slot, &holder)?,
                None => Vec::new(),
            };
            let mut notices = Vec::new();
            for entry in &told {
                if visibility.sees(reads, entry)? {
                    notices.extend(notification_body(entry));
                }
            }
            Ok((stops, notices))
        })
        .await?;
    Ok(HeartbeatReply {
        expires_at: lease.as_ref().map(|(until, _)| until.clone()),
        fence: lease.map(|(_, fence)| fence),
        stop: (!stops.is_empty()).then(|| Stop { why: stops.join("; ") }),
        notices,
        replayed,
    })
}

/// The entry of the first request.
fn entry_of_first_request(reads: &Reads, seq: u64) -> Result<Entry, ReadError> {
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

/// The slot if the request names none: the only one, the one the caller holds, or one it has lost.
async fn own_slot(app: &App, caller: &Caller, key: &EntityKey) -> Result<Name, Refused> {
    let law = app.runtime.law();
    let Some(life) = law.newest(&key.lifecycle) else {
        return Err(ReadError::UnknownEntity(key.clone()).into());
    };
    let slots: Vec<Name> = life.slots.iter().map(|it| it.name.clone()).collect();
    if let [only] = &slots[..] {
        return Ok(only.clone());
    }
    let (readable, actor) = (key.clone(), caller.actor().clone());
    let entity = app.read(move |reads| reads.readable(&readable, &actor)).await?;
    let holder = caller.on_behalf_of.as_ref().unwrap_or(&caller.actor().id);
    let held_by = |is_meant: &dyn Fn(&Name) -> bool| {
        let held = entity.leases.iter().find(|(_, lease)| lease.holder.as_ref().is_some_and(is_meant));
        held.map(|(slot, _)| slot.clone())
    };
    // A caller without a lease has lost it. Any slot gives that answer; one with a new holder first.
    let lost = || held_by(&|_| true).or_else(|| slots.first().cloned());
    held_by(&|it| it == holder).or_else(lost).ok_or_else(|| {
        let detail = format!("{} has no slots, so there is no lease to renew", key.lifecycle);
        Refused::new(Code::UnknownSlot, detail)
    })
}
