//! Rebuilds a journal from a backup and its increments, up to any entry.

use std::path::Path;

use trackside_engine::event::Entry;
use trackside_lifecycle::name::Name;

use super::Sqlite;
use super::backup::skip_sessions;
use super::connect::connect_to_still;
use super::journal_table::JournalTable;
use super::options::SqliteOptions;
use super::read::with_payload;
use crate::archive::{Archive, ArchiveLines, folder_of};
use crate::rules::Installed;
use crate::{
    BackupSet, Batch, Chain, Definition, JournalWriter, Record, Store as _, StoreError, WrittenRecord,
};

/// Entries in one commit.
const PIECE: usize = 1_000;

impl Sqlite {
    /// Writes the journal of a backup up to entry `seq` into a new folder: the archive, the journal and the increments,
    /// each entry verified against the one before it. The projections are built when the folder is started.
    ///
    /// The whole history is in `journal.db` then, archived entries and the payloads of archived entities too.
    pub fn restore_journal(
        set: &BackupSet,
        seq: u64,
        to: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Chain, StoreError> {
        if seq == 0 || seq > set.end().seq {
            return Err(StoreError::io(
                format!("restore to entry {seq}"),
                format!(
                    "{} has the entries 1 to {}. Choose one of them, or copy the increments that have later ones into \
                     its folder increments",
                    set.folder.display(),
                    set.end().seq
                ),
            ));
        }
        let path = set.folder.join("journal.db");
        let journal = connect_to_still(&path)?;
        let log = JournalTable { connection: &journal, path: &path };
        let mut packs = log.definitions()?;
        packs.extend(set.increment_packs()?);
        let store = Self::open(to, SqliteOptions::default())?;
        let mut target = Target {
            writer: store.journal()?,
            chain: Chain::default(),
            batch: Batch::default(),
            seq,
            packs,
            step: Step::default(),
        };
        let base = log.base()?;
        let archived = Archive::of(&set.folder)?.archived_after(0, base)?;
        let mut read = base.seq;
        // Payloads of entities in long-term storage are in their archive files.
        let with_payload = |written: WrittenRecord| with_payload(written, &folder_of(&set.folder));
        let journal = std::iter::from_fn(|| {
            let some = log.records_as_written(read, PIECE);
            match &some {
                Ok(records) => read = records.last()?.record.seq,
                Err(_) => read = u64::MAX - 1,
            }
            Some(some)
        });
        let journal = journal.flat_map(|some| match some {
            Ok(some) => some.into_iter().map(with_payload).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        });
        let increments = set.increments.iter().flat_map(|file| match set.read_increment(file) {
            Ok(lines) => either(Ok(lines)),
            Err(error) => either(Err(error)),
        });
        for record in archived.chain(journal).chain(increments) {
            if !target.take(record?, progress)? {
                break;
            }
        }
        let end = target.finish(progress)?;
        drop(store);
        skip_sessions(&set.folder, to)?;
        Ok(end)
    }
}

/// The records of a file, or the error that it cannot be read.
fn either(lines: Result<ArchiveLines, StoreError>) -> Box<dyn Iterator<Item = Result<Record, StoreError>>> {
    match lines {
        Ok(lines) => Box::new(lines),
        Err(error) => Box::new(std::iter::once(Err(error))),
    }
}

/// The entries that one request wrote: they are restored together or not at all.
#[derive(Debug, Default)]
struct Step {
    first: u64,
    last: u64,
    /// The last entry of the command, as its idempotency key says.
    upto: u64,
    request: Option<Name>,
}

impl Step {
    /// Takes the next entry. Returns whether it belongs to the same request.
    fn take(&mut self, entry: &Entry) -> bool {
        let same = entry.seq <= self.upto
            || entry.cause.is_some_and(|it| it >= self.first)
            || (entry.request_id.is_some() && entry.request_id == self.request);
        if !same {
            self.first = entry.seq;
        }
        if let Some(key) = &entry.key {
            self.upto = entry.seq.saturating_add(u64::from(key.entries)).saturating_sub(1);
        }
        self.last = entry.seq;
        self.request.clone_from(&entry.request_id);
        same
    }
}

/// A journal that is written.
struct Target {
    writer: Box<dyn JournalWriter>,
    chain: Chain,
    batch: Batch,
    /// The last entry wanted.
    seq: u64,
    packs: Vec<Definition>,
    step: Step,
}

impl Target {
    /// Takes the next entry; false if no more are needed.
    fn take(&mut self, record: Record, progress: &mut dyn FnMut(u64, u64)) -> Result<bool, StoreError> {
        let first = self.step.first;
        let same = self.step.take(&record.entry()?);
        if self.chain.seq >= self.seq {
            // It only shows where the request ends.
            if !same {
                self.step = Step { first, last: self.seq.max(record.seq - 1), ..Step::default() };
            }
            return Ok(same);
        }
        if let Some(installed) = Installed::of(self.chain, &record).and_then(|it| it.in_force()) {
            let found = self.packs.iter().find(|it| {
                it.pack == installed.pack && it.version == installed.version && it.digest == installed.digest
            });
            let Some(found) = found else {
                return Err(StoreError::Chain {
                    seq: record.seq,
                    what: format!(
                        "installed {} {}, and the backup does not have its text. Use another backup",
                        installed.pack, installed.version
                    ),
                });
            };
            self.batch.definitions.push(found.clone());
        }
        self.chain.follow(&record)?;
        self.batch.records.push(record);
        if self.batch.records.len() >= PIECE {
            self.write(progress)?;
        }
        Ok(true)
    }

    fn write(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<(), StoreError> {
        self.writer.append(&std::mem::take(&mut self.batch))?;
        progress(self.chain.seq, self.seq);
        Ok(())
    }

    fn finish(mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<Chain, StoreError> {
        self.write(progress)?;
        let Step { first, last, .. } = self.step;
        if last > self.seq {
            let before = match first {
                0 | 1 => String::new(),
                _ => format!("{} or ", first - 1),
            };
            return Err(StoreError::io(
                format!("restore to entry {}", self.seq),
                format!("one request wrote the entries {first} to {last}. Choose {before}{last}"),
            ));
        }
        match self.chain.seq == self.seq {
            true => Ok(self.chain),
            false => {
                let what = format!("comes after {}: the entries between them are missing", self.chain.seq);
                Err(StoreError::Chain { seq: self.seq, what })
            }
        }
    }
}
