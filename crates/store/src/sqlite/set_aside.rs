//! Renames damaged files. Nothing is deleted because it is damaged.

use std::path::{Path, PathBuf};

use super::lock::Lock;
use super::{Sqlite, sync_folder};
use crate::StoreError;

/// Files that SQLite keeps beside a database.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

impl Sqlite {
    /// Renames the `state.db` of a folder that is not in use, after a damaged page was found in it. Returns its new
    /// path. The projections are rebuilt from the journal when the folder is opened.
    pub fn set_state_aside(dir: &Path) -> Result<PathBuf, StoreError> {
        let _lock = Lock::take(dir, None)?;
        set_aside(&dir.join("state.db"))
    }
}

/// The file that requests a rebuild of `state.db`, and says why.
fn request(state: &Path) -> PathBuf {
    state.with_extension("rebuild")
}

/// Requests a rebuild when the folder is opened the next time.
pub(super) fn request_rebuild(state: &Path, why: &str) {
    let request = request(state);
    if !request.exists() {
        // If this fails, the damage is found and requested again.
        let _ = std::fs::write(request, format!("{why}\n"));
    }
}

pub(super) fn is_rebuild_requested(state: &Path) -> bool {
    request(state).exists()
}

/// Removes the request: the projections are empty, and the process that opened the folder rebuilds them.
pub(super) fn rebuild_begun(state: &Path) {
    let _ = std::fs::remove_file(request(state));
}

/// Renames a file and the files beside it.
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
    // The files beside it first: otherwise they could be taken for those of a new database.
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
