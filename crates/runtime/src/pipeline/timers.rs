//! Clocks of all entities: the near ones in memory, the far ones in the store.

use std::collections::{BTreeMap, BTreeSet};

use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_store::StoreError;
use trackside_store::store::DueAt;

use crate::failpoints::{Failpoint, is_enabled};
use crate::memory::{DeciderMemory, DeciderSource};

/// Timers in due order.
///
/// All timers due at or before `horizon` are here; later ones are in the store, or belong to an entity that is not
/// flushed yet.
#[derive(Debug)]
pub(super) struct Timers {
    near: BTreeSet<DueAt>,
    horizon: Timestamp,
    /// Beyond this number, the later half is left to the store.
    most: usize,
    /// The number at which the next attempt is made: doubled if the last one did not help, because all are
    /// due at one moment.
    full: usize,
    /// Timers that cannot be decided because their data is damaged, and the reason.
    aside: BTreeMap<DueAt, String>,
    /// The number of timers fetched at a time.
    fetch: usize,
    /// The reason why all of them wait: the store cannot be read.
    waiting: Option<String>,
}

impl Timers {
    pub fn new(most: usize) -> Self {
        let (most, fetch) = (most.max(2), (most / 10).max(1));
        let (near, aside) = (BTreeSet::new(), BTreeMap::new());
        Self { near, horizon: Timestamp(i64::MIN), most, full: most, aside, fetch, waiting: None }
    }

    /// Removes the timers that an entry changes. `entity` is the entity before the entry.
    pub fn remove_changed(&mut self, entity: Option<&Entity>, entry: &Entry) {
        for_changed(&entry.event, |name| {
            if let Some(due) = entity.and_then(|it| it.timer(name)).and_then(|it| it.due)
                && due <= self.horizon
            {
                self.near.remove(&due_at(due, &entry.entity, name));
            }
        });
    }

    /// Adds the timers that an entry changed. `entity` is the entity after the entry.
    pub fn after(&mut self, entity: Option<&Entity>, entry: &Entry) {
        for_changed(&entry.event, |name| {
            if let Some(due) = entity.and_then(|it| it.timer(name)).and_then(|it| it.due)
                && due <= self.horizon
            {
                self.near.insert(due_at(due, &entry.entity, name));
            }
        });
        self.keep_within();
    }

    /// Leaves the later half to the store if there are too many. Returns whether it tried.
    fn keep_within(&mut self) -> bool {
        if self.near.len() <= self.most {
            self.full = self.most;
        }
        let full = self.near.len() > self.full;
        if full {
            self.leave_the_far_ones();
            self.full = self.most.max(self.near.len() * 2);
        }
        full
    }

    fn leave_the_far_ones(&mut self) {
        let Some(middle) = self.near.iter().nth(self.most / 2).map(|it| it.due) else { return };
        // Timers due at the same moment stay together, or some would be on neither side.
        self.near.retain(|it| it.due <= middle);
        self.horizon = middle;
    }

    /// Adds all timers of an entity.
    pub fn know(&mut self, entity: &Entity) {
        for (name, timer) in &entity.timers {
            if let Some(due) = timer.due.filter(|it| *it <= self.horizon) {
                self.near.insert(due_at(due, &entity.key, name));
            }
        }
    }

    /// The next one that is due by `now`.
    pub fn due(&mut self, now: Timestamp, memory: &mut DeciderMemory) -> Result<Option<DueAt>, StoreError> {
        loop {
            if is_enabled(Failpoint::TimersUnordered)
                && let Some(last) = self.near.iter().rfind(|it| it.due <= now)
            {
                return Ok(Some(last.clone()));
            }
            if let Some(first) = self.near.first().filter(|it| it.due <= now) {
                return Ok(Some(first.clone()));
            }
            if self.horizon >= now {
                return Ok(None);
            }
            self.fetch(memory)?;
        }
    }

    /// Notes why timers cannot fire now, or that they can.
    pub fn set_waiting(&mut self, why: Option<String>) {
        self.waiting = why;
    }

