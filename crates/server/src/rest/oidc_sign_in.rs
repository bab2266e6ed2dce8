//! Sign-in of people in a browser with an OpenID provider.

use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use trackside_engine::actor::ActorKind;
use trackside_lifecycle::time::Span;
use trackside_protocol::ProblemCode;

use super::identity::refused;
use super::sign_in::return_path;
use crate::app::App;
use crate::auth::{
    FailedCredential, OIDC, SecureTransport, TokenSpec, cookie, limit_unknown_tokens, resolve_roles,
};
use crate::connections::Peer;
use crate::page::{self, PAGE};
use crate::problem::Refused;
use crate::sign_on::Oidc;

/// Begins a sign-in.
pub(crate) const START: &str = "/sign-in/oidc";
/// The address to which the provider sends the browser back.
pub(crate) const CALLBACK: &str = "/sign-in/oidc/callback";
/// The lifetime of a session. Then the provider is asked again.
pub(crate) const OIDC_SESSION_LASTS: Span = Span(12 * 60 * 60 * 1_000);
/// Seconds that a sign-in at the provider may take.
const UNDER_WAY: i64 = 10 * 60;
const TITLE: &str = "You are not signed in";
const NEXT: &str = "<p><a href=\"/sign-in/oidc\">Try again</a></p>";

fn provider(app: &App) -> Result<&Oidc, Refused> {
    app.oidc.as_ref().ok_or_else(|| {
        Refused::new(
            ProblemCode::UnknownRoute,
            "This server has no OpenID provider: an operator sets one with --oidc-issuer. Sign in with `trackside sign-in`",
        )
    })
}

/// Sends the browser to the provider.
pub(crate) async fn start(
    State(app): State<App>,
    peer: Peer,
    secure: SecureTransport,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let begun = begin(&app, peer, secure, &headers, &uri).await;
    begun.unwrap_or_else(|it| page::refused(it, &headers, TITLE, NEXT))
}

async fn begin(
    app: &App,
    peer: Peer,
    secure: SecureTransport,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<Response, Refused> {
    let oidc = provider(app)?;
    limit_unknown_tokens(app, peer).await?;
    let host = headers.get(header::HOST).and_then(|it| it.to_str().ok());
    let host = host.or_else(|| uri.authority().map(|it| it.as_str())).unwrap_or("127.0.0.1");
    let redirect = format!("{}://{host}{CALLBACK}", secure.scheme());
    let start = oidc.begin(redirect).await.map_err(|why| {
        tracing::warn!(why, "the OpenID provider cannot be used");
        Refused::unauthorized("The OpenID provider cannot be reached. The reason is in the server's log")
    })?;
    let mut response = Redirect::to(&start.url).into_response();
    // Lax: the provider's page sends the browser back.
    let cookie = secure.set(&secure.oidc_name(app), &start.browser, "Lax", UNDER_WAY);
    set_cookie(&mut response, &cookie);
    Ok(response)
}

/// The answer of the provider. Other parameters are ignored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OidcAnswer {
    state: String,
    code: String,
    error: Option<String>,
}

/// Completes the sign-in, and starts a session.
pub(crate) async fn callback(
    State(app): State<App>,
    peer: Peer,
    secure: SecureTransport,
    headers: HeaderMap,
    Query(answer): Query<OidcAnswer>,
) -> Response {
    let completed = complete(&app, peer, secure, &headers, &answer).await;
    completed.unwrap_or_else(|it| page::refused(it, &headers, TITLE, NEXT))
}

async fn complete(
    app: &App,
    peer: Peer,
    secure: SecureTransport,
    headers: &HeaderMap,
    answer: &OidcAnswer,
) -> Result<Response, Refused> {
    let oidc = provider(app)?;
    limit_unknown_tokens(app, peer).await?;
    let now = app.reads.now();
    let failed = |why: &str| {
        app.failed_sign_ins.note(peer, FailedCredential::Oidc, now);
        tracing::warn!(why, "a sign-in with the OpenID provider failed");
        Refused::unauthorized(&format!("You are not signed in: {why}"))
    };
    if answer.error.is_some() {
        return Err(failed("the provider refused the sign-in"));
    }
    let name = secure.oidc_name(app);
    let person = oidc.complete(&answer.state, &answer.code, cookie(headers, &name)).await;
    let person = person.map_err(|why| failed(&why))?;
    let spec = TokenSpec {
        holder: person.id.clone(),
        kind: ActorKind::Human,
        roles: resolve_roles(&app.runtime.law(), &person.roles)?,
        on_behalf: Vec::new(),
        purpose: OIDC,
        note: None,
        expires: Some(now.plus(OIDC_SESSION_LASTS)),
        by: person.id.clone(),
        minter: None,
        made_with: None,
        scope: None,
    };
    let (secret, _) = app.access.mint(spec, None).await.map_err(refused)?;
    // Not a redirect: browsers do not send a strict cookie on one that began at another site.
    let to = return_path(app, secure, headers);
    let text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url={to}\"><title>Trackside</title></head>\n<body><p>You are signed in. <a href=\"{to}\">Continue</a></p></body></html>\n"
    );
    let mut response = text.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(PAGE));
    let seconds = OIDC_SESSION_LASTS.0 / 1_000;
    set_cookie(&mut response, &secure.set(&secure.session_name(app), &secret.text, "Strict", seconds));
    set_cookie(&mut response, &secure.set(&name, "", "Lax", 0));
    set_cookie(&mut response, &secure.set(&secure.return_name(app), "", "Lax", 0));
    Ok(response)
}

/// Adds a cookie to a response.
pub(super) fn set_cookie(response: &mut Response, cookie: &str) {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}
