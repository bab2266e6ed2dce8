//! A pipeline without a law: one writer takes all that wait, appends the same bytes, commits once, answers all.
//!
//! It decides nothing and stores nothing that could be read. Its latency on a schedule is the share of the
//! disk, the queues and the wake-ups in any durable answer on this machine.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use super::sqlite::{BareSqlite, BatchAppender, BatchLayout, SqliteSettings};
use super::{CommitShape, noise};
use crate::BenchError;
use crate::subject::{AnswerSender, CommandOutcome, CommitTotals, LoadCommand, StoreSize, Subject};

/// A pipeline, running.
#[derive(Debug)]
pub struct Pipeline {
    /// None once it is closing.
    queue: Mutex<Option<Sender<AnswerSender>>>,
    writer: Option<JoinHandle<()>>,
}

impl Pipeline {
    /// Creates the database; the file must not exist. Every command writes as much as the shape says.
    pub fn make(path: &Path, settings: SqliteSettings, shape: CommitShape) -> Result<Self, BenchError> {
        let mut rows = BareSqlite::make(path, BatchLayout::Entries, settings)?;
        let (queue, requests) = channel();
        let writer = std::thread::spawn(move || {
            // Without a writer every command fails.
            if let Ok(appender) = rows.appender() {
                write(appender, &shape, &requests);
            }
        });
        Ok(Self { queue: Mutex::new(Some(queue)), writer: Some(writer) })
    }
}

impl Subject for Pipeline {
    fn prepare(&self, _: StoreSize, _: &dyn Fn(f64)) -> Result<(), BenchError> {
        Ok(())
    }

    fn submit(&self, _: LoadCommand, answer: AnswerSender) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        // A dropped answer counts as failed.
        if let Some(queue) = queue.as_ref() {
            let _ = queue.send(answer);
        }
    }

    fn figures(&self) -> CommitTotals {
        CommitTotals::default()
    }

    fn entities(&self) -> u64 {
        0
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Commits waiting commands until all senders are gone.
fn write(mut appender: BatchAppender<'_>, shape: &CommitShape, requests: &Receiver<AnswerSender>) {
    let mut bytes = Vec::new();
    // Entries that the commands so far should have made but did not.
    let mut owed = 0.0;
    while let Ok(first) = requests.recv() {
        let answers: Vec<AnswerSender> = std::iter::once(first).chain(requests.try_iter()).collect();
        owed += answers.len() as f64 * shape.per_command;
        let entries = f64::max(owed.floor(), 1.0) as usize;
        owed -= entries as f64;
        let wanted = entries * shape.bytes();
        if bytes.len() < wanted {
            bytes = noise(wanted * 2);
        }
        let done = appender.append(shape, entries, bytes.get(..wanted).unwrap_or(&bytes)).is_ok();
        let outcome = if done { CommandOutcome::Done } else { CommandOutcome::Failed };
        answers.into_iter().for_each(|it| it.give(outcome));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{ClosedLoad, closed};
    use crate::scratch::Scratch;
    use rusqlite::Connection;
    use std::time::Duration;

    #[test]
    fn answered_commits_survive_a_reopen() {
        let scratch = Scratch::make(&std::env::temp_dir(), false).unwrap();
        let path = scratch.path().join("alone.db");
        let shape =
            CommitShape { entries: 20.0, per_command: 2.5, header: 180, payload: 420, digest: 32, hash: 32 };
        let pipeline = Pipeline::make(&path, SqliteSettings::default(), shape).unwrap();
        let how = ClosedLoad { load: 0, callers: 8, threads: 1, time: Duration::from_millis(50) };
        let pace = closed(&pipeline, &how, &|_| ()).unwrap();
        drop(pipeline);
        let after = Connection::open(&path).unwrap();
        let rows: i64 = after.query_row("SELECT count(*) FROM entry", [], |it| it.get(0)).unwrap();
        assert!(pace.commands >= 8.0 && rows as f64 >= (pace.commands * 2.5).floor(), "{rows}");
    }
}
