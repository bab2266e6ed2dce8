//! Mixed load over HTTP: every connection sends commands, reads, lists and commands that are refused.

use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinSet;

use super::Bench;
use super::connection::Connection;
use super::load::{LoadResult, micros};
use super::process::ServerProcess;
use super::report::{BenchRow, FigureUnit};

/// A share of the requests: six in ten are commands that are carried out, each of the others is one in ten.
const ROUND: u64 = 10;

/// The result of one connection.
#[derive(Debug, Default)]
struct MixedResult {
    load: LoadResult,
    errors: u64,
    /// The first error.
    error: Option<String>,
}

/// Measures mixed load with all connections of the bench. The figure is the number of errors: answers with another status
/// than the expected one, and broken connections. The second row is the memory of the server.
pub(super) async fn measure(
    bench: &Bench<'_>,
    server: &ServerProcess,
    tokens: &Arc<Vec<String>>,
) -> Result<Vec<BenchRow>, String> {
    let callers = bench.connect(server, tokens, false).await?;
    let (begun, time, count) = (Instant::now(), bench.time(), callers.len());
    let mut tasks = JoinSet::new();
    for (number, mut caller) in callers.into_iter().enumerate() {
        let (workload, tokens, address) = (bench.workload.clone(), tokens.clone(), server.address);
        tasks.spawn(async move {
            let mut result = MixedResult::default();
            let mut other = match Connection::open(address).await {
                Ok(it) => it,
                Err(error) => {
                    result.note(Err(error.to_string()));
                    return result;
                }
            };
            let mut nth = 0;
            while begun.elapsed() < time {
                let entity = workload.entity(number, count, nth);
                let token = tokens.get(number % tokens.len().max(1)).map_or("", String::as_str);
                let asked = Instant::now();
                let outcome = match nth % ROUND {
                    kind @ 0..=3 => {
                        let (path, body, expected) = workload.other_request(entity, kind);
                        let headers = format!("authorization: Bearer {token}\r\n");
                        let answer = match &body {
                            Some(body) => other.post(&path, &headers, body).await,
                            None => other.get_with(&path, &headers).await,
                        };
                        match answer {
                            Ok(it) if it.status == expected => Ok(()),
                            Ok(it) => Err(format!(
                                "{path} was answered with {}: {}",
                                it.status,
                                String::from_utf8_lossy(it.body)
                            )),
                            Err(error) => Err(error.to_string()),
                        }
                    }
                    _ => caller.ask(&workload, entity, format!("mixed-{number}-{nth}")).await.map(drop),
                };
                result.load.commands += 1;
                result.load.micros.push(micros(asked.elapsed()));
                result.note(outcome);
                nth += 1;
            }
            result
        });
    }
    let mut all = MixedResult::default();
    while let Some(one) = tasks.join_next().await {
        let one = one.map_err(|error| format!("a caller ended early: {error}"))?;
        all.errors += one.errors;
        all.error = all.error.or(one.error);
        all.load = all.load.merge(one.load);
    }
    all.load.seconds = begun.elapsed().as_secs_f64();
    let what = format!("{count} connections: commands, reads, lists, refusals (figure: errors)");
    let mut rows =
        vec![BenchRow::new("mixed", what).load(&all.load).figure(all.errors as f64, FigureUnit::Count)];
    if let (Some(row), Some(error)) = (rows.first_mut(), all.error) {
        row.note = Some(format!("the first error: {error}"));
    }
    if let Some((now, most)) = server.memory() {
        rows.push(
            BenchRow::new("mixedMemory", "  memory of the server")
                .figure(now, FigureUnit::Megabytes)
                .note(format!("at most {most:.0} MB since its start")),
        );
    }
    Ok(rows)
}

impl MixedResult {
    fn note(&mut self, outcome: Result<(), String>) {
        if let Err(error) = outcome {
            self.errors += 1;
            self.error.get_or_insert(error);
        }
    }
}
