//! A load over HTTP: callers that wait, each on a connection that stays open, on as few threads as will do.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use tokio::task::{JoinSet, LocalSet};

use super::child::small_runtime;
use super::wire::{ConnectionReply, HttpConnection};
use crate::BenchError;
use crate::load::{ClosedLoad, PATIENCE, Pace};
use crate::subject::{CommandOutcome, LoadCommand};
use crate::usage::ProcessorTime;

/// The requests, and the meaning of their answers.
pub(crate) trait HttpTarget: Send + Sync {
    /// Writes the whole request of a command.
    fn request(&self, ask: LoadCommand, to: &mut Vec<u8>);

    /// The outcome of a request.
    fn classify_reply(&self, ask: LoadCommand, reply: &ConnectionReply<'_>) -> CommandOutcome;
}

/// The result of a load.
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpLoadResult {
    pub pace: Pace,
    /// Processor time of the load itself.
    pub spent: ProcessorTime,
    pub asked: u64,
    pub request_bytes: u64,
    pub answer_bytes: u64,
    pub overloaded: u64,
    bad: u64,
    first_bad: Option<String>,
}

impl HttpLoadResult {
    pub fn merge(&mut self, other: &Self) {
        self.pace.merge(&other.pace);
        self.add(other);
    }

    fn add(&mut self, other: &Self) {
        self.spent.add(&other.spent);
        self.asked += other.asked;
        self.request_bytes += other.request_bytes;
        self.answer_bytes += other.answer_bytes;
        self.overloaded += other.overloaded;
        self.bad += other.bad;
        self.first_bad = self.first_bad.take().or_else(|| other.first_bad.clone());
    }

    /// Bytes of an answer, its head included.
    pub fn answer(&self) -> usize {
        (self.answer_bytes as f64 / self.asked.max(1) as f64).round() as usize
    }

    pub fn request(&self) -> usize {
        (self.request_bytes as f64 / self.asked.max(1) as f64).round() as usize
    }
}

/// Lets callers send until the time is up; only answers that arrived in time count.
pub(crate) fn callers(
    to: SocketAddr,
    target: &Arc<dyn HttpTarget>,
    how: &ClosedLoad,
    so_far: &(dyn Fn(f64) + Sync),
) -> Result<HttpLoadResult, BenchError> {
    let threads = how.threads.clamp(1, how.callers.max(1));
    let together = Barrier::new(threads as usize);
    let parts: Vec<Result<HttpLoadResult, BenchError>> = std::thread::scope(|scope| {
        let thread = |first: u32| {
            let thread = ConnectionThread { to, target: target.clone(), how: *how, first, step: threads };
            let together = &together;
            scope.spawn(move || thread.run(together, so_far))
        };
        let running: Vec<_> = (0..threads).map(thread).collect();
        let ended = || Err(BenchError::other("a thread of the load ended early; please report this"));
        running.into_iter().map(|it| it.join().unwrap_or_else(|_| ended())).collect()
    });
    let mut result = HttpLoadResult::default();
    for part in parts {
        let part = part?;
        result.pace.latency.merge(&part.pace.latency);
        result.add(&part);
    }
    if result.bad > 0 {
        let why = result.first_bad.unwrap_or_default();
        return Err(BenchError::NotAccepted { refused: result.bad, asked: result.asked, why });
    }
    result.pace.commands = result.pace.latency.count() as f64;
    result.pace.seconds = how.time.as_secs_f64();
    Ok(result)
}

/// One thread that acts for some of the callers.
struct ConnectionThread {
    to: SocketAddr,
    target: Arc<dyn HttpTarget>,
    how: ClosedLoad,
    first: u32,
    step: u32,
}

impl ConnectionThread {
    fn run(self, together: &Barrier, so_far: &(dyn Fn(f64) + Sync)) -> Result<HttpLoadResult, BenchError> {
        let runtime = small_runtime();
        let local = LocalSet::new();
        let wires = match &runtime {
            Ok(it) => local.block_on(it, self.wires()),
            Err(_) => Ok(Vec::new()),
        };
        // A failed thread must not leave the others waiting.
        together.wait();
        let (runtime, wires) = (runtime?, wires?);
        let before = ProcessorTime::here();
        let mut result = local.block_on(&runtime, self.ask(wires, so_far))?;
        result.spent = ProcessorTime::here().since(&before);
        Ok(result)
    }

    async fn wires(&self) -> Result<Vec<(u32, HttpConnection)>, BenchError> {
        let mut wires = Vec::new();
        for caller in (self.first..self.how.callers).step_by(self.step as usize) {
            wires.push((caller, HttpConnection::open(self.to).await.map_err(broken_off)?));
        }
        Ok(wires)
    }

    async fn ask(
        &self,
        wires: Vec<(u32, HttpConnection)>,
        so_far: &(dyn Fn(f64) + Sync),
    ) -> Result<HttpLoadResult, BenchError> {
        let begun = Instant::now();
        let end = begun + self.how.time;
        let result = Rc::new(RefCell::new(HttpLoadResult::default()));
        let mut waiting = wires.len();
        let mut asking = JoinSet::new();
        for (caller, wire) in wires {
            let caller = Caller { number: caller, how: self.how, target: self.target.clone(), end };
            asking.spawn_local(caller.run(wire, result.clone()));
        }
        while waiting > 0 {
            tokio::select! {
                ended = asking.join_next() => match ended {
                    Some(Ok(Ok(()))) => waiting -= 1,
                    Some(Ok(Err(error))) => return Err(broken_off(error)),
                    Some(Err(_)) | None => return Err(BenchError::other("a caller ended early; please report this")),
                },
                () = tokio::time::sleep(Duration::from_millis(100)) => {
                    if Instant::now() > end + PATIENCE {
                        return Err(BenchError::Unanswered { waiting, seconds: PATIENCE.as_secs() });
                    }
                    if self.first == 0 {
                        so_far(begun.elapsed().as_secs_f64() / self.how.time.as_secs_f64());
                    }
                }
            }
        }
        Ok(result.take())
    }
}

/// The error when the server closed a connection, or there is none.
pub(super) fn broken_off(error: std::io::Error) -> BenchError {
    BenchError::other(format!("a connection to the server broke off: {error}"))
}

struct Caller {
    number: u32,
    how: ClosedLoad,
    target: Arc<dyn HttpTarget>,
    end: Instant,
}

impl Caller {
    async fn run(self, mut wire: HttpConnection, result: Rc<RefCell<HttpLoadResult>>) -> std::io::Result<()> {
        let mut request = Vec::with_capacity(2_048);
        let mut nth = 0;
        loop {
            let since = Instant::now();
            if since >= self.end {
                return Ok(());
            }
            let ask =
                LoadCommand { load: self.how.load, caller: self.number, callers: self.how.callers, nth };
            nth += 1;
            request.clear();
            self.target.request(ask, &mut request);
            let reply = wire.ask(&request).await?;
            let now = Instant::now();
            let outcome = self.target.classify_reply(ask, &reply);
            let mut result = result.borrow_mut();
            result.asked += 1;
            result.request_bytes += request.len() as u64;
            result.answer_bytes += reply.bytes as u64;
            match outcome {
                CommandOutcome::Done if now <= self.end => result.pace.latency.record(now - since),
                CommandOutcome::Done => {}
                CommandOutcome::Overloaded => result.overloaded += 1,
                CommandOutcome::Refused | CommandOutcome::Failed => {
                    result.bad += 1;
                    result.first_bad.get_or_insert_with(|| reply.describe());
                }
            }
        }
    }
}
