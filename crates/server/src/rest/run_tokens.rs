//! Run tokens: short-lived tokens that a supervisor creates for its agents. They end with the token they were made
//! with.

use trackside_engine::actor::ActorKind;
use trackside_engine::key::is_valid_id;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_protocol::{NewToken, UnmetBody};

use crate::app::App;
use crate::auth::{Caller, TokenSpec};
use crate::problem::Refused;

/// The purpose of run tokens.
pub(super) const PURPOSE: &str = "run";

/// The default and longest lifetime.
const LONGEST: Span = Span(60 * 60 * 1_000);

/// The end of a run token: not later than that of the token that creates it.
pub(super) fn ends(caller: &Caller, lifetime: Option<Span>, now: Timestamp) -> Timestamp {
    let lasts = lifetime.map_or(LONGEST, |it| Span(it.0.min(LONGEST.0)));
    let ends = now.plus(lasts);
    caller.identity.expires.map_or(ends, |it| it.min(ends))
}

/// The note if the lifetime is shorter than asked for.
pub(super) fn why_shortened(spec: &TokenSpec, body: &NewToken, now: Timestamp) -> Option<String> {
    let asked = body.lifetime.as_deref().filter(|_| spec.purpose == PURPOSE)?;
    let (lifetime, ends) = (Span::parse(asked)?, spec.expires?);
    if now.plus(lifetime) <= ends {
        return None;
    }
    let why = match ends < now.plus(LONGEST) {
        true => format!("the token it is made with ends at {ends}"),
        false => format!("a run token lasts {LONGEST} at most"),
    };
    Some(format!("you asked for {asked}, but {why}"))
}

/// Whether a supervisor requests the id of a person, present or past.
pub(super) async fn is_of_person(app: &App, caller: &Caller, body: &NewToken) -> Result<bool, Refused> {
    if caller.identity.is_admin() || !is_valid_id(&body.actor) {
        return Ok(false);
    }
    let actor = Name::new(&body.actor);
    app.blocking(move |app| Ok(app.access.is_person(&actor)?)).await
}

/// Why a supervisor may not create this token: everything beyond a run token for one of its agents.
/// `roles` are those of the request, resolved.
pub(super) fn too_much(
    caller: &Caller,
    kind: ActorKind,
    body: &NewToken,
    roles: &[Name],
    of_person: bool,
) -> Vec<UnmetBody> {
    let identity = &caller.identity;
    let unmet = |field: &str, message: String| UnmetBody {
        field: Some(field.to_owned()),
        message,
        code: "not-permitted".to_owned(),
        rule: None,
        saw: std::collections::BTreeMap::new(),
    };
    let joined = |all: &[Name]| all.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
    let mut all = Vec::new();
    if !identity.matches(&body.actor) {
        let own = joined(&identity.on_behalf);
        all.push(unmet(
            "actor",
            format!("{} is not one of the agents this token may act for: {own}", body.actor),
        ));
    }
    if of_person {
        all.push(unmet("actor", format!("{} is a person: run tokens are for agents", body.actor)));
    }
    if kind != ActorKind::Agent {
        all.push(unmet("kind", format!("A run token is for an agent, not for a {}", body.kind)));
    }
    let foreign = roles.iter().filter(|it| !identity.actor.roles.contains(it));
    let foreign: Vec<&str> = foreign.map(Name::as_str).collect();
    if !foreign.is_empty() {
        let own = match &*identity.actor.roles {
            [] => "none".to_owned(),
            roles => joined(roles),
        };
        let (foreign, who) = (foreign.join(", "), &identity.actor.id);
        let message = format!(
            "A run token cannot have more roles than its creator: {who} does not have {foreign}, only {own}"
        );
        all.push(unmet("roles", message));
    }
    if !body.on_behalf.is_empty() {
        all.push(unmet("for", "A run token acts only for its own agent: omit `for`".to_owned()));
    }
    all
}
