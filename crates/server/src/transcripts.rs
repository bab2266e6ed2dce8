//! Transcripts of runs: numbered JSON lines in files of the data folder, `transcripts/RUN/FIRST.jsonl`.
//!
//! Each file is a segment that is named after the number of its first line. Lines are on disk before the answer. A line
//! that a crash cut is removed when the transcript is opened again.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use trackside_protocol::RunLine;
use trackside_redact::KeyRedactor;

/// Bytes after which a new segment begins.
const SEGMENT: u64 = 8 << 20;
/// Most bytes of a line.
pub(crate) const LONGEST_LINE: usize = 256 << 10;
/// Most transcripts that stay open.
const MOST_OPEN: usize = 512;
/// Most bytes that one search reads. The next page continues.
const SEARCHED: u64 = 32 << 20;

/// Most bytes of transcripts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TranscriptLimits {
    pub run: u64,
    pub all: u64,
}

/// Why lines cannot be appended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppendError {
    #[error("Line {sent} does not follow: the next line is {next}")]
    Gap { sent: u64, next: u64 },
    #[error("Line {number} has {bytes} bytes, and {LONGEST_LINE} are allowed")]
    LongLine { number: u64, bytes: usize },
    #[error(
        "The transcript of this run has reached its limit of {0} bytes (the setting `transcriptBytes` of fleet)"
    )]
    RunFull(u64),
    #[error(
        "The transcripts have reached their limit of {0} bytes together (the setting `transcriptsBytes` of fleet)"
    )]
    AllFull(u64),
    #[error("The transcript cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// A page of a transcript.
#[derive(Debug, Default)]
pub(crate) struct LinesFound {
    pub lines: Vec<RunLine>,
    /// The line after which the next page begins; none if this is the last.
    pub next: Option<u64>,
    /// The last line that was looked at.
    pub reached: u64,
}

/// The transcripts of a project.
#[derive(Debug)]
pub(crate) struct Transcripts {
    folder: PathBuf,
    keys: KeyRedactor,
    open: Mutex<BTreeMap<String, Arc<Mutex<RunTranscript>>>>,
    bytes: AtomicU64,
    /// Changes with every appended line.
    appended: watch::Sender<u64>,
}

impl Transcripts {
    /// Those in a data folder. The ids of runs are legal file names, because ids have no slash and a folder of runs never
    /// begins with a dot.
    pub fn open(data: &Path) -> io::Result<Self> {
        let folder = data.join("transcripts");
        let mut bytes = 0;
        for run in names_in(&folder)? {
            for (_, path) in segments(&folder.join(run))? {
                bytes += fs::metadata(path)?.len();
            }
        }
        let (open, appended) = (Mutex::default(), watch::Sender::new(0));
        Ok(Self { folder, keys: KeyRedactor::default(), open, bytes: AtomicU64::new(bytes), appended })
    }

    /// Bytes of all transcripts.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Changes when lines are appended to any transcript.
    pub fn appended(&self) -> watch::Receiver<u64> {
        self.appended.subscribe()
    }

    /// The runs that have a transcript.
    pub fn runs(&self) -> io::Result<Vec<String>> {
        names_in(&self.folder)
    }

    /// Appends lines, without keys. Lines that are there already are ignored. Returns the number of the next line.
    pub fn append(&self, run: &str, lines: &[RunLine], limits: TranscriptLimits) -> Result<u64, AppendError> {
        self.with(run, |own| self.append_to(own, run, lines, limits))?
    }

