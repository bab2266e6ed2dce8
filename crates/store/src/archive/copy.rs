//! Copies an archive to another data folder.

use std::fs::{self, File};
use std::path::Path;

use super::{Archive, EntityFile, folder_of};
use crate::StoreError;

impl Archive {
    /// Copies its files into the archive of another data folder, each under a temporary name until it is complete.
    /// Returns how many there are.
    pub fn copy(&self, data: &Path) -> Result<usize, StoreError> {
        let to = folder_of(data);
        for file in self.files() {
            let Some(name) = file.path.file_name() else { continue };
            let (part, whole) = (to.join(name).with_extension("partial"), to.join(name));
            fs::create_dir_all(&to)
                .and_then(|()| fs::copy(&file.path, &part))
                .and_then(|_| File::open(&part)?.sync_all())
                .and_then(|()| fs::rename(&part, &whole))
                .map_err(|it| {
                    StoreError::io(format!("copy {} to {}", file.path.display(), to.display()), it)
                })?;
        }
        let entities = EntityFile::all(&self.folder)?;
        entities.iter().try_for_each(|it| EntityFile::copy(it, &to))?;
        // The copy keeps the recorded drops.
        Self::open(&to)?.set_pending_drops(self.pending_drops()?)?;
        Ok(self.files().len() + entities.len())
    }

    /// The number of its files, those of single entities included.
    pub fn count(&self) -> Result<usize, StoreError> {
        Ok(self.files().len() + EntityFile::all(&self.folder)?.len())
    }
}
