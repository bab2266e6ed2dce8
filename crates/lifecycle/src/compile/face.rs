//! The role of a lifecycle in generic screens and routes.

use super::context::CompileContext;
use crate::model::{Aim, Face, MEMBER, State, Transition};
use crate::name::Name;
use crate::source::At;
use crate::syntax::{FaceDecl, FaceMap, LifecycleFile};

/// The roles that generic screens and routes know.
const FACES: &[&str] = &["approval", "agent", "channel", MEMBER, "work"];
/// The role of requests to people.
const ASKS_PEOPLE: &str = "approval";

/// Compiles `face` with its names.
pub(super) fn face(
    context: &mut CompileContext<'_>,
    file: &LifecycleFile,
    transitions: &[Transition],
    states: &[State],
) -> Option<Face> {
    let (is, map) = match file.face.as_ref()? {
        FaceDecl::Plain(is) => (is, None),
        FaceDecl::Full(map) => (&map.is, Some(map)),
    };
    if !FACES.contains(&is.it.as_str()) {
        context.unknown("unknown-face", "face", is, FACES);
    }
    let mut face = Face { is: is.it.clone(), approve: None, deny: None, note: None, urgent: None };
    let named = |of: fn(&FaceMap) -> &Option<At<Name>>| map.and_then(|it| of(it).as_ref());
    if *is.it != *ASKS_PEOPLE {
        let decided =
            [named(|it| &it.approve), named(|it| &it.deny), named(|it| &it.note), named(|it| &it.urgent)];
        for it in decided.into_iter().flatten() {
            context.error("wrong-face", it.at, format!("this key is only allowed with `is: {ASKS_PEOPLE}`"));
        }
        return Some(face);
    }
    // Default: the transition of that name, or the only one that can end with this outcome.
    let decision = |context: &mut CompileContext<'_>,
                    given: Option<&At<Name>>,
                    usual: &str,
                    outcome: &str| match given {
        Some(name) => Some(context.transition(name)),
        None => transitions
            .iter()
            .find(|it| *it.name == *usual)
            .map(|it| it.name.clone())
            .or_else(|| only_transition(transitions, states, outcome)),
    };
    face.approve = decision(context, named(|it| &it.approve), "approve", "success");
    face.deny = decision(context, named(|it| &it.deny), "deny", "failure");
    face.note = field(context, file, named(|it| &it.note), "note");
    face.urgent = field(context, file, named(|it| &it.urgent), "urgent");
    Some(face)
}

/// The named field; by default the field with the name of the key.
fn field(
    context: &mut CompileContext<'_>,
    file: &LifecycleFile,
    given: Option<&At<Name>>,
    usual: &str,
) -> Option<Name> {
    let Some(name) = given else { return file.fields.contains(usual).then(|| Name::new(usual)) };
    if !file.fields.contains(&name.it) {
        let known: Vec<&str> = file.fields.names().map(|it| it.it.as_str()).collect();
        context.unknown_in(Some("`fields`"), "unknown-field", "field", name, &known);
    }
    Some(name.it.clone())
}

/// The only transition for others than the engine that ends with an outcome.
fn only_transition(transitions: &[Transition], states: &[State], outcome: &str) -> Option<Name> {
    let ends_so = |aim: &Aim| match aim {
        Aim::State(name) => {
            states.iter().any(|it| it.name == *name && it.outcome.as_ref().is_some_and(|it| **it == *outcome))
        }
        _ => false,
    };
    let mut found = transitions.iter().filter(|it| {
        it.arms.iter().any(|arm| arm.by.source() != "engine" && arm.target.aims().into_iter().any(ends_so))
    });
    let first = found.next()?;
    found.next().is_none().then(|| first.name.clone())
}
