//! Runs git's command line in a controlled environment.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::checkout_git::RemovedFolder;

/// Configuration of every command: no hooks, no signatures, no background work, and objects that survive a power cut.
const CONFIG: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "core.fsync=committed,loose-object",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "advice.detachedHead=false",
    "diff.external=",
    "protocol.file.allow=always",
];

/// Messages of git when another process works on the same repository at the same moment.
const RACES: [&str; 5] = [
    "/commondir:",
    "could not lock",
    "Unable to create '",
    "unable to create temporary file",
    "cannot lock ref 'HEAD': Unable to create",
];

/// The pause between two looks at a command with a time limit.
const TICK: Duration = Duration::from_millis(1);

/// Pauses between attempts of a command that met such a process, in milliseconds.
const RETRIES: [u64; 9] = [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000];

/// Why a git command failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git cannot be started: {0}")]
    Start(io::Error),
    #[error("git {command} failed (exit code {code}): {stderr}")]
    Failed { command: String, code: i32, stderr: String },
    #[error("git {command} wrote something unexpected: {output}")]
    Output { command: String, output: String },
    #[error("git {command} was stopped after {seconds} s")]
    TooLong { command: String, seconds: u64 },
    #[error("cannot pass input to git {command}: {error}")]
    Input { command: String, error: io::Error },
}

impl GitError {
    fn is_race(&self) -> bool {
        match self {
            Self::Failed { stderr, .. } => RACES.iter().any(|it| stderr.contains(it)),
            _ => false,
        }
    }

    /// Whether git's message contains this text.
    pub fn says(&self, text: &str) -> bool {
        matches!(self, Self::Failed { stderr, .. } if stderr.contains(text))
    }
}

/// A folder in which git commands run.
#[derive(Clone, Debug)]
pub struct GitFolder {
    folder: PathBuf,
    variables: Vec<(OsString, OsString)>,
    /// The longest time of a command.
    limit: Option<Duration>,
    /// Held for its end.
    _scratch: Option<Arc<RemovedFolder>>,
}

