//! A cluster for one measurement, removed afterwards in every case.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::install::{Installation, output};
use super::log;
use crate::BenchError;
use crate::load::Pace;

/// Runs the server until its own input ends, which happens when we end in any way; then stops the server
/// and removes its files.
const GUARD: &str = r#"
trap '' INT TERM HUP
"$1/postgres" -D "$2/cluster" -k "$2" -c listen_addresses= -p 5432 >"$2/server.log" 2>&1 &
server=$!
read -r _
kill -QUIT $server
wait $server
rm -rf "$2"/*
"#;

/// The path of a socket may have about 107 bytes, the name of the socket included.
const LONGEST: usize = 85;
/// For how long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server with a database of its own, reached by a socket in its folder.
///
/// All settings are the defaults of PostgreSQL, except that it does not listen on the network.
pub(super) struct Cluster {
    installation: Installation,
    folder: PathBuf,
    wanted: PathBuf,
    guard: Option<Child>,
}

impl Cluster {
    pub(super) fn start(installation: &Installation, wanted: &Path) -> Result<Self, BenchError> {
        let folder = usable(installation, wanted)?;
        let mut cluster =
            Self { installation: installation.clone(), folder, wanted: wanted.to_owned(), guard: None };
        let folder = &cluster.folder;
        let mut initdb = installation.program("initdb");
        initdb.arg("-D").arg(folder.join("cluster"));
        output(
            initdb
                .args(["-U", "bench", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"])
                .current_dir(folder),
        )?;
        let mut guard = installation.as_user("sh");
        guard.args(["-c", GUARD, "guard"]).arg(installation.bin()).arg(folder).current_dir(folder);
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        cluster.guard = Some(guard.spawn().map_err(BenchError::file(folder))?);
        cluster.wait()?;
        Ok(cluster)
    }

    /// Its folder, if that is not the intended one.
    pub(super) fn elsewhere(&self) -> Option<&Path> {
        (self.folder != self.wanted).then_some(self.folder.as_path())
    }

    /// The only value that a query gives.
    pub(super) fn ask(&self, query: &str) -> Result<String, BenchError> {
        output(self.client("psql").args(["-qAtX", "-v", "ON_ERROR_STOP=1", "-c", query, "postgres"]))
    }

    pub(super) fn count(&self, table: &str) -> Result<u64, BenchError> {
        let told = self.ask(&format!("SELECT count(*) FROM {table}"))?;
        told.parse().map_err(|_| BenchError::Program { program: "psql".to_owned(), said: told })
    }

    /// Puts a script where the server's user can read it.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), BenchError> {
        let path = self.folder.join(name);
        std::fs::write(&path, text).map_err(BenchError::file(&path))
    }

    pub(super) fn run_file(&self, name: &str, entities: u64) -> Result<(), BenchError> {
        let mut psql = self.client("psql");
        psql.args([
            "-qAtX",
            "-v",
            "ON_ERROR_STOP=1",
            "-v",
            &format!("entities={entities}"),
            "-f",
            name,
            "postgres",
        ]);
        output(&mut psql).map(drop)
    }

    /// The result of `pgbench` for a script.
    pub(super) fn bench(
        &self,
        name: &str,
        entities: u64,
        clients: u32,
        time: Duration,
    ) -> Result<Pace, BenchError> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u32;
        let mut pgbench = self.client("pgbench");
        pgbench.args(["-n", "-M", "prepared", "-l", "--log-prefix=latency", "-f", name]);
        pgbench.arg("-c").arg(clients.to_string()).arg("-j").arg(clients.min(cores).to_string());
        pgbench.arg("-T").arg(time.as_secs().max(1).to_string());
        let report = output(pgbench.args(["-D", &format!("entities={entities}"), "postgres"]))?;
        let (commands, per_second) = log::report(&report)?;
        let mut pace = Pace { commands, seconds: commands / per_second.max(0.001), ..Pace::default() };
        let files = std::fs::read_dir(&self.folder).map_err(BenchError::file(&self.folder))?;
        for path in files.flatten().map(|it| it.path()) {
            let ours = path.file_name().is_some_and(|it| it.to_string_lossy().starts_with("latency."));
            if ours {
                let text = std::fs::read_to_string(&path).map_err(BenchError::file(&path))?;
                log::latencies(&text, &mut pace.latency);
                std::fs::remove_file(&path).map_err(BenchError::file(&path))?;
            }
        }
        Ok(pace)
    }

    fn client(&self, program: &str) -> Command {
        let mut command = self.installation.program(program);
        command.arg("-h").arg(&self.folder).args(["-p", "5432", "-U", "bench"]).current_dir(&self.folder);
        command
    }

    fn wait(&mut self) -> Result<(), BenchError> {
        let begun = Instant::now();
        loop {
            let ready = output(self.client("pg_isready").arg("-q"));
            let ended = self.guard.as_mut().is_some_and(|it| matches!(it.try_wait(), Ok(Some(_)) | Err(_)));
            match ready {
                Ok(_) => return Ok(()),
                Err(_) if !ended && begun.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(50))
                }
                Err(_) => {
                    let log = std::fs::read_to_string(self.folder.join("server.log")).unwrap_or_default();
                    let said =
                        format!("it did not start: {}", log.lines().last().unwrap_or("it says nothing"));
                    return Err(BenchError::Program { program: "postgres".to_owned(), said });
                }
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Makes the folder that is wanted, or one among the temporary files where the server's user cannot
/// reach that or its path is too long for a socket.
fn usable(installation: &Installation, wanted: &Path) -> Result<PathBuf, BenchError> {
    let other = std::env::temp_dir().join(format!("trackside-postgres-{}", std::process::id()));
    for folder in [wanted, &other] {
        if folder.as_os_str().len() > LONGEST {
            continue;
        }
        std::fs::create_dir(folder).map_err(BenchError::file(folder))?;
        installation.hand_over(folder)?;
        if output(installation.as_user("test").arg("-w").arg(folder)).is_ok() {
            return Ok(folder.to_owned());
        }
        let _ = std::fs::remove_dir(folder);
    }
    let said = format!("{} cannot be used by it: choose another folder with --data", wanted.display());
    Err(BenchError::Program { program: "postgres".to_owned(), said })
}
