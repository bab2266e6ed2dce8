//! A pipeline without a law: one writer takes all that wait, commits once, answers all.
//!
//! It decides nothing and knows no entity. What it is slower than a bare loop, queues and waking up
//! cost; what a real pipeline is slower than it, the law does.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::{Connection, params};

use super::noise;
use super::sqlite::{Settings, set_up};
use crate::Trouble;
use crate::subject::{Answer, Ask, Figures, Maker, Outcome, Size, Subject};

/// Bytes of the parts of an entry: header, payload, digest, hash.
const PARTS: [usize; 4] = [180, 420, 32, 32];
/// Entries of one transaction while a store is filled.
const FILLING: u64 = 10_000;

/// Opens pipelines without a law.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pipelines {
    pub settings: Settings,
}

impl Maker for Pipelines {
    fn name(&self) -> &str {
        "a pipeline without a law"
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Subject>, Trouble> {
        Ok(Box::new(Pipeline::open(&folder.join("journal.db"), self.settings)?))
    }
}

/// A pipeline, running.
#[derive(Debug)]
struct Pipeline {
    /// None once it is closing.
    queue: Mutex<Option<Sender<Request>>>,
    writer: Option<JoinHandle<()>>,
    counted: Arc<Mutex<Counted>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    figures: Figures,
    entities: u64,
    failed: bool,
}

/// What the writer can be asked.
enum Request {
    Append(Answer),
    /// Entities to begin with, and entries of the journal; answers go to the second.
    Fill(Size, Sender<f64>),
}

impl Pipeline {
    fn open(path: &Path, settings: Settings) -> Result<Self, Trouble> {
        let connection = set_up(path, settings)?;
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS entry (seq INTEGER PRIMARY KEY, header BLOB NOT NULL, payload BLOB, digest BLOB NOT NULL, hash BLOB NOT NULL);
             CREATE TABLE IF NOT EXISTS size (entities INTEGER NOT NULL);",
        )?;
        let entities: i64 =
            connection.query_row("SELECT coalesce(max(entities), 0) FROM size", [], |it| it.get(0))?;
        let next: i64 =
            connection.query_row("SELECT coalesce(max(seq), 0) + 1 FROM entry", [], |it| it.get(0))?;
        let counted =
            Arc::new(Mutex::new(Counted { entities: entities.unsigned_abs(), ..Counted::default() }));
        let (queue, requests) = channel();
        let writer =
            Writer { connection, next, bytes: noise(PARTS.iter().sum()), counted: Arc::clone(&counted) };
        let writer = std::thread::spawn(move || writer.run(&requests));
        Ok(Self { queue: Mutex::new(Some(queue)), writer: Some(writer), counted })
    }

