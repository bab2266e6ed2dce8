//! An overview of the project for monitoring.

use std::collections::BTreeMap;

use trackside_engine::event::Event;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_store::StoreError;
use trackside_store::projection_builder::OPEN_ALERT;
use trackside_store::store::{Census, DwellTimes};

use super::stats::entered_state;
use super::{MOST, ReadError, Reads};
use crate::memory::UnflushedCommits;

/// An overview of the project. Entities are current; the rest comes from projections, which are a moment
/// behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectOverview {
    /// The number of entities per lifecycle and state.
    pub entities: BTreeMap<Name, BTreeMap<Name, u64>>,
    /// The time that entities spent in each state of each lifecycle, over completed visits.
    pub dwell_times: BTreeMap<Name, BTreeMap<Name, DwellTimes>>,
    pub waiting: Census,
    /// The delay of the timer that is most overdue; zero if none is late.
    pub overdue: Span,
    /// The age of the oldest open effect.
    pub oldest_effect: Span,
    /// Open alerts, by severity and whether they are acknowledged: the oldest thousand.
    pub alerts: BTreeMap<(&'static str, bool), u64>,
    /// The age of the oldest unacknowledged alert.
    pub oldest_alert: Span,
    /// The last archived entry: the journal here begins after it.
    pub archived: u64,
}

/// The severity of alerts whose entry is in a missing archive file.
pub const UNKNOWN: &str = "unknown";

/// Pages of alerts that are read.
const ALERT_PAGES: usize = 5;

/// Rows read at one position.
struct Seen {
    /// The entry up to which each lifecycle was seen.
    positions: BTreeMap<Name, u64>,
    entities: BTreeMap<Name, BTreeMap<Name, u64>>,
    dwell_times: BTreeMap<Name, BTreeMap<Name, DwellTimes>>,
    waiting: Census,
    due: Option<Timestamp>,
    effect: Option<u64>,
    archived: u64,
}

/// Open alerts, by severity and whether they are acknowledged.
type Alerts = BTreeMap<(&'static str, bool), u64>;

impl Reads {
    /// Surveys the project. It counts rows one by one, so it is too slow for every request.
    pub fn survey(&self) -> Result<ProjectOverview, ReadError> {
        let unwritten = UnflushedCommits::of(&self.shared);
        let seen = self.seen()?;
        let (mut entities, positions) = (seen.entities, seen.positions);
        let earliest = positions.values().copied().min().unwrap_or_default();
        for (entry, before) in unwritten.after(earliest) {
            let Some(to) = entered_state(&entry.event) else { continue };
            let name = &entry.entity.lifecycle;
            // The lifecycles may have been read at different positions.
            if positions.get(name).is_none_or(|it| entry.seq <= *it) {
                continue;
            }
            let Some(states) = entities.get_mut(name) else { continue };
            if let Some(count) = before.was.as_ref().and_then(|it| states.get_mut(&it.state)) {
                *count = count.saturating_sub(1);
            }
            *states.entry(to.clone()).or_default() += 1;
        }
        let now = self.now();
        let ago = |at: Timestamp| Span(now.since(at).0.max(0));
        let asked = seen.effect.map(|id| self.entry(id)).transpose()?.flatten();
        let (alerts, unseen) = self.open_alerts()?;
        Ok(ProjectOverview {
            entities,
            alerts,
            oldest_alert: unseen.map(ago).unwrap_or_default(),
            dwell_times: seen.dwell_times,
            waiting: seen.waiting,
            overdue: seen.due.map(ago).unwrap_or_default(),
            oldest_effect: asked.map(|it| ago(it.at)).unwrap_or_default(),
            archived: seen.archived,
        })
    }

    /// Open alerts, and when the oldest unacknowledged one was raised.
    fn open_alerts(&self) -> Result<(Alerts, Option<Timestamp>), ReadError> {
        let (mut alerts, mut unseen, mut after) = (Alerts::new(), None, 0);
        for _ in 0..ALERT_PAGES {
            let (seqs, next) = self.noticed_numbers(&[OPEN_ALERT], after, MOST)?;
            let records = self.look_back(|whole| {
                let kept = |seq: &u64| match whole.record(*seq) {
                    Err(error) if error.is_out_of_reach() => Ok(None),
                    found => found,
                };
                seqs.iter().map(kept).collect::<Result<Vec<_>, _>>()
            })?;
            for record in records {
                let Some(record) = record else {
                    // Its file is missing, but the alert is known to be open.
                    *alerts.entry((UNKNOWN, false)).or_default() += 1;
                    continue;
                };
                let entry = record.entry()?;
                let Event::AlertRaised { severity, .. } = &entry.event else { continue };
                let entity = self.entity(&entry.entity)?;
                // One may have been resolved since.
                let Some(alert) = entity.as_ref().and_then(|it| it.alert(entry.seq)) else { continue };
                let is_seen = alert.acknowledged.is_some();
                *alerts.entry((severity.as_str(), is_seen)).or_default() += 1;
                if !is_seen {
                    unseen.get_or_insert(entry.at);
                }
            }
            match next {
                Some(next) => after = next,
                None => break,
            }
        }
        Ok((alerts, unseen))
    }

    fn seen(&self) -> Result<Seen, ReadError> {
        let law = self.shared.law();
        self.store(|reader| {
            reader.begin_snapshot();
            let mut look = || -> Result<Seen, StoreError> {
                let waiting = reader.census()?;
                let (mut entities, mut positions) = (BTreeMap::new(), BTreeMap::new());
                let mut dwell_times = BTreeMap::new();
                for name in law.lifecycle_names() {
                    // Every state, also empty ones.
                    let known = law.newest(name).into_iter().flat_map(|it| &it.states);
                    let mut states: BTreeMap<Name, u64> = known.map(|it| (it.name.clone(), 0)).collect();
                    let found = reader.states(name)?;
                    states.extend(found.value);
                    positions.insert(name.clone(), found.position);
                    entities.insert(name.clone(), states);
                    dwell_times.insert(name.clone(), reader.dwell_times(name)?.value);
                }
                Ok(Seen {
                    positions,
                    entities,
                    dwell_times,
                    waiting: waiting.value,
                    due: reader.timers(None, 1)?.value.first().map(|it| it.due),
                    effect: reader.effects(0, 1)?.value.first().map(|it| it.id),
                    archived: reader.base()?.seq,
                })
            };
            let seen = look();
            reader.end_snapshot();
            seen
        })
    }
}
