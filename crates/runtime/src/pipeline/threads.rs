//! A thread for each worker, and what they tell each other.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trackside_lifecycle::time::Span;
use trackside_store::StoreError;

use super::committer::{Committed, Committer};
use super::decider::{Decider, Limits, Turn};
use super::flusher::Flusher;
use super::recovery::recover;
use crate::answer::Failure;
use crate::clock::Clock;
use crate::shared::{Figures, Shared};
use crate::work::Work;

/// The longest a worker sleeps.
const TICK: Duration = Duration::from_secs(1);
/// How long callers are listened for between two slices of a sweep.
const BREATH: Duration = Duration::from_millis(1);
/// How long a store that failed is left alone before it is tried again, at most.
const PATIENCE: Duration = Duration::from_secs(5);

/// How the workers are set up.
#[derive(Clone, Debug)]
pub(crate) struct Wiring {
    pub clock: Clock,
    pub limits: Limits,
    /// Most commands decided in one turn.
    pub batch: usize,
    /// The longest that projections wait.
    pub behind: Duration,
    /// Entries that wait before they are written at once.
    pub behind_entries: usize,
    /// How often everything is looked at.
    pub sweep: Option<Span>,
}

enum ToCommitter {
    Turn(Turn),
    /// Entries that are on disk already, for those who do not know of them.
    Publish(Turn),
    /// Forget what went wrong, and begin again where the journal ends.
    Reopen(SyncSender<Result<(), StoreError>>),
    /// Drop what is held of an erased entity.
    Drop(Vec<u64>, SyncSender<Result<u64, StoreError>>),
    /// Nothing more will be decided.
    Stop,
}

/// The workers at work.
#[derive(Debug)]
pub(crate) struct Threads {
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Starts them: `decider` knows everything, `unpublished` is what nobody has been told of yet.
    pub fn start(
        shared: &Arc<Shared>,
        wiring: &Wiring,
        work: Receiver<Work>,
        parts: (Decider, Turn, Committer, Flusher),
    ) -> Result<Self, StoreError> {
        let (decider, unpublished, committer, flusher) = parts;
        // Nothing is kept between them: the next turn is decided while this one is committed, and no further.
        let (turns, from_decider) = sync_channel(0);
        let (committed, from_committer) = channel();
        let dropping = turns.clone();
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new()
                .name(format!("trackside-{name}"))
                .stack_size(16 * 1024 * 1024)
                .spawn(work)
                .map_err(|it| StoreError::io("starting a thread", it))
        };
        let (one, two, three) = (shared.clone(), shared.clone(), shared.clone());
        let (for_decider, for_flusher) = (wiring.clone(), wiring.clone());
        let threads = vec![
            spawn(
                "decider",
                Box::new(move || Deciding { shared: one, wiring: for_decider, turns }.run(decider, &work)),
            )?,
            spawn(
                "committer",
                Box::new(move || commit(&two, committer, unpublished, &from_decider, committed)),
            )?,
            spawn(
                "flusher",
                Box::new(move || flush(&three, &for_flusher, flusher, &from_committer, &dropping)),
            )?,
        ];
        Ok(Self { threads })
    }

    /// Waits for all of them; they end when nobody can hand in work any more.
    pub fn join(self) {
        for thread in self.threads {
            thread.join().ok();
        }
    }
}

struct Deciding {
    shared: Arc<Shared>,
    wiring: Wiring,
    turns: SyncSender<ToCommitter>,
}

impl Deciding {
    fn run(self, decider: Decider, work: &Receiver<Work>) {
        self.decide(decider, work);
        self.turns.send(ToCommitter::Stop).ok();
    }

    fn decide(&self, mut decider: Decider, work: &Receiver<Work>) {
        let mut open = true;
        while (open && !decider.is_stopped()) || decider.is_advancing() {
            let mut first = None;
            if !decider.is_advancing() {
                match work.recv_timeout(self.sleep(&decider)) {
                    Ok(it) => first = Some(it),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => open = false,
                }
            }
            if self.shared.is_broken() {
                match self.begin_again(&decider, first.take(), work) {
                    Some(again) => decider = again,
                    None => return,
                }
                continue;
            }
            decider.written(self.shared.written());
            let mut batch = first.into_iter().chain(work.try_iter()).take(self.wiring.batch);
            let turn = decider.turn(&mut batch);
            self.shared.figures.cached.store(decider.cached() as u64, std::sync::atomic::Ordering::Relaxed);
            if !turn.is_empty() && self.turns.send(ToCommitter::Turn(turn)).is_err() {
                return;
            }
        }
    }

