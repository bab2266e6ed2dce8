//! The server stops between any two steps: what it has written gives the same world, and a request that is sent again
//! because no answer came counts once.

use trackside_engine::command::Command;
use trackside_engine::event::Entry;
use trackside_engine::{Decision, Law, apply, decide};
use trackside_lifecycle::name::Name;

use super::scene::Scene;

/// What is not as it was, if anything.
pub(crate) fn differs(law: &Law, before: &Scene, command: &Command) -> Option<String> {
    let mut again = command.clone();
    again.idempotency_key = Some(Name::new("again"));
    let Decision::Accepted(accepted) = decide(law, &before.view, &again, before.now) else {
        return Some("a request with a key is refused where the same without one is accepted".to_owned());
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
        return Some("the journal, read again, gives another world".to_owned());
    }
    match decide(law, &live, &again, before.now) {
        Decision::Replayed { .. } => None,
        _ => Some("a request that is sent again is not recognised".to_owned()),
    }
}
