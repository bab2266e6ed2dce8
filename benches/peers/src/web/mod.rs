//! Measures the speed of Trackside over HTTP, beside controls in the same run.
//!
//! The server is a process of its own, as people run it; so are the controls. One load generator drives all
//! of them and reports its own processor time, because it shares the machine.

pub mod append;
mod child;
mod idle;
mod latency;
mod lines;
mod load;
mod peak;
mod restate;
mod subscribers;
mod tasks;
mod wire;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::load::ClosedLoad;
use crate::machine::{self, Machine, ProcessorWatch};
use crate::plan::{ShowProgress, postgres};
use crate::report::{FigureAim, Report, ReportRow, RunParameters};
use crate::subject::{Maker, StoreSize};
use crate::table::thousands;
use crate::{BenchError, Subject};
use append::AppendSizes;
use child::RunningServer;

/// Tasks of a store that many follow.
const FOLLOWED: u64 = 1_000;

/// A measurement that can be selected by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HttpMeasurement {
    /// Closed load, beside a bare handler on the same disk.
    Throughput,
    /// Half of the peak, on a schedule.
    Latency,
    /// The same, written by hand with PostgreSQL.
    Postgres,
    /// The same with Restate.
    Restate,
    /// Many subscribers of the journal.
    Subscribers,
    /// An idle server.
    Idle,
}

impl HttpMeasurement {
    pub const ALL: [Self; 6] =
        [Self::Throughput, Self::Latency, Self::Postgres, Self::Restate, Self::Subscribers, Self::Idle];
}

/// The plan of the measurements.
#[derive(Clone, Debug)]
pub struct HttpPlan {
    /// The measurements; empty means none.
    pub parts: Vec<HttpMeasurement>,
    /// Connections that are open, each with a caller that waits.
    pub callers: u32,
    pub entities: u64,
    /// For how long each rate is measured; a load on a schedule takes six times as long.
    pub time: Duration,
    pub subscribers: u32,
    /// Turns that the server and its control take.
    pub turns: u32,
    /// The folder for programs of others.
    pub cache: Option<PathBuf>,
    /// Whether programs of others may be fetched.
    pub fetch: bool,
}

/// Starts the measured programs.
pub trait Programs {
    /// A server on this folder, on a free port of this machine; where it listens is in the file `address` there.
    fn up(&self, data: &Path) -> Command;

    /// The command that calls [`append::serve`].
    fn append(&self, file: &Path, address: &Path, sizes: AppendSizes) -> Command;
}

/// Runs all measurements of the plan. A failed measurement is a row with the reason.
pub fn run(
    plan: &HttpPlan,
    maker: &dyn Maker,
    programs: &dyn Programs,
    folder: &Path,
    so_far: ShowProgress<'_>,
) -> Report {
    let web = Web { plan, maker, programs, folder, so_far, loads: AtomicU32::new(0) };
    let how = RunParameters {
        seconds: plan.time.as_secs_f64(),
        callers: plan.callers,
        entities: plan.entities,
        ..RunParameters::default()
    };
    let subject = format!("{} over HTTP", maker.name());
    let mut report = Report { subject, how, machine: Machine::look(folder), ..Report::default() };
    let wants = |part: HttpMeasurement| plan.parts.contains(&part);
    if [
        HttpMeasurement::Throughput,
        HttpMeasurement::Latency,
        HttpMeasurement::Postgres,
        HttpMeasurement::Restate,
    ]
    .into_iter()
    .any(wants)
    {
        web.around_the_peak(&mut report, wants);
    }
    if wants(HttpMeasurement::Subscribers) {
        web.subscribers(&mut report);
    }
    if wants(HttpMeasurement::Idle) {
        web.idle(&mut report);
    }
    report.machine.load_after = machine::load();
    report
}

/// A run on its way.
struct Web<'a> {
    plan: &'a HttpPlan,
    maker: &'a dyn Maker,
    programs: &'a dyn Programs,
    folder: &'a Path,
    so_far: ShowProgress<'a>,
    loads: AtomicU32,
}

impl Web<'_> {
    /// The measurements that need the peak, with one server.
    fn around_the_peak(&self, report: &mut Report, wants: impl Fn(HttpMeasurement) -> bool) {
        let watch = ProcessorWatch::begin();
        let peak = self.peak(wants(HttpMeasurement::Throughput), report).map(|measured| {
            if wants(HttpMeasurement::Latency) {
                self.latency(&measured, report);
            }
            measured.result.pace.per_second()
        });
        report.warnings.extend(watch.end().map(|it| format!("throughput, {it}")));
        let peak = match peak {
            Ok(it) => it,
            Err(trouble) => {
                report.rows.push(ReportRow::new("throughput", self.name()).failed(trouble.to_string()));
                return;
            }
        };
        if wants(HttpMeasurement::Postgres) {
            let watch = ProcessorWatch::begin();
            let (folder, time) = (self.folder.join("pg"), self.plan.time);
            let row =
                postgres::row(&folder, self.plan.entities, time, peak, FigureAim::AtLeast(3.0), self.so_far);
            report.rows.push(row);
            report.warnings.extend(watch.end().map(|it| format!("PostgreSQL, {it}")));
        }
        if wants(HttpMeasurement::Restate) {
            let watch = ProcessorWatch::begin();
            report.rows.push(self.restate(peak));
            report.warnings.extend(watch.end().map(|it| format!("Restate, {it}")));
        }
    }

    fn name(&self) -> String {
        format!("{} over HTTP, {} connections", self.maker.name(), self.plan.callers)
    }

    /// A store with data, closed again.
    fn fill(&self, name: &str, entities: u64) -> Result<(), BenchError> {
        self.open_filled(name, entities).map(drop)
    }

    /// A filled subject that is still open.
    fn open_filled(&self, name: &str, entities: u64) -> Result<Box<dyn Subject>, BenchError> {
        let folder = self.folder.join(name);
        std::fs::create_dir(&folder).map_err(BenchError::file(&folder))?;
        let subject = self.maker.open(&folder)?;
        let what = format!("fills a store with {} entities", thousands(entities));
        subject.prepare(StoreSize { entities, entries: 0 }, &|share| (self.so_far)(&what, share))?;
        Ok(subject)
    }

    /// Starts a server on a folder of this run.
    fn up(&self, name: &str) -> Result<RunningServer, BenchError> {
        let folder = self.folder.join(name);
        let log = self.folder.join(format!("{name}.log"));
        RunningServer::start(self.programs.up(&folder), &folder.join("address"), &log, "/readyz")
    }

    /// The token of a server's owner.
    fn owner(&self, name: &str) -> Result<String, BenchError> {
        let file = self.folder.join(name).join("token");
        Ok(std::fs::read_to_string(&file).map_err(BenchError::file(&file))?.trim().to_owned())
    }

    fn callers(&self, time: Duration) -> ClosedLoad {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u32;
        ClosedLoad { load: self.next_load(), callers: self.plan.callers, threads: (cores / 2).max(1), time }
    }

    fn next_load(&self) -> u32 {
        self.loads.fetch_add(1, Ordering::Relaxed)
    }

    fn turn(&self) -> Duration {
        self.plan.time / self.plan.turns.max(1)
    }
}
