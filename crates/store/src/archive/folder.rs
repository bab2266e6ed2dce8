//! All archive files of a project.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackside_engine::apply;
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_engine::view::View;

use super::file::{ArchiveHeader, ArchiveLines, failed};
use super::write::put;
use crate::audit::{self, Audit, Auditor};
use crate::store::Reader;
use crate::{Chain, Record, StoreError, rules};

/// Records read at a time.
const PIECE: usize = 1_000;

/// The files of one folder, in the order of entries.
#[derive(Debug, Default)]
pub struct Archive {
    pub(super) folder: PathBuf,
    files: Vec<ArchiveHeader>,
}

impl Archive {
    /// Lists the files. A folder that does not exist is an empty archive.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let mut files = Vec::new();
        let all = match std::fs::read_dir(folder) {
            Ok(all) => all,
            Err(it) if it.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self { folder: folder.to_owned(), files });
            }
            Err(it) => return Err(failed(folder, "reading the folder", &it)),
        };
        for file in all {
            let path = file.map_err(|it| failed(folder, "reading the folder", &it))?.path();
            if path.extension().is_some_and(|it| it == "jsonl") {
                files.push(ArchiveLines::open(&path)?.about);
            }
        }
        files.sort_by_key(ArchiveHeader::first);
        Ok(Self { folder: folder.to_owned(), files })
    }

    /// The folder of its files; none if the store never archives.
    pub fn folder(&self) -> Option<&Path> {
        Some(self.folder.as_path()).filter(|it| !it.as_os_str().is_empty())
    }

    pub fn files(&self) -> &[ArchiveHeader] {
        &self.files
    }

    /// A record by its number; none if no file contains it.
    pub fn record(&self, seq: u64) -> Result<Option<Record>, StoreError> {
        Ok(self.records(seq.saturating_sub(1), 1)?.into_iter().next().filter(|it| it.seq == seq))
    }

    /// Records after `after`, in order, at most `most`.
    pub fn records(&self, after: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        let mut found = Vec::new();
        for file in self.files.iter().filter(|it| it.last() > after) {
            if found.len() >= most {
                break;
            }
            let mut lines = ArchiveLines::open(&file.path)?;
            lines.go_to(file.first().max(after.saturating_add(1)))?;
            for record in lines.take(most.saturating_sub(found.len())) {
                found.push(record?);
            }
        }
        Ok(found)
    }

    /// The records of one entity, the newest first, from `from` backwards: those of the journal, then those of files.
    pub fn trail(&self, reader: &mut dyn Reader, from: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        let mut trail = reader.trail(from, most)?;
        let next = trail.last().map_or(from, |it| it.prev);
        let most = most.saturating_sub(trail.len());
        trail.extend(self.trail_in_files(next, most)?);
        Ok(trail)
    }

    /// The trail from archive files only. It ends at the first record that no file contains.
    pub(super) fn trail_in_files(&self, from: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        let (mut trail, mut next): (Vec<Record>, u64) = (Vec::new(), from);
        let mut open: Option<ArchiveLines> = None;
        while next != 0 && trail.len() < most {
            let Some(file) = self.files.iter().find(|it| it.first() <= next && next <= it.last()) else {
                break;
            };
            let lines = match &mut open {
                Some(lines) if lines.about.path == file.path => lines,
                _ => open.insert(ArchiveLines::open(&file.path)?),
            };
            lines.go_to(next)?;
            let record = lines.next().transpose()?.filter(|it| it.seq == next && it.prev < next);
            let Some(record) = record else {
                let what = format!("entry {next} is not at its position");
                return Err(StoreError::Damaged { path: file.path.clone(), what });
            };
            next = record.prev;
            trail.push(record);
        }
        Ok(trail)
    }

    /// All records of one entity up to `newest`, the oldest first; an error if an archive file is missing.
    pub fn full_trail(&self, reader: &mut dyn Reader, newest: u64) -> Result<Vec<Record>, StoreError> {
        let mut trail = self.trail(reader, newest, usize::MAX)?;
        let missing = trail.last().map_or(newest, |it| it.prev);
        if missing != 0 {
            let folder = self.folder.clone();
            return Err(StoreError::NotArchived { folder, first: missing, last: missing });
        }
        trail.reverse();
        Ok(trail)
    }

    /// An entity as of the entry `seq`; none if it did not exist yet. `newest` is its last entry.
    pub fn as_of(
        &self,
        reader: &mut dyn Reader,
        key: &EntityKey,
        newest: u64,
        seq: u64,
    ) -> Result<Option<Arc<Entity>>, StoreError> {
        let trail = self.trail(reader, newest, usize::MAX)?;
        let missing = trail.last().map_or(newest, |it| it.prev);
        if missing != 0 {
            let what =
                format!("is in no archive file in {}. Put the archive files back", self.folder.display());
            return Err(StoreError::Chain { seq: missing, what });
        }
        let mut view = View::default();
        for record in trail.iter().rev().filter(|it| it.seq <= seq) {
            apply(&mut view, &record.entry()?);
        }
        Ok(view.image(key))
    }

    /// Drops the payloads of these records from the files, bytes included. Returns how many had one.
    pub fn drop_payloads(&self, seqs: &[u64]) -> Result<u64, StoreError> {
        let wanted: BTreeSet<u64> = seqs.iter().copied().collect();
        let mut dropped = 0;
        for file in &self.files {
            if wanted.range(file.first()..=file.last()).next().is_none() {
                continue;
            }
            let mut here = 0;
            let records = ArchiveLines::open(&file.path)?.map(|record| {
                record.map(|mut record| {
                    if wanted.contains(&record.seq) {
                        here += u64::from(record.payload.take().is_some());
                    }
                    record
                })
            });
            put(file, records)?;
            dropped += here;
        }
        Ok(dropped)
    }

    /// The files of entities in long-term storage that are missing or damaged, each with the reason: every payload that
    /// the journal expects there is read.
    pub fn unusable_entity_files(&self, reader: &mut dyn Reader) -> Result<Vec<StoreError>, StoreError> {
        let (mut after, mut found) = (reader.base()?.seq, BTreeMap::new());
        loop {
            let records = reader.unverified_as_written(after, PIECE)?;
            let Some(last) = records.last() else { break };
            after = last.record.seq;
            for written in records.into_iter().filter(|it| it.moved_to.is_some()) {
                if let Err(error) = reader.with_payload(written) {
                    match &error {
                        StoreError::ArchiveFile { path, .. } => {
                            found.entry(path.clone()).or_insert(error);
                        }
                        // The audit names damaged entries.
                        StoreError::Unreadable { .. } => {}
                        _ => return Err(error),
                    }
                }
            }
        }
        Ok(found.into_values().collect())
    }

    /// Verifies the whole chain: every file, then the journal. `known` as in [`audit::verify`].
    pub fn verify(
        &self,
        reader: &mut dyn Reader,
        known: &[Chain],
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Audit, StoreError> {
        // Read the position first: the journal is never behind it.
        let position = reader.position()?;
        let (base, head) = (reader.base()?, reader.head()?);
        let from = self.files.first().map_or(base, |it| it.before);
        // The ranges that the files declare must match, too.
        let stretches = self.files.iter().flat_map(|it| [it.before, it.after]);
        let known: Vec<Chain> = known.iter().copied().chain(stretches).chain([base]).collect();
        let mut auditor = Auditor::new(from, &known).made_from(position);
        let all = head.chain.seq.saturating_sub(from.seq);
        for file in &self.files {
            for record in ArchiveLines::open(&file.path)? {
                let record = record?;
                // Between writing a file and cutting the journal, some records are in both.
                if record.seq <= base.seq {
                    auditor.check(&record);
                }
            }
            progress(auditor.at().seq.saturating_sub(from.seq), all);
        }
        let archived = base.seq.saturating_sub(from.seq);
        audit::check_records(reader, &mut auditor, head.chain, &mut |done, _| {
            progress(archived + done, all)
        })?;
        let changed = rules::audit(reader, auditor.in_force(), from.seq, head.chain.seq)?;
        auditor.rules(changed);
        Ok(auditor.finish(Some(head.chain)))
    }
}
