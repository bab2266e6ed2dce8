//! Backups of a data folder: complete copies, and increments with the journal entries since.
//!
//! A backup is a complete data folder. Its increments are in its folder `increments`: each is a file of journal
//! entries with the hash of the chain at both ends, and the texts of the packs that these entries installed. So an
//! increment can never be without the copy it belongs to.

use std::fs;
use std::path::{Path, PathBuf};

use crate::archive::{Archive, ArchiveHeader, ArchiveLines, FullJournal, put, sync_folder, verify_file};
use crate::artifacts::ArtifactStats;
use crate::rules::Installed;
use crate::space::{bytes_text, folder_bytes};
use crate::sqlite::backup::{check, is_unfinished, remove_copy};
use crate::{Artifacts, Chain, Definition, DiskSpace, Record, Store, StoreError};

/// The folder of increments in a backup.
const INCREMENTS: &str = "increments";
/// Names the target of a backup that is under way, so that the next start can remove what a kill left.
const UNDER_WAY: &str = "backup-under-way";
/// The default folder of backups in a data folder.
pub const BACKUPS: &str = "backups";
/// Entries read at a time.
const PIECE: usize = 1_000;

/// A finished backup.
#[derive(Clone, Debug)]
pub struct BackupSummary {
    /// The end of its journal.
    pub end: Chain,
    pub archive_files: usize,
    pub artifacts: ArtifactStats,
}

