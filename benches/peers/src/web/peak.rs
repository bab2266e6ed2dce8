//! The peak of a closed load, beside a bare handler that writes the same, and the parts of its time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::Web;
use super::append::{AppendSizes, HEAD};
use super::child::{RunningServer, get, small_runtime};
use super::load::{HttpLoadResult, HttpTarget, callers};
use super::tasks::{ControlTasks, Tasks};
use crate::BenchError;
use crate::account::Account;
use crate::control::CommitShape;
use crate::load::{Pace, closed};
use crate::plan::middle;
use crate::report::{FigureAim, Report, ReportRow, ReportUnit};
use crate::table::thousands;
use crate::usage::Groups;

/// The longest time for the flusher to catch up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The longest warm-up, as a multiple of the measured time.
const WARMING: u32 = 3;

/// A server at its peak, still there.
pub(super) struct ServerPeak {
    pub served: RunningServer,
    pub tasks: Arc<Tasks>,
    pub result: HttpLoadResult,
    /// The control, if there is one.
    pub bare: Option<RunningServer>,
}

/// The combined result of a server and the load.
#[derive(Default)]
struct PeakTotals {
    result: HttpLoadResult,
    spent: Groups,
}

impl PeakTotals {
    fn add(&mut self, result: &HttpLoadResult, spent: &Groups) {
        self.result.merge(result);
        self.spent.merge(spent);
    }

    /// The parts of a command's time.
    fn row(&self, name: &'static str, what: &str) -> ReportRow {
        let account = Account {
            spent: self.spent.clone(),
            commands: self.result.asked as f64,
            per_second: self.result.pace.per_second(),
            load: Some(self.result.spent.all),
        };
        account.row(name, what)
    }
}

/// The control with its results so far.
struct ControlServer {
    served: RunningServer,
    seen: PeakTotals,
    ratios: Vec<f64>,
}

