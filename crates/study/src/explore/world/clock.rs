//! Time passes without requests. One timer at a time: any actor may act in between, or stop.

use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command};
use trackside_engine::event::Entry;
use trackside_engine::{Decision, Law, apply, decide};
use trackside_lifecycle::time::Timestamp;

use super::state::WorldState;

/// Most moments that pass without an effective timer.
const MOMENTS: usize = 256;

/// Fires the first due timer; if none is due, advances the time to the next one. None if no clock runs.
pub(crate) fn wait(law: &Law, scene: &WorldState) -> Option<(WorldState, Vec<Entry>)> {
    let mut after = scene.clone();
    for _ in 0..MOMENTS {
        if let Some(entries) = fire(law, &mut after) {
            return Some((after, entries));
        }
        after.now = after.next_due()?;
    }
    None
}

/// Moves the time to a moment before anything is due.
pub(crate) fn wait_until(scene: &WorldState, until: Timestamp) -> WorldState {
    let mut after = scene.clone();
    after.now = after.now.max(until);
    after
}

/// Fires the first clock that is due now and can.
fn fire(law: &Law, scene: &mut WorldState) -> Option<Vec<Entry>> {
    for (_, entity, timer) in scene.due() {
        let ask = Ask::Due { entity, timer };
        let command = Command::new(Actor::timer(), ask);
        if let Ok(Decision::Accepted(accepted)) = decide(law, &scene.view, &command, scene.now) {
            for entry in &accepted.entries {
                apply(&mut scene.view, entry);
            }
            return Some(accepted.entries);
        }
    }
    None
}
