//! Checks that the entries of an entity are unaltered: nothing is rebuilt from altered entries.

use trackside_store::archive::FullJournal;
use trackside_store::{Chain, Record, StoreError};

use crate::pipeline::decider::Decider;

/// Records read at a time.
const CHUNK: usize = 64;

impl Decider {
    /// Checks every entry of an entity, from its newest back, against its hash and that of the entry before
    /// it. None if one of them is missing.
    pub(super) fn is_sealed(&mut self, newest: u64) -> Result<Option<bool>, StoreError> {
        let mut whole = FullJournal::new(self.sweep.store.as_ref(), self.memory.reader());
        match seals_hold(&mut whole, newest) {
            Err(StoreError::NotArchived { .. } | StoreError::ArchiveFile { .. }) => Ok(None),
            Err(error) if error.is_journal_damage() => Ok(Some(false)),
            told => told,
        }
    }
}

fn seals_hold(whole: &mut FullJournal<'_>, newest: u64) -> Result<Option<bool>, StoreError> {
    let mut next = newest;
    while next != 0 {
        let found = whole.trail(next, CHUNK)?;
        let Some(last) = found.last() else { return Ok(None) };
        next = last.prev;
        for record in &found {
            let Some(mut before) = chain_before(whole, record)? else { return Ok(None) };
            if before.follow(record).is_err() {
                return Ok(Some(false));
            }
        }
    }
    Ok(Some(true))
}

/// The end of the journal before a record.
fn chain_before(whole: &mut FullJournal<'_>, record: &Record) -> Result<Option<Chain>, StoreError> {
    let seq = record.seq.saturating_sub(1);
    let base = whole.reader().base()?;
    if seq == base.seq {
        return Ok(Some(base));
    }
    match seq {
        0 => Ok(Some(Chain::default())),
        _ => Ok(whole.record(seq)?.map(|it| Chain { seq, hash: it.hash })),
    }
}