/// Copies the data folder of an open store to an empty or absent folder, and verifies the copy. A backup that would
/// not fit is not begun; one that fails is removed.
pub fn back_up(
    store: &dyn Store,
    data: &Path,
    to: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<BackupSummary, StoreError> {
    must_fit(data, to)?;
    let note = data.join(UNDER_WAY);
    // If it cannot be written, only a kill leaves unfinished files.
    fs::write(&note, std::path::absolute(to).unwrap_or_else(|_| to.to_owned()).display().to_string()).ok();
    let (mut archive_files, mut artifacts) = (0, ArtifactStats::default());
    let copied = store.backup(
        to,
        &mut |to| {
            archive_files = store.archive()?.copy(to)?;
            artifacts = Artifacts::of(data).copy(to)?;
            Ok(())
        },
        progress,
    );
    fs::remove_file(&note).ok();
    Ok(BackupSummary { end: copied?, archive_files, artifacts })
}

/// Fails if the disk has no room for a copy.
fn must_fit(data: &Path, to: &Path) -> Result<(), StoreError> {
    // Other systems fail while they write.
    let Ok(DiskSpace { free, .. }) = DiskSpace::of(to) else { return Ok(()) };
    let needed = folder_bytes(data).saturating_sub(folder_bytes(&data.join(BACKUPS)));
    match needed > free {
        true => Err(StoreError::NoRoom { path: to.to_owned(), needed, free }),
        false => Ok(()),
    }
}

/// Removes unfinished backups that a kill left: the one that was under way, and those in the folder `backups`. Returns
/// their folders.
pub fn remove_unfinished(data: &Path) -> Vec<PathBuf> {
    let note = data.join(UNDER_WAY);
    let noted = fs::read_to_string(&note).ok().map(PathBuf::from);
    let mut removed = remove_unfinished_in(&data.join(BACKUPS));
    for folder in noted.into_iter().filter(|it| is_unfinished(it)) {
        remove_copy(&folder, false);
        removed.push(folder);
    }
    fs::remove_file(note).ok();
    removed
}

/// Removes the unfinished backups in a folder, while no other is made there. Returns their folders.
pub fn remove_unfinished_in(backups: &Path) -> Vec<PathBuf> {
    let inside = fs::read_dir(backups).into_iter().flatten().flatten().map(|it| it.path());
    let unfinished: Vec<PathBuf> = inside.filter(|it| is_unfinished(it)).collect();
    unfinished.iter().for_each(|it| remove_copy(it, false));
    unfinished
}

/// A backup with its increments.
#[derive(Clone, Debug)]
pub struct BackupSet {
    pub folder: PathBuf,
    /// The end of the complete copy.
    pub base: Chain,
    /// Its increments, in order and without a gap.
    pub increments: Vec<ArchiveHeader>,
}

/// A folder that is no usable backup, and the reason.
pub type UnusableBackup = (PathBuf, String);

impl BackupSet {
    /// Verifies the complete copy and lists its increments. The entries of increments are verified when they are read.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let base = check(folder)?;
        let increments = Archive::open(&folder.join(INCREMENTS))?.files().to_vec();
        let mut end = base;
        for file in &increments {
            if file.before.seq > end.seq {
                let what = format!(
                    "entries {} to {} are missing: no file in {INCREMENTS} has them. Copy the missing file back, or \
                     restore to entry {} or earlier",
                    end.seq + 1,
                    file.before.seq,
                    end.seq
                );
                return Err(StoreError::Damaged { path: folder.to_owned(), what });
            }
            if file.before != end {
                let what = format!("it does not continue the backup, which ends at entry {}", end.seq);
                return Err(StoreError::Damaged { path: file.path.clone(), what });
            }
            end = file.after;
        }
        Ok(Self { folder: folder.to_owned(), base, increments })
    }

    /// All backups in a folder, the oldest first, and the folders of unfinished or damaged ones with the reason.
    pub fn list(folder: &Path) -> Result<(Vec<Self>, Vec<UnusableBackup>), StoreError> {
        let failed = |it| StoreError::io(format!("list {}", folder.display()), it);
        let (mut sets, mut unusable) = (Vec::new(), Vec::new());
        let mut folders: Vec<PathBuf> = match folder.join("journal.db").exists() {
            true => vec![folder.to_owned()],
            false => fs::read_dir(folder).map_err(failed)?.flatten().map(|it| it.path()).collect(),
        };
        folders.sort();
        for folder in folders.into_iter().filter(|it| it.join("journal.db").exists() || is_unfinished(it)) {
            match Self::open(&folder) {
                Ok(set) => sets.push(set),
                Err(error) => unusable.push((folder, error.to_string())),
            }
        }
        sets.sort_by_key(|it| it.base.seq);
        Ok((sets, unusable))
    }

    /// The last entry that can be restored.
    pub fn end(&self) -> Chain {
        self.increments.last().map_or(self.base, |it| it.after)
    }

    /// The size of its files.
    pub fn bytes(&self) -> u64 {
        folder_bytes(&self.folder)
    }

    /// The size of its files, for people.
    pub fn bytes_text(&self) -> String {
        bytes_text(self.bytes())
    }

    /// Adds an increment with the entries that the journal has since. None if there are none.
    pub fn add_increment(
        &mut self,
        store: &dyn Store,
        data: &Path,
    ) -> Result<Option<&ArchiveHeader>, StoreError> {
        let mut reader = store.reader()?;
        let (from, upto) = (self.end(), reader.head()?.chain);
        let known = match from.seq {
            0 => Some(from),
            _ if from.seq > upto.seq => None,
            _ => FullJournal::new(store, reader.as_mut())
                .record(from.seq)?
                .map(|it| Chain { seq: it.seq, hash: it.hash }),
        };
        if known != Some(from) {
            return Err(StoreError::io(
                format!("add an increment to {}", self.folder.display()),
                format!(
                    "the backup ends at entry {}, and the journal has another entry there or ends before it, as after \
                     a restore. Make a new backup in an empty folder",
                    from.seq
                ),
            ));
        }
        if upto.seq == from.seq {
            return Ok(None);
        }
        let folder = self.folder.join(INCREMENTS);
        let about = ArchiveHeader { path: PathBuf::new(), before: from, after: upto };
        let about = ArchiveHeader { path: folder.join(about.name()), ..about };
        fs::create_dir_all(&folder).map_err(|it| StoreError::io(format!("make {}", folder.display()), it))?;
        let mut packs = Vec::new();
        let written = self.write_increment(store, &about, &mut packs);
        let copied = written.and_then(|()| copy_artifacts(data, &self.folder));
        if let Err(error) = copied {
            fs::remove_file(&about.path).ok();
            fs::remove_file(packs_path(&about.path)).ok();
            return Err(error);
        }
        self.increments.push(about);
        Ok(self.increments.last())
    }

    fn write_increment(
        &self,
        store: &dyn Store,
        about: &ArchiveHeader,
        packs: &mut Vec<Definition>,
    ) -> Result<(), StoreError> {
        let mut reader = store.reader()?;
        let mut chain = about.before;
        let mut installed = Vec::new();
        let mut piece = Vec::new().into_iter();
        let records = std::iter::from_fn(|| {
            if chain.seq >= about.after.seq {
                return None;
            }
            if piece.len() == 0 {
                match FullJournal::new(store, reader.as_mut()).records(chain.seq, PIECE) {
                    Ok(some) => piece = some.into_iter(),
                    Err(error) => return Some(Err(error)),
                }
            }
            let record: Record = piece.next()?;
            installed.extend(Installed::of(chain, &record).and_then(|it| it.in_force()));
            chain = Chain { seq: record.seq, hash: record.hash };
            Some(Ok(record))
        });
        put(about, records)?;
        // Texts are stored in the same commit as the entries that installed them.
        let known = store.reader()?.definitions()?;
        let is_new = |it: &Definition| installed.iter().any(|one| one.digest == it.digest);
        packs.extend(known.into_iter().filter(is_new));
        let texts = serde_json::to_vec(&packs.iter().map(PackText::from).collect::<Vec<_>>());
        let path = packs_path(&about.path);
        let failed = |it: std::io::Error| match it.kind() {
            std::io::ErrorKind::StorageFull => StoreError::Full { path: path.clone() },
            _ => StoreError::io(format!("write {}", path.display()), it),
        };
        fs::write(&path, texts.map_err(|it| failed(it.into()))?).map_err(failed)?;
        fs::File::open(&path).and_then(|it| it.sync_all()).map_err(failed)?;
        sync_folder(&self.folder.join(INCREMENTS))
    }

    /// The texts of the packs that the increments installed.
    pub(crate) fn increment_packs(&self) -> Result<Vec<Definition>, StoreError> {
        let mut all = Vec::new();
        for file in &self.increments {
            let path = packs_path(&file.path);
            let damaged = |what: String| StoreError::Damaged { path: path.clone(), what };
            let text = fs::read(&path).map_err(|it| damaged(it.to_string()))?;
            let packs: Vec<PackText> = serde_json::from_slice(&text).map_err(|it| damaged(it.to_string()))?;
            all.extend(packs.into_iter().map(Definition::from));
        }
        Ok(all)
    }

    /// The entries of an increment, after the whole file was verified.
    pub(crate) fn read_increment(&self, file: &ArchiveHeader) -> Result<ArchiveLines, StoreError> {
        verify_file(&file.path)?;
        ArchiveLines::open(&file.path)
    }
}

