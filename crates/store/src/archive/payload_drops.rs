//! Drops payloads from archive files, and records drops for files that are missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use trackside_engine::key::EntityKey;

use super::entity_file::EntityFile;
use super::file::{ArchiveHeader, ArchiveLines, damaged, failed};
use super::folder::Archive;
use super::write::sync_folder;
use crate::{Record, StoreError};

/// Up to this many ids, search the text of a line before parsing it; with more, parsing is as fast.
const FEW: usize = 16;

/// Payloads to drop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PayloadDrops {
    /// Drops the payloads of these records.
    pub seqs: BTreeSet<u64>,
    /// Drops the payloads of every record of these entities before the given entry.
    pub entities: BTreeMap<EntityKey, u64>,
    /// Drops payloads from the archive files of these entities.
    pub files: BTreeMap<EntityKey, FileDrops>,
}

/// Payloads to drop from the archive file of an entity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDrops {
    /// Every record before this one.
    pub before: u64,
    /// These records.
    pub seqs: BTreeSet<u64>,
}

impl FileDrops {
    fn contains(&self, seq: u64) -> bool {
        seq < self.before || self.seqs.contains(&seq)
    }
}

/// The stored form.
#[derive(Serialize, Deserialize)]
struct Note {
    seqs: BTreeSet<u64>,
    entities: Vec<(EntityKey, u64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<(EntityKey, FileDrops)>,
}

impl PayloadDrops {
    pub fn is_empty(&self) -> bool {
        self.seqs.is_empty() && self.entities.is_empty() && self.files.is_empty()
    }

    fn and(&mut self, other: Self) {
        self.seqs.extend(other.seqs);
        for (key, before) in other.entities {
            let kept = self.entities.entry(key).or_default();
            *kept = before.max(*kept);
        }
        for (key, more) in other.files {
            let kept = self.files.entry(key).or_default();
            kept.before = more.before.max(kept.before);
            kept.seqs.extend(more.seqs);
        }
    }

    /// Whether this range contains none of them.
    fn is_beyond(&self, first: u64, last: u64) -> bool {
        self.seqs.range(first..=last).next().is_none() && self.entities.values().all(|it| *it <= first)
    }

    /// The part of it that may be in these ranges.
    fn within(self, gaps: &[(u64, u64)]) -> Self {
        let among = |seq: &u64| gaps.iter().any(|(first, last)| first <= seq && seq <= last);
        let before = |it: u64| gaps.iter().any(|(first, _)| *first < it);
        Self {
            seqs: self.seqs.into_iter().filter(among).collect(),
            entities: self.entities.into_iter().filter(|(_, it)| before(*it)).collect(),
            files: BTreeMap::new(),
        }
    }

    /// Records of a file whose payload must be dropped.
    fn found_in(&self, file: &ArchiveHeader) -> Result<Vec<u64>, StoreError> {
        let mut found = Vec::new();
        for record in ArchiveLines::open(&file.path)? {
            let record = record?;
            if record.payload.is_some() && (self.seqs.contains(&record.seq) || self.names(&record)?) {
                found.push(record.seq);
            }
        }
        Ok(found)
    }

    fn names(&self, record: &Record) -> Result<bool, StoreError> {
        let few = self.entities.len() <= FEW;
        if few && !self.entities.keys().any(|it| record.header.contains(it.id.as_str())) {
            return Ok(false);
        }
        Ok(self.entities.get(&record.entry()?.entity).is_some_and(|before| record.seq < *before))
    }
}

impl Archive {
    /// Drops these payloads from the files, bytes included, and returns how many there were. Drops that may concern
    /// missing files, up to the entry `base`, are recorded and done when the files are back: see
    /// [`Archive::drop_pending_payloads`].
    pub fn drop_listed_payloads(&self, drops: &PayloadDrops, base: u64) -> Result<u64, StoreError> {
        if drops.is_empty() || (self.files().is_empty() && base == 0) {
            return Ok(0);
        }
        self.clear_away()?;
        let mut dropped = 0;
        for file in self.files().iter().filter(|it| !drops.is_beyond(it.first(), it.last())) {
            let seqs = drops.found_in(file)?;
            if !seqs.is_empty() {
                dropped += self.drop_payloads(&seqs)?;
            }
        }
        let left = drops.clone().within(&self.gaps(base));
        if !left.is_empty() {
            let mut all = self.pending_drops()?;
            all.and(left);
            self.set_pending_drops(all)?;
        }
        Ok(dropped)
    }

