//! Latency on a schedule at half of the peak, as in process but over connections.

use super::Web;
use super::lines::Lines;
use super::peak::Measured;
use crate::plan::latency;
use crate::report::{Aim, Report};

impl Web<'_> {
    pub(super) fn latency(&self, measured: &Measured, report: &mut Report) {
        let (load, time) = (self.next_load(), self.plan.time * 6);
        let how = crate::load::Open { load, per_second: measured.told.pace.per_second() / 2.0, time };
        let row = latency::row(time);
        let (tasks, address) = (measured.tasks.clone(), measured.served.address);
        let entities = tasks.entities();
        match Lines::open(address, tasks, self.plan.callers, entities) {
            Err(trouble) => report.rows.push(row.failed(trouble.to_string())),
            Ok(lines) => latency::measure(&lines, &how, row, Aim::Below(10.0), self.so_far, report),
        }
    }
}
