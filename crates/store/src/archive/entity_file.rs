//! The archive file of one entity: its entries as JSON lines. The journal retains their headers and hashes, and the
//! offset of each payload in this file.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::hex;
use trackside_lifecycle::name::Name;

use super::file::{failed, line, read_record, record_line};
use super::write::sync_folder;
use crate::record::{Hash, digest};
use crate::{Record, StoreError};

/// The form of the files that this release writes.
const FORMAT: u32 = 1;
/// The folder of these files inside the archive folder.
const FOLDER: &str = "entities";
/// Hexadecimal digits of the key's hash in a file name. Names that differ only in case need it on some systems.
const DIGITS: usize = 12;

/// The archive file of an entity. It need not exist.
#[derive(Clone, Debug)]
pub struct EntityFile {
    key: EntityKey,
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct FirstLine {
    entity: EntityHeading,
}

#[derive(Serialize, Deserialize)]
struct EntityHeading {
    format: u32,
    lifecycle: Name,
    id: Name,
}

impl EntityFile {
    /// The file of an entity in this archive folder.
    pub fn of(archive: &Path, key: &EntityKey) -> Self {
        Self { key: key.clone(), path: archive.join(Self::name(key)) }
    }

    /// The path of the file inside the archive folder.
    pub fn name(key: &EntityKey) -> PathBuf {
        let hash = hex::encode(Sha256::digest(key.to_string().as_bytes()));
        let (shard, digits) = (hash.get(..2).unwrap_or_default(), hash.get(..DIGITS).unwrap_or_default());
        let readable = format!("{}-{}", key.lifecycle, key.id).replace(':', "-");
        [FOLDER, shard, &format!("{readable}-{digits}.jsonl")].iter().collect()
    }

