//! Many subscribers of the journal: whether each gets every entry, how soon, and the cost of one more.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use super::child::{RunningServer, small_runtime};
use super::load::{HttpTarget, broken_off};
use super::tasks::Tasks;
use super::wire::HttpConnection;
use super::{FOLLOWED, Web};
use crate::BenchError;
use crate::latency::Latency;
use crate::load::PATIENCE;
use crate::machine::ProcessorWatch;
use crate::report::{FigureAim, Report, ReportRow, ReportUnit};
use crate::subject::{CommandOutcome, LoadCommand};
use crate::table::{thousands, time};
use crate::usage::Groups;

/// Commands a second while delays are measured.
const PACE: u32 = 20;
/// Commands of the burst, sent one after the other as fast as they are answered.
const BURST: u64 = 200;
/// Warm-up commands, so that one-time costs are over.
const WARM: u64 = 50;

/// The result of the measurement.
#[derive(Debug, Default)]
struct SubscriberResult {
    delay: Latency,
    /// Entries that reached subscribers while delays were measured, and in the burst.
    paced: u64,
    burst: u64,
    burst_seconds: f64,
    /// The number of expected entries, and of those that arrived, each in its order.
    expected: u64,
    came: u64,
    /// Server memory per subscriber.
    memory: Option<f64>,
    spent: Groups,
}

impl Web<'_> {
    pub(super) fn subscribers(&self, report: &mut Report) {
        let watch = ProcessorWatch::begin();
        let many = thousands(u64::from(self.plan.subscribers));
        let row =
            ReportRow::new("subscribers", format!("{many} subscribers, {PACE} commands a second: delay"));
        match self.follow() {
            Err(trouble) => report.rows.push(row.failed(trouble.to_string())),
            Ok(found) => report.rows.extend(rows(row, &found)),
        }
        report.warnings.extend(watch.end().map(|it| format!("subscribers, {it}")));
    }

    fn follow(&self) -> Result<SubscriberResult, BenchError> {
        self.fill("followed", FOLLOWED)?;
        let served = self.up("followed")?;
        let owner = self.owner("followed")?;
        let runtime = small_runtime()?;
        let tasks = runtime.block_on(Tasks::of(served.address, &owner, FOLLOWED))?;
        let scene = SubscriberBench {
            served: &served,
            tasks,
            owner,
            many: self.plan.subscribers,
            load: self.next_load(),
            asked: Cell::new(0),
        };
        let time = self.plan.time;
        let so_far = |share| (self.so_far)("many subscribers", share);
        LocalSet::new().block_on(&runtime, scene.measure(time, &so_far))
    }
}

fn rows(row: ReportRow, found: &SubscriberResult) -> Vec<ReportRow> {
    let share = found.came as f64 / found.expected.max(1) as f64;
    let note = format!(
        "from the answer to a command until the last one had it; {} of {} entries came, each in its order; longest {}",
        thousands(found.came),
        thousands(found.expected),
        time(found.delay.max())
    );
    let mut burst = ReportRow::new("burst", format!("  {BURST} commands at once, to all of them: entries"));
    burst.per_second = Some(found.burst as f64 / found.burst_seconds.max(0.001));
    let memory = ReportRow::new("subscriberMemory", "  memory of the server for each");
    let micros = found.spent.total().all * 1e6 / found.paced.max(1) as f64;
    vec![
        row.with_latency(&found.delay)
            .figure(share, ReportUnit::Times)
            .aim(FigureAim::AtLeast(1.0))
            .note(note),
        burst,
        match found.memory {
            Some(bytes) => memory.figure(bytes, ReportUnit::Bytes),
            None => memory.note("this system does not tell"),
        },
        ReportRow::new("subscriberTime", "  processor time of the server for each entry to each")
            .figure(micros, ReportUnit::Micros)
            .shares(found.spent.micros(found.paced as f64)),
    ]
}

/// The server, the callers and the subscribers.
struct SubscriberBench<'a> {
    served: &'a RunningServer,
    tasks: Tasks,
    owner: String,
    many: u32,
    load: u32,
    asked: Cell<u64>,
}

