//! What was committed, for those who follow along. A follower that is too slow reads from the journal instead.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast;
use trackside_engine::event::Entry;

use crate::answer::Failure;
use crate::figures::Figures;
use crate::planted::{Bug, is_planted};
use crate::shared::Shared;

/// Commits that a follower may be behind before it must read the journal.
const KEPT: usize = 1_024;

/// Hands entries to whoever follows, in order, once they are on disk.
#[derive(Debug)]
pub(crate) struct Feed {
    live: Mutex<Option<broadcast::Sender<Arc<Vec<Entry>>>>>,
}

impl Feed {
    pub fn new() -> Self {
        Self { live: Mutex::new(Some(broadcast::Sender::new(KEPT))) }
    }

    pub fn send(&self, entries: &[Arc<Vec<Entry>>]) {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = live.as_ref().filter(|it| it.receiver_count() > 0) {
            let told = entries.len() - usize::from(is_planted(Bug::FeedGap) && !entries.is_empty());
            for entries in entries.iter().take(told) {
                live.send(entries.clone()).ok();
            }
        }
    }

    /// Nothing more will come.
    pub fn close(&self) {
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn follow(&self) -> Option<broadcast::Receiver<Arc<Vec<Entry>>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(broadcast::Sender::subscribe)
    }
}

/// Somebody who follows the journal from an entry on: every entry once, in order, without a gap.
#[derive(Debug)]
pub struct Follower {
    shared: Arc<Shared>,
    live: Option<broadcast::Receiver<Arc<Vec<Entry>>>>,
    /// The last entry that it was given.
    after: u64,
}

/// Entries read from the journal at a time.
const CHUNK: usize = 500;

impl Follower {
    pub(crate) fn new(shared: Arc<Shared>, after: u64) -> Self {
        let live = shared.feed.follow();
        Self { shared, live, after }
    }

    /// The next entries: those that are there already, or the first to come.
    pub async fn next(&mut self) -> Result<Vec<Entry>, Failure> {
        loop {
            if self.shared.committed() > self.after {
                let found = self.read_on()?;
                if !found.is_empty() {
                    return Ok(found);
                }
            }
            let Some(live) = &mut self.live else { return Err(Failure::Stopped) };
            match live.recv().await {
                Ok(entries) => {
                    let first = entries.first().map_or(0, |it| it.seq);
                    if entries.last().is_none_or(|it| it.seq <= self.after) {
                        continue;
                    }
                    if first > self.after + 1 && !is_planted(Bug::FeedGap) {
                        return self.read_on();
                    }
                    let fresh: Vec<Entry> =
                        entries.iter().filter(|it| it.seq > self.after).cloned().collect();
                    self.after = fresh.last().map_or(self.after, |it| it.seq);
                    return Ok(fresh);
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    Figures::add(&self.shared.figures.fell_behind, 1);
                }
                Err(broadcast::error::RecvError::Closed) => {
                    self.live = None;
                }
            }
        }
    }

    fn read_on(&mut self) -> Result<Vec<Entry>, Failure> {
        let upto = self.shared.committed();
        let read = self.shared.read(|it| it.records(self.after, CHUNK));
        let records = read.map_err(|it| Failure::Unavailable(it.to_string()))?;
        let known = records.iter().filter(|it| it.seq <= upto);
        let entries: Result<Vec<Entry>, _> = known.map(trackside_store::Record::entry).collect();
        let entries = entries.map_err(|it| Failure::Unavailable(it.to_string()))?;
        self.after = entries.last().map_or(self.after, |it| it.seq);
        Ok(entries)
    }
}
