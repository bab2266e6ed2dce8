//! Processes and folders of a bench. Both are gone afterwards, even if the bench is killed: a shell that waits for
//! the end of its standard input cleans up.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::connection::Connection;

const REMOVE_FOLDER: &str = "trap '' INT TERM HUP; read -r _; rm -rf -- \"$1\"";
const KILL_PROCESS: &str = "trap '' INT TERM HUP; read -r word; [ \"$word\" = done ] || kill -KILL \"$1\"";
const START_LIMIT: Duration = Duration::from_secs(60);

/// Runs a script when this process ends, however it ends.
fn guard(script: &str, argument: &str) -> Option<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", script, "guard", argument]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
}

/// A folder for one run, removed afterwards unless it is to be kept.
#[derive(Debug)]
pub(super) struct ScratchFolder {
    pub(super) path: PathBuf,
    guard: Option<Child>,
    keep: bool,
}

impl ScratchFolder {
    pub(super) fn create(inside: &Path, keep: bool) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", inside.display());
        let inside = inside.canonicalize().map_err(failed)?;
        let path = inside.join(format!(".trackside-bench-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(failed)?;
        let guard = if keep { None } else { guard(REMOVE_FOLDER, &path.to_string_lossy()) };
        Ok(Self { path, guard, keep })
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.path);
        }
        if let Some(mut guard) = self.guard.take() {
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
    }
}

/// A server in a process of its own, killed when it is dropped.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Child,
    guard: Option<Child>,
    pub(super) address: SocketAddr,
}

impl ServerProcess {
    /// Starts it and waits until it answers `path` with 200. It writes its address into a file.
    pub(super) async fn start(
        mut command: Command,
        address: &Path,
        log: &Path,
        path: &str,
    ) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", log.display());
        let output = std::fs::File::create(log).map_err(failed)?;
        command.stdin(Stdio::null()).stdout(output.try_clone().map_err(failed)?).stderr(output);
        let child = command.spawn().map_err(failed)?;
        let guard = guard(KILL_PROCESS, &child.id().to_string());
        let mut process = Self { child, guard, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let begun = Instant::now();
        loop {
            let found = std::fs::read_to_string(address).ok().and_then(|it| it.trim().parse().ok());
            if let Some(address) = found
                && let Ok(mut connection) = Connection::open(address).await
                && connection.get(path).await.is_ok_and(|it| it.status == 200)
            {
                process.address = address;
                return Ok(process);
            }
            if !matches!(process.child.try_wait(), Ok(None)) || begun.elapsed() > START_LIMIT {
                let said = std::fs::read_to_string(log).unwrap_or_default();
                return Err(format!("the server did not start: {}", said.trim()));
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Memory now, and at most since the start, in megabytes; none where the system has no `/proc`.
    pub(super) fn memory(&self) -> Option<(f64, f64)> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let kilobytes = |name: &str| {
            let line = status.lines().find_map(|it| it.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<f64>().ok()
        };
        Some((kilobytes("VmRSS:")? / 1024.0, kilobytes("VmHWM:")? / 1024.0))
    }

    /// Processor time in seconds by thread name; empty where the system has no `/proc`.
    pub(super) fn thread_times(&self) -> BTreeMap<String, f64> {
        let mut times = BTreeMap::new();
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        for task in tasks.into_iter().flatten().flatten() {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            if let Some((name, seconds)) = thread_time(&stat) {
                *times.entry(name).or_default() += seconds;
            }
        }
        times
    }
}

/// Name and processor time of a thread from its `stat` line. Threads that differ only by a number share a name.
fn thread_time(stat: &str) -> Option<(String, f64)> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let mut numbers = rest.split_whitespace().skip(11).map(|it| it.parse::<f64>().ok());
    let ticks = numbers.next()?? + numbers.next()??;
    let name = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '-');
    Some((name.to_owned(), ticks / TICKS_PER_SECOND))
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(mut guard) = self.guard.take() {
            // The process number may be reused soon: the guard must not kill it any more.
            if let Some(mut input) = guard.stdin.take() {
                let _ = input.write_all(b"done\n");
            }
            let _ = guard.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_named_without_its_number() {
        let stat = "7 (http-1) S 1 7 7 0 -1 4 0 0 0 0 120 30 0 0 20 0 1 0 5 0 0";
        assert_eq!(thread_time(stat), Some(("http".to_owned(), 1.5)));
        assert_eq!(thread_time("nothing"), None);
    }

    #[test]
    fn a_scratch_folder_is_removed_unless_kept() {
        let outer = ScratchFolder::create(&std::env::temp_dir(), false).unwrap();
        let inner = ScratchFolder::create(&outer.path, true).unwrap();
        let (outer_path, inner_path) = (outer.path.clone(), inner.path.clone());
        drop(inner);
        assert!(inner_path.is_dir());
        drop(outer);
        assert!(!outer_path.exists());
    }
}
