//! Transitions and refusals since the start, counted in memory, and the throughput of the last hour.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use trackside_engine::event::{Entry, Event};
use trackside_engine::refusal::Code;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

/// The number of recent transitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throughput {
    /// In this second and the 59 before it.
    pub last_minute: u64,
    /// In this minute and the 59 before it.
    pub last_hour: u64,
    /// Since it was started.
    pub since_start: u64,
    /// The time since which all of them are counted, if that is less than an hour ago: earlier ones were
    /// not recounted after the start.
    pub counted_from: Option<Timestamp>,
}

/// Counters since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinceStart {
    /// Transitions by lifecycle.
    pub transitions: BTreeMap<Name, u64>,
    /// Refusals by lifecycle, where there is such a one, and code.
    pub refusals: BTreeMap<(Option<Name>, Code), u64>,
    /// Journal entries by kind.
    pub entries: BTreeMap<&'static str, u64>,
    /// Alerts by severity.
    pub alerts: BTreeMap<&'static str, u64>,
}

/// A refusal by its lifecycle, if that exists, and its code. So there are never more kinds than lifecycles
/// times codes.
pub(crate) type RefusalKind = (Option<Name>, Code);

/// Updated once per commit, when it is published.
#[derive(Debug, Default)]
pub(crate) struct RunTotals {
    counted: Mutex<Counted>,
    /// Whether the last hour before the start has been counted. Locked meanwhile.
    recalled: Mutex<bool>,
}

/// Transitions read from before the start.
#[derive(Debug, Default)]
pub(crate) struct EarlierMoves {
    /// Transitions, by lifecycle and when.
    pub moves: Vec<(Name, Timestamp)>,
    /// The time since which these are complete; none if nothing earlier could count.
    pub from: Option<Timestamp>,
}

#[derive(Debug, Default)]
struct Counted {
    /// The last entry that was there before it was started.
    began: u64,
    /// The time of the start.
    began_at: Option<Timestamp>,
    /// The time since which every transition is counted; none if nothing earlier could count.
    from: Option<Timestamp>,
    moved: BTreeMap<Name, Rate>,
    refused: BTreeMap<RefusalKind, u64>,
    /// Entries by kind, and alerts by severity.
    written: BTreeMap<&'static str, u64>,
    alerts: BTreeMap<&'static str, u64>,
}

impl RunTotals {
    /// Entries up to this one are of earlier runs.
    pub fn begin(&self, began: u64) {
        self.with(|it| it.began = began);
    }

    /// Sets the time of the start.
    pub fn begin_at(&self, now: Timestamp) {
        self.with(|it| it.began_at = Some(now));
    }

    pub fn began_at(&self) -> Option<Timestamp> {
        self.with(|it| it.began_at)
    }

    /// Counts the hour before the start, at the first request: `read` gets the last entry of that time. Concurrent
    /// requests wait.
    pub fn load_earlier_moves<E>(&self, read: impl FnOnce(u64) -> Result<EarlierMoves, E>) -> Result<(), E> {
        let mut recalled = self.recalled.lock().unwrap_or_else(PoisonError::into_inner);
        if *recalled {
            return Ok(());
        }
        let earlier = read(self.with(|it| it.began))?;
        self.with(|counted| {
            for (lifecycle, at) in earlier.moves {
                counted.moved.entry(lifecycle).or_default().add_earlier(at);
            }
            counted.from = earlier.from;
        });
        *recalled = true;
        Ok(())
    }

