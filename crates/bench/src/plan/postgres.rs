//! The same by hand with PostgreSQL, where it is installed.

use super::Bench;
use crate::control::postgres::{CLIENTS, Installation, NOT_INSTALLED, measure};
use crate::report::{Aim, Report, Row, Unit};
use crate::table::thousands;

impl Bench<'_> {
    pub(super) fn postgres(&self, peak: f64, report: &mut Report) {
        let row = Row::new("postgres", "  of PostgreSQL by hand");
        let Some(installation) = Installation::find() else {
            report.rows.push(row.note(NOT_INSTALLED));
            return;
        };
        let so_far = |share| (self.so_far)("PostgreSQL, by pgbench", share);
        so_far(0.0);
        match measure(
            &installation,
            &self.folder.join("pg"),
            self.plan.entities,
            &CLIENTS,
            self.plan.time,
            &so_far,
        ) {
            Err(trouble) => report.rows.push(row.failed(trouble.to_string())),
            Ok(measured) => {
                let Some(best) = measured.best() else { return };
                let ratio = peak / best.pace.per_second();
                let rates: Vec<String> = measured
                    .tried
                    .iter()
                    .map(|it| {
                        format!(
                            "{} × {} {}",
                            it.script,
                            it.clients,
                            thousands(it.pace.per_second().round() as u64)
                        )
                    })
                    .collect();
                let mut note = format!("version {}; a second: {}", measured.version, rates.join(", "));
                if let Some(path) = &measured.elsewhere {
                    note = format!("{note}; its files were in {path}, maybe another disk");
                }
                let mut row =
                    row.paced(&best.pace).figure(ratio, Unit::Times).aim(Aim::AtLeast(6.0)).note(note);
                row.what = format!("  of PostgreSQL by hand, {}, {} clients", best.script, best.clients);
                report.rows.push(row);
            }
        }
    }
}
