//! Clocks and groups of an entity that moves to another version of its definition, and the way back.

use trackside_lifecycle::model::{Lifecycle, Starts, Timer, TimerKind};
use trackside_lifecycle::name::Name;

use super::scope::{EntityScope, kind_of};
use super::timers::{due, due_for, reset_timer, steps};
use super::{DecisionBuilder, Stop};
use crate::entity::{Entity, TimerState};
use crate::event::{Changes, Shift, TallyChange, UniqueClaim};
use crate::key::{EntityKey, GroupKey};

type TimerChanges = Vec<(Name, Option<TimerState>)>;

impl DecisionBuilder<'_> {
    /// A timer that both versions have continues, one that only the new version has starts, any other ends.
    pub fn migrated_timers(
        &self,
        scope: &EntityScope<'_>,
        old: &Lifecycle,
        before: &Entity,
    ) -> Result<TimerChanges, Stop> {
        let new = scope.life;
        let mut next = scope.entity.clone();
        for (name, state) in &before.timers {
            let reset = new.counters.iter().any(|it| reset_timer(&it.name) == *name);
            if name.starts_with("lease.") || reset {
                continue;
            }
            let kept = match (old.timer(name), new.timer(name)) {
                (Some(was), Some(timer)) => self.carried_over(scope, was, timer, state)?,
                (None, Some(timer)) => self.start(scope, timer)?,
                (_, None) => None,
            };
            put(&mut next, name, kept);
        }
        for timer in new.timers.iter().filter(|it| before.timer(&it.name).is_none()) {
            let starts = matches!(timer.starts, Starts::Entry | Starts::Once);
            if starts && timer.runs.has(&next.state) && !matches!(timer.kind, TimerKind::At(_)) {
                put(&mut next, &timer.name, self.start(scope, timer)?);
            }
        }
        let scope = EntityScope { entity: &next, ..*scope };
        let further = self.timer_changes(&scope, Some(before), &Name::new("migrate"), false)?;
        for (name, state) in further {
            put(&mut next, &name, state);
        }
        let mut changes: TimerChanges = Vec::new();
        for (name, state) in &before.timers {
            let after = next.timer(name);
            if after != Some(state) {
                changes.push((name.clone(), after.copied()));
            }
        }
        let fresh = next.timers.iter().filter(|(name, _)| before.timer(name).is_none());
        changes.extend(fresh.map(|(name, state)| (name.clone(), Some(*state))));
        Ok(changes)
    }

    /// A timer of the same name: the time that has passed counts, and no warning is repeated.
    fn carried_over(
        &self,
        scope: &EntityScope<'_>,
        was: &Timer,
        timer: &Timer,
        state: &TimerState,
    ) -> Result<Option<TimerState>, Stop> {
        let (length, old_length) = match (&timer.kind, &was.kind) {
            (TimerKind::After(length), TimerKind::After(old)) => (length, old),
            (TimerKind::Every(every), TimerKind::Every(old)) if every == old => return Ok(Some(*state)),
            (TimerKind::At(field), TimerKind::At(old)) if field == old => {
                let at = scope.entity.fields.value(field).as_time();
                let mut next = TimerState { step: steps_taken(was, timer, state), ..*state };
                next.due = at.filter(|_| next.due.is_some()).and_then(|at| due_for(at, &next, timer));
                return Ok(Some(next));
            }
            _ => return self.start(scope, timer),
        };
        let (new_steps, old_steps) = (steps(timer), steps(was));
        if length.source() == old_length.source() && new_steps == old_steps {
            return Ok(Some(*state));
        }
        let Some(fresh) = self.start(scope, timer)? else { return Ok(None) };
        let now = scope.around.now;
        let mut next = TimerState {
            length: fresh.length,
            spent: state.elapsed(now),
            running_since: state.running_since.map(|_| now),
            step: steps_taken(was, timer, state),
            ..*state
        };
        next.due = due(&next, timer);
        Ok(Some(next))
    }
}

/// The number of steps of a new timer that the old one has taken.
fn steps_taken(was: &Timer, timer: &Timer, state: &TimerState) -> u32 {
    let taken = steps(was).iter().take(state.step as usize).map(|(percent, _)| *percent).max();
    let taken = taken.map_or(0, |taken| steps(timer).iter().filter(|(it, _)| *it <= taken).count());
    u32::try_from(taken).unwrap_or(u32::MAX)
}

fn put(entity: &mut Entity, name: &Name, state: Option<TimerState>) {
    let place = entity.timers.iter().position(|(it, _)| it == name);
    match (place.and_then(|it| entity.timers.get_mut(it)), state) {
        (Some(slot), Some(state)) => slot.1 = state,
        (Some(_), None) => entity.timers.retain(|(it, _)| it != name),
        (None, Some(state)) => entity.timers.push((name.clone(), state)),
        (None, None) => {}
    }
}

/// The groups that an entity is in by a version of its definition.
fn groups(life: &Lifecycle, entity: &Entity) -> Vec<GroupKey> {
    let mut groups = Vec::new();
    for reference in &life.refs {
        let Some(name) = &reference.inverse else { continue };
        let ids = match &reference.by {
            Some(field) => entity.ids(field),
            None => vec![kind_of(&reference.to)],
        };
        for id in ids {
            let group =
                GroupKey { of: EntityKey { lifecycle: reference.to.clone(), id }, name: name.clone() };
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
    }
    groups
}

/// The changes to the group counts of the entities it refers to when the refs themselves may change.
pub(super) fn group_shifts(old: &Lifecycle, new: &Lifecycle, before: &Entity, after: &Entity) -> Vec<Shift> {
    let (left, joined) = (groups(old, before), groups(new, after));
    let mut shifts = Vec::new();
    for group in left.iter().filter(|it| !joined.contains(it)) {
        shifts.push(Shift { group: group.clone(), from: Some(before.state.clone()), to: None });
    }
    for group in joined {
        let stays = left.contains(&group);
        if !stays || before.state != after.state {
            let from = stays.then(|| before.state.clone());
            shifts.push(Shift { group, from, to: Some(after.state.clone()) });
        }
    }
    shifts
}

/// The changes that undo these changes.
pub(super) fn back(before: &Entity, changes: &Changes) -> Changes {
    let fields = changes.fields.iter().map(|(name, _)| (name.clone(), before.fields.value(name)));
    let mut tallies = Vec::new();
    for change in &changes.tallies {
        let by_key = before.tallies(&change.counter).map(|it| it.by_key.as_slice()).unwrap_or_default();
        tallies.extend(by_key.iter().map(|(key, tally)| TallyChange {
            counter: change.counter.clone(),
            key: key.clone(),
            tally: Some(tally.clone()),
        }));
    }
    let timers = changes.timers.iter().map(|(name, _)| (name.clone(), before.timer(name).copied()));
    let shifts = changes.shifts.iter().rev().map(|it| Shift {
        group: it.group.clone(),
        from: it.to.clone(),
        to: it.from.clone(),
    });
    Changes {
        fields: fields.collect(),
        tallies,
        timers: timers.collect(),
        shifts: shifts.collect(),
        same: changes.same.as_ref().map(|_| UniqueClaim::new(before.same.clone())),
    }
}
