//! The entries of one entity, found by going back from each to the one before it.

use trackside_store::{Reader, Record, StoreError};

/// Records read at a time.
const CHUNK: usize = 256;

/// All records of an entity from `from` back, the oldest first.
pub(crate) fn upto(reader: &mut dyn Reader, from: u64) -> Result<Vec<Record>, StoreError> {
    after(reader, from, 0)
}

/// Its records from `from` back to the one after `after`, the oldest first.
pub(crate) fn after(reader: &mut dyn Reader, from: u64, after: u64) -> Result<Vec<Record>, StoreError> {
    let mut all: Vec<Record> = Vec::new();
    let mut next = from;
    while next > after {
        let found = reader.trail(next, CHUNK)?;
        let Some(last) = found.last() else { break };
        next = last.prev;
        all.extend(found.into_iter().filter(|it| it.seq > after));
    }
    all.reverse();
    Ok(all)
}

/// What came before an entry of an entity.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// Those of the journal that still have a payload.
    pub seqs: Vec<u64>,
    /// There are more of them in the archive.
    pub archived: bool,
}

/// The entries of an entity before `seq`.
pub(crate) fn before(reader: &mut dyn Reader, seq: u64) -> Result<Earlier, StoreError> {
    let Some(record) = reader.record(seq)? else {
        return Ok(Earlier { archived: true, ..Earlier::default() });
    };
    let earlier = upto(reader, record.prev)?;
    let archived = earlier.first().map_or(record.prev, |it| it.prev) != 0;
    let seqs = earlier.iter().filter(|it| it.payload.is_some()).map(|it| it.seq).collect();
    Ok(Earlier { seqs, archived })
}
