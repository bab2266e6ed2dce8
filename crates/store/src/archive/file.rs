//! One archive file.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trackside_lifecycle::hex;

use crate::record::RecordLine;
use crate::{Chain, Record, StoreError};

/// The form of the files that this release writes.
const FORMAT: u32 = 1;

/// Below this many bytes, read line by line instead of bisecting.
const NEAR: u64 = 64 * 1024;

/// An archive file and the range of the chain it contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveHeader {
    pub path: PathBuf,
    /// The entry before its first one.
    pub before: Chain,
    /// Its last entry.
    pub after: Chain,
}

#[derive(Serialize, Deserialize)]
struct FirstLine {
    archive: Stretch,
}

#[derive(Serialize, Deserialize)]
struct Stretch {
    format: u32,
    first: u64,
    last: u64,
    /// Hash of the entry before the first one.
    before: String,
    /// Hash of the last one.
    after: String,
}

impl ArchiveHeader {
    pub fn first(&self) -> u64 {
        self.before.seq.saturating_add(1)
    }

    pub fn last(&self) -> u64 {
        self.after.seq
    }

    /// The file name for this range.
    pub(crate) fn name(&self) -> String {
        format!("journal-{:012}-{:012}.jsonl", self.first(), self.last())
    }

    pub(super) fn to_line(&self) -> Result<String, StoreError> {
        let archive = Stretch {
            format: FORMAT,
            first: self.first(),
            last: self.last(),
            before: hex::encode(self.before.hash),
            after: hex::encode(self.after.hash),
        };
        line(&FirstLine { archive }).map_err(|why| damaged(&self.path, 1, why))
    }

    fn read(path: &Path, text: &str) -> Result<Self, StoreError> {
        let wrong = |why: String| damaged(path, 1, why);
        let FirstLine { archive } = serde_json::from_str(text).map_err(|it| wrong(it.to_string()))?;
        if archive.format > FORMAT {
            return Err(StoreError::TooNew { path: path.to_owned(), found: archive.format, known: FORMAT });
        }
        let hash = |text: &str| hex::decode(text).ok_or_else(|| wrong(format!("`{text}` is not a hash")));
        let Some(before) = archive.first.checked_sub(1).filter(|_| archive.first <= archive.last) else {
            return Err(wrong(format!("{} to {} is not a range", archive.first, archive.last)));
        };
        Ok(Self {
            path: path.to_owned(),
            before: Chain { seq: before, hash: hash(&archive.before)? },
            after: Chain { seq: archive.last, hash: hash(&archive.after)? },
        })
    }
}

/// The records of a file, one after the other.
#[derive(Debug)]
pub struct ArchiveLines {
    pub about: ArchiveHeader,
    from: BufReader<File>,
    /// The number of the last line that was read.
    number: u64,
    /// The offset of the first record.
    begin: u64,
}

impl ArchiveLines {
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(|it| failed(path, "reading the archive", &it))?;
        let mut from = BufReader::new(file);
        let mut text = String::new();
        let begin = from.read_line(&mut text).map_err(|it| failed(path, "reading the archive", &it))?;
        Ok(Self { about: ArchiveHeader::read(path, &text)?, from, number: 1, begin: begin as u64 })
    }

    /// Seeks to the record with this number by bisection, so that little of a long file is read.
    pub(super) fn go_to(&mut self, seq: u64) -> Result<(), StoreError> {
        let before = seq.saturating_sub(self.about.first());
        self.halve(seq).map_err(|it| failed(&self.about.path, "reading the archive", &it))?;
        self.number = before.saturating_add(1);
        Ok(())
    }

    fn halve(&mut self, seq: u64) -> std::io::Result<()> {
        // The record at `low` is at or before the wanted one; every record from `high` on is after it.
        let (mut low, mut low_seq) = (self.begin, self.about.first());
        let mut high = self.from.get_ref().metadata()?.len();
        while high.saturating_sub(low) > NEAR {
            let middle = low + (high - low) / 2;
            // Start one byte earlier, so that a line that begins at `middle` counts.
            self.from.seek(SeekFrom::Start(middle - 1))?;
            let at = middle - 1 + self.from.skip_until(b'\n')? as u64;
            match self.number_here()? {
                Some(found) if at < high && found <= seq => (low, low_seq) = (at, found),
                Some(_) => high = middle,
                None if at >= high => high = middle,
                // An unknown line format: read from the start, line by line.
                None => {
                    (low, low_seq) = (self.begin, self.about.first());
                    break;
                }
            }
        }
        self.from.seek(SeekFrom::Start(low))?;
        for _ in low_seq..seq {
            self.from.skip_until(b'\n')?;
        }
        Ok(())
    }

    /// The number of the record at the current position.
    fn number_here(&mut self) -> std::io::Result<Option<u64>> {
        let mut start = Vec::new();
        self.from.by_ref().take(32).read_until(b',', &mut start)?;
        let text = std::str::from_utf8(&start).unwrap_or_default();
        Ok(text.strip_prefix("{\"seq\":").and_then(|it| it.strip_suffix(',')).and_then(|it| it.parse().ok()))
    }

    fn record(&mut self) -> Result<Option<Record>, StoreError> {
        let mut text = String::new();
        let read = self.from.read_line(&mut text);
        if read.map_err(|it| failed(&self.about.path, "reading the archive", &it))? == 0 {
            return Ok(None);
        }
        self.number += 1;
        read_record(&text).map(Some).map_err(|why| damaged(&self.about.path, self.number, why))
    }
}

impl Iterator for ArchiveLines {
    type Item = Result<Record, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.record().transpose()
    }
}

pub(super) fn record_line(record: &Record) -> Result<String, String> {
    line(&RecordLine::from(record))
}

pub(super) fn read_record(text: &str) -> Result<Record, String> {
    serde_json::from_str::<RecordLine>(text).map_err(|it| it.to_string())?.try_into()
}

pub(super) fn line(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(value).map(|it| it + "\n").map_err(|it| it.to_string())
}

pub(super) fn damaged(path: &Path, line: u64, why: impl std::fmt::Display) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), what: format!("line {line}: {why}") }
}

pub(super) fn failed(path: &Path, doing: &str, why: &std::io::Error) -> StoreError {
    use std::io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match why.kind() {
        StorageFull | QuotaExceeded => StoreError::Full { path: path.to_owned() },
        ReadOnlyFilesystem => StoreError::ReadOnly { path: path.to_owned(), why: why.to_string() },
        _ => StoreError::io(format!("{doing} {}", path.display()), why),
    }
}
