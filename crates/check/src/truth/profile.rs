//! What a condition reads, and what it compares that with.

use std::collections::{BTreeMap, BTreeSet};

use trackside_lifecycle::guard::{Guard, Outline, Slot};
use trackside_lifecycle::model::{Fit, Lifecycle, Read};
use trackside_lifecycle::value::Value;

/// The reads of one or several conditions.
///
/// A read is *plain* when only its truth, its equality, its order, its place in a list or its size
/// is asked for: then a handful of values stands for all. Any other read is *opaque*: nothing is
/// assumed about it.
#[derive(Debug, Default)]
pub struct Profile {
    pub plain: BTreeSet<Slot>,
    pub opaque: BTreeSet<Slot>,
    /// Every constant that something is compared with.
    pub constants: Vec<Value>,
}

impl Profile {
    pub fn of(life: &Lifecycle, guards: &[&Guard]) -> Self {
        let mut profile = Self::default();
        let mut scan = Scan { life, profile: &mut profile, open: BTreeMap::new() };
        for guard in guards {
            scan.truth(&guard.outline());
        }
        profile
    }

    pub fn is_opaque(&self, slot: Slot) -> bool {
        self.opaque.contains(&slot)
    }

    fn compare_with(&mut self, value: &Value) {
        match value {
            Value::List(items) => items.iter().for_each(|it| self.compare_with(it)),
            Value::Null | Value::Map(_) => {}
            _ if self.constants.contains(value) => {}
            _ => self.constants.push(value.clone()),
        }
    }
}

struct Scan<'a> {
    life: &'a Lifecycle,
    profile: &'a mut Profile,
    /// Relations and computed fields gone into, and how.
    open: BTreeMap<Slot, bool>,
}

impl Scan<'_> {
    /// Where true or false is asked for.
    fn truth(&mut self, outline: &Outline) {
        match outline {
            Outline::Constant(_) => {}
            Outline::Read(slot, members) if members.is_empty() => self.read(*slot, true),
            Outline::All(parts) | Outline::Any(parts) => parts.iter().for_each(|it| self.truth(it)),
            Outline::Not(of) => self.truth(of),
            Outline::If(parts) => parts.iter().for_each(|it| self.truth(it)),
            Outline::Has(of) => self.operand(of),
            Outline::Equal(both)
            | Outline::Differ(both)
            | Outline::Less(both)
            | Outline::AtMost(both)
            | Outline::More(both)
            | Outline::AtLeast(both)
            | Outline::In(both) => both.iter().for_each(|it| self.operand(it)),
            other => self.hide(other),
        }
    }

    /// Where a value is compared.
    fn operand(&mut self, outline: &Outline) {
        match outline {
            Outline::Constant(value) => self.profile.compare_with(value),
            Outline::Read(slot, members) if members.is_empty() => self.read(*slot, false),
            Outline::List(items) => items.iter().for_each(|it| self.operand(it)),
            Outline::If(parts) => {
                let [when, yes, no] = &**parts;
                self.truth(when);
                self.operand(yes);
                self.operand(no);
            }
            Outline::Call(name, arguments) if name == "Size" => match arguments.as_slice() {
                [Outline::Read(slot, members)] if members.is_empty() && self.is_list(*slot) => {
                    self.read(*slot, false);
                }
                _ => self.hide(outline),
            },
            Outline::All(_)
            | Outline::Any(_)
            | Outline::Not(_)
            | Outline::Has(_)
            | Outline::Equal(_)
            | Outline::Differ(_)
            | Outline::Less(_)
            | Outline::AtMost(_)
            | Outline::More(_)
            | Outline::AtLeast(_)
            | Outline::In(_) => self.truth(outline),
            other => self.hide(other),
        }
    }

    /// Lists of every length are tried, texts are not.
    fn is_list(&self, slot: Slot) -> bool {
        match self.life.reads.get(slot.0 as usize) {
            Some(Read::Field(name) | Read::Was(name)) => {
                self.life.field(name).is_some_and(|it| matches!(it.fits.fit, Fit::List { .. }))
            }
            Some(Read::People) => true,
            _ => false,
        }
    }

    fn read(&mut self, slot: Slot, truth: bool) {
        let life = self.life;
        match life.reads.get(slot.0 as usize) {
            Some(Read::Relation(guard) | Read::Computed(guard)) => {
                if self.open.insert(slot, truth).is_none_or(|before| before != truth) {
                    let outline = guard.outline();
                    if truth { self.truth(&outline) } else { self.operand(&outline) }
                }
            }
            _ => drop(self.profile.plain.insert(slot)),
        }
    }

    /// Nothing is assumed about anything in here.
    fn hide(&mut self, outline: &Outline) {
        let mut slots = Vec::new();
        outline.walk(&mut |it| {
            if let Outline::Read(slot, _) = it {
                slots.push(*slot);
            }
        });
        for slot in slots {
            if self.profile.opaque.insert(slot)
                && let Some(Read::Relation(guard) | Read::Computed(guard)) =
                    self.life.reads.get(slot.0 as usize)
            {
                self.hide(&guard.outline());
            }
        }
    }
}
