//! A witness of the journal's end outside SQLite, and a check of the log that SQLite does not make.
//!
//! SQLite takes a log that was lost, and a log with a damaged frame, for one that ends there. The file `journal.end` says
//! which entry was acknowledged last, and whether the journal was closed. It is written after each commit, without a
//! sync: it is never ahead of the journal.

use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use trackside_lifecycle::hex;

use super::connect::connect_ignoring_log;
use super::journal_table::JournalTable;
use crate::record::digest;
use crate::{Chain, StoreError};

/// The last acknowledged entry, as it was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Noted {
    pub end: Chain,
    /// Whether the journal was being written, so that its log must be here.
    pub running: bool,
}

/// The file that notes the end.
#[derive(Debug)]
pub(super) struct Witness {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl Witness {
    pub fn of(journal: &Path) -> Self {
        Self { path: journal.with_extension("end"), file: Mutex::new(None) }
    }

    /// Notes the end. A failure is no reason to refuse a commit that is on disk.
    pub fn note(&self, end: Chain, running: bool) {
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let written = open(&mut file, &self.path).and_then(|file| {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(text(end, running).as_bytes())?;
            if !running {
                file.sync_all()?;
            }
            Ok(())
        });
        if written.is_err() {
            // A note that is older than the journal does no harm.
            *file = None;
        }
    }

    /// The noted end; none if there is none, or if it is not whole.
    pub fn noted(&self) -> Option<Noted> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let (line, sum) = text.trim_end().rsplit_once(' ')?;
        if sum != hex::encode(digest(line)) {
            return None;
        }
        let mut words = line.split(' ');
        let seq = words.next()?.parse().ok()?;
        let hash = hex::decode(words.next()?)?;
        Some(Noted { end: Chain { seq, hash }, running: words.next()? == "running" })
    }

    /// Checks the log of a closed journal before SQLite reads it.
    pub fn check_log(&self, journal: &Path) -> Result<(), StoreError> {
        if !journal.exists() {
            return Ok(());
        }
        let log = log_of(journal);
        let bytes = match std::fs::read(&log) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(StoreError::io(format!("read {}", log.display()), error)),
        };
        let (noted, alone) = (self.noted(), end_without_log(journal));
        // The file may have everything: SQLite removes the log when it is closed.
        let reaches = |end: Chain| alone.as_ref().is_ok_and(|alone| alone.seq >= end.seq);
        let what = match (&bytes, noted) {
            (None, Some(Noted { end, .. })) if reaches(end) => return Ok(()),
            (None, Some(Noted { end, running: true })) => format!(
                "the server was not stopped, and journal.db-wal, which holds the last entries, is missing. \
                 Entry {} was acknowledged",
                end.seq
            ),
            (Some(bytes), _) => match damaged_frame(bytes) {
                Some((bad, last)) => format!(
                    "journal.db-wal is damaged: frame {bad} does not match its checksum, and frames up to {last} \
                     were written after it. SQLite would end the journal before it"
                ),
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        let alone = match alone {
            Ok(end) => format!("Without its log, journal.db goes to entry {}", end.seq),
            Err(error) => format!("Without its log, journal.db cannot be read ({error})"),
        };
        Err(StoreError::Damaged {
            path: journal.to_path_buf(),
            what: format!("{what}. {alone}. Nothing was changed. {}", steps(&self.path)),
        })
    }

    /// Checks that the journal contains the noted entry.
    pub fn check_end(&self, log: &JournalTable<'_>) -> Result<(), StoreError> {
        let Some(Noted { end: noted, .. }) = self.noted() else { return Ok(()) };
        let end = log.end()?;
        let what = if end.seq < noted.seq {
            format!(
                "it ends at {}, but entry {} was acknowledged: the entries after {} are missing",
                end.seq, noted.seq, end.seq
            )
        } else {
            match log.hash_of(noted.seq)? {
                Some(hash) if hash != noted.hash => {
                    format!("entry {} is not the one that was acknowledged", noted.seq)
                }
                _ => return Ok(()),
            }
        };
        Err(StoreError::Damaged {
            path: log.path.to_path_buf(),
            what: format!("{what}. Nothing was changed. {}", steps(&self.path)),
        })
    }
}

/// The steps that recover most.
fn steps(witness: &Path) -> String {
    format!(
        "Copy the folder. Put the right journal.db-wal back beside journal.db, or restore a backup into another \
         folder, and use the one that goes furthest. To continue with what is here, move journal.db-wal and \
         journal.db-shm away if the log is damaged, delete {} and start",
        witness.display()
    )
}

fn log_of(journal: &Path) -> PathBuf {
    let mut log = journal.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log)
}

