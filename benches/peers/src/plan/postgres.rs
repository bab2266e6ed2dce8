//! The same, written by hand with PostgreSQL, if it is installed.

use std::path::Path;
use std::time::Duration;

use super::{Bench, ShowProgress};
use crate::control::postgres::{CLIENTS, Installation, NOT_INSTALLED, PostgresResult, measure};
use crate::report::{FigureAim, Report, ReportRow, ReportUnit};
use crate::table::thousands;

impl Bench<'_> {
    pub(super) fn postgres(&self, peak: f64, report: &mut Report) {
        let (folder, plan) = (self.folder.join("pg"), self.plan);
        report.rows.push(row(&folder, plan.entities, plan.time, peak, FigureAim::AtLeast(6.0), self.so_far));
    }
}

/// Measures in a new folder and compares a peak with the best result.
pub(crate) fn row(
    folder: &Path,
    entities: u64,
    time: Duration,
    peak: f64,
    aim: FigureAim,
    so_far: ShowProgress<'_>,
) -> ReportRow {
    let row = ReportRow::new("postgres", "  of PostgreSQL by hand");
    let Some(installation) = Installation::find() else { return row.note(NOT_INSTALLED) };
    let so_far = |share| so_far("PostgreSQL, by pgbench", share);
    so_far(0.0);
    match measure(&installation, folder, entities, &CLIENTS, time, &so_far) {
        Err(trouble) => row.failed(trouble.to_string()),
        Ok(measured) => result_row(row.aim(aim), &measured, peak),
    }
}

fn result_row(row: ReportRow, measured: &PostgresResult, peak: f64) -> ReportRow {
    let Some(best) = measured.best() else { return row };
    let rate = |it: f64| thousands(it.round() as u64);
    let rates: Vec<String> = measured
        .tried
        .iter()
        .map(|it| format!("{} × {} {}", it.script, it.clients, rate(it.pace.per_second())))
        .collect();
    let mut note = format!("version {}; a second: {}", measured.version, rates.join(", "));
    if let Some(path) = &measured.elsewhere {
        note = format!("{note}; its files were in {path}, maybe another disk");
    }
    let ratio = peak / best.pace.per_second();
    let mut row = row.with_pace(&best.pace).figure(ratio, ReportUnit::Times).note(note);
    row.what = format!("  of PostgreSQL by hand, {}, {} clients", best.script, best.clients);
    row
}
