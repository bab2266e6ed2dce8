//! A plain file: append the bytes of a batch, have the disk confirm, again.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Batches, CommitShape, Control, time_batches};
use crate::BenchError;
use crate::load::Pace;

/// A file of this size is replaced, so that a fast disk is not filled.
const LARGEST: u64 = 512 << 20;

/// The loop, with its file open.
#[derive(Debug)]
pub struct PlainFile {
    path: PathBuf,
    file: File,
    length: u64,
    batches: Batches,
}

impl PlainFile {
    /// Makes the file; it must not be there.
    pub fn make(path: &Path) -> Result<Self, BenchError> {
        let file = File::create_new(path).map_err(BenchError::file(path))?;
        Ok(Self { path: path.to_owned(), file, length: 0, batches: Batches::default() })
    }

    /// Appends, and waits until the disk has it.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), BenchError> {
        if self.length > LARGEST {
            self.file = File::create(&self.path).map_err(BenchError::file(&self.path))?;
            self.length = 0;
        }
        self.file.write_all(bytes).map_err(BenchError::file(&self.path))?;
        self.file.sync_data().map_err(BenchError::file(&self.path))?;
        self.length += bytes.len() as u64;
        Ok(())
    }
}

impl Control for PlainFile {
    fn run(&mut self, shape: &CommitShape, time: Duration) -> Result<Pace, BenchError> {
        let mut batches = std::mem::take(&mut self.batches);
        let pace = time_batches(&mut batches, shape, time, |_, bytes| self.append(bytes));
        self.batches = batches;
        pace
    }
}
