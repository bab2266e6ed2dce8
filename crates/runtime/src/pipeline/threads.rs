//! A thread for each worker, and their messages.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trackside_engine::key::EntityKey;
use trackside_lifecycle::time::Span;
use trackside_store::{Chain, StoreError};

use super::commit_interval::CommitInterval;
use super::committer::Committed;
use super::committing::Committing;
use super::decided_batch::DecidedBatch;
use super::decider::Decider;
use super::flusher::Flusher;
use super::long_term::{LongTermStorage, StorageTask, archived_entities};
use super::steps::{Workers, decide, reload, turn_away, write_behind};
use crate::clock::ProjectClock;
use crate::failpoints::{Failpoint, is_enabled};
use crate::memory::Limits;
use crate::queue::WorkQueue;
use crate::shared::{ProblemSource, Shared};

/// The longest the flusher sleeps.
const TICK: Duration = Duration::from_secs(1);
/// The longest the decider sleeps. Much less than a pause that leases do not count.
const BEAT: Duration = Duration::from_millis(250);
/// The time without a commit after which waiting entries are flushed.
const PAUSE: Duration = Duration::from_millis(20);
/// Most rounds of expiring old keys before commits are flushed again.
const MOST_TIDY: u32 = 16;
/// The time to listen for callers between two slices of a sweep.
const BREATH: Duration = Duration::from_millis(1);
/// The time that timers and the sweep wait before they read an unreadable store again.
const REST: Duration = Duration::from_millis(100);
/// The longest pause before a failed store is tried again.
const PATIENCE: Duration = Duration::from_secs(5);

/// The setup of the workers.
#[derive(Clone, Debug)]
pub(crate) struct Wiring {
    pub clock: ProjectClock,
    pub limits: Limits,
    /// Most commands decided in one batch.
    pub batch: usize,
    /// The longest that projections wait.
    pub behind: Duration,
    /// Entries that wait before they are written at once.
    pub behind_entries: usize,
    /// The interval of the sweep.
    pub sweep: Option<Span>,
    /// The retention of idempotency keys.
    pub keys_last: Span,
}

enum ToCommitter {
    Commit(DecidedBatch),
    /// Entries that are on disk already but not published.
    Publish(DecidedBatch),
    /// Other work on the journal, which only the committer writes.
    Do(Box<dyn FnOnce(&mut Committing) + Send>),
    /// Ends the worker: no more batches follow.
    Stop,
}

/// The workers at work.
#[derive(Debug)]
pub(crate) struct Threads {
    threads: Vec<JoinHandle<()>>,
    committer: SyncSender<ToCommitter>,
    /// None if the store has no archive.
    storage: Option<Sender<StorageTask>>,
}

impl Threads {
    /// Starts them.
    pub fn start(
        shared: &Arc<Shared>,
        wiring: &Wiring,
        work: WorkQueue,
        workers: Workers,
    ) -> Result<Self, StoreError> {
        let Workers { decider, unpublished, committer, flusher } = workers;
        // A channel without a buffer: the decider works on the next step while this one is committed, and
        // no further.
        let (to_committer, from_decider) = sync_channel(0);
        let (committed, from_committer) = channel();
        let (dropping, for_others) = (to_committer.clone(), to_committer.clone());
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new()
                .name(name.to_owned())
                .stack_size(16 * 1024 * 1024)
                .spawn(work)
                .map_err(|it| StoreError::io("starting a thread", it))
        };
        let (one, two) = (shared.clone(), shared.clone());
        let committing = Committing::new(shared.clone(), committer);
        let (for_decider, for_flusher) = (wiring.clone(), wiring.clone());
        let has_archive = shared.store().archive()?.folder().is_some();
        let (storage, tasks) = channel();
        let storage = has_archive.then_some(storage);
        let (from_flusher, moving) = (storage.clone(), to_committer.clone());
        let mut threads = vec![
            spawn(
                "decider",
                Box::new(move || {
                    Deciding { shared: one, wiring: for_decider, to_committer, work }.run(decider)
                }),
            )?,
            spawn("committer", Box::new(move || commit(committing, unpublished, &from_decider, committed)))?,
            spawn(
                "flusher",
                Box::new(move || {
                    flush(&two, &for_flusher, flusher, &from_committer, &dropping, from_flusher.as_ref());
                }),
            )?,
        ];
        if has_archive {
            let doing = "moving payloads";
            let move_payloads = Box::new(move |slice| {
                have_done(&moving, doing, move |it| it.journal(doing)?.move_payloads(&slice))
            });
            let long_term = LongTermStorage::new(shared.clone(), move_payloads);
            threads.push(spawn("long-term", Box::new(move || long_term.run(&tasks)))?);
        }
        Ok(Self { threads, committer: for_others, storage })
    }

    /// Has the committer drop the entries that a verified archive file holds.
    pub fn cut(&self, upto: Chain, staying: Arc<BTreeSet<u64>>) -> Result<u64, StoreError> {
        let doing = "archiving";
        have_done(&self.committer, doing, move |it| it.journal(doing)?.cut(upto, &staying))
    }

    /// Has all entities searched for those that belong into long-term storage.
    pub fn search_archived(&self) {
        if let Some(storage) = &self.storage {
            storage.send(StorageTask::Search).ok();
        }
    }

    /// Waits for all threads; they end after the queue was stopped.
    pub fn join(self) {
        drop((self.committer, self.storage));
        for thread in self.threads {
            thread.join().ok();
        }
    }
}

