//! The processor time of a command, by part.

use crate::report::{ReportRow, ReportUnit};
use crate::usage::Groups;

/// Processor time, and the commands it was spent on.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub spent: Groups,
    pub commands: f64,
    pub per_second: f64,
    /// Seconds used by the load generator, if not included in `spent`.
    pub load: Option<f64>,
}

impl Account {
    /// Processor time of one command by thread; the note says how much of all cores is left.
    pub fn row(&self, name: &'static str, what: &str) -> ReportRow {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
        let each = |seconds: f64| seconds * 1e6 / self.commands.max(1.0);
        let total = self.spent.total();
        let whole = cores * 1e6 / self.per_second.max(0.001);
        let system = total.system / total.all.max(1e-9) * 100.0;
        let load = self.load.map(each);
        let rest = (whole - each(total.all) - load.unwrap_or_default()).max(0.0);
        let by_load = load.map(|it| format!("the load itself took {it:.1}, and ")).unwrap_or_default();
        let note = format!(
            "{system:.0} % of it in the system; of {whole:.1} µs of all cores for a command {by_load}{rest:.1} were idle, the disk's or others'"
        );
        ReportRow::new(name, what)
            .figure(each(total.all), ReportUnit::Micros)
            .shares(self.spent.micros(self.commands))
            .note(note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::ProcessorTime;

    #[test]
    fn processor_time_is_split_by_thread() {
        let mut spent = Groups::default();
        spent.put("decider", &ProcessorTime { all: 3.0, system: 0.3 });
        spent.put("committer", &ProcessorTime { all: 1.0, system: 0.7 });
        let account = Account { spent, commands: 100_000.0, per_second: 10_000.0, load: Some(0.5) };
        let row = account.row("time", "time");
        assert_eq!(row.figure.unwrap().value, 40.0);
        let shares = [("decider", 30.0), ("committer", 10.0)].map(|(name, it)| (name.to_owned(), it));
        assert_eq!(row.shares, shares);
        let note = row.note.unwrap();
        assert!(note.starts_with("25 % of it in the system") && note.contains("took 5.0"), "{note}");
    }
}
