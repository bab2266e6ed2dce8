//! The results of a run, in a form for people.

use std::time::Duration;

use crate::load::LoadSecond;
use crate::report::{Figure, FigureAim, Report, ReportRow, ReportUnit};

/// The role of a piece of text; the printer chooses the colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRole {
    Good,
    Bad,
    Aside,
}

/// Paints a text, or leaves it as it is.
pub type Paint<'a> = &'a dyn Fn(&str, TextRole) -> String;

const HEAD: [&str; 7] = ["", "per second", "p50", "p99", "figure", "aim", "reached"];

/// The whole report, in lines of about `columns`.
pub fn render(report: &Report, columns: usize, paint: Paint<'_>) -> String {
    let machine = &report.machine;
    let mut lines = vec![paint(
        &format!(
            "{} cores · {} · {} MiB · {} · {} · load {:.2} before, {:.2} after",
            machine.cores,
            if machine.processor.is_empty() { "unknown processor" } else { &machine.processor },
            machine.memory_mib,
            machine.system.trim(),
            machine.disk,
            machine.load_before,
            machine.load_after
        ),
        TextRole::Aside,
    )];
    let rows: Vec<[String; 7]> = report.rows.iter().map(cells).collect();
    let mut widths = HEAD.map(|it| it.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    lines.push(paint(&join_cells(&HEAD.map(str::to_owned), &widths), TextRole::Aside));
    for (cells, row) in rows.iter().zip(&report.rows) {
        let line = join_cells(cells, &widths);
        lines.push(match row.reached() {
            Some(true) => with_last(&line, "yes", TextRole::Good, paint),
            Some(false) => with_last(&line, "no", TextRole::Bad, paint),
            None => line,
        });
        if !row.shares.is_empty() {
            let shares: Vec<String> = row.shares.iter().map(|(name, it)| format!("{name} {it:.1}")).collect();
            lines.push(paint(&format!("    {}", shares.join(" · ")), TextRole::Aside));
        }
        if let Some(note) = &row.note {
            let tone = if row.failed { TextRole::Bad } else { TextRole::Aside };
            lines.push(paint(&format!("    {note}"), tone));
        }
    }
    if !report.seconds.is_empty() {
        lines.push(String::new());
        lines.extend(plot(&report.seconds, columns.saturating_sub(8).max(10)));
    }
    lines.extend(report.warnings.iter().map(|it| paint(it, TextRole::Bad)));
    lines.join("\n")
}

fn cells(row: &ReportRow) -> [String; 7] {
    let reached = match row.reached() {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    };
    [
        row.what.clone(),
        row.per_second.map(|it| thousands(it.round() as u64)).unwrap_or_default(),
        row.times.map(|it| time(it.p50)).unwrap_or_default(),
        row.times.map(|it| time(it.p99)).unwrap_or_default(),
        row.figure.map(figure).unwrap_or_default(),
        row.aim.map(|it| aim(it, row.figure.map(|it| it.unit))).unwrap_or_default(),
        reached.to_owned(),
    ]
}

/// The first cell to the left, the others to the right.
fn join_cells(cells: &[String; 7], widths: &[usize; 7]) -> String {
    let mut line = String::new();
    for (nth, (cell, width)) in cells.iter().zip(widths).enumerate() {
        if nth == 0 {
            line.push_str(&format!("{cell:<width$}"));
        } else {
            line.push_str(&format!("  {cell:>width$}"));
        }
    }
    line.trim_end().to_owned()
}

fn with_last(line: &str, last: &str, tone: TextRole, paint: Paint<'_>) -> String {
    line.strip_suffix(last).map_or_else(|| line.to_owned(), |it| format!("{it}{}", paint(last, tone)))
}

/// A whole number with its thousands apart.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration with three digits that count.
pub fn time(time: Duration) -> String {
    let micros = time.as_nanos() as f64 / 1_000.0;
    match micros {
        it if it < 1_000.0 => format!("{it:.0} µs"),
        it if it < 10_000.0 => format!("{:.2} ms", it / 1_000.0),
        it if it < 100_000.0 => format!("{:.1} ms", it / 1_000.0),
        it if it < 1_000_000.0 => format!("{:.0} ms", it / 1_000.0),
        it => format!("{:.2} s", it / 1_000_000.0),
    }
}

fn figure(figure: Figure) -> String {
    match figure.unit {
        ReportUnit::Times => format!("× {:.2}", figure.value),
        ReportUnit::Seconds => format!("{:.2} s", figure.value),
        ReportUnit::Micros => format!("{:.1} µs", figure.value),
        ReportUnit::Megabytes => format!("{:.1} MB", figure.value),
        ReportUnit::Bytes => format!("{} B", thousands(figure.value.round() as u64)),
    }
}

fn aim(aim: FigureAim, unit: Option<ReportUnit>) -> String {
    let (word, number) = match aim {
        FigureAim::AtLeast(it) => ("at least", it),
        FigureAim::Below(it) => ("below", it),
    };
    match unit {
        Some(ReportUnit::Seconds) => format!("{word} {number} s"),
        Some(ReportUnit::Micros) => format!("{word} {number} µs"),
        Some(ReportUnit::Megabytes) => format!("{word} {number} MB"),
        Some(ReportUnit::Bytes) => format!("{word} {} B", thousands(number as u64)),
        Some(ReportUnit::Times) | None => format!("{word} {number}"),
    }
}

/// Two lines of bars on one scale, the slowest of each second above the middle one.
fn plot(seconds: &[LoadSecond], width: usize) -> Vec<String> {
    let each = seconds.len().div_ceil(width.max(1)).max(1);
    let slowest: Vec<f64> = seconds.chunks(each).map(|it| largest(it.iter().map(|it| it.max))).collect();
    let middle: Vec<f64> = seconds.chunks(each).map(|it| largest(it.iter().map(|it| it.p50))).collect();
    let low = middle.iter().copied().fold(f64::INFINITY, f64::min);
    let high = slowest.iter().copied().fold(0.0, f64::max);
    let shown = |it: f64| time(Duration::from_secs_f64(it));
    vec![
        format!("latency second by second, from {} to {}, on a logarithmic scale", shown(low), shown(high)),
        format!("  max  {}", bars(&slowest, low, high)),
        format!("  p50  {}", bars(&middle, low, high)),
    ]
}

fn largest(times: impl Iterator<Item = Duration>) -> f64 {
    times.max().unwrap_or_default().as_secs_f64().max(1e-9)
}

/// A bar for each value, as high as it is far between `low` and `high`.
fn bars(values: &[f64], low: f64, high: f64) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let span = (high / low).ln();
    let height = |value: f64| if span > 0.0 { (value / low).ln() / span * 7.0 } else { 0.0 };
    values.iter().map(|it| BARS.get(height(*it).round().clamp(0.0, 7.0) as usize).unwrap_or(&'█')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::Latency;

    fn plain(report: &Report) -> String {
        render(report, 100, &|text, _| text.to_owned())
    }

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        let shown = [80, 1_400, 23_456, 456_700, 1_230_000].map(|it| time(Duration::from_micros(it)));
        assert_eq!(shown, ["80 µs", "1.40 ms", "23.5 ms", "457 ms", "1.23 s"]);
    }

    #[test]
    fn a_report_is_a_table_with_aims_notes_and_a_plot() {
        let mut latency = Latency::default();
        (1..=1_000).for_each(|it| latency.record(Duration::from_micros(it * 2)));
        let mut report = Report::default();
        report.machine.cores = 2;
        report.machine.system = "linux 6".to_owned();
        report.machine.disk = "ext4 on /dev/a at /".to_owned();
        let mut measured = ReportRow::new("throughput", "trackside, 64 callers").with_latency(&latency);
        measured.per_second = Some(41_234.4);
        report.rows.push(measured.note("batches of 31.2 commands"));
        report.rows.push(
            ReportRow::new("a", "of SQLite").figure(0.694, ReportUnit::Times).aim(FigureAim::AtLeast(0.6)),
        );
        report
            .rows
            .push(ReportRow::new("b", "start").figure(3.5, ReportUnit::Seconds).aim(FigureAim::Below(3.0)));
        report.rows.push(
            ReportRow::new("c", "memory of an entity")
                .figure(812.0, ReportUnit::Bytes)
                .aim(FigureAim::Below(1_024.0)),
        );
        let shares = vec![("http".to_owned(), 30.25), ("decider".to_owned(), 11.0)];
        report
            .rows
            .push(ReportRow::new("f", "time of a command").figure(41.25, ReportUnit::Micros).shares(shares));
        report.rows.push(
            ReportRow::new("g", "idle").figure(41.26, ReportUnit::Megabytes).aim(FigureAim::Below(60.0)),
        );
        report.rows.push(ReportRow::new("d", "of PostgreSQL").note("not installed"));
        report.rows.push(ReportRow::new("e", "scale").failed("the disk is full"));
        let second =
            |p50, max| LoadSecond { p50: Duration::from_micros(p50), max: Duration::from_micros(max) };
        report.seconds = vec![second(500, 900), second(500, 64_000), second(700, 1_000)];
        report.warnings.push("noisy: other processes used 1.2 cores meanwhile (rustc)".to_owned());
        insta::assert_snapshot!(plain(&report));
        assert!(!report.reached());
    }

    #[test]
    fn many_seconds_fit_and_none_of_the_slow_ones_is_lost() {
        let mut seconds =
            vec![LoadSecond { p50: Duration::from_micros(100), max: Duration::from_micros(200) }; 300];
        seconds[177].max = Duration::from_millis(90);
        let lines = plot(&seconds, 60);
        assert!(lines.iter().skip(1).all(|it| it.chars().count() <= 67), "{lines:?}");
        assert_eq!(lines[1].matches('█').count(), 1, "{lines:?}");
    }
}