    fn sleep(&self, decider: &Decider) -> Duration {
        if decider.is_sweeping() {
            return BREATH;
        }
        let Some(due) = decider.next_due().filter(|_| !self.wiring.clock.is_manual()) else { return TICK };
        let left = due.since(self.wiring.clock.now()).0;
        Duration::from_millis(u64::try_from(left).unwrap_or(0)).min(TICK)
    }

    /// A commit failed: memory is dropped and read again. Callers are sent away until that works.
    fn begin_again(&self, failed: &Decider, first: Option<Work>, work: &Receiver<Work>) -> Option<Decider> {
        let mut patience = Duration::from_millis(50);
        let mut waiting: Vec<Work> = first.into_iter().collect();
        loop {
            match self.reload(failed) {
                Ok((decider, turn)) => {
                    self.shared.set_broken(false);
                    self.shared.set_trouble(None);
                    self.turns.send(ToCommitter::Publish(turn)).ok()?;
                    let mut decider = decider;
                    let turn = decider.turn(&mut waiting.into_iter());
                    self.turns.send(ToCommitter::Turn(turn)).ok()?;
                    return Some(decider);
                }
                Err(error) => {
                    let why = error.to_string();
                    self.shared.set_trouble(Some(why.clone()));
                    for work in waiting.drain(..).chain(work.try_iter()) {
                        turn_away(work, &Failure::Unavailable(why.clone()));
                    }
                    match work.recv_timeout(patience) {
                        Ok(it) => waiting.push(it),
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => return None,
                    }
                    patience = (patience * 2).min(PATIENCE);
                }
            }
        }
    }

    fn reload(&self, failed: &Decider) -> Result<(Decider, Turn), StoreError> {
        let (done, reopened) = sync_channel(1);
        let gone = || StoreError::io("reopening the journal", "the committer has ended");
        self.turns.send(ToCommitter::Reopen(done)).map_err(|_| gone())?;
        reopened.recv().map_err(|_| gone())??;
        let reader = self.shared.store().reader()?;
        let (clock, limits) = (self.wiring.clock.clone(), self.wiring.limits);
        let (mut decider, turn) =
            recover(failed.law().clone(), reader, clock, limits, self.shared.committed())?;
        decider.sweep_every(self.wiring.sweep);
        Ok((decider, turn))
    }
}

/// Tells somebody that it cannot be done now.
fn turn_away(work: Work, why: &Failure) {
    match work {
        Work::Command(_, reply) => reply(Err(why.clone())),
        Work::Atomic(_, ticket) => {
            ticket.send(Err(why.clone())).ok();
        }
        Work::Look(_, done) => done(Err(why.clone())),
        Work::Advance(_, ticket) => {
            ticket.send(Err(why.clone())).ok();
        }
        Work::Law(_, _, ticket) => {
            ticket.send(Err(why.clone())).ok();
        }
        Work::Sweep(ticket) => {
            ticket.send(Err(why.clone())).ok();
        }
        Work::Mend(_, _, ticket) => {
            ticket.send(Err(why.clone())).ok();
        }
        Work::Stop => {}
    }
}

