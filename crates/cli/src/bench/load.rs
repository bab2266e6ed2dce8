//! Two loads: callers that wait for each answer before they send again, and commands that arrive at a fixed
//! rate.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use trackside_runtime::{CommandAnswer, Failure, Gateway};

use super::connection::Connection;
use super::workload::Workload;

/// The interface through which the measured commands are sent.
#[derive(Debug)]
pub(super) enum LoadCaller {
    InProcess(Gateway),
    Http {
        connection: Connection,
        /// The tokens that [`Workload::request`] counts on.
        tokens: Arc<Vec<String>>,
        /// The other side is the bare handler: entities stay as they are.
        bare: bool,
    },
}

/// The result of a load.
#[derive(Debug, Default)]
pub(super) struct LoadResult {
    pub(super) commands: u64,
    pub(super) seconds: f64,
    /// Answer times in microseconds, sorted.
    pub(super) micros: Vec<u32>,
    pub(super) answer_bytes: u64,
}

impl LoadResult {
    pub(super) fn per_second(&self) -> f64 {
        self.commands as f64 / self.seconds.max(1e-9)
    }

    /// The time that this share of the answers did not exceed.
    pub(super) fn percentile(&self, share: f64) -> f64 {
        let rank = ((self.micros.len() as f64 * share).ceil() as usize).clamp(1, self.micros.len().max(1));
        self.micros.get(rank - 1).copied().map_or(f64::NAN, f64::from)
    }

    pub(super) fn answer_size(&self) -> usize {
        (self.answer_bytes / self.commands.max(1)) as usize
    }

    fn add(&mut self, other: Self) {
        self.commands += other.commands;
        self.answer_bytes += other.answer_bytes;
        self.micros.extend(other.micros);
    }

    /// Joins turns of one load.
    pub(super) fn merge(mut self, other: Self) -> Self {
        self.seconds += other.seconds;
        self.add(other);
        self.micros.sort_unstable();
        self
    }
}

/// Every caller sends, waits for the answer and sends again, until the time is up.
pub(super) async fn saturate(
    callers: &mut Vec<LoadCaller>,
    workload: &Arc<Workload>,
    name: &str,
    time: Duration,
) -> Result<LoadResult, String> {
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    let count = callers.len();
    for (number, mut caller) in callers.drain(..).enumerate() {
        let (workload, name) = (workload.clone(), name.to_owned());
        tasks.spawn(async move {
            let mut result = LoadResult::default();
            let mut nth = 0;
            while begun.elapsed() < time {
                let entity = workload.entity(number, count, nth);
                let asked = Instant::now();
                result.answer_bytes +=
                    caller.ask(&workload, entity, format!("{name}-{number}-{nth}")).await?;
                result.commands += 1;
                result.micros.push(micros(asked.elapsed()));
                nth += 1;
            }
            Ok::<_, String>((number, caller, result))
        });
    }
    collect(tasks, callers, begun).await
}

/// Commands arrive evenly, whether or not earlier ones are answered. Each is timed from its due time, so a
/// stall counts for all that were due meanwhile.
pub(super) async fn at_rate(
    callers: &mut Vec<LoadCaller>,
    workload: &Arc<Workload>,
    name: &str,
    rate: f64,
    time: Duration,
) -> Result<LoadResult, String> {
    let (send, receive) = mpsc::unbounded_channel();
    let receive = Arc::new(Mutex::new(receive));
    let begun = Instant::now();
    std::thread::spawn(move || {
        let gap = Duration::from_secs_f64(1.0 / rate.max(1.0));
        let mut due = begun;
        while due < begun + time {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if send.send(due).is_err() {
                return;
            }
            due += gap;
        }
    });
    let mut tasks = JoinSet::new();
    let count = callers.len();
    for (number, mut caller) in callers.drain(..).enumerate() {
        let (workload, name, receive) = (workload.clone(), name.to_owned(), receive.clone());
        tasks.spawn(async move {
            let mut result = LoadResult::default();
            let mut nth = 0;
            loop {
                let Some(due) = receive.lock().await.recv().await else { break };
                let entity = workload.entity(number, count, nth);
                result.answer_bytes +=
                    caller.ask(&workload, entity, format!("{name}-{number}-{nth}")).await?;
                result.commands += 1;
                result.micros.push(micros(due.elapsed()));
                nth += 1;
            }
            Ok::<_, String>((number, caller, result))
        });
    }
    collect(tasks, callers, begun).await
}

type CallerTask = Result<(usize, LoadCaller, LoadResult), String>;

async fn collect(
    mut tasks: JoinSet<CallerTask>,
    callers: &mut Vec<LoadCaller>,
    begun: Instant,
) -> Result<LoadResult, String> {
    let mut all = LoadResult::default();
    let mut back = Vec::new();
    while let Some(task) = tasks.join_next().await {
        let (number, caller, result) = task.map_err(|error| format!("a caller ended early: {error}"))??;
        all.add(result);
        back.push((number, caller));
    }
    all.seconds = begun.elapsed().as_secs_f64();
    all.micros.sort_unstable();
    back.sort_by_key(|(number, _)| *number);
    callers.extend(back.into_iter().map(|(_, caller)| caller));
    Ok(all)
}

impl LoadCaller {
    /// Sends the entity's next command and waits for the answer. Returns the size of the answer.
    pub(super) async fn ask(
        &mut self,
        workload: &Workload,
        entity: usize,
        key: String,
    ) -> Result<u64, String> {
        let missing = || format!("the workload has no command for entity {entity}");
        match self {
            Self::InProcess(gateway) => loop {
                let command = workload.command(entity, key.clone()).ok_or_else(missing)?;
                let pending = match gateway.submit(command) {
                    Err(Failure::Overloaded(_)) => {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                        continue;
                    }
                    other => other.map_err(|error| error.to_string())?,
                };
                return match pending.await.map_err(|error| error.to_string())? {
                    CommandAnswer::Refused(refusal) => {
                        Err(format!("a command was refused: {}", refusal.detail))
                    }
                    _ => {
                        workload.advance(entity);
                        Ok(0)
                    }
                };
            },
            Self::Http { connection, tokens, bare } => loop {
                let (path, body, token) = workload.request(entity).ok_or_else(missing)?;
                let token = tokens.get(token).map_or("", String::as_str);
                let headers = format!("authorization: Bearer {token}\r\nidempotency-key: {key}\r\n");
                let answer =
                    connection.post(&path, &headers, &body).await.map_err(|error| error.to_string())?;
                match answer.status {
                    200 => {
                        let bytes = answer.bytes as u64;
                        if !*bare {
                            workload.advance(entity);
                        }
                        return Ok(bytes);
                    }
                    429 => tokio::time::sleep(Duration::from_millis(1)).await,
                    status => {
                        let body = String::from_utf8_lossy(answer.body);
                        return Err(format!("a command was answered with {status}: {body}"));
                    }
                }
            },
        }
    }
}

pub(super) fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_times() {
        let result = LoadResult { micros: (1..=1_000).collect(), ..LoadResult::default() };
        assert_eq!([0.5, 0.99, 1.0].map(|it| result.percentile(it)), [500.0, 990.0, 1_000.0]);
        assert!(LoadResult::default().percentile(0.5).is_nan());
    }
}
