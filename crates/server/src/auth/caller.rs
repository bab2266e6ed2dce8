//! The one who asks, from what the request shows.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::key::is_valid_id;
use trackside_lifecycle::name::Name;
use trackside_runtime::By;

use super::Identity;
use crate::app::App;
use crate::connections::Peer;
use crate::problem::Refused;
use crate::watch::request_id;

/// The cookie that a signed-in browser sends.
pub(crate) const COOKIE: &str = "trackside_session";

/// The one who asks.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub identity: Arc<Identity>,
    /// For whom, where it speaks for another.
    pub on_behalf_of: Option<Name>,
    actor: Actor,
}

impl Caller {
    pub fn new(identity: Arc<Identity>, on_behalf_of: Option<Name>) -> Self {
        let actor = identity.actor.clone().asking_for(on_behalf_of.clone());
        Self { identity, on_behalf_of, actor }
    }

    /// Whoever has the token, and for whom they ask.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Whoever watches over everything: people with role admin, and systems. They are told of how many there are even
    /// where not everybody may see which.
    pub fn is_monitor(&self) -> bool {
        self.identity.is_admin() || self.actor.kind == ActorKind::System
    }

    /// Who has something done in this request.
    pub fn by(&self) -> By {
        let (actor, on_behalf_of) = (self.actor().clone(), self.on_behalf_of.clone());
        By { actor, on_behalf_of, request_id: request_id() }
    }

    /// Only a person with role admin may go on.
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
        let (text, by_cookie) = shown(&parts.headers)?;
        if by_cookie {
            must_be_own_page(parts)?;
        }
        let (now, Ok(peer)) = (app.reads.now(), Peer::from_request_parts(parts, app).await);
        let is_stranger = app.access.is_strange(&text);
        if is_stranger {
            must_be_patient(app, peer)?;
        }
        let identity = app.access.identity(&text, now)?;
        if is_stranger && identity.is_some() {
            app.strangers.was_known(peer.0, app.limits().strangers);
        }
        let Some(identity) = identity else {
            return Err(Refused::unauthorized(
                "The token is not known here: it was revoked, has expired, or is of another server. Ask an admin for a new one (`trackside token create`)",
            ));
        };
        if let Some(current) = crate::watch::current() {
            current.actor.set(identity.actor.id.clone()).ok();
        }
        let rate = app.limits().rate;
        if !identity.bucket.take(rate) {
            let detail =
                format!("A token may be used {rate} times a second here: wait a little, or send batches");
            return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, "rate-limited", detail));
        }
        let on_behalf_of = match parts.headers.get("trackside-for") {
            None => None,
            Some(id) => {
                let id = id.to_str().unwrap_or_default();
                if !is_valid_id(id) {
                    return Err(Refused::parameter(
                        "Trackside-For",
                        "Trackside-For must be the id of an agent",
                    ));
                }
                if *identity.actor.id != *id && !identity.may_act_for(id) {
                    let detail = format!("This token may not act for {id}");
                    return Err(Refused::forbidden(detail, "a token made with --for"));
                }
                Some(Name::new(id))
            }
        };
        Ok(Self::new(identity, on_behalf_of))
    }
}

/// Whoever shows what is not known may not do so as often as they like.
pub(crate) fn must_be_patient(app: &App, peer: Peer) -> Result<(), Refused> {
    let rate = app.limits().strangers;
    if app.strangers.may_try(peer.0, rate) {
        return Ok(());
    }
    let detail = format!(
        "From this address something that is not known here was shown more than {rate} times a second: wait a little, and look whether the token is right"
    );
    Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, "rate-limited", detail))
}

/// What was shown, and whether it was the cookie.
fn shown(headers: &HeaderMap) -> Result<(String, bool), Refused> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let value = value.to_str().unwrap_or_default();
        let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
        if !scheme.eq_ignore_ascii_case("bearer") || token.trim().is_empty() {
            return Err(Refused::unauthorized("Send the token as `Authorization: Bearer TOKEN`"));
        }
        return Ok((token.trim().to_owned(), false));
    }
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|it| it.to_str().ok());
    let mut pairs = cookies.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('='));
    match pairs.find(|(name, _)| *name == COOKIE) {
        Some((_, value)) => Ok((value.to_owned(), true)),
        None => Err(Refused::unauthorized(
            "A token is needed: send `Authorization: Bearer TOKEN`. The owner's is in the file `token` of the data folder",
        )),
    }
}

/// A cookie is sent by the browser whoever made the page: only our own pages may change something with it.
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
        "A signed-in browser may only change something from our own page. Programs send a token instead";
    Err(Refused::forbidden(detail, "our own page, or a token"))
}
