//! A bash shell in a pseudo-terminal: commands run one after the other, as a person would type them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables the shell inherits. Everything else is cleared: tokens, and the variables by which coding agents and CI
/// systems announce themselves (`CLAUDECODE`, `CODEX_*`, `CURSOR_*`, `CI` and others).
const INHERITED: [&str; 2] = ["PATH", "TMPDIR"];

/// Commands that are typed together, and keys that are pressed while they run.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypedCommands {
    pub text: String,
    /// Keys, such as `q` or `\x03` for Ctrl-C, and the seconds after which they are pressed.
    pub keys: Option<(&'static str, f32)>,
}

impl TypedCommands {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), keys: None }
    }
}

/// The result of commands that were typed together.
#[derive(Clone, Debug, Default)]
pub(crate) struct TerminalOutput {
    /// The text on the terminal, without control sequences.
    pub output: String,
    /// The exit code of the last command.
    pub code: i32,
    /// Each command that failed, with its exit code.
    pub failed: Vec<String>,
}

/// The shell's scratch folder and its programs.
#[derive(Debug)]
pub(crate) struct Terminal {
    root: PathBuf,
    programs: PathBuf,
}

impl Terminal {
    /// A terminal in `root/project`. `trackside` is the program under test, on a free port and without pauses in the demo.
    pub fn new(root: &Path) -> Self {
        let programs = root.join("bin");
        std::fs::create_dir_all(&programs).unwrap();
        std::fs::create_dir_all(root.join("project")).unwrap();
        std::fs::create_dir_all(root.join("home")).unwrap();
        let terminal = Self { root: root.to_owned(), programs };
        let program = env!("CARGO_BIN_EXE_trackside");
        terminal.program(
            "trackside",
            &format!(
                "case \"$1 $*\" in\n\
                 up*--listen*) ;;\n\
                 up*) shift; set -- up --listen 127.0.0.1:0 \"$@\" ;;\n\
                 demo*--pace*) ;;\n\
                 demo*) shift; set -- demo --pace 0 \"$@\" ;;\n\
                 esac\n\
                 exec '{program}' \"$@\"\n"
            ),
        );
        terminal
    }

    /// The folder the shell starts in.
    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// Adds a program, written in sh.
    pub fn program(&self, name: &str, text: &str) {
        let path = self.programs.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
    }

    /// Runs all commands in one shell, in order.
    pub fn run(&self, typed: &[TypedCommands]) -> Vec<TerminalOutput> {
        let mut script = "set -m\ntrap : INT\ntrap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n".to_owned();
        script.push_str("trap 'printf \"\\036fail:%s: %s\\n\" \"$?\" \"$BASH_COMMAND\"' ERR\n");
        for (nth, it) in typed.iter().enumerate() {
            script.push_str(&format!("printf '\\036begin:{nth}\\n'\n"));
            if let Some((keys, after)) = it.keys {
                script.push_str(&format!("printf '\\036type:%s:%s\\n' {after} '{keys}'\n"));
            }
            script.push_str(&format!("{}\nprintf '\\036end:%s\\n' \"$?\"\n", it.text.trim_end()));
        }
        let file = self.root.join("script.sh");
        std::fs::write(&file, script).unwrap();
        let driver = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/terminal.py");
        let mut command = Command::new("python3");
        command.args([driver, file.to_str().unwrap()]).current_dir(self.project()).env_clear();
        for name in INHERITED {
            std::env::var(name).ok().map(|it| command.env(name, it));
        }
        let path = format!("{}:{}", self.programs.display(), std::env::var("PATH").unwrap());
        command.env("PATH", path).env("HOME", self.root.join("home"));
        command.env("TERM", "xterm").env("LANG", "C.UTF-8").env("NO_COLOR", "1");
        let output = command.output().unwrap();
        let shown = plain(&String::from_utf8_lossy(&output.stdout));
        let seen = read(&shown);
        let complete = seen.len() == typed.len();
        assert!(complete, "the shell ended early: {shown}\n{}", String::from_utf8_lossy(&output.stderr));
        seen
    }
}

/// Splits the terminal's output at the marks.
fn read(shown: &str) -> Vec<TerminalOutput> {
    let mut all = Vec::new();
    for part in shown.split("\u{1e}begin:").skip(1) {
        let Some((inside, after)) = part.split_once("\u{1e}end:") else { continue };
        let mut seen = TerminalOutput {
            code: after.lines().next().unwrap().parse().unwrap(),
            ..TerminalOutput::default()
        };
        for line in inside.lines().skip(1) {
            match line.split_once("\u{1e}fail:") {
                Some((before, why)) => {
                    seen.output.push_str(before);
                    seen.failed.push(why.to_owned());
                }
                None => seen.output.push_str(&format!("{line}\n")),
            }
        }
        all.push(seen);
    }
    all
}

/// Removes carriage returns and control sequences.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(it) = chars.next() {
        match it {
            '\r' => {}
            '\u{1b}' => {
                let _ = chars.by_ref().skip(1).find(|it| it.is_ascii_alphabetic());
            }
            it => plain.push(it),
        }
    }
    plain
}
