//! The space of a data folder: its size, and the free space on its disk.

use std::path::Path;

/// Below this many free bytes a folder is opened as on a full disk.
const FULL: u64 = 1024 * 1024;

/// The size of a disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes that this user can still write.
    pub free: u64,
    pub total: u64,
}

impl DiskSpace {
    /// The disk of a folder. A folder that does not exist yet has the disk of the nearest one above it.
    #[cfg(unix)]
    pub fn of(folder: &Path) -> std::io::Result<Self> {
        let folder = std::path::absolute(folder)?;
        let folder = folder.ancestors().find(|it| it.exists()).unwrap_or(Path::new("/"));
        let disk = rustix::fs::statvfs(folder)?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        Ok(Self { free: bytes(disk.f_bavail), total: bytes(disk.f_blocks) })
    }

    /// This system does not say.
    #[cfg(not(unix))]
    pub fn of(_: &Path) -> std::io::Result<Self> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    /// Whether there is no room even for the small files that SQLite makes beside a database.
    pub fn is_full(&self) -> bool {
        self.free < FULL
    }
}

/// The bytes of all files in a folder. Files that go away meanwhile do not count.
pub fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let bytes = entries.flatten().map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => folder_bytes(&entry.path()),
        Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |it| it.len()),
        _ => 0,
    });
    bytes.sum()
}

/// A number of bytes, for people.
pub fn bytes_text(count: u64) -> String {
    match count {
        0..1_024 => format!("{count} B"),
        1_024..1_048_576 => format!("{:.1} KiB", count as f64 / 1_024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", count as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", count as f64 / 1_073_741_824.0),
    }
}