    /// Counts a published commit and its refusals.
    pub fn add<'a>(&self, entries: impl Iterator<Item = &'a Entry>, refused: Vec<RefusalKind>) {
        self.with(|counted| {
            let began = counted.began;
            for entry in entries.filter(|it| it.seq > began) {
                *counted.written.entry(entry.event.kind().as_str()).or_default() += 1;
                if let Event::AlertRaised { severity, .. } = &entry.event {
                    *counted.alerts.entry(severity.as_str()).or_default() += 1;
                }
                if !is_transition(entry) {
                    continue;
                }
                // Found by reference first: a name is only copied for the first of its lifecycle.
                match counted.moved.get_mut(&entry.entity.lifecycle) {
                    Some(rate) => rate.add(entry.at),
                    None => counted.moved.entry(entry.entity.lifecycle.clone()).or_default().add(entry.at),
                }
            }
            for one in refused {
                *counted.refused.entry(one).or_default() += 1;
            }
        });
    }

    pub fn throughput(&self, lifecycle: &Name, now: Timestamp) -> Throughput {
        self.with(|it| {
            let moved = it.moved.get(lifecycle).map(|it| it.at(now)).unwrap_or_default();
            Throughput { counted_from: it.from.filter(|from| *from > first_of_the_hour(now)), ..moved }
        })
    }

    /// Refusals of one lifecycle, or of no known one, by code.
    pub fn refusals(&self, lifecycle: Option<&Name>) -> BTreeMap<Code, u64> {
        self.with(|counted| {
            let those = counted.refused.iter().filter(|((of, _), _)| of.as_ref() == lifecycle);
            those.map(|((_, code), count)| (*code, *count)).collect()
        })
    }

    /// All counts at one moment.
    pub fn since_start(&self) -> SinceStart {
        self.with(|it| SinceStart {
            transitions: it
                .moved
                .iter()
                .filter(|(_, it)| it.all > 0)
                .map(|(of, it)| (of.clone(), it.all))
                .collect(),
            refusals: it.refused.clone(),
            entries: it.written.clone(),
            alerts: it.alerts.clone(),
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Counted) -> T) -> T {
        work(&mut self.counted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The start of the first of the last sixty minutes.
pub(crate) fn first_of_the_hour(now: Timestamp) -> Timestamp {
    let minute = now.0.div_euclid(MINUTE).saturating_sub(PLACES as i64 - 1);
    Timestamp(minute.saturating_mul(MINUTE))
}

pub(crate) fn is_transition(entry: &Entry) -> bool {
    matches!(entry.event, Event::Transitioned { .. })
}

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;

/// Transitions of a lifecycle, in all and by when.
#[derive(Debug, Default)]
struct Rate {
    all: u64,
    seconds: Ring,
    minutes: Ring,
}

impl Rate {
    fn add(&mut self, at: Timestamp) {
        self.all += 1;
        self.add_earlier(at);
    }

    /// One of before the start.
    fn add_earlier(&mut self, at: Timestamp) {
        self.seconds.add(at.0.div_euclid(SECOND));
        self.minutes.add(at.0.div_euclid(MINUTE));
    }

    fn at(&self, now: Timestamp) -> Throughput {
        Throughput {
            last_minute: self.seconds.last(now.0.div_euclid(SECOND)),
            last_hour: self.minutes.last(now.0.div_euclid(MINUTE)),
            since_start: self.all,
            counted_from: None,
        }
    }
}

/// Places that are used again and again.
const PLACES: usize = 60;
/// More steps than any count is late.
const FAR: i64 = 100_000;

/// Counts for each of the last time steps.
#[derive(Debug)]
struct Ring([(i64, u64); PLACES]);

impl Default for Ring {
    fn default() -> Self {
        Self([(i64::MIN, 0); PLACES])
    }
}

impl Ring {
    fn add(&mut self, step: i64) {
        let place = usize::try_from(step.rem_euclid(PLACES as i64)).unwrap_or(0);
        let Some((of, count)) = self.0.get_mut(place) else { return };
        // A late count may be older than the slot's present content. Content that is much newer is of a wrong time that
        // was corrected.
        if *of < step || of.saturating_sub(step) > FAR {
            (*of, *count) = (step, 0);
        }
        if *of == step {
            *count += 1;
        }
    }

    /// The sum of this step and the earlier ones in the ring.
    fn last(&self, step: i64) -> u64 {
        let from = step.saturating_sub(PLACES as i64);
        self.0.iter().filter(|(of, _)| *of > from && *of <= step).map(|(_, count)| count).sum()
    }
}
