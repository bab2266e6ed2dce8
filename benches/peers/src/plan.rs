//! The measurements, their order and their controls.

pub(crate) mod latency;
mod peak;
pub(crate) mod postgres;
mod scale;

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::BenchError;
use crate::control::sqlite::SqliteSettings;
use crate::load::ClosedLoad;
use crate::machine::{self, Machine, ProcessorWatch};
use crate::report::{Report, ReportRow, RunParameters};
use crate::subject::{Maker, Subject};

/// A measurement that can be selected by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InProcessMeasurement {
    /// Closed load, beside bare loops on the same disk.
    Throughput,
    /// Half of the peak, on a schedule.
    Latency,
    /// The same, written by hand with PostgreSQL.
    Postgres,
    /// A large store beside a small one.
    Scale,
    /// A large store from closed to its first answer, and its memory.
    Start,
}

impl InProcessMeasurement {
    pub const ALL: [Self; 5] = [Self::Throughput, Self::Latency, Self::Postgres, Self::Scale, Self::Start];

    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Postgres => "postgres",
            Self::Scale => "scale",
            Self::Start => "start",
        }
    }
}

/// The plan of the measurements.
#[derive(Clone, Debug)]
pub struct InProcessPlan {
    /// The measurements; empty means none.
    pub parts: Vec<InProcessMeasurement>,
    pub callers: u32,
    pub entities: u64,
    /// For how long each rate is measured; a load on a schedule takes six times as long.
    pub time: Duration,
    /// Entities of the large store; its journal has five times as many entries.
    pub large: u64,
    /// Entities of the small store it is compared with.
    pub small: u64,
    /// Turns that a subject and its controls take, so that a busy moment affects both.
    pub turns: u32,
    /// The journal's settings, for the controls.
    pub settings: SqliteSettings,
}

impl Default for InProcessPlan {
    fn default() -> Self {
        Self {
            parts: InProcessMeasurement::ALL.to_vec(),
            callers: 64,
            entities: 100_000,
            time: Duration::from_secs(10),
            large: 1_000_000,
            small: 10_000,
            turns: 3,
            settings: SqliteSettings::default(),
        }
    }
}

/// Receives the current activity and its progress from 0 to 1.
pub type ShowProgress<'a> = &'a (dyn Fn(&str, f64) + Sync);

/// Runs all measurements of the plan. A failed measurement is a row with the reason.
pub fn run(plan: &InProcessPlan, maker: &dyn Maker, folder: &Path, so_far: ShowProgress<'_>) -> Report {
    let bench = Bench { plan, maker, folder, so_far, loads: AtomicU32::new(0) };
    let how = RunParameters {
        seconds: plan.time.as_secs_f64(),
        callers: plan.callers,
        entities: plan.entities,
        large: plan.large,
    };
    let subject = maker.name().to_owned();
    let mut report = Report { subject, how, machine: Machine::look(folder), ..Report::default() };
    let wants = |part: InProcessMeasurement| plan.parts.contains(&part);
    if wants(InProcessMeasurement::Throughput)
        || wants(InProcessMeasurement::Latency)
        || wants(InProcessMeasurement::Postgres)
    {
        bench.around_the_peak(&mut report, wants);
    }
    if wants(InProcessMeasurement::Scale) || wants(InProcessMeasurement::Start) {
        let watch = ProcessorWatch::begin();
        let folder = bench.folder.join("large");
        match bench.large(&folder, wants(InProcessMeasurement::Scale), &mut report) {
            Ok(()) if wants(InProcessMeasurement::Start) => bench.start(&folder, &mut report),
            Ok(()) => {}
            Err(trouble) => {
                report.rows.push(
                    ReportRow::new("scale", format!("{}, a large store", maker.name()))
                        .failed(trouble.to_string()),
                );
            }
        }
        report.warnings.extend(watch.end().map(|it| format!("large store, {it}")));
    }
    report.machine.load_after = machine::load();
    report
}

/// A run on its way.
struct Bench<'a> {
    plan: &'a InProcessPlan,
    maker: &'a dyn Maker,
    folder: &'a Path,
    so_far: ShowProgress<'a>,
    loads: AtomicU32,
}

impl Bench<'_> {
    /// The measurements that need the peak, on one store.
    fn around_the_peak(&self, report: &mut Report, wants: impl Fn(InProcessMeasurement) -> bool) {
        let watch = ProcessorWatch::begin();
        let peak = self.store("store", self.plan.entities, 0).and_then(|subject| {
            let peak = self.peak(subject.as_ref(), wants(InProcessMeasurement::Throughput), report)?;
            Ok((subject, peak))
        });
        report.warnings.extend(watch.end().map(|it| format!("throughput, {it}")));
        let (subject, peak) = match peak {
            Ok(it) => it,
            Err(trouble) => {
                report.rows.push(ReportRow::new("throughput", self.maker.name()).failed(trouble.to_string()));
                return;
            }
        };
        if wants(InProcessMeasurement::Latency) {
            let watch = ProcessorWatch::begin();
            self.latency(subject.as_ref(), peak, report);
            report.warnings.extend(watch.end().map(|it| format!("latency, {it}")));
        }
        drop(subject);
        if wants(InProcessMeasurement::Postgres) {
            let watch = ProcessorWatch::begin();
            self.postgres(peak, report);
            report.warnings.extend(watch.end().map(|it| format!("PostgreSQL, {it}")));
        }
    }

    /// A new store with data.
    fn store(&self, name: &str, entities: u64, entries: u64) -> Result<Box<dyn Subject>, BenchError> {
        self.store_at(&self.folder.join(name), entities, entries)
    }

    fn store_at(&self, folder: &Path, entities: u64, entries: u64) -> Result<Box<dyn Subject>, BenchError> {
        std::fs::create_dir(folder).map_err(BenchError::file(folder))?;
        let subject = self.maker.open(folder)?;
        let what = format!("fills a store with {} entities", crate::table::thousands(entities));
        subject.prepare(crate::StoreSize { entities, entries }, &|share| (self.so_far)(&what, share))?;
        Ok(subject)
    }

    fn callers(&self, time: Duration) -> ClosedLoad {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u32;
        ClosedLoad { load: self.next_load(), callers: self.plan.callers, threads: (cores / 2).max(1), time }
    }

    /// Loads are numbered, so that their commands have names of their own.
    fn next_load(&self) -> u32 {
        self.loads.fetch_add(1, Ordering::Relaxed)
    }

    fn turn(&self) -> Duration {
        self.plan.time / self.plan.turns.max(1)
    }
}

/// The middle one; of an even number, the lower of the two in the middle.
pub(crate) fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_odd_turn_does_not_decide() {
        assert_eq!(middle(vec![0.7, 0.1, 0.72]), 0.7);
        assert_eq!(middle(vec![0.7, 0.5]), 0.5);
        assert!(middle(Vec::new()).is_nan());
    }
}
