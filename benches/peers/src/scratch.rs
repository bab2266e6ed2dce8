//! A folder for one run, removed afterwards in every case.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::BenchError;

/// Waits until its input ends, which it does when we end, however we end; then removes the folder.
const GUARD: &str = "trap '' INT TERM HUP; read -r _; rm -rf -- \"$1\"";

static MADE: AtomicU32 = AtomicU32::new(0);

/// A new folder, removed on drop unless it is kept.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    guard: Option<Child>,
    keep: bool,
}

impl Scratch {
    /// Creates one inside a folder, so on the disk of that folder. A kept one stays there.
    pub fn make(inside: &Path, keep: bool) -> Result<Self, BenchError> {
        let nth = MADE.fetch_add(1, Ordering::Relaxed);
        let inside = inside.canonicalize().map_err(BenchError::file(inside))?;
        let path = inside.join(format!(".trackside-bench-{}-{nth}", std::process::id()));
        std::fs::create_dir(&path).map_err(BenchError::file(&path))?;
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "guard"]).arg(&path);
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Without a shell the folder is still removed, unless we are killed.
        let guard = if keep { None } else { guard.spawn().ok() };
        Ok(Self { path, guard, keep })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.path);
        }
        if let Some(mut guard) = self.guard.take() {
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_folder_is_removed_with_its_content() {
        let scratch = Scratch::make(&std::env::temp_dir(), false).unwrap();
        let path = scratch.path().to_owned();
        std::fs::create_dir(path.join("more")).unwrap();
        std::fs::write(path.join("more/file"), "x").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn its_guard_removes_it_when_its_owner_is_gone() {
        let mut scratch = Scratch::make(&std::env::temp_dir(), false).unwrap();
        let path = scratch.path().to_owned();
        // As after a kill: no cleanup runs, only the pipe closes.
        scratch.keep = true;
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn a_kept_scratch_folder_stays() {
        let outer = Scratch::make(&std::env::temp_dir(), false).unwrap();
        let kept = Scratch::make(outer.path(), true).unwrap();
        let path = kept.path().to_owned();
        drop(kept);
        assert!(path.is_dir());
    }
}
