//! `trackside bench`: durable commands a second and answer times on this machine and disk.

mod bare_handler;
mod busy;
mod connection;
mod load;
mod mixed;
mod neighbour;
mod process;
mod report;
mod workload;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use trackside_runtime::{CommandAnswer, Failure, Figures, Gateway, Options, Runtime};
use trackside_store::sqlite::{Sqlite, SqliteOptions};

use crate::args::{BenchArgs, Measurement};
use crate::print::{self, ProgressBar};
use crate::styled::Styled;
use crate::{builtin, exit, open_files, pinned_servers};
use bare_handler::HandlerSizes;
use busy::BusyThreads;
use connection::Connection;
use load::{LoadCaller, LoadResult, at_rate, saturate};
use process::{ScratchFolder, ServerProcess};
use report::{BenchReport, BenchRow, FigureUnit};
use workload::Workload;

/// The server and the bare handler take this many turns each.
const TURNS: u32 = 3;
/// The duration of a latency measurement, as a multiple of that of a rate.
const LATENCY_TIME: u32 = 6;
/// Commands under way while the store is filled.
const FILL_BATCH: usize = 2_000;
/// Bytes around the body of an answer of the bare handler.
const ANSWER_HEAD: usize = 110;

pub(crate) fn run(args: &BenchArgs) -> u8 {
    if let (Some([file, address]), Some([appended, answered])) =
        (args.append.as_deref(), args.sizes.as_deref())
    {
        let sizes = HandlerSizes { appended: *appended, answered: *answered };
        return match bare_handler::serve(file, address, sizes) {
            Ok(()) => exit::DONE,
            Err(error) => failed(&error.to_string(), exit::UNREACHABLE),
        };
    }
    let callers = args.callers as usize;
    if args.entities < callers {
        return failed(
            &format!(
                "{callers} callers need at least {callers} entities: raise --entities or lower --callers"
            ),
            exit::USAGE,
        );
    }
    let inside = args.data.clone().unwrap_or_else(|| PathBuf::from("."));
    let scratch = match ScratchFolder::create(&inside, args.keep) {
        Ok(it) => it,
        Err(error) => {
            return failed(
                &format!("{error}. Name a folder that can be written with --data"),
                exit::UNREACHABLE,
            );
        }
    };
    open_files::raise();
    let rows = match measure(args, &scratch.path) {
        Ok(it) => it,
        Err(error) => return failed(&error, exit::REFUSED),
    };
    let mut report = BenchReport {
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        seconds: args.seconds,
        callers,
        entities: args.entities,
        rows,
        warnings: Vec::new(),
    };
    if cfg!(debug_assertions) {
        report.warnings.push("this is a debug build; its figures mean nothing".to_owned());
    }
    if args.json {
        print::json_text(&serde_json::to_string_pretty(&report).unwrap_or_default());
    } else {
        print::line(Styled::block(&report.to_table()));
    }
    if args.keep {
        print::message(styled!("kept: {}", scratch.path.display()));
    }
    exit::DONE
}

fn failed(message: &str, code: u8) -> u8 {
    print::message(message);
    code
}

fn measure(args: &BenchArgs, folder: &Path) -> Result<Vec<BenchRow>, String> {
    let bench = Bench {
        args,
        folder,
        data: folder.join("store"),
        workload: Arc::new(Workload::new(args.entities)?),
        progress: ProgressBar::new("bench"),
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).div_ceil(2);
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let tokio = tokio.map_err(|error| error.to_string())?;
    let runtime = bench.fill()?;
    let result = match args.http {
        true => {
            let appended = tokio.block_on(bench.bytes_of_a_command(&runtime))?;
            drop(runtime);
            tokio.block_on(bench.over_http(appended))
        }
        false => tokio.block_on(bench.in_process(&runtime)),
    };
    bench.progress.done();
    result
}

/// One run.
struct Bench<'a> {
    args: &'a BenchArgs,
    folder: &'a Path,
    data: PathBuf,
    workload: Arc<Workload>,
    progress: ProgressBar,
}

