//! A server in a process of its own, killed afterwards in every case.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::wire::HttpConnection;
use crate::BenchError;
use crate::machine::resident_of;
use crate::usage::Usage;

/// Waits for a word; if its input ends without one, which it does when we are killed, it stops the process.
const GUARD: &str = "trap '' INT TERM HUP; read -r word; [ \"$word\" = done ] || kill -KILL \"$1\"";
/// For how long a server may take to answer at first.
const PATIENCE: Duration = Duration::from_secs(60);
/// The interval at which we check whether it does.
const LOOK: Duration = Duration::from_millis(2);

/// A process that we started.
#[derive(Debug)]
pub(super) struct ChildProcess {
    name: String,
    child: Child,
    guard: Option<Child>,
    pub since: Instant,
}

impl ChildProcess {
    /// Starts it; its output goes into a file.
    pub fn start(mut command: Command, log: &Path) -> Result<Self, BenchError> {
        let name = command.get_program().to_string_lossy().into_owned();
        let failed =
            |error: std::io::Error| BenchError::Program { program: name.clone(), said: error.to_string() };
        let said = std::fs::File::create(log).map_err(BenchError::file(log))?;
        let too = said.try_clone().map_err(BenchError::file(log))?;
        command.stdin(Stdio::null()).stdout(said).stderr(too);
        let since = Instant::now();
        let child = command.spawn().map_err(failed)?;
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "guard"]).arg(child.id().to_string());
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { name, child, guard: guard.spawn().ok(), since })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Polls until there is a result, the process has ended, or it takes too long.
    pub fn until<T>(&mut self, log: &Path, mut look: impl FnMut() -> Option<T>) -> Result<T, BenchError> {
        loop {
            if let Some(found) = look() {
                return Ok(found);
            }
            let ended = !matches!(self.child.try_wait(), Ok(None));
            if ended || self.since.elapsed() > PATIENCE {
                let said = std::fs::read_to_string(log).unwrap_or_default();
                let last: Vec<&str> = said.lines().rev().take(3).collect();
                let said =
                    format!("it did not start: {}", last.into_iter().rev().collect::<Vec<_>>().join(" · "));
                return Err(BenchError::Program { program: self.name.clone(), said });
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(mut guard) = self.guard.take() {
            // Its number may soon be another's: the guard must not use it any more.
            if let Some(mut input) = guard.stdin.take() {
                let _ = input.write_all(b"done\n");
            }
            let _ = guard.wait();
        }
    }
}

/// A server that answers.
#[derive(Debug)]
pub(super) struct RunningServer {
    process: ChildProcess,
    pub address: SocketAddr,
    /// From its start to its first good answer.
    pub took: Duration,
}

impl RunningServer {
    /// Starts a server that writes where it listens into a file, and waits until `path` is answered with 200.
    pub fn start(command: Command, address: &Path, log: &Path, path: &str) -> Result<Self, BenchError> {
        let mut process = ChildProcess::start(command, log)?;
        let address: SocketAddr =
            process.until(log, || std::fs::read_to_string(address).ok()?.trim().parse().ok())?;
        let runtime = small_runtime()?;
        process.until(log, || {
            runtime.block_on(get(address, path, "")).ok().filter(|(status, _)| *status == 200)
        })?;
        let took = process.since.elapsed();
        Ok(Self { process, address, took })
    }

    pub fn usage(&self) -> Usage {
        Usage::of(self.process.id())
    }

    /// Its memory in bytes, if known.
    pub fn resident(&self) -> Option<u64> {
        resident_of(&self.process.id().to_string())
    }
}

/// A runtime for one thread.
pub(super) fn small_runtime() -> Result<tokio::runtime::Runtime, BenchError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(BenchError::other)
}

/// Sends one request on its own connection. Returns the status and the body.
pub(super) async fn get(to: SocketAddr, path: &str, headers: &str) -> std::io::Result<(u16, Vec<u8>)> {
    let mut wire = HttpConnection::open(to).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {to}\r\n{headers}\r\n");
    let reply = wire.ask(request.as_bytes()).await?;
    Ok((reply.status, reply.body.to_vec()))
}

/// Posts JSON, and gives the status and the body.
pub(super) async fn post(
    wire: &mut HttpConnection,
    to: SocketAddr,
    path: &str,
    headers: &str,
    body: &serde_json::Value,
) -> std::io::Result<(u16, Vec<u8>)> {
    let body = body.to_string();
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {to}\r\n{headers}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let reply = wire.ask(request.as_bytes()).await?;
    Ok((reply.status, reply.body.to_vec()))
}
