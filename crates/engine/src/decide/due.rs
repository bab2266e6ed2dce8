//! A timer of an entity is due.

use std::sync::Arc;

use trackside_lifecycle::model::{Lifecycle, Timer, TimerKind};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;

use super::carry::MoveResult;
use super::request::Request;
use super::timers::{TimerStep, advanced, fixed, next_occurrence, steps};
use super::{DecisionBuilder, Stop};
use crate::actor::ActorKind;
use crate::command::TransitionRef;
use crate::entity::{AlertCause, Lease, TimerState};
use crate::event::{Changes, Event, TallyChange};
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::refusal::{Code, Refusal};
use crate::trace::PointKind;

impl DecisionBuilder<'_> {
    pub fn due(&mut self, key: &EntityKey, name: &Name) -> Result<(), Stop> {
        let (life, entity) = self.existing_entity(key)?;
        let state = match entity.timer(name) {
            Some(state) if state.due.is_some_and(|it| it <= self.now) => *state,
            _ => {
                let message = format!("Timer {name} of {key} is not due");
                return Err(Refusal::one(Code::NotDue, message).into());
            }
        };
        if self.timers_of_earlier_zone(&life, entity).iter().any(|(it, _)| it == name) {
            return self.follow_zone(key);
        }
        let request = Request::engine(ActorKind::Timeout, Fields::default(), name.clone(), None);
        if let Some(slot) = name.strip_prefix("lease.") {
            return self.lose(&life, key, &Name::new(slot), request);
        }
        if let Some(counter) = name.strip_prefix("reset.") {
            let tally = TallyChange { counter: Name::new(counter), key: Name::new(""), tally: None };
            let changes =
                Changes { tallies: vec![tally], timers: vec![(name.clone(), None)], ..Changes::default() };
            let seq = self.record(key, &request, name, Event::TimerFired { timer: name.clone(), changes });
            self.root.get_or_insert(seq);
            return Ok(());
        }
        match life.timer(name) {
            Some(timer) => self.step(&life, key, timer, &state, request),
            None => {
                // The definition changed under it: the timer has no meaning any more.
                let changes = Changes { timers: vec![(name.clone(), None)], ..Changes::default() };
                self.record(key, &request, name, Event::TimerFired { timer: name.clone(), changes });
                Ok(())
            }
        }
    }

    /// Moves the daily timers of an entity to their hours in the present time zone.
    pub fn follow_zone(&mut self, key: &EntityKey) -> Result<(), Stop> {
        let (life, entity) = self.existing_entity(key)?;
        let timers = self.timers_of_earlier_zone(&life, entity);
        if timers.is_empty() {
            return Ok(());
        }
        let condition = Name::new("zone");
        let request = Request::engine(ActorKind::System, Fields::default(), condition.clone(), self.root);
        let changes = Changes { timers, ..Changes::default() };
        let seq = self.record(key, &request, &condition, Event::FieldsChanged { changes });
        self.root.get_or_insert(seq);
        Ok(())
    }

    fn step(
        &mut self,
        life: &Arc<Lifecycle>,
        key: &EntityKey,
        timer: &Timer,
        state: &TimerState,
        mut request: Request,
    ) -> Result<(), Stop> {
        let name = &timer.name;
        let Some((percent, step)) = steps(timer).get(state.step as usize).copied() else { return Ok(()) };
        let next = match &timer.kind {
            TimerKind::Every(every) => {
                let zone = self.draft.base().project.zone.clone();
                Some(fixed(next_occurrence(*every, self.now, &zone), self.now))
            }
            TimerKind::At(_) | TimerKind::After(_) => Some(advanced(state, timer)),
        };
        let timers = vec![(name.clone(), next)];
        match step {
            TimerStep::Warn(n) => {
                let Some(warn) = timer.warn.get(n) else { return Ok(()) };
                self.record_point(life, PointKind::Deadline, || format!("timers.{name}.warn.{percent}%"));
                let moved = MoveResult::nothing(self.existing_entity(key)?.1);
                let mut changes = self.warned_changes(life, key, warn, &request, &moved)?;
                changes.timers.retain(|(it, _)| it != name);
                changes.timers.extend(timers);
                let event = Event::TimeoutWarned { timer: name.clone(), percent, changes };
                let seq = self.record(key, &request, name, event);
                self.root.get_or_insert(seq);
                request.cause = self.root;
                if let Some(severity) = warn.severity {
                    let (_, entity) = self.existing_entity(key)?;
                    let passed = Span(self.now.since(state.started_at).0);
                    let message = format!(
                        "{key} has been {} for {passed}: {percent}% of {}",
                        entity.state, state.length
                    );
                    let cause = AlertCause::Timer { name: name.clone(), started_at: state.started_at };
                    self.record(
                        key,
                        &request,
                        name,
                        Event::AlertRaised {
                            kind: Name::new("timeout"),
                            severity,
                            message: Arc::from(message),
                            rule: None,
                            cause: Some(cause),
                        },
                    );
                }
                self.try_or_alert(key, name, |it| {
                    it.tell_people(life, key, name, &warn.then, &request, &moved)?;
                    it.follow_up(life, key, &[&warn.then], name, &request, &moved)
                })?;
                Ok(())
            }
            TimerStep::Then => {
                self.record_point(life, PointKind::Deadline, || format!("timers.{name}.then"));
                let changes = Changes { timers, ..Changes::default() };
                let seq =
                    self.record(key, &request, name, Event::TimerFired { timer: name.clone(), changes });
                self.root.get_or_insert(seq);
                request.cause = self.root;
                let Some(then) = &timer.then else { return Ok(()) };
                let moved = MoveResult::nothing(self.existing_entity(key)?.1);
                self.try_or_alert(key, name, |it| {
                    it.fire_follow_up(life, key, then, name, &request, &moved, ActorKind::Timeout).map(|_| ())
                })?;
                Ok(())
            }
        }
    }

    /// A step that cannot be taken is passed over, with an alert: a clock is never stuck on it.
    pub fn pass_over(&mut self, key: &EntityKey, name: &Name, refusal: &Refusal) -> Result<(), Stop> {
        let (life, entity) = self.existing_entity(key)?;
        let Some(state) = entity.timer(name).copied() else { return Ok(()) };
        let next = life.timer(name).map(|timer| match &timer.kind {
            TimerKind::Every(every) => {
                let zone = self.draft.base().project.zone.clone();
                fixed(next_occurrence(*every, self.now, &zone), self.now)
            }
            TimerKind::At(_) | TimerKind::After(_) => advanced(&state, timer),
        });
        let request = Request::engine(ActorKind::Timeout, Fields::default(), name.clone(), None);
        let changes = Changes { timers: vec![(name.clone(), next)], ..Changes::default() };
        let seq = self.record(key, &request, name, Event::TimerFired { timer: name.clone(), changes });
        self.root.get_or_insert(seq);
        self.drop_with_alert(key, name, refusal);
        Ok(())
    }

    /// A lease was not renewed in time.
    fn lose(
        &mut self,
        life: &Lifecycle,
        key: &EntityKey,
        slot: &Name,
        mut request: Request,
    ) -> Result<(), Stop> {
        let (_, entity) = self.existing_entity(key)?;
        let Some(lease) = entity.lease(slot).cloned() else {
            let name = Name::from(format!("lease.{slot}"));
            let changes = Changes { timers: vec![(name.clone(), None)], ..Changes::default() };
            self.record(key, &request, &name, Event::TimerFired { timer: name.clone(), changes });
            return Ok(());
        };
        if self.spare(life, key, slot, &lease, &request)? {
            return Ok(());
        }
        let lost = Lease { holder: None, fence: lease.fence, expires_at: lease.expires_at, granted_at: None };
        let event = Event::LeaseLost {
            slot: slot.clone(),
            lease: lost,
            holder: lease.holder,
            changes: Changes::default(),
        };
        self.record_point(life, PointKind::Deadline, || format!("slots.{slot}.lost"));
        let seq = self.record(key, &request, &Name::from(format!("lease.{slot}")), event);
        self.root.get_or_insert(seq);
        request.cause = self.root;
        if let Some(fire) = life.slot(slot).and_then(|it| it.lost.clone()) {
            let condition = Name::from(format!("slots.{slot}.lost"));
            self.try_or_alert(key, &condition, |it| it.fire(key, &TransitionRef::Event(fire), request))?;
        }
        Ok(())
    }
}