    /// All of these files in an archive folder, in the order of their paths.
    pub fn all(archive: &Path) -> Result<Vec<PathBuf>, StoreError> {
        let mut files = Vec::new();
        for shard in entries(&archive.join(FOLDER))? {
            if shard.is_dir() {
                let found = entries(&shard)?.into_iter();
                files.extend(found.filter(|it| it.extension().is_some_and(|it| it == "jsonl")));
            }
        }
        files.sort();
        Ok(files)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn exists(&self) -> bool {
        self.path.is_file()
    }

    /// The payload of a record whose line starts at this offset. None if it was dropped since.
    pub fn payload(&self, at: u64, record: &Record) -> Result<Option<String>, StoreError> {
        let mut from = BufReader::new(self.open(record.seq)?);
        let mut text = String::new();
        let read = from.seek(SeekFrom::Start(at)).and_then(|_| from.read_line(&mut text));
        read.map_err(|it| self.unusable(record.seq, format!("cannot be read: {it}")))?;
        let found = read_record(&text).ok().filter(|it| it.seq == record.seq && it.hash == record.hash);
        let Some(found) = found else {
            return Err(self.unusable(record.seq, "is damaged: the entry is not at its position".to_owned()));
        };
        match has_its_payload(&found) && found.digest == record.digest {
            true => Ok(found.payload),
            false => {
                let what = "is damaged: the payload does not match its digest".to_owned();
                Err(self.unusable(record.seq, what))
            }
        }
    }

    /// Writes these records after those up to `upto`, which the file has already. When it returns, the file is synced
    /// and was verified by reading it back. Returns the number and the offset of each record with a payload.
    pub(super) fn append(
        &self,
        upto: u64,
        records: &mut dyn Iterator<Item = Result<Record, StoreError>>,
    ) -> Result<Vec<(u64, u64)>, StoreError> {
        let mut offsets = Vec::new();
        self.replace(&mut |out| {
            out.write(&self.heading()?)?;
            if upto > 0 {
                self.copy_lines(upto, out)?;
            }
            offsets.clear();
            for record in &mut *records {
                let record = record?;
                if !has_its_payload(&record) {
                    let what = "was changed: its payload does not match its digest".to_owned();
                    return Err(StoreError::Chain { seq: record.seq, what });
                }
                if record.payload.is_some() {
                    offsets.push((record.seq, out.length));
                }
                let text =
                    record_line(&record).map_err(|what| StoreError::Unreadable { seq: record.seq, what })?;
                out.write(&text)?;
            }
            Ok(())
        })?;
        Ok(offsets)
    }

    /// Drops the payloads of these records from the file, bytes included, and returns how many there were. The lines
    /// keep their positions. An absent file has none.
    pub(super) fn drop_payloads(&self, is_unwanted: &dyn Fn(u64) -> bool) -> Result<u64, StoreError> {
        // An unfinished file contains payloads, too.
        remove(&self.partial())?;
        if !self.exists() {
            return Ok(0);
        }
        let mut dropped = 0;
        self.lines(u64::MAX, &mut |_, record| {
            dropped += u64::from(is_unwanted(record.seq) && record.payload.is_some());
            Ok(())
        })?;
        if dropped == 0 {
            return Ok(0);
        }
        self.replace(&mut |out| {
            out.write(&self.heading()?)?;
            self.lines(u64::MAX, &mut |text, mut record| {
                if !is_unwanted(record.seq) || record.payload.take().is_none() {
                    return out.write(text);
                }
                let short =
                    record_line(&record).map_err(|what| StoreError::Unreadable { seq: record.seq, what })?;
                let short = short.trim_end();
                let blank = text.trim_end_matches('\n').len().saturating_sub(short.len());
                out.write(&format!("{short}{}\n", " ".repeat(blank)))
            })
        })?;
        Ok(dropped)
    }

    /// Copies a file of another archive to its place in this one, and verifies the copy.
    pub(super) fn copy(from: &Path, archive: &Path) -> Result<(), StoreError> {
        let wrong = |what: &str| StoreError::Damaged { path: from.to_owned(), what: what.to_owned() };
        let mut first = String::new();
        let file = File::open(from).map_err(|it| failed(from, "reading the archive", &it))?;
        BufReader::new(file).read_line(&mut first).map_err(|it| failed(from, "reading the archive", &it))?;
        let source = Self { key: heading_of(&first).map_err(|it| wrong(&it))?, path: from.to_owned() };
        Self::of(archive, &source.key).replace(&mut |out| {
            out.write(&source.heading()?)?;
            source.copy_lines(u64::MAX, out)
        })
    }

    fn heading(&self) -> Result<String, StoreError> {
        let EntityKey { lifecycle, id } = self.key.clone();
        let entity = EntityHeading { format: FORMAT, lifecycle, id };
        line(&FirstLine { entity }).map_err(|what| StoreError::io("writing the archive", what))
    }

    /// Copies the lines up to an entry, after checking each payload.
    fn copy_lines(&self, upto: u64, out: &mut Output) -> Result<(), StoreError> {
        self.lines(upto, &mut |text, record| match has_its_payload(&record) {
            true => out.write(text),
            false => {
                let what = "is damaged: the payload does not match its digest".to_owned();
                Err(self.unusable(record.seq, what))
            }
        })
    }

    /// Passes each line up to an entry to the callback, with its record.
    fn lines(
        &self,
        upto: u64,
        visit: &mut dyn FnMut(&str, Record) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut from = BufReader::new(self.open(upto)?);
        let mut text = String::new();
        let mut number = 0_u64;
        loop {
            text.clear();
            let read = from.read_line(&mut text);
            if read.map_err(|it| self.unusable(upto, format!("cannot be read: {it}")))? == 0 {
                break;
            }
            number += 1;
            let wrong = |why: String| self.unusable(upto, format!("is damaged: line {number}: {why}"));
            if number == 1 {
                if heading_of(&text).map_err(&wrong)? != self.key {
                    return Err(wrong(format!("it is not the file of {}", self.key)));
                }
                continue;
            }
            let record = read_record(&text).map_err(wrong)?;
            if record.seq > upto {
                break;
            }
            visit(&text, record)?;
        }
        Ok(())
    }

    /// Writes the file under a temporary name, verifies it, and then renames it.
    fn replace(&self, fill: &mut dyn FnMut(&mut Output) -> Result<(), StoreError>) -> Result<(), StoreError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        make_durably(folder)?;
        let partial = self.partial();
        let written = Output::create(&partial).and_then(|mut out| {
            fill(&mut out)?;
            let (written, read) = (out.finish()?, hash_of(&partial)?);
            match written == read {
                true => Ok(()),
                false => {
                    let what = "its content is not what was written to it".to_owned();
                    Err(StoreError::Damaged { path: partial.clone(), what })
                }
            }
        });
        if let Err(error) = written {
            // An unfinished file is useless.
            let _ = fs::remove_file(&partial);
            return Err(error);
        }
        fs::rename(&partial, &self.path).map_err(|it| failed(&self.path, "naming the archive", &it))?;
        sync_folder(folder)
    }

