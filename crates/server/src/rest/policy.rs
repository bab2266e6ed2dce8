//! Evaluates the policy of a pack.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use trackside_engine::actor::Actor;
use trackside_engine::policy::{Judgement, PolicyOutcome, judge};
use trackside_engine::refusal::Code;
use trackside_lifecycle::guard::{Fault, did_you_mean};
use trackside_lifecycle::model::{Pack, Policy};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::{Evaluate, PolicyJudgement, Problem, ProblemCode};

use super::Body;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Evaluates the risk level of an action, whether a role may do it, and why.
#[utoipa::path(
    post, path = "/v1/policy/evaluate", tag = "approvals", operation_id = "evaluatePolicy", params(super::KeyHeader), request_body = Evaluate,
    responses((status = 200, body = PolicyJudgement), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn evaluate(
    State(app): State<App>,
    caller: Caller,
    Body(body): Body<Evaluate>,
) -> Result<Json<PolicyJudgement>, Refused> {
    let (pack, policy) = find_policy(&app, body.pack.as_deref())?;
    let (role, judged) = best_judgement(&app, &caller, &pack, &policy, &body)?;
    Ok(Json(PolicyJudgement {
        pack: pack.name.to_string(),
        action: body.action,
        role: role.as_ref().map(Name::to_string),
        level: judged.level.to_string(),
        outcome: judged.outcome.as_str().to_owned(),
        why: judged.why,
    }))
}

/// The judgement on an action, by the most permissive of the caller's roles.
pub(super) fn best_judgement(
    app: &App,
    caller: &Caller,
    pack: &Pack,
    policy: &Policy,
    body: &Evaluate,
) -> Result<(Option<Name>, Judgement), Refused> {
    let roles = match &body.role {
        Some(role) => vec![Some(find_role(pack, role)?)],
        None => own(pack, caller.actor()),
    };
    let (project, arguments) = (app.reads.project(), Value::from_json(&body.arguments));
    let mut best: Option<(Option<Name>, Judgement)> = None;
    for role in roles {
        let judged = judge(policy, &project, &body.action, &arguments, role.as_deref())
            .map_err(|fault| cannot_evaluate(pack, &fault))?;
        if best.as_ref().is_none_or(|(_, most)| may_do(judged.outcome) > may_do(most.outcome)) {
            best = Some((role, judged));
        }
    }
    best.ok_or_else(|| Refused::broken("no role was evaluated"))
}

pub(super) fn cannot_evaluate(pack: &Pack, fault: &Fault) -> Refused {
    let detail = format!("The policy of {} cannot be evaluated: {fault}", pack.name);
    Refused::new(ProblemCode::PolicyFailed, detail)
}

/// The rank of an outcome, the most permissive highest.
fn may_do(outcome: PolicyOutcome) -> u8 {
    match outcome {
        PolicyOutcome::Allow => 2,
        PolicyOutcome::Approve => 1,
        PolicyOutcome::Deny => 0,
    }
}

/// The pack whose policy is evaluated.
pub(super) fn find_policy(app: &App, named: Option<&str>) -> Result<(Arc<Pack>, Arc<Policy>), Refused> {
    let law = app.runtime.law();
    if let Some(name) = named
        && law.pack(name).is_none()
    {
        let hint = did_you_mean(name, law.packs().map(|it| it.name.as_str()));
        return Err(Refused::new(Code::UnknownPack, format!("There is no pack {name}{hint}")));
    }
    let asked = law.packs().filter(|it| named.is_none_or(|name| *it.name == *name));
    let with: Vec<(Arc<Pack>, Arc<Policy>)> =
        asked.filter_map(|it| Some((it.clone(), it.policy.clone()?))).collect();
    match with.as_slice() {
        [only] => Ok(only.clone()),
        [] => {
            let whose = named.map_or("No pack".to_owned(), |it| format!("The pack {it}"));
            let detail = format!("{whose} has {} policy", if named.is_some() { "no" } else { "a" });
            Err(Refused::new(ProblemCode::NoPolicy, detail))
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

/// A role of the pack, with or without the prefix of the pack.
fn find_role(pack: &Pack, role: &str) -> Result<Name, Refused> {
    let bare = role.strip_prefix(&format!("{}:", pack.name)).unwrap_or(role);
    if pack.roles.contains_key(bare) {
        return Ok(Name::new(bare));
    }
    let hint = did_you_mean(bare, pack.roles.keys().map(Name::as_str));
    let detail = format!("{} has no role {role}{hint}", pack.name);
    Err(Refused::new(ProblemCode::UnknownRole, detail))
}

/// The caller's roles in the pack; having none counts as one.
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
    fn the_most_permissive_outcome_wins() {
        let mut outcomes = [PolicyOutcome::Approve, PolicyOutcome::Deny, PolicyOutcome::Allow];
        outcomes.sort_by_key(|it| may_do(*it));
        assert_eq!(outcomes, [PolicyOutcome::Deny, PolicyOutcome::Approve, PolicyOutcome::Allow]);
    }
}
