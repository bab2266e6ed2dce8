//! Artifacts: content stored in files named by its hash.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest as _, Sha256};
use trackside_lifecycle::hex;

use crate::StoreError;
use crate::archive::folder_of;

/// How the name of a mark ends.
const MARK: &str = "archived";

/// The artifacts of a project.
#[derive(Clone, Debug)]
pub struct Artifacts {
    folder: PathBuf,
    /// The artifacts of entities in long-term storage.
    archive: PathBuf,
}

/// The result of checking all artifacts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArtifactStats {
    /// The number of artifacts that match their hash.
    pub whole: u64,
    /// Ids of those that do not.
    pub damaged: Vec<String>,
}

impl Artifacts {
    /// The artifacts of the project in this folder.
    pub fn of(data: &Path) -> Self {
        Self { folder: data.join("artifacts"), archive: folder_of(data).join("artifacts") }
    }

    /// Whether a text has the form of a hash.
    pub fn is_id(id: &str) -> bool {
        id.len() == 64 && id.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
    }

    /// The hash of some content.
    pub fn id_of(content: &[u8]) -> String {
        hex::encode(Sha256::digest(content))
    }

    /// Its path: one folder for each first byte of the hash.
    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(id.get(..2).unwrap_or_default()).join(id)
    }

    /// The content; none if it does not exist. Content that does not have this hash is an error of the kind
    /// `InvalidData`.
    pub fn get(&self, id: &str) -> io::Result<Option<Vec<u8>>> {
        match self.read(id)? {
            Some(content) if Self::id_of(&content) != id => {
                let why = format!(
                    "artifact {id} is damaged: its content does not have this hash. Send the content again: it replaces the damaged file"
                );
                Err(io::Error::new(io::ErrorKind::InvalidData, why))
            }
            content => Ok(content),
        }
    }

    /// The content of the file, not verified.
    fn read(&self, id: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.path(id)) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.read_archived(id),
            Err(error) => Err(error),
        }
    }

    /// Stores it durably; false if it was already stored. A damaged file is replaced.
    pub fn put(&self, id: &str, content: &[u8]) -> io::Result<bool> {
        // A damaged file of either place is replaced by the next write.
        if matches!(self.get(id), Ok(Some(_))) {
            return Ok(false);
        }
        write_under_hash(&self.folder, id, content)?;
        Ok(true)
    }

    /// Its path in the archive.
    fn archived_path(&self, id: &str) -> PathBuf {
        self.archive.join(id.get(..2).unwrap_or_default()).join(id)
    }

    /// The file that says that an artifact is in the archive.
    fn mark(&self, id: &str) -> PathBuf {
        self.path(id).with_extension(MARK)
    }

    /// The content in the archive, checked against its hash; none if it was not moved there.
    fn read_archived(&self, id: &str) -> io::Result<Option<Vec<u8>>> {
        let path = self.archived_path(id);
        let unusable = |what: String| {
            io::Error::other(format!(
                "artifact {id} is in the archive file {}, which {what}. Copy the file back, from where it was moved \
                 or from a backup, and try again",
                path.display()
            ))
        };
        match fs::read(&path) {
            Ok(content) if Self::id_of(&content) == id => Ok(Some(content)),
            Ok(_) => Err(unusable("is damaged: its content does not match its hash".to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => match self.mark(id).exists() {
                true => Err(unusable("is missing".to_owned())),
                false => Ok(None),
            },
            Err(error) => Err(unusable(format!("cannot be read: {error}"))),
        }
    }

    /// Copies an artifact to the archive and verifies the copy. False if there is none outside the archive, or it is
    /// damaged: a damaged one stays where it is.
    pub(crate) fn copy_to_archive(&self, id: &str) -> io::Result<bool> {
        let content = match fs::read(self.path(id)) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        if Self::id_of(&content) != id {
            return Ok(false);
        }
        self.put_archived(id, &content)?;
        Ok(true)
    }

    /// Stores it durably in the archive, and marks it as archived once the stored content was verified.
    fn put_archived(&self, id: &str, content: &[u8]) -> io::Result<()> {
        if !matches!(self.read_archived(id), Ok(Some(_))) {
            write_under_hash(&self.archive, id, content)?;
            self.read_archived(id)?;
        }
        let mark = self.mark(id);
        if mark.exists() {
            return Ok(());
        }
        let Some(folder) = mark.parent() else { return Err(io::ErrorKind::InvalidInput.into()) };
        fs::create_dir_all(folder)?;
        File::create(&mark)?.sync_all()?;
        sync_folder(folder)?;
        sync_folder(&self.folder)
    }

    /// Deletes the copy outside the archive.
    pub(crate) fn remove_live(&self, id: &str) -> io::Result<()> {
        let path = self.path(id);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => sync_folder(path.parent().unwrap_or(&self.folder)),
        }
    }

    /// Copies all of them to another data folder and checks each hash. Damaged ones are reported and not copied.
    pub fn copy(&self, to: &Path) -> Result<ArtifactStats, StoreError> {
        let to = Self::of(to);
        self.each(|name, content| {
            let kept = match self.path(name).exists() {
                true => to.put(name, content).map(|_| ()),
                false => to.put_archived(name, content),
            };
            kept.map_err(|it| StoreError::io(format!("copy artifact {name}"), it))
        })
    }

    /// Checks the hash of every artifact.
    pub fn stats(&self) -> Result<ArtifactStats, StoreError> {
        self.each(|_, _| Ok(()))
    }

    /// The names of all of them, in order.
    pub fn ids(&self) -> Result<Vec<String>, StoreError> {
        let failed = |it: io::Error| StoreError::io(format!("artifacts in {}", self.folder.display()), it);
        let mut ids = Vec::new();
        for folder in entries(&self.folder).map_err(failed)?.into_iter().filter(|it| it.is_dir()) {
            let names = entries(&folder).map_err(failed)?;
            let names = names.iter().filter_map(|it| it.file_name().and_then(|it| it.to_str()));
            let names = names.map(|it| it.strip_suffix(&format!(".{MARK}")).unwrap_or(it));
            ids.extend(names.filter(|it| Self::is_id(it)).map(str::to_owned));
        }
        ids.sort();
        ids.dedup();
        Ok(ids)
    }

    /// Passes each intact artifact to the callback, in order, and reports the damaged ones.
    pub fn each<E: From<StoreError>>(
        &self,
        mut show: impl FnMut(&str, &[u8]) -> Result<(), E>,
    ) -> Result<ArtifactStats, E> {
        let mut looked = ArtifactStats::default();
        for id in self.ids()? {
            let content = match self.read(&id) {
                // Its file in the archive is missing or damaged.
                Err(_) if self.mark(&id).exists() => {
                    looked.damaged.push(id);
                    continue;
                }
                found => found.map_err(|it| StoreError::io(format!("artifact {id}"), it))?,
            };
            // It may have been deleted meanwhile.
            let Some(content) = content else { continue };
            match Self::id_of(&content) == id {
                true => {
                    show(&id, &content)?;
                    looked.whole += 1;
                }
                false => looked.damaged.push(id),
            }
        }
        Ok(looked)
    }
}

/// Writes content to the folder of its first byte, under its hash.
fn write_under_hash(root: &Path, id: &str, content: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let folder = root.join(id.get(..2).unwrap_or_default());
    fs::create_dir_all(&folder)?;
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let part = root.join(format!("{id}-{}-{number}.part", std::process::id()));
    let written = create(&part)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&part, folder.join(id)));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written?;
    // A rename is durable once its folder is synced, and a new folder once its parent is.
    sync_folder(&folder)?;
    sync_folder(root)?;
    sync_folder(root.parent().unwrap_or(root))
}

/// Creates a file that only its owner can read.
fn create(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(all) => all.map(|it| it.map(|it| it.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
