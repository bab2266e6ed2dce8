//! Every command of every guide and of the README runs, in one shell per page from top to bottom.
//!
//! A fence `sh` is run as a whole, and none of its commands may fail. In a fence without a language, each line that begins
//! with `$ ` is run; the lines below it must appear in its output, and `[exit N]` is its exit code. A comment
//! `<!-- not run: REASON -->` before a fence skips it, `<!-- fails: REASON -->` says that commands in it fail, and
//! `<!-- setup: server -->` starts a server first.

use std::path::{Path, PathBuf};

use crate::ground::scratch;
use crate::terminal::{Terminal, TerminalOutput, TypedCommands};

/// The expected result of the commands of a fence, or of one line of it.
#[derive(Debug)]
enum Expected {
    /// No command fails.
    Success,
    /// Some command fails.
    Failure,
    /// This exit code, and these lines in the output.
    Output(i32, Vec<String>),
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn steps(page: &str) -> Vec<(TypedCommands, Expected)> {
    let mut steps = Vec::new();
    let mut lines = page.lines();
    let (mut skipped, mut fails) = (false, false);
    const SERVER: &str = "trackside up & until [ -s .trackside/address ]; do sleep 0.1; done";
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            if !line.trim().is_empty() {
                skipped = line.starts_with("<!-- not run: ");
                fails = line.starts_with("<!-- fails: ");
                if line == "<!-- setup: server -->" {
                    steps.push((TypedCommands::new(SERVER), Expected::Success));
                }
            }
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|it| !it.starts_with("```")).collect();
        match language {
            _ if skipped => {}
            "sh" => {
                let expected = if fails { Expected::Failure } else { Expected::Success };
                steps.push((TypedCommands::new(block.join("\n")), expected));
            }
            "" => steps.extend(transcript(&block)),
            _ => {}
        }
        (skipped, fails) = (false, false);
    }
    steps
}

fn transcript(block: &[&str]) -> Vec<(TypedCommands, Expected)> {
    let mut steps: Vec<(TypedCommands, Expected)> = Vec::new();
    for line in block {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push((TypedCommands::new(command), Expected::Output(0, Vec::new())));
        } else if let Some((_, Expected::Output(code, says))) = steps.last_mut() {
            match line.strip_prefix("[exit ").and_then(|it| it.strip_suffix(']')) {
                Some(number) => *code = number.parse().unwrap(),
                None => says.push(line.trim().to_owned()),
            }
        }
    }
    steps
}

/// Replaces numbers, hashes and tokens, which differ from run to run.
fn normal(text: &str) -> String {
    let mut normal = String::new();
    let is_word = |it: char| it.is_alphanumeric() || it == '_' || it == '…';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|it| is_word(it) != is_word(first)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let hashed = word.len() >= 12 && word.chars().all(|it| it.is_ascii_hexdigit());
        match word {
            _ if hashed || word.starts_with("ts_") => normal.push('#'),
            _ => {
                let mut digits = false;
                for it in word.chars() {
                    if !(it.is_ascii_digit() && digits) {
                        normal.push(if it.is_ascii_digit() { '#' } else { it });
                    }
                    digits = it.is_ascii_digit();
                }
            }
        }
        rest = after;
    }
    normal
}

fn problem(seen: &TerminalOutput, expected: &Expected) -> Option<String> {
    match expected {
        Expected::Success if seen.failed.is_empty() => None,
        Expected::Success => Some(format!("failed: {}", seen.failed.join(", "))),
        Expected::Failure if seen.failed.is_empty() => Some("nothing failed".to_owned()),
        Expected::Failure => None,
        Expected::Output(code, _) if *code != seen.code => {
            Some(format!("exit code {}, not {code}", seen.code))
        }
        Expected::Output(_, says) => {
            let shown = normal(&seen.output);
            let missing: Vec<&String> = says.iter().filter(|it| !shown.contains(&normal(it))).collect();
            (!missing.is_empty()).then(|| format!("not shown: {missing:#?}"))
        }
    }
}

/// Runs a page and lists every command with another result than the page shows.
fn check(name: &str, setup: &str) {
    let page = std::fs::read_to_string(root().join(name)).unwrap();
    let steps = steps(&page);
    let terminal = Terminal::new(&scratch(&format!("guide-{}", name.replace('/', "-"))));
    let repository = std::fs::canonicalize(root()).unwrap();
    let setup = setup.replace("REPOSITORY", repository.to_str().unwrap());
    let mut typed = vec![TypedCommands::new(format!("{setup}\ntrue"))];
    typed.extend(steps.iter().map(|(it, _)| it.clone()));
    let seen = terminal.run(&typed);
    // Paths inside the project are written as on the page.
    let project = format!("{}/", terminal.project().display());
    let mut seen = seen[1..].to_vec();
    seen.iter_mut().for_each(|it| it.output = it.output.replace(&project, ""));
    // A command in the background writes while later ones run.
    for nth in (0..seen.len()).filter(|it| steps[*it].0.text.ends_with('&')) {
        let later: String = seen[nth..].iter().map(|it| it.output.as_str()).collect();
        seen[nth].output = later;
    }
    let mut problems = Vec::new();
    for ((typed, expected), seen) in steps.iter().zip(&seen) {
        if let Some(problem) = problem(seen, expected) {
            problems.push(format!("$ {}\n{}\n--- {problem}", typed.text, seen.output));
        }
    }
    assert!(
        problems.is_empty(),
        "{name}: {} of {} steps:\n{}",
        problems.len(),
        steps.len(),
        problems.join("\n\n")
    );
}

macro_rules! pages {
    ($($test:ident: $file:literal, $setup:literal;)*) => {
        $(#[test]
        fn $test() {
            check($file, $setup);
        })*

        const PAGES: &[&str] = &[$($file),*];
    };
}

pages! {
    readme: "README.md", "cp -r REPOSITORY/examples .";
    adapters: "docs/guides/adapters.md", "";
    agents_over_mcp: "docs/guides/agents-over-mcp.md", "";
    check_before_you_merge: "docs/guides/check-before-you-merge.md",
        "git init --quiet --bare origin.git && git clone --quiet origin.git work 2>/dev/null && cd work && git checkout --quiet -b main
        git config user.name ada && git config user.email ada@example.com && mkdir packs && cp -r REPOSITORY/packs/turns packs
        git add -A && git commit --quiet -m start && git push --quiet origin main 2>/dev/null";
    clients: "docs/guides/clients.md", "";
    delivery: "docs/guides/delivery.md", "";
    demo: "docs/guides/demo.md", "";
    fifteen_wishes: "docs/guides/fifteen-wishes.md", "";
    first_pack: "docs/guides/first-pack.md", "";
    first_ten_minutes: "docs/guides/first-ten-minutes.md", "";
    hooks: "docs/guides/hooks.md", "";
    inbox: "docs/guides/inbox.md", "";
    moving_in: "docs/guides/moving-in.md", "";
    running_agents: "docs/guides/running-agents.md", "";
    webhooks: "docs/guides/webhooks.md", "";
}

#[test]
fn every_guide_is_run() {
    let guides = std::fs::read_dir(root().join("docs/guides")).unwrap();
    for path in guides.map(|it| it.unwrap().path()).filter(|it| it.extension().is_some_and(|it| it == "md")) {
        let name = format!("docs/guides/{}", path.file_name().unwrap().to_str().unwrap());
        assert!(PAGES.contains(&name.as_str()), "add {name} to the pages");
    }
}
