//! The parts of an entity that can still affect a decision or a promise.
//!
//! Two worlds that differ only in values that no rule and no promise reads behave the same, so they count
//! as one. Texts for people, times that are only recorded, versions and numbers of entries are left out.

use std::collections::{BTreeMap, BTreeSet};

use trackside_lifecycle::guard::{Guard, Outline};
use trackside_lifecycle::model::{
    Aim, EntityAttribute, Every, Fit, Lifecycle, Pack, Read, SlotAttribute, TimerKind,
};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::rules::{self, Use};

/// The use of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Interest {
    /// Only its presence.
    There,
    Value,
}

/// The values that rules and promises read from the entities of one lifecycle.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ObservedReads {
    pub(crate) fields: BTreeMap<Name, Interest>,
    /// Counters that are read, or that have a limit.
    pub(crate) counters: BTreeSet<Name>,
    /// Inverse relations whose last move a rule reads.
    pub(crate) moved: BTreeSet<Name>,
    pub(crate) previous: bool,
    pub(crate) version: bool,
    pub(crate) created: bool,
    pub(crate) updated: bool,
    pub(crate) entered: bool,
    pub(crate) spent: bool,
    pub(crate) visits: bool,
    pub(crate) fences: bool,
    /// Equal weights: the older first.
    pub(crate) age: bool,
}

/// The values that are read, by lifecycle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cone {
    pub(crate) by_lifecycle: BTreeMap<Name, ObservedReads>,
    /// Rules compare the time with a fixed moment.
    pub(crate) moment: bool,
    /// Whether a timer runs at a time of day.
    pub(crate) daily: bool,
}

/// Expressions that decide about moves.
pub(crate) fn decisive(life: &Lifecycle) -> Vec<&Guard> {
    rules::of(life).into_iter().map(|(guard, _)| guard).collect()
}

impl Cone {
    pub(crate) fn of(pack: &Pack) -> Self {
        let mut cone = Self::default();
        for life in &pack.lifecycles {
            cone.by_lifecycle.entry(life.name.clone()).or_default();
            cone.declared(life);
            cone.daily |=
                life.timers.iter().any(|it| matches!(it.kind, TimerKind::Every(Every::Daily { .. })))
                    || life.counters.iter().any(|it| matches!(it.reset_every, Some(Every::Daily { .. })));
        }
        // The source of a field matters if the field does. Repeats until nothing is added.
        loop {
            let before = (cone.by_lifecycle.clone(), cone.moment);
            for life in &pack.lifecycles {
                for (guard, used) in rules::of(life) {
                    let matters = match &used {
                        Use::Decides => true,
                        Use::Sets(field) => cone.interest(&life.name, field).is_some(),
                    };
                    if matters {
                        cone.look(pack, life, guard);
                    }
                }
            }
            if before == (cone.by_lifecycle.clone(), cone.moment) {
                return cone;
            }
        }
    }

    /// Only what these expressions of a lifecycle read.
    pub(crate) fn of_guards(pack: &Pack, life: &Lifecycle, guards: &[&Guard]) -> Self {
        let mut cone = Self::default();
        cone.by_lifecycle.entry(life.name.clone()).or_default();
        guards.iter().for_each(|it| cone.look(pack, life, it));
        cone
    }

    fn interest(&self, life: &Name, field: &Name) -> Option<Interest> {
        self.by_lifecycle.get(life)?.fields.get(field).copied()
    }

    fn want(&mut self, life: &Name, field: &Name, how: Interest) {
        let fields = &mut self.by_lifecycle.entry(life.clone()).or_default().fields;
        let known = fields.entry(field.clone()).or_insert(how);
        *known = (*known).max(how);
    }

    /// Fields that declared keys read, beside expressions.
    fn declared(&mut self, life: &Lifecycle) {
        for state in &life.states {
            state.require.iter().for_each(|(field, _)| self.want(&life.name, field, Interest::There));
            state.frozen.iter().for_each(|field| self.want(&life.name, field, Interest::Value));
        }
        life.refs.iter().filter_map(|it| it.by.as_ref()).for_each(|it| {
            self.want(&life.name, it, Interest::Value);
        });
        for timer in &life.timers {
            if let TimerKind::At(field) = &timer.kind {
                self.want(&life.name, field, Interest::Value);
            }
        }
        for arm in life.arms() {
            for aim in arm.target.aims() {
                match aim {
                    Aim::Field(field) | Aim::Ask { of: Some(field), .. } | Aim::Next { of: Some(field) } => {
                        self.want(&life.name, field, Interest::Value)
                    }
                    _ => {}
                }
            }
        }
        let looked = self.by_lifecycle.entry(life.name.clone()).or_default();
        looked.age = !life.rankings.is_empty();
        let limited = life.counters.iter().filter(|it| it.limit.is_some());
        looked.counters.extend(limited.map(|it| it.name.clone()));
    }