/// The end of a journal whose log is ignored.
pub(super) fn end_without_log(journal: &Path) -> Result<Chain, StoreError> {
    let connection = connect_ignoring_log(journal)?;
    JournalTable { connection: &connection, path: journal }.end()
}

fn open<'a>(slot: &'a mut Option<File>, path: &Path) -> std::io::Result<&'a mut File> {
    match slot {
        Some(file) => Ok(file),
        none => {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            #[cfg(unix)]
            {
                use std::os::unix::fs::OpenOptionsExt as _;
                options.mode(0o600);
            }
            Ok(none.insert(options.open(path)?))
        }
    }
}

/// Always of the same length, so that it can be overwritten in place.
fn text(end: Chain, running: bool) -> String {
    let state = if running { "running" } else { "stopped" };
    let line = format!("{:020} {} {state}", end.seq, hex::encode(end.hash));
    format!("{line} {}\n", hex::encode(digest(&line)))
}

/// Bytes of the header of a log and of a frame.
const HEADER: usize = 32;
const FRAME: usize = 24;

/// The first frame of a log that does not match its checksum although transactions were committed after it, and the
/// last frame of the log; both from 1. A frame of the last transaction may be torn: it was not acknowledged.
fn damaged_frame(log: &[u8]) -> Option<(usize, usize)> {
    let word = |at: usize| log.get(at..at + 4)?.first_chunk().map(|it| u32::from_be_bytes(*it));
    let big = match word(0)? {
        0x377f_0682 => false,
        0x377f_0683 => true,
        // A log that SQLite does not read at all. It is damaged if it has frames.
        _ => return (log.len() > HEADER + FRAME).then_some((1, 1)),
    };
    let page = usize::try_from(word(8)?).ok()?;
    let salts = (word(16)?, word(20)?);
    let mut sum = checksum(big, (0, 0), log.get(..24)?);
    if sum != (word(24)?, word(28)?) || page < 512 || !page.is_power_of_two() {
        return (log.len() > HEADER + FRAME).then_some((1, 1));
    }
    let size = FRAME + page;
    let frames = (log.len() - HEADER) / size;
    let start = |frame: usize| HEADER + frame * size;
    let has_salts = |frame: usize| {
        let at = start(frame);
        (word(at + 8), word(at + 12)) == (Some(salts.0), Some(salts.1))
    };
    let mut bad = None;
    for frame in 0..frames {
        let at = start(frame);
        if !has_salts(frame) {
            bad = Some(frame);
            break;
        }
        sum = checksum(big, sum, log.get(at..at + 8)?);
        sum = checksum(big, sum, log.get(at + FRAME..at + size)?);
        if sum != (word(at + 16)?, word(at + 20)?) {
            bad = Some(frame);
            break;
        }
    }
    let bad = bad?;
    let after: Vec<usize> = (bad + 1..frames).filter(|it| has_salts(*it)).collect();
    let last = *after.last()?;
    // A commit, and something written after it.
    let committed = std::iter::once(bad)
        .chain(after)
        .any(|frame| frame < last && word(start(frame) + 4).is_some_and(|it| it != 0));
    committed.then_some((bad + 1, last + 1))
}

/// The checksum of SQLite's log.
fn checksum(big: bool, (mut a, mut b): (u32, u32), bytes: &[u8]) -> (u32, u32) {
    let number = |it: &[u8]| {
        let word = it.first_chunk().copied().unwrap_or_default();
        if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    };
    for pair in bytes.chunks_exact(8) {
        let (x, y) = pair.split_at(4);
        a = a.wrapping_add(number(x)).wrapping_add(b);
        b = b.wrapping_add(number(y)).wrapping_add(a);
    }
    (a, b)
}
