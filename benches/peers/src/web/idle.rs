//! A server on an empty folder: its start-up time and its idle memory.

use std::time::Duration;

use super::Web;
use crate::BenchError;
use crate::plan::middle;
use crate::report::{FigureAim, Report, ReportRow, ReportUnit};

/// The idle time before its memory is measured.
const QUIET: Duration = Duration::from_secs(1);

impl Web<'_> {
    pub(super) fn idle(&self, report: &mut Report) {
        let up = ReportRow::new("up", "from the start of `up` on an empty folder to ready");
        match self.starts() {
            Err(trouble) => report.rows.push(up.failed(trouble.to_string())),
            Ok((seconds, memory)) => {
                report.rows.push(up.figure(middle(seconds), ReportUnit::Seconds).aim(FigureAim::Below(1.0)));
                let row = ReportRow::new("idle", "memory of an idle server").aim(FigureAim::Below(60.0));
                report.rows.push(match memory {
                    Some(bytes) => row.figure(bytes as f64 / 1e6, ReportUnit::Megabytes),
                    None => row.note("this system does not tell"),
                });
            }
        }
    }

    /// Seconds of every start, and the most memory.
    fn starts(&self) -> Result<(Vec<f64>, Option<u64>), BenchError> {
        let (mut seconds, mut most) = (Vec::new(), None);
        for nth in 0..self.plan.turns.max(1) {
            (self.so_far)("starts on an empty folder", f64::from(nth) / f64::from(self.plan.turns));
            let served = self.up(&format!("empty-{nth}"))?;
            seconds.push(served.took.as_secs_f64());
            std::thread::sleep(QUIET);
            most = most.max(served.resident());
        }
        Ok((seconds, most))
    }
}
