//! Artifacts: content kept in files under its hash, whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::auth::Secret;

/// The artifacts of a project.
#[derive(Clone, Debug)]
pub(crate) struct Artifacts {
    folder: PathBuf,
}

impl Artifacts {
    /// Those of the project in this folder.
    pub fn of(data: &Path) -> Self {
        Self { folder: data.join("artifacts") }
    }

    /// Whether this is how a hash is written.
    pub fn is_id(id: &str) -> bool {
        id.len() == 64 && id.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
    }

    /// The hash of some content.
    pub fn id_of(content: &[u8]) -> String {
        Sha256::digest(content).iter().map(|it| format!("{it:02x}")).collect()
    }

    /// Where it lies: in a folder with others whose hash begins alike.
    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(id.get(..2).unwrap_or_default()).join(id)
    }

    /// The content; none if there is none.
    pub fn get(&self, id: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.path(id)) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps it, so that a power cut cannot take it back; false if it was there.
    pub fn put(&self, id: &str, content: &[u8]) -> io::Result<bool> {
        let path = self.path(id);
        if path.exists() {
            return Ok(false);
        }
        let Some(folder) = path.parent() else { return Err(io::ErrorKind::InvalidInput.into()) };
        fs::create_dir_all(folder)?;
        let name = Secret::new().ok_or(io::ErrorKind::Other)?.id;
        let part = self.folder.join(format!("{name}.part"));
        let written = File::create(&part)
            .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&part, &path));
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        written?;
        // A new name is there for good once its folder is written, and the folder's name once the one around it is.
        sync_folder(folder)?;
        sync_folder(&self.folder)?;
        Ok(true)
    }

    /// Copies all of them to the project in another folder; how many.
    pub fn copy(&self, to: &Path) -> io::Result<u64> {
        let to = Self::of(to);
        let mut copied = 0;
        for folder in entries(&self.folder)?.into_iter().filter(|it| it.is_dir()) {
            for file in entries(&folder)? {
                let name = file.file_name().and_then(|it| it.to_str()).unwrap_or_default();
                if Self::is_id(name) {
                    to.put(name, &fs::read(&file)?)?;
                    copied += 1;
                }
            }
        }
        Ok(copied)
    }
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
