//! Entities per state and the time spent in states: updated with every move, never recounted.

use std::collections::BTreeMap;

use trackside_engine::event::Event;
use trackside_engine::refusal::Code;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_store::ProjectionBuilder;
use trackside_store::store::DwellTimes;

use super::{ReadError, Reads};
use crate::memory::UnflushedCommits;
use crate::tally::Throughput;

/// Figures of a lifecycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    pub lifecycle: Name,
    /// The number of entities per state now.
    pub states: BTreeMap<Name, u64>,
    /// The time spent in each state, over completed visits.
    pub stays: BTreeMap<Name, DwellTimes>,
    /// The number of recent transitions.
    pub throughput: Throughput,
    /// The start of the server: refusals are counted since then.
    pub started_at: Option<Timestamp>,
    /// Refused requests since the start, by the code of the refusal.
    pub refusals: BTreeMap<Code, u64>,
}

/// Lengths of stays in milliseconds, percentiles within a few per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    pub count: u64,
    pub mean: i64,
    pub p50: i64,
    pub p90: i64,
    pub p99: i64,
}

impl Stats {
    /// The time spent in a state; none if no entity has left it.
    pub fn lengths(&self, state: &str) -> Option<Lengths> {
        let stays = self.stays.get(state)?;
        let share = |it| stays.percentile(it);
        Some(Lengths {
            count: stays.count,
            mean: stays.mean_ms()?,
            p50: share(0.5)?,
            p90: share(0.9)?,
            p99: share(0.99)?,
        })
    }
}

impl Reads {
    pub fn stats(&self, lifecycle: &Name) -> Result<Stats, ReadError> {
        self.lifecycle(lifecycle)?;
        let unwritten = UnflushedCommits::of(&self.shared);
        let (known, left) = self.store(|it| Ok((it.states(lifecycle)?, it.dwell_times(lifecycle)?)))?;
        let mut states = known.value;
        for (entry, before) in
            unwritten.after(known.position).filter(|(it, _)| it.entity.lifecycle == *lifecycle)
        {
            let Some(to) = entered_state(&entry.event) else { continue };
            if let Some(was) = &before.was {
                let count = states.get(&was.state).copied().unwrap_or(0).saturating_sub(1);
                states.insert(was.state.clone(), count);
            }
            *states.entry(to.clone()).or_default() += 1;
        }
        states.retain(|_, count| *count > 0);
        let mut stays = left.value;
        let mut late = ProjectionBuilder::new(left.position);
        for (entry, before) in
            unwritten.after(left.position).filter(|(it, _)| it.entity.lifecycle == *lifecycle)
        {
            late.add(entry, before.was.as_ref());
        }
        for (_, state, ms) in late.build().dwell_times {
            stays.entry(state).or_default().add(ms);
        }
        self.load_earlier_moves()?;
        let throughput = self.shared.tally.throughput(lifecycle, self.now());
        let refusals = self.shared.tally.refusals(Some(lifecycle));
        let started_at = self.shared.tally.began_at();
        Ok(Stats { lifecycle: lifecycle.clone(), states, stays, throughput, started_at, refusals })
    }

    /// Refusals since the start that named no known lifecycle, by code.
    pub fn stray_refusals(&self) -> BTreeMap<Code, u64> {
        self.shared.tally.refusals(None)
    }
}

/// The state that an event puts its entity into.
pub(super) fn entered_state(event: &Event) -> Option<&Name> {
    match event {
        Event::Created { state, .. } => Some(state),
        Event::Transitioned { to, .. } | Event::Corrected { to, .. } | Event::Migrated { to, .. } => Some(to),
        _ => None,
    }
}
