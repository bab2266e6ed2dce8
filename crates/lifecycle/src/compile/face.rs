//! What general screens and routes see in a lifecycle.

use super::workbench::Workbench;
use crate::model::{Aim, Face, MEMBER, State, Transition};
use crate::name::Name;
use crate::source::At;
use crate::syntax::{FaceDecl, FaceMap, LifecycleFile};

/// What general screens and routes know how to speak to.
const FACES: &[&str] = &["approval", "agent", "channel", MEMBER, "work"];
/// The one of requests to people.
const ASKS_PEOPLE: &str = "approval";

/// The face of a lifecycle, with the names it goes by.
pub(super) fn face(
    bench: &mut Workbench<'_>,
    file: &LifecycleFile,
    transitions: &[Transition],
    states: &[State],
) -> Option<Face> {
    let (is, map) = match file.face.as_ref()? {
        FaceDecl::Plain(is) => (is, None),
        FaceDecl::Full(map) => (&map.is, Some(map)),
    };
    if !FACES.contains(&is.it.as_str()) {
        bench.unknown("unknown-face", "face", is, FACES);
    }
    let mut face = Face { is: is.it.clone(), approve: None, deny: None, note: None, urgent: None };
    let named = |of: fn(&FaceMap) -> &Option<At<Name>>| map.and_then(|it| of(it).as_ref());
    if *is.it != *ASKS_PEOPLE {
        let decided =
            [named(|it| &it.approve), named(|it| &it.deny), named(|it| &it.note), named(|it| &it.urgent)];
        for it in decided.into_iter().flatten() {
            bench.error(
                "wrong-face",
                it.at,
                format!("nothing is decided here: that is for `is: {ASKS_PEOPLE}`"),
            );
        }
        return Some(face);
    }
    // Without a word it is the transition that is called so, or the only one that can end like this.
    let decision =
        |bench: &mut Workbench<'_>, given: Option<&At<Name>>, usual: &str, outcome: &str| match given {
            Some(name) => Some(bench.transition(name)),
            None => transitions
                .iter()
                .find(|it| *it.name == *usual)
                .map(|it| it.name.clone())
                .or_else(|| only(transitions, states, outcome)),
        };
    face.approve = decision(bench, named(|it| &it.approve), "approve", "success");
    face.deny = decision(bench, named(|it| &it.deny), "deny", "failure");
    face.note = field(bench, file, named(|it| &it.note), "note");
    face.urgent = field(bench, file, named(|it| &it.urgent), "urgent");
    Some(face)
}

/// The field that is named, or the one that is called so.
fn field(
    bench: &mut Workbench<'_>,
    file: &LifecycleFile,
    given: Option<&At<Name>>,
    usual: &str,
) -> Option<Name> {
    let Some(name) = given else { return file.fields.contains(usual).then(|| Name::new(usual)) };
    if !file.fields.contains(&name.it) {
        let known: Vec<&str> = file.fields.names().map(|it| it.it.as_str()).collect();
        bench.unknown("unknown-field", "field", name, &known);
    }
    Some(name.it.clone())
}

/// The only transition for others than the engine that ends with an outcome.
fn only(transitions: &[Transition], states: &[State], outcome: &str) -> Option<Name> {
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
