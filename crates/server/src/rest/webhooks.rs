//! Webhooks: create, list, remove, deliveries and replays.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::entity::Entity;
use trackside_engine::event::EventKind;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Code;
use trackside_lifecycle::guard::{did_you_mean, nearest};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;
use trackside_protocol::{
    NewWebhook, Page, Problem, ProblemCode, ReplayWebhook, Webhook, WebhookDelivery, WebhookMade,
    WebhookReplayed,
};
use trackside_runtime::CommandAnswer;
use trackside_runtime::read::ListQuery;
use utoipa::IntoParams;

use super::commands::{command, submit};
use super::{Body, CommandHeaders, Cursors, Paging, Parameters, entity_of, journalled, under};
use crate::app::App;
use crate::auth::{AccessError, Caller, Secret, TERMINAL};
use crate::events::AudienceFilter;
use crate::problem::Refused;
use crate::webhooks::{Delivery, DeliveryState, MOST_WEBHOOKS, WEBHOOK, WebhookTarget, Webhooks, open_ones};

/// Lists webhooks: all of them for an admin, for others their own.
#[utoipa::path(
    get, path = "/v1/webhooks", tag = "webhooks", operation_id = "listWebhooks", params(Paging),
    responses((status = 200, body = Page<Webhook>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Parameters(page): Parameters<Paging>,
) -> Result<Json<Page<Webhook>>, Refused> {
    let (limit, cursors) = (super::limit(page.limit)?, Cursors::of(&["webhooks"]));
    let mut query = ListQuery::of(WEBHOOK, caller.actor().clone());
    (query.limit, query.cursor) = (limit, cursors.place(page.cursor.as_deref())?);
    let life = app.runtime.law().newest(&Name::new(WEBHOOK)).cloned();
    let open = life.iter().flat_map(|it| &it.states).filter(|it| !it.last);
    query.states = open.map(|it| it.name.clone()).collect();
    let listed = app.read(move |reads| reads.list(&query)).await?;
    let page = app.blocking(move |app| {
        let items = listed.items.iter().map(|it| webhook_body(app, it)).collect::<Result<_, _>>()?;
        Ok(Page { items, next_cursor: listed.next_cursor.map(|it| cursors.give(it)) })
    });
    Ok(Json(page.await?))
}

/// Creates a webhook. The signing secret is only in this answer, and in the answer to a repeated request with the
/// same key.
#[utoipa::path(
    post, path = "/v1/webhooks", tag = "webhooks", operation_id = "createWebhook", params(super::KeyHeader),
    request_body = NewWebhook,
    responses((status = 201, body = WebhookMade), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: CommandHeaders,
    Body(body): Body<NewWebhook>,
) -> Result<Response, Refused> {
    if caller.actor().kind == ActorKind::Agent {
        let detail = "Only people and systems may create webhooks. Agents can follow GET /v1/events";
        return Err(Refused::forbidden(detail, "human or system"));
    }
    check_token_lasts(&app, &caller).await?;
    let fields = wanted_fields(&app, &caller, &body)?;
    app.quotas.charge_record(&caller.identity.actor, &app.limits())?;
    let used = headers.used.as_ref();
    if let Some(used) = used
        && let Some((first, _, root)) = journalled(&app, used).await?
    {
        return made_before(&app, first + u64::from(root)).await;
    }
    if open_ones(&app).await?.len() >= MOST_WEBHOOKS {
        let detail = format!("There are {MOST_WEBHOOKS} webhooks, which is the limit: remove one first");
        return Err(Refused::new(ProblemCode::TooManyWebhooks, detail));
    }
    let secret = Secret::new(None).ok_or_else(|| Refused::broken(AccessError::NoRandomness))?;
    let entity = EntityKey::new(WEBHOOK, secret.id.as_str());
    let webhook = entity.id.clone();
    let begun = app.blocking(move |app| {
        // Both before the webhook exists: its courier starts with the commit that creates it, needs the key, and must
        // not miss an entry, even if the server is killed in between.
        app.webhooks.secret_of(&webhook).map_err(Refused::broken)?;
        app.webhooks.ledger.begin(&webhook, app.reads.seq()).map_err(Refused::broken)
    });
    begun.await?;
    let webhook = entity.id.clone();
    let mut ask = Command::new(Actor::engine(), Ask::Create { entity, fields });
    ask.on_behalf_of = Some(caller.actor().id.clone());
    let other: Result<u64, Refused> = match submit(&app, under(used, None, ask)).await? {
        CommandAnswer::Accepted(accepted) => {
            let entity =
                accepted.entity.ok_or_else(|| Refused::broken("a webhook was made and is not there"));
            return webhook_made(&app, entity?, false).await;
        }
        CommandAnswer::Refused(refusal) => Err((&*refusal).into()),
        // The same request may run twice at the same time.
        CommandAnswer::Replayed { first, root, .. } => Ok(first + u64::from(root)),
    };
    app.blocking(move |app| app.webhooks.ledger.forget(&webhook).map_err(Refused::broken)).await?;
    made_before(&app, other?).await
}

/// The webhook that the same request created before.
async fn made_before(app: &App, entry: u64) -> Result<Response, Refused> {
    let key = entity_of(app, entry).await?;
    let gone = Refused::new(Code::UnknownEntity, format!("There is no webhook {}: it was removed", key.id));
    let entity = app.read(move |reads| reads.entity(&key)).await?;
    webhook_made(app, entity.ok_or(gone)?, true).await
}

/// The answer for a created webhook, with its signing secret.
async fn webhook_made(app: &App, entity: Arc<Entity>, replayed: bool) -> Result<Response, Refused> {
    let place = HeaderValue::from_str(&format!("/v1/webhooks/{}", entity.key.id));
    let made = app.blocking(move |app| {
        let secret = app.webhooks.secret_of(&entity.key.id).map_err(Refused::broken)?;
        Ok(WebhookMade { secret, details: webhook_body(app, &entity)?, replayed })
    });
    let no_store = [(header::CACHE_CONTROL, "no-store")];
    let mut response = (StatusCode::CREATED, no_store, Json(made.await?)).into_response();
    if let Ok(place) = place {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// Refuses tokens of browsers and runs: a webhook ends with its token, and those end too soon.
async fn check_token_lasts(app: &App, caller: &Caller) -> Result<(), Refused> {
    let key = EntityKey { lifecycle: Name::new(crate::auth::TOKEN), id: caller.identity.token.clone() };
    let token = app.read(move |reads| reads.entity(&key)).await?;
    let purpose = token.as_ref().and_then(|it| it.fields.get("purpose")).and_then(Value::as_str);
    if matches!(purpose, Some("token" | TERMINAL)) {
        return Ok(());
    }
    let detail = "A webhook ends with the token it is made with, so it cannot be made with a browser session or a run token. Create a token with `trackside token create`";
    Err(Refused::forbidden(detail, "a token that lasts"))
}

/// The fields of the webhook, if the request is valid.
fn wanted_fields(app: &App, caller: &Caller, body: &NewWebhook) -> Result<Fields, Refused> {
    let wrong = |field: &str, detail: String| {
        let mut refused = Refused::new(ProblemCode::InvalidWebhook, detail);
        if let Some(unmet) = refused.0.errors.first_mut() {
            unmet.field = Some(field.to_owned());
        }
        refused
    };
    if let Err(why) = WebhookTarget::parse(&body.url, app.options.webhooks.allow_private) {
        return Err(wrong("url", format!("The URL cannot be used: {why}")));
    }
    let law = app.runtime.law();
    for name in &body.lifecycles {
        let is_pack = law.pack(name).is_some();
        if !is_pack && law.newest(&Name::new(name)).is_none() {
            let known = law.lifecycle_names().iter().chain(law.packs().map(|it| &it.name));
            let hint = did_you_mean(name, known.map(Name::as_str));
            let detail = format!("There is no lifecycle and no pack {name}{hint}");
            return Err(wrong("lifecycles", detail));
        }
    }
    if let Some(name) = body.events.iter().find(|it| EventKind::parse(it).is_none()) {
        let kinds: Vec<&str> = EventKind::ALL.iter().map(|it| it.as_str()).collect();
        let near = nearest(name, kinds.iter().copied()).map(|it| format!(" Did you mean {it}?"));
        let near = near.unwrap_or_default();
        let detail = format!("Unknown event kind {name}.{near} Known: {}", kinds.join(", "));
        return Err(wrong("events", detail));
    }
    AudienceFilter::parse(app, body.audience.as_deref()).map_err(|detail| wrong("audience", detail))?;
    let audience = body.audience.as_deref().unwrap_or(AudienceFilter::CHANGES);
    let list = |all: &[String]| Value::list(all.iter().map(|it| Value::text(it)).collect());
    let mut fields = vec![
        ("holder", Value::from(&caller.actor().id)),
        ("holderKind", Value::text(caller.actor().kind.as_str())),
        ("token", Value::from(&caller.identity.token)),
        ("url", Value::text(&body.url)),
        ("lifecycles", list(&body.lifecycles)),
        ("events", list(&body.events)),
        ("audience", Value::text(audience)),
    ];
    if let Some(on_behalf_of) = &caller.on_behalf_of {
        fields.push(("for", Value::from(on_behalf_of)));
    }
    if let Some(note) = &body.note {
        fields.push(("note", Value::text(note)));
    }
    Ok(fields.into_iter().collect())
}

/// Shows a webhook.
#[utoipa::path(
    get, path = "/v1/webhooks/{id}", tag = "webhooks", operation_id = "webhook", params(("id" = String, Path)),
    responses((status = 200, body = Webhook), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Webhook>, Refused> {
    let entity = find(&app, &caller, &id).await?;
    Ok(Json(app.blocking(move |app| webhook_body(app, &entity)).await?))
}

/// Removes a webhook.
#[utoipa::path(
    delete, path = "/v1/webhooks/{id}", tag = "webhooks", operation_id = "removeWebhook", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: CommandHeaders,
) -> Result<StatusCode, Refused> {
    let entity = find(&app, &caller, &id).await?;
    let fire = Command::fire(caller.actor().clone(), entity.key.clone(), "remove", Default::default());
    match submit(&app, command(&caller, &headers, fire.ask, None)).await? {
        CommandAnswer::Refused(refusal) => Err((&*refusal).into()),
        CommandAnswer::Accepted(_) | CommandAnswer::Replayed { .. } => Ok(StatusCode::NO_CONTENT),
    }
}

/// Parameters of the list of deliveries.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeliveriesQuery {
    /// Only `delivered`, `failing`, `dead` or `queued` ones.
    state: Option<String>,
    /// Page size: 50 by default, 200 at most.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    cursor: Option<String>,
}

/// Lists deliveries in journal order: the last 200 that succeeded, and all others.
#[utoipa::path(
    get, path = "/v1/webhooks/{id}/deliveries", tag = "webhooks", operation_id = "webhookDeliveries",
    params(("id" = String, Path), DeliveriesQuery),
    responses((status = 200, body = Page<WebhookDelivery>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn deliveries(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Parameters(which): Parameters<DeliveriesQuery>,
) -> Result<Json<Page<WebhookDelivery>>, Refused> {
    let state = match which.state.as_deref() {
        None => None,
        Some(text) => Some(DeliveryState::parse(text).ok_or_else(|| {
            let detail = format!("state is `delivered`, `failing`, `dead` or `queued`, not `{text}`");
            Refused::parameter("state", detail)
        })?),
    };
    let most = super::page_size(which.limit)?;
    let cursors = Cursors::of(&["webhooks", &id, "deliveries"]);
    let after = cursors.after(which.cursor.as_deref())?;
    find(&app, &caller, &id).await?;
    let page = app.blocking(move |app| {
        let found = app.webhooks.ledger.deliveries(&id, state, after, most + 1);
        let mut found = found.map_err(Refused::broken)?;
        let more = found.len() > most;
        found.truncate(most);
        let next_cursor = found.last().filter(|_| more).map(|it| cursors.give(it.seq));
        Ok(Page { items: found.iter().map(|it| delivery(&id, it)).collect(), next_cursor })
    });
    Ok(Json(page.await?))
}

/// Retries dead letters, and failing deliveries at once. Turns a webhook that is off on.
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/replay", tag = "webhooks", operation_id = "replayWebhook",
    params(("id" = String, Path), super::KeyHeader), request_body = Option<ReplayWebhook>,
    responses((status = 200, body = WebhookReplayed), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn replay(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Body(body): Body<ReplayWebhook>,
) -> Result<Json<WebhookReplayed>, Refused> {
    sent_again(&app, &caller, &id, body).await.map(Json)
}

async fn sent_again(
    app: &App,
    caller: &Caller,
    id: &str,
    body: ReplayWebhook,
) -> Result<WebhookReplayed, Refused> {
    let entity = find(app, caller, id).await?;
    let end = app.reads.seq();
    if let Some(beyond) = body.seqs.iter().find(|it| **it > end) {
        let detail = format!(
            "There is no entry {beyond} yet: the journal ends with {end}. List failed deliveries with /v1/webhooks/{id}/deliveries?state=dead"
        );
        return Err(Refused::new(ProblemCode::BeyondTheEnd, detail));
    }
    let mut enabled = false;
    if entity.fields.get("why").is_some_and(|it| !it.is_null()) {
        let fire = Command::fire(caller.actor().clone(), entity.key.clone(), "enable", Default::default());
        match submit(app, command(caller, &CommandHeaders::default(), fire.ask, None)).await? {
            CommandAnswer::Refused(refusal) => return Err((&*refusal).into()),
            _ => enabled = true,
        }
    }
    let webhook = id.to_owned();
    let replay = app.blocking(move |app| {
        let only = Some(body.seqs.as_slice()).filter(|it| !it.is_empty());
        app.webhooks.ledger.replay(&webhook, only).map_err(Refused::broken)
    });
    let (queued, passed_over) = replay.await?;
    Webhooks::start_or_wake(app, &entity.key.id);
    Ok(WebhookReplayed { success: true, queued, passed_over, enabled })
}

/// A webhook that is not removed, if the caller may see it.
async fn find(app: &App, caller: &Caller, id: &str) -> Result<Arc<Entity>, Refused> {
    let (key, actor) = (EntityKey::new(WEBHOOK, id), caller.actor().clone());
    let found = app.read(move |reads| reads.readable(&key, &actor)).await?;
    match app.access.is_open(&found) {
        true => Ok(found),
        false => Err(Refused::new(Code::UnknownEntity, format!("There is no webhook {id}: it was removed"))),
    }
}

fn webhook_body(app: &App, entity: &Entity) -> Result<Webhook, Refused> {
    let text = |name: &str| entity.fields.text(name).map(str::to_owned);
    let list = |name: &str| entity.fields.texts(name).map(str::to_owned).collect();
    let (id, ledger) = (entity.key.id.to_string(), &app.webhooks.ledger);
    let cursor = ledger.cursor(&id).map_err(Refused::broken)?.unwrap_or(0);
    let dead = ledger.count(&id, DeliveryState::Dead).map_err(Refused::broken)?;
    let why = text("why");
    Ok(Webhook {
        url: text("url").unwrap_or_default(),
        lifecycles: list("lifecycles"),
        events: list("events"),
        audience: text("audience").unwrap_or_default(),
        note: text("note"),
        holder: text("holder").unwrap_or_default(),
        state: entity.state.to_string(),
        sends: why.is_none() && app.access.is_open(entity),
        why,
        created_at: entity.created_at.to_string(),
        cursor,
        dead,
        id,
    })
}

fn delivery(webhook: &str, it: &Delivery) -> WebhookDelivery {
    let moment = |ms: u64| Timestamp(i64::try_from(ms).unwrap_or(i64::MAX)).to_string();
    WebhookDelivery {
        seq: it.seq,
        message_id: format!("msg_{webhook}_{}", it.seq),
        state: it.state.as_str().to_owned(),
        attempts: it.attempts,
        status: it.status,
        why: it.why.clone(),
        at: moment(it.at),
        next_at: it.next_at.map(moment),
    }
}
