//! Conditions on the caller that no actor can ever meet.

use trackside_lifecycle::model::Read;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;

use super::join_names;
use crate::check::class::Class;
use crate::check::finding::Finding;
use crate::check::satisfy::{Assumptions, Satisfiability, satisfiability};
use crate::check::survey::Survey;
use crate::graph::arm_way;

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        let life = study.life();
        for arm in life.arms() {
            let given = Assumptions { states: &arm.from.0, who: None, takes: &[] };
            if satisfiability(study.facts, &[&arm.by], given) == Satisfiability::Never {
                let message = format!(
                    "no actor can take `{}`: no actor satisfies `{}`",
                    arm.transition,
                    arm.by.source()
                );
                let advice = "an actor is human, agent or system, and an admin is human: join them with `||`, or remove one";
                let route =
                    arm.from.0.first().and_then(|it| study.graph.place(it)).map(|it| study.graph.route(it));
                let finding =
                    Finding::new(Class::NobodyMay, study.name(), arm_way(arm).key("by"), message, advice);
                found.push(finding.by_way_of(route.unwrap_or_default()));
            }
        }
        let create = &life.create;
        if !life.one
            && satisfiability(
                study.facts,
                &[&create.by],
                Assumptions { takes: &create.takes, ..Assumptions::default() },
            ) == Satisfiability::Never
        {
            let message = format!("no actor can create one: no actor satisfies `{}`", create.by.source());
            let way = DefinitionPath::of(["create", "by"]);
            found.push(Finding::new(
                Class::NobodyMay,
                study.name(),
                way,
                message,
                "name who may create one: `create: { by: human }`",
            ));
        }
    }
    circles(survey, found);
    unused(survey, found);
}

/// Roles that include each other.
fn circles(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    let roles = &survey.pack.roles;
    let includes = |a: &Name, b: &Name| a != b && roles.get(a).is_some_and(|it| it.contains(b));
    for role in roles.keys() {
        let round: Vec<&Name> = roles.keys().filter(|it| includes(role, it) && includes(it, role)).collect();
        // Reported once, at the first of them.
        if round.is_empty() || round.iter().any(|it| *it < role) {
            continue;
        }
        let names: Vec<&str> = std::iter::once(role).chain(round).map(Name::as_str).collect();
        let message = format!(
            "the roles {} include each other: an actor with one of them has all of them",
            join_names(&names)
        );
        let way = DefinitionPath::of(["roles", role, "includes"]);
        found.push(Finding::new(
            Class::RoleCircle,
            &survey.pack.name,
            way,
            message,
            "let only the higher role include the lower one",
        ));
    }
}

/// Roles that no rule requires.
fn unused(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    let pack = survey.pack;
    let reads = || pack.lifecycles.iter().flat_map(|it| &it.reads);
    if reads().any(|it| matches!(it, Read::ActorRoles)) {
        return;
    }
    for role in pack.roles.keys() {
        let asked = reads().any(|it| matches!(it, Read::Role(holders) if holders.contains(role)));
        let policy = pack.policy.as_ref().is_some_and(|it| it.roles.contains_key(role));
        let works = pack.lifecycles.iter().any(|it| it.work.contains_key(role));
        if !asked && !policy && !works && !pack.supervise.contains_key(role) {
            let message = format!("no rule uses the role `{role}`");
            found.push(Finding::new(
                Class::UnusedRole,
                &pack.name,
                DefinitionPath::of(["roles", role]),
                message,
                "use it in a `by`, or remove it",
            ));
        }
    }
}
