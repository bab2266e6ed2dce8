//! Timers: when they start, pause, resume and end.

use trackside_lifecycle::guard::Fault;
use trackside_lifecycle::model::{Every, Lifecycle, Starts, Timer, TimerKind};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use super::scope::EntityScope;
use super::{DecisionBuilder, Stop};
use crate::entity::{Entity, TimerState};
use crate::refusal::{Code, Refusal};

/// The next step of a timer, at a percentage of its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerStep {
    Warn(usize),
    Then,
}

/// The steps of a timer in order. At 100 % the warning comes before the consequence.
pub(super) fn steps(timer: &Timer) -> Vec<(u32, TimerStep)> {
    let mut steps: Vec<(u32, TimerStep)> =
        timer.warn.iter().enumerate().map(|(n, it)| (it.percent, TimerStep::Warn(n))).collect();
    if timer.then.is_some() || !matches!(timer.kind, TimerKind::After(_)) {
        let place = steps.iter().take_while(|(percent, _)| *percent <= 100).count();
        steps.insert(place, (100, TimerStep::Then));
    }
    steps
}

pub(super) fn due(state: &TimerState, timer: &Timer) -> Option<Timestamp> {
    let since = state.running_since?;
    let (percent, _) = *steps(timer).get(state.step as usize)?;
    let left = Span(state.length.percent(percent).0.saturating_sub(state.spent.0));
    Some(since.plus(left))
}

/// The time of the next step of a timer that ends at a moment. Its length began when the moment was set.
pub(super) fn due_for(at: Timestamp, state: &TimerState, timer: &Timer) -> Option<Timestamp> {
    let (percent, _) = *steps(timer).get(state.step as usize)?;
    Some(at.plus(Span(state.length.percent(percent).0.saturating_sub(state.length.0))))
}

/// The state after its present step was taken.
pub(super) fn advanced(state: &TimerState, timer: &Timer) -> TimerState {
    let mut next = TimerState { step: state.step + 1, ..*state };
    if matches!(timer.kind, TimerKind::At(_)) {
        next.due = due_for(state.started_at.plus(state.length), &next, timer);
        // A timer on a moment that has no further step is over.
        next.running_since = next.running_since.filter(|_| next.due.is_some());
        return next;
    }
    next.due = due(&next, timer);
    next
}

fn pause_timer(state: &TimerState, now: Timestamp) -> TimerState {
    TimerState { spent: state.elapsed(now), running_since: None, due: None, ..*state }
}

fn resume_timer(state: &TimerState, timer: &Timer, now: Timestamp) -> TimerState {
    let mut next = TimerState { running_since: Some(now), ..*state };
    next.due = due(&next, timer);
    next
}

