//! Evaluates the policy of a pack.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use trackside_engine::actor::Actor;
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::policy::{Judgement, PolicyOutcome, judge};
use trackside_engine::refusal::Code;
use trackside_lifecycle::guard::{Fault, did_you_mean};
use trackside_lifecycle::model::{Lifecycle, Pack, Policy};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::{Evaluate, PolicyJudgement, Problem, ProblemCode};
use trackside_runtime::read::NamedAnswer;

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
    let (pack, policy) = find_policy(&app, &caller, &body)?;
    let (role, judged) = best_judgement(&app, &caller, &pack, &policy, &body).await?;
    Ok(Json(PolicyJudgement {
        pack: pack.name.to_string(),
        action: body.action,
        role: role.as_ref().map(Name::to_string),
        level: judged.level.to_string(),
        outcome: judged.outcome.as_str().to_owned(),
        why: judged.why,
        rule: judged.rule.map(|it| format!("policy.rules[{it}]")),
    }))
}

/// The judgement on an action, by the most permissive of the caller's roles, and by the state of the entity that the
/// caller works on.
pub(super) async fn best_judgement(
    app: &App,
    caller: &Caller,
    pack: &Arc<Pack>,
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
    let (role, mut judged) = best.ok_or_else(|| Refused::broken("no role was evaluated"))?;
    for entity in worked_on(app, caller, pack, policy, body.entity.as_deref()).await? {
        let law = app.runtime.law();
        let life = law.definition(&entity.key.lifecycle, entity.definition);
        let tools = life.and_then(|it| it.state(&entity.state)?.tools.as_ref());
        judged = judged.limited_to(&entity, tools);
    }
    Ok((role, judged))
}

/// The entities whose states limit the actions of the caller: that of its run, else the named one, else the first one of
/// the query of the policy's request.
async fn worked_on(
    app: &App,
    caller: &Caller,
    pack: &Arc<Pack>,
    policy: &Policy,
    named: Option<&str>,
) -> Result<Vec<Arc<Entity>>, Refused> {
    let scope = caller.actor().scope.as_deref().map(|it| it.entity.clone());
    if let Some(key) = scope.or_else(|| named.and_then(EntityKey::parse)) {
        let actor = caller.actor().clone();
        return Ok(vec![app.read(move |reads| reads.readable(&key, &actor)).await?]);
    }
    let Some(declared) = &policy.request else { return Ok(Vec::new()) };
    let of = pack.queries.iter().find(|it| it.name == declared.work).and_then(|it| it.of.as_ref());
    let limits = |it: &Arc<Lifecycle>| Some(&it.name) == of && it.states.iter().any(|it| it.tools.is_some());
    if !pack.lifecycles.iter().any(limits) {
        return Ok(Vec::new());
    }
    let mut work = rows(app, caller, pack, &declared.work, &[]).await?;
    if let Some(id) = named {
        work.retain(|it| *it.key.id == *id);
    }
    work.truncate(1);
    Ok(work)
}

/// The rows of a query of the pack, for the caller. It gets those of the values that it takes.
pub(super) async fn rows(
    app: &App,
    caller: &Caller,
    pack: &Pack,
    query: &Name,
    more: &[(&str, Value)],
) -> Result<Vec<Arc<Entity>>, Refused> {
    let agent = ("agent", Value::from(caller.subject()));
    let declared = pack.queries.iter().find(|it| it.name == *query);
    let takes = |name: &str| declared.is_some_and(|it| it.takes.iter().any(|(it, _)| *it == *name));
    let asked: Fields =
        std::iter::once(&agent).chain(more).filter(|(name, _)| takes(name)).cloned().collect();
    let (pack, query, actor) = (pack.name.clone(), query.clone(), caller.actor().clone());
    let answer = app.read(move |reads| reads.run_query(&pack, &query, &asked, &actor)).await?;
    match answer {
        NamedAnswer::Entities(found) => Ok(found),
        NamedAnswer::Values(_) | NamedAnswer::History(_) => {
            Err(Refused::broken("a query of a policy's request has no rows"))
        }
    }
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

/// The pack whose policy is evaluated: the named one, else that of the run's entity, of the named entity or of the named
/// role, else the only one in which the caller has a role, else the only one.
pub(super) fn find_policy(
    app: &App,
    caller: &Caller,
    asked: &Evaluate,
) -> Result<(Arc<Pack>, Arc<Policy>), Refused> {
    let law = app.runtime.law();
    if let Some(name) = &asked.pack {
        let Some(pack) = law.pack(name) else {
            let hint = did_you_mean(name, law.packs().map(|it| it.name.as_str()));
            return Err(Refused::new(Code::UnknownPack, format!("There is no pack {name}{hint}")));
        };
        return with_policy(pack);
    }
    let scope = caller.actor().scope.as_deref().map(|it| it.entity.lifecycle.to_string());
    let entity = asked.entity.as_ref().and_then(|it| Some(it.split_once('/')?.0.to_owned()));
    if let Some(lifecycle) = scope.or(entity)
        && let Some(pack) = lifecycle.split_once('.').and_then(|(pack, _)| law.pack(pack))
    {
        return with_policy(pack);
    }
    if let Some(pack) =
        asked.role.as_ref().and_then(|it| it.split_once(':')).and_then(|(pack, _)| law.pack(pack))
    {
        return with_policy(pack);
    }
    let all: Vec<(Arc<Pack>, Arc<Policy>)> =
        law.packs().filter_map(|it| Some((it.clone(), it.policy.clone()?))).collect();
    let has_role = |pack: &Pack| match &asked.role {
        Some(role) => pack.roles.contains_key(role.as_str()),
        None => own(pack, caller.actor()).iter().any(Option::is_some),
    };
    let of_caller: Vec<&(Arc<Pack>, Arc<Policy>)> = all.iter().filter(|(pack, _)| has_role(pack)).collect();
    match (of_caller.as_slice(), all.as_slice()) {
        ([only], _) => Ok((*only).clone()),
        (_, [only]) => Ok(only.clone()),
        (_, []) => Err(Refused::new(ProblemCode::NoPolicy, "No pack has a policy")),
        _ => {
            let names: Vec<&str> = all.iter().map(|(pack, _)| pack.name.as_str()).collect();
            let detail = format!(
                "Several packs have a policy, and your roles do not say which: name the `pack`, {}",
                names.join(" or ")
            );
            Err(Refused::shape(detail))
        }
    }
}

fn with_policy(pack: &Arc<Pack>) -> Result<(Arc<Pack>, Arc<Policy>), Refused> {
    let Some(policy) = pack.policy.clone() else {
        return Err(Refused::new(ProblemCode::NoPolicy, format!("The pack {} has no policy", pack.name)));
    };
    Ok((pack.clone(), policy))
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
