//! What is declared and never used.

use trackside_lifecycle::model::{Lifecycle, Read, Spot};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Way;

use crate::class::Class;
use crate::finding::Finding;
use crate::parts::parts;
use crate::survey::{Study, Survey};

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        unwritten(study, found);
        uncounted(study, found);
        unasked(study, found);
        unrelated(study, found);
    }
    untold(survey, found);
}

fn add(found: &mut Vec<Finding>, class: Class, of: &Name, way: Way, message: String, advice: &str) {
    found.push(Finding::new(class, of, way, message, advice));
}

/// Fields that nothing ever fills.
fn unwritten(study: &Study<'_>, found: &mut Vec<Finding>) {
    for (name, known) in &study.facts.known {
        if known.is_empty() {
            let message = format!("nothing ever fills the field `{name}`");
            let advice = "let a transition take it or set it, or leave it out";
            add(found, Class::UnusedField, study.name(), Way::of(["fields", name]), message, advice);
        }
    }
}

/// Counters that nothing counts, slots that nothing grants.
fn uncounted(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    let arms = || life.arms();
    for counter in life.counters.iter().filter(|it| !it.on_moves) {
        let counts = arms().flat_map(|it| &it.count).chain(&life.create.count).any(|it| *it == counter.name);
        let set = parts(life).iter().flat_map(|it| &it.then.set).any(|it| match &it.spot {
            Spot::Counter(name) | Spot::CounterAt(name, _) => *name == counter.name,
            Spot::Field(_) => false,
        });
        if !counts && !set {
            let message = format!("nothing counts the counter `{}`", counter.name);
            let way = Way::of(["counters", &counter.name]);
            add(
                found,
                Class::UnusedName,
                study.name(),
                way,
                message,
                "count it: `count: …` in an arm, or `on: moves`",
            );
        }
    }
    for slot in &life.slots {
        let granted =
            parts(life).iter().any(|it| it.then.lease.as_ref().is_some_and(|it| it.slot == slot.name));
        let asked = arms().any(|it| it.holding.as_ref() == Some(&slot.name));
        if !granted && !asked {
            let message = format!("nothing grants the lease `{}`", slot.name);
            let way = Way::of(["slots", &slot.name]);
            add(
                found,
                Class::UnusedName,
                study.name(),
                way,
                message,
                "grant it with `lease`, or leave it out",
            );
        }
    }
}

/// Effects that nothing asks for.
fn unasked(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    for effect in &life.effects {
        if !parts(life).iter().flat_map(|it| &it.then.effects).any(|it| it.effect == effect.name) {
            let message = format!("nothing asks for the effect `{}`", effect.name);
            let way = Way::of(["effects", &effect.name]);
            add(
                found,
                Class::UnusedName,
                study.name(),
                way,
                message,
                "ask for it with `effects`, or leave it out",
            );
        }
    }
}

/// Relations that nobody asks about.
fn unrelated(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life: &Lifecycle = study.life();
    for relation in &life.relations {
        let asked =
            |it: &Read| matches!(it, Read::Relation(guard) if guard.source() == relation.guard.source());
        if !life.reads.iter().any(asked) {
            let message = format!("no rule asks for the relation `{}`", relation.name);
            let way = Way::of(["relations", &relation.name]);
            add(found, Class::UnusedName, study.name(), way, message, "use it in a `by`, or leave it out");
        }
    }
}

/// Audiences that are never told anything.
fn untold(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for audience in survey.pack.audiences.keys() {
        let told = survey.pack.lifecycles.iter().any(|life| {
            let rules = life.notify.iter().map(|it| &it.tell.audience);
            rules
                .chain(parts(life).iter().flat_map(|it| &it.then.notify).map(|it| &it.audience))
                .any(|it| it == audience)
        });
        if !told {
            let message = format!("nobody ever tells the audience `{audience}` anything");
            let way = Way::of(["audiences", audience]);
            add(
                found,
                Class::UnusedName,
                &survey.pack.name,
                way,
                message,
                "address it in a `notify`, or leave it out",
            );
        }
    }
}
