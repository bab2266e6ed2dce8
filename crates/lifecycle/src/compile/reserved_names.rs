//! Reserved names, and names that must be distinct.

use super::arms::syntax_list;
use super::context::CompileContext;
use super::names::is_reserved;
use crate::name::Name;
use crate::source::{At, Named, Problems};
use crate::syntax::LifecycleFile;

/// Names that the journal and the commands use for their own moves.
const MOVES: &[&str] = &["create", "always", "heartbeat", "correct", "given"];
/// Words with a meaning in a list of states or as a target.
const PLACES: &[&str] = &["any", "stay"];

/// The longest `known_as` word, in characters.
const LONGEST: usize = 60;

/// Reports declared names that are reserved or ambiguous.
pub(super) fn check_names(context: &mut CompileContext<'_>, file: &LifecycleFile) {
    for name in file.states.names() {
        undotted(context, name, "state");
    }
    known_elsewhere(context, file);
    for name in file.timers.names() {
        undotted(context, name, "timer");
        like_a_state(context, name, "timer", "its deadline is a timer of that name");
    }
    for name in file.sets.names() {
        has_meaning(context.problems, name, "set of states", PLACES.contains(&name.it.as_str()));
        like_a_state(context, name, "set", "a list of states could mean either");
    }
    for name in file.transitions.names() {
        has_meaning(context.problems, name, "transition", MOVES.contains(&name.it.as_str()));
    }
}

pub(super) fn roles_are_free<T>(roles: &Named<T>, problems: &mut Problems) {
    for name in roles.names() {
        has_meaning(problems, name, "role", is_reserved(&name.it));
    }
}

/// True for a reserved name, which it reports.
pub(super) fn has_meaning(problems: &mut Problems, name: &At<Name>, kind: &str, reserved: bool) -> bool {
    if reserved {
        problems.error(
            "reserved-name",
            name.at,
            format!("`{}` is a reserved word; choose another name for this {kind}", name.it),
        );
    }
    reserved
}

fn undotted(context: &mut CompileContext<'_>, name: &At<Name>, kind: &str) {
    if name.it.contains('.') {
        context
            .problems
            .error("dotted-name", name.at, format!("the name of a {kind} cannot contain a dot"))
            .hint(format!(
                "write `{}`; names with a dot are reserved for the engine",
                name.it.replace('.', "_")
            ))
            .for_new_packs();
    }
}

/// Each `known_as` word must stand for exactly one state.
fn known_elsewhere(context: &mut CompileContext<'_>, file: &LifecycleFile) {
    let mut known: Vec<(Name, Name)> = Vec::new();
    for (state, decl) in file.states.iter() {
        for word in decl.iter().flat_map(|it| syntax_list(&it.known_as)) {
            let text = word.it.as_str();
            if text.trim() != text || text.chars().count() > LONGEST || text.contains(char::is_control) {
                context
                    .problems
                    .error("known-as", word.at, format!("`known_as` must be 1–{LONGEST} characters without leading, trailing or control characters"))
                    .hint("remove spaces and line breaks around the word, or shorten it");
                continue;
            }
            let is_state = context.shape.is_state(&word.it).then_some(&word.it);
            let meant = known.iter().find(|(it, _)| *it == word.it).map(|(_, state)| state);
            match is_state.or(meant) {
                None => known.push((word.it, state.it.clone())),
                Some(meant) => {
                    context
                        .problems
                        .error("name-taken", word.at, format!("`{}` already stands for {meant}", word.it))
                        .hint("a `known_as` word can stand for one state only; remove it from one of them");
                }
            }
        }
    }
}

fn like_a_state(context: &mut CompileContext<'_>, name: &At<Name>, kind: &str, why: &str) {
    if context.shape.is_state(&name.it) {
        context
            .problems
            .error("name-taken", name.at, format!("`{}` is already the name of a state", name.it))
            .hint(format!("choose another name for this {kind}: {why}"));
    }
}
