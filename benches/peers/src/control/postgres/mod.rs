//! PostgreSQL with a schema written by hand, driven by its own `pgbench`.

mod cluster;
mod install;
mod log;

use std::path::Path;
use std::time::Duration;

pub use install::Installation;

use crate::BenchError;
use crate::load::Pace;
use cluster::Cluster;

const SCHEMA: &str = include_str!("../../../sql/schema.sql");
/// Ways to do the same, by name.
const SCRIPTS: [(&str, &str); 2] = [
    ("one statement", include_str!("../../../sql/statement.sql")),
    ("round trips", include_str!("../../../sql/round_trips.sql")),
];
/// The numbers of clients.
pub const CLIENTS: [u32; 3] = [1, 16, 64];

/// The note when PostgreSQL is not installed.
pub const NOT_INSTALLED: &str = "not installed (apt-get install postgresql)";

/// One variant with this many clients.
#[derive(Clone, Debug)]
pub struct PostgresRun {
    pub script: &'static str,
    pub clients: u32,
    pub pace: Pace,
}

/// The result of PostgreSQL.
#[derive(Clone, Debug)]
pub struct PostgresResult {
    pub version: String,
    pub tried: Vec<PostgresRun>,
    /// The folder it used, if it could not use that of the others.
    pub elsewhere: Option<String>,
}

impl PostgresResult {
    /// The way that was fastest.
    pub fn best(&self) -> Option<&PostgresRun> {
        self.tried.iter().max_by(|a, b| a.pace.per_second().total_cmp(&b.pace.per_second()))
    }
}

/// Creates a cluster in `folder`, measures every variant with these numbers of clients for `time` each, and
/// removes the cluster.
pub fn measure(
    installation: &Installation,
    folder: &Path,
    entities: u64,
    clients: &[u32],
    each: Duration,
    so_far: &dyn Fn(f64),
) -> Result<PostgresResult, BenchError> {
    let cluster = Cluster::start(installation, folder)?;
    let version = cluster.ask("SHOW server_version")?;
    cluster.write("schema.sql", SCHEMA)?;
    cluster.run_file("schema.sql", entities)?;
    let mut tried = Vec::new();
    let in_all = SCRIPTS.len() * clients.len();
    let ways = SCRIPTS.iter().flat_map(|way| clients.iter().map(move |it| (way, *it)));
    for (done, ((script, text), clients)) in ways.enumerate() {
        so_far(done as f64 / in_all as f64);
        cluster.write("script.sql", text)?;
        let before = cluster.count("journal")?;
        let pace = cluster.bench("script.sql", entities, clients, each)?;
        let moved = cluster.count("journal")?.saturating_sub(before);
        // A script that no longer moves entities would be very fast.
        if (moved as f64) < pace.commands * 0.999 {
            let said = format!("{moved} moves in {:.0} transactions of \"{script}\"", pace.commands);
            return Err(BenchError::Program { program: "pgbench".to_owned(), said });
        }
        tried.push(PostgresRun { script, clients, pace });
    }
    Ok(PostgresResult { version, tried, elsewhere: cluster.elsewhere().map(|it| it.display().to_string()) })
}