struct Deciding {
    shared: Arc<Shared>,
    wiring: Wiring,
    to_committer: SyncSender<ToCommitter>,
    work: WorkQueue,
}

impl Deciding {
    fn run(self, decider: Decider) {
        self.decide(decider);
        self.work.close();
        self.to_committer.send(ToCommitter::Stop).ok();
    }

    fn decide(&self, mut decider: Decider) {
        let mut interval = CommitInterval::default();
        while !decider.is_stopped() || decider.is_advancing() {
            if !decider.is_advancing() {
                self.work.wait(1, self.sleep(&decider));
                while let Some(left) =
                    interval.left(self.wiring.clock.interval_time(), self.work.waiting_cost())
                {
                    self.work.wait(interval.wanted(), left);
                    if self.work.is_stopping() {
                        break;
                    }
                }
            } else if decider.is_waiting() {
                std::thread::sleep(REST);
            }
            if self.shared.is_broken() {
                match self.reload_after_failure(&mut decider) {
                    Some(again) => decider = again,
                    None => return,
                }
                continue;
            }
            let unanswered = self.shared.unanswered();
            let mut work = self.work.drain_step().take(self.wiring.batch);
            let mut batch = decide(&self.shared, &mut decider, &mut work, &|| self.work.waiting() > 0);
            if is_enabled(Failpoint::AnsweredEarly) {
                batch.replies.drain(..).for_each(|say| say(Ok(())));
            }
            if batch.is_empty() {
                continue;
            }
            let callers = batch.replies.len();
            self.shared.add_unanswered(callers);
            if self.to_committer.send(ToCommitter::Commit(batch)).is_err() {
                return;
            }
            let waiting = self.work.waiting();
            interval.hand_over(self.wiring.clock.interval_time(), unanswered + callers + waiting);
        }
    }

    fn sleep(&self, decider: &Decider) -> Duration {
        if decider.is_waiting() {
            return REST;
        }
        if decider.is_sweeping() {
            return BREATH;
        }
        let Some(due) = decider.next_due().filter(|_| !self.wiring.clock.is_manual()) else { return BEAT };
        let left = due.since(self.wiring.clock.now()).0;
        Duration::from_millis(u64::try_from(left).unwrap_or(0)).min(BEAT)
    }

    /// A commit failed: memory is dropped and read again. Callers are sent away until that works.
    fn reload_after_failure(&self, failed: &mut Decider) -> Option<Decider> {
        let mut patience = Duration::from_millis(50);
        loop {
            match self.reload(failed) {
                Ok((decider, batch)) => {
                    self.shared.set_broken(false);
                    self.shared.set_problem(ProblemSource::Journal, None);
                    self.to_committer.send(ToCommitter::Publish(batch)).ok()?;
                    return Some(decider);
                }
                Err(error) => {
                    let why = self.shared.set_journal_failure(error);
                    for work in self.work.drain() {
                        turn_away(&self.shared, work, &why);
                    }
                    if self.work.is_stopping() {
                        return None;
                    }
                    self.work.wait(1, patience);
                    patience = (patience * 2).min(PATIENCE);
                }
            }
        }
    }

    fn reload(&self, failed: &mut Decider) -> Result<(Decider, DecidedBatch), StoreError> {
        let end = have_done(&self.to_committer, "reopening the journal", Committing::reopen)?;
        reload(&self.shared, &self.wiring, failed, end)
    }
}

