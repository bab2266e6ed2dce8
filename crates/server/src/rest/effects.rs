//! Effects: work for external systems, taken with a lease and settled once.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use trackside_engine::actor::ActorKind;
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Code;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_protocol::{
    EffectBody, EffectResult, EffectSettled, EffectTaken, Page, Problem, ProblemCode, TakeEffects,
};
use trackside_runtime::{CommandAnswer, OutboxError, TakenEffect};
use utoipa::IntoParams;

use super::body::fields;
use super::{Body, CommandHeaders, Cursors, Parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Visibility;
use crate::problem::Refused;

/// The default and the longest lease.
const LEASE: Span = Span(5 * 60 * 1_000);
const LONGEST: Span = Span(24 * 60 * 60 * 1_000);

/// Only systems, supervisors of agents and people with role admin may take effects.
fn must_be_taker(caller: &Caller) -> Result<(), Refused> {
    let identity = &caller.identity;
    if identity.actor.kind == ActorKind::System || identity.is_admin() || !identity.on_behalf.is_empty() {
        return Ok(());
    }
    let detail = "Effects are for systems, supervisors (tokens made with --for) and people with role admin";
    Err(Refused::forbidden(detail, "system, a supervisor, or human and admin"))
}

/// Parameters of the list of effects.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct EffectsQuery {
    /// Only effects of this kind.
    kind: Option<String>,
    /// Page size: 50 by default, 200 at most.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    cursor: Option<String>,
}

/// Lists open effects, the oldest first.
#[utoipa::path(
    get, path = "/v1/effects", tag = "effects", operation_id = "listEffects", params(EffectsQuery),
    responses((status = 200, body = Page<EffectBody>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Parameters(which): Parameters<EffectsQuery>,
) -> Result<Json<Page<EffectBody>>, Refused> {
    let most = super::page_size(which.limit)?;
    let cursors = Cursors::of(&["effects"]);
    let after = cursors.after(which.cursor.as_deref())?;
    let (courier, visibility, own) =
        (app.runtime.outbox()?, Visibility::of(&app, &caller), caller.actor().id.clone());
    let page = app.read(move |reads| {
        let open = courier.open(which.kind.as_deref().map(Name::new).as_ref(), after, most)?;
        let next_cursor = open.last().filter(|_| open.len() == most).map(|it| cursors.give(it.id));
        let mut items = Vec::new();
        for it in open {
            if visibility.sees_entity(reads, &it.entity)? {
                items.push(EffectBody {
                    id: it.id,
                    kind: it.effect.to_string(),
                    lifecycle: it.entity.lifecycle.to_string(),
                    entity: it.entity.id.to_string(),
                    with: it.with.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect(),
                    fence: it.fence.filter(|_| it.taken_by.as_ref() == Some(&own)),
                    since: it.since.map(|it| it.to_string()),
                    taken_by: it.taken_by.as_ref().map(Name::to_string),
                    until: it.until.map(|it| it.to_string()),
                    behind: it.behind.as_ref().map(|(id, _)| *id),
                });
            }
        }
        Ok(Page { items, next_cursor })
    });
    Ok(Json(page.await?))
}

/// Takes effects that are not taken, the oldest first.
#[utoipa::path(
    post, path = "/v1/effects/take", tag = "effects", operation_id = "takeEffects", params(super::KeyHeader), request_body = Option<TakeEffects>,
    responses((status = 200, body = Page<EffectTaken>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn take(
    State(app): State<App>,
    caller: Caller,
    Body(body): Body<TakeEffects>,
) -> Result<Json<Page<EffectTaken>>, Refused> {
    must_be_taker(&caller)?;
    let most = match super::limit(body.limit.map(|it| usize::try_from(it).unwrap_or(usize::MAX)))? {
        0 => 1,
        asked => asked,
    };
    let lease = match &body.lease {
        None => LEASE,
        Some(text) => Span::parse(text).filter(|it| it.0 > 0 && it.0 <= LONGEST.0).ok_or_else(|| {
            Refused::shape("`lease` must be a duration of at most 24h, such as `90s`, `15m` or `24h`")
        })?,
    };
    let entity = match body.entity.as_deref().map(|it| EntityKey::parse(it).ok_or(it)) {
        Some(Err(text)) => {
            let detail = format!("`{text}` names no entity: send LIFECYCLE/ID, such as coding.task/T-1");
            return Err(Refused::parameter("entity", detail));
        }
        named => named.and_then(Result::ok),
    };
    let (courier, visibility) = (app.runtime.outbox()?, Visibility::of(&app, &caller));
    let taker = caller.actor().id.clone();
    let taken = app.read(move |reads| {
        let kind = body.kind.as_deref().map(Name::new);
        // An effect whose entity cannot be read now is not handed out.
        let may = |it: &EntityKey| {
            entity.as_ref().is_none_or(|wanted| wanted == it)
                && visibility.sees_entity(reads, it).unwrap_or(false)
        };
        courier.take_of(kind.as_ref(), &taker, lease, most, &may)
    });
    let items: Vec<EffectTaken> = taken.await?.iter().map(taken_body).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

fn taken_body(it: &TakenEffect) -> EffectTaken {
    EffectTaken {
        id: it.id,
        kind: it.effect.to_string(),
        lifecycle: it.entity.lifecycle.to_string(),
        entity: it.entity.id.to_string(),
        with: it.with.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect(),
        fence: it.fence,
        until: it.until.to_string(),
    }
}

/// Reports the result of an effect.
#[utoipa::path(
    post, path = "/v1/effects/{id}/result", tag = "effects", operation_id = "settleEffect", params(("id" = u64, Path), super::KeyHeader),
    request_body = EffectResult,
    responses((status = 200, body = EffectSettled), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn settle(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: CommandHeaders,
    Body(body): Body<EffectResult>,
) -> Result<Json<EffectSettled>, Refused> {
    must_be_taker(&caller)?;
    let unknown = || Refused::new(ProblemCode::UnknownEffect, format!("There is no effect {id}"));
    let number: u64 = id.parse().map_err(|_| unknown())?;
    let courier = app.runtime.outbox()?.for_request(crate::telemetry::request_id(), headers.key);
    let visibility = Visibility::of(&app, &caller);
    let actor = caller.actor().clone();
    let settled = app.blocking(move |app| {
        if let Some(entry) = app.reads.entry(number)?
            && !visibility.sees_entity(&app.reads, &entry.entity)?
        {
            return Err(Refused::new(ProblemCode::UnknownEffect, format!("There is no effect {number}")));
        }
        courier.settle(actor, number, body.fence, body.ok, fields(&body.detail)).map_err(refused)
    });
    let (seq, replayed) = match settled.await? {
        CommandAnswer::Refused(refusal) => return Err((&*refusal).into()),
        CommandAnswer::Accepted(accepted) => (accepted.entry().map(|it| it.seq), false),
        CommandAnswer::Replayed { first, .. } => (Some(first), true),
    };
    Ok(Json(EffectSettled { success: true, id: number, seq, replayed }))
}

fn refused(error: OutboxError) -> Refused {
    let text = error.to_string();
    match error {
        OutboxError::Unknown(_) => Refused::new(ProblemCode::UnknownEffect, text),
        OutboxError::Stale { .. } | OutboxError::NotTaken { .. } => Refused::new(Code::StaleFence, text),
        OutboxError::Read(error) => error.into(),
    }
}
