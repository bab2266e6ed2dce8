//! The same kind of move with Restate, if it is installed or may be fetched.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Web;
use super::child::{ChildProcess, get, post, small_runtime};
use super::load::{HttpTarget, callers};
use super::wire::{ConnectionReply, HttpConnection};
use crate::BenchError;
use crate::load::Pace;
use crate::report::{FigureAim, ReportRow, ReportUnit};
use crate::subject::{CommandOutcome, LoadCommand};
use crate::table::thousands;

const SERVER: &str = "@restatedev/restate-server@1.7.12";
const SDK: &str = "@restatedev/restate-sdk@1.17.2";
/// The least version of Node for the SDK; a newer one than the machine's comes from npm as well.
const NODE: u32 = 22;
const NODE_VERSION: &str = "22.23.3";
const TASK: &str = include_str!("../../restate/task.mjs");
/// The number of objects: few, so that all of them stay in its memory.
const OBJECTS: u64 = 1_000;
/// The time it gets after it reports that it is ready.
const SETTLE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(60);

const NOT_INSTALLED: &str = "not installed (`trackside bench --http --only restate` fetches it with npm)";

impl Web<'_> {
    pub(super) fn restate(&self, peak: f64) -> ReportRow {
        let row = ReportRow::new("restate", "  of Restate");
        let Some(cache) = &self.plan.cache else { return row.note(NOT_INSTALLED) };
        if self.plan.fetch && Installation::find(cache).is_none() {
            (self.so_far)("fetches Restate with npm", 0.0);
            if let Err(trouble) = fetch(cache) {
                return row.failed(trouble.to_string());
            }
        }
        let Some(installation) = Installation::find(cache) else { return row.note(NOT_INSTALLED) };
        match self.measure_restate(&installation) {
            Err(trouble) => row.failed(trouble.to_string()),
            Ok(tried) => result_row(row, &tried, peak),
        }
    }

    fn measure_restate(&self, installation: &Installation) -> Result<Vec<RestateRun>, BenchError> {
        (self.so_far)("starts Restate", 0.0);
        let cluster = Cluster::start(installation, &self.folder.join("restate"))?;
        let few = self.plan.callers;
        let mut tried = Vec::new();
        for (clients, keyed) in [(few, false), (few, true), (few * 4, false)] {
            let target: Arc<dyn HttpTarget> = Arc::new(RestateCalls { host: cluster.ingress, keyed });
            let how = |time| crate::load::ClosedLoad { callers: clients, ..self.callers(time) };
            let so_far = |it| (self.so_far)("Restate", it);
            callers(cluster.ingress, &target, &how(self.turn() / 2), &so_far)?;
            let pace = callers(cluster.ingress, &target, &how(self.plan.time), &so_far)?.pace;
            tried.push(RestateRun { clients, keyed, pace });
        }
        Ok(tried)
    }
}

struct RestateRun {
    clients: u32,
    keyed: bool,
    pace: Pace,
}

fn result_row(row: ReportRow, tried: &[RestateRun], peak: f64) -> ReportRow {
    let rate = |it: &RestateRun| it.pace.per_second();
    let Some(best) = tried.iter().max_by(|a, b| rate(a).total_cmp(&rate(b))) else { return row };
    let name =
        |it: &RestateRun| format!("{} clients{}", it.clients, if it.keyed { " with keys" } else { "" });
    let rates: Vec<String> =
        tried.iter().map(|it| format!("{} {}", name(it), thousands(rate(it).round() as u64))).collect();
    let note = format!("{SERVER}, an object in Node; a second: {}", rates.join(", "));
    let mut row = row
        .with_pace(&best.pace)
        .figure(peak / rate(best), ReportUnit::Times)
        .aim(FigureAim::AtLeast(15.0))
        .note(note);
    row.what = format!("  of Restate, {}", name(best));
    row
}

/// The paths of its programs.
struct Installation {
    folder: PathBuf,
    server: PathBuf,
    node: PathBuf,
}

impl Installation {
    fn find(cache: &Path) -> Option<Self> {
        let modules = cache.join("node_modules");
        let sdk = modules.join("@restatedev/restate-sdk");
        let server = std::fs::read_dir(modules.join("@restatedev")).ok()?.flatten().find_map(|it| {
            let server = it.path().join("bin/restate-server");
            server.is_file().then_some(server)
        })?;
        let own = std::fs::read_dir(&modules).ok()?.flatten().find_map(|it| {
            let is_node = it.file_name().to_string_lossy().starts_with("node-linux");
            let node = it.path().join("bin/node");
            (is_node && node.is_file()).then_some(node)
        });
        let node = own.or_else(|| has_node().then(|| PathBuf::from("node")))?;
        sdk.is_dir().then(|| Self { folder: cache.to_owned(), server, node })
    }
}

