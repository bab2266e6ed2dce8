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
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let mut file = options.open(&path).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                // An owner would not let others lock the file for reading: then its text is of an earlier one.
                let owner = match file.try_lock_shared() {
                    Ok(()) => {
                        let _ = file.unlock();
                        reader_of(&path)
                    }
                    Err(_) => owner_of(&path),
                };
                return Err(StoreError::InUse { path: dir.to_path_buf(), owner });
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        let process = format!("process {}", std::process::id());
        let text = match owner {
            Some(owner) => format!("{owner} ({process})\n"),
            None => format!("{process}\n"),
        };
        // In place: on a full disk the old name can be overwritten, but a new file cannot be written.
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

/// The program that has locked the file for reading, which only a foreign program does.
fn reader_of(path: &Path) -> String {
    let lock = path.display();
    match lock_holder(path) {
        Some(process) => format!("process {process}, which does not own it but has locked the file {lock}"),
        None => format!(
            "a program that does not own it but has locked the file {lock}: `fuser {lock}` shows which"
        ),
    }
}

/// The process that holds a lock, as the system lists it.
#[cfg(target_os = "linux")]
fn lock_holder(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let end = format!(":{}", std::fs::metadata(path).ok()?.ino());
    let own = std::process::id();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|it| it.ends_with(&end))?;
        words.get(at.checked_sub(1)?)?.parse().ok().filter(|it| *it != own)
    })
}

#[cfg(not(target_os = "linux"))]
fn lock_holder(_: &Path) -> Option<u32> {
    None
}

/// The owner's description of itself.
fn owner_of(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    match text.trim() {
        "" => "another process".to_owned(),
        owner => owner.to_owned(),
    }
}
