//! Ways in for people: links that let a browser in once, and the end of that.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use trackside_engine::actor::ActorKind;
use trackside_engine::command::Command;
use trackside_engine::key::{EntityKey, is_valid_id};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_protocol::{NewLink, Problem, SignInLink};
use utoipa::IntoParams;

use super::carry::submit;
use super::identity::{ended, known_roles, refused};
use super::{Body, KeyUse, Wanted};
use crate::app::{App, OWN};
use crate::auth::{AccessError, COOKIE, Caller, LetIn, Minting, must_be_patient};
use crate::connections::Peer;
use crate::page;
use crate::problem::Refused;

/// How long a signed-in browser stays so.
const SESSION: Span = Span(7 * 24 * 60 * 60 * 1_000);

/// Makes a way in for a person, once.
#[utoipa::path(
    post, path = "/v1/sign-in-links", tag = "identity", operation_id = "createSignInLink",
    params(super::Keyed), request_body = Option<NewLink>,
    responses((status = 201, body = SignInLink), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn link(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    wanted: Wanted,
    Body(body): Body<NewLink>,
) -> Result<Response, Refused> {
    let own = caller.actor();
    let holder = body.actor.clone().unwrap_or_else(|| own.id.to_string());
    let for_itself = *own.id == *holder && body.roles.iter().all(|it| own.has_role(it));
    let is_own = for_itself && own.kind == ActorKind::Human;
    if !is_own && !caller.identity.is_admin() {
        let detail = "Only a person with role admin makes links for others";
        return Err(Refused::forbidden(detail, "human and admin"));
    }
    if !is_valid_id(&holder) || holder == OWN {
        return Err(Refused::shape("actor must be 1 to 128 of letters, digits and `._@-`"));
    }
    known_roles(&app, &body.roles)?;
    let roles: Vec<Name> = match (body.roles.is_empty(), *own.id == *holder) {
        (true, true) => own.roles.to_vec(),
        _ => body.roles.iter().map(|it| Name::new(it)).collect(),
    };
    let used = KeyUse::of(&caller, &wanted, "/v1/sign-in-links", &body);
    let _passing = app.answers.passing(&own.id, wanted.key.as_ref())?;
    // Nobody makes what they have last longer.
    let until = caller.identity.expires.filter(|_| *own.id == *holder);
    let made = app.access.link(Name::new(&holder), &roles, own.id.clone(), until, used.as_ref()).await;
    let (secret, entity) = match made {
        Err(AccessError::Before(entry)) => return Err(super::made_before(&app, entry, made_before).await),
        made => made.map_err(refused)?,
    };
    let host = headers.get(header::HOST).and_then(|it| it.to_str().ok()).unwrap_or("127.0.0.1");
    let expires_at = entity.timers.iter().find_map(|(_, it)| it.ends_at()).map(|it| it.to_string());
    let url = format!("{}://{host}/sign-in?link={}", app.options.scheme(), secret.text);
    let mut response = (StatusCode::CREATED, Json(SignInLink { url, expires_at })).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn made_before(id: &str) -> String {
    format!(
        "The link {id} was made by this request, and shown only then. If it is lost, ask with another key: a link that nobody follows ends by itself"
    )
}

#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Following {
    /// What the link holds.
    #[serde(default)]
    #[param(required = false)]
    link: String,
}

/// Lets a browser in that followed a link, once, and leads it to the page.
#[utoipa::path(
    get, path = "/sign-in", tag = "doors", operation_id = "signIn", security(()), params(Following),
    responses((status = 303, description = "You are let in: a cookie says so from here on."), (status = "4XX", description = "The link is no good: a page for browsers, a problem for programs.", content((Problem = "application/problem+json"), (String = "text/html")))),
)]
pub(crate) async fn sign_in(
    State(app): State<App>,
    peer: Peer,
    headers: HeaderMap,
    Query(following): Query<Following>,
) -> Response {
    let let_in = let_in(&app, peer, &following).await;
    let_in.unwrap_or_else(|it| page::refused(it, &headers, "You are not signed in", NEXT))
}

/// What somebody does whose link is no good.
const NEXT: &str = "<p>Type it where you have a token of yours, or on the machine of the server. \
    Somebody with role admin makes one for a colleague: <code>trackside sign-in NAME</code>.</p>\n\
    <p>A link lets in one browser, once, within 15 minutes. You may be signed in here already: <a href=\"/\">see</a>.</p>";

async fn let_in(app: &App, peer: Peer, following: &Following) -> Result<Response, Refused> {
    must_be_patient(app, peer)?;
    let now = app.reads.now();
    let followed = app.access.follow(&following.link).await.map_err(refused)?;
    let Some(LetIn { holder, roles, until }) = followed.filter(|it| it.until.is_none_or(|end| now < end))
    else {
        return Err(Refused::unauthorized(
            "This link was used, has expired, or is of another server. Ask for a new one: `trackside sign-in`",
        ));
    };
    let expires = until.map_or(now.plus(SESSION), |end| end.min(now.plus(SESSION)));
    let minting = Minting {
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
    let (secret, _) = app.access.mint(minting, None).await.map_err(refused)?;
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

/// Ends the session of the caller.
#[utoipa::path(
    post, path = "/v1/sign-out", tag = "identity", operation_id = "signOut",
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn sign_out(State(app): State<App>, caller: Caller) -> Result<Response, Refused> {
    let key = EntityKey { lifecycle: Name::new(crate::auth::TOKEN), id: caller.identity.token.clone() };
    let fire = Command::fire(caller.actor().clone(), key, "revoke", Default::default());
    let answer = submit(&app, fire).await?;
    ended(&app, &answer).await;
    let mut response = Json(json!({ "success": true }) as Value).into_response();
    let gone = format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    if let Ok(gone) = HeaderValue::from_str(&gone) {
        response.headers_mut().insert(header::SET_COOKIE, gone);
    }
    Ok(response)
}