fn commit(
    shared: &Shared,
    committer: Committer,
    unpublished: Turn,
    turns: &Receiver<ToCommitter>,
    flusher: Sender<Committed>,
) {
    let mut committer = Some(committer);
    let mut flusher = Some(flusher);
    let (committed, sayings) = unpublished.published();
    publish(shared, committed, sayings, flusher.as_ref());
    while let Ok(message) = turns.recv() {
        match message {
            ToCommitter::Turn(turn) if shared.is_broken() => {
                let why = shared.trouble().unwrap_or_default();
                for say in turn.sayings {
                    say(Err(Failure::Unavailable(why.clone())));
                }
            }
            ToCommitter::Turn(turn) => {
                let Some(committer) = &mut committer else { continue };
                let (done, sayings) = committer.commit(turn);
                match done {
                    Ok(committed) => publish(shared, committed, sayings, flusher.as_ref()),
                    Err(error) => {
                        let why = error.to_string();
                        shared.set_trouble(Some(why.clone()));
                        shared.set_broken(true);
                        Figures::add(&shared.figures.failed_commits, 1);
                        for say in sayings {
                            say(Err(Failure::Unavailable(why.clone())));
                        }
                    }
                }
            }
            ToCommitter::Publish(turn) => {
                let (committed, sayings) = turn.published();
                publish(shared, committed, sayings, flusher.as_ref());
            }
            ToCommitter::Reopen(done) => {
                committer = None;
                let again = shared.store().journal().and_then(Committer::new);
                done.send(again.map(|it| committer = Some(it))).ok();
            }
            ToCommitter::Drop(seqs, done) => {
                let gone = || Err(StoreError::io("erasing", "the journal is not open"));
                done.send(committer.as_mut().map_or_else(gone, |it| it.drop_payloads(&seqs))).ok();
            }
            ToCommitter::Stop => flusher = None,
        }
    }
}

/// It is on disk: show it, answer, feed, write behind, in this order.
fn publish(
    shared: &Shared,
    committed: Committed,
    sayings: Vec<crate::work::Saying>,
    flusher: Option<&Sender<Committed>>,
) {
    if let Some(law) = &committed.law {
        shared.set_law(law.clone());
    }
    shared.show(committed.touched.iter().map(|it| &it.entity), committed.upto);
    for say in sayings {
        say(Ok(()));
    }
    if committed.entries.is_empty() {
        return;
    }
    Figures::add(&shared.figures.commits, 1);
    Figures::add(&shared.figures.commands, committed.commands);
    shared.figures.largest_commit.fetch_max(committed.commands as u64, std::sync::atomic::Ordering::Relaxed);
    shared.figures.wrote(&committed.written);
    shared.feed.send(&committed.entries);
    if let Some(flusher) = flusher {
        flusher.send(committed).ok();
    }
}

fn flush(
    shared: &Shared,
    wiring: &Wiring,
    mut flusher: Flusher,
    committed: &Receiver<Committed>,
    committer: &SyncSender<ToCommitter>,
) {
    let mut open = true;
    let mut since = Instant::now();
    while open {
        match committed.recv_timeout(wiring.behind) {
            Ok(first) => {
                flusher.take(&first);
                for more in committed.try_iter() {
                    flusher.take(&more);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => open = false,
        }
        let enough = flusher.waiting() >= wiring.behind_entries;
        if flusher.waiting() > 0 && (enough || !open || since.elapsed() >= wiring.behind) {
            let done = forget(shared, &mut flusher, committer).and_then(|()| flusher.flush());
            match done {
                Ok(upto) => {
                    shared.caught_up(upto);
                    Figures::add(&shared.figures.flushes, 1);
                }
                Err(error) => {
                    shared.set_trouble(Some(format!("projections are not written: {error}")));
                    std::thread::sleep(wiring.behind);
                }
            }
            since = Instant::now();
        } else if flusher.waiting() == 0 {
            flusher.tidy().ok();
        }
    }
}

/// Drops from the journal what it holds of entities that were erased, before the erasure counts as written.
fn forget(
    shared: &Shared,
    flusher: &mut Flusher,
    committer: &SyncSender<ToCommitter>,
) -> Result<(), StoreError> {
    while let Some(erased) = flusher.erased() {
        let trail = shared.read(|it| crate::trail::before(it, erased))?;
        let (done, dropped) = sync_channel(1);
        let gone = |_| StoreError::io("erasing", "the committer has ended");
        committer.send(ToCommitter::Drop(trail, done)).map_err(|_| gone(()))?;
        dropped.recv().map_err(|_| gone(()))??;
        flusher.forgotten();
    }
    Ok(())
}

impl Turn {
    /// As if it had just been committed.
    pub(crate) fn published(self) -> (Committed, Vec<crate::work::Saying>) {
        let upto = self.entries.last().and_then(|it| it.last()).map_or(0, |it| it.seq);
        let Self { entries, befores, touched, project, sayings, commands, law, definitions: _ } = self;
        (
            Committed {
                entries,
                touched,
                befores,
                upto,
                written: Default::default(),
                commands,
                law,
                project,
            },
            sayings,
        )
    }
}
