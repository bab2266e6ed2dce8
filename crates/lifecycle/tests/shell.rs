//! `shell(text)` against bash: for random texts, bash runs no command that the function does not list.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::process::Command;

use trackside_lifecycle::guard::{
    Fault, Guard, HostFunction, Names, Resolved, Scope, Type, Unknown, VarSlot,
};
use trackside_lifecycle::value::Value;
use trackside_random::Random;

/// What texts are made of. No command of these exists, and no word can change a file.
const PARTS: &[&str] = &[
    "a",
    "b",
    "a",
    "b",
    " ",
    " ",
    " ",
    "  ",
    "\t",
    "\n",
    "'",
    "\"",
    "\\",
    "|",
    "||",
    "&&",
    "&",
    ";",
    "2",
    ">",
    "<",
    ">/dev/null",
    " 2>&1",
    "&>",
    "$",
    "$(",
    "`",
    "(",
    ")",
    "{",
    "}",
    "#",
    "!",
    "=",
    "*",
    "?",
    "[",
    ".",
    "-",
    ",",
    "\\\n",
    "<<",
    "$'",
    "~",
];

/// Prints every command on descriptor 9, each word with a mark after it, and gives the wanted status.
const RECORDER: &str = r#"
exec 9>&1
PATH=/nowhere
HOME='~'
command_not_found_handle() { printf '%s\001' "$@" $'\002' >&9; return "$STATUS"; }
eval "$TEXT"
wait
"#;

struct Text(String);

impl Names for Text {
    fn resolve(&mut self, _: &[&str]) -> Result<Resolved, Unknown> {
        Ok(Resolved { slot: VarSlot(0), ty: Type::Text, used: 1 })
    }

    fn indexed(&mut self, _: &str) -> Option<Resolved> {
        None
    }

    fn function(&self, _: &str) -> Option<HostFunction> {
        None
    }
}

impl Scope for Text {
    fn read(&self, _: VarSlot) -> Result<Value, Fault> {
        Ok(Value::text(&self.0))
    }

    fn call(&self, _: u16, _: &[Value]) -> Result<Value, Fault> {
        Err(Fault::NotLoaded)
    }
}

/// The commands that `shell` lists; none if it is in doubt.
fn listed(text: &str) -> Option<Vec<Vec<String>>> {
    let mut scope = Text(text.to_owned());
    let guard = Guard::compile("shell(text)", &mut scope).unwrap();
    let commands: Vec<Vec<String>> = serde_json::from_value(guard.eval(&scope).unwrap().to_json()).unwrap();
    assert!(!commands.is_empty(), "an empty list would satisfy every rule: {text:?}");
    (commands != [Vec::<String>::new()]).then_some(commands)
}

/// The commands that bash runs, in an empty folder.
fn run(text: &str, status: &str, folder: &std::path::Path) -> Vec<Vec<String>> {
    let output = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", RECORDER])
        .env_clear()
        .env("TEXT", text)
        .env("STATUS", status)
        .current_dir(folder)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let commands = printed.split("\u{2}\u{1}").filter(|it| !it.is_empty());
    commands.map(|it| it.trim_end_matches('\u{1}').split('\u{1}').map(str::to_owned).collect()).collect()
}

#[test]
fn bash_runs_no_command_that_is_not_listed() {
    let folder = std::env::temp_dir().join(format!("trackside-shell-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let seed = 7;
    let mut random = Random::new(seed);
    let (mut understood, mut ran) = (0, 0);
    for _ in 0..40_000 {
        let text: String = (0..random.between(1, 9)).filter_map(|_| random.pick(PARTS).copied()).collect();
        let Some(commands) = listed(&text) else { continue };
        understood += 1;
        if understood > 400 {
            break;
        }
        for status in ["0", "1"] {
            let mut left = commands.clone();
            for command in run(&text, status, &folder) {
                ran += 1;
                let place = left.iter().position(|it| trimmed(it) == trimmed(&command));
                let place = place.unwrap_or_else(|| {
                    panic!("seed {seed}: bash runs {command:?} of {text:?}, listed are {commands:?}")
                });
                left.remove(place);
            }
        }
    }
    std::fs::remove_dir(&folder).unwrap();
    assert!(understood > 300 && ran > 300, "{understood} texts were understood, {ran} commands ran");
}

/// A command without the empty words at its end, which the recorder's marks do not show.
fn trimmed(words: &[String]) -> &[String] {
    let last = words.iter().rposition(|it| !it.is_empty()).map_or(0, |it| it + 1);
    words.get(..last).unwrap_or_default()
}
