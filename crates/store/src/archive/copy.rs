//! An archive beside a copy of its project.

use std::fs::{self, File};
use std::path::Path;

use super::{Archive, folder_of};
use crate::StoreError;

impl Archive {
    /// Copies its files into the archive of another data folder, each under another name until it is there as a whole;
    /// how many there are.
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
        // What waits for files that are not here waits in the copy, too.
        Self::open(&to)?.note(self.noted()?)?;
        Ok(self.files().len())
    }
}
