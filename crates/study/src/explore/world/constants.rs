//! The values that rules compare a field with: the ones worth sending.

use std::collections::BTreeMap;

use trackside_lifecycle::guard::{Guard, Outline};
use trackside_lifecycle::model::{Lifecycle, Read};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::cone::decisive;

/// Field, or value taken, to the constants it is compared with.
pub(crate) type Constants = BTreeMap<Name, Vec<Value>>;

pub(crate) fn of(life: &Lifecycle) -> Constants {
    let mut found = Constants::new();
    // Includes the comparisons in computed fields and relations.
    let behind = life.reads.iter().filter_map(|it| match it {
        Read::Computed(guard) | Read::Relation(guard) => Some(guard),
        _ => None,
    });
    for guard in decisive(life).into_iter().chain(behind) {
        mine(life, guard, &mut found);
    }
    found
}

fn mine(life: &Lifecycle, guard: &Guard, found: &mut Constants) {
    let name = |it: &Outline| match it {
        Outline::Read(slot, members) if members.is_empty() => match life.reads.get(slot.0 as usize) {
            Some(Read::Field(name) | Read::Taken(name) | Read::Was(name)) => Some(name.clone()),
            _ => None,
        },
        _ => None,
    };
    let mut note = |name: Name, value: &Value| {
        let known = found.entry(name).or_default();
        if !value.is_null() && !known.contains(value) {
            known.push(value.clone());
        }
    };
    guard.outline().walk(&mut |part| match part {
        Outline::Equal(both)
        | Outline::Differ(both)
        | Outline::Less(both)
        | Outline::AtMost(both)
        | Outline::More(both)
        | Outline::AtLeast(both) => {
            let [a, b] = &**both;
            match (a, b) {
                (a, Outline::Constant(value)) | (Outline::Constant(value), a) => {
                    if let Some(name) = name(a) {
                        note(name, value);
                    }
                }
                _ => {}
            }
        }
        Outline::In(both) => {
            let [a, b] = &**both;
            if let (Some(name), Outline::Constant(Value::List(values))) = (name(a), b) {
                for value in values.iter() {
                    note(name.clone(), value);
                }
            }
        }
        _ => {}
    });
}