    pub fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// The number of timers in memory.
    pub fn count_in_memory(&self) -> usize {
        self.near.len()
    }

    /// Removes a timer that had no effect, so that it does not come up again.
    pub fn drop(&mut self, due: &DueAt) {
        self.near.remove(due);
    }

    /// Takes one out that cannot be decided.
    pub fn set_aside(&mut self, due: DueAt, why: String) {
        self.near.remove(&due);
        self.aside.insert(due, why);
    }

    /// The store can be read again: timers that were set aside are tried again.
    pub fn bring_back(&mut self) {
        self.near.extend(std::mem::take(&mut self.aside).into_keys());
    }

    /// Why timers wait, or which were set aside.
    pub fn problem(&self) -> Option<String> {
        if let Some(why) = &self.waiting {
            return Some(format!("timers wait: {why}"));
        }
        let (first, why) = self.aside.first_key_value()?;
        let more = match self.aside.len() {
            1 => String::new(),
            some => format!(", and {} more do not", some - 1),
        };
        Some(format!("the timer {} of {} does not fire{more}: {why}", first.timer, first.entity))
    }

    /// The time of the next look: the next timer in memory, or the end of the loaded range.
    pub fn next(&self) -> Option<Timestamp> {
        let first = self.near.first().map(|it| it.due);
        first.or((self.horizon.0 != i64::MAX).then_some(self.horizon))
    }

    /// Loads the next timers from the store.
    fn fetch(&mut self, memory: &mut DeciderMemory) -> Result<(), StoreError> {
        let DeciderMemory { view, source: DeciderSource { reader, unflushed, .. }, .. } = memory;
        let from = self.horizon;
        let mut after = (from.0 > i64::MIN).then(|| last_at(from));
        // Collected apart: timers due before them may still be missing.
        let mut rows = BTreeSet::new();
        let horizon = loop {
            let found = reader.timers(after.as_ref(), self.fetch)?;
            let all = found.value.len() < self.fetch;
            let last = found.value.last().cloned();
            for row in found.value {
                // If the entity moved since, the view is right and the stored row is old.
                let moved = view.get(&row.entity).is_some_and(|it| it.seq > found.position);
                if !moved {
                    rows.insert(row);
                }
            }
            match last {
                Some(last) if !all => {
                    // All timers of one moment are fetched together: no timer at or before the horizon is
                    // missing.
                    let complete = Timestamp(last.due.0.saturating_sub(1));
                    if complete > from {
                        break complete;
                    }
                    after = Some(last);
                }
                _ => break Timestamp(i64::MAX),
            }
        };
        self.horizon = horizon;
        self.near.extend(rows.into_iter().filter(|it| it.due <= horizon));
        for key in unflushed.entities().filter(|_| !is_enabled(Failpoint::UnflushedTimerIgnored)) {
            let Some(entity) = view.get(key) else { continue };
            for (name, timer) in &entity.timers {
                if let Some(due) = timer.due.filter(|it| *it > from && *it <= horizon) {
                    self.near.insert(due_at(due, key, name));
                }
            }
        }
        Ok(())
    }
}

fn due_at(due: Timestamp, entity: &EntityKey, timer: &Name) -> DueAt {
    DueAt { due, entity: entity.clone(), timer: timer.clone() }
}

/// After every timer of a moment.
fn last_at(due: Timestamp) -> DueAt {
    let end = Name::new("\u{10FFFF}");
    DueAt { due, entity: EntityKey { lifecycle: end.clone(), id: end.clone() }, timer: end }
}

/// The timers that an event may change.
fn for_changed(event: &Event, mut each: impl FnMut(&Name)) {
    match event {
        Event::LeaseGranted { slot, .. }
        | Event::LeaseRenewed { slot, .. }
        | Event::LeaseReleased { slot, .. }
        | Event::LeaseLost { slot, .. } => each(&Name::from(format!("lease.{slot}"))),
        _ => {}
    }
    for (name, _) in event.changes().into_iter().flat_map(|it| &it.timers) {
        each(name);
    }
}

#[cfg(test)]
mod tests;
