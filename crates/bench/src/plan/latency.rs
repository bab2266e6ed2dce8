//! Latency on a schedule at half of the peak, long enough to see what happens rarely.

use std::time::Duration;

use super::{Bench, SoFar};
use crate::load::{Open, open};
use crate::report::{Aim, Report, Row, Unit};
use crate::subject::Subject;
use crate::table::time;

impl Bench<'_> {
    pub(super) fn latency(&self, subject: &dyn Subject, peak: f64, report: &mut Report) {
        let how = Open { load: self.next_load(), per_second: peak / 2.0, time: self.plan.time * 6 };
        measure(subject, &how, row(how.time), Aim::Below(8.0), self.so_far, report);
    }
}

/// The row of a load that takes so long.
pub(crate) fn row(time: Duration) -> Row {
    Row::new("latency", format!("  at half of that, on a schedule, {:.0} s", time.as_secs_f64()))
}

/// Measures, and tells it in this row.
pub(crate) fn measure(
    subject: &dyn Subject,
    how: &Open,
    row: Row,
    aim: Aim,
    so_far: SoFar<'_>,
    report: &mut Report,
) {
    match open(subject, how, &|it| so_far("half of the peak, on a schedule", it)) {
        Err(trouble) => report.rows.push(row.failed(trouble.to_string())),
        Ok(steady) => {
            let latency = &steady.latency;
            let ratio = latency.at(0.99).as_secs_f64() / latency.at(0.5).as_secs_f64();
            let mut row = row.timed(latency).figure(ratio, Unit::Times).aim(aim);
            row.per_second = Some(latency.count() as f64 / how.time.as_secs_f64());
            let late = time(steady.sender.at(0.5));
            let mut note = format!(
                "p99 beside p50; p99.9 {}, longest {}; the sender itself was late by {late} at p50",
                time(latency.at(0.999)),
                time(latency.max())
            );
            let left = steady.overloaded + steady.unsent;
            if left > 0 {
                note = format!("{left} commands found the queue full or were never sent: {note}");
                row = row.failed(note);
            } else {
                row = row.note(note);
            }
            report.rows.push(row);
            report.seconds = steady.seconds;
        }
    }
}
