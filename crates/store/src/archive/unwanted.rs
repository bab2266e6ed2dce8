//! What must leave the archive files: dropped where they are, and noted where they are not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use trackside_engine::key::EntityKey;

use super::file::{About, Lines, damaged, failed};
use super::shelf::Archive;
use super::write::sync_folder;
use crate::{Record, StoreError};

/// So many ids are looked for in a line before it is read; with more of them reading is no slower.
const FEW: usize = 16;

/// Payloads that are to go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unwanted {
    /// Of these records.
    pub seqs: BTreeSet<u64>,
    /// Of every record of these entities before an entry.
    pub entities: BTreeMap<EntityKey, u64>,
}

/// The same as it is noted.
#[derive(Serialize, Deserialize)]
struct Note {
    seqs: BTreeSet<u64>,
    entities: Vec<(EntityKey, u64)>,
}

impl Unwanted {
    pub fn is_empty(&self) -> bool {
        self.seqs.is_empty() && self.entities.is_empty()
    }

    fn and(&mut self, other: Self) {
        self.seqs.extend(other.seqs);
        for (key, before) in other.entities {
            let kept = self.entities.entry(key).or_default();
            *kept = before.max(*kept);
        }
    }

    /// Whether nothing of it can be in this stretch.
    fn is_beyond(&self, first: u64, last: u64) -> bool {
        self.seqs.range(first..=last).next().is_none() && self.entities.values().all(|it| *it <= first)
    }

    /// The part of it that may be in these stretches.
    fn within(self, gaps: &[(u64, u64)]) -> Self {
        let among = |seq: &u64| gaps.iter().any(|(first, last)| first <= seq && seq <= last);
        let before = |it: u64| gaps.iter().any(|(first, _)| *first < it);
        Self {
            seqs: self.seqs.into_iter().filter(among).collect(),
            entities: self.entities.into_iter().filter(|(_, it)| before(*it)).collect(),
        }
    }

    /// Records of a file whose payload must go.
    fn found_in(&self, file: &About) -> Result<Vec<u64>, StoreError> {
        let mut found = Vec::new();
        for record in Lines::open(&file.path)? {
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
    /// Drops these payloads from the files, so that their bytes are gone; how many there were. What may be in files that
    /// are missing, of all that was archived up to `base`, is noted, and goes when they are back: see
    /// [`Archive::drop_noted`].
    pub fn drop_unwanted(&self, unwanted: &Unwanted, base: u64) -> Result<u64, StoreError> {
        if unwanted.is_empty() || (self.files().is_empty() && base == 0) {
            return Ok(0);
        }
        self.clear_away()?;
        let mut dropped = 0;
        for file in self.files().iter().filter(|it| !unwanted.is_beyond(it.first(), it.last())) {
            let seqs = unwanted.found_in(file)?;
            if !seqs.is_empty() {
                dropped += self.drop_payloads(&seqs)?;
            }
        }
        let left = unwanted.clone().within(&self.gaps(base));
        if !left.is_empty() {
            let mut all = self.noted()?;
            all.and(left);
            self.note(all)?;
        }
        Ok(dropped)
    }

    /// Drops what was noted, as far as files have come back; the rest stays noted.
    pub fn drop_noted(&self, base: u64) -> Result<u64, StoreError> {
        let noted = self.noted()?;
        if noted.is_empty() {
            return Ok(0);
        }
        let dropped = self.drop_unwanted(&noted, base)?;
        let left = noted.within(&self.gaps(base));
        self.note(left)?;
        Ok(dropped)
    }

    /// What waits for files that are not here.
    pub fn noted(&self) -> Result<Unwanted, StoreError> {
        let path = self.note_path();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(it) if it.kind() == std::io::ErrorKind::NotFound => return Ok(Unwanted::default()),
            Err(it) => return Err(failed(&path, "reading what is to be dropped", &it)),
        };
        let Note { seqs, entities } = serde_json::from_str(&text).map_err(|it| damaged(&path, 1, it))?;
        Ok(Unwanted { seqs, entities: entities.into_iter().collect() })
    }

    /// Notes it in place of what was noted, so that it survives a power cut.
    pub fn note(&self, unwanted: Unwanted) -> Result<(), StoreError> {
        let path = self.note_path();
        let io = |it: std::io::Error| failed(&path, "noting what is to be dropped", &it);
        if unwanted.is_empty() {
            return match fs::remove_file(&path) {
                Err(it) if it.kind() != std::io::ErrorKind::NotFound => Err(io(it)),
                _ => Ok(()),
            };
        }
        let note = Note { seqs: unwanted.seqs, entities: unwanted.entities.into_iter().collect() };
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

    /// Stretches up to `base` that no file holds.
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

    /// Files that were never finished have payloads, too.
    fn clear_away(&self) -> Result<(), StoreError> {
        let all = match fs::read_dir(&self.folder) {
            Ok(all) => all,
            Err(it) if it.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(it) => return Err(failed(&self.folder, "reading the folder", &it)),
        };
        for file in all {
            let path = file.map_err(|it| failed(&self.folder, "reading the folder", &it))?.path();
            if path.extension().is_some_and(|it| it == "partial") {
                fs::remove_file(&path)
                    .map_err(|it| failed(&path, "removing what was never finished", &it))?;
            }
        }
        Ok(())
    }
}
