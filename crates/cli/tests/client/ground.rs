//! Shared fixtures: servers in scratch folders, and short request functions.

use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::program::{AT_TERMINAL, CliOutput, binary, isolate, run_at_terminal, run_command};

/// A small lifecycle with a deadline, a lease and an invariant.
pub(crate) const LIGHT: &str = "\
lifecycle: small.light
fields:
  place: { type: string, minLength: 1 }
  watts: { type: integer, default: 40 }
  fitter: { type: string, by: engine }
slots: { work: { for: 1h, holder: fitter, lost: drop } }
rankings: { dark: { in: [OFF], by: [watts], claims: fix } }
create: { by: human, takes: [place, watts] }
states:
  OFF: { initial: true, about: It is dark. }
  ON: { require: { place: Say where it hangs }, deadline: { after: 8h, warn: [50%], then: switch_off } }
  FIXING: {}
  BROKEN: { final: true, outcome: failure }
transitions:
  switch_on: { from: OFF, to: ON, by: human, takes: [place] }
  switch_off: { from: ON, to: OFF, by: human || engine }
  fix: { from: OFF, to: FIXING, by: agent, lease: work }
  drop: { from: FIXING, to: OFF, by: engine }
  smash: { from: OFF, to: BROKEN, by: human && admin, reason: Say why }
