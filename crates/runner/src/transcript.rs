//! The transcript of a run: numbered JSON lines in segments on disk, written as they come.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::adapter::TranscriptContent;

/// Bytes after which a new segment begins.
const SEGMENT: u64 = 8 << 20;

/// One line of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptLine {
    /// Numbers begin at 1 and have no gaps.
    pub number: u64,
    /// Milliseconds since 1970.
    pub at: i64,
    #[serde(flatten)]
    pub content: TranscriptEntry,
}

/// What a line says: the agent's own words, or a mark of ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TranscriptEntry {
    Agent(TranscriptContent),
    /// Something that Trackside did: started, stopped, restarted, held.
    Mark {
        mark: String,
    },
}

/// Writes a transcript. One writer per run.
#[derive(Debug)]
pub struct TranscriptWriter {
    folder: PathBuf,
    next: u64,
    file: Option<(File, u64)>,
    segment: u64,
}

impl TranscriptWriter {
    /// Opens a transcript and continues after its last whole line. A line that a crash cut is removed.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut writer = Self { folder: folder.to_owned(), next: 1, file: None, segment: SEGMENT };
        let Some((first, path)) = segments(folder)?.pop() else { return Ok(writer) };
        writer.next = first;
        let mut whole = 0;
        let mut reader = BufReader::new(File::open(&path)?);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            if !line.ends_with(b"\n") || serde_json::from_slice::<TranscriptLine>(&line).is_err() {
                break;
            }
            whole += line.len() as u64;
            writer.next += 1;
            line.clear();
        }
        let file = OpenOptions::new().append(true).open(&path)?;
        file.set_len(whole)?;
        writer.file = Some((file, whole));
        Ok(writer)
    }

    /// Appends a line and returns it with its number.
    pub fn append(&mut self, at: i64, content: TranscriptEntry) -> io::Result<TranscriptLine> {
        let line = TranscriptLine { number: self.next, at, content };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        if self.file.as_ref().is_none_or(|(_, length)| length + bytes.len() as u64 > self.segment) {
            let path = self.folder.join(format!("lines.{}", self.next));
            let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
            self.file = Some((file, 0));
        }
        if let Some((file, length)) = &mut self.file {
            file.write_all(&bytes)?;
            *length += bytes.len() as u64;
        }
        self.next += 1;
        Ok(line)
    }

    /// Makes the lines durable.
    pub fn sync(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), |(file, _)| file.sync_data())
    }

    /// The number of the last line; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.next - 1
    }
}

/// Reads at most `most` lines after a number. Opens only the segments that contain them.
pub fn read_after(folder: &Path, after: u64, most: usize) -> io::Result<Vec<TranscriptLine>> {
    let all = segments(folder)?;
    let from = all.iter().rposition(|(first, _)| *first <= after + 1).unwrap_or(0);
    let mut lines = Vec::new();
    for (_, path) in all.into_iter().skip(from) {
        for line in BufReader::new(File::open(path)?).lines() {
            // The last line may still be being written.
            let Ok(line) = serde_json::from_str::<TranscriptLine>(&line?) else { return Ok(lines) };
            if line.number > after {
                lines.push(line);
            }
            if lines.len() >= most {
                return Ok(lines);
            }
        }
    }
    Ok(lines)
}

fn segments(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let first = path.file_name().and_then(|it| it.to_str()?.strip_prefix("lines.")?.parse().ok());
        if let Some(first) = first {
            all.push((first, path));
        }
    }
    all.sort();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(text: &str) -> TranscriptEntry {
        TranscriptEntry::Mark { mark: text.to_owned() }
    }

    #[test]
    fn lines_are_numbered_over_segments_and_restarts() {
        let folder = std::env::temp_dir().join(format!("trackside-transcript-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let mut writer = TranscriptWriter::open(&folder).unwrap();
        writer.segment = 200;
        for number in 1..=20 {
            assert_eq!(writer.append(5, mark(&format!("line {number}"))).unwrap().number, number);
        }
        assert!(segments(&folder).unwrap().len() > 3);
        // A crash cut the last line.
        let (_, last) = segments(&folder).unwrap().pop().unwrap();
        OpenOptions::new()
            .append(true)
            .open(&last)
            .unwrap()
            .write_all(b"{\"number\":21,\"at\":5,\"ma")
            .unwrap();
        assert_eq!(read_after(&folder, 0, 100).unwrap().len(), 20);
        let mut writer = TranscriptWriter::open(&folder).unwrap();
        assert_eq!(writer.last(), 20);
        writer.append(6, mark("after the restart")).unwrap();
        let lines = read_after(&folder, 18, 2).unwrap();
        assert_eq!(lines.iter().map(|it| it.number).collect::<Vec<_>>(), [19, 20]);
        let lines = read_after(&folder, 20, 10).unwrap();
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].content, mark("after the restart"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_agents_line_is_read_back_as_it_was() {
        let content = TranscriptEntry::Agent(TranscriptContent::Message { text: "hi".to_owned() });
        let line = TranscriptLine { number: 1, at: 2, content };
        let text = serde_json::to_string(&line).unwrap();
        assert_eq!(text, r#"{"number":1,"at":2,"kind":"message","text":"hi"}"#);
        assert_eq!(serde_json::from_str::<TranscriptLine>(&text).unwrap(), line);
    }
}
