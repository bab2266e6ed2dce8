//! The records that a replayed command wrote.

use trackside_store::Record;

use super::{ReadError, Reads};

impl Reads {
    /// The records of a command that was carried out before, `count` of them from `first` on, from the
    /// archive if necessary. All or none: records of another command are never returned instead.
    pub fn written_by(&self, first: u64, count: u32) -> Result<Vec<Record>, ReadError> {
        let (after, most) = (first.saturating_sub(1), count as usize);
        let mut found = self.store(|it| it.records(after, most))?;
        if found.first().is_none_or(|it| it.seq != first) {
            let here = found.first().map_or(u64::MAX, |it| it.seq);
            let moved = self.shared.store().archive()?.records(after, most)?;
            let moved = moved.into_iter().filter(|it| it.seq < here);
            found = moved.chain(found).take(most).collect();
        }
        let is_whole = found.len() == most && found.iter().zip(first..).all(|(it, seq)| it.seq == seq);
        if is_whole { Ok(found) } else { Err(ReadError::EntryArchived(first)) }
    }
}
