//! Files of a git revision: `packs/mission@main`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::unwritten;

/// A temporary folder with the files of a revision; removed on drop.
#[derive(Debug)]
pub(crate) struct GitRevision {
    folder: PathBuf,
    path: PathBuf,
}

impl GitRevision {
    /// None if the path is a plain path.
    pub(crate) fn of(path: &Path) -> Result<Option<Self>, String> {
        let text = path.to_string_lossy().into_owned();
        let Some((base, revision)) = text.rsplit_once('@').filter(|_| !path.exists()) else {
            return Ok(None);
        };
        if revision.is_empty() || revision.starts_with('-') {
            return Err(format!("{text}: write a git revision after the `@`, as in packs@main"));
        }
        // A lifecycle file needs the pack around it.
        let wanted = Path::new(base);
        let is_file = wanted.extension().is_some();
        let around = if is_file { wanted.parent().and_then(Path::parent) } else { Some(wanted) };
        let around = around.filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let listed = git(&["ls-tree", "-r", "--name-only", revision, "--", &around.to_string_lossy()])?;
        let folder = std::env::temp_dir().join(format!("trackside-{}-{}", std::process::id(), digest(&text)));
        let past = Self { path: folder.join(wanted), folder };
        let mut found = 0;
        for file in listed.lines().filter(|it| it.ends_with(".yaml") || it.ends_with(".yml")) {
            let target = past.folder.join(file);
            let parent = target.parent().unwrap_or(&past.folder);
            std::fs::create_dir_all(parent).map_err(|it| unwritten(parent, &it))?;
            let text = git(&["show", &format!("{revision}:./{file}")])?;
            std::fs::write(&target, text).map_err(|it| unwritten(&target, &it))?;
            found += 1;
        }
        if found == 0 {
            return Err(format!("{base}: no definition there in the git revision {revision}"));
        }
        Ok(Some(past))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for GitRevision {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn digest(text: &str) -> u32 {
    text.bytes().fold(17, |sum, it| sum.wrapping_mul(31).wrapping_add(u32::from(it)))
}

fn git(args: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(args).output().map_err(|it| {
        format!("cannot run git ({it}). Install git, or name a folder instead of a revision")
    })?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    String::from_utf8(output.stdout).map_err(|_| "git returned text that is not UTF-8".to_owned())
}
