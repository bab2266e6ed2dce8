//! Being late: a clock that nobody answers has run out.

use trackside_lifecycle::model::{Lifecycle, Timer, TimerKind};
use trackside_lifecycle::time::Timestamp;

use crate::entity::{Entity, TimerState};

/// Some timer of it has passed its whole length.
pub fn is_overdue(life: &Lifecycle, entity: &Entity, now: Timestamp) -> bool {
    waited_for(life, entity).any(|it| it.elapsed(now) >= it.length)
}

/// When it becomes overdue if nothing moves until then; none if it does not. It may have become so already.
pub fn overdue_at(life: &Lifecycle, entity: &Entity) -> Option<Timestamp> {
    waited_for(life, entity).filter_map(TimerState::ends_at).min()
}

/// The clocks that run until somebody moves it.
fn waited_for<'a>(life: &'a Lifecycle, entity: &'a Entity) -> impl Iterator<Item = &'a TimerState> {
    // What a timer fires when it is due is its own answer; what stands still is not late.
    let waits = |it: &Timer| matches!(it.kind, TimerKind::After(_)) && it.then.is_none();
    let running = |it: &TimerState| it.running_since.is_some() && it.length.0 > 0;
    entity
        .timers
        .iter()
        .filter(move |(name, timer)| running(timer) && life.timer(name).is_some_and(waits))
        .map(|(_, timer)| timer)
}
