//! The peak of a closed load, beside bare loops that write the same.

use super::{Bench, middle};
use crate::BenchError;
use crate::account::Account;
use crate::control::file::PlainFile;
use crate::control::sqlite::{BareSqlite, BatchLayout};
use crate::control::{CommitShape, Control};
use crate::load::{Pace, closed};
use crate::report::{FigureAim, Report, ReportRow, ReportUnit};
use crate::subject::{CommitTotals, Subject};
use crate::table::thousands;
use crate::usage::{Groups, ProcessorTime, Usage};

/// A control with its results so far.
struct ControlRun {
    name: &'static str,
    what: &'static str,
    aim: Option<FigureAim>,
    control: Box<dyn Control>,
    pace: Pace,
    spent: ProcessorTime,
    ratios: Vec<f64>,
}

impl Bench<'_> {
    /// Finds how many commands a second; with controls in turns, if they are wanted.
    pub(super) fn peak(
        &self,
        subject: &dyn Subject,
        controls: bool,
        report: &mut Report,
    ) -> Result<f64, BenchError> {
        let what = format!("{} callers", self.plan.callers);
        let mut beside = if controls { self.controls()? } else { Vec::new() };
        let (mut pace, mut spent) = (Pace::default(), Groups::default());
        let mut figures = CommitTotals::default();
        for _ in 0..self.plan.turns.max(1) {
            // A warm-up: one-time costs, such as growing a file, are over, and the flusher has the same backlog at the start and at the end.
            closed(subject, &self.callers(self.turn() / 2), &|it| (self.so_far)("warms up", it))?;
            let (start, used) = (subject.figures(), Usage::of(std::process::id()));
            let turn = closed(subject, &self.callers(self.turn()), &|it| (self.so_far)(&what, it))?;
            spent.merge(&Usage::of(std::process::id()).since(&used));
            pace.merge(&turn);
            let written = subject.figures().since(&start);
            figures.add(&written);
            let Some(shape) = CommitShape::of(&written) else { continue };
            subject.settle();
            for it in &mut beside {
                (self.so_far)(it.what, 0.0);
                let used = ProcessorTime::here();
                let control = it.control.run(&shape, self.turn())?;
                it.spent.add(&ProcessorTime::here().since(&used));
                it.ratios.push(turn.per_second() / control.per_second());
                it.pace.merge(&control);
            }
        }
        let (name, callers) = (self.maker.name(), self.plan.callers);
        let title = format!("{name}, {callers} callers, {} entities", thousands(subject.entities()));
        report
            .rows
            .push(ReportRow::new("throughput", title).with_pace(&pace).note(describe_writes(&figures)));
        let account = |spent, pace: &Pace| Account {
            spent,
            commands: pace.commands,
            per_second: pace.per_second(),
            load: None,
        };
        let mut accounts = Vec::new();
        if let Some(it) = beside.first() {
            let mut bare = Groups::default();
            bare.put("loop", &it.spent);
            let what = "processor time for a command";
            accounts.push(account(spent, &pace).row("processorTime", what));
            accounts.push(account(bare, &it.pace).row("bareTime", &format!("  of {}", it.what)));
        }
        if controls {
            (self.so_far)("only decides", 0.0);
            let what = "  of the same commands only decided, one core";
            if let Some(decided) = self.maker.decide(subject.entities(), self.turn()) {
                let row = ReportRow::new("decided", what);
                accounts.push(match decided {
                    Ok(decided) => row.figure(1e6 / decided.per_second().max(0.001), ReportUnit::Micros),
                    Err(trouble) => row.failed(trouble.to_string()),
                });
            }
        }
        for it in beside {
            let mut row = ReportRow::new(it.name, format!("  of {}", it.what)).with_pace(&it.pace);
            if let Some(FigureAim::AtLeast(share)) = it.aim {
                row = row.note(left_by(share, &it.pace));
            }
            row = row.figure(middle(it.ratios), ReportUnit::Times);
            row.aim = it.aim;
            report.rows.push(row);
        }
        report.rows.extend(accounts);
        Ok(pace.per_second())
    }

    fn controls(&self) -> Result<Vec<ControlRun>, BenchError> {
        let folder = self.folder.join("controls");
        std::fs::create_dir(&folder).map_err(BenchError::file(&folder))?;
        let beside = |name, what, aim, control| ControlRun {
            name,
            what,
            aim,
            control,
            pace: Pace::default(),
            spent: ProcessorTime::default(),
            ratios: Vec::new(),
        };
        let sqlite = |file: &str, layout| BareSqlite::make(&folder.join(file), layout, self.plan.settings);
        let rows = Box::new(sqlite("rows.db", BatchLayout::Entries)?);
        let blobs = Box::new(sqlite("batches.db", BatchLayout::Batch)?);
        let file = Box::new(PlainFile::make(&folder.join("file"))?);
        Ok(vec![
            beside("sqliteRows", "a bare SQLite loop, same rows", Some(FigureAim::AtLeast(0.6)), rows),
            beside("sqliteBatches", "a bare SQLite loop, one row a batch", None, blobs),
            beside("file", "a plain file", None, file),
        ])
    }
}

/// The bytes that a load wrote to disk.
fn describe_writes(figures: &CommitTotals) -> String {
    let Some(shape) = CommitShape::of(figures) else { return "nothing was committed".to_owned() };
    format!(
        "batches of {:.1} commands, the largest {}; {:.2} entries a command, {} bytes an entry",
        shape.entries / shape.per_command,
        figures.largest_batch,
        shape.per_command,
        shape.bytes()
    )
}

/// The processor time that a command may take at a share of a control's pace.
fn left_by(share: f64, pace: &Pace) -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
    let each = cores * 1e6 / (share * pace.per_second()).max(0.001);
    format!("{share} of it would leave {each:.1} µs of all cores for a command")
}
