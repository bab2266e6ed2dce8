//! Starts shims and looks at what they leave.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use trackside_shim::folder::OutputStream;
use trackside_shim::process_table::ProcessTable;
use trackside_shim::{
    ContainmentTier, ExitRecord, PROTOCOL, RunFolder, RunSecrets, RunSpec, RunningRecord, SandboxSpec,
    boot_time,
};

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// Runs the tests whose name contains the filter, one after the other.
pub fn run(tests: &[(&str, fn())], arguments: &[OsString]) {
    let text: Vec<String> = arguments.iter().map(|it| it.to_string_lossy().into_owned()).collect();
    if text.iter().any(|it| it == "--list") {
        for (name, _) in tests {
            println!("{name}: test");
        }
        return;
    }
    let filter = text.iter().find(|it| !it.starts_with('-'));
    let wanted: Vec<_> =
        tests.iter().filter(|(name, _)| filter.is_none_or(|it| name.contains(it.as_str()))).collect();
    println!("\nrunning {} tests", wanted.len());
    let failed: Vec<_> = wanted
        .iter()
        .filter(|(name, test)| {
            let failed = std::panic::catch_unwind(test).is_err();
            println!("test {name} ... {}", if failed { "FAILED" } else { "ok" });
            failed
        })
        .collect();
    let result = if failed.is_empty() { "ok" } else { "FAILED" };
    let (passed, failed, out) = (wanted.len() - failed.len(), failed.len(), tests.len() - wanted.len());
    println!(
        "\ntest result: {result}. {passed} passed; {failed} failed; 0 ignored; 0 measured; {out} filtered out\n"
    );
    std::process::exit(i32::from(failed > 0) * 101);
}

pub fn skip(why: &str) {
    println!("skipped: {why}");
}

/// The tiers that work on this machine. The weakest always does.
pub fn tiers() -> Vec<ContainmentTier> {
    static TIERS: OnceLock<Vec<ContainmentTier>> = OnceLock::new();
    let find = || {
        let program = std::env::current_exe().unwrap();
        let has = |it: &ContainmentTier| it.is_supported(&program, &["__shim"]);
        let found: Vec<_> = ContainmentTier::ALL.into_iter().filter(has).collect();
        println!("tiers of this machine: {found:?}");
        assert!(found.contains(&ContainmentTier::Tree));
        found
    };
    TIERS.get_or_init(find).clone()
}

