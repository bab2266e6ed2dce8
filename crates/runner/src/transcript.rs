//! The transcript of a run: numbered JSON lines in segments on disk, written as they come.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use serde_json::Value;

use crate::adapter::TranscriptContent;

/// Bytes after which a new segment begins.
const SEGMENT: u64 = 8 << 20;
/// Bytes of one line. The server refuses longer lines than 256 KiB, and with them every later line.
const LONGEST_LINE: usize = 200 << 10;
/// Bytes of a text in a line that would be too long.
const LONGEST_TEXT: usize = 16 << 10;

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

impl TranscriptEntry {
    /// The line with short texts and values.
    fn shortened(self) -> Self {
        use TranscriptContent::{
            Approval, End, Error, Message, Output, Quota, Retry, Session, Thinking, ToolCall, ToolResult,
            User, Warning,
        };
        let content = match self {
            Self::Mark { mark } => return Self::Mark { mark: cut(mark) },
            Self::Agent(content) => content,
        };
        Self::Agent(match content {
            Session { id, model, version } => {
                Session { id: cut(id), model: model.map(cut), version: version.map(cut) }
            }
            Message { text } => Message { text: cut(text) },
            Thinking { text } => Thinking { text: cut(text) },
            User { text } => User { text: cut(text) },
            Retry { text } => Retry { text: cut(text) },
            Warning { text } => Warning { text: cut(text) },
            Error { text } => Error { text: cut(text) },
            Output { text } => Output { text: cut(text) },
            ToolCall { id, name, input } => {
                ToolCall { id: cut(id), name: cut(name), input: cut_value(input) }
            }
            ToolResult { id, text, failed } => ToolResult { id: cut(id), text: cut(text), failed },
            Approval { id, tool, input } => {
                Approval { id: cut(id), tool: cut(tool), input: cut_value(input) }
            }
            Quota { mut window } => {
                window.status = window.status.map(cut);
                window.windows = cut_value(window.windows);
                Quota { window }
            }
            End { ok, text, usage } => End { ok, text: cut(text), usage },
        })
    }
}

/// A text of at most [`LONGEST_TEXT`] bytes. Each can take six in JSON.
fn cut(text: String) -> String {
    if text.len() <= LONGEST_TEXT {
        return text;
    }
    let end = text.floor_char_boundary(LONGEST_TEXT);
    format!("{}… ({} bytes more)", text.get(..end).unwrap_or_default(), text.len() - end)
}

/// A value with short texts. If it is still too long, its beginning as a text.
fn cut_value(value: Value) -> Value {
    fn cut_texts(value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(cut(text)),
            Value::Array(all) => all.into_iter().map(cut_texts).collect(),
            Value::Object(all) => all.into_iter().map(|(name, it)| (name, cut_texts(it))).collect(),
            other => other,
        }
    }
    let short = cut_texts(value);
    let text = short.to_string();
    if text.len() <= LONGEST_LINE / 2 { short } else { Value::String(cut(text)) }
}

/// Writes a transcript. One writer per run.
#[derive(Debug)]
pub struct TranscriptWriter {
    folder: PathBuf,
    next: u64,
    file: Option<(File, u64)>,
    segment: u64,
    bytes: u64,
}

impl TranscriptWriter {
    /// Opens a transcript and continues after its last whole line. A line that a crash cut is removed.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut writer = Self { folder: folder.to_owned(), next: 1, file: None, segment: SEGMENT, bytes: 0 };
        let mut all = segments(folder)?;
        for (_, path) in &all {
            writer.bytes += fs::metadata(path)?.len();
        }
        let Some((first, path)) = all.pop() else { return Ok(writer) };
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
        let mut line = TranscriptLine { number: self.next, at, content };
        let mut bytes = serde_json::to_vec(&line)?;
        if bytes.len() > LONGEST_LINE {
            line.content = line.content.shortened();
            bytes = serde_json::to_vec(&line)?;
        }
        bytes.push(b'\n');
        if self.file.as_ref().is_none_or(|(_, length)| length + bytes.len() as u64 > self.segment) {
            let path = self.folder.join(format!("lines.{}", self.next));
            let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
            self.file = Some((file, 0));
        }
        if let Some((file, length)) = &mut self.file {
            file.write_all(&bytes)?;
            *length += bytes.len() as u64;
            self.bytes += bytes.len() as u64;
        }
        self.next += 1;
        Ok(line)
    }

    /// Makes the lines durable.
    pub fn sync(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), |(file, _)| file.sync_data())
    }

    /// Bytes of all segments.
    pub fn bytes(&self) -> u64 {
        self.bytes
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
    fn a_huge_line_is_shortened_and_keeps_its_form() {
        let folder = std::env::temp_dir().join(format!("trackside-long-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let mut writer = TranscriptWriter::open(&folder).unwrap();
        let huge = "x".repeat(1 << 20);
        let (id, name) = ("c-1".to_owned(), "Write".to_owned());
        // In JSON, each of these takes six bytes.
        let control = "\u{1}".repeat(60 << 10);
        let input = serde_json::json!({ "file": "a.txt", "content": huge });
        let many: Value = (0..100_000).collect();
        let contents = [
            TranscriptContent::ToolCall { id: id.clone(), name: name.clone(), input },
            TranscriptContent::Approval { id: id.clone(), tool: name, input: many.clone() },
            TranscriptContent::Quota {
                window: crate::adapter::QuotaWindow { windows: many, ..Default::default() },
            },
            TranscriptContent::ToolResult { id, text: control.clone(), failed: false },
            TranscriptContent::Error { text: control },
        ];
        for content in contents {
            writer.append(1, TranscriptEntry::Agent(content)).unwrap();
        }
        let (_, path) = segments(&folder).unwrap().pop().unwrap();
        let text = fs::read_to_string(path).unwrap();
        assert_eq!(writer.bytes(), text.len() as u64);
        assert!(text.lines().all(|it| it.len() <= LONGEST_LINE), "{:?}", text.lines().map(str::len));
        let lines = read_after(&folder, 0, 10).unwrap();
        assert_eq!(lines.len(), 5);
        let TranscriptEntry::Agent(TranscriptContent::ToolCall { input, .. }) = &lines[0].content else {
            panic!("{:?}", lines[0]);
        };
        assert_eq!(input["file"], "a.txt", "what fits is kept");
        assert!(input["content"].as_str().unwrap().ends_with("bytes more)"));
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
