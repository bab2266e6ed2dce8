//! `trackside diagram` as people type it.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn trackside(args: &[&str]) -> Output {
    trackside_in(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../.."), args)
}

fn trackside_in(folder: &Path, args: &[&str]) -> Output {
    let binary = env!("CARGO_BIN_EXE_trackside");
    Command::new(binary)
        .args(args)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "90")
        .current_dir(folder)
        .output()
        .unwrap()
}

fn data(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn both_streams(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn help_matches_the_reviewed_snapshots() {
    insta::assert_snapshot!("help-diagram", data(&trackside(&["diagram", "--help"])));
}

#[test]
fn a_lifecycle_is_drawn_for_the_terminal() {
    insta::assert_snapshot!("approval", data(&trackside(&["diagram", "mission.approval"])));
}

#[test]
fn the_width_is_respected() {
    let output = trackside(&["diagram", "mission.task", "packs/mission", "--width", "60"]);
    assert_eq!(output.status.code(), Some(0), "{}", both_streams(&output));
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
        assert_eq!(output.status.code(), Some(0), "{format}: {}", both_streams(&output));
        assert!(data(&output).starts_with(start), "{format}: {}", data(&output));
        assert!(data(&output).contains("QUARANTINED"), "{format}");
    }
}

#[test]
fn json_contains_states_and_moves() {
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
    assert!(both_streams(&output).contains("did you mean mission.task?"), "{}", both_streams(&output));
    assert!(
        both_streams(&output).contains("known lifecycles: build.task, coding.agent"),
        "{}",
        both_streams(&output)
    );
    let output = trackside(&["diagram", "mission.task", "nowhere"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(both_streams(&output).contains("nowhere: no such file or folder"), "{}", both_streams(&output));
}

#[test]
fn a_pack_goes_to_a_folder_and_a_lifecycle_to_a_file() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("diagrams");
    let _ = std::fs::remove_dir_all(&folder);
    let folder_name = folder.to_str().unwrap();
    let output = trackside(&["diagram", "turns", "--format", "svg", "--output", folder_name]);
    assert_eq!(output.status.code(), Some(0), "{}", both_streams(&output));
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
    assert!(both_streams(&output).contains("name a folder"), "{}", both_streams(&output));
}

#[test]
fn built_in_packs_are_drawn_in_any_folder() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("diagrams-elsewhere");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let drawn = |args: &[&str]| {
        let output = trackside_in(&folder, args);
        (output.status.code(), data(&output), both_streams(&output))
    };
    let (code, here, _) = drawn(&["diagram", "mission.approval"]);
    assert_eq!((code, &here), (Some(0), &data(&trackside(&["diagram", "mission.approval"]))));
    assert!(drawn(&["diagram", "turns"]).1.contains("turns.channel"));
    assert!(drawn(&["diagram", "--json"]).1.contains("build.task"));
    assert!(drawn(&["diagram", "mission.task", "mission"]).1.contains("NEEDS_APPROVAL"));
    // Local packs come first.
    let pack = folder.join("packs/mine");
    std::fs::create_dir_all(pack.join("lifecycles")).unwrap();
    std::fs::write(pack.join("pack.yaml"), "pack: mine\nversion: 1\n").unwrap();
    let light = "lifecycle: mine.light\ncreate: { by: human }\nstates: { OFF: { initial: true }, ON: {} }\ntransitions:\n  switch_on: { from: OFF, to: ON, by: human }\n  switch_off: { from: ON, to: OFF, by: human }\n";
    std::fs::write(pack.join("lifecycles/light.yaml"), light).unwrap();
    let (code, all, why) = drawn(&["diagram"]);
    assert!(code == Some(0) && all.contains("mine.light") && !all.contains("build.task"), "{all}{why}");
    assert_eq!(drawn(&["diagram", "mission.approval"]).1, here);
    let (code, _, why) = drawn(&["diagram", "mission.tusk"]);
    assert!(
        code == Some(2) && why.contains("did you mean mission.task?") && why.contains("mine.light"),
        "{why}"
    );
    let (code, _, why) = drawn(&["diagram", "mission.task", "nowhere"]);
    assert!(code == Some(2) && why.contains("built-in pack: build, coding"), "{why}");
}
