//! The project's clock in the journal: alarms, corrections, and the timers that a correction moves.

use std::sync::Arc;

use trackside_lifecycle::model::{Severity, TimerKind};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use super::carry::alert;
use super::configure::not_admin;
use super::request::Request;
use super::timers::{fixed, next_occurrence, reset_timer};
use super::{DecisionBuilder, Stop};
use crate::actor::ActorKind;
use crate::apply::lease_timer;
use crate::command::ClockNews;
use crate::entity::{Lease, TimerState};
use crate::event::{Changes, Event};
use crate::fields::Fields;
use crate::key::EntityKey;

/// The trigger and condition of these entries, and the kind of the alert.
pub const CLOCK: &str = "clock";

impl DecisionBuilder<'_> {
    /// Records news of the clock as an alert of the project, or as its end.
    pub fn clock(&mut self, news: &ClockNews, mut request: Request) -> Result<(), Stop> {
        let allowed = match news {
            ClockNews::Alarm { .. } | ClockNews::Agrees { .. } => request.is_own(),
            ClockNews::Moved { .. } => request.is_admin(),
        };
        if !allowed {
            return Err(not_admin("correct the project's clock").into());
        }
        match news {
            ClockNews::Alarm { machine } => self.raise_clock_alert(*machine, self.now, &request),
            ClockNews::Agrees { alert } => {
                request.reason = Some(Arc::from("The machine's clock agrees with project time again"));
                self.record_project(&request, CLOCK, Event::AlertResolved { alert: *alert });
            }
            ClockNews::Moved { from, alert } => {
                let raised = match alert {
                    Some(alert) => *alert,
                    None => {
                        let raised = self.draft.next_seq();
                        self.raise_clock_alert(self.now, *from, &request);
                        raised
                    }
                };
                let why = request.reason.as_deref().map(|it| format!(": {it}")).unwrap_or_default();
                request.reason = Some(Arc::from(format!(
                    "Project time was moved from {from} to {}, the time of the machine's clock{why}",
                    self.now
                )));
                self.record_project(&request, CLOCK, Event::AlertResolved { alert: raised });
            }
        }
        Ok(())
    }

    fn raise_clock_alert(&mut self, machine: Timestamp, project: Timestamp, request: &Request) {
        let (apart, direction) = match machine > project {
            true => (machine.since(project), "ahead of"),
            false => (project.since(machine), "behind"),
        };
        let message = format!(
            "The machine's clock says {machine}, {apart} {direction} project time. Project time does not follow it: \
             timers and leases continue by elapsed time"
        );
        self.record_project(request, CLOCK, alert(CLOCK, Severity::Error, message));
    }

    /// Project time went back by a span. Timers that were started after the present moment are moved back by the same
    /// span, and leases get a full period.
    pub fn rebase(&mut self, key: &EntityKey, by: Span) -> Result<(), Stop> {
        let now = self.now;
        let (life, entity) = self.existing_entity(key)?;
        let zone = &self.draft.base().project.zone;
        let (mut changes, mut leases) = (Changes::default(), Vec::new());
        for (name, state) in entity.timers.iter().filter(|(_, it)| is_later(it, now)) {
            if let Some(slot) = name.strip_prefix("lease.") {
                leases.push(Name::new(slot));
                continue;
            }
            let kind = life.timer(name).map(|it| &it.kind);
            let every = match kind {
                Some(TimerKind::Every(every)) => Some(*every),
                Some(_) => None,
                None => {
                    let counter = life.counters.iter().find(|it| reset_timer(&it.name) == *name);
                    counter.and_then(|it| it.reset_every)
                }
            };
            let next = match every {
                Some(every) if state.due.is_some() => fixed(next_occurrence(every, now, zone), now),
                _ => moved_back(state, by, now),
            };
            changes.timers.push((name.clone(), Some(next)));
            // The moment was computed from the wrong time too, such as the expiry of a token.
            if let Some(TimerKind::At(field)) = kind
                && let Some(at) = entity.fields.value(field).as_time().filter(|it| *it > now)
            {
                changes.fields.push((field.clone(), Value::Time(back(at, by))));
            }
        }
        let mut request = Request::engine(ActorKind::System, Fields::default(), Name::new(CLOCK), self.root);
        request.reason = Some(Arc::from(format!("Project time was moved back by {by}")));
        if !changes.timers.is_empty() {
            let seq = self.record(key, &request, &Name::new(CLOCK), Event::FieldsChanged { changes });
            self.root.get_or_insert(seq);
        }
        for slot in leases {
            let Some(lease) = self.existing_entity(key)?.1.lease(&slot).cloned() else { continue };
            if lease.holder.is_none() {
                continue;
            }
            let (lasts, grace) = self.lease_spans(key, &request, &slot)?;
            let lease = Lease { expires_at: now.plus(lasts), ..lease };
            let until = life.slot(&slot).and_then(|it| it.until.clone());
            self.renew(key, &slot, until, lease, grace, &request, &lease_timer(&slot));
        }
        Ok(())
    }
}

/// Whether a timer was started or resumed after this moment.
fn is_later(state: &TimerState, now: Timestamp) -> bool {
    state.started_at > now || state.running_since.is_some_and(|it| it > now)
}

fn back(at: Timestamp, by: Span) -> Timestamp {
    Timestamp(at.0.saturating_sub(by.0))
}

/// The timer with the same remaining time.
fn moved_back(state: &TimerState, by: Span, now: Timestamp) -> TimerState {
    let resumed = state.running_since.is_some_and(|it| it > now);
    let moved = |at: Timestamp| if at > now { back(at, by) } else { at };
    TimerState {
        started_at: moved(state.started_at),
        running_since: state.running_since.map(moved),
        due: state.due.map(|it| if resumed { back(it, by) } else { it }),
        ..*state
    }
}
