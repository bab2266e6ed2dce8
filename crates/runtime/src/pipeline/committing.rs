//! Commits a batch, then publishes it: to readers, observers, callers and the feed, in that order.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use trackside_store::{Chain, JournalWriter, StoreError};

use super::committer::{Committed, Committer, JournalEnds};
use super::decided_batch::{BatchCounts, DecidedBatch};
use crate::answer::Failure;
use crate::figures::Figures;
use crate::shared::Shared;
use crate::work::CommitReply;

/// The committer at work. Its results are on disk and published, but not yet flushed to the projections.
#[derive(Debug)]
pub(crate) struct Committing {
    shared: Arc<Shared>,
    /// None after a failure, until the journal is opened again.
    committer: Option<Committer>,
    /// The possible ends of the journal after the failure.
    ends: JournalEnds,
}

impl Committing {
    pub fn new(shared: Arc<Shared>, committer: Committer) -> Self {
        Self { shared, ends: committer.ends(), committer: Some(committer) }
    }

    /// Commits a step and answers. Batches decided after a failure are rejected.
    pub fn commit(&mut self, batch: DecidedBatch) -> Option<Arc<Committed>> {
        let asked = batch.content.counts.waiting_callers();
        if self.shared.is_broken() {
            Figures::add(&self.shared.figures.failed, asked);
            turn_down(&self.shared, batch.replies, &self.shared.journal_failure());
            return None;
        }
        let committer = self.committer.as_mut()?;
        let begun = Instant::now();
        let (done, replies) = committer.commit(batch);
        match done {
            Ok(committed) => {
                if committed.written.entries > 0 {
                    self.shared.figures.commit_span.add_span(begun.elapsed());
                    self.shared.figures.commit_size.add(committed.content.commands as u64);
                }
                publish(&self.shared, committed, replies)
            }
            Err(error) => {
                Figures::add(&self.shared.figures.failed, asked);
                let why = self.shared.set_journal_failure(error);
                self.shared.set_broken(true);
                Figures::add(&self.shared.figures.failed_commits, 1);
                turn_down(&self.shared, replies, &why);
                None
            }
        }
    }

    /// Waits for the next batch and marks the committer as idle meanwhile.
    pub fn idle<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.shared.set_idle(true);
        let come = wait();
        self.shared.set_idle(false);
        come
    }

    /// Publishes entries that are on disk already.
    pub fn publish(&self, batch: DecidedBatch) -> Option<Arc<Committed>> {
        let (committed, replies) = batch.into_commit();
        publish(&self.shared, committed, replies)
    }

    /// Clears the failure and resumes at the end of the journal, which it returns. Entries that another
    /// process wrote are an error.
    pub fn reopen(&mut self) -> Result<Chain, StoreError> {
        // Close the old one first: a journal has one writer at a time.
        if let Some(failed) = self.committer.take() {
            self.ends = failed.ends();
        }
        let committer = Committer::new(self.shared.store().journal()?, self.shared.salts.clone())?;
        self.ends.are_ours(committer.end())?;
        Ok(self.committer.insert(committer).end())
    }

    /// The journal, to erase payloads and to cut archived entries.
    pub fn journal(&mut self, doing: &str) -> Result<&mut dyn JournalWriter, StoreError> {
        match &mut self.committer {
            Some(committer) => Ok(committer.journal()),
            None => Err(StoreError::io(doing, "the journal is not open")),
        }
    }
}

fn turn_down(shared: &Shared, replies: Vec<CommitReply>, why: &Failure) {
    shared.remove_unanswered(replies.len());
    for say in replies {
        say(Err(why.clone()));
    }
}

/// Publishes a commit that is on disk, in this order: readers, registered observers (the server's token
/// cache and webhooks), the callers who wait for an answer, the feed. Returns the work for the flusher.
fn publish(shared: &Shared, committed: Committed, replies: Vec<CommitReply>) -> Option<Arc<Committed>> {
    let committed = show(shared, committed);
    shared.observers.notify(&committed.content.entries);
    // First: a caller that was answered is no longer waited for, however soon it sends its next command.
    shared.remove_unanswered(replies.len());
    for reply in replies {
        reply(Ok(()));
    }
    if committed.content.entries.is_empty() {
        return None;
    }
    Figures::add(&shared.figures.commits, 1);
    Figures::add(&shared.figures.commands, committed.content.commands);
    shared.figures.largest_commit.fetch_max(committed.content.commands as u64, Ordering::Relaxed);
    shared.figures.add_commit(&committed.written);
    shared.feed.send(&committed.content.entries, &committed.content.seals);
    Some(committed)
}

/// Shows a commit to readers, and counts it.
fn show(shared: &Shared, mut committed: Committed) -> Arc<Committed> {
    if let Some(law) = &committed.content.law {
        shared.set_law(law.clone());
    }
    let BatchCounts { refused, outcomes, fired } = std::mem::take(&mut committed.content.counts);
    Figures::add(&shared.figures.refused, refused.len());
    shared.figures.add_outcomes(&outcomes);
    fired.into_iter().for_each(|late| shared.figures.add_timer_delay(late));
    shared.tally.add(committed.content.entries.iter().flat_map(|it| it.iter()), refused);
    let committed = Arc::new(committed);
    shared.keep(&committed);
    shared.show(committed.content.changed_entities.iter().map(|it| &it.entity), committed.upto);
    committed
}
