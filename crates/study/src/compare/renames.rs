//! Guesses renames: an item that was removed and a similar one that was added.

use std::collections::BTreeSet;

use trackside_lifecycle::model::{Aim, Lifecycle, Target};
use trackside_lifecycle::name::Name;

use crate::compare::change::{Change, ChangeKind, Direction};

/// States and transitions that were removed while a new one has the same edges.
pub fn guess_renames(old: &Lifecycle, new: &Lifecycle) -> Vec<Change> {
    let mut changes = Vec::new();
    let names = |life: &Lifecycle, states: bool| -> Vec<Name> {
        if states {
            life.states.iter().map(|it| it.name.clone()).collect()
        } else {
            life.transitions.iter().map(|it| it.name.clone()).collect()
        }
    };
    for states in [true, false] {
        let (before, after) = (names(old, states), names(new, states));
        let mut free: Vec<&Name> = after.iter().filter(|it| !before.contains(it)).collect();
        for gone in before.iter().filter(|it| !after.contains(it)) {
            let was = edges(old, gone, states);
            let twin = free.iter().position(|it| !was.is_empty() && edges(new, it, states) == was);
            let Some(twin) = twin else { continue };
            changes.push(suggestion(new, states, gone, free.remove(twin)));
        }
    }
    changes
}

fn suggestion(life: &Lifecycle, states: bool, gone: &Name, twin: &Name) -> Change {
    let what = if states { "state" } else { "transition" };
    let advice = if states {
        format!("if so, correct the entities in {gone} to {twin}")
    } else {
        "if so, requests with the old name are refused from now on".to_owned()
    };
    Change {
        kind: ChangeKind::Changed,
        direction: Direction::Neutral,
        lifecycle: Some(life.name.clone()),
        subject: format!("{what} {gone}"),
        sentence: format!(
            "{what} {gone} may have been renamed to {twin}, which has the same edges: {advice}"
        ),
        wording: false,
        path: true,
    }
}

/// Every edge that touches a state, or that a transition has; the name in question left out.
fn edges(life: &Lifecycle, name: &Name, states: bool) -> BTreeSet<(String, String, String)> {
    let mut all = BTreeSet::new();
    let blank = |it: &str| if states && it == name.as_str() { "?".to_owned() } else { it.to_owned() };
    for arm in life.arms() {
        for from in &arm.from.0 {
            for to in targets(&arm.target) {
                let touches =
                    if states { from == name || to == name.as_str() } else { arm.transition == *name };
                if touches {
                    let by = if states { arm.transition.to_string() } else { String::new() };
                    all.insert((blank(from), blank(&to), by));
                }
            }
        }
    }
    all
}

fn targets(target: &Target) -> Vec<String> {
    let of = |aim: &Aim| match aim {
        Aim::State(name) => vec![name.to_string()],
        Aim::Table(table) => table.values().map(Name::to_string).collect(),
        Aim::Stay => vec!["stay".to_owned()],
        Aim::Field(_) | Aim::Ask { .. } | Aim::Next { .. } => vec!["elsewhere".to_owned()],
    };
    match target {
        Target::One(aim) => of(aim),
        Target::Choices(choices) => choices.iter().flat_map(|it| of(&it.aim)).collect(),
    }
}
