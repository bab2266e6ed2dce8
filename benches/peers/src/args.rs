//! The options of a run.

use std::path::PathBuf;

use bench_peers::{plan, web};
use clap::{Parser, ValueEnum};

/// Measure Trackside beside SQLite, PostgreSQL and Restate in one run
#[derive(Debug, Parser)]
pub struct PeersArgs {
    /// Measure over HTTP, with a server of its own, instead of in process
    #[arg(long)]
    pub http: bool,
    /// Seconds for each rate; latency at a fixed rate takes six times as long
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub seconds: u64,
    /// Callers that wait for answers at the same time; over HTTP, open connections
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub callers: u32,
    /// Followers of the journal, over HTTP
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub subscribers: u32,
    /// Entities in the store
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub entities: u64,
    /// Entities in the large store; its journal has five times as many entries
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub large: u64,
    /// Measure only this; may be given several times
    #[arg(long, value_name = "NAME", value_enum)]
    pub only: Vec<MeasurementArg>,
    /// Work inside this folder, so on its disk [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Keep what was written, and print where it is
    #[arg(long)]
    pub keep: bool,
    /// Exit with 1 if an aim is missed
    #[arg(long)]
    pub strict: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// The server to measure over HTTP [default: `trackside` beside this program]
    #[arg(long, value_name = "FILE")]
    pub trackside: Option<PathBuf>,
    /// Open the store in this folder, ask for one command and print how long that took
    #[arg(long, value_name = "DIR", hide = true)]
    pub start: Option<PathBuf>,
    /// Serve as a bare handler that appends to the first file, and write the address into the second
    #[arg(long, value_names = ["FILE", "ADDRESS"], num_args = 2, requires = "sizes", hide = true)]
    pub append: Option<Vec<PathBuf>>,
    /// Bytes that the bare handler appends for a request, and that it answers
    #[arg(long, value_names = ["N", "N"], num_args = 2, hide = true)]
    pub sizes: Option<Vec<usize>>,
}

/// A measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MeasurementArg {
    /// Callers that wait, beside bare loops on the same disk
    Throughput,
    /// Answer times at half of the peak rate, on a schedule
    Latency,
    /// The same work by hand in PostgreSQL, where it is installed
    Postgres,
    /// A large store beside a small one
    Scale,
    /// A large store from closed to its first answer, and its memory
    Start,
    /// Over HTTP: the same work in Restate; installed with npm when asked for by name
    Restate,
    /// Over HTTP: many followers of the journal
    Subscribers,
    /// Over HTTP: start-up time and memory of a server on an empty folder
    Idle,
}

impl MeasurementArg {
    fn in_process(self) -> Option<plan::InProcessMeasurement> {
        match self {
            Self::Throughput => Some(plan::InProcessMeasurement::Throughput),
            Self::Latency => Some(plan::InProcessMeasurement::Latency),
            Self::Postgres => Some(plan::InProcessMeasurement::Postgres),
            Self::Scale => Some(plan::InProcessMeasurement::Scale),
            Self::Start => Some(plan::InProcessMeasurement::Start),
            Self::Restate | Self::Subscribers | Self::Idle => None,
        }
    }

    fn over_http(self) -> Option<web::HttpMeasurement> {
        match self {
            Self::Throughput => Some(web::HttpMeasurement::Throughput),
            Self::Latency => Some(web::HttpMeasurement::Latency),
            Self::Postgres => Some(web::HttpMeasurement::Postgres),
            Self::Restate => Some(web::HttpMeasurement::Restate),
            Self::Subscribers => Some(web::HttpMeasurement::Subscribers),
            Self::Idle => Some(web::HttpMeasurement::Idle),
            Self::Scale | Self::Start => None,
        }
    }
}

impl PeersArgs {
    /// Checks what clap cannot.
    pub fn check(&self) -> Result<(), String> {
        for it in &self.only {
            let name = it.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default();
            match (self.http, it.over_http(), it.in_process()) {
                (true, None, _) => return Err(format!("{name} is measured in process: leave out --http")),
                (false, _, None) => return Err(format!("{name} is measured over HTTP: add --http")),
                _ => {}
            }
        }
        let callers = u64::from(self.callers);
        if self.entities < callers || self.large < callers {
            return Err(format!(
                "{callers} callers need at least {callers} entities: raise --entities and --large, or lower --callers"
            ));
        }
        Ok(())
    }

    pub fn in_process_parts(&self) -> Vec<plan::InProcessMeasurement> {
        match self.only.as_slice() {
            [] => plan::InProcessMeasurement::ALL.to_vec(),
            only => only.iter().filter_map(|it| it.in_process()).collect(),
        }
    }

    pub fn http_parts(&self) -> Vec<web::HttpMeasurement> {
        match self.only.as_slice() {
            [] => web::HttpMeasurement::ALL.to_vec(),
            only => only.iter().filter_map(|it| it.over_http()).collect(),
        }
    }
}
