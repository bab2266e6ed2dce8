//! Latency on a schedule at half of the peak, as in process but over connections.

use std::net::SocketAddr;
use std::sync::Arc;

use super::Web;
use super::lines::HttpConnections;
use super::load::HttpTarget;
use super::peak::ServerPeak;
use super::tasks::ControlTasks;
use crate::BenchError;
use crate::plan::latency;
use crate::report::{FigureAim, Report, ReportRow};

impl Web<'_> {
    pub(super) fn latency(&self, measured: &ServerPeak, report: &mut Report) {
        let (load, time) = (self.next_load(), self.plan.time * 6);
        let how = crate::load::OpenLoad { load, per_second: measured.result.pace.per_second() / 2.0, time };
        let row = latency::row(time);
        match self.lines(measured.served.address, measured.tasks.clone(), measured) {
            Err(trouble) => report.rows.push(row.failed(trouble.to_string())),
            Ok(lines) => latency::measure(&lines, &how, row, FigureAim::Below(10.0), self.so_far, report),
        }
        if let Some(bare) = &measured.bare {
            let row = ReportRow::new("latencyBare", "    of the bare handler, at the same rate");
            let target = Arc::new(ControlTasks { tasks: measured.tasks.clone() });
            let lines = self.lines(bare.address, target, measured);
            report.rows.push(latency::beside(lines, &how, row, self.so_far));
        }
    }

    fn lines(
        &self,
        to: SocketAddr,
        target: Arc<dyn HttpTarget>,
        of: &ServerPeak,
    ) -> Result<HttpConnections, BenchError> {
        HttpConnections::open(to, target, self.plan.callers, of.tasks.entities())
    }
}
