//! Copies an output stream into segments on disk.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use crate::boot_time;
use crate::folder::{OutputStream, RunFolder};
use crate::redaction::Redactor;

/// The amount read so far, for the liveness sample.
#[derive(Debug, Default)]
pub(crate) struct OutputCounters {
    pub(crate) bytes: AtomicU64,
    pub(crate) last: AtomicU64,
}

/// The written part of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WrittenOutput {
    pub(crate) end: u64,
    pub(crate) lost: u64,
}

struct SegmentWriter {
    folder: RunFolder,
    stream: OutputStream,
    segment: u64,
    most: u64,
    begin: u64,
    file: Option<File>,
    written: WrittenOutput,
}

impl SegmentWriter {
    fn write(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.written.end >= self.most {
            self.written.lost += bytes.len() as u64;
            return;
        }
        if self.file.is_none() || self.written.end - self.begin >= self.segment {
            let path = self.folder.file(&format!("{}.{}", self.stream.name(), self.written.end));
            self.begin = self.written.end;
            self.file = OpenOptions::new().append(true).create(true).mode(0o600).open(path).ok();
        }
        // On a full disk the agent continues: its output is read and counted as lost.
        let done = self.file.as_mut().is_some_and(|it| it.write_all(bytes).is_ok());
        if done {
            self.written.end += bytes.len() as u64;
        } else {
            self.written.lost += bytes.len() as u64;
            self.file = None;
            self.resume_at_the_real_end();
        }
    }

    /// A failed write may have stored a part: later offsets follow the real length of the last segment.
    fn resume_at_the_real_end(&mut self) {
        let path = self.folder.file(&format!("{}.{}", self.stream.name(), self.begin));
        if let Ok(stored) = std::fs::metadata(path) {
            self.written.end = self.begin + stored.len();
        }
    }
}

/// Starts a thread that copies a stream until its end. A segment has at most `segment` bytes, and the stream `most`: what
/// comes after that is read and counted as lost.
pub(crate) fn copy(
    mut from: impl Read + Send + 'static,
    folder: RunFolder,
    stream: OutputStream,
    (segment, most): (u64, u64),
    mut redactor: Redactor,
    counters: Arc<OutputCounters>,
) -> std::io::Result<JoinHandle<WrittenOutput>> {
    thread::Builder::new().name(format!("copy-{}", stream.name())).spawn(move || {
        let written = WrittenOutput::default();
        let mut writer =
            SegmentWriter { folder, stream, segment: segment.max(1), most, begin: 0, file: None, written };
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => {
                    counters.bytes.fetch_add(length as u64, Ordering::Relaxed);
                    counters.last.store(boot_time::now(), Ordering::Relaxed);
                    writer.write(&redactor.push(buffer.get(..length).unwrap_or_default()));
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        writer.write(&redactor.finish());
        if let Some(file) = &writer.file {
            let _ = file.sync_all();
        }
        writer.written
    })
}
