//! Browser sessions: sign-in links and sign-out.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use trackside_engine::actor::{ActorKind, ENGINE};
use trackside_engine::command::Command;
use trackside_engine::key::{EntityKey, is_valid_id};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_protocol::{NewLink, Problem, SignInLink, Success};
use utoipa::IntoParams;

use super::commands::submit;
use super::decision_form::DECIDE;
use super::identity::{ended, refused};
use super::oidc_sign_in::set_cookie;
use super::{Body, CommandHeaders};
use crate::app::App;
use crate::auth::{
    AccessError, Caller, FailedCredential, LinkGrant, LinkSpec, SESSION, SecureTransport, TokenSpec, cookie,
    end_derived, limit_unknown_tokens, resolve_roles,
};
use crate::connections::Peer;
use crate::page;
use crate::problem::Refused;

/// The lifetime of a session.
const SESSION_LASTS: Span = Span(7 * 24 * 60 * 60 * 1_000);

/// Creates a sign-in link that works once.
#[utoipa::path(
    post, path = "/v1/sign-in-links", tag = "identity", operation_id = "createSignInLink",
    params(super::KeyHeader), request_body = Option<NewLink>,
    responses((status = 201, body = SignInLink), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn link(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    secure: SecureTransport,
    key: CommandHeaders,
    Body(body): Body<NewLink>,
) -> Result<Response, Refused> {
    let own = caller.actor();
    let roles = resolve_roles(&app.runtime.law(), &body.roles)?;
    let holder = body.actor.clone().unwrap_or_else(|| own.id.to_string());
    let for_itself = *own.id == *holder && roles.iter().all(|it| own.roles.contains(it));
    let is_own = for_itself && own.kind == ActorKind::Human;
    if !is_own && !caller.identity.is_admin() {
        let detail = "Only a person with role admin may create links for others";
        return Err(Refused::forbidden(detail, "human and admin"));
    }
    if !is_valid_id(&holder) || holder == ENGINE {
        return Err(Refused::shape("actor must be 1 to 128 letters, digits and `._@-`"));
    }
    let roles = match (roles.is_empty(), *own.id == *holder) {
        (true, true) => own.roles.to_vec(),
        _ => roles,
    };
    let spec = LinkSpec {
        holder: Name::new(&holder),
        roles,
        by: own.id.clone(),
        // The link and its session end with the caller's token.
        until: caller.identity.expires,
        made_with: Some(caller.identity.token.clone()),
    };
    app.quotas.charge_record(&caller.identity.actor, &app.limits())?;
    let made = app.access.link(spec, key.used.as_ref()).await;
    let (secret, entity) = match made {
        Err(AccessError::Before(entry)) => return Err(super::made_before(&app, entry, made_before).await),
        made => made.map_err(refused)?,
    };
    let host = headers.get(header::HOST).and_then(|it| it.to_str().ok()).unwrap_or("127.0.0.1");
    let expires_at = entity.timers.iter().find_map(|(_, it)| it.ends_at()).map(|it| it.to_string());
    let url = format!("{}://{host}/sign-in?link={}", secure.scheme(), secret.text);
    let link = Json(SignInLink { url, expires_at });
    Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], link).into_response())
}

fn made_before(id: &str) -> String {
    format!(
        "This request created the link {id} before, and it is shown only once. If you lost it, create another with a new key. Unused links expire"
    )
}

#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SignInQuery {
    /// The secret of the link.
    #[serde(default)]
    #[param(required = false)]
    link: String,
}

/// Uses a sign-in link: sets the session cookie and redirects to the home page.
#[utoipa::path(
    get, path = "/sign-in", tag = "doors", operation_id = "signIn", security(()), params(SignInQuery),
    responses((status = 303, description = "Signed in: sets the session cookie."), (status = "4XX", description = "The link is not valid: a page for browsers, a problem for programs.", content((Problem = "application/problem+json"), (String = "text/html")))),
)]
pub(crate) async fn sign_in(
    State(app): State<App>,
    peer: Peer,
    secure: SecureTransport,
    headers: HeaderMap,
    Query(following): Query<SignInQuery>,
) -> Response {
    let let_in = follow_link(&app, peer, secure, &headers, &following).await;
    let_in.unwrap_or_else(|it| page::refused(it, &headers, "You are not signed in", NEXT))
}

/// The advice for an invalid link.
const NEXT: &str = "<p>Run it where you have a token, or on the server's machine. An admin can create a link for a colleague: <code>trackside sign-in NAME</code>.</p>\n\
    <p>A link works once, within 15 minutes. You may already be signed in: <a href=\"/\">check</a>.</p>";

async fn follow_link(
    app: &App,
    peer: Peer,
    secure: SecureTransport,
    headers: &HeaderMap,
    following: &SignInQuery,
) -> Result<Response, Refused> {
    let now = app.reads.now();
    let failed = || app.failed_sign_ins.note(peer, FailedCredential::Link, now);
    let followed = app.access.follow(&following.link).await.map_err(refused)?;
    let Some(LinkGrant { holder, roles, until, made_with }) =
        followed.filter(|it| it.until.is_none_or(|end| now < end))
    else {
        failed();
        limit_unknown_tokens(app, peer).await?;
        return Err(Refused::unauthorized(
            "This link was used, has expired, or belongs to another server. Get a new one: `trackside sign-in`",
        ));
    };
    let expires = until.map_or(now.plus(SESSION_LASTS), |end| end.min(now.plus(SESSION_LASTS)));
    let spec = TokenSpec {
        holder: holder.clone(),
        kind: ActorKind::Human,
        roles,
        on_behalf: Vec::new(),
        purpose: SESSION,
        note: None,
        expires: Some(expires),
        by: holder.clone(),
        minter: None,
        made_with,
        scope: None,
    };
    let (secret, _) = app.access.mint(spec, None).await.map_err(refused)?;
    let lasts = expires.since(now).0 / 1_000;
    let mut response = Redirect::to(&return_path(app, secure, headers)).into_response();
    set_cookie(&mut response, &secure.set(&secure.session_name(app), &secret.text, "Strict", lasts));
    set_cookie(&mut response, &secure.set(&secure.return_name(app), "", "Lax", 0));
    Ok(response)
}

/// The page that a browser asked for before it was signed in: only one of those that ask people to decide.
pub(super) fn return_path(app: &App, secure: SecureTransport, headers: &HeaderMap) -> String {
    let wanted = cookie(headers, &secure.return_name(app)).unwrap_or_default();
    let is_number = |it: &str| it.len() < 20 && it.bytes().all(|it| it.is_ascii_digit());
    match wanted.strip_prefix(DECIDE).map(|it| it.strip_prefix('/').unwrap_or(it)) {
        Some(number) if is_number(number) => wanted.to_owned(),
        _ => "/".to_owned(),
    }
}

/// Signs the caller out.
#[utoipa::path(
    post, path = "/v1/sign-out", tag = "identity", operation_id = "signOut",
    responses((status = 200, body = Success), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn sign_out(
    State(app): State<App>,
    caller: Caller,
    secure: SecureTransport,
) -> Result<Response, Refused> {
    let key = EntityKey { lifecycle: Name::new(crate::auth::TOKEN), id: caller.identity.token.clone() };
    let fire = Command::fire(caller.actor().clone(), key, "revoke", Default::default());
    let answer = submit(&app, fire).await?;
    ended(&app, &answer).await;
    end_derived(&app, &caller.identity.token).await?;
    let mut response = Json(Success { success: true }).into_response();
    set_cookie(&mut response, &secure.set(&secure.session_name(&app), "", "Strict", 0));
    Ok(response)
}
