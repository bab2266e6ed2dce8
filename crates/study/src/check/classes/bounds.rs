//! Limits on how often a cycle of moves can repeat.

use std::collections::{BTreeMap, BTreeSet};

use trackside_lifecycle::guard::{Guard, Outline};
use trackside_lifecycle::model::{
    Assign, AssignTarget, Consequences, Counter, EntityAttribute, Fit, Lifecycle, Pack, Read, TallyBy,
};
use trackside_lifecycle::name::Name;

use crate::check::graph::PossibleMove;
use crate::check::reads::{depends, expressions};

/// The limit on how often a move can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveLimit {
    /// Only these counters, if any.
    Counters(BTreeSet<Name>),
    /// A condition on a number, a size or the time; or a field that counts.
    Otherwise,
}

impl MoveLimit {
    /// Whether these counters alone limit it.
    pub fn is_by(&self, counters: &[Name]) -> bool {
        matches!(self, Self::Counters(all) if all.iter().all(|it| counters.contains(it)))
    }
}

/// The limit on a move. `known` remembers which counters have a consequence.
pub fn bound(
    pack: &Pack,
    life: &Lifecycle,
    it: &PossibleMove<'_>,
    known: &mut BTreeMap<Name, bool>,
) -> MoveLimit {
    let Some(arm) = it.arm else { return MoveLimit::Counters(BTreeSet::new()) };
    let mut has_effect =
        |name: &&Name| *known.entry((*name).clone()).or_insert_with(|| matters(pack, life, name));
    let mut counters: BTreeSet<Name> = arm.count.iter().filter(|it| has_effect(it)).cloned().collect();
    let mut guards: Vec<&Guard> = vec![&arm.by];
    guards.extend(arm.checks.iter().map(|it| &it.guard));
    guards.extend(arm.target.choices().iter().filter_map(|it| it.when.as_ref()));
    guards.extend(life.states.get(it.to).into_iter().flat_map(|it| &it.checks).map(|it| &it.guard));
    let rests = [it.from, it.to].into_iter().filter_map(|it| life.states.get(it));
    guards.extend(rests.flat_map(|it| &it.always).filter_map(|it| it.when.as_ref()));
    let ends = [life.states.get(it.from).map(|it| &it.exit), life.states.get(it.to).map(|it| &it.enter)];
    let parts = [Some(&arm.then), it.choice.map(|it| &it.then)].into_iter().chain(ends);
    for then in parts.flatten() {
        guards.extend(then.then.iter().filter_map(|it| it.when.as_ref()));
        if then.set.iter().any(|it| by_hand(life, it)) {
            return MoveLimit::Otherwise;
        }
    }
    let other = |it: &Read| measures(life, it) && counter(it).is_none();
    if guards.iter().any(|it| sizes(it) || depends(life, it, &other)) {
        return MoveLimit::Otherwise;
    }
    let read = life
        .counters
        .iter()
        .map(|it| &it.name)
        .filter(|name| guards.iter().any(|it| depends(life, it, &|it| counter(it) == Some(name))));
    counters.extend(read.cloned());
    MoveLimit::Counters(counters)
}

fn counter(read: &Read) -> Option<&Name> {
    match read {
        Read::Counter(name) | Read::Counters(name) => Some(name),
        _ => None,
    }
}

/// Whether a counter has a consequence: a move, a notification, or a rule that reads it.
fn matters(pack: &Pack, life: &Lifecycle, name: &Name) -> bool {
    let follows =
        life.counter(name).is_some_and(|it| it.limit.is_some() && (it.then.is_some() || !it.warn.is_empty()));
    let elsewhere = |it: &Read| matches!(it, Read::Ref(_, EntityAttribute::Counter(it)) | Read::Me(EntityAttribute::Counter(it)) if it == name);
    follows
        || expressions(life).iter().any(|it| depends(life, it, &|it| counter(it) == Some(name)))
        || pack.lifecycles.iter().flat_map(|it| &it.reads).any(elsewhere)
}

/// The counters that a move sets back as a whole.
pub fn resets(life: &Lifecycle, it: &PossibleMove<'_>) -> Vec<Name> {
    let ends = [life.states.get(it.from).map(|it| &it.exit), life.states.get(it.to).map(|it| &it.enter)];
    let parts: Vec<&Consequences> =
        [it.arm.map(|it| &it.then), it.choice.map(|it| &it.then)].into_iter().chain(ends).flatten().collect();
    let set = |name: &Name, assign: &Assign| {
        matches!(&assign.target, AssignTarget::Counter(it) if it == name)
            && matches!(assign.value.outline(), Outline::Constant(_))
    };
    let back = |counter: &&Counter| {
        let name = &counter.name;
        !matches!(counter.tally, TallyBy::ByKey(_))
            && (counter.reset_on.contains(&it.by)
                || parts.iter().any(|it| it.reset.contains(name) || it.set.iter().any(|it| set(name, it))))
    };
    life.counters.iter().filter(back).map(|it| it.name.clone()).collect()
}

/// Whether an assignment counts: a number that is computed from itself.
fn by_hand(life: &Lifecycle, assign: &Assign) -> bool {
    let AssignTarget::Field(name) = &assign.target else { return false };
    let own = |read: &Read| matches!(read, Read::Field(it) if it == name) && measures(life, read);
    depends(life, &assign.value, &own)
}

/// Whether an expression reads the size of a list.
fn sizes(guard: &Guard) -> bool {
    let mut found = false;
    guard.outline().walk(&mut |it| found |= matches!(it, Outline::Call(name, _) if name == "Size"));
    found
}

/// Reads a number or the time: a limit of some kind.
fn measures(life: &Lifecycle, read: &Read) -> bool {
    let number = |name: &str| {
        life.field(name).is_some_and(|it| matches!(it.fits.fit, Fit::Int { .. } | Fit::Number { .. }))
    };
    match read {
        Read::Counter(_) | Read::Counters(_) | Read::Visits | Read::Group(..) | Read::Rank(_) | Read::Now => {
            true
        }
        Read::TimeInState | Read::TimeByState | Read::TotalTime | Read::Overdue | Read::JournalSequence => {
            true
        }
        Read::Field(name) | Read::Was(name) => number(name),
        Read::Ref(_, look) | Read::Me(look) => {
            matches!(look, EntityAttribute::Counter(_) | EntityAttribute::Group(..))
        }
        _ => false,
    }
}