/// The file with the texts of packs beside an increment.
fn packs_path(increment: &Path) -> PathBuf {
    increment.with_extension("packs.json")
}

/// Copies the artifacts that a backup does not have yet.
fn copy_artifacts(data: &Path, backup: &Path) -> Result<(), StoreError> {
    let (from, to) = (Artifacts::of(data), Artifacts::of(backup));
    let known = to.ids()?;
    for id in from.ids()?.into_iter().filter(|it| known.binary_search(it).is_err()) {
        let failed = |it| StoreError::io(format!("copy artifact {id}"), it);
        // A damaged one is found by `audit` and `backup`; the journal does not wait for it.
        if let Some(content) = from.get(&id).map_err(failed)?
            && Artifacts::id_of(&content) == id
        {
            to.put(&id, &content).map_err(failed)?;
        }
    }
    Ok(())
}

/// The texts of a pack, as they are stored beside an increment.
#[derive(serde::Serialize, serde::Deserialize)]
struct PackText {
    pack: String,
    version: u32,
    digest: String,
    files: Vec<(String, String)>,
}

impl From<&Definition> for PackText {
    fn from(it: &Definition) -> Self {
        let Definition { pack, version, digest, files } = it.clone();
        Self { pack: pack.to_string(), version, digest, files }
    }
}

impl From<PackText> for Definition {
    fn from(it: PackText) -> Self {
        let PackText { pack, version, digest, files } = it;
        Self { pack: pack.into(), version, digest, files }
    }
}
