//! The durations of an expression with default settings.

use trackside_lifecycle::guard::Outline;
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::value::Value;

use crate::truth::{DefaultSettings, Partial};

/// The values an expression can have in a state, without null; none if that is unknown. Both branches of an `if` count.
pub(super) fn possible_values(life: &Lifecycle, state: Option<&str>, outline: &Outline) -> Vec<Value> {
    let known = Partial::new(&life.reads, DefaultSettings { settings: &life.settings, state });
    let mut unique = Vec::new();
    for value in leaves(&known, outline).unwrap_or_default() {
        if !value.is_null() && !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

fn leaves(known: &Partial<'_, DefaultSettings<'_>>, outline: &Outline) -> Option<Vec<Value>> {
    let Outline::If(parts) = outline else { return Some(vec![known.part_value(outline)?]) };
    let [_, yes, no] = &**parts;
    Some([leaves(known, yes)?, leaves(known, no)?].concat())
}
