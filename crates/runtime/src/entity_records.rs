//! The entries of one entity, found by going back from each to the one before it.

use trackside_engine::key::EntityKey;
use trackside_store::archive::FullJournal;
use trackside_store::{Reader, Record, StoreError};

/// Records read at a time.
const CHUNK: usize = 256;

/// All records of an entity from `from` back, the oldest first; an error if one of them is not here.
pub(crate) fn all(whole: &mut FullJournal<'_>, from: u64) -> Result<Vec<Record>, StoreError> {
    since(whole, from, 0)
}

/// Its records from `from` back to the one after `after`, the oldest first; an error if one of them is not here.
pub(crate) fn since(whole: &mut FullJournal<'_>, from: u64, after: u64) -> Result<Vec<Record>, StoreError> {
    let mut all: Vec<Record> = Vec::new();
    walk_back(whole, from, after, &mut |it| {
        all.push(it);
        Ok(true)
    })?;
    all.reverse();
    Ok(all)
}

/// Visits its records from `from` back to the one after `after`, the newest first, while `look` wants more.
pub(crate) fn walk_back(
    whole: &mut FullJournal<'_>,
    from: u64,
    after: u64,
    look: &mut dyn FnMut(Record) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let mut next = from;
    // Most searches end soon: read a few at first.
    let mut most = 16;
    while next > after {
        let found = whole.trail(next, most)?;
        let Some(last) = found.last() else { break };
        next = last.prev;
        for record in found {
            if record.seq <= after || !look(record)? {
                return Ok(());
            }
        }
        most = (most * 2).min(CHUNK);
    }
    Ok(())
}

/// The earlier entries of an entity.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// Those in the journal that still have a payload.
    pub seqs: Vec<u64>,
    /// Whether there are more of them in the archive.
    pub archived: bool,
}

/// The entries of an entity before `seq` that are in the journal.
pub(crate) fn payload_seqs_before(
    reader: &mut dyn Reader,
    entity: &EntityKey,
    seq: u64,
) -> Result<Earlier, StoreError> {
    let stayed = reader.stayed(entity)?;
    let Some(erased) = reader.record_as_written(seq)? else {
        return Ok(Earlier { seqs: stayed, archived: true });
    };
    let mut earlier = Earlier::default();
    let mut next = erased.record.prev;
    while next != 0 {
        let found = reader.trail_as_written(next, CHUNK)?;
        let Some(last) = found.last() else { break };
        next = last.record.prev;
        earlier.seqs.extend(found.iter().filter(|it| it.has_payload()).map(|it| it.record.seq));
    }
    earlier.archived = next != 0 || !stayed.is_empty();
    earlier.seqs.extend(stayed);
    Ok(earlier)
}
