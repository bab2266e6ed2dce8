//! Open load: commands arrive on a schedule, whether or not the last was answered.
//!
//! Latency counts from the due time of a command. So a stall delays all commands that were due during it,
//! as for independent callers; a closed load would hide that.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::PATIENCE;
use crate::BenchError;
use crate::latency::Latency;
use crate::subject::{AnswerSender, CommandOutcome, LoadCommand, Subject, TimedAnswer};

/// A load on a schedule.
#[derive(Clone, Copy, Debug)]
pub struct OpenLoad {
    /// The number of the load in this run.
    pub load: u32,
    pub per_second: f64,
    pub time: Duration,
}

/// The result of a load on a schedule.
#[derive(Clone, Debug, Default)]
pub struct OpenLoadResult {
    pub latency: Latency,
    /// The delay of the sender itself: the part of the latency that is not the subject's.
    pub sender: Latency,
    /// By when they were due, second by second.
    pub seconds: Vec<LoadSecond>,
    pub overloaded: u64,
    /// Due, but the sender did not get to it in time.
    pub unsent: u64,
}

/// One second of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadSecond {
    pub p50: Duration,
    pub max: Duration,
}

/// Sends commands when they are due, waits for all answers.
pub fn open(
    subject: &dyn Subject,
    how: &OpenLoad,
    so_far: &dyn Fn(f64),
) -> Result<OpenLoadResult, BenchError> {
    let (to, answers) = channel();
    let begun = Instant::now();
    let between = Duration::from_secs_f64(1.0 / how.per_second.max(0.001));
    let due_in_all = (how.time.as_secs_f64() / between.as_secs_f64()).floor().max(1.0) as u64;
    let due_at = |nth: u64| begun + Duration::from_nanos((between.as_nanos() as u64).saturating_mul(nth));
    let (sender, sent, seen) = std::thread::scope(|scope| {
        let counting = scope.spawn(move || count(&answers, begun, how.time));
        let mut sender = Latency::default();
        let mut nth = 0;
        let mut told = begun;
        // Sends for as long again, so that a long stall is seen and a hopeless one ends.
        let give_up = begun + how.time * 2;
        while nth < due_in_all {
            let now = Instant::now();
            if now > give_up {
                break;
            }
            let due = due_at(nth);
            if due > now {
                std::thread::sleep(due - now);
                continue;
            }
            sender.record(now - due);
            let ask = LoadCommand { load: how.load, caller: 0, callers: 1, nth };
            subject.submit(ask, AnswerSender::new(to.clone(), 0, due));
            nth += 1;
            if now - told > Duration::from_millis(100) {
                told = now;
                so_far((now - begun).as_secs_f64() / how.time.as_secs_f64());
            }
        }
        // After the last answer all senders are gone and counting ends.
        drop(to);
        (sender, nth, counting.join())
    });
    let mut counted =
        seen.map_err(|_| BenchError::Subject("the thread that counts answers ended early".to_owned()))??;
    if counted.refused + counted.failed > 0 {
        let why = format!("{} refused, {} failed", counted.refused, counted.failed);
        return Err(BenchError::NotAccepted { refused: counted.refused + counted.failed, asked: sent, why });
    }
    let mut latency = Latency::default();
    counted.seconds.iter().for_each(|it| latency.merge(it));
    let seconds = counted.seconds.drain(..).filter(|it| it.count() > 0);
    let seconds = seconds.map(|it| LoadSecond { p50: it.at(0.5), max: it.max() }).collect();
    Ok(OpenLoadResult { latency, sender, seconds, overloaded: counted.overloaded, unsent: due_in_all - sent })
}

struct AnswerCounts {
    seconds: Vec<Latency>,
    refused: u64,
    failed: u64,
    overloaded: u64,
}

fn count(
    answers: &Receiver<TimedAnswer>,
    begun: Instant,
    time: Duration,
) -> Result<AnswerCounts, BenchError> {
    let seconds = time.as_secs_f64().ceil().max(1.0) as usize;
    let mut counted =
        AnswerCounts { seconds: vec![Latency::default(); seconds], refused: 0, failed: 0, overloaded: 0 };
    loop {
        match answers.recv_timeout(PATIENCE) {
            Ok(answered) => match answered.outcome {
                CommandOutcome::Done => {
                    let second = (answered.since - begun).as_secs() as usize;
                    if let Some(latency) = counted.seconds.get_mut(second.min(seconds - 1)) {
                        latency.record(answered.at - answered.since);
                    }
                }
                CommandOutcome::Refused => counted.refused += 1,
                CommandOutcome::Failed => counted.failed += 1,
                CommandOutcome::Overloaded => counted.overloaded += 1,
            },
            Err(RecvTimeoutError::Disconnected) => return Ok(counted),
            Err(RecvTimeoutError::Timeout) => {
                return Err(BenchError::Unanswered { waiting: 1, seconds: PATIENCE.as_secs() });
            }
        }
    }
}
