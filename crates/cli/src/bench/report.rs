//! The result of a bench, as a table for people and as JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use super::load::LoadResult;

/// One measurement. Its `name` stays the same from release to release.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BenchRow {
    pub(super) name: &'static str,
    pub(super) what: String,
    pub(super) per_second: Option<f64>,
    pub(super) latency: Option<Percentiles>,
    pub(super) figure: Option<BenchFigure>,
    pub(super) note: Option<String>,
    /// The parts of the figure, in the same unit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) shares: BTreeMap<String, f64>,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Percentiles {
    p50_micros: f64,
    p90_micros: f64,
    p99_micros: f64,
    p999_micros: f64,
    max_micros: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct BenchFigure {
    pub(super) value: f64,
    pub(super) unit: FigureUnit,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum FigureUnit {
    /// A multiple of another figure.
    Times,
    Micros,
    Count,
    Megabytes,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BenchReport {
    pub(super) cores: usize,
    pub(super) seconds: u64,
    pub(super) callers: usize,
    pub(super) entities: usize,
    pub(super) rows: Vec<BenchRow>,
    pub(super) warnings: Vec<String>,
}

impl BenchRow {
    pub(super) fn new(name: &'static str, what: impl Into<String>) -> Self {
        Self { name, what: what.into(), ..Self::default() }
    }

    pub(super) fn load(mut self, result: &LoadResult) -> Self {
        let [p50_micros, p90_micros, p99_micros, p999_micros, max_micros] =
            [0.5, 0.9, 0.99, 0.999, 1.0].map(|it| result.percentile(it));
        self.per_second = Some(result.per_second());
        self.latency = Some(Percentiles { p50_micros, p90_micros, p99_micros, p999_micros, max_micros });
        self
    }

    pub(super) fn figure(mut self, value: f64, unit: FigureUnit) -> Self {
        self.figure = Some(BenchFigure { value, unit });
        self
    }

    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

impl BenchReport {
    pub(super) fn to_table(&self) -> String {
        let mut lines = vec![format!("{:<52} {:>10} {:>9} {:>9} {:>9}", "", "per second", "p50", "p99", "")];
        for row in &self.rows {
            let rate = row.per_second.map(|it| format!("{it:.0}")).unwrap_or_default();
            let [p50, p99] = match row.latency {
                Some(it) => [it.p50_micros, it.p99_micros].map(time),
                None => [String::new(), String::new()],
            };
            let figure = row.figure.map(|it| match it.unit {
                FigureUnit::Times => format!("× {:.2}", it.value),
                FigureUnit::Micros => format!("{:.1} µs", it.value),
                FigureUnit::Count => format!("{:.0}", it.value),
                FigureUnit::Megabytes => format!("{:.0} MB", it.value),
            });
            let figure = figure.unwrap_or_default();
            let line = format!("{:<52} {rate:>10} {p50:>9} {p99:>9} {figure:>9}", row.what);
            lines.push(line.trim_end().to_owned());
            if !row.shares.is_empty() {
                let shares: Vec<String> =
                    row.shares.iter().map(|(name, it)| format!("{name} {it:.1}")).collect();
                lines.push(format!("    {}", shares.join(" · ")));
            }
            lines.extend(row.note.iter().map(|it| format!("    {it}")));
        }
        lines.extend(self.warnings.iter().map(|it| format!("warning: {it}")));
        lines.join("\n")
    }
}

fn time(micros: f64) -> String {
    match micros {
        it if it < 1_000.0 => format!("{it:.0} µs"),
        it if it < 100_000.0 => format!("{:.1} ms", it / 1_000.0),
        it => format!("{:.0} ms", it / 1_000.0),
    }
}