impl DecisionBuilder<'_> {
    /// The changes of a move to the clocks. `scope` reads the entity after the move.
    pub fn timer_changes(
        &self,
        scope: &EntityScope<'_>,
        before: Option<&Entity>,
        trigger: &Name,
        entered: bool,
    ) -> Result<Vec<(Name, Option<TimerState>)>, Stop> {
        let life = scope.life;
        let after = scope.entity;
        let now = scope.around.now;
        let mut changes = Vec::new();
        for timer in &life.timers {
            let runs = timer.runs.has(&after.state);
            let present = after.timer(&timer.name);
            if let TimerKind::At(field) = &timer.kind {
                let was = before.map(|it| it.fields.value(field)).unwrap_or_default();
                let at = after.fields.value(field);
                let next = match (at.as_time(), present) {
                    (None, _) => None,
                    (Some(at), present) if was != Value::Time(at) || present.is_none() => {
                        Some(ends_at(at, now, timer))
                    }
                    // A timer on a moment fires once; until then it is paused outside `runs`.
                    (Some(at), Some(state)) if state.running_since.is_some() => {
                        Some(TimerState { due: due_for(at, state, timer), ..*state })
                    }
                    (_, state) => state.copied(),
                };
                let next = next.map(|it| if runs { it } else { TimerState { due: None, ..it } });
                if next.as_ref() != present {
                    changes.push((timer.name.clone(), next));
                }
                continue;
            }
            let fresh = match &timer.starts {
                Starts::Entry => entered && runs,
                Starts::Once => present.is_none() && runs && (entered || before.is_none()),
                Starts::On(triggers) => runs && triggers.contains(trigger),
            };
            let again = present.is_some() && runs && timer.restarts.contains(trigger);
            if fresh || again {
                changes.push((timer.name.clone(), self.start(scope, timer)?));
                continue;
            }
            let Some(state) = present else { continue };
            match (runs, state.running_since.is_some()) {
                (false, _) if timer.starts == Starts::Entry || is_final(life, after) => {
                    changes.push((timer.name.clone(), None));
                }
                (false, true) => changes.push((timer.name.clone(), Some(pause_timer(state, now)))),
                (true, false) => {
                    let next = match &timer.kind {
                        // A recurring timer keeps to its hours.
                        TimerKind::Every(every) => {
                            fixed(next_occurrence(*every, now, &scope.around.project.zone), now)
                        }
                        _ => resume_timer(state, timer, now),
                    };
                    changes.push((timer.name.clone(), Some(next)));
                }
                _ => {}
            }
        }
        for counter in &life.counters {
            let Some(every) = &counter.reset_every else { continue };
            if after.tallies(&counter.name).is_none_or(|it| it.by_key.is_empty()) {
                continue;
            }
            let name = reset_timer(&counter.name);
            if after.timer(&name).is_none() {
                let at = next_occurrence(*every, now, &scope.around.project.zone);
                changes.push((name, Some(fixed(at, now))));
            }
        }
        Ok(changes)
    }

    /// The daily timers of an entity that are due at an hour of an earlier time zone, each at its next hour in the
    /// present one.
    pub fn timers_of_earlier_zone(
        &self,
        life: &Lifecycle,
        entity: &Entity,
    ) -> Vec<(Name, Option<TimerState>)> {
        let zone = &self.draft.base().project.zone;
        let timers = life.timers.iter().filter_map(|it| match &it.kind {
            TimerKind::Every(every) => Some((it.name.clone(), *every)),
            TimerKind::After(_) | TimerKind::At(_) => None,
        });
        let resets = life.counters.iter().filter_map(|it| Some((reset_timer(&it.name), it.reset_every?)));
        let daily = timers.chain(resets).filter(|(_, every)| matches!(every, Every::Daily { .. }));
        let moved = daily.filter_map(|(name, every)| {
            let due = entity.timer(&name)?.due?;
            let is_right = next_occurrence(every, Timestamp(due.0.saturating_sub(1)), zone) == due;
            let next = fixed(next_occurrence(every, self.now, zone), self.now);
            (!is_right).then_some((name, Some(next)))
        });
        moved.collect()
    }

    pub fn start(&self, scope: &EntityScope<'_>, timer: &Timer) -> Result<Option<TimerState>, Stop> {
        let now = scope.around.now;
        match &timer.kind {
            TimerKind::After(after) => {
                let length = match after.eval(scope) {
                    // With a shorter length, a timer that restarts itself would fire forever at one moment.
                    Ok(Value::Span(span)) => span.max(Span::seconds(1)),
                    // No length: this clock does not run for this entity.
                    Ok(Value::Null) => return Ok(None),
                    Ok(_) => Span(0),
                    Err(Fault::NotLoaded) => return Err(Stop::NotLoaded),
                    Err(fault) => {
                        let message = format!("Timer {} has no length: {fault}", timer.name);
                        return Err(Refusal::one(Code::EvaluationFailed, message).into());
                    }
                };
                let mut state = TimerState {
                    started_at: now,
                    length,
                    spent: Span(0),
                    running_since: Some(now),
                    step: 0,
                    due: None,
                };
                state.due = due(&state, timer);
                Ok(Some(state))
            }
            TimerKind::Every(every) => {
                Ok(Some(fixed(next_occurrence(*every, now, &scope.around.project.zone), now)))
            }
            TimerKind::At(field) => {
                Ok(scope.entity.fields.value(field).as_time().map(|at| ends_at(at, now, timer)))
            }
        }
    }
}

/// A timer that is due at a moment.
pub(super) fn fixed(at: Timestamp, now: Timestamp) -> TimerState {
    TimerState {
        started_at: now,
        length: at.since(now),
        spent: Span(0),
        running_since: Some(now),
        step: 0,
        due: Some(at),
    }
}

/// A timer with steps that ends at a moment.
fn ends_at(at: Timestamp, now: Timestamp, timer: &Timer) -> TimerState {
    let state = fixed(at, now);
    TimerState { due: due_for(at, &state, timer), ..state }
}

/// The timer behind a counter's daily reset.
pub(super) fn reset_timer(counter: &Name) -> Name {
    Name::from(format!("reset.{counter}"))
}

fn is_final(life: &Lifecycle, entity: &Entity) -> bool {
    life.state(&entity.state).is_some_and(|it| it.last)
}

/// The next time after `now`, in the project's time zone.
pub(super) fn next_occurrence(every: Every, now: Timestamp, zone: &str) -> Timestamp {
    let (hour, minute) = match every {
        Every::Span(span) => return now.plus(span),
        Every::Daily { hour, minute } => (hour, minute),
    };
    let tomorrow = now.plus(Span::seconds(24 * 60 * 60));
    let Ok(instant) = jiff::Timestamp::from_millisecond(now.0) else { return tomorrow };
    let zone = jiff::tz::TimeZone::get(zone).unwrap_or(jiff::tz::TimeZone::UTC);
    let mut date = instant.to_zoned(zone.clone()).date();
    for _ in 0..3 {
        if let Ok(at) = date.at(hour, minute, 0, 0).to_zoned(zone.clone())
            && at.timestamp().as_millisecond() > now.0
        {
            return Timestamp(at.timestamp().as_millisecond());
        }
        match date.tomorrow() {
            Ok(next) => date = next,
            Err(_) => break,
        }
    }
    tomorrow
}
