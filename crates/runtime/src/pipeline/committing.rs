//! Commits what was decided, and then tells those who may know, in the order in which they may.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use trackside_store::{Chain, StoreError};

use super::committer::{Committed, Committer, Ends};
use super::turn::{Told, Turn};
use crate::answer::Failure;
use crate::figures::Figures;
use crate::shared::{Part, Shared};
use crate::work::Saying;

/// The committer at work. What it returns is on disk and known, and not yet written behind.
#[derive(Debug)]
pub(crate) struct Committing {
    shared: Arc<Shared>,
    /// None after a failure, until the journal was opened again.
    committer: Option<Committer>,
    /// Where the journal may end then.
    ends: Ends,
}

impl Committing {
    pub fn new(shared: Arc<Shared>, committer: Committer) -> Self {
        Self { shared, ends: committer.ends(), committer: Some(committer) }
    }

    /// Commits a turn and answers. What was decided after a failure is turned away.
    pub fn commit(&mut self, turn: Turn) -> Option<Arc<Committed>> {
        let asked = turn.told.asked();
        if self.shared.is_broken() {
            Figures::add(&self.shared.figures.failed, asked);
            let why = self.shared.trouble_of(&[Part::Journal]).unwrap_or_default();
            turn_down(turn.sayings, &why);
            return None;
        }
        let committer = self.committer.as_mut()?;
        let begun = Instant::now();
        let (done, sayings) = committer.commit(turn);
        match done {
            Ok(committed) => {
                if committed.written.entries > 0 {
                    self.shared.figures.commit_span.add_span(begun.elapsed());
                    self.shared.figures.commit_size.add(committed.commands as u64);
                }
                tell(&self.shared, committed, sayings)
            }
            Err(error) => {
                Figures::add(&self.shared.figures.failed, asked);
                let why = error.to_string();
                self.shared.set_trouble(Part::Journal, Some(why.clone()));
                self.shared.set_broken(true);
                Figures::add(&self.shared.figures.failed_commits, 1);
                turn_down(sayings, &why);
                None
            }
        }
    }

    /// Waits for what comes next, and lets it be known that it waits.
    pub fn idle<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.shared.set_idle(true);
        let come = wait();
        self.shared.set_idle(false);
        come
    }

    /// Tells of entries that are on disk already.
    pub fn publish(&self, turn: Turn) -> Option<Arc<Committed>> {
        let (committed, sayings) = turn.published();
        tell(&self.shared, committed, sayings)
    }

    /// Forgets what went wrong, and begins again where the journal ends: that is answered. What somebody else wrote there
    /// is not gone on with.
    pub fn reopen(&mut self) -> Result<Chain, StoreError> {
        // First let go of the old one: there is one end at a time.
        if let Some(failed) = self.committer.take() {
            self.ends = failed.ends();
        }
        let committer = Committer::new(self.shared.store().journal()?)?;
        self.ends.are_ours(committer.end())?;
        Ok(self.committer.insert(committer).end())
    }

    /// Drops what the journal holds of an erased entity.
    pub fn drop_payloads(&mut self, seqs: &[u64]) -> Result<u64, StoreError> {
        match &mut self.committer {
            Some(committer) => committer.drop_payloads(seqs),
            None => Err(StoreError::io("erasing", "the journal is not open")),
        }
    }

    /// Lets go of what a verified file holds.
    pub fn cut(&mut self, upto: Chain, staying: &BTreeSet<u64>) -> Result<u64, StoreError> {
        match &mut self.committer {
            Some(committer) => committer.cut(upto, staying),
            None => Err(StoreError::io("archiving", "the journal is not open")),
        }
    }
}

fn turn_down(sayings: Vec<Saying>, why: &str) {
    for say in sayings {
        say(Err(Failure::Unavailable(why.to_owned())));
    }
}

/// It is on disk: show it, answer, feed; what is returned is written behind.
fn tell(shared: &Shared, mut committed: Committed, sayings: Vec<Saying>) -> Option<Arc<Committed>> {
    if let Some(law) = &committed.law {
        shared.set_law(law.clone());
    }
    let Told { refused, outcomes, fired } = std::mem::take(&mut committed.told);
    Figures::add(&shared.figures.refused, refused.len());
    shared.figures.answered(&outcomes);
    fired.into_iter().for_each(|late| shared.figures.fired(late));
    shared.tally.add(committed.entries.iter().flat_map(|it| it.iter()), refused);
    let committed = Arc::new(committed);
    shared.keep(&committed);
    shared.show(committed.touched.iter().map(|it| &it.entity), committed.upto);
    for say in sayings {
        say(Ok(()));
    }
    if committed.entries.is_empty() {
        return None;
    }
    Figures::add(&shared.figures.commits, 1);
    Figures::add(&shared.figures.commands, committed.commands);
    shared.figures.largest_commit.fetch_max(committed.commands as u64, Ordering::Relaxed);
    shared.figures.wrote(&committed.written);
    shared.feed.send(&committed.entries, &committed.seals);
    Some(committed)
}
