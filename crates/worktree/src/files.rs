//! Small files that are written at once or not at all, and locks.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{AtPath as _, WorktreeError};

/// Reads a JSON file; none if it does not exist.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, WorktreeError> {
    match fs::read(path) {
        Ok(content) => serde_json::from_slice(&content).map(Some).map_err(io::Error::from).at(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).at(path),
    }
}

/// Writes a JSON file. After a crash it has the old content or the new one.
pub(crate) fn write_json(path: &Path, content: &impl Serialize) -> Result<(), WorktreeError> {
    let text = serde_json::to_vec_pretty(content).map_err(io::Error::from).at(path)?;
    write_file(path, &text)
}

/// Writes a file. After a crash it has the old content or the new one.
pub(crate) fn write_file(path: &Path, content: &[u8]) -> Result<(), WorktreeError> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder).at(folder)?;
    let draft = folder.join(format!(".{}.{}", path.file_name().unwrap_or_default().display(), random_id()));
    let write = || -> io::Result<()> {
        let mut file = File::create(&draft)?;
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(&draft, path)
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written.at(path)
}

/// Removes a file. A missing one is no error.
pub(crate) fn remove_file(path: &Path) -> Result<(), WorktreeError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).at(path),
        _ => Ok(()),
    }
}

/// Whether something is at this path, even a link that leads nowhere.
pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A lock among processes. The kernel releases it when its process ends.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Waits for the lock.
    pub fn wait(path: &Path) -> Result<Self, WorktreeError> {
        let file = open(path)?;
        flock(&file, FlockOperation::LockExclusive).map_err(io::Error::from).at(path)?;
        Ok(Self(file))
    }

    /// Takes the lock if no other process has it.
    pub fn take(path: &Path) -> Result<Option<Self>, WorktreeError> {
        let file = open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(file))),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => Ok(None),
            Err(error) => Err(io::Error::from(error)).at(path),
        }
    }

    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.0
    }
}

fn open(path: &Path) -> Result<File, WorktreeError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).at(folder)?;
    }
    OpenOptions::new().read(true).append(true).create(true).open(path).at(path)
}

/// Eight random characters.
pub(crate) fn random_id() -> String {
    let mut bytes = [0u8; 4];
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}
