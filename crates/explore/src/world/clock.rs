//! Time passes, and nobody does anything.

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::event::Entry;
use trackside_engine::{Decision, Law, apply, decide};
use trackside_lifecycle::time::Timestamp;

use super::scene::Scene;

/// Most clocks that fire at one moment.
const FIRINGS: usize = 256;

/// Goes to the next moment at which a clock is due; everything due then fires. None if no clock runs.
pub(crate) fn wait(law: &Law, scene: &Scene) -> Option<(Scene, Vec<Entry>)> {
    let until = scene.next_due()?;
    let (after, entries) = wait_until(law, scene, until);
    (after.now > scene.now || !entries.is_empty()).then_some((after, entries))
}

/// Goes to a moment; everything due then fires.
pub(crate) fn wait_until(law: &Law, scene: &Scene, until: Timestamp) -> (Scene, Vec<Entry>) {
    let mut after = scene.clone();
    after.now = after.now.max(until);
    let mut entries = Vec::new();
    // What is refused stays due: it must not come up again at this moment.
    let mut refused = Vec::new();
    for _ in 0..FIRINGS {
        let Some(next) = after.due().into_iter().find(|it| !refused.contains(it)) else { break };
        let ask = Ask::Due { entity: next.1.clone(), timer: next.2.clone() };
        let command = Command::new(Actor::new("trackside", ActorKind::Timeout), ask);
        match decide(law, &after.view, &command, after.now) {
            Decision::Accepted(accepted) => {
                for entry in &accepted.entries {
                    apply(&mut after.view, entry);
                }
                entries.extend(accepted.entries);
            }
            _ => refused.push(next),
        }
    }
    (after, entries)
}
