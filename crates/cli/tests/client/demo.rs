//! The small team by itself: the whole story on a server of its own.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::ground::scratch;
use crate::program::{binary, run_command};

/// Living processes with a text in their command line.
fn processes(text: &Path) -> Vec<String> {
    let text = text.to_str().unwrap();
    let lines = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|it| {
        let line = std::fs::read(it.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|it| it.contains(text)).collect()
}

fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(folder).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn the_team_merges_its_tasks_and_leaves_no_process() {
    let folder = scratch("demo-team").join("project");
    let data = folder.to_str().unwrap();
    let played = run_command(binary(&["demo", "--once", "--pace", "0", "--data", data]));
    played.says(
        0,
        &[
            "10  tasks from a draft to the branch",
            "2  reviews that rejected",
            "1  merge that failed by a conflict",
            "1  question to the planner",
            "1  handoff",
            "1  agent that crashed",
            "1  checkpoint of a person",
            "byte by byte",
            "its hash chain verifies",
            "rm -rf",
        ],
    );
    assert!(!played.data.contains('{'), "a value is missing:\n{}", played.data);
    assert_eq!(processes(&folder), Vec::<String>::new());
    assert_eq!(git(&folder, &["status", "--porcelain"]), "", "the main checkout was changed");
    assert_eq!(git(&folder, &["for-each-ref", "refs/heads/task"]), "");
    assert_eq!(git(&folder, &["show", "integration:menu.txt"]), "Today: salad, soup");
}

#[test]
fn the_team_needs_git_and_says_so() {
    let place = scratch("demo-no-git");
    let mut demo = binary(&["demo", "--once"]);
    demo.env("PATH", &place).env("TMPDIR", &place);
    run_command(demo).says(1, &["needs git 2.38", "trackside demo packs"]);
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
}

#[test]
fn an_interrupted_team_leaves_nothing_behind() {
    let place = scratch("demo-team-interrupted");
    let mut demo = binary(&["demo"]);
    let mut demo = demo.env("TMPDIR", &place).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|it| it.contains(" takes ")).unwrap();
    let killed = Command::new("kill").args(["-INT", &demo.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(demo.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
    assert_eq!(processes(&place), Vec::<String>::new());
}

#[test]
fn the_demo_plays_its_script_and_uses_every_pack() {
    let data = scratch("demo").join("data");
    let data = data.to_str().unwrap();
    let played = run_command(binary(&["demo", "packs", "--once", "--pace", "0", "--data", data]));
    played.says(0, &["1 of 6", "6 of 6", "refused as expected", "its hash chain verifies"]);
    // The server is gone: how it starts again comes before the commands that need it. The test is no person.
    let place = |text: &str| played.data.find(text).unwrap_or_else(|| panic!("no {text}:\n{}", played.data));
    assert!(place("Ask the person who runs the server to start it") < place("trackside alerts --data"));
    for door in ["$ trackside fire", "POST /v1/entities", "fire {"] {
        assert!(played.data.contains(door), "no actor used {door}:\n{}", played.data);
    }
    assert!(!played.data.contains('\u{1b}'), "colours in a pipe");
    run_command(binary(&["audit", "verify", "--data", data])).says(0, &[]);
    for pack in ["build", "coding", "mission", "research", "turns"] {
        assert!(played.data.contains(&format!("done {pack}.")), "nothing was done in {pack}");
    }
}

#[test]
fn a_used_folder_and_an_invalid_pace_are_errors() {
    let data = scratch("demo-used");
    std::fs::write(data.join("mine"), "x").unwrap();
    run_command(binary(&["demo", "--data", data.to_str().unwrap()]))
        .says(2, &["is not empty", "Name another folder"]);
    run_command(binary(&["demo", "--pace", "quickly"])).says(2, &["--pace quickly", "500ms"]);
    run_command(binary(&["demo", "--listen", "0.0.0.0:0"])).says(2, &["can be reached from other machines"]);
}

#[test]
fn an_interrupted_story_leaves_nothing_behind() {
    let place = scratch("demo-interrupted");
    let mut demo = binary(&["demo", "packs", "--pace", "500ms"]);
    let mut demo = demo.env("TMPDIR", &place).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map(Result::unwrap);
    let folder = lines.find(|it| it.contains("folder")).unwrap();
    assert!(folder.contains(place.to_str().unwrap()) && folder.contains("removed at the end"), "{folder}");
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1);
    lines.find(|it| it.contains("done ")).unwrap();
    let killed = Command::new("kill").args(["-INT", &demo.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(demo.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
}

#[test]
fn a_story_interrupted_before_its_start_leaves_nothing_behind() {
    for story in ["team", "packs"] {
        leaves_nothing_behind(story);
    }
}

fn leaves_nothing_behind(story: &str) {
    let place = scratch(&format!("demo-early-{story}"));
    let mut demo = binary(&["demo", story]);
    let mut demo = demo.env("TMPDIR", &place).stdout(Stdio::null()).spawn().unwrap();
    let begun = std::time::Instant::now();
    while std::fs::read_dir(&place).unwrap().count() == 0 {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "it makes no folder");
    }
    let killed = Command::new("kill").args(["-INT", &demo.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(demo.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
}