    fn append_to(
        &self,
        own: &mut RunTranscript,
        run: &str,
        lines: &[RunLine],
        limits: TranscriptLimits,
    ) -> Result<u64, AppendError> {
        let mut texts = Vec::new();
        for line in lines.iter().filter(|it| it.number >= own.next) {
            let next = own.next + texts.len() as u64;
            if line.number != next {
                return Err(AppendError::Gap { sent: line.number, next: own.next });
            }
            let mut text = self.keys.redact(serde_json::to_vec(line).map_err(io::Error::from)?);
            if text.len() > LONGEST_LINE {
                return Err(AppendError::LongLine { number: line.number, bytes: text.len() });
            }
            text.push(b'\n');
            texts.push(text);
        }
        let more: u64 = texts.iter().map(|it| it.len() as u64).sum();
        if more == 0 {
            return Ok(own.next);
        }
        if own.bytes + more > limits.run {
            return Err(AppendError::RunFull(limits.run));
        }
        if self.bytes() + more > limits.all {
            return Err(AppendError::AllFull(limits.all));
        }
        let before = own.bytes;
        let written = own.write(&self.folder.join(run), &texts);
        self.bytes.fetch_add(own.bytes - before, Ordering::AcqRel);
        if written.is_err() {
            // The file may have a part of a line: it is read again before the next one.
            own.is_stale = true;
        }
        written?;
        self.appended.send_modify(|it| *it += 1);
        Ok(own.next)
    }

    /// The number of the last line; 0 if there is none.
    pub fn last(&self, run: &str) -> io::Result<u64> {
        if !self.folder.join(run).is_dir() {
            return Ok(0);
        }
        self.with(run, |own| own.next - 1)
    }

    /// At most `most` lines after a number; with `search`, those that contain it in any letter case.
    pub fn read(&self, run: &str, after: u64, most: usize, search: Option<&str>) -> io::Result<LinesFound> {
        let mut found = LinesFound::default();
        let last = self.last(run)?;
        let search = search.map(str::to_lowercase);
        let all = segments(&self.folder.join(run))?;
        let from = all.iter().rposition(|(first, _)| *first <= after.saturating_add(1)).unwrap_or(0);
        let mut read = 0;
        found.reached = after;
        for (_, path) in all.into_iter().skip(from) {
            for text in BufReader::new(File::open(path)?).lines() {
                // The end of the file may be a line that is being written.
                let text = text?;
                read += text.len() as u64;
                let Ok(line) = serde_json::from_str::<RunLine>(&text) else { continue };
                if line.number <= after || line.number > last {
                    continue;
                }
                if found.lines.len() >= most || read > SEARCHED {
                    found.next = Some(found.reached);
                    return Ok(found);
                }
                found.reached = line.number;
                if search.as_ref().is_none_or(|it| line.content.values().any(|value| contains(value, it))) {
                    found.lines.push(line);
                }
            }
        }
        Ok(found)
    }

    /// Deletes the transcript of a run.
    pub fn remove(&self, run: &str) -> io::Result<()> {
        self.with(run, |own| {
            fs::remove_dir_all(self.folder.join(run))?;
            own.is_stale = true;
            self.bytes.fetch_sub(own.bytes, Ordering::AcqRel);
            Ok(())
        })?
    }

    /// Works on a transcript while no other thread does.
    fn with<T>(&self, run: &str, mut work: impl FnMut(&mut RunTranscript) -> T) -> io::Result<T> {
        if matches!(run, "" | "." | "..") || run.contains(['/', '\\']) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the id of a run"));
        }
        loop {
            let transcript = self.transcript(run)?;
            let mut own = transcript.lock().unwrap_or_else(PoisonError::into_inner);
            // One that another thread has given up while this one waited is opened again.
            let is_current = !own.is_stale;
            let done = is_current.then(|| work(&mut own));
            if own.is_stale {
                self.opened().retain(|_, it| !Arc::ptr_eq(it, &transcript));
            }
            if let Some(done) = done {
                return Ok(done);
            }
        }
    }

    fn opened(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Mutex<RunTranscript>>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn transcript(&self, run: &str) -> io::Result<Arc<Mutex<RunTranscript>>> {
        let mut open = self.opened();
        if let Some(found) = open.get(run) {
            return Ok(found.clone());
        }
        if open.len() >= MOST_OPEN {
            open.retain(|_, it| Arc::strong_count(it) > 1);
        }
        let (recovered, cut) = RunTranscript::recover(&self.folder.join(run))?;
        self.bytes.fetch_sub(cut, Ordering::AcqRel);
        let transcript = Arc::new(Mutex::new(recovered));
        open.insert(run.to_owned(), transcript.clone());
        Ok(transcript)
    }
}

