//! Replaces tokens before they expire.
//!
//! In two steps, so that a client that crashes in between has a valid token: the client stores the new token first, and
//! then ends the old one with it.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Code;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_protocol::{Problem, Token, TokenMade};

use super::identity::{made_before, refused, token};
use super::{CommandHeaders, run_tokens};
use crate::app::App;
use crate::auth::{AccessError, Caller, TERMINAL, TOKEN, TokenSpec};
use crate::problem::Refused;

/// Creates a token that replaces the caller's: with the same actor, roles and purpose, and a lifetime that starts now.
/// The caller's token stays valid.
#[utoipa::path(
    post, path = "/v1/tokens/rotate", tag = "identity", operation_id = "rotateToken", params(super::KeyHeader),
    responses((status = 201, body = TokenMade), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn rotate(
    State(app): State<App>,
    caller: Caller,
    headers: CommandHeaders,
) -> Result<Response, Refused> {
    // A lifetime limits what a lost token is worth, so only those who may create tokens extend their own.
    caller.must_be_admin("replace a token. Ask an admin for a new one")?;
    let own = record(&app, &caller.identity.token).await?;
    let purpose = match own.fields.text("purpose") {
        Some(TERMINAL) => TERMINAL,
        Some("token") | None => "token",
        Some(_) => {
            let detail = "A browser session cannot be replaced: sign in again with `trackside sign-in`";
            return Err(Refused::forbidden(detail, "a token that lasts"));
        }
    };
    let lifetime = match purpose {
        TERMINAL => app.owner_lifetime(),
        _ => caller.identity.expires.map(|it| it.since(own.created_at)),
    };
    let identity = &caller.identity;
    let spec = TokenSpec {
        holder: identity.actor.id.clone(),
        kind: identity.actor.kind,
        roles: identity.actor.roles.to_vec(),
        on_behalf: identity.on_behalf.clone(),
        purpose,
        note: own.fields.text("note").map(str::to_owned),
        expires: lifetime.map(|it| app.reads.now().plus(it)),
        by: identity.actor.id.clone(),
        minter: Some((identity.actor.kind, identity.token.clone())),
        made_with: None,
        scope: None,
    };
    let (secret, entity) = match app.access.mint(spec, headers.used.as_ref()).await {
        Err(AccessError::Before(entry)) => return Err(super::made_before(&app, entry, made_before).await),
        made => made.map_err(refused)?,
    };
    let made = TokenMade { token: secret.text, shortened: None, details: token(&entity) };
    Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(made)).into_response())
}

/// Ends a token that the caller's token replaces, after the overlap of the setting `replacedLifetime`. Tokens and sessions made with it stay valid while the caller's token is.
#[utoipa::path(
    post, path = "/v1/tokens/{id}/replace", tag = "identity", operation_id = "replaceToken",
    params(("id" = String, Path), super::KeyHeader),
    responses((status = 200, body = Token), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn replace(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Token>, Refused> {
    let (old, new) = (record(&app, &Name::new(&id)).await?, record(&app, &caller.identity.token).await?);
    let is_same = |field: &str| old.fields.text(field) == new.fields.text(field);
    let is_other = !["holder", "kind"].into_iter().all(is_same);
    if is_other && !caller.identity.is_admin() {
        return Err(unknown(&old.key.id));
    }
    if is_other || !is_same("purpose") || old.key == new.key {
        let detail = format!(
            "The token {id} can only be replaced by another token of its holder with the same purpose. Create one with POST /v1/tokens/rotate"
        );
        return Err(Refused::forbidden(detail, "the new token, made with POST /v1/tokens/rotate"));
    }
    let entity = app.access.replace(&old, &new.key.id, app.replaced_lifetime()).await.map_err(refused)?;
    Ok(Json(token(&entity)))
}

/// Lets a run token end an hour from now, because its process still runs. For the token that it was made with, and for admins.
#[utoipa::path(
    post, path = "/v1/tokens/{id}/extend", tag = "identity", operation_id = "extendToken",
    params(("id" = String, Path), super::KeyHeader),
    responses((status = 200, body = Token), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn extend(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Token>, Refused> {
    let found = record(&app, &Name::new(&id)).await?;
    let is_maker = found.fields.text("madeWith") == Some(caller.identity.token.as_str());
    if !is_maker && !caller.identity.is_admin() {
        return Err(unknown(&found.key.id));
    }
    if found.fields.text("purpose") != Some(run_tokens::PURPOSE) {
        let detail = format!("The token {id} is no run token: only those are extended");
        return Err(Refused::forbidden(detail, "the token that created the run token"));
    }
    let ends = run_tokens::ends(&caller, None, app.reads.now());
    let entity = app.access.extend(&found, ends).await.map_err(refused)?;
    Ok(Json(token(&entity)))
}

/// The record of a token.
async fn record(app: &App, id: &Name) -> Result<std::sync::Arc<Entity>, Refused> {
    let key = EntityKey { lifecycle: Name::new(TOKEN), id: id.clone() };
    let found = app.read(move |reads| reads.entity(&key)).await?;
    found.ok_or_else(|| unknown(id))
}

fn unknown(id: &Name) -> Refused {
    Refused::new(Code::UnknownEntity, format!("There is no token {id}"))
}

impl App {
    /// The lifetime of the owner's credential. A project with a manual clock has none: its time does not pass.
    pub(crate) fn owner_lifetime(&self) -> Option<Span> {
        match self.runtime.options().clock.is_manual() {
            true => None,
            false => Some(self.span_setting("ownerLifetime")),
        }
    }

    /// How long a replaced token stays valid.
    pub(crate) fn replaced_lifetime(&self) -> Span {
        self.span_setting("replacedLifetime")
    }
}
