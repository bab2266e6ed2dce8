//! Quiet callers beside a storm of another actor: how much longer they wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinHandle;

use super::Bench;
use super::connection::Connection;
use super::load::{LoadCaller, LoadResult, at_rate};
use super::process::ServerProcess;
use super::report::{BenchRow, FigureUnit};

/// The quiet callers, and their commands a second.
const CALLERS: usize = 4;
const RATE: f64 = 100.0;
/// Connections of the storm.
const STORM: usize = 8;
/// Commands of one batch of the storm.
const BATCH: usize = 1_000;

/// A request that the storm repeats.
#[derive(Clone)]
struct StormRequest {
    headers: String,
    /// The batch; none for a read.
    batch: Option<Arc<str>>,
}

/// Measures without a storm, beside batches of refused commands of one actor, and beside unknown tokens. The figure is
/// the p99 in multiples of that without a storm.
pub(super) async fn measure(
    bench: &Bench<'_>,
    server: &ServerProcess,
    tokens: &Arc<Vec<String>>,
) -> Result<Vec<BenchRow>, String> {
    let mut callers = Vec::new();
    for _ in 0..CALLERS {
        let connection = Connection::open(server.address).await.map_err(|error| error.to_string())?;
        callers.push(LoadCaller::Http { connection, tokens: tokens.clone(), bare: false });
    }
    let quiet = run(bench, &mut callers, "quiet").await?;
    let mut rows =
        vec![BenchRow::new("neighbourQuiet", format!("{RATE} commands a second, alone")).load(&quiet)];
    let own = tokens.last().map_or("", String::as_str);
    let unknown = format!("ts_{}_{}", "0".repeat(12), "0".repeat(64));
    let storms = [
        (
            "neighbourBatches",
            "batches of 1,000 refused commands",
            own,
            Some(bench.workload.refused_batch(BATCH)),
        ),
        ("neighbourStrangers", "unknown tokens", unknown.as_str(), None),
    ];
    for (name, what, token, batch) in storms {
        let headers = format!("authorization: Bearer {token}\r\n");
        let request = StormRequest { headers, batch: batch.map(Into::into) };
        let over = Arc::new(AtomicBool::new(false));
        let storm: Vec<JoinHandle<u64>> =
            (0..STORM).map(|_| tokio::spawn(storm(server.address, request.clone(), over.clone()))).collect();
        let beside = run(bench, &mut callers, name).await;
        over.store(true, Ordering::Relaxed);
        let mut sent = 0;
        for one in storm {
            sent += one.await.unwrap_or_default();
        }
        let beside = beside?;
        let ratio = beside.percentile(0.99) / quiet.percentile(0.99);
        let row = BenchRow::new(
            name,
            format!("  beside {STORM} connections with {what} (figure: p99 / p99 alone)"),
        );
        let note = format!("{sent} requests of the storm were answered");
        rows.push(row.load(&beside).figure(ratio, FigureUnit::Times).note(note));
    }
    Ok(rows)
}

async fn run(bench: &Bench<'_>, callers: &mut Vec<LoadCaller>, name: &str) -> Result<LoadResult, String> {
    at_rate(callers, &bench.workload, name, RATE, bench.time()).await
}

/// Repeats a request until it is over. Returns the number of answers.
async fn storm(to: std::net::SocketAddr, request: StormRequest, over: Arc<AtomicBool>) -> u64 {
    let mut answers = 0;
    while !over.load(Ordering::Relaxed) {
        let Ok(mut connection) = Connection::open(to).await else { break };
        while !over.load(Ordering::Relaxed) {
            let path = if request.batch.is_some() { "/v1/batch" } else { "/v1/sign-out" };
            let body = request.batch.as_deref().unwrap_or("{}");
            if connection.post(path, &request.headers, body).await.is_err() {
                break;
            }
            answers += 1;
        }
    }
    answers
}