    fn look(&mut self, pack: &Pack, life: &Lifecycle, guard: &Guard) {
        let mut reads = Vec::new();
        let outline = guard.outline();
        collect(&outline, Interest::Value, &mut reads);
        let moments = guard.reads().iter().any(|it| is_moment(life, it.slot.0));
        outline.walk(&mut |part| {
            self.moment |= moments
                && match part {
                    Outline::Constant(value) => value.as_time().is_some(),
                    Outline::Call(name, _) => name == "Timestamp",
                    _ => false,
                };
        });
        for (slot, how) in reads {
            if let Some(read) = life.reads.get(slot as usize) {
                self.read(pack, life, read, how);
            }
        }
    }

    fn read(&mut self, pack: &Pack, life: &Lifecycle, read: &Read, how: Interest) {
        let looked = self.by_lifecycle.entry(life.name.clone()).or_default();
        match read {
            Read::Field(name) | Read::Was(name) => self.want(&life.name, name, how),
            Read::Computed(guard) | Read::Relation(guard) => self.look(pack, life, guard),
            Read::PreviousState => looked.previous = true,
            Read::Version => looked.version = true,
            Read::CreatedAt => looked.created = true,
            Read::TotalTime => {
                looked.created = true;
                looked.entered = true;
            }
            Read::UpdatedAt => looked.updated = true,
            Read::StateEnteredAt | Read::TimeInState => looked.entered = true,
            Read::TimeByState => {
                looked.spent = true;
                looked.entered = true;
            }
            Read::Visits => looked.visits = true,
            Read::Fence | Read::Slot(_, SlotAttribute::Fence) => looked.fences = true,
            Read::MovedAt(name) => {
                looked.moved.insert(name.clone());
            }
            Read::Counter(name) | Read::Counters(name) => {
                looked.counters.insert(name.clone());
            }
            Read::Ref(name, look) => {
                if let Some(reference) = life.reference(name) {
                    self.other(&reference.to, look, how);
                }
            }
            Read::Me(look) => {
                if let Some(me) = &life.me {
                    self.other(me, look, how);
                }
            }
            Read::All(name) | Read::Listed(name, _) => {
                let from = life.inverse(name).map(|it| &it.from);
                if let Some(from) = from {
                    self.by_lifecycle.entry(from.clone()).or_default().version = true;
                }
                let other = pack.lifecycles.iter().find(|it| Some(&it.name) == from);
                for field in other.iter().flat_map(|it| it.fields.values()).filter(|it| it.is.is_none()) {
                    if let Some(from) = from {
                        self.want(from, &field.name, Interest::Value);
                    }
                }
            }
            _ => {}
        }
    }

    fn other(&mut self, life: &Name, look: &EntityAttribute, how: Interest) {
        let looked = self.by_lifecycle.entry(life.clone()).or_default();
        match look {
            EntityAttribute::Field(field) => self.want(life, field, how),
            EntityAttribute::PreviousState => looked.previous = true,
            EntityAttribute::Version => looked.version = true,
            EntityAttribute::CreatedAt => looked.created = true,
            EntityAttribute::StateEnteredAt => looked.entered = true,
            EntityAttribute::Counter(name) => {
                looked.counters.insert(name.clone());
            }
            _ => {}
        }
    }
}

/// Whether a read yields a time, or may.
fn is_moment(life: &Lifecycle, slot: u32) -> bool {
    match life.reads.get(slot as usize) {
        Some(Read::Now | Read::CreatedAt | Read::UpdatedAt | Read::StateEnteredAt | Read::MovedAt(_)) => true,
        Some(Read::Slot(_, SlotAttribute::Until)) => true,
        Some(Read::Field(name) | Read::Was(name)) => {
            life.field(name).is_some_and(|it| matches!(it.fits.fit, Fit::Time | Fit::Any))
        }
        _ => false,
    }
}

/// A read, and whether only its presence matters.
fn collect(part: &Outline, how: Interest, into: &mut Vec<(u32, Interest)>) {
    match part {
        Outline::Read(slot, members) => {
            let how = if members.is_empty() { how } else { Interest::Value };
            into.push((slot.0, how));
        }
        Outline::Has(of) => collect(of, Interest::There, into),
        Outline::Equal(both) | Outline::Differ(both) => {
            let null = |it: &Outline| matches!(it, Outline::Constant(Value::Null));
            let [a, b] = &**both;
            let how = if null(a) || null(b) { Interest::There } else { Interest::Value };
            collect(a, how, into);
            collect(b, how, into);
        }
        other => other.parts().into_iter().for_each(|it| collect(it, Interest::Value, into)),
    }
}
