//! The values that promises read, and the transitions that write them.
//!
//! Read from the definition alone. A transition that writes a value that a promise reads can break it; a transition that
//! writes a value that such a transition reads can make it possible.

use std::collections::{BTreeMap, BTreeSet};

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{
    AssignTarget, Consequences, EntityAttribute, Lifecycle, Pack, PropertyKind, Read, Take,
};
use trackside_lifecycle::name::Name;

use super::Promise;
use crate::graph;

/// A transition: its lifecycle and its name. Creation is called `create`.
pub(super) type TransitionKey = (Name, Name);

/// A part of an entity that is read or written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EntityPart {
    State,
    Field(Name),
    Counter(Name),
    Lease(Name),
}

type Parts = BTreeSet<(Name, EntityPart)>;

/// What every transition of a pack reads and writes, with all its consequences.
#[derive(Debug)]
pub(super) struct ReadsAndWrites {
    reads: BTreeMap<TransitionKey, Parts>,
    writes: BTreeMap<TransitionKey, Parts>,
}

impl ReadsAndWrites {
    pub(super) fn of(pack: &Pack) -> Self {
        let mut relation = Self { reads: BTreeMap::new(), writes: BTreeMap::new() };
        let mut follows: BTreeMap<TransitionKey, Vec<TransitionKey>> = BTreeMap::new();
        for life in &pack.lifecycles {
            relation.lifecycle(pack, life, &mut follows);
        }
        // A transition writes what the transitions that follow from it write. Repeats until nothing is added.
        loop {
            let mut grew = false;
            for (key, next) in &follows {
                let added: Parts =
                    next.iter().filter_map(|it| relation.writes.get(it)).flatten().cloned().collect();
                let writes = relation.writes.entry(key.clone()).or_default();
                let before = writes.len();
                writes.extend(added);
                grew |= writes.len() > before;
            }
            if !grew {
                return relation;
            }
        }
    }

    fn lifecycle(
        &mut self,
        pack: &Pack,
        life: &Lifecycle,
        follows: &mut BTreeMap<TransitionKey, Vec<TransitionKey>>,
    ) {
        let create = (life.name.clone(), Name::new("create"));
        let mut read = Parts::new();
        guard_parts(pack, life, &life.create.by, &mut read);
        life.create.checks.iter().for_each(|it| guard_parts(pack, life, &it.guard, &mut read));
        let mut wrote = Parts::from([(life.name.clone(), EntityPart::State)]);
        takes(life, &life.create.takes, &mut wrote);
        consequences(life, &life.create.then, &mut wrote);
        follows.entry(create.clone()).or_default().extend(followers(life, &life.create.then));
        self.reads.insert(create.clone(), read);
        self.writes.insert(create, wrote);
        for transition in &life.transitions {
            let key = (life.name.clone(), transition.name.clone());
            let (mut read, mut wrote) = (Parts::new(), Parts::new());
            let next = follows.entry(key.clone()).or_default();
            for arm in &transition.arms {
                guard_parts(pack, life, &arm.by, &mut read);
                arm.checks.iter().for_each(|it| guard_parts(pack, life, &it.guard, &mut read));
                read.insert((life.name.clone(), EntityPart::State));
                if let Some(slot) = &arm.holding {
                    read.insert((life.name.clone(), EntityPart::Lease(slot.clone())));
                }
                takes(life, &arm.takes, &mut wrote);
                wrote.extend(arm.count.iter().map(|it| (life.name.clone(), EntityPart::Counter(it.clone()))));
                consequences(life, &arm.then, &mut wrote);
                next.extend(followers(life, &arm.then));
                for choice in arm.target.choices() {
                    choice.when.iter().for_each(|it| guard_parts(pack, life, it, &mut read));
                    consequences(life, &choice.then, &mut wrote);
                    next.extend(followers(life, &choice.then));
                }
                for from in &arm.from.0 {
                    for to in graph::after(life, arm, from).iter().filter(|it| *it != from) {
                        wrote.insert((life.name.clone(), EntityPart::State));
                        let around =
                            [life.state(from).map(|it| &it.exit), life.state(to).map(|it| &it.enter)];
                        for then in around.into_iter().flatten() {
                            consequences(life, then, &mut wrote);
                            next.extend(followers(life, then));
                        }
                    }
                }
            }
            for counter in life.counters.iter().filter(|it| it.reset_on.contains(&transition.name)) {
                wrote.insert((life.name.clone(), EntityPart::Counter(counter.name.clone())));
            }
            self.reads.insert(key.clone(), read);
            self.writes.insert(key, wrote);
        }
    }

