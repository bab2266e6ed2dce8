//! The caller: who sent a request, from its token or cookie.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Method, header};
use trackside_engine::actor::{Actor, ActorKind, ENGINE};
use trackside_engine::key::is_valid_id;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_protocol::ProblemCode;
use trackside_runtime::Requester;

use super::Identity;
use super::access::{PROXY, TokenSpec};
use super::cookies::{SecureTransport, cookie};
use super::failed_sign_ins::FailedCredential;
use super::roles::resolve;
use crate::app::App;
use crate::connections::Peer;
use crate::problem::Refused;
use crate::quotas::body_length;
use crate::sign_on::Forwarded;
use crate::telemetry::request_id;

/// The lifetime of the session of a person that the reverse proxy authenticated.
const PROXY_SESSION_LASTS: Span = Span(12 * 60 * 60 * 1_000);

/// The time before the answer to an unknown token beyond the rate.
const DELAY: Duration = Duration::from_millis(250);

/// The sender of a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub identity: Arc<Identity>,
    /// The id it acts for, if any.
    pub on_behalf_of: Option<Name>,
    actor: Actor,
}

impl Caller {
    pub fn new(identity: Arc<Identity>, on_behalf_of: Option<Name>) -> Self {
        let actor = identity.actor.clone().asking_for(on_behalf_of.clone());
        Self { identity, on_behalf_of, actor }
    }

    /// The same sender, acting for another id, or for itself if that is empty.
    pub fn acting_for(&self, app: &App, id: &str) -> Result<Self, Refused> {
        let on_behalf_of = match id {
            "" => None,
            id => Some(subject(app, &self.identity, "for", id)?),
        };
        Ok(Self::new(self.identity.clone(), on_behalf_of))
    }

    /// The actor of the token, acting for another id if asked to.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The id it acts for, else its own.
    pub fn subject(&self) -> &Name {
        self.on_behalf_of.as_ref().unwrap_or(&self.actor.id)
    }

    /// Whether it may see totals over everything: people with role admin, and systems.
    pub fn is_monitor(&self) -> bool {
        self.identity.is_admin() || self.actor.kind == ActorKind::System
    }

    /// The requester, for work in the runtime.
    pub fn by(&self) -> Requester {
        let (actor, on_behalf_of) = (self.actor().clone(), self.on_behalf_of.clone());
        Requester { actor, on_behalf_of, request_id: request_id() }
    }

    /// Refuses callers other than people with role admin.
    pub fn must_be_admin(&self, what: &str) -> Result<(), Refused> {
        if self.identity.is_admin() {
            return Ok(());
        }
        Err(Refused::forbidden(format!("Only a person with role admin may {what}"), "human and admin"))
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        // The idempotency layer may have done this already.
        if let Some(known) = parts.extensions.get::<Self>() {
            return Ok(known.clone());
        }
        let (now, Ok(peer)) = (app.reads.now(), Peer::from_request_parts(parts, app).await);
        let (text, credential) = token_of(parts, app, peer).await?;
        if credential != FailedCredential::Token {
            must_be_own_page(parts)?;
        }
        let Some(identity) = app.access.identity(&text, now)? else {
            app.failed_sign_ins.note(peer, credential, now);
            limit_unknown_tokens(app, peer).await?;
            return Err(Refused::unauthorized(
                "Unknown token: it was revoked, has expired, or belongs to another server. Ask an admin for a new one (`trackside token create`)",
            ));
        };
        if let Some(current) = crate::telemetry::current() {
            current.actor.set(identity.actor.id.clone()).ok();
        }
        app.quotas.charge_request(&identity.actor, &app.limits(), body_length(&parts.headers))?;
        let on_behalf_of = match parts.headers.get("trackside-for") {
            None => None,
            Some(id) => Some(subject(app, &identity, "Trackside-For", id.to_str().unwrap_or_default())?),
        };
        Ok(Self::new(identity, on_behalf_of))
    }
}