impl Web<'_> {
    /// Finds how many commands a second; with controls in turns, if they are wanted.
    pub(super) fn peak(&self, controls: bool, report: &mut Report) -> Result<ServerPeak, BenchError> {
        let inside = if controls { Some(self.measure_in_process()?) } else { None };
        self.fill("served", self.plan.entities)?;
        (self.so_far)("starts the server", 0.0);
        let served = self.up("served")?;
        let owner = self.owner("served")?;
        let tasks = small_runtime()?.block_on(Tasks::of(served.address, &owner, self.plan.entities))?;
        let tasks = Arc::new(tasks);
        let target: Arc<dyn HttpTarget> = tasks.clone();
        let load = |time, what: &str| {
            callers(served.address, &target, &self.callers(time), &|it| (self.so_far)(what, it))
        };
        let warm = self.warm(&|time| load(time, "warms up"))?;
        let mut bare = match &inside {
            Some((shape, _)) => Some(self.start_control(shape, &warm)?),
            None => None,
        };
        let mut seen = PeakTotals::default();
        let what = format!("{} connections", self.plan.callers);
        for _ in 0..self.plan.turns.max(1) {
            let before = served.usage();
            let result = load(self.turn(), &what)?;
            seen.add(&result, &served.usage().since(&before));
            if let Some(bare) = &mut bare {
                caught_up(&served)?;
                self.run_control(bare, &tasks, result.pace.per_second())?;
            }
        }
        let title = format!("{}, {} entities", self.name(), thousands(self.plan.entities));
        let mut note = format!(
            "requests of {} bytes, answers of {}; every command with an idempotency key",
            seen.result.request(),
            seen.result.answer()
        );
        if seen.result.overloaded > 0 {
            note = format!("{note}; {} were answered with 429", thousands(seen.result.overloaded));
        }
        report.rows.push(ReportRow::new("throughput", title).with_pace(&seen.result.pace).note(note));
        if let (Some(bare), Some((shape, inside))) = (&bare, inside) {
            report.rows.extend(beside_rows(&seen, bare, &shape, &inside));
        }
        Ok(ServerPeak { served, tasks, result: seen.result, bare: bare.map(|it| it.served) })
    }

    /// Sends commands until every entity had one: a server that has just started has none of them in
    /// memory.
    fn warm(
        &self,
        load: &dyn Fn(Duration) -> Result<HttpLoadResult, BenchError>,
    ) -> Result<HttpLoadResult, BenchError> {
        let mut warm = load(self.turn() / 2)?;
        if warm.asked < self.plan.entities {
            let seconds = self.plan.entities as f64 / warm.pace.per_second().max(1.0);
            let longest = (self.plan.time * WARMING).as_secs_f64();
            warm.merge(&load(Duration::from_secs_f64(seconds.min(longest)))?);
        }
        Ok(warm)
    }

    /// The same commands without HTTP: the shape of their commits, and their pace.
    fn measure_in_process(&self) -> Result<(CommitShape, Pace), BenchError> {
        let subject = self.open_filled("inside", self.plan.entities)?;
        let so_far = |it| (self.so_far)("the same in process", it);
        closed(subject.as_ref(), &self.callers(self.turn() / 2), &so_far)?;
        let before = subject.figures();
        let pace = closed(subject.as_ref(), &self.callers(self.turn()), &so_far)?;
        let shape = CommitShape::of(&subject.figures().since(&before));
        Ok((shape.ok_or_else(|| BenchError::other("nothing was committed in process"))?, pace))
    }

    /// A bare handler that writes as much for a command, and answers as much, as was just seen.
    fn start_control(&self, shape: &CommitShape, seen: &HttpLoadResult) -> Result<ControlServer, BenchError> {
        let written = (shape.per_command * shape.bytes() as f64).round() as usize;
        let sizes = AppendSizes { written, answer: seen.answer().saturating_sub(HEAD) };
        let at = |name: &str| self.folder.join(name);
        let command = self.programs.append(&at("bare.data"), &at("bare.address"), sizes);
        let served = RunningServer::start(command, &at("bare.address"), &at("bare.log"), "/")?;
        Ok(ControlServer { served, seen: PeakTotals::default(), ratios: Vec::new() })
    }

    fn run_control(&self, bare: &mut ControlServer, tasks: &Arc<Tasks>, rate: f64) -> Result<(), BenchError> {
        let target: Arc<dyn HttpTarget> = Arc::new(ControlTasks { tasks: tasks.clone() });
        let load = |time| {
            let so_far = |it| (self.so_far)("a bare handler", it);
            callers(bare.served.address, &target, &self.callers(time), &so_far)
        };
        if bare.ratios.is_empty() {
            load(self.turn() / 2)?;
        }
        let before = bare.served.usage();
        let result = load(self.turn())?;
        bare.seen.add(&result, &bare.served.usage().since(&before));
        bare.ratios.push(rate / result.pace.per_second());
        Ok(())
    }
}

fn beside_rows(
    seen: &PeakTotals,
    bare: &ControlServer,
    shape: &CommitShape,
    inside: &Pace,
) -> Vec<ReportRow> {
    let written = shape.per_command * shape.bytes() as f64;
    let note = format!(
        "axum, {written:.0} bytes appended for a request and {} answered, one fdatasync for all who wait",
        bare.seen.result.answer()
    );
    let ratio = seen.result.pace.per_second() / inside.per_second();
    vec![
        ReportRow::new("bareHandler", "  of a bare handler that appends the same bytes")
            .with_pace(&bare.seen.result.pace)
            .figure(middle(bare.ratios.clone()), ReportUnit::Times)
            .aim(FigureAim::AtLeast(0.75))
            .note(note),
        ReportRow::new("inProcess", "  of the same commands in process")
            .with_pace(inside)
            .figure(ratio, ReportUnit::Times),
        seen.row("serverTime", "processor time of the server for a command"),
        bare.seen.row("bareTime", "  of the bare handler"),
    ]
}

/// Waits for the flusher, so that the control does not pay for it.
fn caught_up(served: &RunningServer) -> Result<(), BenchError> {
    let runtime = small_runtime()?;
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        let (_, body) = runtime.block_on(get(served.address, "/readyz", "")).map_err(BenchError::other)?;
        let behind = serde_json::from_slice::<Json>(&body).ok().and_then(|it| it.get("behind")?.as_u64());
        if behind == Some(0) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(BenchError::other("the flusher did not catch up within a minute"))
}