impl GitFolder {
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), variables: Vec::new(), limit: None, _scratch: None }
    }

    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// With a variable such as `GIT_INDEX_FILE`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// A variable of this folder's commands, as text.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let found = self.variables.iter().rev().find(|(it, _)| it == name)?;
        Some(found.1.to_string_lossy().into_owned())
    }

    /// With settings that outrank those of the repository.
    #[must_use]
    pub(crate) fn with_settings(mut self, settings: &[(String, String)]) -> Self {
        for (number, (key, value)) in settings.iter().enumerate() {
            self = self
                .with(&format!("GIT_CONFIG_KEY_{number}"), key)
                .with(&format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        self.with("GIT_CONFIG_COUNT", settings.len().to_string())
    }

    /// With a time limit for each command.
    #[must_use]
    pub(crate) fn with_limit(self, limit: Duration) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// With a folder that lives as long as this value.
    #[must_use]
    pub(crate) fn keeping(self, scratch: Arc<RemovedFolder>) -> Self {
        Self { _scratch: Some(scratch), ..self }
    }

    /// The command, with a clean environment. A leaked `GIT_DIR` would send it into another repository.
    fn command(&self, args: &[&OsStr]) -> Command {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if name.as_bytes().starts_with(b"GIT_") {
                command.env_remove(name);
            }
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        command.current_dir(&self.folder);
        for setting in CONFIG {
            command.args(["-c", setting]);
        }
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command and returns its result, with any exit code.
    pub fn output<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Output, GitError> {
        let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
        match self.limit {
            None => self.command(&args).output().map_err(GitError::Start),
            Some(limit) => self.output_within(&args, b"", limit).map(|it| it.0),
        }
    }

    /// Runs a command and returns its standard output. Another process at work on the same repository is waited for.
    pub fn bytes<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Vec<u8>, GitError> {
        self.retrying(|| {
            let output = self.output(args)?;
            checked(&name_of(args), output)
        })
    }

    /// Runs a command and returns its standard output without the line break at its end.
    pub fn text<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<String, GitError> {
        let bytes = self.bytes(args)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())
    }

    /// Runs a command for its effect.
    pub fn run<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<(), GitError> {
        self.bytes(args).map(|_| ())
    }

    /// Whether the command succeeds.
    pub fn succeeds<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<bool, GitError> {
        Ok(self.output(args)?.status.success())
    }

    /// The lines that a command writes.
    pub fn lines<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Vec<String>, GitError> {
        Ok(self.text(args)?.lines().map(str::to_owned).collect())
    }

    /// Runs a command with this standard input.
    pub fn feed<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<Vec<u8>, GitError> {
        self.retrying(|| self.feed_once(args, input))
    }

    fn feed_once<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<Vec<u8>, GitError> {
        let name = name_of(args);
        let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
        let (output, written) = self.output_within(&args, input, self.limit.unwrap_or(Duration::MAX))?;
        let content = checked(&name, output)?;
        match written {
            Ok(()) => Ok(content),
            Err(error) => Err(GitError::Input { command: name, error }),
        }
    }

    /// Runs a command with an input and a time limit. Returns its result, and whether it took the input.
    fn output_within(
        &self,
        args: &[&OsStr],
        input: &[u8],
        limit: Duration,
    ) -> Result<(Output, io::Result<()>), GitError> {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().map_err(GitError::Start)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let begun = Instant::now();
        // Beside each other: git may write before it has read everything.
        let (written, stdout, stderr, ended) = std::thread::scope(|scope| {
            let writer = scope.spawn(move || stdin.map_or(Ok(()), |mut it| it.write_all(input)));
            let errors = scope.spawn(move || read_all(stderr));
            let reader = scope.spawn(move || read_all(stdout));
            while !reader.is_finished() && begun.elapsed() < limit {
                std::thread::sleep(TICK);
            }
            if !reader.is_finished() {
                let _ = child.kill();
            }
            let ended = child.wait();
            (writer.join(), reader.join(), errors.join(), ended)
        });
        if begun.elapsed() >= limit {
            return Err(GitError::TooLong { command: name_of(args), seconds: limit.as_secs() });
        }
        let status = ended.map_err(GitError::Start)?;
        let written = written.unwrap_or_else(|_| Err(io::Error::other("the writer stopped")));
        let stdout = stdout.unwrap_or_default();
        let stderr = stderr.unwrap_or_default();
        Ok((Output { status, stdout, stderr }, written))
    }

    fn retrying<T>(&self, attempt: impl Fn() -> Result<T, GitError>) -> Result<T, GitError> {
        for pause in RETRIES {
            match attempt() {
                Err(error) if error.is_race() => std::thread::sleep(Duration::from_millis(pause)),
                other => return other,
            }
        }
        attempt()
    }

    /// The object that a name stands for; none if there is no such object. `kind` is `commit` or `tree`.
    pub fn resolve(&self, name: &str, kind: &str) -> Result<Option<String>, GitError> {
        let output = self.output(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{name}^{{{kind}}}"),
        ])?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok((output.status.success() && is_object_id(&text)).then_some(text))
    }

    /// The commit that a name stands for; none if there is no such commit.
    pub fn commit(&self, name: &str) -> Result<Option<String>, GitError> {
        self.resolve(name, "commit")
    }

    /// Whether the first commit is the second one or an ancestor of it.
    pub fn is_ancestor(&self, ancestor: &str, of: &str) -> Result<bool, GitError> {
        let output = self.output(&["merge-base", "--is-ancestor", ancestor, of])?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => checked("merge-base", output).map(|_| false),
        }
    }

    /// Changes refs, all or none. Each line is an instruction of `git update-ref --stdin`. A ref that leads to another
    /// one is replaced itself.
    pub fn update_refs(&self, instructions: &[String]) -> Result<(), GitError> {
        let mut input = String::from("start\n");
        for line in instructions {
            input.push_str("option no-deref\n");
            input.push_str(line);
            input.push('\n');
        }
        input.push_str("prepare\ncommit\n");
        self.feed(&["update-ref", "--create-reflog", "--stdin"], input.as_bytes()).map(|_| ())
    }
}

/// Whether a text is the full name of an object.
pub fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

fn read_all(from: Option<impl io::Read>) -> Vec<u8> {
    let mut content = Vec::new();
    if let Some(mut from) = from {
        let _ = from.read_to_end(&mut content);
    }
    content
}

fn name_of<A: AsRef<OsStr>>(args: &[A]) -> String {
    let words = args.iter().map(|it| it.as_ref().to_string_lossy().into_owned());
    words.skip_while(|it| it.starts_with('-')).take(2).collect::<Vec<_>>().join(" ")
}

fn checked(name: &str, output: Output) -> Result<Vec<u8>, GitError> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(GitError::Failed { command: name.to_owned(), code: output.status.code().unwrap_or(-1), stderr })
}
