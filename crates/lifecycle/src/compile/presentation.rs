//! What lists and screens show: `title`, `card`, `path`, and `waits_for` of a state.

use super::context::{CompileContext, is_id};
use crate::guard::Type;
use crate::model::{StateWaiter, WaitsFor};
use crate::name::Name;
use crate::source::At;
use crate::syntax::{LifecycleFile, WaitsForDecl};

/// The field that names an entity: text, stored or computed.
pub(super) fn title(context: &mut CompileContext<'_>, file: &LifecycleFile, name: &At<Name>) -> Name {
    if !file.fields.contains(&name.it) {
        let known: Vec<&str> = file.fields.names().map(|it| it.it.as_str()).collect();
        context.unknown_in(Some("`fields`"), "unknown-field", "field", name, &known);
    } else if let Some(ty) = context.shape.fields.get(&name.it).map(|it| it.ty())
        && !is_id(&ty)
        && ty != Type::Any
    {
        let message = format!("field `{}` holds {ty}, which is not a title", name.it);
        context.problems.error("wrong-field", name.at, message).hint("name a field of `type: string`");
    }
    name.it.clone()
}

/// The fields and counters of a card, each once.
pub(super) fn card(context: &mut CompileContext<'_>, file: &LifecycleFile) -> Vec<Name> {
    let mut card: Vec<Name> = Vec::new();
    for name in file.card.iter().flatten() {
        if !file.fields.contains(&name.it) && !file.counters.contains(&name.it) {
            let known = file.fields.names().chain(file.counters.names());
            let known: Vec<&str> = known.map(|it| it.it.as_str()).collect();
            context.unknown_in(Some("`fields`"), "unknown-field", "field or counter", name, &known);
        }
        once(context, &card, name);
        card.push(name.it.clone());
    }
    card
}

/// The declared order of states, each once.
pub(super) fn path(context: &mut CompileContext<'_>, file: &LifecycleFile) -> Vec<Name> {
    let mut path: Vec<Name> = Vec::new();
    for name in file.path.iter().flatten() {
        once(context, &path, name);
        let state = context.state(name);
        path.push(state);
    }
    path
}

fn once(context: &mut CompileContext<'_>, before: &[Name], name: &At<Name>) {
    if before.contains(&name.it) {
        context
            .problems
            .error("name-taken", name.at, format!("`{}` is in this list twice", name.it))
            .hint("remove one of them");
    }
}

/// Whether a state waits for people. Its decisions must leave it.
pub(super) fn waits_for(context: &mut CompileContext<'_>, state: &At<Name>, decl: &WaitsForDecl) -> WaitsFor {
    let (who, map) = match decl {
        WaitsForDecl::Plain(who) => (*who, None),
        WaitsForDecl::Decision(map) => (StateWaiter::People, Some(map)),
    };
    let mut decision = |name: Option<&At<Name>>| {
        let name = name?;
        let event = context.transition(name);
        let leaves = context.leaving.iter().find(|(it, _)| *it == event).map(|(_, from)| from.has(&state.it));
        if leaves == Some(false) {
            let message = format!("`{event}` does not leave {}", state.it);
            context
                .problems
                .error("wrong-decision", name.at, message)
                .hint("name a transition whose `from` has this state");
        }
        Some(event)
    };
    let approve = decision(map.and_then(|it| it.approve.as_ref()));
    let deny = decision(map.and_then(|it| it.deny.as_ref()));
    WaitsFor { who, approve, deny }
}
