//! Latency on a schedule at half of the peak, long enough to include rare events.

use std::time::Duration;

use super::{Bench, ShowProgress};
use crate::BenchError;
use crate::control::CommitShape;
use crate::control::pipeline::Pipeline;
use crate::load::{OpenLoad, OpenLoadResult, open};
use crate::report::{FigureAim, Report, ReportRow, ReportUnit};
use crate::subject::Subject;
use crate::table::time;

impl Bench<'_> {
    pub(super) fn latency(&self, subject: &dyn Subject, peak: f64, report: &mut Report) {
        let how = OpenLoad { load: self.next_load(), per_second: peak / 2.0, time: self.plan.time * 6 };
        let before = subject.figures();
        measure(subject, &how, row(how.time), FigureAim::Below(8.0), self.so_far, report);
        if let Some(shape) = CommitShape::of(&subject.figures().since(&before)) {
            report.rows.push(self.alone(&how, shape));
        }
    }

    /// The same arrivals at a program that only writes the same bytes: the latency of the disk alone.
    fn alone(&self, how: &OpenLoad, shape: CommitShape) -> ReportRow {
        let row = ReportRow::new("latencyAlone", "    of a pipeline that only writes the same");
        let path = self.folder.join("alone.db");
        beside(Pipeline::make(&path, self.plan.settings, shape), how, row, self.so_far)
    }
}

/// The same arrivals at a control.
pub(crate) fn beside<S: Subject>(
    control: Result<S, BenchError>,
    how: &OpenLoad,
    row: ReportRow,
    so_far: ShowProgress<'_>,
) -> ReportRow {
    let steady =
        control.and_then(|it| open(&it, how, &|share| so_far("a control, on the same schedule", share)));
    match steady {
        Err(trouble) => row.failed(trouble.to_string()),
        Ok(steady) => result_row(row, &steady, how),
    }
}

/// The row of a load of this duration.
pub(crate) fn row(time: Duration) -> ReportRow {
    ReportRow::new("latency", format!("  at half of that, on a schedule, {:.0} s", time.as_secs_f64()))
}

/// Measures and fills in this row.
pub(crate) fn measure(
    subject: &dyn Subject,
    how: &OpenLoad,
    row: ReportRow,
    aim: FigureAim,
    so_far: ShowProgress<'_>,
    report: &mut Report,
) {
    match open(subject, how, &|it| so_far("half of the peak, on a schedule", it)) {
        Err(trouble) => report.rows.push(row.failed(trouble.to_string())),
        Ok(steady) => {
            report.rows.push(result_row(row, &steady, how).aim(aim));
            report.seconds = steady.seconds;
        }
    }
}

fn result_row(row: ReportRow, steady: &OpenLoadResult, how: &OpenLoad) -> ReportRow {
    let latency = &steady.latency;
    let ratio = latency.at(0.99).as_secs_f64() / latency.at(0.5).as_secs_f64();
    let mut row = row.with_latency(latency).figure(ratio, ReportUnit::Times);
    row.per_second = Some(latency.count() as f64 / how.time.as_secs_f64());
    let note = format!(
        "p99 beside p50; p99.9 {}, longest {}; the sender itself was late by {} at p50",
        time(latency.at(0.999)),
        time(latency.max()),
        time(steady.sender.at(0.5))
    );
    match steady.overloaded + steady.unsent {
        0 => row.note(note),
        left => row.failed(format!("{left} commands found the queue full or were never sent: {note}")),
    }
}
