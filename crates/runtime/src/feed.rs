//! The live feed of committed entries. A follower that is too slow reads from the journal instead.

use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::broadcast;
use trackside_engine::event::Entry;
use trackside_store::record::Hash;

use crate::answer::{Failure, Seals};
use crate::failpoints::{Failpoint, is_enabled};
use crate::figures::Figures;
use crate::shared::Shared;

/// Commands that a follower may be behind before it must read the journal.
const KEPT: usize = 1_024;

/// Sends entries to followers, in order, once they are on disk.
#[derive(Debug)]
pub(crate) struct Feed {
    live: Mutex<Option<broadcast::Sender<Arc<Published>>>>,
}

impl Feed {
    pub fn new() -> Self {
        Self { live: Mutex::new(Some(broadcast::Sender::new(KEPT))) }
    }

    pub fn send(&self, entries: &[Arc<Vec<Entry>>], seals: &Arc<Seals>) {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = live.as_ref().filter(|it| it.receiver_count() > 0) {
            let told = entries.len() - usize::from(is_enabled(Failpoint::FeedGap) && !entries.is_empty());
            for entries in entries.iter().take(told) {
                let backwards = || Arc::new(entries.iter().rev().cloned().collect());
                let entries =
                    if is_enabled(Failpoint::FeedUnordered) { backwards() } else { entries.clone() };
                live.send(Arc::new(Published::of(entries, seals.clone()))).ok();
            }
        }
    }

    /// Ends the feed.
    pub fn close(&self) {
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn follow(&self) -> Option<broadcast::Receiver<Arc<Published>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(broadcast::Sender::subscribe)
    }
}

/// Entries as all followers get them. The first follower writes them as text, for all.
#[derive(Debug)]
struct Published {
    entries: Arc<Vec<Entry>>,
    /// Their hashes.
    seals: Arc<Seals>,
    texts: OnceLock<Vec<String>>,
}

impl Published {
    fn of(entries: Arc<Vec<Entry>>, seals: Arc<Seals>) -> Self {
        Self { entries, seals, texts: OnceLock::new() }
    }

    /// Whether the hashes are known. Entries published after a failure have theirs only in the journal.
    fn is_sealed(&self) -> bool {
        self.entries.last().is_none_or(|it| self.seals.of(it.seq).is_some())
    }

    fn texts(&self, write: EntryWriter) -> &[String] {
        let texts = || self.entries.iter().map(|it| write(it, self.seals.of(it.seq))).collect();
        self.texts.get_or_init(texts)
    }
}

/// Writes an entry as text, with its hash.
pub type EntryWriter = fn(&Entry, Option<&Hash>) -> String;

/// Entries that a follower was given.
#[derive(Clone, Debug)]
pub struct FeedBatch {
    news: Arc<Published>,
    /// Earlier ones were known already.
    first: usize,
}

impl FeedBatch {
    /// The hash of an entry, if it is known.
    pub fn hash(&self, seq: u64) -> Option<&Hash> {
        self.news.seals.of(seq)
    }

    /// Each entry with its text, written once for all followers.
    pub fn entries_with_text(&self, write: EntryWriter) -> impl Iterator<Item = (&Entry, &str)> {
        let texts = self.news.texts(write).iter().map(String::as_str);
        self.news.entries.iter().zip(texts).skip(self.first)
    }
}

impl Deref for FeedBatch {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        self.news.entries.get(self.first..).unwrap_or_default()
    }
}

/// Follows the journal from an entry on: every entry once, in order, without a gap. Archived entries are read from
/// their files; if a file is missing, the follower stops with an error.
#[derive(Debug)]
pub struct Follower {
    shared: Arc<Shared>,
    live: Option<broadcast::Receiver<Arc<Published>>>,
    /// The last entry that it was given.
    after: u64,
    /// Entries up to this one are read from the journal; later ones arrive live.
    missed: u64,
}

/// Entries read from the journal at a time.
const CHUNK: usize = 500;

impl Follower {
    pub(crate) fn new(shared: Arc<Shared>, after: u64) -> Self {
        // Subscribe first, then read the position, so that no entry is missed.
        let live = shared.feed.follow();
        let missed = shared.last_committed();
        Self { shared, live, after, missed }
    }

    /// The next entries: existing ones, or the first new ones.
    pub async fn next(&mut self) -> Result<FeedBatch, Failure> {
        loop {
            if self.missed > self.after {
                let found = self.read_on()?;
                if !found.is_empty() {
                    return Ok(found);
                }
            }
            let Some(live) = &mut self.live else { return Err(Failure::Stopped) };
            match live.recv().await {
                Ok(news) => {
                    let first = news.entries.first().map_or(0, |it| it.seq);
                    if news.entries.last().is_none_or(|it| it.seq <= self.after) {
                        continue;
                    }
                    let unnoticed = is_enabled(Failpoint::FeedGap) || is_enabled(Failpoint::FeedUnordered);
                    if (first > self.after + 1 || !news.is_sealed()) && !unnoticed {
                        self.missed = self.shared.last_committed();
                        continue;
                    }
                    let known = news.entries.iter().take_while(|it| it.seq <= self.after).count();
                    self.after = news.entries.last().map_or(self.after, |it| it.seq);
                    return Ok(FeedBatch { news, first: known });
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    Figures::add(&self.shared.figures.fell_behind, 1);
                    self.missed = self.shared.last_committed();
                }
                Err(broadcast::error::RecvError::Closed) => {
                    self.missed = self.shared.last_committed();
                    self.live = None;
                }
            }
        }
    }

    fn read_on(&mut self) -> Result<FeedBatch, Failure> {
        let upto = self.shared.last_committed();
        let records = self.shared.look_back(|it| it.records(self.after, CHUNK))?;
        let known = || records.iter().filter(|it| it.seq <= upto);
        let entries = known().map(trackside_store::Record::entry).collect::<Result<Vec<Entry>, _>>()?;
        let seals = Arc::<Seals>::default();
        seals.set(records.first().map_or(0, |it| it.seq), known().map(|it| it.hash).collect());
        self.after = entries.last().map_or(self.after, |it| it.seq);
        Ok(FeedBatch { news: Arc::new(Published::of(Arc::new(entries), seals)), first: 0 })
    }
}
