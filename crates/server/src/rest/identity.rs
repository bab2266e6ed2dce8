//! Tokens.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use trackside_engine::actor::{ActorKind, ENGINE, RunScope};
use trackside_engine::command::Command;
use trackside_engine::entity::Entity;
use trackside_engine::key::{EntityKey, is_valid_id};
use trackside_engine::refusal::{Code, Refusal};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value as Sent;
use trackside_protocol::{
    IdentityBody, NewToken, Page, Problem, ProblemCode, ServerIdentity, Token, TokenMade,
};
use trackside_runtime::CommandAnswer;
use trackside_runtime::read::ListQuery;
use utoipa::IntoParams;

use super::commands::{command, submit};
use super::{Body, CommandHeaders, Cursors, Paging, Parameters, run_tokens};
use crate::app::App;
use crate::auth::{AccessError, Caller, TokenSpec, end_derived, resolve_roles};
use crate::connections::CalledAddress;
use crate::problem::Refused;

/// Shows the identity of the caller.
#[utoipa::path(
    get, path = "/v1/whoami", tag = "identity", operation_id = "whoami",
    responses((status = 200, body = IdentityBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn whoami(caller: Caller) -> Json<IdentityBody> {
    let it = &caller.identity;
    Json(IdentityBody {
        actor: it.actor.id.to_string(),
        kind: it.actor.kind.as_str().to_owned(),
        roles: it.actor.roles.iter().map(Name::to_string).collect(),
        acting_for: caller.on_behalf_of.as_ref().map(Name::to_string),
        on_behalf: it.on_behalf.iter().map(Name::to_string).collect(),
        token: it.token.to_string(),
        expires_at: it.expires.map(|it| it.to_string()),
        entity: it.actor.scope.as_ref().map(|it| it.entity.to_string()),
    })
}

#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct NonceQuery {
    /// Random hexadecimal digits of the caller: 32 to 128 of them.
    nonce: String,
}

/// Proves the identity of the server: it signs the caller's nonce, and the address at which it received the request.
#[utoipa::path(
    get, path = "/v1/identity", tag = "identity", operation_id = "serverIdentity", security(()), params(NonceQuery),
    responses((status = 200, body = ServerIdentity), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn server_identity(
    State(app): State<App>,
    CalledAddress(called): CalledAddress,
    Parameters(asked): Parameters<NonceQuery>,
) -> Result<Json<ServerIdentity>, Refused> {
    let is_nonce =
        (32..=128).contains(&asked.nonce.len()) && asked.nonce.bytes().all(|it| it.is_ascii_hexdigit());
    if !is_nonce {
        return Err(Refused::parameter("nonce", "nonce must be 32 to 128 random hexadecimal digits"));
    }
    let listens = app.listens.get().copied();
    let called = called.or(listens).map(|it| it.to_string()).unwrap_or_default();
    let listens = listens.iter().map(ToString::to_string).collect();
    Ok(Json(app.key.prove(&asked.nonce, called, listens)))
}

/// Lists tokens: all of them for an admin; for others their own, and the run tokens they made.
#[utoipa::path(
    get, path = "/v1/tokens", tag = "identity", operation_id = "listTokens", params(Paging),
    responses((status = 200, body = Page<Token>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Parameters(page): Parameters<Paging>,
) -> Result<Json<Page<Token>>, Refused> {
    let (limit, cursors) = (super::limit(page.limit)?, Cursors::of(&["tokens"]));
    let after = cursors.place(page.cursor.as_deref())?;
    let actor = caller.actor().clone();
    let page = app.read(move |reads| {
        let mut query = ListQuery::of(crate::auth::TOKEN, actor);
        (query.limit, query.cursor) = (limit, after);
        let listed = reads.list(&query)?;
        let next_cursor = listed.next_cursor.map(|it| cursors.give(it));
        Ok(Page { items: listed.items.iter().map(|it| token(it)).collect(), next_cursor })
    });
    Ok(Json(page.await?))
}

pub(super) fn token(entity: &Entity) -> Token {
    let text = |name: &str| entity.fields.text(name).map(str::to_owned);
    let list = |name: &str| entity.fields.texts(name).map(str::to_owned).collect();
    Token {
        id: entity.key.id.to_string(),
        actor: text("holder").unwrap_or_default(),
        kind: text("kind").unwrap_or_default(),
        roles: list("roles"),
        on_behalf: list("for"),
        purpose: text("purpose").unwrap_or_default(),
        state: entity.state.to_string(),
        created_at: entity.created_at.to_string(),
        expires_at: entity.fields.get("expires").and_then(Sent::as_time).map(|it| it.to_string()),
        minted_by: text("mintedBy"),
        minted_with: text("mintedWith"),
        made_with: text("madeWith"),
        note: text("note"),
        entity: text("entity"),
        run: text("run"),
    }
}

/// Creates a token. Its text is only in this answer; a repeated request is refused with the token's id.
#[utoipa::path(
    post, path = "/v1/tokens", tag = "identity", operation_id = "createToken", params(super::KeyHeader),
    request_body = NewToken,
    responses((status = 201, body = TokenMade), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: CommandHeaders,
    Body(body): Body<NewToken>,
) -> Result<Response, Refused> {
    let of_person = run_tokens::is_of_person(&app, &caller, &body).await?;
    let spec = spec(&app, &caller, &body, of_person)?;
    let shortened = run_tokens::why_shortened(&spec, &body, app.reads.now());
    app.quotas.charge_record(&caller.identity.actor, &app.limits())?;
    let (secret, entity) = match app.access.mint(spec, headers.used.as_ref()).await {
        Err(AccessError::Before(entry)) => return Err(super::made_before(&app, entry, made_before).await),
        made => made.map_err(refused)?,
    };
    let made = TokenMade { token: secret.text, shortened, details: token(&entity) };
    Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(made)).into_response())
}

pub(super) fn made_before(id: &str) -> String {
    format!(
        "This request created the token {id} before, and its text is shown only once. If you lost it, revoke {id} (`trackside token revoke {id}`) and create another with a new key"
    )
}

/// The entity and the run that a token is limited to.
fn scope_of(app: &App, body: &NewToken) -> Result<Option<RunScope>, Refused> {
    let Some(entity) = &body.entity else {
        return match &body.run {
            Some(_) => Err(Refused::shape("Name the `entity` that the run works on, too")),
            None => Ok(None),
        };
    };
    let Some(key) = EntityKey::parse(entity).filter(|it| is_valid_id(&it.id)) else {
        return Err(Refused::shape(format!("entity must be LIFECYCLE/ID, not `{entity}`")));
    };
    super::lifecycles::newest(&app.runtime.law(), &key.lifecycle)?;
    if body.kind != ActorKind::Agent.as_str() || !body.on_behalf.is_empty() {
        let detail =
            "A token that is limited to an entity is for one agent: kind must be agent, and `for` is omitted";
        return Err(Refused::shape(detail));
    }
    if body.run.as_ref().is_some_and(|it| !is_valid_id(it)) {
        return Err(Refused::shape("run must be the id of a run"));
    }
    Ok(Some(RunScope { entity: key, run: body.run.as_ref().map(|it| Name::new(it)) }))
}

/// The token to create, if the caller may.
fn spec(app: &App, caller: &Caller, body: &NewToken, of_person: bool) -> Result<TokenSpec, Refused> {
    let kind = ActorKind::parse(&body.kind)
        .ok_or_else(|| Refused::shape(format!("kind must be human, agent or system, not `{}`", body.kind)))?;
    let reserved = body.actor == ENGINE;
    if !is_valid_id(&body.actor) || body.actor.contains(':') || reserved {
        let detail = match reserved {
            true => format!("{ENGINE} is the id of the server. Choose another"),
            false => "actor must be 1 to 128 letters, digits and `._@-`".to_owned(),
        };
        return Err(Refused::shape(detail));
    }
    let roles = resolve_roles(&app.runtime.law(), &body.roles)?;
    let lifetime = match &body.lifetime {
        Some(text) => Some(Span::parse(text).filter(|it| it.0 > 0).ok_or_else(|| {
            Refused::shape("lifetime must be a duration such as `90s`, `15m`, `24h` or `7d`")
        })?),
        None => None,
    };
    let names = |all: &[String]| -> Vec<Name> { all.iter().map(|it| Name::new(it)).collect() };
    let mut spec = TokenSpec {
        holder: Name::new(&body.actor),
        kind,
        roles,
        on_behalf: names(&body.on_behalf),
        purpose: "token",
        note: body.note.clone(),
        expires: lifetime.map(|it| app.reads.now().plus(it)),
        by: caller.actor().id.clone(),
        minter: Some((caller.actor().kind, caller.identity.token.clone())),
        made_with: None,
        scope: scope_of(app, body)?,
    };
    if caller.identity.is_admin() {
        return Ok(spec);
    }
    // A supervisor creates short-lived tokens for its agents, with no more roles than it has.
    let unmet = run_tokens::too_much(caller, kind, body, &spec.roles, of_person);
    if unmet.is_empty() {
        spec.expires = Some(run_tokens::ends(caller, lifetime, app.reads.now()));
        spec.purpose = run_tokens::PURPOSE;
        spec.made_with = Some(caller.identity.token.clone());
        return Ok(spec);
    }
    let who = "human and admin, or a supervisor for its agents";
    if caller.identity.on_behalf.is_empty() {
        let detail = "Only a person with role admin may create tokens. A supervisor may create run tokens for the agents that its own token names";
        return Err(Refused::forbidden(detail, who));
    }
    let mut refused = Refused::forbidden("", who);
    refused.0.detail = unmet.iter().map(|it| it.message.as_str()).collect::<Vec<_>>().join(". ");
    refused.0.errors = unmet;
    Err(refused)
}

/// Revokes a token, and everything made with it: run tokens, browser sessions and sign-in links.
#[utoipa::path(
    delete, path = "/v1/tokens/{id}", tag = "identity", operation_id = "revokeToken", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn revoke(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: CommandHeaders,
) -> Result<StatusCode, Refused> {
    let key = EntityKey::new(crate::auth::TOKEN, id.as_str());
    let fire = Command::fire(caller.actor().clone(), key, "revoke", Default::default());
    match submit(&app, command(&caller, &headers, fire.ask, None)).await? {
        // Revoking twice succeeds.
        CommandAnswer::Refused(refusal) if refusal.code != Code::FinalState => Err((&*refusal).into()),
        answer => {
            ended(&app, &answer).await;
            end_derived(&app, &id).await?;
            Ok(StatusCode::NO_CONTENT)
        }
    }
}

/// Updates the list of people. The token is revoked even if that fails now; it is retried.
pub(super) async fn ended(app: &App, answer: &CommandAnswer) {
    if let CommandAnswer::Accepted(accepted) = answer
        && let Some(token) = &accepted.entity
    {
        app.access.has_ended(token).await.ok();
    }
}

/// The problem for an error with tokens or links.
pub(super) fn refused(error: AccessError) -> Refused {
    match error {
        AccessError::Failure(failure) => failure.into(),
        AccessError::NoRandomness => Refused::broken(error),
        AccessError::Before(_) => Refused::new(ProblemCode::MadeBefore, error.to_string()),
        AccessError::KeyUsed(key) => (&Refusal::key_used(&key)).into(),
        AccessError::Refused(why) => Refused::new(ProblemCode::InvalidToken, why),
    }
}
