//! Leases: long enough, noticed when they are lost, and given back.

use trackside_lifecycle::model::{Lifecycle, Read, Slot};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;

use crate::check::class::Class;
use crate::check::facts::by_default;
use crate::check::finding::{Finding, ProblemSeverity};
use crate::check::firing::{held_in, keeps};
use crate::check::graph::PossibleMove;
use crate::check::reads::{depends, expressions};
use crate::check::satisfy::CallerKind;
use crate::check::survey::{Study, Survey};
use crate::graph::{arm_way, sites};

/// A setting with this word in its name gives the heartbeat interval of holders.
const RHYTHM: &str = "heartbeat";

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        short(study, found);
        unwatched(study, found);
        for slot in &study.life().slots {
            let held = held_in(study.facts, &slot.name);
            holder_only_states(study, slot, &held, found);
            held_at_end(study, slot, &held, found);
        }
    }
}

fn short(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    for slot in &life.slots {
        let way = DefinitionPath::of(["slots", &slot.name, "for"]);
        let Some(Value::Span(lasts)) = by_default(life, &slot.lasts) else { continue };
        if lasts <= Span(0) {
            let message =
                format!("the lease `{}` lasts {lasts}: it is lost as soon as it is granted", slot.name);
            found.push(Finding::new(
                Class::ShortLease,
                study.name(),
                way,
                message,
                "give it a duration, such as 15m",
            ));
            continue;
        }
        let grace = slot.grace.as_ref().and_then(|it| by_default(life, it)).and_then(|it| it.as_span());
        let lost = Span(lasts.0.saturating_add(grace.map_or(0, |it| it.0)));
        let settings = life.settings.iter().enumerate();
        let rhythms =
            settings.filter(|(n, it)| it.name.to_lowercase().contains(RHYTHM) && is_about(life, slot, *n));
        for (_, setting) in rhythms {
            let Value::Span(every) = &setting.default else { continue };
            if *every >= lost {
                let message = format!(
                    "the lease `{}` expires after {lost}, but a heartbeat is due every {every} (`settings.{}`): it expires before it is renewed",
                    slot.name, setting.name
                );
                let advice = "make it at least two heartbeats long, so that one may be lost";
                let finding = Finding::new(Class::ShortLease, study.name(), way.clone(), message, advice);
                found.push(finding.weighing(ProblemSeverity::Warning));
            }
        }
    }
}

/// Whether an expression reads both the setting and the lease. A similar name alone proves nothing.
fn is_about(life: &Lifecycle, slot: &Slot, setting: usize) -> bool {
    let reads = |it: &Read| matches!(it, Read::Setting(n) if *n == setting);
    let lease = |it: &Read| match it {
        Read::Slot(name, _) => *name == slot.name,
        Read::Field(name) | Read::Was(name) => slot.until.as_ref() == Some(name),
        _ => false,
    };
    std::iter::once(&slot.lasts).chain(&slot.grace).any(|it| depends(life, it, &reads))
        || expressions(life).iter().any(|it| depends(life, it, &reads) && depends(life, it, &lease))
}

/// Leases that no rule releases and whose loss has no consequence.
fn unwatched(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    let grants =
        |slot: &Name| sites(life).iter().any(|it| it.then.lease.as_ref().is_some_and(|it| it.slot == *slot));
    let releases = |slot: &Name| sites(life).iter().any(|it| it.then.release.contains(slot));
    for slot in life.slots.iter().filter(|it| it.lost.is_none()) {
        if grants(&slot.name) && !releases(&slot.name) {
            let message =
                format!("no rule releases the lease `{}`, and nothing happens when it is lost", slot.name);
            let advice = "name a transition in `lost`, or `release` it when the work ends";
            found.push(Finding::new(
                Class::UnwatchedLease,
                study.name(),
                DefinitionPath::of(["slots", &slot.name]),
                message,
                advice,
            ));
        }
    }
}

/// States that only the holder of a lease can leave: once it is lost, no one can.
fn holder_only_states(study: &Study<'_>, slot: &Slot, held: &[Name], found: &mut Vec<Finding>) {
    let (life, graph) = (study.life(), &study.graph);
    // The engine needs no lease.
    let needs = |it: &PossibleMove<'_>| {
        !it.who.contains(&CallerKind::Engine)
            && it.arm.is_some_and(|it| it.holding.as_ref() == Some(&slot.name))
    };
    for state in held.iter().filter_map(|it| graph.place(it)).filter(|it| graph.is_reached(*it)) {
        let Some(decl) = life.states.get(state).filter(|it| it.outcome.is_none()) else { continue };
        let mut ways: Vec<String> = graph.leaving(state).map(|it| format!("`{}`", it.by)).collect();
        if ways.is_empty() || !graph.leaving(state).all(needs) || is_granted_in(life, slot, &decl.name) {
            continue;
        }
        ways.sort();
        ways.dedup();
        let message = format!(
            "an entity in {1} cannot leave once the lease `{0}` is lost: only its holder can take {2}",
            slot.name,
            decl.name,
            super::join_names(&ways)
        );
        let advice = "name a transition in `lost`, or add a transition out of the state that needs no lease";
        let way = DefinitionPath::of(["states", &decl.name]);
        let finding = Finding::new(Class::TrapState, study.name(), way, message, advice);
        found.push(finding.weighing(ProblemSeverity::Warning).by_way_of(graph.route(state)));
    }
}

/// Whether the lease can be granted again without leaving the state.
fn is_granted_in(life: &Lifecycle, slot: &Slot, state: &Name) -> bool {
    let mut arms = life.arms().filter(|it| it.from.has(state));
    arms.any(|arm| {
        let mut all = std::iter::once(&arm.then).chain(arm.target.choices().iter().map(|it| &it.then));
        arm.holding.as_ref() != Some(&slot.name)
            && all.any(|it| it.lease.as_ref().is_some_and(|it| it.slot == slot.name))
    })
}

/// Ends at which a lease is still held.
fn held_at_end(study: &Study<'_>, slot: &Slot, held: &[Name], found: &mut Vec<Finding>) {
    let (life, graph) = (study.life(), &study.graph);
    // A lease that no rule releases has a finding of its own.
    if !sites(life).iter().any(|it| it.then.release.contains(&slot.name)) {
        return;
    }
    for it in graph.moves.iter().filter(|it| graph.is_reached(it.from)) {
        if !study.facts.work.steps(1 + held.len()) {
            return;
        }
        let (Some(arm), Some(from), Some(to)) = (it.arm, life.states.get(it.from), life.states.get(it.to))
        else {
            continue;
        };
        let choice =
            it.choice.and_then(|it| arm.target.choices().iter().position(|other| std::ptr::eq(it, other)));
        let is_kept = to.last
            && held.contains(&from.name)
            && keeps(life, &slot.name, (arm, choice), &from.name, &to.name);
        if is_kept {
            let message = format!(
                "`{}` leads to the final state {} without releasing the lease `{}`: it stays held until it expires",
                arm.transition, to.name, slot.name
            );
            let advice = format!("add `release: {}` to it, or to `enter` of {}", slot.name, to.name);
            let finding = Finding::new(Class::UnwatchedLease, study.name(), arm_way(arm), message, advice);
            found.push(finding.by_way_of(graph.route(it.from)));
        }
    }
}
