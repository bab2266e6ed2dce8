//! The page of fifteen wishes: every command of it, in its order, says what the page says.

use std::path::Path;
use std::process::Command;

use crate::ground::{Ground, scratch};
use crate::program::told;

const PAGE: &str = include_str!("../../../../docs/guides/fifteen-wishes.md");

/// As on the page: the shell knows `trackside`, and `as` for those who have a token.
const SHELL: &str = "as() { who=$1; shift; TRACKSIDE_TOKEN=$(cat \"$who.token\") trackside \"$@\"; }; ";

const TEAM: [(&str, &str); 5] = [
    ("planner", "coding:planner"),
    ("c1", "coding:coder"),
    ("c2", "coding:coder"),
    ("r1", "coding:code_reviewer"),
    ("ada", "mission:specialist"),
];

/// A command of the page, and what it must say.
#[derive(Debug, Default)]
struct Step<'a> {
    command: &'a str,
    says: Vec<&'a str>,
    exit: i32,
}

fn steps(page: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    // Within a fence, and whether it is one that is run.
    let mut fence = None;
    for line in page.lines() {
        let inside = fence == Some(true);
        if line.starts_with("```") {
            fence = if fence.is_some() { None } else { Some(line == "```") };
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            steps.push(Step { command, ..Step::default() });
        } else if let Some(step) = steps.last_mut().filter(|_| inside) {
            match line.strip_prefix("[exit ").and_then(|it| it.strip_suffix(']')) {
                Some(code) => step.exit = code.parse().unwrap(),
                None => step.says.push(line.trim()),
            }
        }
    }
    steps
}

fn shell(root: &Path, command: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_trackside")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{SHELL}{command}")]).current_dir(root).env("PATH", path);
    shell
        .env("NO_COLOR", "1")
        .env("COLUMNS", "200")
        .env_remove("TRACKSIDE_URL")
        .env_remove("TRACKSIDE_TOKEN");
    shell
}

#[test]
fn every_command_of_the_page_says_what_the_page_says() {
    let root = scratch("wishes");
    let ground = Ground::start(root.clone(), "build,coding,mission,research,turns");
    std::os::unix::fs::symlink("data", root.join(".trackside")).unwrap();
    for (who, role) in TEAM {
        std::fs::write(root.join(format!("{who}.token")), ground.token(who, "agent", &[role])).unwrap();
    }
    let steps = steps(PAGE);
    assert!(steps.len() > 60, "{} commands were found", steps.len());
    for step in steps {
        println!("$ {}", step.command);
        told(shell(&root, step.command)).says(step.exit, &step.says);
    }
}
