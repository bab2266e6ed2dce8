//! Overdue entities: a deadline without a consequence has passed.

use trackside_lifecycle::model::{Lifecycle, Timer, TimerKind};
use trackside_lifecycle::time::Timestamp;

use crate::entity::{Entity, TimerState};

/// Some timer of it has passed its whole length.
pub fn is_overdue(life: &Lifecycle, entity: &Entity, now: Timestamp) -> bool {
    waited_for(life, entity).any(|it| it.elapsed(now) >= it.length)
}

/// The time at which the entity becomes overdue if it does not move; none if it never does. The time may
/// lie in the past.
pub fn overdue_at(life: &Lifecycle, entity: &Entity) -> Option<Timestamp> {
    waited_for(life, entity).filter_map(TimerState::ends_at).min()
}

/// Running clocks that only a move of the entity ends.
fn waited_for<'a>(life: &'a Lifecycle, entity: &'a Entity) -> impl Iterator<Item = &'a TimerState> {
    // A timer with a consequence acts by itself, and a paused clock is not late.
    let waits = |it: &Timer| matches!(it.kind, TimerKind::After(_)) && it.then.is_none();
    let running = |it: &TimerState| it.running_since.is_some() && it.length.0 > 0;
    entity
        .timers
        .iter()
        .filter(move |(name, timer)| running(timer) && life.timer(name).is_some_and(waits))
        .map(|(_, timer)| timer)
}