    fn partial(&self) -> PathBuf {
        self.path.with_extension("partial")
    }

    fn open(&self, seq: u64) -> Result<File, StoreError> {
        File::open(&self.path).map_err(|it| match it.kind() {
            ErrorKind::NotFound => self.unusable(seq, "is missing".to_owned()),
            _ => self.unusable(seq, format!("cannot be read: {it}")),
        })
    }

    fn unusable(&self, seq: u64, what: String) -> StoreError {
        StoreError::ArchiveFile { path: self.path.clone(), entity: self.key.to_string(), seq, what }
    }
}

/// The entity of a file, from its first line.
fn heading_of(text: &str) -> Result<EntityKey, String> {
    let FirstLine { entity } = serde_json::from_str(text).map_err(|it| it.to_string())?;
    match entity.format <= FORMAT {
        true => Ok(EntityKey { lifecycle: entity.lifecycle, id: entity.id }),
        false => Err(format!("it was written by a newer release (format {})", entity.format)),
    }
}

/// Whether a record has its original payload, or none.
fn has_its_payload(record: &Record) -> bool {
    match (&record.payload, &record.digest) {
        (Some(payload), Some(kept)) => digest(payload) == *kept,
        (Some(_), None) => false,
        (None, _) => true,
    }
}

/// A file that is being written, with its length and hash.
struct Output {
    path: PathBuf,
    out: BufWriter<File>,
    length: u64,
    hash: Sha256,
}

impl Output {
    fn create(path: &Path) -> Result<Self, StoreError> {
        let file = File::create(path).map_err(|it| failed(path, "writing the archive", &it))?;
        Ok(Self { path: path.to_owned(), out: BufWriter::new(file), length: 0, hash: Sha256::new() })
    }

    fn write(&mut self, text: &str) -> Result<(), StoreError> {
        self.out.write_all(text.as_bytes()).map_err(|it| failed(&self.path, "writing the archive", &it))?;
        self.hash.update(text.as_bytes());
        self.length += text.len() as u64;
        Ok(())
    }

    /// Syncs the file and returns the hash of its content.
    fn finish(self) -> Result<Hash, StoreError> {
        let io = |it: std::io::Error| failed(&self.path, "writing the archive", &it);
        let file = self.out.into_inner().map_err(|it| io(it.into_error()))?;
        file.sync_all().map_err(io)?;
        Ok(self.hash.finalize().into())
    }
}

fn hash_of(path: &Path) -> Result<Hash, StoreError> {
    let io = |it: std::io::Error| failed(path, "reading the archive", &it);
    let mut from = File::open(path).map_err(io)?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 64 * 1024]);
    loop {
        let read = from.read(&mut piece).map_err(io)?;
        if read == 0 {
            return Ok(hash.finalize().into());
        }
        hash.update(piece.get(..read).unwrap_or_default());
    }
}

/// Makes a folder and its parents so that they survive a power cut.
pub(super) fn make_durably(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(|it| failed(folder, "making the folder", &it))?;
    // At most: the shard, the folder of these files, the archive and the data folder.
    folder.ancestors().skip(1).take(3).filter(|it| it.is_dir()).try_for_each(sync_folder)
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(it) if it.kind() != ErrorKind::NotFound => Err(failed(path, "removing the unfinished file", &it)),
        _ => Ok(()),
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let io = |it: std::io::Error| failed(folder, "reading the folder", &it);
    match fs::read_dir(folder) {
        Ok(all) => all.map(|it| it.map(|it| it.path()).map_err(io)).collect(),
        Err(it) if it.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(it) => Err(io(it)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_an_entity_of_a_later_release_is_refused() {
        let line =
            |format: u32| format!(r#"{{"entity":{{"format":{format},"lifecycle":"t.thing","id":"A"}}}}"#);
        assert_eq!(heading_of(&line(FORMAT)).unwrap().to_string(), "t.thing/A");
        assert_eq!(heading_of(&line(99)).unwrap_err(), "it was written by a newer release (format 99)");
    }
}
