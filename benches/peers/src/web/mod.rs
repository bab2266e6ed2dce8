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

use crate::load::Closed;
use crate::machine::{self, Machine, Watch};
use crate::plan::{SoFar, postgres};
use crate::report::{Aim, How, Report, Row};
use crate::subject::{Maker, Size};
use crate::table::thousands;
use crate::{Subject, Trouble};
use append::Sizes;
use child::Served;

/// Tasks of a store that many follow.
const FOLLOWED: u64 = 1_000;

/// A measurement that can be selected by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
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

impl Part {
    pub const ALL: [Self; 6] =
        [Self::Throughput, Self::Latency, Self::Postgres, Self::Restate, Self::Subscribers, Self::Idle];
}

/// The plan of the measurements.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The measurements; empty means none.
    pub parts: Vec<Part>,
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
    fn append(&self, file: &Path, address: &Path, sizes: Sizes) -> Command;
}

/// Runs all measurements of the plan. A failed measurement is a row with the reason.
pub fn run(
    plan: &Plan,
    maker: &dyn Maker,
    programs: &dyn Programs,
    folder: &Path,
    so_far: SoFar<'_>,
) -> Report {
    let web = Web { plan, maker, programs, folder, so_far, loads: AtomicU32::new(0) };
    let how = How {
        seconds: plan.time.as_secs_f64(),
        callers: plan.callers,
        entities: plan.entities,
        ..How::default()
    };
    let subject = format!("{} over HTTP", maker.name());
    let mut report = Report { subject, how, machine: Machine::look(folder), ..Report::default() };
    let wants = |part: Part| plan.parts.contains(&part);
    if [Part::Throughput, Part::Latency, Part::Postgres, Part::Restate].into_iter().any(wants) {
        web.around_the_peak(&mut report, wants);
    }
    if wants(Part::Subscribers) {
        web.subscribers(&mut report);
    }
    if wants(Part::Idle) {
        web.idle(&mut report);
    }
    report.machine.load_after = machine::load();
    report
}

/// A run on its way.
struct Web<'a> {
    plan: &'a Plan,
    maker: &'a dyn Maker,
    programs: &'a dyn Programs,
    folder: &'a Path,
    so_far: SoFar<'a>,
    loads: AtomicU32,
}

impl Web<'_> {
    /// The measurements that need the peak, with one server.
    fn around_the_peak(&self, report: &mut Report, wants: impl Fn(Part) -> bool) {
        let watch = Watch::begin();
        let peak = self.peak(wants(Part::Throughput), report).map(|measured| {
            if wants(Part::Latency) {
                self.latency(&measured, report);
            }
            measured.told.pace.per_second()
        });
        report.warnings.extend(watch.end().map(|it| format!("throughput, {it}")));
        let peak = match peak {
            Ok(it) => it,
            Err(trouble) => {
                report.rows.push(Row::new("throughput", self.name()).failed(trouble.to_string()));
                return;
            }
        };
        if wants(Part::Postgres) {
            let watch = Watch::begin();
            let (folder, time) = (self.folder.join("pg"), self.plan.time);
            let row = postgres::row(&folder, self.plan.entities, time, peak, Aim::AtLeast(3.0), self.so_far);
            report.rows.push(row);
            report.warnings.extend(watch.end().map(|it| format!("PostgreSQL, {it}")));
        }
        if wants(Part::Restate) {
            let watch = Watch::begin();
            report.rows.push(self.restate(peak));
            report.warnings.extend(watch.end().map(|it| format!("Restate, {it}")));
        }
    }

    fn name(&self) -> String {
        format!("{} over HTTP, {} connections", self.maker.name(), self.plan.callers)
    }

    /// A store with data, closed again.
    fn fill(&self, name: &str, entities: u64) -> Result<(), Trouble> {
        self.filled(name, entities).map(drop)
    }

    /// A filled subject that is still open.
    fn filled(&self, name: &str, entities: u64) -> Result<Box<dyn Subject>, Trouble> {
        let folder = self.folder.join(name);
        std::fs::create_dir(&folder).map_err(Trouble::file(&folder))?;
        let subject = self.maker.open(&folder)?;
        let what = format!("fills a store with {} entities", thousands(entities));
        subject.prepare(Size { entities, entries: 0 }, &|share| (self.so_far)(&what, share))?;
        Ok(subject)
    }

    /// Starts a server on a folder of this run.
    fn up(&self, name: &str) -> Result<Served, Trouble> {
        let folder = self.folder.join(name);
        let log = self.folder.join(format!("{name}.log"));
        Served::start(self.programs.up(&folder), &folder.join("address"), &log, "/readyz")
    }

    /// The token of a server's owner.
    fn owner(&self, name: &str) -> Result<String, Trouble> {
        let file = self.folder.join(name).join("token");
        Ok(std::fs::read_to_string(&file).map_err(Trouble::file(&file))?.trim().to_owned())
    }

    fn callers(&self, time: Duration) -> Closed {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u32;
        Closed { load: self.next_load(), callers: self.plan.callers, threads: (cores / 2).max(1), time }
    }

    fn next_load(&self) -> u32 {
        self.loads.fetch_add(1, Ordering::Relaxed)
    }

    fn turn(&self) -> Duration {
        self.plan.time / self.plan.turns.max(1)
    }
}
