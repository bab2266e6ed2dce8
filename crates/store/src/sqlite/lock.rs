//! The lock that gives a folder one owner.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::path::Path;

use crate::StoreError;

/// Held while the folder is ours; the system frees it when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock, or returns the current owner at once.
    pub fn take(dir: &Path, owner: Option<&str>) -> Result<Self, StoreError> {
        let path = dir.join("lock");
        let unusable = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::StorageFull => StoreError::Full { path: path.clone() },
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly {
                    path: path.clone(),
                    why: format!("{error}. Make the folder and its files writable for this user"),
                }
            }
            _ => StoreError::io(format!("take {}", path.display()), error),
        };
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse { path: dir.to_path_buf(), owner: owner_of(&path) });
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        let process = format!("process {}", std::process::id());
        let text = match owner {
            Some(owner) => format!("{owner} ({process})\n"),
            None => format!("{process}\n"),
        };
        // In place: on a full disk the old name can be overwritten, but not written anew.
        let named = file.write_all(text.as_bytes()).and_then(|()| file.set_len(text.len() as u64));
        match named {
            // The name is for people; the lock holds without it.
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {}
            named => named.map_err(unusable)?,
        }
        Ok(Self { file })
    }

    /// The current owner, if any.
    pub fn held_by(dir: &Path) -> Result<Option<String>, StoreError> {
        let path = dir.join("lock");
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(format!("read {}", path.display()), error)),
        };
        match file.try_lock_shared() {
            Ok(()) => {
                let _ = file.unlock();
                Ok(None)
            }
            Err(TryLockError::WouldBlock) => Ok(Some(owner_of(&path))),
            Err(TryLockError::Error(error)) => {
                Err(StoreError::io(format!("look at {}", path.display()), error))
            }
        }
    }
}

impl Drop for Lock {
    /// Closing the file is not enough: a child process that is being started still has the handle.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// The owner's description of itself.
fn owner_of(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    match text.trim() {
        "" => "another process".to_owned(),
        owner => owner.to_owned(),
    }
}
