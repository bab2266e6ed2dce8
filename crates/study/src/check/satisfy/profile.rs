//! The values that a condition reads, and those that it compares them with.

use std::collections::{BTreeMap, BTreeSet};

use trackside_lifecycle::guard::{Guard, Outline, VarSlot};
use trackside_lifecycle::model::Read;
use trackside_lifecycle::value::Value;

use super::kinds::{self, ValueKind};
use crate::check::facts::Facts;

/// The reads of one or several conditions.
///
/// A read is *plain* if conditions use only its truth, its equality, its order, its membership in a list or
/// its size: then a handful of values represents all. Any other read is *opaque*: nothing is assumed about
/// it.
#[derive(Debug, Default)]
pub struct Profile {
    pub plain: BTreeSet<VarSlot>,
    pub opaque: BTreeSet<VarSlot>,
    /// Whether the absence of a role may make it true.
    pub bent: bool,
    circles: Vec<Circle>,
}

/// Reads that are compared with each other, directly or by way of others, and the constants among them.
#[derive(Clone, Debug, Default)]
pub struct Circle {
    pub slots: BTreeSet<VarSlot>,
    pub constants: Vec<Value>,
    /// Whether the size of a list is read.
    pub sized: bool,
}

impl Circle {
    pub fn add(&mut self, value: &Value) {
        match value {
            Value::List(items) => items.iter().for_each(|it| self.add(it)),
            Value::Null | Value::Map(_) => {}
            _ if self.constants.contains(value) => {}
            _ => self.constants.push(value.clone()),
        }
    }

    fn join(&mut self, other: &Self) {
        self.slots.extend(&other.slots);
        other.constants.iter().for_each(|it| self.add(it));
        self.sized |= other.sized;
    }
}

impl Profile {
    pub fn of(facts: &Facts<'_>, guards: &[&Guard]) -> Self {
        let mut profile = Self::default();
        let mut scan = Scan {
            facts,
            profile: &mut profile,
            here: Circle::default(),
            straight: true,
            gone_into: BTreeSet::new(),
            worked_out: BTreeMap::new(),
        };
        for guard in guards {
            scan.truth(&guard.outline());
        }
        profile
    }

    pub fn is_opaque(&self, slot: VarSlot) -> bool {
        self.opaque.contains(&slot)
    }

    /// The reads that a read is compared with, itself included.
    pub fn circle(&self, slot: VarSlot) -> Circle {
        let alone = || Circle { slots: BTreeSet::from([slot]), ..Circle::default() };
        self.circles.iter().find(|it| it.slots.contains(&slot)).cloned().unwrap_or_else(alone)
    }

    fn join(&mut self, mut circle: Circle) {
        let (near, far) = std::mem::take(&mut self.circles)
            .into_iter()
            .partition::<Vec<_>, _>(|it| !it.slots.is_disjoint(&circle.slots));
        near.iter().for_each(|it| circle.join(it));
        self.circles = far;
        self.circles.push(circle);
    }
}

struct Scan<'a> {
    facts: &'a Facts<'a>,
    profile: &'a mut Profile,
    /// The operands of the current comparison.
    here: Circle,
    /// Whether a true value here makes the whole more likely true.
    straight: bool,
    /// Relations and computed fields that were visited as conditions, and whether straight.
    gone_into: BTreeSet<(VarSlot, bool)>,
    /// Computed fields that are compared, with the reads they consist of.
    worked_out: BTreeMap<VarSlot, Circle>,
}

