//! The risk policy.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::context::CompileContext;
use super::value_names::ValueNames;
use crate::guard::Type;
use crate::model::{Policy, PolicyRaise, PolicyRequest, PolicyRule, Setting, StateTools, Tool};
use crate::name::Name;
use crate::source::{At, Problems};
use crate::syntax::{PolicyDecl, StateToolsDecl};

pub(super) fn compile(
    from: &PolicyDecl,
    pack: &Name,
    roles: &BTreeMap<Name, Vec<Name>>,
    settings: &[Setting],
    problems: &mut Problems,
) -> Policy {
    let (ask, mut reads) = (BTreeMap::new(), Vec::new());
    let given = [("action", Type::Text), ("arguments", Type::Any)];
    let mut names = ValueNames { settings, ask: &ask, counts: &[], given: &given, reads: &mut reads };
    let levels: Vec<Name> = from.levels.iter().map(|it| it.it.clone()).collect();
    let level = |word: &At<Name>, problems: &mut Problems| {
        if !levels.contains(&word.it) {
            problems.error("unknown-level", word.at, format!("there is no level `{}`", word.it));
        }
        word.it.clone()
    };
    let mut rules = Vec::new();
    for rule in &from.rules {
        let place = rule
            .level
            .as_ref()
            .map(|it| it.at)
            .or(rule.when.as_ref().map(|it| it.at))
            .unwrap_or(from.unknown.at);
        if rule.level.is_some() == rule.deny.is_some() {
            problems.error(
                "level-or-deny",
                place,
                "a policy rule needs either a `level` or a `deny` message",
            );
        }
        rules.push(PolicyRule {
            actions: rule.action.iter().flat_map(|it| it.iter()).map(|it| it.it.clone()).collect(),
            when: rule.when.as_ref().and_then(|it| names.guard(it, &Type::Bool, problems)),
            level: rule.level.as_ref().map(|it| level(it, problems)),
            deny: rule.deny.as_ref().and_then(|it| names.template(it, problems)),
            why: rule.why.as_ref().and_then(|it| names.template(it, problems)),
            counts_as: rule.counts_as.as_ref().map(|it| it.it.clone()),
        });
    }
    let mut raise = Vec::new();
    for rule in from.raise.iter().flatten() {
        if let Some(when) = names.guard(&rule.when, &Type::Bool, problems) {
            raise.push(PolicyRaise {
                when,
                level: level(&rule.level, problems),
                why: rule.why.as_ref().and_then(|it| names.template(it, problems)),
            });
        }
    }
    let mut tools = BTreeMap::new();
    for (name, tool) in from.tools.iter() {
        let mut with = Vec::new();
        for (argument, source) in tool.with.iter() {
            let value = names.guard(source, &Type::Any, problems);
            with.extend(value.map(|it| (argument.it.clone(), it)));
        }
        tools.insert(name.it.clone(), Tool { action: tool.action.it.clone(), with });
    }
    let requested = [("level", Type::Text), ("why", Type::Text)];
    let requested: Vec<(&str, Type)> = given.iter().cloned().chain(requested).collect();
    names.given = &requested;
    let request = from.request.as_ref().map(|it| PolicyRequest {
        work: it.work.it.clone(),
        fire: it.fire.it.clone(),
        use_up: it.r#use.it.clone(),
        approvals: it.approvals.it.clone(),
        with: it
            .with
            .iter()
            .filter_map(|(name, source)| Some((name.it.clone(), names.guard(source, &Type::Any, problems)?)))
            .collect(),
    });
    let mut allowed = BTreeMap::new();
    for (role, word) in from.roles.iter() {
        if !roles.contains_key(&role.it) {
            problems.error("unknown-role", role.at, format!("there is no role `{}`", role.it));
        }
        allowed.insert(role.it.clone(), level(word, problems));
    }
    let unknown = level(&from.unknown, problems);
    Policy {
        levels,
        unknown,
        rules,
        raise,
        roles: allowed,
        tools,
        request,
        reads,
        settings: settings.to_vec(),
        pack: pack.clone(),
    }
}

/// The levels, for the type that `policy(…)` gives.
pub(super) fn levels(from: &PolicyDecl) -> Arc<Vec<Name>> {
    Arc::new(from.levels.iter().map(|it| it.it.clone()).collect())
}

/// The actions that a policy names, each once.
pub(super) fn actions(from: &PolicyDecl) -> Vec<Name> {
    let named =
        from.rules.iter().flat_map(|it| it.action.iter().flat_map(|it| it.iter()).chain(&it.counts_as));
    let all = named.chain(from.tools.iter().map(|(_, tool)| &tool.action));
    let all: BTreeSet<&Name> = all.map(|it| &it.it).collect();
    all.into_iter().cloned().collect()
}

/// The actions that the policy can allow in a state.
pub(super) fn state_tools(
    context: &mut CompileContext<'_>,
    state: &At<Name>,
    decl: &StateToolsDecl,
) -> Option<StateTools> {
    let Some(known) = context.pack.actions.clone() else {
        context
            .error(
                "no-policy",
                state.at,
                format!("`tools` of {} limits a policy, and the pack has none", state.it),
            )
            .hint("declare `policy` in pack.yaml");
        return None;
    };
    let (named, make): (_, fn(Vec<Name>) -> StateTools) = match (&decl.allow, &decl.deny) {
        (Some(allow), None) => (allow, StateTools::Only),
        (None, Some(deny)) => (deny, StateTools::AllExcept),
        (None, None) | (Some(_), Some(_)) => {
            context
                .error(
                    "allow-or-deny",
                    state.at,
                    format!("`tools` of {} needs either `allow` or `deny`", state.it),
                )
                .hint("`allow` lists the only actions that are possible, `deny` those that are not");
            return None;
        }
    };
    let known: Vec<&str> = known.iter().map(Name::as_str).collect();
    for action in named.iter().filter(|it| !known.contains(&it.it.as_str())) {
        context.unknown("unknown-action", "action", action, &known);
    }
    Some(make(named.iter().map(|it| it.it.clone()).collect()))
}
