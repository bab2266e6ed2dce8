//! Unused declarations.

use trackside_lifecycle::model::{AssignTarget, Lifecycle, Read};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;

use crate::check::class::Class;
use crate::check::finding::Finding;
use crate::check::survey::{Study, Survey};
use crate::graph::sites;

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        unwritten(study, found);
        uncounted(study, found);
        unused_effects(study, found);
        unrelated(study, found);
    }
    unused_audiences(survey, found);
}

/// A declared name that no rule uses.
fn unused(of: &Name, way: [&str; 2], message: String, advice: &str) -> Finding {
    Finding::new(Class::UnusedName, of, DefinitionPath::of(way), message, advice)
}

/// Fields that no rule or request sets.
fn unwritten(study: &Study<'_>, found: &mut Vec<Finding>) {
    for (name, known) in &study.facts.known {
        if known.is_empty() {
            let message = format!("no rule sets the field `{name}`");
            let advice = "take or set it in a transition, or remove it";
            let way = DefinitionPath::of(["fields", name]);
            found.push(Finding::new(Class::UnusedField, study.name(), way, message, advice));
        }
    }
}

/// Counters that no rule counts, slots that no rule grants.
fn uncounted(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    let arms = || life.arms();
    for counter in life.counters.iter().filter(|it| !it.on_moves) {
        let counts = arms().flat_map(|it| &it.count).chain(&life.create.count).any(|it| *it == counter.name);
        let set = sites(life).iter().flat_map(|it| &it.then.set).any(|it| match &it.target {
            AssignTarget::Counter(name) | AssignTarget::CounterAt(name, _) => *name == counter.name,
            AssignTarget::Field(_) => false,
        });
        if !counts && !set {
            let message = format!("no rule counts the counter `{}`", counter.name);
            let advice = "count it: `count: …` in an arm, or `on: moves`";
            found.push(unused(study.name(), ["counters", &counter.name], message, advice));
        }
    }
    for slot in &life.slots {
        let granted =
            sites(life).iter().any(|it| it.then.lease.as_ref().is_some_and(|it| it.slot == slot.name));
        let asked = arms().any(|it| it.holding.as_ref() == Some(&slot.name));
        if !granted && !asked {
            let message = format!("no rule grants the lease `{}`", slot.name);
            let advice = "grant it with `lease`, or remove it";
            found.push(unused(study.name(), ["slots", &slot.name], message, advice));
        }
    }
}

/// Effects that no rule requests.
fn unused_effects(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    for effect in &life.effects {
        if !sites(life).iter().flat_map(|it| &it.then.effects).any(|it| it.effect == effect.name) {
            let message = format!("no rule requests the effect `{}`", effect.name);
            let advice = "request it with `effects`, or remove it";
            found.push(unused(study.name(), ["effects", &effect.name], message, advice));
        }
    }
}

/// Relations that no rule uses.
fn unrelated(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life: &Lifecycle = study.life();
    for relation in &life.relations {
        let asked =
            |it: &Read| matches!(it, Read::Relation(guard) if guard.source() == relation.guard.source());
        if !life.reads.iter().any(asked) {
            let message = format!("no rule uses the relation `{}`", relation.name);
            let advice = "use it in a `by`, or remove it";
            found.push(unused(study.name(), ["relations", &relation.name], message, advice));
        }
    }
}

/// Audiences that are never notified.
fn unused_audiences(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for audience in survey.pack.audiences.keys() {
        let told = survey.pack.lifecycles.iter().any(|life| {
            let rules = life.notify.iter().map(|it| &it.notification.audience);
            rules
                .chain(sites(life).iter().flat_map(|it| &it.then.notify).map(|it| &it.audience))
                .any(|it| it == audience)
        });
        if !told {
            let message = format!("no rule notifies the audience `{audience}`");
            let advice = "address it in a `notify`, or remove it";
            found.push(unused(&survey.pack.name, ["audiences", audience], message, advice));
        }
    }
}