impl Bench<'_> {
    async fn in_process(&self, runtime: &Runtime) -> Result<Vec<BenchRow>, String> {
        let mut callers = self.gateways(runtime)?;
        saturate(&mut callers, &self.workload, "warm", self.turn()).await?;
        let before = bytes_written(runtime);
        self.show("measures throughput", 0.3);
        let peak = saturate(&mut callers, &self.workload, "peak", self.time()).await?;
        let bytes = bytes_per_command(before, bytes_written(runtime));
        let mut rows = Vec::new();
        if self.wants(Measurement::Throughput) {
            rows.push(BenchRow::new("throughput", self.title("callers")).load(&peak).note(format!(
                "every command is on disk before its answer; {bytes:.0} bytes of journal each"
            )));
            self.show("measures the disk", 0.5);
            rows.push(self.disk_syncs()?);
        }
        if self.wants(Measurement::Latency) {
            rows.push(self.latency(&mut callers, &peak).await?);
        }
        Ok(rows)
    }

    /// The bytes that a command writes to the journal, from a short load in this process. The bare handler
    /// writes as many.
    async fn bytes_of_a_command(&self, runtime: &Runtime) -> Result<usize, String> {
        let before = bytes_written(runtime);
        saturate(&mut self.gateways(runtime)?, &self.workload, "warm", self.turn()).await?;
        Ok(bytes_per_command(before, bytes_written(runtime)).round() as usize)
    }

    async fn over_http(&self, appended: usize) -> Result<Vec<BenchRow>, String> {
        self.show("starts the server", 0.2);
        let server = self.start_server().await?;
        let tokens = Arc::new(self.create_tokens(&server).await?);
        let mut callers = self.connect(&server, &tokens, false).await?;
        let warm = saturate(&mut callers, &self.workload, "warm-http", self.turn()).await?;

        let mut rows = Vec::new();
        let mut peak = LoadResult::default();
        // The time of a command at the peak, and the bare handler with its own.
        let (mut peak_time, mut control) = (None, None);
        if self.wants(Measurement::Throughput) {
            let answered = warm.answer_size().saturating_sub(ANSWER_HEAD);
            let handler = self.start_bare_handler(HandlerSizes { appended, answered }).await?;
            let mut bare_callers = self.connect(&handler, &tokens, true).await?;
            saturate(&mut bare_callers, &self.workload, "warm-bare", self.turn() / 2).await?;
            let (mut bare, mut spent, mut ratios) = (LoadResult::default(), Vec::new(), Vec::new());
            let mut bare_spent = Vec::new();
            for turn in 0..TURNS {
                self.show("measures throughput", 0.3 + 0.1 * f64::from(turn));
                let before = server.thread_times();
                let ours =
                    saturate(&mut callers, &self.workload, &format!("peak-{turn}"), self.turn()).await?;
                spent.push((before, server.thread_times()));
                wait_until_flushed(&server).await?;
                let before = handler.thread_times();
                let theirs = saturate(&mut bare_callers, &self.workload, "bare", self.turn()).await?;
                bare_spent.push((before, handler.thread_times()));
                ratios.push(ours.per_second() / theirs.per_second());
                peak = peak.merge(ours);
                bare = bare.merge(theirs);
            }
            rows.push(BenchRow::new("throughput", self.title("connections")).load(&peak));
            ratios.sort_unstable_by(f64::total_cmp);
            let middle = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN);
            rows.push(
                BenchRow::new("bareHandler", "  beside a bare handler that appends the same bytes")
                    .load(&bare)
                    .figure(middle, FigureUnit::Times)
                    .note(format!(
                        "axum; {appended} bytes appended for a request, one disk sync for all who wait"
                    )),
            );
            let what = "processor time of the server for a command";
            let row = server_time("serverTime", what, &spent, peak.commands);
            peak_time = row.figure.map(|it| it.value);
            rows.push(row);
            let bare_time =
                server_time("bareHandler", "", &bare_spent, bare.commands).figure.map(|it| it.value);
            control = Some((handler, bare_callers, bare.per_second(), bare_time));
        } else {
            peak = peak.merge(saturate(&mut callers, &self.workload, "peak", self.time()).await?);
        }
        if self.wants(Measurement::Latency) {
            let before = server.thread_times();
            let row = self.latency(&mut callers, &peak).await?;
            let commands = row.per_second.unwrap_or_default() * (self.time() * LATENCY_TIME).as_secs_f64();
            rows.push(row);
            let spent = [(before, server.thread_times())];
            let what = "  processor time of the server for each of these";
            let mut row = server_time("halfLoadTime", what, &spent, commands as u64);
            if let (Some(half), Some(peak)) = (row.figure, peak_time) {
                row.note = Some(format!("× {:.2} of the time at the peak", half.value / peak));
            }
            rows.push(row);
            if let Some((handler, mut callers, rate, Some(peak))) = control {
                self.show("measures the bare handler at half of its peak rate", 0.85);
                let _busy = BusyThreads::start(self.args.busy);
                let before = handler.thread_times();
                let result = at_rate(&mut callers, &self.workload, "bare", rate / 2.0, self.time()).await?;
                let spent = [(before, handler.thread_times())];
                let half = server_time("bareHalfLoad", "", &spent, result.commands).figure;
                let half = half.map_or(f64::NAN, |it| it.value);
                rows.push(
                    BenchRow::new("bareHalfLoad", "  the bare handler at half of its own peak rate")
                        .load(&result)
                        .figure(half, FigureUnit::Micros)
                        .note(format!("× {:.2} of its time at the peak", half / peak)),
                );
            }
        }
        if self.wants(Measurement::Mixed) {
            self.show("measures mixed load", 0.88);
            rows.extend(mixed::measure(self, &server, &tokens).await?);
        }
        if self.wants(Measurement::Neighbour) {
            self.show("measures quiet callers beside a storm", 0.9);
            rows.extend(neighbour::measure(self, &server, &tokens).await?);
        }
        Ok(rows)
    }

    /// Answer times at half of the rate just found.
    async fn latency(&self, callers: &mut Vec<LoadCaller>, peak: &LoadResult) -> Result<BenchRow, String> {
        self.show("measures answer times at half of the peak rate", 0.7);
        let rate = peak.per_second() / 2.0;
        let time = self.time() * LATENCY_TIME;
        let _busy = BusyThreads::start(self.args.busy);
        let result = at_rate(callers, &self.workload, "latency", rate, time).await?;
        let ratio = result.percentile(0.99) / result.percentile(0.5);
        let mut row = BenchRow::new("latency", "answer times at half of that rate (figure: p99 / p50)")
            .load(&result)
            .figure(ratio, FigureUnit::Times);
        if self.args.busy > 0 {
            row.note = Some(format!("beside other load: {} % of one core", self.args.busy));
        }
        Ok(row)
    }

    /// The number of small writes per second that the disk confirms, with nothing else to do.
    fn disk_syncs(&self) -> Result<BenchRow, String> {
        let path = self.folder.join("disk");
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut file = std::fs::File::create(&path).map_err(failed)?;
        let begun = Instant::now();
        let mut result = LoadResult::default();
        while begun.elapsed() < self.turn() {
            let asked = Instant::now();
            file.write_all(&[b'x'; 4_096]).and_then(|()| file.sync_data()).map_err(failed)?;
            result.commands += 1;
            result.micros.push(u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX));
        }
        result.seconds = begun.elapsed().as_secs_f64();
        result.micros.sort_unstable();
        Ok(BenchRow::new("diskSync", "  the disk alone: 4 KiB appended and synced").load(&result))
    }

    /// A store with agents and entities in it, open.
    fn fill(&self) -> Result<Runtime, String> {
        let pack = self.workload.pack();
        let pack = builtin::pack(pack).ok_or_else(|| format!("there is no built-in pack {pack}"))?;
        std::fs::create_dir(&self.data).map_err(|error| format!("{}: {error}", self.data.display()))?;
        let store = Sqlite::open(&self.data, SqliteOptions::default()).map_err(|error| error.to_string())?;
        let runtime = Runtime::start(Arc::new(store), &[pack], Options::default());
        let runtime = runtime.map_err(|error| error.to_string())?;
        let gateway = runtime.gateway().map_err(|error| error.to_string())?;
        let mut pending = std::collections::VecDeque::new();
        for (done, command) in self.workload.setup().enumerate() {
            while pending.len() >= FILL_BATCH {
                wait_for(pending.pop_front())?;
            }
            loop {
                match gateway.submit(command.clone()) {
                    Ok(it) => break pending.push_back(it),
                    Err(Failure::Overloaded(_)) if !pending.is_empty() => wait_for(pending.pop_front())?,
                    Err(Failure::Overloaded(_)) => std::thread::sleep(Duration::from_millis(5)),
                    Err(failure) => return Err(failure.to_string()),
                }
            }
            if done % 10_000 == 0 {
                self.show("fills a store", 0.2 * done as f64 / self.args.entities.max(1) as f64);
            }
        }
        while let Some(one) = pending.pop_front() {
            wait_for(Some(one))?;
        }
        while runtime.lag() > 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(runtime)
    }

    fn gateways(&self, runtime: &Runtime) -> Result<Vec<LoadCaller>, String> {
        let gateway: &Gateway = runtime.gateway().map_err(|error| error.to_string())?;
        Ok((0..self.args.callers).map(|_| LoadCaller::InProcess(gateway.clone())).collect())
    }

    async fn connect(
        &self,
        server: &ServerProcess,
        tokens: &Arc<Vec<String>>,
        bare: bool,
    ) -> Result<Vec<LoadCaller>, String> {
        let mut callers = Vec::new();
        for _ in 0..self.args.callers {
            let connection = Connection::open(server.address).await.map_err(|error| error.to_string())?;
            callers.push(LoadCaller::Http { connection, tokens: tokens.clone(), bare });
        }
        Ok(callers)
    }

    async fn start_server(&self) -> Result<ServerProcess, String> {
        let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
        command.args(["up", "--listen", "127.0.0.1:0", "--data"]).arg(&self.data);
        let state = pinned_servers::absolute(self.folder).join("state");
        command.arg("--token-file").arg(self.token_file()).env("XDG_STATE_HOME", state);
        let log = self.folder.join("server.log");
        ServerProcess::start(command, &self.data.join("address"), &log, "/readyz").await
    }

    fn token_file(&self) -> PathBuf {
        self.folder.join("token")
    }

    async fn start_bare_handler(&self, sizes: HandlerSizes) -> Result<ServerProcess, String> {
        let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
        let address = self.folder.join("bare.address");
        command.args(["bench", "--append"]).arg(self.folder.join("bare.data")).arg(&address);
        command.arg("--sizes").arg(sizes.appended.to_string()).arg(sizes.answered.to_string());
        ServerProcess::start(command, &address, &self.folder.join("bare.log"), "/").await
    }

    /// Tokens for all actors, created by the owner.
    async fn create_tokens(&self, server: &ServerProcess) -> Result<Vec<String>, String> {
        let file = self.token_file();
        let owner = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let headers = format!("authorization: Bearer {}\r\n", owner.trim());
        let mut connection = Connection::open(server.address).await.map_err(|error| error.to_string())?;
        let mut tokens = Vec::new();
        for body in self.workload.tokens() {
            let answer = connection.post("/v1/tokens", &headers, &body.to_string()).await;
            let answer = answer.map_err(|error| error.to_string())?;
            let token = serde_json::from_slice::<Json>(answer.body).ok();
            match token.as_ref().and_then(|it| it.get("token")?.as_str()) {
                Some(token) if answer.status == 201 => tokens.push(token.to_owned()),
                _ => return Err(format!("no token was made: {}", String::from_utf8_lossy(answer.body))),
            }
        }
        Ok(tokens)
    }

    fn wants(&self, measurement: Measurement) -> bool {
        self.args.only.is_empty() || self.args.only.contains(&measurement)
    }

    fn title(&self, callers: &str) -> String {
        format!("{} {callers}, {} entities", self.args.callers, self.args.entities)
    }

    fn time(&self) -> Duration {
        Duration::from_secs(self.args.seconds)
    }

    fn turn(&self) -> Duration {
        self.time() / TURNS
    }

    fn show(&self, what: &str, share: f64) {
        self.progress.show(share, what);
    }
}