impl SubscriberBench<'_> {
    async fn measure(&self, time: Duration, so_far: &dyn Fn(f64)) -> Result<SubscriberResult, BenchError> {
        let mut wire = HttpConnection::open(self.served.address).await.map_err(broken_off)?;
        let mut first = 0;
        for _ in 0..WARM {
            first = self.command(&mut wire).await?;
        }
        let before = self.served.resident();
        let board = Rc::new(Deliveries { first, many: self.many, ..Deliveries::default() });
        for nth in 0..self.many {
            let wire = HttpConnection::open(self.served.address).await.map_err(broken_off)?;
            let (stream, got) = wire.stream(&self.follow_request(first)).await.map_err(broken_off)?;
            tokio::task::spawn_local(subscriber(stream, got, board.clone()));
            so_far(0.1 * f64::from(nth) / f64::from(self.many));
        }
        let mut found = SubscriberResult::default();
        let usage = self.served.usage();
        let answered = self.send_paced(&mut wire, time, &|it| so_far(0.1 + 0.8 * it)).await?;
        board.wait(self.last(&answered, first)).await;
        found.paced = board.came.get();
        found.spent = self.served.usage().since(&usage);
        let grown = before.zip(self.served.resident()).map(|(before, after)| after.saturating_sub(before));
        found.memory = grown.map(|it| it as f64 / f64::from(self.many));
        for (seq, at) in &answered {
            if let Some(done) = board.done(*seq) {
                found.delay.record(done.saturating_duration_since(*at));
            }
        }
        let begun = Instant::now();
        let mut last = self.last(&answered, first);
        for _ in 0..BURST {
            last = self.command(&mut wire).await?;
        }
        board.wait(last).await;
        found.burst_seconds = begun.elapsed().as_secs_f64();
        found.burst = board.came.get() - found.paced;
        found.came = board.came.get();
        found.expected = (last - first) * u64::from(self.many);
        Ok(found)
    }

    fn last(&self, answered: &[(u64, Instant)], first: u64) -> u64 {
        answered.last().map_or(first, |(seq, _)| *seq)
    }

    /// Commands at an even pace; the last entry of each, and when it was answered.
    async fn send_paced(
        &self,
        wire: &mut HttpConnection,
        time: Duration,
        so_far: &dyn Fn(f64),
    ) -> Result<Vec<(u64, Instant)>, BenchError> {
        let mut answered = Vec::new();
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / PACE);
        let begun = Instant::now();
        while begun.elapsed() < time {
            ticks.tick().await;
            answered.push((self.command(wire).await?, Instant::now()));
            so_far(begun.elapsed().as_secs_f64() / time.as_secs_f64());
        }
        Ok(answered)
    }

    /// One command; the number of its last entry.
    async fn command(&self, wire: &mut HttpConnection) -> Result<u64, BenchError> {
        let nth = self.asked.get();
        self.asked.set(nth + 1);
        let ask = LoadCommand { load: self.load, caller: 0, callers: 1, nth };
        let mut request = Vec::new();
        self.tasks.request(ask, &mut request);
        let reply = wire.ask(&request).await.map_err(broken_off)?;
        if self.tasks.classify_reply(ask, &reply) != CommandOutcome::Done {
            return Err(BenchError::NotAccepted { refused: 1, asked: nth + 1, why: reply.describe() });
        }
        let seq = reply.header("trackside-seq").and_then(|it| it.parse().ok());
        seq.ok_or_else(|| BenchError::other("an answer does not say which entry it made"))
    }

    fn follow_request(&self, after: u64) -> Vec<u8> {
        let (host, owner): (SocketAddr, &str) = (self.served.address, &self.owner);
        let request = format!(
            "GET /v1/events?audience=all&after={after} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {owner}\r\n\r\n"
        );
        request.into_bytes()
    }
}

/// The deliveries so far.
#[derive(Debug, Default)]
struct Deliveries {
    /// Follows the entries after this one.
    first: u64,
    many: u32,
    /// The number of subscribers that have each entry, and the time at which the last of them got it.
    entries: RefCell<Vec<(u32, Option<Instant>)>>,
    /// Entries that arrived in order, over all subscribers.
    came: Cell<u64>,
}

impl Deliveries {
    fn mark(&self, seq: u64) {
        let Some(place) = seq.checked_sub(self.first + 1).map(|it| it as usize) else { return };
        let mut entries = self.entries.borrow_mut();
        if entries.len() <= place {
            entries.resize(place + 1, (0, None));
        }
        if let Some((had, done)) = entries.get_mut(place) {
            *had += 1;
            if *had == self.many {
                *done = Some(Instant::now());
            }
        }
        self.came.set(self.came.get() + 1);
    }

    /// The time at which the last of them got it.
    fn done(&self, seq: u64) -> Option<Instant> {
        let place = seq.checked_sub(self.first + 1)?;
        self.entries.borrow().get(place as usize).and_then(|it| it.1)
    }

    /// Waits until all have it, or no more arrives.
    async fn wait(&self, seq: u64) {
        let until = Instant::now() + PATIENCE;
        while seq > self.first && self.done(seq).is_none() && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Reads entries as long as they arrive in order.
async fn subscriber(mut stream: TcpStream, mut got: Vec<u8>, board: Rc<Deliveries>) {
    let mut last = board.first;
    loop {
        let whole = got.iter().rposition(|it| *it == b'\n').map_or(0, |it| it + 1);
        // An event is sent in one piece, so its lines are never cut by the frames of pieces.
        for seq in got.get(..whole).unwrap_or_default().split(|it| *it == b'\n').filter_map(number) {
            if seq != last + 1 {
                return;
            }
            last = seq;
            board.mark(seq);
        }
        got.drain(..whole);
        if !matches!(stream.read_buf(&mut got).await, Ok(1..)) {
            return;
        }
    }
}

/// The number in the line that has it.
fn number(line: &[u8]) -> Option<u64> {
    std::str::from_utf8(line.strip_prefix(b"id:")?).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_with_a_number_count() {
        assert_eq!(number(b"id: 41"), Some(41));
        assert_eq!(number(b"id:7\r"), Some(7));
        assert_eq!(number(b"data: {\"id\": 3}"), None);
    }

    #[test]
    fn an_entry_is_done_when_every_subscriber_has_it() {
        let board = Deliveries { first: 10, many: 2, ..Deliveries::default() };
        board.mark(11);
        assert!(board.done(11).is_none());
        board.mark(11);
        assert!(board.done(11).is_some() && board.done(12).is_none() && board.done(3).is_none());
        assert_eq!(board.came.get(), 2);
    }
}