/// The id that a token wants to act for, if it may.
fn subject(app: &App, identity: &Identity, place: &str, id: &str) -> Result<Name, Refused> {
    if !is_valid_id(id) || id.contains(':') {
        let detail = format!("{place} must be the id of an actor: 1 to 128 letters, digits and `._@-`");
        return Err(Refused::parameter(place, detail));
    }
    if id == ENGINE {
        let detail = format!("{ENGINE} is the id of the server, which acts only for itself");
        return Err(Refused::forbidden(detail, "the server"));
    }
    let id = Name::new(id);
    if identity.actor.id != id && !app.access.may_act_for(identity, &id)? {
        let detail = match identity.matches(&id) {
            true => format!(
                "This token may not act for {id}: {id} is a person, and a pattern matches only agents and systems. A token made with --for {id} may"
            ),
            false => format!("This token may not act for {id}"),
        };
        return Err(Refused::forbidden(detail, "a token made with --for"));
    }
    Ok(id)
}

/// Counts a request with an unknown token or link. Beyond the rate of its address, the answer is 429 and comes late, so
/// that a storm costs little. Requests with a valid token are not counted.
pub(crate) async fn limit_unknown_tokens(app: &App, peer: Peer) -> Result<(), Refused> {
    let rate = app.limits().strangers;
    if app.unknown_tokens.count(peer.0, rate) {
        return Ok(());
    }
    tokio::time::sleep(DELAY).await;
    let detail = format!(
        "Too many requests with an unknown token from this address (limit {rate}/s). Check the token and retry later"
    );
    Err(Refused::new(ProblemCode::RateLimited, detail))
}

/// The token that was sent, and what it came in.
async fn token_of(parts: &Parts, app: &App, peer: Peer) -> Result<(String, FailedCredential), Refused> {
    if let Some(value) = parts.headers.get(header::AUTHORIZATION) {
        let value = value.to_str().unwrap_or_default();
        let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
        if !scheme.eq_ignore_ascii_case("bearer") || token.trim().is_empty() {
            return Err(Refused::unauthorized("Send the token as `Authorization: Bearer TOKEN`"));
        }
        return Ok((token.trim().to_owned(), FailedCredential::Token));
    }
    if let Some(user) = parts.extensions.get::<Forwarded>().and_then(|it| it.user.as_deref()) {
        return Ok((proxy_session(app, peer, user).await?, FailedCredential::Proxy));
    }
    match cookie(&parts.headers, &SecureTransport::of(parts, app).session_name(app)) {
        Some(value) => Ok((value.to_owned(), FailedCredential::Session)),
        None => Err(Refused::unauthorized(
            "A token is required: send `Authorization: Bearer TOKEN`. The owner creates tokens with `trackside token create`",
        )),
    }
}

/// The session of a person that the reverse proxy authenticated; a new one if there is none.
async fn proxy_session(app: &App, peer: Peer, user: &str) -> Result<String, Refused> {
    let (mut sessions, now) = (app.proxy_sessions.0.lock().await, app.reads.now());
    if let Some(text) = sessions.get(user)
        && app.access.identity(text, now)?.is_some()
    {
        return Ok(text.clone());
    }
    let person = app.options.proxy.people.by_name(user).map_err(|why| {
        app.failed_sign_ins.note(peer, FailedCredential::Proxy, now);
        Refused::unauthorized(&why)
    })?;
    let spec = TokenSpec {
        holder: person.id.clone(),
        kind: ActorKind::Human,
        roles: resolve(&app.runtime.law(), &person.roles)?,
        on_behalf: Vec::new(),
        purpose: PROXY,
        note: None,
        expires: Some(now.plus(PROXY_SESSION_LASTS)),
        by: person.id.clone(),
        minter: None,
        made_with: None,
        scope: None,
    };
    let made = app.access.mint(spec, None).await;
    let (secret, _) = made.map_err(Refused::broken)?;
    sessions.insert(user.to_owned(), secret.text.clone());
    Ok(secret.text)
}

/// Browsers send the cookie, and proxies the person, from any page, so such changes are accepted only from our own
/// pages.
fn must_be_own_page(parts: &Parts) -> Result<(), Refused> {
    if matches!(parts.method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let text = |name: &str| parts.headers.get(name).and_then(|it| it.to_str().ok());
    let same_site = text("sec-fetch-site").is_none_or(|it| it == "same-origin");
    let host = text("host").unwrap_or_default();
    let origin = text("origin").and_then(|it| it.split_once("://")).map(|(_, host)| host);
    if same_site && origin == Some(host) {
        return Ok(());
    }
    let detail =
        "A signed-in browser can make changes only from pages of this server. Programs must send a token";
    Err(Refused::forbidden(detail, "a page of this server, or a token"))
}
