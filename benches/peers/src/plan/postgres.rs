//! The same, written by hand with PostgreSQL, if it is installed.

use std::path::Path;
use std::time::Duration;

use super::{Bench, SoFar};
use crate::control::postgres::{CLIENTS, Installation, Measured, NOT_INSTALLED, measure};
use crate::report::{Aim, Report, Row, Unit};
use crate::table::thousands;

impl Bench<'_> {
    pub(super) fn postgres(&self, peak: f64, report: &mut Report) {
        let (folder, plan) = (self.folder.join("pg"), self.plan);
        report.rows.push(row(&folder, plan.entities, plan.time, peak, Aim::AtLeast(6.0), self.so_far));
    }
}

/// Measures in a new folder and compares a peak with the best result.
pub(crate) fn row(
    folder: &Path,
    entities: u64,
    time: Duration,
    peak: f64,
    aim: Aim,
    so_far: SoFar<'_>,
) -> Row {
    let row = Row::new("postgres", "  of PostgreSQL by hand");
    let Some(installation) = Installation::find() else { return row.note(NOT_INSTALLED) };
    let so_far = |share| so_far("PostgreSQL, by pgbench", share);
    so_far(0.0);
    match measure(&installation, folder, entities, &CLIENTS, time, &so_far) {
        Err(trouble) => row.failed(trouble.to_string()),
        Ok(measured) => told(row.aim(aim), &measured, peak),
    }
}

fn told(row: Row, measured: &Measured, peak: f64) -> Row {
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
    let mut row = row.paced(&best.pace).figure(ratio, Unit::Times).note(note);
    row.what = format!("  of PostgreSQL by hand, {}, {} clients", best.script, best.clients);
    row
}
