//! A large store: as fast as a small one, soon there after a start, and small while idle.

use std::path::Path;

use super::{Bench, middle};
use crate::BenchError;
use crate::load::{Pace, closed};
use crate::report::{FigureAim, Report, ReportRow, ReportUnit};
use crate::table::thousands;

impl Bench<'_> {
    /// Fills the large store, compares it with a small one if asked, and closes it.
    pub(super) fn large(&self, folder: &Path, compare: bool, report: &mut Report) -> Result<(), BenchError> {
        let entries = self.plan.large * 5;
        let large = self.store_at(folder, self.plan.large, entries)?;
        if !compare {
            return Ok(());
        }
        let small = self.store("small", self.plan.small, 0)?;
        let (mut large_pace, mut small_pace, mut ratios) = (Pace::default(), Pace::default(), Vec::new());
        for nth in 0..=self.plan.turns.max(1) {
            let small_turn =
                closed(small.as_ref(), &self.callers(self.turn()), &|it| (self.so_far)("a small store", it))?;
            let large_turn =
                closed(large.as_ref(), &self.callers(self.turn()), &|it| (self.so_far)("a large store", it))?;
            // The first turn warms both up.
            if nth > 0 {
                ratios.push(large_turn.per_second() / small_turn.per_second());
                small_pace.merge(&small_turn);
                large_pace.merge(&large_turn);
            }
        }
        let title = |entities: u64| format!("{} entities", thousands(entities));
        report.rows.push(
            ReportRow::new("small", format!("{}, {}", self.maker.name(), title(self.plan.small)))
                .with_pace(&small_pace),
        );
        let timers = match large.pending_timers() {
            0 => String::new(),
            many => format!(", {} timers", thousands(many)),
        };
        let what =
            format!("  {}{timers} and {} entries, of that", title(self.plan.large), thousands(entries));
        let row =
            ReportRow::new("scale", what).with_pace(&large_pace).figure(middle(ratios), ReportUnit::Times);
        report.rows.push(row.aim(FigureAim::AtLeast(0.85)));
        Ok(())
    }

    /// Starts the large store, which is closed.
    pub(super) fn start(&self, folder: &Path, report: &mut Report) {
        (self.so_far)("starts a large store", 0.0);
        let entities = thousands(self.plan.large);
        let row = ReportRow::new("start", format!("start with {entities} entities, to the first answer"));
        match self.maker.start(folder) {
            Err(trouble) => report.rows.push(row.failed(trouble.to_string())),
            Ok(started) => {
                report.rows.push(row.figure(started.seconds, ReportUnit::Seconds).aim(FigureAim::Below(3.0)));
                let row =
                    ReportRow::new("memory", "memory for each idle entity").aim(FigureAim::Below(1_024.0));
                report.rows.push(match started.per_entity() {
                    Some(bytes) => row.figure(bytes, ReportUnit::Bytes),
                    None => row.note("this system does not tell"),
                });
            }
        }
    }
}
