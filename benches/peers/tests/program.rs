//! The program, as people run it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;

fn bench(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench-peers"));
    command.args(args).env("NO_COLOR", "1").env("COLUMNS", "100");
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// An empty folder of its own.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect()
}

#[test]
fn a_large_store_is_opened_in_its_own_process_and_removed() {
    let folder = folder("bench-start");
    let args = ["--only", "start", "--large", "2000", "--json", "--data"];
    let output = bench(&args).arg(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let json: Json = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> =
        json["rows"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["start", "memory"]);
    assert!(json["rows"][0]["figure"]["value"].as_f64().unwrap() > 0.0);
    assert!(json["machine"]["cores"].as_u64().unwrap() > 0);
    assert_eq!(entries(&folder), [] as [PathBuf; 0]);
}

#[test]
fn keep_prints_the_folder_it_keeps() {
    let folder = folder("bench-keep");
    let args = ["--only", "start", "--large", "100", "--keep", "--data"];
    let output = bench(&args).arg(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let kept = entries(&folder);
    assert_eq!(kept.len(), 1);
    assert!(
        stderr(&output).contains(&kept.first().unwrap().file_name().unwrap().to_string_lossy().into_owned())
    );
}

fn until(wanted: &dyn Fn() -> bool) {
    for _ in 0..6_000 {
        if wanted() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("waited for a minute");
}

#[test]
fn a_killed_run_leaves_no_folder() {
    let folder = folder("bench-killed");
    let args = ["--only", "throughput", "--entities", "100", "--seconds", "60", "--data"];
    let mut bench = bench(&args).arg(&folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(&|| entries(&folder).iter().any(|it| it.join("store/journal.db").exists()));
    bench.kill().unwrap();
    bench.wait().unwrap();
    until(&|| entries(&folder).is_empty());
}

#[test]
fn wrong_arguments_are_refused_with_the_next_step() {
    let few = bench(&["--callers", "64", "--entities", "10"]).output().unwrap();
    assert_eq!(few.status.code(), Some(2));
    assert!(stderr(&few).contains("raise --entities"), "{}", stderr(&few));
    let nowhere = bench(&["--data", "/nowhere/at/all"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(3));
    assert!(stderr(&nowhere).contains("/nowhere/at/all"), "{}", stderr(&nowhere));
    let inside = bench(&["--http", "--only", "scale"]).output().unwrap();
    assert_eq!(inside.status.code(), Some(2));
    assert!(stderr(&inside).contains("leave out --http"), "{}", stderr(&inside));
    let outside = bench(&["--only", "restate"]).output().unwrap();
    assert_eq!(outside.status.code(), Some(2));
    assert!(stderr(&outside).contains("add --http"), "{}", stderr(&outside));
    let unknown = bench(&["--only", "speed"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    let store = bench(&["--start", "/nowhere/at/all"]).output().unwrap();
    assert_eq!(store.status.code(), Some(3));
    let server = bench(&["--http", "--only", "idle", "--trackside", "/nowhere/at/all"]).output().unwrap();
    assert_eq!(server.status.code(), Some(3));
    assert!(stderr(&server).contains("cargo build"), "{}", stderr(&server));
}