    /// How many steps every transition is away from breaking a promise: 0 if it writes what the promise reads, 1 if it
    /// writes what such a transition reads. Others are not listed.
    pub(super) fn steps_to(&self, pack: &Pack, promise: &Promise) -> BTreeMap<TransitionKey, u32> {
        let Some(life) = pack.lifecycles.iter().find(|it| it.name == promise.lifecycle) else {
            return BTreeMap::new();
        };
        let mut wanted = Parts::new();
        for guard in promise.property.kind.guards() {
            guard_parts(pack, life, guard, &mut wanted);
        }
        if promise.property.within.is_some() || matches!(promise.property.kind, PropertyKind::Alone { .. }) {
            wanted.insert((life.name.clone(), EntityPart::State));
        }
        let mut steps: BTreeMap<TransitionKey, u32> =
            promise.property.on.iter().map(|it| ((life.name.clone(), it.clone()), 0)).collect();
        for away in 0..2 {
            let mut enabled = Parts::new();
            for (key, wrote) in &self.writes {
                if !wrote.is_disjoint(&wanted) {
                    steps.entry(key.clone()).or_insert(away);
                }
                if steps.get(key) == Some(&away) {
                    enabled.extend(self.reads.get(key).into_iter().flatten().cloned());
                }
            }
            wanted = enabled;
        }
        steps
    }
}

fn takes(life: &Lifecycle, takes: &[Take], into: &mut Parts) {
    let stored = takes.iter().filter(|it| it.stored);
    into.extend(stored.map(|it| (life.name.clone(), EntityPart::Field(it.name.clone()))));
}

fn consequences(life: &Lifecycle, then: &Consequences, into: &mut Parts) {
    let mut write = |part| {
        into.insert((life.name.clone(), part));
    };
    for assign in &then.set {
        match &assign.target {
            AssignTarget::Field(name) => write(EntityPart::Field(name.clone())),
            AssignTarget::Counter(name) | AssignTarget::CounterAt(name, _) => {
                write(EntityPart::Counter(name.clone()))
            }
        }
    }
    then.clear.iter().for_each(|it| write(EntityPart::Field(it.clone())));
    then.reset.iter().for_each(|it| write(EntityPart::Counter(it.clone())));
    then.lease.iter().map(|it| &it.slot).chain(&then.release).for_each(|it| {
        write(EntityPart::Lease(it.clone()));
        let slot = life.slot(it);
        let shown = slot.iter().flat_map(|it| [&it.holder, &it.until]).flatten();
        shown.for_each(|it| write(EntityPart::Field(it.clone())));
    });
}

/// The transitions that consequences fire.
fn followers(life: &Lifecycle, then: &Consequences) -> Vec<TransitionKey> {
    let own = then.then.iter().map(|it| (life.name.clone(), it.fire.clone()));
    let others = then.also.iter().map(|it| (it.to.clone(), it.fire.clone()));
    let born = then.create.iter().map(|it| (it.lifecycle.clone(), Name::new("create")));
    own.chain(others).chain(born).collect()
}

/// The parts of entities that an expression reads.
fn guard_parts(pack: &Pack, life: &Lifecycle, guard: &Guard, into: &mut Parts) {
    for read in guard.reads().iter().filter_map(|it| life.reads.get(it.slot.0 as usize)) {
        let mut add = |of: &Name, part| {
            into.insert((of.clone(), part));
        };
        match read {
            Read::Field(name) | Read::Was(name) => add(&life.name, EntityPart::Field(name.clone())),
            Read::Computed(guard) | Read::Relation(guard) => guard_parts(pack, life, guard, into),
            Read::State
            | Read::PreviousState
            | Read::Visits
            | Read::TimeByState
            | Read::TimeInState
            | Read::StateEnteredAt => add(&life.name, EntityPart::State),
            Read::Counter(name) | Read::Counters(name) => {
                add(&life.name, EntityPart::Counter(name.clone()));
            }
            Read::Slot(name, _) => add(&life.name, EntityPart::Lease(name.clone())),
            Read::Ref(name, look) => {
                if let Some(reference) = life.reference(name) {
                    attribute(pack, &reference.to, look, into);
                    let by = reference.by.clone();
                    into.extend(by.map(|it| (life.name.clone(), EntityPart::Field(it))));
                }
            }
            Read::Me(look) => {
                if let Some(me) = &life.me {
                    attribute(pack, me, look, into);
                }
            }
            Read::Group(name, _) | Read::All(name) | Read::Listed(name, _) | Read::MovedAt(name) => {
                if let Some(inverse) = life.inverse(name) {
                    add(&inverse.from, EntityPart::State);
                } else if let Some(reference) = life.reference(name) {
                    add(&reference.to, EntityPart::State);
                }
            }
            _ => {}
        }
    }
}

/// A part of another entity.
fn attribute(pack: &Pack, of: &Name, look: &EntityAttribute, into: &mut Parts) {
    let part = match look {
        EntityAttribute::State | EntityAttribute::PreviousState | EntityAttribute::Final => EntityPart::State,
        EntityAttribute::Field(name) => EntityPart::Field(name.clone()),
        EntityAttribute::Counter(name) => EntityPart::Counter(name.clone()),
        EntityAttribute::Group(name, _) => {
            let other = pack.lifecycles.iter().find(|it| it.name == *of);
            if let Some(inverse) = other.and_then(|it| it.inverse(name)) {
                into.insert((inverse.from.clone(), EntityPart::State));
            }
            return;
        }
        _ => return,
    };
    into.insert((of.clone(), part));
}