/// The end of one transcript.
#[derive(Debug)]
struct RunTranscript {
    /// The number of the next line.
    next: u64,
    /// The last segment, and its length.
    file: Option<(File, u64)>,
    /// Bytes of all segments.
    bytes: u64,
    /// Whether the files differ from this: it has to be opened again.
    is_stale: bool,
}

impl RunTranscript {
    /// Opens a transcript and removes a line that a crash cut. Returns also the number of removed bytes.
    fn recover(folder: &Path) -> io::Result<(Self, u64)> {
        let mut own = Self { next: 1, file: None, bytes: 0, is_stale: false };
        let all = segments(folder)?;
        for (_, path) in &all {
            own.bytes += fs::metadata(path)?.len();
        }
        let Some((first, path)) = all.last() else { return Ok((own, 0)) };
        own.next = *first;
        let (mut whole, mut line) = (0, Vec::new());
        let mut reader = BufReader::new(File::open(path)?);
        while reader.read_until(b'\n', &mut line)? > 0 {
            if !line.ends_with(b"\n") || serde_json::from_slice::<RunLine>(&line).is_err() {
                break;
            }
            whole += line.len() as u64;
            own.next += 1;
            line.clear();
        }
        let file = OpenOptions::new().append(true).open(path)?;
        let cut = file.metadata()?.len().saturating_sub(whole);
        if cut > 0 {
            file.set_len(whole)?;
            file.sync_data()?;
        }
        own.bytes -= cut;
        own.file = Some((file, whole));
        Ok((own, cut))
    }

    /// Writes lines and makes them durable. The number of the next line counts only durable ones.
    fn write(&mut self, folder: &Path, lines: &[Vec<u8>]) -> io::Result<()> {
        let mut written = 0;
        for text in lines {
            let length = text.len() as u64;
            if self.file.as_ref().is_none_or(|(_, it)| it + length > SEGMENT) {
                self.sync()?;
                self.next += std::mem::take(&mut written);
                self.file = Some((new_segment(folder, self.next)?, 0));
            }
            if let Some((file, size)) = &mut self.file {
                file.write_all(text)?;
                *size += length;
                self.bytes += length;
                written += 1;
            }
        }
        self.sync()?;
        self.next += written;
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), |(file, _)| file.sync_data())
    }
}

fn new_segment(folder: &Path, first: u64) -> io::Result<File> {
    let parent = folder.parent().unwrap_or(folder);
    for folder in [parent, folder] {
        if !folder.is_dir() {
            fs::create_dir(folder)?;
            restrict(folder, 0o700)?;
        }
    }
    let path = folder.join(format!("{first:06}.jsonl"));
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    // The names are durable too.
    for folder in [folder, parent].into_iter().chain(parent.parent()) {
        sync_folder(folder)?;
    }
    Ok(file)
}

#[cfg(unix)]
fn restrict(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn restrict(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether a value contains a text in lower case.
fn contains(value: &serde_json::Value, search: &str) -> bool {
    match value {
        serde_json::Value::String(text) => text.to_lowercase().contains(search),
        serde_json::Value::Array(items) => items.iter().any(|it| contains(it, search)),
        serde_json::Value::Object(members) => members.values().any(|it| contains(it, search)),
        _ => false,
    }
}

/// Names of the folders in a folder; none if it does not exist.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in entries_of(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.extend(entry.file_name().into_string());
        }
    }
    names.sort();
    Ok(names)
}

/// The segments of a transcript with the numbers of their first lines, in order.
fn segments(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut all = Vec::new();
    for entry in entries_of(folder)? {
        let path = entry?.path();
        let first = path.file_name().and_then(|it| it.to_str()?.strip_suffix(".jsonl")?.parse().ok());
        all.extend(first.map(|it| (it, path)));
    }
    all.sort();
    Ok(all)
}