/// Waits until a condition holds; false if it does not within half a minute.
pub fn until(mut condition: impl FnMut() -> bool) -> bool {
    let limit = Instant::now() + Duration::from_secs(30);
    while !condition() {
        if Instant::now() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

#[derive(Debug)]
pub struct TempFolder(PathBuf);

impl TempFolder {
    pub fn new(name: &str) -> Self {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        // Not below a folder that a sandbox may write.
        let path =
            std::env::temp_dir().join(format!("trackside-shim-{}-{number}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub struct Plan {
    spec: RunSpec,
    env: BTreeMap<String, String>,
    redact: Vec<String>,
    work: TempFolder,
    lease: Duration,
}

pub struct Run {
    pub folder: RunFolder,
    name: String,
    work: TempFolder,
    _state: TempFolder,
}

impl Run {
    pub fn shell(tier: ContainmentTier, script: &str) -> Plan {
        Self::program(tier, "/bin/sh", &["-c", script])
    }

    pub fn program(tier: ContainmentTier, program: &str, args: &[&str]) -> Plan {
        let work = TempFolder::new("work");
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("test-{}-{number}", std::process::id());
        let spec = RunSpec {
            protocol: PROTOCOL,
            run: name.clone(),
            program: program.into(),
            args: args.iter().map(|it| (*it).to_owned()).collect(),
            folder: work.path().to_owned(),
            tier,
            sandbox: None,
            lease: 0,
            grace: 1_000,
            limit: None,
            steered: false,
            segment: 8 << 20,
            most_output: None,
        };
        let path = std::env::var("PATH").unwrap_or_default();
        let env = BTreeMap::from([("PATH".to_owned(), path), ("TRACKSIDE_RUN".to_owned(), name)]);
        Plan { spec, env, redact: Vec::new(), work, lease: Duration::from_secs(60) }
    }

    pub fn work(&self) -> &Path {
        self.work.path()
    }

    pub fn running(&self) -> RunningRecord {
        self.folder.read("running").unwrap().unwrap()
    }

    pub fn exit(&self) -> ExitRecord {
        assert!(until(|| self.folder.has("exit")), "the run did not end: {}", self.out());
        self.folder.read("exit").unwrap().unwrap()
    }

    pub fn out(&self) -> String {
        self.stream(OutputStream::Out)
    }

    pub fn err(&self) -> String {
        self.stream(OutputStream::Err)
    }

    fn stream(&self, stream: OutputStream) -> String {
        let mut all = Vec::new();
        loop {
            let next = self.folder.read_stream(stream, all.len() as u64, 1 << 20).unwrap();
            if next.is_empty() {
                return String::from_utf8(all).unwrap();
            }
            all.extend(next);
        }
    }

    pub fn wait_for_output(&self, text: &str) {
        assert!(until(|| self.out().contains(text)), "no {text:?} in {:?}, {:?}", self.out(), self.err());
    }

    /// No process of the run exists: none with its variable, and none in its folder (which also finds those with an
    /// emptied environment).
    pub fn assert_nothing_left(&self) {
        let left = || {
            let table = ProcessTable::read();
            let marked: Vec<i32> =
                table.with_variable("TRACKSIDE_RUN", &self.name).iter().map(|it| it.pid).collect();
            let inside = fs::read_dir("/proc").unwrap().flatten().filter_map(|it| {
                let pid: i32 = it.file_name().to_str()?.parse().ok()?;
                (fs::read_link(it.path().join("cwd")).ok()? == self.work.path()).then_some(pid)
            });
            let mut all: Vec<i32> = marked.into_iter().chain(inside).collect();
            all.sort_unstable();
            all.dedup();
            // The shim itself ends a moment after it wrote the record.
            let shim = self.folder.read::<RunningRecord>("running").unwrap().map(|it| it.pid);
            all.retain(|it| Some(*it) != shim);
            all
        };
        assert!(until(|| left().is_empty()), "processes are left: {:?}", left());
    }

    pub fn start_again(&self) -> Child {
        start_shim(&self.folder, &RunSecrets::default())
    }
}

impl Plan {
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    pub fn grace(mut self, grace: Duration) -> Self {
        self.spec.grace = grace.as_millis() as u64;
        self
    }

    pub fn protocol(mut self, number: u32) -> Self {
        self.spec.protocol = number;
        self
    }

    pub fn limit(mut self, limit: Duration) -> Self {
        self.spec.limit = Some(limit.as_millis() as u64);
        self
    }

    pub fn steered(mut self) -> Self {
        self.spec.steered = true;
        self
    }

    pub fn segment(mut self, bytes: u64) -> Self {
        self.spec.segment = bytes;
        self
    }

    pub fn most_output(mut self, bytes: u64) -> Self {
        self.spec.most_output = Some(bytes);
        self
    }

    /// A variable whose value is a secret.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self.redact.push(value.to_owned());
        self
    }

    pub fn sandbox(mut self, spec: impl Fn(&Path) -> SandboxSpec) -> Self {
        self.spec.sandbox = Some(spec(self.work.path()));
        self
    }

    pub fn start(mut self) -> Run {
        let state = TempFolder::new("run");
        let folder = RunFolder::new(state.path());
        folder.create().unwrap();
        self.spec.lease = boot_time::now() + self.lease.as_nanos() as u64;
        folder.write("spec", &self.spec).unwrap();
        let mut shim = start_shim(&folder, &RunSecrets { env: self.env, redact: self.redact });
        assert!(
            until(|| folder.has("running") || shim.try_wait().unwrap().is_some()),
            "the shim did not start"
        );
        // The shim is waited for, so that it does not stay as a zombie of this program.
        std::thread::spawn(move || shim.wait());
        Run { folder, name: self.spec.run, work: self.work, _state: state }
    }
}

fn start_shim(folder: &RunFolder, secrets: &RunSecrets) -> Child {
    let mut shim = Command::new(std::env::current_exe().unwrap())
        .args(["__shim", "run"])
        .arg(folder.path())
        .env("OUTER", "stolen")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let sent = serde_json::to_vec(secrets).unwrap();
    // A shim that is refused does not read.
    let _ = shim.stdin.take().unwrap().write_all(&sent);
    shim
}
