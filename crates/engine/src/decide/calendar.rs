//! Times after the year 9999 are refused: they cannot be written as dates.

use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::{DecisionBuilder, Stop};
use crate::entity::{Lease, TimerState};
use crate::event::{Entry, Event};
use crate::refusal::{Code, Refusal, Unmet};

impl DecisionBuilder<'_> {
    /// Refuses the command if a value, timer or lease that it sets would lead beyond the year 9999.
    pub(super) fn must_end_in_the_calendar(&self) -> Result<(), Stop> {
        let unmet: Vec<Unmet> = self.draft.entries.iter().flat_map(|it| beyond(it, self.now)).collect();
        match unmet.is_empty() {
            true => Ok(()),
            false => Err(Refusal::with(Code::InvalidField, unmet).into()),
        }
    }
}

/// Whether a value leads beyond the year 9999, counted from now.
pub(super) fn is_beyond(value: &Value, now: Timestamp) -> bool {
    match value {
        Value::Time(at) => !at.is_date(),
        Value::Span(span) => !now.plus(*span).is_date(),
        Value::List(items) => items.iter().any(|it| is_beyond(it, now)),
        Value::Map(members) => members.values().any(|it| is_beyond(it, now)),
        _ => false,
    }
}

/// Everything in an entry that ends after the year 9999.
fn beyond(entry: &Entry, now: Timestamp) -> Vec<Unmet> {
    let mut unmet = Vec::new();
    let timer = |name: &Name, state: &TimerState| {
        let ends = state.ends_at().into_iter().chain(state.due).any(|it| !it.is_date());
        ends.then(|| {
            let message = format!(
                "The timer {name} of {} would end after the year 9999. Shorten the span that it is counted from",
                entry.entity
            );
            Unmet::new(Code::InvalidField, message)
        })
    };
    if let Some(changes) = entry.event.changes() {
        for (name, _) in changes.fields.iter().filter(|(_, value)| is_beyond(value, now)) {
            let message =
                format!("{name} leads beyond the year 9999. Send a shorter span or an earlier time");
            unmet.push(Unmet::new(Code::InvalidField, message).of(name));
        }
        let set = changes.timers.iter().filter_map(|(name, state)| Some((name, state.as_ref()?)));
        unmet.extend(set.filter_map(|(name, state)| timer(name, state)));
    }
    if let Event::LeaseGranted { slot, lease, .. } | Event::LeaseRenewed { slot, lease, .. } = &entry.event {
        let Lease { expires_at, .. } = lease;
        if !expires_at.is_date() {
            let message = format!("The lease {slot} would end after the year 9999. Shorten its span");
            unmet.push(Unmet::new(Code::InvalidField, message));
        }
    }
    // One cause can show in several places.
    if unmet.iter().any(|it| it.field.is_some()) {
        unmet.retain(|it| it.field.is_some());
    }
    unmet
}