/// The entries of a folder; none if it does not exist.
fn entries_of(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<fs::DirEntry>>> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(Some(entries).into_iter().flatten()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None.into_iter().flatten()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUCH: TranscriptLimits = TranscriptLimits { run: u64::MAX, all: u64::MAX };

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("trackside-lines-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn line(number: u64, text: &str) -> RunLine {
        let content = [("kind", "message"), ("text", text)];
        let content = content.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect();
        RunLine { number, at: 5, content }
    }

    #[test]
    fn a_cut_line_is_removed_and_numbers_continue() {
        let data = folder("cut");
        let transcripts = Transcripts::open(&data).unwrap();
        assert_eq!(transcripts.append("R1", &[line(1, "one"), line(2, "two")], MUCH).unwrap(), 3);
        let size = transcripts.bytes();
        let path = data.join("transcripts/R1/000001.jsonl");
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"number\":3,\"at\":5,\"ki").unwrap();
        let transcripts = Transcripts::open(&data).unwrap();
        assert_eq!(transcripts.read("R1", 0, 10, None).unwrap().lines.len(), 2);
        assert_eq!((transcripts.last("R1").unwrap(), transcripts.bytes()), (2, size));
        assert_eq!(transcripts.append("R1", &[line(2, "again"), line(3, "three")], MUCH).unwrap(), 4);
        let texts: Vec<_> = transcripts.read("R1", 1, 10, None).unwrap().lines;
        assert_eq!(texts, [line(2, "two"), line(3, "three")]);
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions()) & 0o777,
            0o600
        );
        fs::remove_dir_all(data).unwrap();
    }

    #[test]
    fn segments_end_at_their_size_and_are_read_on_demand() {
        let data = folder("segments");
        let transcripts = Transcripts::open(&data).unwrap();
        let text = "x".repeat(200 << 10);
        for number in 1..=100 {
            transcripts.append("R1", &[line(number, &format!("{text}{number}"))], MUCH).unwrap();
        }
        let all = segments(&data.join("transcripts/R1")).unwrap();
        assert!(all.len() >= 3, "{all:?}");
        assert!(all.iter().all(|(_, path)| fs::metadata(path).unwrap().len() <= SEGMENT));
        let page = transcripts.read("R1", 70, 5, None).unwrap();
        assert_eq!(page.lines.iter().map(|it| it.number).collect::<Vec<_>>(), [71, 72, 73, 74, 75]);
        assert_eq!(page.next, Some(75));
        let found = transcripts.read("R1", 0, 5, Some("X99")).unwrap();
        assert_eq!(found.lines.iter().map(|it| it.number).collect::<Vec<_>>(), [99]);
        assert_eq!(found.next, None);
        transcripts.remove("R1").unwrap();
        assert_eq!((transcripts.bytes(), transcripts.runs().unwrap().len()), (0, 0));
        fs::remove_dir_all(data).unwrap();
    }

    #[test]
    fn a_gap_a_long_line_and_a_full_transcript_are_refused_as_a_whole() {
        let data = folder("limits");
        let transcripts = Transcripts::open(&data).unwrap();
        let gap = transcripts.append("R1", &[line(1, "a"), line(3, "c")], MUCH).unwrap_err();
        assert!(matches!(gap, AppendError::Gap { sent: 3, next: 1 }), "{gap}");
        let long = transcripts.append("R1", &[line(1, &"x".repeat(LONGEST_LINE))], MUCH).unwrap_err();
        assert!(matches!(long, AppendError::LongLine { number: 1, .. }), "{long}");
        let small = TranscriptLimits { run: 60, all: u64::MAX };
        let full = transcripts.append("R1", &[line(1, "a"), line(2, "b")], small).unwrap_err();
        assert!(matches!(full, AppendError::RunFull(60)), "{full}");
        let all = TranscriptLimits { run: u64::MAX, all: 60 };
        assert_eq!(transcripts.append("R1", &[line(1, "a")], all).unwrap(), 2);
        let full = transcripts.append("R2", &[line(1, "a")], all).unwrap_err();
        assert!(matches!(full, AppendError::AllFull(60)), "{full}");
        assert_eq!(transcripts.last("R1").unwrap(), 1);
        fs::remove_dir_all(data).unwrap();
    }
}
