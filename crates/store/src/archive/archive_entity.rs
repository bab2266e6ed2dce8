//! Moves an entity into long-term storage: its payloads and its artifacts. At every moment each of them is in its old
//! place, in its new place, or in both.

use std::collections::BTreeSet;
use std::path::Path;

use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;

use super::entity_file::EntityFile;
use super::folder::Archive;
use crate::evidence::collect_digests;
use crate::store::Reader;
use crate::{Artifacts, Record, StoreError};

/// Records read at a time.
const CHUNK: usize = 256;

/// Payloads that are in the archive file of their entity, verified, and can leave the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedSlice {
    pub entity: EntityKey,
    /// The last entry of the entity in the file.
    pub upto: u64,
    /// The number of each entry with a payload, and the offset of its line.
    pub payloads: Vec<(u64, u64)>,
}

/// The progress of a move. Each step is durable when it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveStep {
    /// The file is written and verified.
    FileWritten,
    /// The artifacts are copied to the archive and verified.
    ArtifactsCopied,
    /// The copies outside the archive are deleted.
    ArtifactsRemoved,
}

/// Writes the entries of an entity that are still in the journal to its archive file, and moves its artifacts to the
/// archive. The caller then has the journal move the payloads: see [`crate::JournalWriter::move_payloads`]. None if
/// there is nothing to move. If it is interrupted, the next call completes it.
pub fn archive_entity(
    reader: &mut dyn Reader,
    archive: &Archive,
    entity: &Entity,
    report: &mut dyn FnMut(ArchiveStep) -> Result<(), StoreError>,
) -> Result<Option<ArchivedSlice>, StoreError> {
    let Some(folder) = archive.folder() else { return Ok(None) };
    let upto = reader.archived_upto(&entity.key)?.unwrap_or(0);
    let base = reader.base()?.seq;
    let seqs = entries_after(reader, entity.seq, upto.max(base))?;
    if seqs.is_empty() {
        return Ok(None);
    }
    let mut names = BTreeSet::new();
    let mut records = seqs.iter().map(|seq| {
        let missing = || StoreError::Chain { seq: *seq, what: "is missing".to_owned() };
        let record = reader.record(*seq)?.ok_or_else(missing)?;
        collect_digests(record.payload.as_deref().unwrap_or_default(), &mut names);
        Ok(record)
    });
    let payloads = EntityFile::of(folder, &entity.key).append(upto, &mut records)?;
    report(ArchiveStep::FileWritten)?;
    if upto == 0 {
        collect_digests(&serde_json::to_string(entity).unwrap_or_default(), &mut names);
        older(archive, reader, &seqs, &mut names)?;
    }
    let artifacts = Artifacts::of(folder.parent().unwrap_or(Path::new(".")));
    let io =
        |id: &str, it: std::io::Error| StoreError::io(format!("moving artifact {id} to the archive"), it);
    let mut moved = Vec::new();
    for id in &names {
        if artifacts.copy_to_archive(id).map_err(|it| io(id, it))? {
            moved.push(id);
        }
    }
    report(ArchiveStep::ArtifactsCopied)?;
    for id in moved {
        artifacts.remove_live(id).map_err(|it| io(id, it))?;
    }
    report(ArchiveStep::ArtifactsRemoved)?;
    Ok(Some(ArchivedSlice { entity: entity.key.clone(), upto: entity.seq, payloads }))
}

/// The numbers of an entity's entries after one of them, the oldest first.
fn entries_after(reader: &mut dyn Reader, newest: u64, after: u64) -> Result<Vec<u64>, StoreError> {
    let (mut seqs, mut next) = (Vec::new(), newest);
    while next > after {
        let found = reader.trail_as_written(next, CHUNK)?;
        let Some(last) = found.last() else { break };
        next = last.record.prev;
        seqs.extend(found.iter().map(|it| it.record.seq).filter(|it| *it > after));
    }
    seqs.reverse();
    Ok(seqs)
}

/// Adds artifacts that only earlier entries name, which were archived with the journal. Entries whose file was moved
/// away are left out: their artifacts stay where they are.
fn older(
    archive: &Archive,
    reader: &mut dyn Reader,
    seqs: &[u64],
    names: &mut BTreeSet<String>,
) -> Result<(), StoreError> {
    let first = seqs.first().copied().unwrap_or(0);
    let before = reader.record_as_written(first)?.map_or(0, |it| it.record.prev);
    let earlier: Vec<Record> = archive.trail_in_files(before, usize::MAX)?;
    earlier.iter().for_each(|it| collect_digests(it.payload.as_deref().unwrap_or_default(), names));
    Ok(())
}
