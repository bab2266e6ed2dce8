//! Chooses the entries to archive, and moves them without ever having them in neither place.

use std::collections::BTreeSet;
use std::path::Path;

use trackside_lifecycle::time::Timestamp;

use super::file::ArchiveHeader;
use super::folder::Archive;
use super::write::{verify_file, write};
use crate::store::{JournalWriter, Reader};
use crate::{Chain, StoreError};

/// The last entry that may be archived, if any: older than `before`, already projected, and not the newest.
pub fn movable(reader: &mut dyn Reader, before: Timestamp) -> Result<Option<Chain>, StoreError> {
    let base = reader.base()?.seq;
    let newest = reader.head()?.chain.seq;
    let bound = reader.position()?.min(newest.saturating_sub(1));
    // Times decrease only where the clock was reset, so bisect: then fewer entries may be found, never newer ones.
    let (mut low, mut high) = (base, bound.max(base));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let record = reader.record_as_written(middle)?;
        let older = record.map(|it| it.record.entry()).transpose()?.is_some_and(|it| it.at < before);
        if older {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    if low == base {
        return Ok(None);
    }
    Ok(reader.record_as_written(low)?.map(|it| Chain { seq: low, hash: it.record.hash }))
}

/// Entries to retain when the journal is cut: requests for effects that are still open. The worker needs their data
/// even if the archive is elsewhere.
pub fn still_needed(reader: &mut dyn Reader) -> Result<BTreeSet<u64>, StoreError> {
    Ok(reader.effects(0, usize::MAX)?.value.iter().map(|it| it.id).collect())
}

/// Moves entries older than `before` into a file in this folder and cuts the journal there. None if there is nothing
/// to move. If it is interrupted, the next call completes it: an entry is always in the journal, in a file, or in
/// both.
pub fn move_out(
    reader: &mut dyn Reader,
    journal: &mut dyn JournalWriter,
    folder: &Path,
    before: Timestamp,
) -> Result<Option<ArchiveHeader>, StoreError> {
    let staying = still_needed(reader)?;
    journal.cut(reader.base()?, &staying)?;
    let about = write_out(reader, folder, before, u64::MAX)?;
    if let Some(about) = &about {
        journal.cut(about.after, &staying)?;
    }
    Ok(about)
}

/// The first half of `move_out`: writes and verifies a file of up to `most` entries. A file that was written earlier
/// but not yet cut from the journal comes first. The caller then cuts the journal up to the file's last entry, at
/// once or in steps.
pub fn write_out(
    reader: &mut dyn Reader,
    folder: &Path,
    before: Timestamp,
    most: u64,
) -> Result<Option<ArchiveHeader>, StoreError> {
    let base = reader.base()?;
    let archive = Archive::open(folder)?;
    let written = archive.files().iter().find(|it| it.last() > base.seq).cloned();
    let Some(about) = written else {
        let Some(upto) = movable(reader, before)? else { return Ok(None) };
        let upto = match base.seq.saturating_add(most) {
            last if last < upto.seq => {
                reader.record_as_written(last)?.map(|it| Chain { seq: last, hash: it.record.hash })
            }
            _ => Some(upto),
        };
        return upto.map(|upto| write(reader, folder, upto)).transpose();
    };
    verify_file(&about.path)?;
    let goes_on = match base.seq == about.before.seq {
        true => base == about.before,
        // The journal was already cut part of the way.
        false => archive.record(base.seq)?.is_some_and(|it| it.hash == base.hash),
    };
    match goes_on {
        true => Ok(Some(about)),
        false => {
            let what = format!(
                "it starts after entry {}, but the journal starts after {}",
                about.before.seq, base.seq
            );
            Err(StoreError::Damaged { path: about.path, what })
        }
    }
}
