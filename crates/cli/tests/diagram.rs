//! `trackside diagram` as people type it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::path::PathBuf;
use std::process::{Command, Output};

fn trackside(args: &[&str]) -> Output {
    let binary = env!("CARGO_BIN_EXE_trackside");
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(binary)
        .args(args)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "90")
        .current_dir(root)
        .output()
        .unwrap()
}

fn data(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn help_is_what_we_reviewed() {
    insta::assert_snapshot!("help-diagram", data(&trackside(&["diagram", "--help"])));
}

#[test]
fn a_lifecycle_is_drawn_for_the_terminal() {
    insta::assert_snapshot!("approval", data(&trackside(&["diagram", "mission.approval"])));
}

#[test]
fn a_width_is_kept() {
    let output = trackside(&["diagram", "mission.task", "packs/mission", "--width", "60"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(data(&output).lines().all(|it| it.chars().count() <= 60));
    assert!(data(&output).contains("NEEDS_APPROVAL"));
}

#[test]
fn every_format_is_printed() {
    let starts = [
        ("svg", "<svg "),
        ("mermaid", ""),
        ("dot", "digraph"),
        ("scxml", "<"),
        ("xstate", "{"),
        ("text", "mission.control"),
    ];
    for (format, start) in starts {
        let output = trackside(&["diagram", "mission.control", "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", told(&output));
        assert!(data(&output).starts_with(start), "{format}: {}", data(&output));
        assert!(data(&output).contains("QUARANTINED"), "{format}");
    }
}

#[test]
fn json_holds_states_and_ways() {
    let output = trackside(&["diagram", "mission.control", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&data(&output)).unwrap();
    let graph = &json["lifecycles"][0];
    assert_eq!(graph["initial"], "NORMAL");
    assert_eq!(graph["nodes"].as_array().unwrap().len(), 4);
    assert!(graph["edges"].as_array().unwrap().iter().any(|it| it["transition"] == "pause"));
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let output = trackside(&["diagram", "mission.tusk"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("did you mean mission.task?"), "{}", told(&output));
    assert!(told(&output).contains("known are build.task, coding.agent"), "{}", told(&output));
    let output = trackside(&["diagram", "mission.task", "nowhere"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("nowhere: there is no such file or folder"), "{}", told(&output));
}

#[test]
fn a_pack_goes_to_a_folder_and_a_lifecycle_to_a_file() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("diagrams");
    let _ = std::fs::remove_dir_all(&folder);
    let folder_name = folder.to_str().unwrap();
    let output = trackside(&["diagram", "turns", "--format", "svg", "--output", folder_name]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|it| it.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["turns.agent.svg", "turns.channel.svg", "turns.member.svg"]);
    let file = folder.join("one.svg");
    let file_name = file.to_str().unwrap();
    let args = ["diagram", "turns.agent", "--format", "svg", "--theme", "dark", "--output", file_name];
    assert_eq!(trackside(&args).status.code(), Some(0));
    assert!(!std::fs::read_to_string(&file).unwrap().contains("@media"));
    let output = trackside(&["diagram", "turns", "--output", file_name]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("name a folder"), "{}", told(&output));
}