impl Scan<'_> {
    /// Visits an expression that is used as a condition.
    fn truth(&mut self, outline: &Outline) {
        let single = |it: ValueKind| it.is_single();
        match outline {
            Outline::Constant(_) => {}
            Outline::Read(slot, members) if members.is_empty() => self.read(*slot),
            Outline::All(parts) | Outline::Any(parts) => parts.iter().for_each(|it| self.truth(it)),
            Outline::Not(of) => self.bent(|it| it.truth(of)),
            Outline::If(parts) => self.bent(|it| parts.iter().for_each(|part| it.truth(part))),
            Outline::Has(of) => self.bent(|it| it.compare(&[of])),
            Outline::Equal(both) | Outline::Differ(both) => {
                let [a, b] = &**both;
                let fits = match (self.kind(a), self.kind(b)) {
                    (ValueKind::Null, _) | (_, ValueKind::Null) => true,
                    (ValueKind::List, _) => matches!(b, Outline::Constant(Value::List(it)) if it.is_empty()),
                    (_, ValueKind::List) => matches!(a, Outline::Constant(Value::List(it)) if it.is_empty()),
                    (a, b) => single(a) && single(b),
                };
                self.bent(|it| it.compare_if(fits, both));
            }
            Outline::Less(both) | Outline::AtMost(both) | Outline::More(both) | Outline::AtLeast(both) => {
                let fits = both.iter().all(|it| self.kind(it).is_ordered());
                self.bent(|it| it.compare_if(fits, both));
            }
            Outline::In(both) => {
                let [one, all] = &**both;
                let fits = (single(self.kind(one)) || self.kind(one) == ValueKind::Null)
                    && self.kind(all) == ValueKind::List;
                self.bent(|it| it.compare_if(fits, both));
            }
            other => self.hide(other),
        }
    }

    fn kind(&self, outline: &Outline) -> ValueKind {
        kinds::of(self.facts, outline)
    }

    fn bent(&mut self, look: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.straight, false);
        look(self);
        self.straight = before;
    }

    fn compare_if(&mut self, fits: bool, both: &[Outline; 2]) {
        if fits {
            self.compare(&both.each_ref());
        } else {
            both.iter().for_each(|it| self.hide(it));
        }
    }

    /// These are compared with each other.
    fn compare(&mut self, operands: &[&Outline]) {
        let outer = std::mem::take(&mut self.here);
        operands.iter().for_each(|it| self.operand(it));
        let circle = std::mem::replace(&mut self.here, outer);
        self.profile.join(circle);
    }

    /// Visits an expression that is compared.
    fn operand(&mut self, outline: &Outline) {
        match outline {
            Outline::Constant(value) => self.here.add(value),
            Outline::Read(slot, members) if members.is_empty() => self.read_value(*slot),
            Outline::List(items) => items.iter().for_each(|it| self.operand(it)),
            Outline::If(parts) => {
                let [when, yes, no] = &**parts;
                self.truth(when);
                self.operand(yes);
                self.operand(no);
            }
            Outline::Call(name, arguments) if name == "Size" => match arguments.as_slice() {
                [Outline::Read(slot, members)] if members.is_empty() && self.is_list(*slot) => {
                    self.here.sized = true;
                    self.read_value(*slot);
                }
                _ => self.hide(outline),
            },
            asking if asking.asks() => self.truth(outline),
            other => self.hide(other),
        }
    }

    /// Lists of every length are tried, texts are not.
    fn is_list(&self, slot: VarSlot) -> bool {
        let read = self.facts.life.reads.get(slot.0 as usize);
        read.is_some_and(|it| {
            matches!(it, Read::Field(_) | Read::Was(_) | Read::People)
                && kinds::of_read(self.facts, it) == ValueKind::List
        })
    }

    fn read(&mut self, slot: VarSlot) {
        match self.facts.life.reads.get(slot.0 as usize) {
            Some(Read::Relation(guard) | Read::Computed(guard)) => {
                if self.gone_into.insert((slot, self.straight)) {
                    self.truth(&guard.outline());
                }
            }
            read => {
                self.profile.bent |= !self.straight && matches!(read, Some(Read::Role(_)));
                self.profile.plain.insert(slot);
            }
        }
    }

    fn read_value(&mut self, slot: VarSlot) {
        let Some(Read::Relation(guard) | Read::Computed(guard)) = self.facts.life.reads.get(slot.0 as usize)
        else {
            self.read(slot);
            self.here.slots.insert(slot);
            return;
        };
        if !self.worked_out.contains_key(&slot) {
            self.worked_out.insert(slot, Circle::default());
            let outer = std::mem::take(&mut self.here);
            self.operand(&guard.outline());
            let made_of = std::mem::replace(&mut self.here, outer);
            self.worked_out.insert(slot, made_of);
        }
        if let Some(made_of) = self.worked_out.get(&slot) {
            self.here.join(made_of);
        }
    }

    /// Marks every read in an expression as unknown.
    fn hide(&mut self, outline: &Outline) {
        let mut slots = Vec::new();
        outline.walk(&mut |it| {
            if let Outline::Read(slot, _) = it {
                slots.push(*slot);
            }
        });
        for slot in slots {
            if !self.profile.opaque.insert(slot) {
                continue;
            }
            match self.facts.life.reads.get(slot.0 as usize) {
                Some(Read::Relation(guard) | Read::Computed(guard)) => self.hide(&guard.outline()),
                Some(Read::Role(_)) => self.profile.bent = true,
                _ => {}
            }
        }
    }
}
