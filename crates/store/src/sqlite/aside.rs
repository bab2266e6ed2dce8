//! Files that make no sense any more are kept under another name: nothing is ever deleted for being damaged.

use std::path::{Path, PathBuf};

use super::lock::Lock;
use super::{Sqlite, sync_folder};
use crate::StoreError;

/// What SQLite keeps beside a file.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

impl Sqlite {
    /// Sets the projections of a folder aside, that nobody works on; answered is where they lie now. They are made anew
    /// from the journal when the folder is opened: for a `state.db` in which a damaged page was met.
    pub fn set_state_aside(dir: &Path) -> Result<PathBuf, StoreError> {
        let _lock = Lock::take(dir, None)?;
        set_aside(&dir.join("state.db"))
    }
}

/// Gives a file, and what is beside it, a name that says what it is.
pub(super) fn set_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let named = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let mut number = 1_u32;
    while named(&format!(".damaged-{number}")).exists() {
        number = number.saturating_add(1);
    }
    let aside = named(&format!(".damaged-{number}"));
    let moved = |from: &Path, to: &Path| {
        std::fs::rename(from, to)
            .map_err(|error| StoreError::io(format!("rename {} to {}", from.display(), to.display()), error))
    };
    // What is beside it first: without its file it means nothing, with another one it could be taken for that one's.
    for beside in BESIDE {
        let from = named(beside);
        if from.exists() {
            moved(&from, &named(&format!(".damaged-{number}{beside}")))?;
        }
    }
    moved(path, &aside)?;
    if let Some(dir) = path.parent() {
        sync_folder(dir);
    }
    Ok(aside)
}
