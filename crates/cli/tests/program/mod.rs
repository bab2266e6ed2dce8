//! The binary as people start it, and its output.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value as Json;

/// The result of a command.
#[derive(Debug)]
pub(crate) struct CliOutput {
    pub code: i32,
    pub data: String,
    pub messages: String,
}

impl CliOutput {
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.data).unwrap_or_else(|it| panic!("{it}: {self:?}"))
    }

    /// Checks the exit code, and that the output contains these words.
    pub fn says(&self, code: i32, words: &[&str]) -> &Self {
        assert_eq!(self.code, code, "{self:#?}");
        let all = format!("{}\n{}", self.data, self.messages);
        for it in words {
            assert!(all.contains(it), "expected {it:?} in\n{all}");
        }
        self
    }
}

/// The binary, without the environment of the user who runs the tests.
pub(crate) fn binary(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trackside"));
    command.args(args).env("NO_COLOR", "1").env("COLUMNS", "100").stdin(Stdio::null());
    isolate(&mut command);
    command
}

/// Removes what a user, a CI system or a coding agent may have set, and keeps the state directory among the tests' files.
pub(crate) fn isolate(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let of_agents =
            ["TRACKSIDE_", "CLAUDE", "CODEX_", "CURSOR_", "GEMINI_", "OPENCODE", "AI_AGENT", "AGENT"];
        if of_agents.iter().any(|it| name.starts_with(it)) {
            command.env_remove(&*name);
        }
    }
    command.env("USER", "olga").env("XDG_STATE_HOME", state_home());
}

/// The program that gives a command a terminal.
pub(crate) const AT_TERMINAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/at_terminal.py");

/// Runs a command as a person would at a terminal: its standard input and standard error are one.
pub(crate) fn run_at_terminal(command: &Command) -> CliOutput {
    let mut person = Command::new("python3");
    person.arg(AT_TERMINAL).arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    command.get_current_dir().map(|it| person.current_dir(it));
    isolate(&mut person);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => person.env(name, value),
            None => person.env_remove(name),
        };
    }
    run_command(person)
}

/// The state directory of the tests.
pub(crate) fn state_home() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("state")
}

pub(crate) fn run_command(mut command: Command) -> CliOutput {
    let output = command.output().unwrap();
    CliOutput {
        code: output.status.code().unwrap(),
        data: String::from_utf8(output.stdout).unwrap(),
        messages: String::from_utf8(output.stderr).unwrap(),
    }
}
