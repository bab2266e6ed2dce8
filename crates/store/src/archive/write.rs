//! Writes an archive file so that it is either complete or absent.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::file::{ArchiveHeader, ArchiveLines, damaged, failed, record_line};
use crate::store::Reader;
use crate::{Chain, Record, StoreError};

/// Records read per query.
const PIECE: usize = 1_000;

/// Writes the journal up to and including `upto` into a file in this folder. When it returns, the file is synced, and
/// its chain was verified by reading it back.
pub fn write(reader: &mut dyn Reader, folder: &Path, upto: Chain) -> Result<ArchiveHeader, StoreError> {
    let before = reader.base()?;
    let about = ArchiveHeader { path: PathBuf::new(), before, after: upto };
    let about = ArchiveHeader { path: folder.join(about.name()), ..about };
    let mut after = before.seq;
    let mut piece = Vec::new().into_iter();
    let records = std::iter::from_fn(|| {
        if after >= upto.seq {
            return None;
        }
        if piece.len() == 0 {
            match reader.records(after, PIECE) {
                Ok(some) => piece = some.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
        let record: Record = piece.next()?;
        after = record.seq;
        Some(Ok(record))
    });
    put(&about, records)?;
    Ok(about)
}

/// Writes a file under a temporary name, verifies it, and then renames it.
pub(crate) fn put(
    about: &ArchiveHeader,
    records: impl Iterator<Item = Result<Record, StoreError>>,
) -> Result<(), StoreError> {
    let path = &about.path;
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|it| failed(folder, "making the folder", &it))?;
    let partial = path.with_extension("partial");
    if let Err(error) = fill(&partial, about, records).and_then(|()| verify_file(&partial)) {
        // An unfinished file is useless.
        let _ = fs::remove_file(&partial);
        return Err(error);
    }
    fs::rename(&partial, path).map_err(|it| failed(path, "naming the archive", &it))?;
    sync_folder(folder)
}

fn fill(
    path: &Path,
    about: &ArchiveHeader,
    records: impl Iterator<Item = Result<Record, StoreError>>,
) -> Result<(), StoreError> {
    let io = |it: std::io::Error| failed(path, "writing the archive", &it);
    let mut out = BufWriter::new(File::create(path).map_err(io)?);
    out.write_all(about.to_line()?.as_bytes()).map_err(io)?;
    for record in records {
        let record = record?;
        let line = record_line(&record).map_err(|what| StoreError::Unreadable { seq: record.seq, what })?;
        out.write_all(line.as_bytes()).map_err(io)?;
    }
    let file = out.into_inner().map_err(|it| io(it.into_error()))?;
    file.sync_all().map_err(io)
}

/// Verifies the chain of a file over the range it declares.
pub(crate) fn verify_file(path: &Path) -> Result<(), StoreError> {
    let mut lines = ArchiveLines::open(path)?;
    let (mut chain, after) = (lines.about.before, lines.about.after);
    lines.try_for_each(|record| chain.follow(&record?))?;
    match chain == after {
        true => Ok(()),
        false => Err(damaged(path, 1, format!("it ends at entry {}, not at {}", chain.seq, after.seq))),
    }
}

/// A rename is durable once the folder is synced.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    let synced = File::open(folder).and_then(|it| it.sync_all());
    synced.map_err(|it| failed(folder, "writing the folder", &it))
}

#[cfg(not(unix))]
pub(crate) fn sync_folder(_: &Path) -> Result<(), StoreError> {
    Ok(())
}