/// Whether the machine has a suitable Node.
fn has_node() -> bool {
    let result = Command::new("node").arg("--version").output();
    let version = result.map(|it| String::from_utf8_lossy(&it.stdout).into_owned()).unwrap_or_default();
    let major =
        version.trim().trim_start_matches('v').split('.').next().and_then(|it| it.parse::<u32>().ok());
    major.is_some_and(|it| it >= NODE)
}

fn fetch(cache: &Path) -> Result<(), BenchError> {
    std::fs::create_dir_all(cache).map_err(BenchError::file(cache))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
        .arg(cache)
        .args([SERVER, SDK]);
    if !has_node() {
        let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        npm.arg(format!("node-linux-{machine}@{NODE_VERSION}"));
    }
    let failed = |said: String| BenchError::Program { program: "npm".to_owned(), said };
    let output = npm.output().map_err(|it| failed(it.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

/// Its server and the program with our task, on ports of their own.
struct Cluster {
    _server: ChildProcess,
    _task: ChildProcess,
    ingress: SocketAddr,
}

impl Cluster {
    fn start(installation: &Installation, folder: &Path) -> Result<Self, BenchError> {
        std::fs::create_dir(folder).map_err(BenchError::file(folder))?;
        let script = installation.folder.join("task.mjs");
        std::fs::write(&script, TASK).map_err(BenchError::file(&script))?;
        let [ingress, admin, fabric, own] = free_ports().map_err(BenchError::file(folder))?;
        let mut node = Command::new(&installation.node);
        node.arg(&script).env("PORT", own.port().to_string()).env("RESTATE_LOGGING", "WARN");
        let task = ChildProcess::start(node, &folder.join("task.log"))?;
        let mut server = Command::new(&installation.server);
        server.arg("--base-dir").arg(folder.join("data")).args(["--no-logo", "--listen-mode", "tcp"]);
        server.args(["--bind-ip", "127.0.0.1", "--bind-port"]).arg(fabric.port().to_string());
        server.env("RESTATE_INGRESS__BIND_PORT", ingress.port().to_string());
        server.env("RESTATE_ADMIN__BIND_PORT", admin.port().to_string());
        server.env("RESTATE_DISABLE_TELEMETRY", "true");
        let log = folder.join("server.log");
        let mut server = ChildProcess::start(server, &log)?;
        let runtime = small_runtime()?;
        server.until(&log, || {
            runtime.block_on(get(admin, "/health", "")).ok().filter(|(status, _)| (200..300).contains(status))
        })?;
        runtime.block_on(register(admin, own))?;
        std::thread::sleep(SETTLE);
        Ok(Self { _server: server, _task: task, ingress })
    }
}

/// Registers our service with the server.
async fn register(admin: SocketAddr, task: SocketAddr) -> Result<(), BenchError> {
    let body = json!({ "uri": format!("http://{task}") });
    let since = Instant::now();
    loop {
        let mut wire = HttpConnection::open(admin).await.map_err(BenchError::other)?;
        let (status, said) =
            post(&mut wire, admin, "/deployments", "", &body).await.map_err(BenchError::other)?;
        if (200..300).contains(&status) {
            return Ok(());
        }
        if since.elapsed() > PATIENCE {
            let said = String::from_utf8_lossy(&said).into_owned();
            return Err(BenchError::Program { program: "restate-server".to_owned(), said });
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Free ports; all are bound before the first is released.
fn free_ports() -> std::io::Result<[SocketAddr; 4]> {
    let take = || TcpListener::bind("127.0.0.1:0");
    let taken = [take()?, take()?, take()?, take()?];
    let [one, two, three, four] = taken.each_ref().map(TcpListener::local_addr);
    Ok([one?, two?, three?, four?])
}

/// Objects going round.
struct RestateCalls {
    host: SocketAddr,
    keyed: bool,
}

impl HttpTarget for RestateCalls {
    fn request(&self, ask: LoadCommand, to: &mut Vec<u8>) {
        let (n, host) = (ask.entity(OBJECTS.max(u64::from(ask.callers))), self.host);
        let _ = write!(
            to,
            "POST /task/T-{n}/move HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
        );
        if self.keyed {
            let LoadCommand { load, caller, nth, .. } = ask;
            let _ = write!(to, "idempotency-key: {load}-{caller}-{nth}\r\n");
        }
        to.extend_from_slice(b"content-length: 2\r\n\r\n{}");
    }

    fn classify_reply(&self, _: LoadCommand, reply: &ConnectionReply<'_>) -> CommandOutcome {
        match reply.status {
            200..300 => CommandOutcome::Done,
            429 | 503 => CommandOutcome::Overloaded,
            400..500 => CommandOutcome::Refused,
            _ => CommandOutcome::Failed,
        }
    }
}