    fn send(&self, request: Request) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        // A writer that is gone answers nothing; what is dropped here counts as failed.
        if let Some(queue) = queue.as_ref() {
            let _ = queue.send(request);
        }
    }

    fn counted(&self) -> Counted {
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subject for Pipeline {
    fn prepare(&self, size: Size, so_far: &dyn Fn(f64)) -> Result<(), Trouble> {
        let (to, shares) = channel();
        self.send(Request::Fill(size, to));
        shares.iter().for_each(so_far);
        if self.counted().failed {
            return Err(Trouble::Subject("the store could not be filled: is the disk full?".to_owned()));
        }
        Ok(())
    }

    fn submit(&self, _: Ask, answer: Answer) {
        self.send(Request::Append(answer));
    }

    fn figures(&self) -> Figures {
        self.counted().figures
    }

    fn entities(&self) -> u64 {
        self.counted().entities
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

/// The thread that commits.
struct Writer {
    connection: Connection,
    next: i64,
    bytes: Vec<u8>,
    counted: Arc<Mutex<Counted>>,
}

impl Writer {
    fn run(mut self, requests: &Receiver<Request>) {
        let mut answers = Vec::new();
        while let Ok(first) = requests.recv() {
            for request in std::iter::once(first).chain(requests.try_iter()) {
                match request {
                    Request::Append(answer) => answers.push(answer),
                    Request::Fill(size, to) => {
                        if self.fill(size, &to).is_err() {
                            self.counted.lock().unwrap_or_else(PoisonError::into_inner).failed = true;
                        }
                    }
                }
            }
            let commands = answers.len() as u64;
            let done = commands == 0 || self.append(commands).is_ok();
            if done && commands > 0 {
                self.count(commands);
            }
            let outcome = if done { Outcome::Done } else { Outcome::Failed };
            answers.drain(..).for_each(|it: Answer| it.give(outcome));
        }
    }

    fn append(&mut self, entries: u64) -> Result<(), Trouble> {
        let transaction = self.connection.unchecked_transaction()?;
        let mut rest = self.bytes.as_slice();
        let [header, payload, digest, hash] = PARTS.map(|it| {
            let (part, after) = rest.split_at_checked(it).unwrap_or((rest, &[]));
            rest = after;
            part
        });
        let mut insert = transaction.prepare("INSERT INTO entry VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for seq in (self.next..).take(entries as usize) {
            insert.execute(params![seq, header, payload, digest, hash])?;
        }
        drop(insert);
        transaction.commit()?;
        self.next += entries as i64;
        Ok(())
    }

    fn count(&self, commands: u64) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let figures = &mut counted.figures;
        let [header, payload, digest, hash] = PARTS.map(|it| it as u64 * commands);
        figures.commands += commands;
        figures.entries += commands;
        figures.commits += 1;
        figures.largest_batch = figures.largest_batch.max(commands);
        figures.header_bytes += header;
        figures.payload_bytes += payload;
        figures.digest_bytes += digest;
        figures.hash_bytes += hash;
    }

    fn fill(&mut self, size: Size, to: &Sender<f64>) -> Result<(), Trouble> {
        self.connection.execute("INSERT INTO size VALUES (?1)", [size.entities as i64])?;
        let wanted = size.entries.max(size.entities);
        let mut filled = 0;
        while filled < wanted {
            let some = FILLING.min(wanted - filled);
            self.append(some)?;
            filled += some;
            let _ = to.send(filled as f64 / wanted as f64);
        }
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).entities = size.entities;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Closed, closed};
    use crate::scratch::Scratch;
    use crate::start;
    use std::time::Duration;

    #[test]
    fn what_is_answered_is_there_when_it_is_opened_again() {
        let scratch = Scratch::make(&std::env::temp_dir(), false).unwrap();
        let pipeline = Pipelines::default().open(scratch.path()).unwrap();
        pipeline.prepare(Size { entities: 100, entries: 500 }, &|_| ()).unwrap();
        let how = Closed { load: 0, callers: 8, threads: 1, time: Duration::from_millis(50) };
        let pace = closed(pipeline.as_ref(), &how, &|_| ()).unwrap();
        let figures = pipeline.figures();
        assert!(figures.commands as f64 >= pace.commands);
        assert_eq!((figures.payload_bytes, pipeline.entities()), (figures.commands * 420, 100));
        drop(pipeline);
        let started = Pipelines::default().start(scratch.path()).unwrap();
        assert_eq!(started.entities, 100);
        let after = Connection::open(scratch.path().join("journal.db")).unwrap();
        let rows: i64 = after.query_row("SELECT count(*) FROM entry", [], |it| it.get(0)).unwrap();
        assert_eq!(rows as u64, 500 + figures.commands + 1);
    }

    #[test]
    fn a_store_that_cannot_be_opened_says_which() {
        let missing = Path::new("/nowhere/at/all");
        let trouble = start::here(&|it| Pipelines::default().open(it), missing).unwrap_err();
        assert!(trouble.to_string().contains("/nowhere/at/all"), "{trouble}");
    }
}
