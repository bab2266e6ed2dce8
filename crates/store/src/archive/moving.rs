//! Which part of the journal may go into an archive, and how it gets there without being lost.

use std::collections::BTreeSet;
use std::path::Path;

use trackside_lifecycle::time::Timestamp;

use super::file::About;
use super::shelf::Archive;
use super::write::{whole, write};
use crate::store::{Journal, Reader};
use crate::{Chain, StoreError};

/// The last entry that may be archived, if any may: it is older than `before`, projections are written beyond
/// it, and it is not the newest.
pub fn movable(reader: &mut dyn Reader, before: Timestamp) -> Result<Option<Chain>, StoreError> {
    let base = reader.base()?.seq;
    let newest = reader.head()?.chain.seq;
    let bound = reader.position()?.min(newest.saturating_sub(1));
    // Times do not go back, so that the last one is found by halving.
    let (mut low, mut high) = (base, bound.max(base));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let record = reader.record(middle)?;
        let older = record.map(|it| it.entry()).transpose()?.is_some_and(|it| it.at < before);
        if older {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    if low == base {
        return Ok(None);
    }
    Ok(reader.record(low)?.map(|it| Chain { seq: low, hash: it.hash }))
}

/// Entries that stay at hand wherever the journal is cut: those that ask for an effect that nobody has answered. Whoever
/// carries it out needs what it is to be done with, be the archive here or elsewhere.
pub fn staying(reader: &mut dyn Reader) -> Result<BTreeSet<u64>, StoreError> {
    Ok(reader.effects(0, usize::MAX)?.value.iter().map(|it| it.id).collect())
}

/// Moves what is older than `before` into a file of this folder and cuts the journal there. None if nothing
/// may go. Broken off anywhere, it is taken up again the next time: an entry is in the journal, in a file, or
/// in both, never in neither.
pub fn move_out(
    reader: &mut dyn Reader,
    journal: &mut dyn Journal,
    folder: &Path,
    before: Timestamp,
) -> Result<Option<About>, StoreError> {
    let staying = staying(reader)?;
    journal.cut(reader.base()?, &staying)?;
    let about = write_out(reader, folder, before, u64::MAX)?;
    if let Some(about) = &about {
        journal.cut(about.after, &staying)?;
    }
    Ok(about)
}

/// The first half: a verified file with what may go, at most so many entries. One that was written before and not yet
/// cut off the journal comes first. Whoever has it cuts the journal up to its last entry, at once or bit by bit.
pub fn write_out(
    reader: &mut dyn Reader,
    folder: &Path,
    before: Timestamp,
    most: u64,
) -> Result<Option<About>, StoreError> {
    let base = reader.base()?;
    let archive = Archive::open(folder)?;
    let written = archive.files().iter().find(|it| it.last() > base.seq).cloned();
    let Some(about) = written else {
        let Some(upto) = movable(reader, before)? else { return Ok(None) };
        let upto = match base.seq.saturating_add(most) {
            last if last < upto.seq => reader.record(last)?.map(|it| Chain { seq: last, hash: it.hash }),
            _ => Some(upto),
        };
        return upto.map(|upto| write(reader, folder, upto)).transpose();
    };
    whole(&about.path)?;
    let goes_on = match base.seq == about.before.seq {
        true => base == about.before,
        // The journal was cut within it.
        false => archive.record(base.seq)?.is_some_and(|it| it.hash == base.hash),
    };
    match goes_on {
        true => Ok(Some(about)),
        false => {
            let what = format!("begins after entry {}, the journal after {}", about.before.seq, base.seq);
            Err(StoreError::Damaged { path: about.path, what })
        }
    }
}