    /// Drops these payloads from the archive files of entities, bytes included, and returns how many there were. If
    /// the file of an archived entity is missing, the drop is recorded and done when the file is back.
    pub fn drop_in_entity_files(
        &self,
        drops: &PayloadDrops,
        is_archived: &mut dyn FnMut(&EntityKey) -> Result<bool, StoreError>,
    ) -> Result<u64, StoreError> {
        let (mut dropped, mut left) = (0, PayloadDrops::default());
        for (key, unwanted) in &drops.files {
            let file = EntityFile::of(&self.folder, key);
            dropped += file.drop_payloads(&|seq| unwanted.contains(seq))?;
            if !file.exists() && is_archived(key)? {
                left.files.insert(key.clone(), unwanted.clone());
            }
        }
        if !left.is_empty() {
            let mut all = self.pending_drops()?;
            all.and(left);
            self.set_pending_drops(all)?;
        }
        Ok(dropped)
    }

    /// Does the recorded drops for files that are back; the others stay recorded.
    pub fn drop_pending_payloads(&self, base: u64) -> Result<u64, StoreError> {
        let noted = self.pending_drops()?;
        if noted.is_empty() {
            return Ok(0);
        }
        let mut dropped = self.drop_listed_payloads(&noted, base)?;
        dropped += self.drop_in_entity_files(&noted, &mut |_| Ok(false))?;
        let mut files = noted.files.clone();
        files.retain(|key, _| !EntityFile::of(&self.folder, key).exists());
        let left = PayloadDrops { files, ..noted.within(&self.gaps(base)) };
        self.set_pending_drops(left)?;
        Ok(dropped)
    }

    /// The recorded drops for missing files.
    pub fn pending_drops(&self) -> Result<PayloadDrops, StoreError> {
        let path = self.note_path();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(it) if it.kind() == std::io::ErrorKind::NotFound => return Ok(PayloadDrops::default()),
            Err(it) => return Err(failed(&path, "reading the pending drops in", &it)),
        };
        let Note { seqs, entities, files } =
            serde_json::from_str(&text).map_err(|it| damaged(&path, 1, it))?;
        let (entities, files) = (entities.into_iter().collect(), files.into_iter().collect());
        Ok(PayloadDrops { seqs, entities, files })
    }

    /// Replaces the recorded drops durably.
    pub fn set_pending_drops(&self, drops: PayloadDrops) -> Result<(), StoreError> {
        let path = self.note_path();
        let io = |it: std::io::Error| failed(&path, "writing the pending drops to", &it);
        if drops.is_empty() {
            return match fs::remove_file(&path) {
                Err(it) if it.kind() != std::io::ErrorKind::NotFound => Err(io(it)),
                _ => Ok(()),
            };
        }
        let PayloadDrops { seqs, entities, files } = drops;
        let (entities, files) = (entities.into_iter().collect(), files.into_iter().collect());
        let note = Note { seqs, entities, files };
        let text = serde_json::to_string(&note).map_err(|it| damaged(&path, 1, it))?;
        fs::create_dir_all(&self.folder).map_err(io)?;
        let partial = path.with_extension("partial");
        let mut file = File::create(&partial).map_err(io)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(io)?;
        fs::rename(&partial, &path).map_err(io)?;
        sync_folder(&self.folder)
    }

    fn note_path(&self) -> PathBuf {
        self.folder.join("to-drop.json")
    }

    /// Ranges up to `base` that no file contains.
    fn gaps(&self, base: u64) -> Vec<(u64, u64)> {
        let (mut gaps, mut known) = (Vec::new(), 0);
        for file in self.files() {
            if file.before.seq > known {
                gaps.push((known + 1, file.before.seq));
            }
            known = known.max(file.last());
        }
        if base > known {
            gaps.push((known + 1, base));
        }
        gaps
    }

    /// Removes unfinished files: they contain payloads, too.
    fn clear_away(&self) -> Result<(), StoreError> {
        let all = match fs::read_dir(&self.folder) {
            Ok(all) => all,
            Err(it) if it.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(it) => return Err(failed(&self.folder, "reading the folder", &it)),
        };
        for file in all {
            let path = file.map_err(|it| failed(&self.folder, "reading the folder", &it))?.path();
            if path.extension().is_some_and(|it| it == "partial") {
                fs::remove_file(&path).map_err(|it| failed(&path, "removing the unfinished file", &it))?;
            }
        }
        Ok(())
    }
}