fn wait_for(pending: Option<trackside_runtime::Pending>) -> Result<(), String> {
    let Some(pending) = pending else { return Ok(()) };
    match pending.wait().map_err(|error| error.to_string())? {
        CommandAnswer::Refused(refusal) => Err(refusal.detail),
        _ => Ok(()),
    }
}

/// Commands, and bytes of journal.
fn bytes_written(runtime: &Runtime) -> (u64, u64) {
    const HASH: u64 = 32;
    let figures = runtime.figures();
    let bytes = Figures::get(&figures.header_bytes)
        + Figures::get(&figures.payload_bytes)
        + HASH * (Figures::get(&figures.payloads) + Figures::get(&figures.entries));
    (Figures::get(&figures.commands), bytes)
}

fn bytes_per_command(before: (u64, u64), after: (u64, u64)) -> f64 {
    (after.1 - before.1) as f64 / (after.0 - before.0).max(1) as f64
}

/// Waits until projections have caught up, so that the bare handler does not pay for them.
async fn wait_until_flushed(server: &ServerProcess) -> Result<(), String> {
    for _ in 0..3_000 {
        let mut connection = Connection::open(server.address).await.map_err(|error| error.to_string())?;
        let answer = connection.get("/readyz").await.map_err(|error| error.to_string())?;
        let body: Json = serde_json::from_slice(answer.body).unwrap_or_default();
        if body.get("behind").and_then(Json::as_u64) == Some(0) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err("the server's projections did not catch up within a minute".to_owned())
}

/// Processor time before and after a turn, by thread name.
type TurnTimes = (std::collections::BTreeMap<String, f64>, std::collections::BTreeMap<String, f64>);

fn server_time(name: &'static str, what: &str, turns: &[TurnTimes], commands: u64) -> BenchRow {
    let mut row = BenchRow::new(name, what);
    for (before, after) in turns {
        for (name, seconds) in after {
            let spent = seconds - before.get(name).copied().unwrap_or_default();
            *row.shares.entry(name.clone()).or_default() += spent * 1e6 / commands.max(1) as f64;
        }
    }
    row.shares.retain(|_, it| *it >= 0.05);
    let total = row.shares.values().sum();
    row.figure(total, FigureUnit::Micros)
}
