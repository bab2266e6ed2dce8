//! The results of a run, in a form for machines.

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};

use crate::latency::Latency;
use crate::load::{LoadSecond, Pace};
use crate::machine::Machine;

/// All results of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The name of the measured system.
    pub subject: String,
    pub how: RunParameters,
    pub machine: Machine,
    pub rows: Vec<ReportRow>,
    /// Latency on a schedule, second by second.
    pub seconds: Vec<LoadSecond>,
    pub warnings: Vec<String>,
}

impl Report {
    /// Whether every measured aim is reached, and no measurement failed.
    pub fn reached(&self) -> bool {
        self.rows.iter().all(|it| it.reached() != Some(false))
    }

    pub fn to_json(&self) -> Json {
        let seconds: Vec<Json> = self
            .seconds
            .iter()
            .map(|it| json!({ "p50Micros": micros(it.p50), "maxMicros": micros(it.max) }))
            .collect();
        let rows: Vec<Json> = self.rows.iter().map(ReportRow::to_json).collect();
        json!({
            "subject": self.subject, "how": self.how, "machine": self.machine, "rows": rows, "latencyBySecond": seconds,
            "warnings": self.warnings, "reached": self.reached(),
        })
    }
}

/// The parameters of the run.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RunParameters {
    pub seconds: f64,
    pub callers: u32,
    pub entities: u64,
    pub large: u64,
}

/// One thing that was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportRow {
    /// For machines; stays the same from run to run.
    pub name: &'static str,
    /// For people.
    pub what: String,
    pub per_second: Option<f64>,
    pub times: Option<Times>,
    pub figure: Option<Figure>,
    pub aim: Option<FigureAim>,
    pub note: Option<String>,
    /// The parts of the figure, each in the same unit.
    pub shares: Vec<(String, f64)>,
    /// Whether the measurement failed.
    pub failed: bool,
}

impl ReportRow {
    pub fn new(name: &'static str, what: impl Into<String>) -> Self {
        Self { name, what: what.into(), ..Self::default() }
    }

    pub fn with_pace(mut self, pace: &Pace) -> Self {
        self.per_second = Some(pace.per_second());
        self.with_latency(&pace.latency)
    }

    pub fn with_latency(mut self, latency: &Latency) -> Self {
        self.times = Some(Times::of(latency));
        self
    }

    pub fn figure(mut self, value: f64, unit: ReportUnit) -> Self {
        self.figure = Some(Figure { value, unit });
        self
    }

    pub fn aim(mut self, aim: FigureAim) -> Self {
        self.aim = Some(aim);
        self
    }

    pub fn shares(mut self, shares: Vec<(String, f64)>) -> Self {
        self.shares = shares;
        self
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Marks the measurement as failed.
    pub fn failed(mut self, why: impl Into<String>) -> Self {
        self.failed = true;
        self.note(why)
    }

    /// Whether the aim is reached; none if there is no aim, or the figure is missing without a failure.
    pub fn reached(&self) -> Option<bool> {
        if self.failed {
            return Some(false);
        }
        Some(self.aim?.holds(self.figure?.value))
    }

    fn to_json(&self) -> Json {
        let mut json = json!({
            "name": self.name, "what": self.what, "perSecond": self.per_second, "latency": self.times,
            "figure": self.figure, "aim": self.aim, "reached": self.reached(), "note": self.note,
        });
        if let (Json::Object(map), false) = (&mut json, self.shares.is_empty()) {
            let shares = self.shares.iter().map(|(name, it)| (name.clone(), json!(it)));
            map.insert("shares".to_owned(), Json::Object(shares.collect()));
        }
        json
    }
}

/// The durations at the shares that matter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Times {
    #[serde(rename = "p50Micros", serialize_with = "in_micros")]
    pub p50: Duration,
    #[serde(rename = "p90Micros", serialize_with = "in_micros")]
    pub p90: Duration,
    #[serde(rename = "p99Micros", serialize_with = "in_micros")]
    pub p99: Duration,
    #[serde(rename = "p999Micros", serialize_with = "in_micros")]
    pub p999: Duration,
    #[serde(rename = "maxMicros", serialize_with = "in_micros")]
    pub max: Duration,
}

impl Times {
    pub fn of(latency: &Latency) -> Self {
        let [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map(|it| latency.at(it));
        Self { p50, p90, p99, p999, max: latency.max() }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1_000.0
}

fn in_micros<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(micros(*time))
}

/// A number that an aim is about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    pub value: f64,
    pub unit: ReportUnit,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ReportUnit {
    /// A multiple of another figure.
    Times,
    Seconds,
    Micros,
    Bytes,
    Megabytes,
}

/// The target of a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FigureAim {
    AtLeast(f64),
    Below(f64),
}

impl FigureAim {
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::Below(most) => value < most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aim_is_reached_missed_or_not_known() {
        let row = || ReportRow::new("x", "x").aim(FigureAim::AtLeast(0.6));
        assert_eq!(row().figure(0.6, ReportUnit::Times).reached(), Some(true));
        assert_eq!(row().figure(0.59, ReportUnit::Times).reached(), Some(false));
        assert_eq!(row().reached(), None);
        assert_eq!(row().failed("the disk is full").reached(), Some(false));
        assert_eq!(
            ReportRow::new("x", "x").aim(FigureAim::Below(8.0)).figure(8.0, ReportUnit::Times).reached(),
            Some(false)
        );
    }

    #[test]
    fn a_number_that_is_none_reaches_no_aim() {
        assert!(!FigureAim::AtLeast(0.6).holds(f64::NAN) && !FigureAim::Below(8.0).holds(f64::NAN));
    }
}
