//! Simulates a server restart after a step: replaying the journal must give the same world, and a repeated request
//! must count once.

use trackside_engine::command::Command;
use trackside_engine::event::Entry;
use trackside_engine::{Decision, Law, apply, decide};
use trackside_lifecycle::name::Name;

use super::state::WorldState;

/// The difference, if any.
pub(crate) fn differs(law: &Law, before: &WorldState, command: &Command) -> Option<String> {
    let mut again = command.clone();
    again.idempotency_key = Some(Name::new("again"));
    let Ok(Decision::Accepted(accepted)) = decide(law, &before.view, &again, before.now) else {
        return Some("a request is refused with an idempotency key and accepted without one".to_owned());
    };
    let (mut live, mut replayed) = (before.view.clone(), before.view.clone());
    for entry in &accepted.entries {
        apply(&mut live, entry);
        let stored = match serde_json::to_string(entry) {
            Ok(stored) => stored,
            Err(error) => return Some(format!("entry {} cannot be stored: {error}", entry.seq)),
        };
        match serde_json::from_str::<Entry>(&stored) {
            Ok(entry) => apply(&mut replayed, &entry),
            Err(error) => return Some(format!("entry {} cannot be read back: {error}", entry.seq)),
        };
    }
    if live != replayed {
        return Some("replaying the journal gives a different result".to_owned());
    }
    match decide(law, &live, &again, before.now) {
        Ok(Decision::Replayed { .. }) => None,
        _ => Some("a repeated request is not recognised".to_owned()),
    }
}
