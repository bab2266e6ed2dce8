//! Browser sessions: sign-in links and sign-out.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
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
use super::identity::{ended, known_roles, refused};
use super::{Body, CommandHeaders};
use crate::app::App;
use crate::auth::{AccessError, COOKIE, Caller, LinkGrant, TokenSpec, limit_unknown_tokens};
use crate::connections::Peer;
use crate::page;
use crate::problem::Refused;

/// The lifetime of a session.
const SESSION: Span = Span(7 * 24 * 60 * 60 * 1_000);

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
    key: CommandHeaders,
    Body(body): Body<NewLink>,
) -> Result<Response, Refused> {
    let own = caller.actor();
    let holder = body.actor.clone().unwrap_or_else(|| own.id.to_string());
    let for_itself = *own.id == *holder && body.roles.iter().all(|it| own.has_role(it));
    let is_own = for_itself && own.kind == ActorKind::Human;
    if !is_own && !caller.identity.is_admin() {
        let detail = "Only a person with role admin may create links for others";
        return Err(Refused::forbidden(detail, "human and admin"));
    }
    if !is_valid_id(&holder) || holder == ENGINE {
        return Err(Refused::shape("actor must be 1 to 128 letters, digits and `._@-`"));
    }
    known_roles(&app, &body.roles)?;
    let roles: Vec<Name> = match (body.roles.is_empty(), *own.id == *holder) {
        (true, true) => own.roles.to_vec(),
        _ => body.roles.iter().map(|it| Name::new(it)).collect(),
    };
    // A session must not outlast the caller's own token.
    let until = caller.identity.expires.filter(|_| *own.id == *holder);
    let made = app.access.link(Name::new(&holder), &roles, own.id.clone(), until, key.used.as_ref()).await;
    let (secret, entity) = match made {
        Err(AccessError::Before(entry)) => return Err(super::made_before(&app, entry, made_before).await),
        made => made.map_err(refused)?,
    };
    let host = headers.get(header::HOST).and_then(|it| it.to_str().ok()).unwrap_or("127.0.0.1");
    let expires_at = entity.timers.iter().find_map(|(_, it)| it.ends_at()).map(|it| it.to_string());
    let url = format!("{}://{host}/sign-in?link={}", app.options.scheme(), secret.text);
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
    headers: HeaderMap,
    Query(following): Query<SignInQuery>,
) -> Response {
    let let_in = follow_link(&app, peer, &following).await;
    let_in.unwrap_or_else(|it| page::refused(it, &headers, "You are not signed in", NEXT))
}

/// The advice for an invalid link.
const NEXT: &str = "<p>Run it where you have a token, or on the server's machine. An admin can create a link for a colleague: <code>trackside sign-in NAME</code>.</p>\n\
    <p>A link works once, within 15 minutes. You may already be signed in: <a href=\"/\">check</a>.</p>";

async fn follow_link(app: &App, peer: Peer, following: &SignInQuery) -> Result<Response, Refused> {
    let now = app.reads.now();
    let followed = app.access.follow(&following.link).await.map_err(refused)?;
    let Some(LinkGrant { holder, roles, until }) = followed.filter(|it| it.until.is_none_or(|end| now < end))
    else {
        limit_unknown_tokens(app, peer).await?;
        return Err(Refused::unauthorized(
            "This link was used, has expired, or belongs to another server. Get a new one: `trackside sign-in`",
        ));
    };
    let expires = until.map_or(now.plus(SESSION), |end| end.min(now.plus(SESSION)));
    let spec = TokenSpec {
        holder: holder.clone(),
        kind: ActorKind::Human,
        roles,
        on_behalf: Vec::new(),
        purpose: "session",
        note: None,
        expires: Some(expires),
        by: holder.clone(),
        made_with: None,
    };
    let (secret, _) = app.access.mint(spec, None).await.map_err(refused)?;
    let secure = if app.options.tls.is_some() { "; Secure" } else { "" };
    let lasts = expires.since(now).0 / 1_000;
    let cookie =
        format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={lasts}{secure}", secret.text);
    let mut response = Redirect::to("/").into_response();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Signs the caller out.
#[utoipa::path(
    post, path = "/v1/sign-out", tag = "identity", operation_id = "signOut",
    responses((status = 200, body = Success), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn sign_out(State(app): State<App>, caller: Caller) -> Result<Response, Refused> {
    let key = EntityKey { lifecycle: Name::new(crate::auth::TOKEN), id: caller.identity.token.clone() };
    let fire = Command::fire(caller.actor().clone(), key, "revoke", Default::default());
    let answer = submit(&app, fire).await?;
    ended(&app, &answer).await;
    let mut response = Json(Success { success: true }).into_response();
    let gone = format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    if let Ok(gone) = HeaderValue::from_str(&gone) {
        response.headers_mut().insert(header::SET_COOKIE, gone);
    }
    Ok(response)
}