invariants:
  modest: { holds: watts <= 100, says: '{watts} watts are too many' }
  dusted: { holds: now - createdAt <= duration(\"30d\"), says: Nobody has dusted it }
";

/// A folder of its own for a test.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("client").join(name);
    let _ = std::fs::remove_dir_all(&root);
    std::fs::create_dir_all(&root).unwrap();
    root
}

/// Writes the pack `small` into a folder.
pub(crate) fn small(root: &Path, version: u32, lifecycle: &str) -> String {
    let pack = root.join("small");
    std::fs::create_dir_all(pack.join("lifecycles")).unwrap();
    std::fs::write(pack.join("pack.yaml"), format!("pack: small\nversion: {version}\n")).unwrap();
    std::fs::write(pack.join("lifecycles/light.yaml"), lifecycle).unwrap();
    pack.to_str().unwrap().to_owned()
}

/// A server that ends with the test in any case: it lives as long as this pipe is open.
#[derive(Debug)]
pub(crate) struct ClientServer {
    pub root: PathBuf,
    data: PathBuf,
    args: Vec<String>,
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl ClientServer {
    /// A server with the small pack alone.
    pub fn small(name: &str) -> Self {
        let root = scratch(name);
        let pack = small(&root, 1, LIGHT);
        Self::start(root, &pack)
    }

    /// A server with these packs.
    pub fn start(root: PathBuf, packs: &str) -> Self {
        Self::start_with(root, packs, &[])
    }

    /// Starts a server with further arguments.
    pub fn start_with(root: PathBuf, packs: &str, more: &[&str]) -> Self {
        Self::start_by(root, packs, "manual", more)
    }

    /// A server whose project folder has this name.
    pub fn start_in(root: PathBuf, folder: &str, packs: &str) -> Self {
        Self::start_as(root, folder, packs, "manual", &[], &[])
    }

    /// A server that a person starts at a terminal, as an imported or restored project needs it once.
    pub fn start_by_person(root: PathBuf, packs: &str) -> Self {
        Self::start_as(root, "data", packs, "manual", &[], &["python3", AT_TERMINAL])
    }

    /// Starts a server with this clock.
    pub fn start_by(root: PathBuf, packs: &str, clock: &str, more: &[&str]) -> Self {
        Self::start_as(root, "data", packs, clock, more, &[])
    }

    /// Starts a server with its folder below the root, through another program.
    pub fn start_as(
        root: PathBuf,
        folder: &str,
        packs: &str,
        clock: &str,
        more: &[&str],
        driver: &[&str],
    ) -> Self {
        let data = root.join(folder);
        let token = data.join("token");
        let (folder, token) = (data.to_str().unwrap(), token.to_str().unwrap());
        let mut args =
            vec!["up", "--data", folder, "--clock", clock, "--packs", packs, "--token-file", token];
        args.extend(more);
        let args: Vec<String> = args.into_iter().map(str::to_owned).collect();
        let started: Vec<&str> = [driver, &[env!("CARGO_BIN_EXE_trackside")]].concat();
        let (shell, pipe) = Self::launch(&root, &data, &started, &args, "127.0.0.1:0");
        Self { root, data, args, shell, pipe }
    }

    /// Ends the server, and starts this program with its data at its address.
    pub fn replace_by(&mut self, program: &Path) {
        let address = std::fs::read_to_string(self.data.join("address")).unwrap();
        self.stop();
        let program = [program.to_str().unwrap()];
        (self.shell, self.pipe) = Self::launch(&self.root, &self.data, &program, &self.args, address.trim());
    }

    fn launch(
        root: &Path,
        data: &Path,
        program: &[&str],
        args: &[String],
        listen: &str,
    ) -> (Child, Option<ChildStdin>) {
        // The address of an earlier run may be wrong.
        let _ = std::fs::remove_file(data.join("address"));
        let script = "\"$@\" >up.log 2>&1 & pid=$!; cat >/dev/null; kill $pid; wait $pid";
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "sh"]).args(program).args(args).args(["--listen", listen]);
        isolate(&mut shell);
        let mut shell = shell.current_dir(root).stdin(Stdio::piped()).spawn().unwrap();
        let pipe = shell.stdin.take();
        let begun = Instant::now();
        while !data.join("address").is_file() {
            let log = std::fs::read_to_string(root.join("up.log")).unwrap_or_default();
            let well = log.is_empty()
                || ["Trackside is up", "{", "--now", "warning: "].iter().any(|it| log.starts_with(it));
            assert!(well && begun.elapsed() < Duration::from_secs(300), "the server did not start: {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
        (shell, pipe)
    }

    /// The shared server with all built-in packs, for tests that do not move its clock.
    pub fn with_all_packs() -> &'static Self {
        static SHARED: OnceLock<ClientServer> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(scratch("whole"), "build,coding,mission,research,turns"))
    }

    pub fn data(&self) -> String {
        self.data.to_str().unwrap().to_owned()
    }

    /// The owner's token for scripts.
    pub fn owner(&self) -> String {
        std::fs::read_to_string(self.data.join("token")).unwrap().trim().to_owned()
    }

    /// The server's address, as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", std::fs::read_to_string(self.data.join("address")).unwrap().trim())
    }

    /// Runs a command as the owner.
    pub fn ask(&self, args: &[&str]) -> CliOutput {
        run_command(self.command(args))
    }

    /// Sends a command as another actor.
    pub fn ask_as(&self, token: &str, args: &[&str]) -> CliOutput {
        let mut command = self.command(args);
        command.env("TRACKSIDE_TOKEN", token);
        run_command(command)
    }

    /// Runs a command as a person at a terminal.
    pub fn ask_typed(&self, args: &[&str]) -> CliOutput {
        run_at_terminal(&self.command(args))
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = binary(args);
        command.arg("--data").arg(self.data()).current_dir(&self.root);
        command
    }

    /// Creates a token for an actor.
    pub fn token(&self, actor: &str, kind: &str, roles: &[&str]) -> String {
        let mut args = vec!["token", "create", actor, "--kind", kind];
        roles.iter().for_each(|it| args.extend(["--role", it]));
        self.ask(&args).says(0, &[]).data.trim().to_owned()
    }

    /// Ends the server, and waits until it has.
    pub fn stop(&mut self) {
        self.pipe = None;
        let _ = self.shell.wait();
    }
}

impl Drop for ClientServer {
    fn drop(&mut self) {
        self.stop();
    }
}
