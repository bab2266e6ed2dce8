//! `trackside bench`, as people type it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;

fn trackside(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trackside"));
    command.args(args).env("NO_COLOR", "1").env("COLUMNS", "100");
    command
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// An empty folder of its own.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn inside(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect()
}

#[test]
fn help_is_what_we_reviewed() {
    let output = trackside(&["bench", "--help"]).output().unwrap();
    insta::assert_snapshot!("help-bench", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_large_store_is_started_in_a_process_of_its_own_and_nothing_is_left() {
    let folder = folder("bench-start");
    let args = ["bench", "--only", "start", "--large", "2000", "--json", "--data"];
    let output = trackside(&args).arg(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let json: Json = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> =
        json["rows"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["start", "memory"]);
    assert!(json["rows"][0]["figure"]["value"].as_f64().unwrap() > 0.0);
    assert!(json["machine"]["cores"].as_u64().unwrap() > 0);
    assert_eq!(inside(&folder), [] as [PathBuf; 0]);
}

#[test]
fn what_is_kept_is_where_it_says() {
    let folder = folder("bench-keep");
    let args = ["bench", "--only", "start", "--large", "100", "--keep", "--data"];
    let output = trackside(&args).arg(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let kept = inside(&folder);
    assert_eq!(kept.len(), 1);
    assert!(
        told(&output).contains(&kept.first().unwrap().file_name().unwrap().to_string_lossy().into_owned())
    );
}

#[test]
fn one_that_is_killed_leaves_nothing_behind() {
    let folder = folder("bench-killed");
    let args = ["bench", "--only", "throughput", "--entities", "100", "--seconds", "60", "--data"];
    let mut bench =
        trackside(&args).arg(&folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = |wanted: &dyn Fn() -> bool| {
        for _ in 0..3_000 {
            if wanted() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("waited for half a minute");
    };
    until(&|| inside(&folder).iter().any(|it| it.join("store/journal.db").exists()));
    bench.kill().unwrap();
    bench.wait().unwrap();
    until(&|| inside(&folder).is_empty());
}

#[test]
fn wrong_numbers_and_folders_are_told() {
    let few = trackside(&["bench", "--callers", "64", "--entities", "10"]).output().unwrap();
    assert_eq!(few.status.code(), Some(2));
    assert!(told(&few).contains("raise --entities"), "{}", told(&few));
    let nowhere = trackside(&["bench", "--data", "/nowhere/at/all"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(3));
    assert!(
        told(&nowhere).contains("/nowhere/at/all") && told(&nowhere).contains("--data"),
        "{}",
        told(&nowhere)
    );
    let unknown = trackside(&["bench", "--only", "speed"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    let store = trackside(&["bench", "--start", "/nowhere/at/all"]).output().unwrap();
    assert_eq!(store.status.code(), Some(3));
}
