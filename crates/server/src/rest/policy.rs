//! How risky an action is, and why.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use trackside_engine::actor::Actor;
use trackside_engine::policy::{Outcome, judge};
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::model::{Pack, Policy};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::{Evaluate, Judged, Problem};

use super::{Body, KeyUse, Wanted, answer_once};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Tells the risk level of an action, whether a role may do it, and why.
#[utoipa::path(
    post, path = "/v1/policy/evaluate", tag = "approvals", operation_id = "evaluatePolicy", params(super::Keyed), request_body = Evaluate,
    responses((status = 200, body = Judged), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn evaluate(
    State(app): State<App>,
    caller: Caller,
    wanted: Wanted,
    Body(body): Body<Evaluate>,
) -> Result<Json<serde_json::Value>, Refused> {
    let used = KeyUse::of(&caller, &wanted, "/v1/policy/evaluate", &body);
    let judged = judged(&app, &caller, &body);
    answer_once(&app, used, std::future::ready(judged)).await
}

fn judged(app: &App, caller: &Caller, body: &Evaluate) -> Result<Judged, Refused> {
    let (pack, policy) = chosen(app, body.pack.as_deref())?;
    let roles = match &body.role {
        Some(role) => vec![Some(known(&pack, role)?)],
        None => own(&pack, caller.actor()),
    };
    let (project, arguments) = (app.reads.project(), Value::from_json(&body.arguments));
    let mut best: Option<(u8, Judged)> = None;
    for role in roles {
        let judged =
            judge(&policy, &project, &body.action, &arguments, role.as_deref()).map_err(|fault| {
                let detail = format!("The policy of {} cannot judge this: {fault}", pack.name);
                Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "policy-failed", detail)
            })?;
        // Of several roles the one that may do most speaks.
        if best.as_ref().is_none_or(|(most, _)| may_do(judged.outcome) > *most) {
            let told = Judged {
                pack: pack.name.to_string(),
                action: body.action.clone(),
                role: role.as_ref().map(Name::to_string),
                level: judged.level.to_string(),
                outcome: judged.outcome.as_str().to_owned(),
                why: judged.why,
            };
            best = Some((may_do(judged.outcome), told));
        }
    }
    best.map(|(_, told)| told).ok_or_else(|| Refused::broken("nobody was judged"))
}

/// The more one may do, the more this is.
fn may_do(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Allow => 2,
        Outcome::Approve => 1,
        Outcome::Deny => 0,
    }
}

/// The pack whose policy is asked.
fn chosen(app: &App, named: Option<&str>) -> Result<(Arc<Pack>, Arc<Policy>), Refused> {
    let law = app.runtime.law();
    if let Some(name) = named
        && law.pack(name).is_none()
    {
        let near = nearest(name, law.packs().map(|it| it.name.as_str()));
        let hint = near.map(|it| format!(". Did you mean {it}?")).unwrap_or_default();
        return Err(Refused::unknown("unknown-pack", format!("There is no pack {name}{hint}")));
    }
    let asked = law.packs().filter(|it| named.is_none_or(|name| *it.name == *name));
    let with: Vec<(Arc<Pack>, Arc<Policy>)> =
        asked.filter_map(|it| Some((it.clone(), it.policy.clone()?))).collect();
    match with.as_slice() {
        [only] => Ok(only.clone()),
        [] => {
            let whose = named.map_or("No pack".to_owned(), |it| format!("The pack {it}"));
            let detail = format!("{whose} has {} policy", if named.is_some() { "no" } else { "a" });
            Err(Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "no-policy", detail))
        }
        several => {
            let names: Vec<&str> = several.iter().map(|(pack, _)| pack.name.as_str()).collect();
            Err(Refused::shape(format!(
                "Several packs have a policy: name the `pack`, {}",
                names.join(" or ")
            )))
        }
    }
}

/// A role of the pack, bare or with the pack before it.
fn known(pack: &Pack, role: &str) -> Result<Name, Refused> {
    let bare = role.strip_prefix(&format!("{}:", pack.name)).unwrap_or(role);
    if pack.roles.contains_key(bare) {
        return Ok(Name::new(bare));
    }
    let near = nearest(bare, pack.roles.keys().map(Name::as_str));
    let hint = near.map(|it| format!(". Did you mean {it}?")).unwrap_or_default();
    let detail = format!("{} has no role {role}{hint}", pack.name);
    Err(Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown-role", detail))
}

/// The caller's roles in the pack; none is one, too.
fn own(pack: &Pack, actor: &Actor) -> Vec<Option<Name>> {
    let roles =
        pack.roles.keys().filter(|it| actor.has_role(it) || actor.has_role(&format!("{}:{it}", pack.name)));
    let roles: Vec<Option<Name>> = roles.cloned().map(Some).collect();
    if roles.is_empty() { vec![None] } else { roles }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_may_do_most_speaks() {
        let mut outcomes = [Outcome::Approve, Outcome::Deny, Outcome::Allow];
        outcomes.sort_by_key(|it| may_do(*it));
        assert_eq!(outcomes, [Outcome::Deny, Outcome::Approve, Outcome::Allow]);
    }
}