fn commit(
    mut committing: Committing,
    unpublished: DecidedBatch,
    messages: &Receiver<ToCommitter>,
    flusher: Sender<Arc<Committed>>,
) {
    let mut flusher = Some(flusher);
    let write = |committed: Option<Arc<Committed>>, flusher: Option<&Sender<Arc<Committed>>>| {
        if let (Some(committed), Some(flusher)) = (committed, flusher) {
            flusher.send(committed).ok();
        }
    };
    write(committing.publish(unpublished), flusher.as_ref());
    while let Ok(message) = committing.idle(|| messages.recv()) {
        match message {
            ToCommitter::Commit(batch) => write(committing.commit(batch), flusher.as_ref()),
            ToCommitter::Publish(batch) => write(committing.publish(batch), flusher.as_ref()),
            ToCommitter::Do(work) => work(&mut committing),
            ToCommitter::Stop => flusher = None,
        }
    }
}

fn flush(
    shared: &Shared,
    wiring: &Wiring,
    mut flusher: Flusher,
    committed: &Receiver<Arc<Committed>>,
    committer: &SyncSender<ToCommitter>,
    storage: Option<&Sender<StorageTask>>,
) {
    let mut open = true;
    // Entities for long-term storage that are not flushed yet.
    let mut archived: Vec<EntityKey> = Vec::new();
    // The time since which entries wait.
    let mut since: Option<Instant> = None;
    let mut tidied = Instant::now();
    while open {
        let mut quiet = false;
        // While commits follow each other, more of them are written at once: many touch the same rows.
        match committed.recv_timeout(if since.is_some() { PAUSE } else { TICK / 4 }) {
            Ok(first) => {
                for commit in std::iter::once(first).chain(committed.try_iter()) {
                    flusher.take(&commit);
                    archived.extend(archived_entities(&commit));
                }
                since.get_or_insert_with(Instant::now);
            }
            Err(RecvTimeoutError::Timeout) => quiet = true,
            Err(RecvTimeoutError::Disconnected) => open = false,
        }
        let enough = flusher.waiting() >= wiring.behind_entries;
        let late = since.is_some_and(|it| it.elapsed() >= wiring.behind);
        if flusher.waiting() > 0 && (quiet || enough || late || !open) {
            match write_behind(shared, &mut flusher, &mut |seqs| drop_by(committer, seqs)) {
                Ok(()) => {
                    since = None;
                    let flushed = std::mem::take(&mut archived);
                    if let Some(storage) = storage.filter(|_| !flushed.is_empty()) {
                        storage.send(StorageTask::Entities(flushed)).ok();
                    }
                }
                Err(error) => {
                    rebuild_if_damaged(shared, &error);
                    let why = format!("projections are not written: {error}");
                    shared.set_problem(ProblemSource::Projections, Some(why));
                    std::thread::sleep(wiring.behind.min(PATIENCE / 10));
                }
            }
        } else if quiet {
            since = None;
        }
        if let Err(error) = shared.heal_by(|healing| flusher.heal_rows(healing)) {
            rebuild_if_damaged(shared, &error);
            let why = format!("damaged rows are not removed: {error}");
            shared.set_problem(ProblemSource::Projections, Some(why));
        }
        // Under constant traffic, too, old keys must expire.
        if open && tidied.elapsed() >= TICK {
            shared.close_idle_readers(Instant::now());
            let done = tidy(&mut flusher, quiet && since.is_none());
            let why = done.err().map(|error| {
                rebuild_if_damaged(shared, &error);
                format!("old idempotency keys are not forgotten: {error}")
            });
            shared.set_problem(ProblemSource::Keys, why);
            tidied = Instant::now();
        }
    }
}

/// A file that cannot be written is rebuilt at the next start.
fn rebuild_if_damaged(shared: &Shared, error: &StoreError) {
    if error.is_state_damage() {
        shared.store().request_rebuild(&error.to_string());
    }
}

/// Expires old keys, and tidies the files while nothing else is to be done.
fn tidy(flusher: &mut Flusher, quiet: bool) -> Result<(), StoreError> {
    for _ in 0..MOST_TIDY {
        if !flusher.forget_keys()? {
            break;
        }
    }
    if quiet {
        flusher.tidy()?;
    }
    Ok(())
}

/// Has the committer drop the payloads of an erased entity.
fn drop_by(committer: &SyncSender<ToCommitter>, seqs: Vec<u64>) -> Result<u64, StoreError> {
    let doing = "erasing";
    have_done(committer, doing, move |it| it.journal(doing)?.drop_payloads(&seqs))
}

/// Runs a closure on the committer and waits for its result.
fn have_done<T: Send + 'static>(
    committer: &SyncSender<ToCommitter>,
    doing: &str,
    work: impl FnOnce(&mut Committing) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let gone = || StoreError::io(doing, "the committer has ended");
    let (done, answer) = sync_channel(1);
    let work = Box::new(move |committing: &mut Committing| drop(done.send(work(committing))));
    committer.send(ToCommitter::Do(work)).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}
