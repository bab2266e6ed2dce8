//! Rebuilds the memory from the projections and the later entries of the journal: at the start, and after a
//! failed commit.

use std::sync::Arc;

use trackside_engine::{Law, View};
use trackside_lifecycle::time::Timestamp;
use trackside_store::archive::ArchivedRecords;
use trackside_store::{Chain, Reader, Record, Store, StoreError};

use super::committer::Committer;
use super::decided_batch::DecidedBatch;
use super::decider::Decider;
use super::flusher::Flusher;
use super::project_alerts::ProjectAlerts;
use super::steps::write_behind;
use crate::clock::ProjectClock;
use crate::failpoints::{Failpoint, is_enabled};
use crate::memory::Limits;
use crate::shared::Shared;

/// Records read at a time.
const CHUNK: usize = 2_000;

/// Entries that are written behind at a time while there are many to catch up with.
const STRETCH: usize = 50_000;

/// Flushes the journal entries that the projections lack, except a last stretch that fits into memory: few
/// after a crash, all after the projections were deleted. `progress` gets the current and the target entry.
pub(crate) fn catch_up(
    shared: &Shared,
    committer: &mut Committer,
    flusher: &mut Flusher,
    limits: Limits,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), StoreError> {
    flush_until(shared, committer, flusher, limits, STRETCH as u64, progress)
}

/// Flushes the journal entries that the projections lack, but for the last `left` ones.
pub(crate) fn flush_until(
    shared: &Shared,
    committer: &mut Committer,
    flusher: &mut Flusher,
    limits: Limits,
    left: u64,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), StoreError> {
    let (store, law) = (shared.store(), shared.law());
    let mut source = Source::of(store)?;
    let head = committer.end().seq;
    while head.saturating_sub(flusher.last_flushed()) > left {
        progress(flusher.last_flushed(), head);
        let upto = head.min(flusher.last_flushed() + STRETCH as u64);
        let clock = ProjectClock::manual(Timestamp(0));
        let reader = store.reader()?;
        let (decider, batch, _) =
            replay(law.clone(), reader, &mut source, clock, limits, upto, ProjectAlerts::default())?;
        let project = decider.memory.view.project.clone();
        let (committed, _) = batch.into_commit();
        flusher.take(&committed);
        flusher.project(project);
        write_behind(shared, flusher, &mut |seqs| committer.journal().drop_payloads(&seqs))?;
    }
    Ok(())
}

/// A decider that knows the journal up to `end`, and a batch with the entries after `published`, which are not
/// published yet. Each of them must follow from the one before it.
pub(crate) fn recover(
    law: Arc<Law>,
    mut reader: Box<dyn Reader>,
    source: &mut Source,
    clock: ProjectClock,
    limits: Limits,
    published: u64,
    end: Chain,
) -> Result<(Decider, DecidedBatch), StoreError> {
    loop {
        let position = reader.position()?;
        let alerts = ProjectAlerts::open(reader.as_mut())?;
        let (mut decider, mut batch, at) =
            replay(law.clone(), reader, source, clock.clone(), limits, end.seq, alerts)?;
        if at != end {
            return Err(StoreError::NotOurs { found: at.seq, known: end.seq });
        }
        // The flusher may have written meanwhile: all reads must be of one position, or entries count
        // twice.
        if decider.memory.reader().position()? == position {
            batch.content.forget_until(published);
            return Ok((decider, batch));
        }
        reader = decider.memory.source.reader;
    }
}

/// The projections, and the entries after them up to one, which is answered.
fn replay(
    law: Arc<Law>,
    mut reader: Box<dyn Reader>,
    source: &mut Source,
    clock: ProjectClock,
    limits: Limits,
    upto: u64,
    alerts: ProjectAlerts,
) -> Result<(Decider, DecidedBatch, Chain), StoreError> {
    let head = reader.head()?;
    let position = reader.position()?;
    let mut view = View::partial(position);
    view.project = reader.project()?.unwrap_or_default();
    let last = head.at.unwrap_or(Timestamp(i64::MIN));
    let mut decider = Decider::new(law, view, source.store.clone(), reader, clock, limits, last);
    decider.alerts = alerts;
    let mut chain = source.at(decider.memory.reader(), position)?;
    while chain.seq < upto {
        let records = source.records(decider.memory.reader(), chain.seq, upto)?;
        if records.is_empty() {
            return Err(StoreError::Chain { seq: chain.seq + 1, what: "is missing".to_owned() });
        }
        for record in records {
            chain.follow(&record)?;
            let entry = record.entry()?;
            if is_enabled(Failpoint::TailForgotten) && entry.seq == head.chain.seq {
                decider.memory.view.seq = entry.seq;
                continue;
            }
            decider.take_over(entry, record.prev)?;
        }
    }
    let batch = decider.finish();
    Ok((decider, batch, chain))
}

/// The source of entries that the projections do not have: the archive, then the journal.
pub(crate) struct Source {
    store: Arc<dyn Store>,
    /// The last archived entry.
    base: Chain,
    /// A position in the archive, so that earlier entries are read once.
    past: Option<ArchivedRecords>,
}

impl Source {
    pub fn of(store: &Arc<dyn Store>) -> Result<Self, StoreError> {
        Ok(Self { store: store.clone(), base: store.reader()?.base()?, past: None })
    }

    /// The entry up to which projections are written, with its hash, from which the chain continues.
    fn at(&mut self, reader: &mut dyn Reader, seq: u64) -> Result<Chain, StoreError> {
        if seq == self.base.seq {
            return Ok(self.base);
        }
        if seq < self.base.seq {
            let past = self.past_after(seq)?;
            return Ok(past.end());
        }
        match reader.record_as_written(seq)? {
            Some(written) => Ok(Chain { seq, hash: written.record.hash }),
            None => Err(StoreError::Chain { seq, what: "is missing".to_owned() }),
        }
    }

    /// Some entries after `after`, in order, none beyond `upto`.
    fn records(&mut self, reader: &mut dyn Reader, after: u64, upto: u64) -> Result<Vec<Record>, StoreError> {
        let most = usize::try_from(upto - after).unwrap_or(CHUNK).min(CHUNK);
        if after >= self.base.seq {
            // The caller verifies the chain.
            return reader.unverified_records(after, most);
        }
        self.past_after(after)?.take(most).collect()
    }

    fn past_after(&mut self, after: u64) -> Result<&mut ArchivedRecords, StoreError> {
        let past = match self.past.take().filter(|it| it.at() == after) {
            Some(past) => past,
            None => self.store.archive()?.archived_after(after, self.base)?,
        };
        Ok(self.past.insert(past))
    }
}
