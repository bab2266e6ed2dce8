//! The run folder: the protocol between runner and shim.
//!
//! | file | written by | content |
//! |---|---|---|
//! | `spec` | runner | [`RunSpec`](crate::RunSpec) |
//! | `lock` | shim | locked while the shim lives |
//! | `running` | shim | [`RunningRecord`](crate::RunningRecord) |
//! | `lease` | runner | deadline in nanoseconds of the boot clock |
//! | `out.N`, `err.N` | shim | output; N is the offset of the segment's first byte |
//! | `in/N` | runner | one message for the agent's standard input; `in/close` closes it |
//! | `stop` | runner | [`StopRequest`](crate::StopRequest) |
//! | `beat` | shim | [`LivenessSample`](crate::LivenessSample) |
//! | `exit` | shim | [`ExitRecord`](crate::ExitRecord) |

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes that are reserved for the file `exit`, so that a full disk does not lose it.
const RESERVED: u64 = 8 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder(PathBuf);

/// One of the two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    Out,
    Err,
}

impl OutputStream {
    pub fn name(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::Err => "err",
        }
    }
}

impl RunFolder {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Creates the folder, readable only by its owner.
    pub fn create(&self) -> io::Result<()> {
        fs::DirBuilder::new().mode(0o700).recursive(true).create(self.0.join("in"))
    }

    /// Writes a file whole and durably: a reader sees the old content or the new one.
    pub fn write<T: Serialize>(&self, name: &str, value: &T) -> io::Result<()> {
        self.write_bytes(name, &serde_json::to_vec(value)?)
    }

    pub fn write_bytes(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let new = self.file(&format!("{name}.new"));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&new, self.file(name))?;
        let parent = self.file(name).parent().map(Path::to_owned).unwrap_or_else(|| self.0.clone());
        File::open(parent)?.sync_all()
    }

    /// Writes a file whole, but not durably: a crash of the machine may lose it.
    pub(crate) fn write_lightly<T: Serialize>(&self, name: &str, value: &T) -> io::Result<()> {
        let new = self.file(&format!("{name}.new"));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(value)?)?;
        fs::rename(&new, self.file(name))
    }

    /// Reads a file. `None` if it does not exist.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> io::Result<Option<T>> {
        match fs::read(self.file(name)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.file(name).exists()
    }

    /// Takes the shim's lock. `None` if another shim holds it.
    pub(crate) fn lock(&self) -> io::Result<Option<File>> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.file("lock"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a shim of this run lives. The kernel releases the lock at any death of the shim.
    pub fn is_alive(&self) -> bool {
        // Looking takes the lock for a moment. A shim that starts must not find it taken.
        if !self.has("running") {
            return false;
        }
        let Ok(file) = File::open(self.file("lock")) else { return false };
        flock(&file, FlockOperation::NonBlockingLockShared).is_err()
    }

    /// Reserves the disk space of the file `exit`.
    pub(crate) fn reserve_exit(&self) -> io::Result<File> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.file("exit.reserved"))?;
        // A file system without this call keeps no reserve; writing the record can then fail on a full disk.
        let _ = fallocate(&file, FallocateFlags::empty(), 0, RESERVED);
        Ok(file)
    }

    /// Writes the record into the reserved space and gives it its name.
    pub(crate) fn finish<T: Serialize>(&self, mut reserved: File, record: &T) -> io::Result<()> {
        let bytes = serde_json::to_vec(record)?;
        reserved.write_all(&bytes)?;
        reserved.set_len(bytes.len() as u64)?;
        reserved.sync_all()?;
        fs::rename(self.file("exit.reserved"), self.file("exit"))?;
        File::open(&self.0)?.sync_all()
    }

    /// The segments of a stream with the offset of each, in order.
    pub fn segments(&self, stream: OutputStream) -> io::Result<Vec<(u64, PathBuf)>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            let name = entry.file_name();
            let offset =
                name.to_str().and_then(|it| it.strip_prefix(stream.name())?.strip_prefix('.')?.parse().ok());
            if let Some(offset) = offset {
                all.push((offset, entry.path()));
            }
        }
        all.sort();
        Ok(all)
    }

    /// Reads a stream from an offset, at most `most` bytes. Empty at its present end.
    pub fn read_stream(&self, stream: OutputStream, from: u64, most: usize) -> io::Result<Vec<u8>> {
        use std::io::{Seek as _, SeekFrom};
        let mut read = Vec::new();
        for (offset, path) in self.segments(stream)?.into_iter().rev() {
            if offset > from {
                continue;
            }
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(from - offset))?;
            file.take(most as u64).read_to_end(&mut read)?;
            if read.is_empty() {
                // This segment ends at `from`: a later one may have begun since the folder was listed.
                return Ok(read);
            }
            break;
        }
        Ok(read)
    }
}
