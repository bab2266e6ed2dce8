//! Who may, and who could ever be one of them.

use trackside_lifecycle::model::Read;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Way;

use super::listed;
use crate::class::Class;
use crate::finding::Finding;
use crate::parts::arm_way;
use crate::survey::Survey;
use crate::truth::{Answer, Given, ask};

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        let life = study.life();
        for arm in life.arms() {
            let given = Given { states: &arm.from.0, who: None, takes: &[] };
            if ask(study.facts, &[&arm.by], given) == Answer::Never {
                let message =
                    format!("nobody may `{}`: no actor is ever `{}`", arm.transition, arm.by.source());
                let advice = "an actor is either human, agent or system, and `admin` is a person: use `||` between them, or leave one out";
                let route =
                    arm.from.0.first().and_then(|it| study.graph.place(it)).map(|it| study.graph.route(it));
                let finding =
                    Finding::new(Class::NobodyMay, study.name(), arm_way(arm).key("by"), message, advice);
                found.push(finding.by_way_of(route.unwrap_or_default()));
            }
        }
        let create = &life.create;
        if !life.one
            && ask(study.facts, &[&create.by], Given { takes: &create.takes, ..Given::default() })
                == Answer::Never
        {
            let message = format!("nobody may create one: no actor is ever `{}`", create.by.source());
            let way = Way::of(["create", "by"]);
            found.push(Finding::new(
                Class::NobodyMay,
                study.name(),
                way,
                message,
                "say who may: `create: { by: human }`",
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
        // Told once, at the first of them.
        if round.is_empty() || round.iter().any(|it| *it < role) {
            continue;
        }
        let names: Vec<&str> = std::iter::once(role).chain(round).map(Name::as_str).collect();
        let message = format!("the roles {} include each other: whoever holds one holds all", listed(&names));
        let way = Way::of(["roles", role, "includes"]);
        found.push(Finding::new(
            Class::RoleCircle,
            &survey.pack.name,
            way,
            message,
            "let the higher include the lower, not the other way round",
        ));
    }
}

/// Roles that no rule asks for.
fn unused(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    let pack = survey.pack;
    let reads = || pack.lifecycles.iter().flat_map(|it| &it.reads);
    if reads().any(|it| matches!(it, Read::ActorRoles)) {
        return;
    }
    for role in pack.roles.keys() {
        let asked = reads().any(|it| matches!(it, Read::Role(holders) if holders.contains(role)));
        let policy = pack.policy.as_ref().is_some_and(|it| it.roles.contains_key(role));
        if !asked && !policy && !pack.supervise.contains_key(role) {
            let message = format!("no rule asks for the role `{role}`: holding it changes nothing");
            found.push(Finding::new(
                Class::UnusedRole,
                &pack.name,
                Way::of(["roles", role]),
                message,
                "use it in a `by`, or leave it out",
            ));
        }
    }
}
