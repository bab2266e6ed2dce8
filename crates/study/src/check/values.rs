//! The values that a field can ever have, according to the rules that write it.

use std::collections::BTreeMap;

use trackside_lifecycle::guard::Outline;
use trackside_lifecycle::model::{AssignTarget, Lifecycle, Pack, Read};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::graph::sites;

/// The values that a field can hold.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValues {
    Anything,
    /// Only these.
    Among(Vec<Value>),
    /// A list of no more than this many.
    AtMost(usize),
}

/// The possible values of every stored field of a lifecycle.
pub fn field_values(pack: &Pack, life: &Lifecycle) -> BTreeMap<Name, FieldValues> {
    let mut all: BTreeMap<Name, FieldValues> = life
        .fields
        .values()
        .filter(|it| it.is.is_none())
        .map(|it| (it.name.clone(), FieldValues::Among(vec![it.default.clone()])))
        .collect();
    let arms = life.arms();
    let gates = life.gates.iter().flat_map(|it| &it.takes);
    let takes = arms.flat_map(|it| &it.takes).chain(&life.create.takes).chain(gates).filter(|it| it.stored);
    for take in takes {
        all.insert(take.name.clone(), FieldValues::Anything);
    }
    for slot in &life.slots {
        for field in [&slot.holder, &slot.until].into_iter().flatten() {
            all.insert(field.clone(), FieldValues::Anything);
        }
    }
    // A rule that creates an entity may set any field.
    for other in &pack.lifecycles {
        for birth in sites(other).iter().flat_map(|it| &it.then.create) {
            if birth.lifecycle == life.name {
                for (name, _) in &birth.fields {
                    all.insert(name.clone(), FieldValues::Anything);
                }
            }
        }
    }
    for part in sites(life) {
        for assign in &part.then.set {
            if let AssignTarget::Field(name) = &assign.target {
                let value = worth(life, name, &assign.value.outline());
                add(&mut all, name, value);
            }
        }
        for name in &part.then.clear {
            add(&mut all, name, FieldValues::Among(vec![Value::Null]));
        }
    }
    for kept in life.states.iter().filter_map(|it| it.erase.as_ref()) {
        let dropped: Vec<Name> = all.keys().filter(|it| !kept.contains(it)).cloned().collect();
        for name in dropped {
            add(&mut all, &name, FieldValues::Among(vec![Value::Null]));
        }
    }
    all
}

impl FieldValues {
    /// Whether no rule ever sets it.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Among(values) if values.iter().all(Value::is_null))
    }
}

fn add(all: &mut BTreeMap<Name, FieldValues>, name: &Name, more: FieldValues) {
    let Some(old) = all.get_mut(name) else { return };
    *old = either(old.clone(), more);
}

fn either(a: FieldValues, b: FieldValues) -> FieldValues {
    match (a, b) {
        (FieldValues::Among(mut a), FieldValues::Among(b)) => {
            for value in b {
                if !a.contains(&value) {
                    a.push(value);
                }
            }
            if a.len() > 24 { FieldValues::Anything } else { FieldValues::Among(a) }
        }
        (FieldValues::AtMost(a), FieldValues::AtMost(b)) => FieldValues::AtMost(a.max(b)),
        (FieldValues::AtMost(most), FieldValues::Among(values))
        | (FieldValues::Among(values), FieldValues::AtMost(most)) => {
            let sizes: Option<Vec<usize>> = values.iter().map(length).collect();
            sizes.map_or(FieldValues::Anything, |it| {
                FieldValues::AtMost(it.into_iter().fold(most, usize::max))
            })
        }
        _ => FieldValues::Anything,
    }
}

fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Null => Some(0),
        Value::List(items) => Some(items.len()),
        _ => None,
    }
}

/// The values that an expression assigns to a field.
fn worth(life: &Lifecycle, field: &Name, value: &Outline) -> FieldValues {
    match value {
        Outline::Constant(it) => FieldValues::Among(vec![it.clone()]),
        Outline::List(items) => FieldValues::AtMost(items.len()),
        Outline::If(parts) => {
            let [_, yes, no] = &**parts;
            either(worth(life, field, yes), worth(life, field, no))
        }
        Outline::Read(slot, members) if members.is_empty() => match life.reads.get(slot.0 as usize) {
            // It keeps its value.
            Some(Read::Field(it) | Read::Was(it)) if it == field => FieldValues::Among(Vec::new()),
            _ => FieldValues::Anything,
        },
        _ => FieldValues::Anything,
    }
}
