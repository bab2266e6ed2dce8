//! Closed load: each caller sends again as soon as it has its answer.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::{PATIENCE, Pace};
use crate::BenchError;
use crate::latency::Latency;
use crate::subject::{AnswerSender, CommandOutcome, LoadCommand, Subject, TimedAnswer};

/// A load of callers that wait.
#[derive(Clone, Copy, Debug)]
pub struct ClosedLoad {
    /// The number of the load in this run.
    pub load: u32,
    pub callers: u32,
    /// Threads that act for the callers: as in a server, many callers share few.
    pub threads: u32,
    pub time: Duration,
}

/// Lets callers send until the time is up; only answers that arrived in time count.
pub fn closed(
    subject: &dyn Subject,
    how: &ClosedLoad,
    so_far: &(dyn Fn(f64) + Sync),
) -> Result<Pace, BenchError> {
    let begun = Instant::now();
    let threads = how.threads.clamp(1, how.callers.max(1));
    let parts: Vec<Result<ThreadResult, BenchError>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|first| {
                scope.spawn(move || CallerThread::new(subject, how, begun, first, threads).run(so_far))
            })
            .collect();
        running.into_iter().map(|it| it.join().unwrap_or_else(|_| Err(broken()))).collect()
    });
    let mut all = ThreadResult::default();
    for part in parts {
        let part = part?;
        all.latency.merge(&part.latency);
        all.asked += part.asked;
        all.refused += part.refused;
        all.failed += part.failed;
    }
    if all.refused + all.failed > 0 {
        let why = format!("{} refused, {} failed", all.refused, all.failed);
        return Err(BenchError::NotAccepted { refused: all.refused + all.failed, asked: all.asked, why });
    }
    Ok(Pace { commands: all.latency.count() as f64, seconds: how.time.as_secs_f64(), latency: all.latency })
}

fn broken() -> BenchError {
    BenchError::Subject("a thread of the load ended early; please report this".to_owned())
}

/// The measurements of one thread.
#[derive(Default)]
struct ThreadResult {
    latency: Latency,
    asked: u64,
    refused: u64,
    failed: u64,
}

/// One thread that acts for some of the callers.
struct CallerThread<'a> {
    subject: &'a dyn Subject,
    how: &'a ClosedLoad,
    begun: Instant,
    /// The first of its callers; the others follow in steps of `step`.
    first: u32,
    step: u32,
    to: Sender<TimedAnswer>,
    answers: Receiver<TimedAnswer>,
    /// The number of commands that each of its callers has sent.
    asked: Vec<u64>,
    part: ThreadResult,
}

impl<'a> CallerThread<'a> {
    fn new(subject: &'a dyn Subject, how: &'a ClosedLoad, begun: Instant, first: u32, step: u32) -> Self {
        let (to, answers) = channel();
        let callers = how.callers.saturating_sub(first).div_ceil(step) as usize;
        Self {
            subject,
            how,
            begun,
            first,
            step,
            to,
            answers,
            asked: vec![0; callers],
            part: ThreadResult::default(),
        }
    }

    fn run(mut self, so_far: &(dyn Fn(f64) + Sync)) -> Result<ThreadResult, BenchError> {
        let end = self.begun + self.how.time;
        let mut waiting = self.asked.len();
        let mut told = self.begun;
        for caller in (self.first..self.how.callers).step_by(self.step as usize) {
            self.ask(caller);
        }
        while waiting > 0 {
            let answered = match self.answers.recv_timeout(PATIENCE) {
                Ok(it) => it,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(BenchError::Unanswered { waiting, seconds: PATIENCE.as_secs() });
                }
            };
            // Measured when the caller has its answer, not when the answer was sent.
            let now = Instant::now();
            match answered.outcome {
                CommandOutcome::Done if now <= end => self.part.latency.record(now - answered.since),
                CommandOutcome::Done => {}
                CommandOutcome::Refused => self.part.refused += 1,
                CommandOutcome::Failed => self.part.failed += 1,
                CommandOutcome::Overloaded => std::thread::yield_now(),
            }
            if now < end {
                self.ask(answered.caller);
            } else {
                waiting -= 1;
            }
            if self.first == 0 && now.duration_since(told) > Duration::from_millis(100) {
                told = now;
                so_far((now - self.begun).as_secs_f64() / self.how.time.as_secs_f64());
            }
        }
        Ok(self.part)
    }

    fn ask(&mut self, caller: u32) {
        let place = (caller - self.first) / self.step;
        let Some(asked) = self.asked.get_mut(place as usize) else { return };
        let ask = LoadCommand { load: self.how.load, caller, callers: self.how.callers, nth: *asked };
        *asked += 1;
        self.part.asked += 1;
        self.subject.submit(ask, AnswerSender::new(self.to.clone(), caller, Instant::now()));
    }
}
