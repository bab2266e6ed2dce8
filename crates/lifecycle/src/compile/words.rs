//! Names that the author chooses, and those that are not free.

use super::arms::syntax_list;
use super::names::is_reserved;
use super::workbench::Workbench;
use crate::name::Name;
use crate::source::{At, Named, Problems};
use crate::syntax::LifecycleFile;

/// What the journal and the commands call moves of their own.
const MOVES: &[&str] = &["create", "always", "heartbeat", "correct", "given"];
/// What a list of states or a target may say instead of a name.
const PLACES: &[&str] = &["any", "stay"];

/// The longest word of another tool.
const LONGEST: usize = 60;

/// Declared names that would be mistaken for others.
pub(super) fn are_distinct(bench: &mut Workbench<'_>, file: &LifecycleFile) {
    for name in file.states.names() {
        undotted(bench, name, "state");
    }
    known_elsewhere(bench, file);
    for name in file.timers.names() {
        undotted(bench, name, "timer");
        like_a_state(bench, name, "timer", "its deadline is a timer of that name");
    }
    for name in file.sets.names() {
        has_meaning(bench.problems, name, "set of states", PLACES.contains(&name.it.as_str()));
        like_a_state(bench, name, "set", "a list of states could mean either");
    }
    for name in file.transitions.names() {
        has_meaning(bench.problems, name, "transition", MOVES.contains(&name.it.as_str()));
    }
}

pub(super) fn roles_are_free<T>(roles: &Named<T>, problems: &mut Problems) {
    for name in roles.names() {
        has_meaning(problems, name, "role", is_reserved(&name.it));
    }
}

/// Whether it has a meaning of its own; says so if it has.
pub(super) fn has_meaning(problems: &mut Problems, name: &At<Name>, kind: &str, reserved: bool) -> bool {
    if reserved {
        problems.error(
            "reserved-name",
            name.at,
            format!("`{}` has a meaning of its own; choose another name for this {kind}", name.it),
        );
    }
    reserved
}

fn undotted(bench: &mut Workbench<'_>, name: &At<Name>, kind: &str) {
    if name.it.contains('.') {
        bench
            .problems
            .error("dotted-name", name.at, format!("the name of a {kind} has no dot"))
            .hint(format!("write `{}`: names with a dot are the engine's", name.it.replace('.', "_")));
    }
}

/// What other tools call states: a word means one of them.
fn known_elsewhere(bench: &mut Workbench<'_>, file: &LifecycleFile) {
    let mut known: Vec<(Name, Name)> = Vec::new();
    for (state, decl) in file.states.iter() {
        for word in decl.iter().flat_map(|it| syntax_list(&it.known_as)) {
            let text = word.it.as_str();
            if text.trim() != text || text.chars().count() > LONGEST || text.contains(char::is_control) {
                bench
                    .problems
                    .error("known-as", word.at, "nothing is called so")
                    .hint(format!("write up to {LONGEST} letters, without blanks around them"));
                continue;
            }
            let is_state = bench.shape.is_state(&word.it).then_some(&word.it);
            let meant = known.iter().find(|(it, _)| *it == word.it).map(|(_, state)| state);
            match is_state.or(meant) {
                None => known.push((word.it, state.it.clone())),
                Some(meant) => {
                    bench
                        .problems
                        .error("name-taken", word.at, format!("`{}` already means {meant}", word.it))
                        .hint("a word of another tool means one state: leave it to one of them");
                }
            }
        }
    }
}

fn like_a_state(bench: &mut Workbench<'_>, name: &At<Name>, kind: &str, why: &str) {
    if bench.shape.is_state(&name.it) {
        bench
            .problems
            .error("name-taken", name.at, format!("`{}` is already the name of a state", name.it))
            .hint(format!("choose another name for this {kind}: {why}"));
    }
}
