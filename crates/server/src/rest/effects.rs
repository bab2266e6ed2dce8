//! Work for the outside: what is open, taken with a lease, answered once.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use trackside_engine::actor::ActorKind;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_protocol::{EffectResult, EffectTaken, EffectTold, Page, Problem, TakeEffects};
use trackside_runtime::read::{MOST, USUAL};
use trackside_runtime::{Answer, OutboxError, TakenEffect};
use utoipa::IntoParams;

use super::body::fields;
use super::{Body, Cursors, KeyUse, Parameters, Wanted, answer_once};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Sight;
use crate::problem::Refused;

/// How long a taker has if it says nothing, and at most.
const LEASE: Span = Span(5 * 60 * 1_000);
const LONGEST: Span = Span(24 * 60 * 60 * 1_000);

/// Only those who act on the world may take its work: systems, supervisors of agents, and people with role admin.
fn must_be_taker(caller: &Caller) -> Result<(), Refused> {
    let identity = &caller.identity;
    if identity.actor.kind == ActorKind::System || identity.is_admin() || !identity.on_behalf.is_empty() {
        return Ok(());
    }
    let detail = "Work for the outside is for systems, for supervisors (tokens made with --for) and for people with role admin";
    Err(Refused::forbidden(detail, "system, a supervisor, or human and admin"))
}

/// Which effects.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// Only of this kind.
    kind: Option<String>,
    /// How many: 50 if nothing is said; of more than 200, 200.
    #[param(minimum = 1)]
    limit: Option<usize>,
    /// The `nextCursor` of the page before.
    cursor: Option<String>,
}

/// Lists effects that nobody has answered, the oldest first.
#[utoipa::path(
    get, path = "/v1/effects", tag = "effects", operation_id = "listEffects", params(Which),
    responses((status = 200, body = Page<EffectTold>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Parameters(which): Parameters<Which>,
) -> Result<Json<Page<EffectTold>>, Refused> {
    let most = match super::limit(which.limit)? {
        0 => USUAL,
        asked => asked.min(MOST),
    };
    let cursors = Cursors::of(&["effects"]);
    let after = cursors.after(which.cursor.as_deref())?;
    let (courier, sight, own) = (app.runtime.outbox()?, Sight::of(&app, &caller), caller.actor().id.clone());
    let page = app.read(move |reads| {
        let open = courier.open(which.kind.as_deref().map(Name::new).as_ref(), after, most)?;
        let next_cursor = open.last().filter(|_| open.len() == most).map(|it| cursors.give(it.id));
        let mut items = Vec::new();
        for it in open {
            if sight.sees_entity(reads, &it.entity)? {
                items.push(EffectTold {
                    id: it.id,
                    kind: it.effect.to_string(),
                    lifecycle: it.entity.lifecycle.to_string(),
                    entity: it.entity.id.to_string(),
                    with: it.with.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect(),
                    fence: it.fence.filter(|_| it.taken_by.as_ref() == Some(&own)),
                    taken_by: it.taken_by.as_ref().map(Name::to_string),
                });
            }
        }
        Ok(Page { items, next_cursor })
    });
    Ok(Json(page.await?))
}

/// Takes effects that nobody is at, the oldest first.
#[utoipa::path(
    post, path = "/v1/effects/take", tag = "effects", operation_id = "takeEffects", params(super::Keyed), request_body = Option<TakeEffects>,
    responses((status = 200, body = Page<EffectTaken>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn take(
    State(app): State<App>,
    caller: Caller,
    wanted: Wanted,
    Body(body): Body<TakeEffects>,
) -> Result<Json<Value>, Refused> {
    must_be_taker(&caller)?;
    let most = match super::limit(body.limit.map(|it| usize::try_from(it).unwrap_or(MOST)))? {
        0 => 1,
        asked => asked.min(MOST),
    };
    let lease = match &body.lease {
        None => LEASE,
        Some(text) => Span::parse(text)
            .filter(|it| it.0 > 0 && it.0 <= LONGEST.0)
            .ok_or_else(|| Refused::shape("`lease` is a span of at most 24h, as in `90s`, `15m`, `24h`"))?,
    };
    let (courier, sight) = (app.runtime.outbox()?, Sight::of(&app, &caller));
    let (taker, used) = (caller.actor().id.clone(), KeyUse::of(&caller, &wanted, "/v1/effects/take", &body));
    let taking = app.clone();
    let taken = async move {
        let taken = taking.read(move |reads| {
            let kind = body.kind.as_deref().map(Name::new);
            // What cannot be looked up now is not handed out now.
            let may = |it: &EntityKey| sight.sees_entity(reads, it).unwrap_or(false);
            courier.take_of(kind.as_ref(), &taker, lease, most, &may)
        });
        let items: Vec<EffectTaken> = taken.await?.iter().map(told).collect();
        Ok(Page { items, next_cursor: None })
    };
    answer_once(&app, used, taken).await
}

fn told(it: &TakenEffect) -> EffectTaken {
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

/// Brings the result of an effect home.
#[utoipa::path(
    post, path = "/v1/effects/{id}/result", tag = "effects", operation_id = "settleEffect", params(("id" = u64, Path), super::Keyed),
    request_body = EffectResult,
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn settle(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    wanted: Wanted,
    Body(body): Body<EffectResult>,
) -> Result<Json<Value>, Refused> {
    must_be_taker(&caller)?;
    let unknown = || Refused::unknown("unknown-effect", format!("There is no effect {id}"));
    let number: u64 = id.parse().map_err(|_| unknown())?;
    let _passing = app.answers.passing(&caller.actor().id, wanted.key.as_ref())?;
    let courier = app.runtime.outbox()?.for_request(crate::watch::request_id(), wanted.key);
    let sight = Sight::of(&app, &caller);
    let actor = caller.actor().clone();
    let settled = app.blocking(move |app| {
        if let Some(entry) = app.reads.entry(number)?
            && !sight.sees_entity(&app.reads, &entry.entity)?
        {
            return Err(Refused::unknown("unknown-effect", format!("There is no effect {number}")));
        }
        courier.settle(actor, number, body.fence, body.ok, fields(&body.detail)).map_err(refused)
    });
    match settled.await? {
        Answer::Refused(refusal) => Err((&*refusal).into()),
        Answer::Accepted(accepted) => {
            app.heard(&accepted.entries);
            let seq = accepted.entry().map(|it| it.seq);
            Ok(Json(json!({ "success": true, "id": number, "seq": seq, "replayed": false })))
        }
        Answer::Replayed { first, .. } => {
            Ok(Json(json!({ "success": true, "id": number, "seq": first, "replayed": true })))
        }
    }
}

fn refused(error: OutboxError) -> Refused {
    let text = error.to_string();
    match error {
        OutboxError::Unknown(_) => Refused::unknown("unknown-effect", text),
        OutboxError::Stale { .. } | OutboxError::NotTaken { .. } => {
            Refused::new(StatusCode::CONFLICT, "stale-fence", text)
        }
        OutboxError::Read(error) => error.into(),
    }
}
