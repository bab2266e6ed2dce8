//! `trackside bench`, as people type it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

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

fn until(wanted: &dyn Fn() -> bool) {
    for _ in 0..6_000 {
        if wanted() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("waited for a minute");
}

/// The rows of a run over HTTP that must go well, by name.
fn over_http(name: &str, args: &[&str]) -> Vec<(String, Json)> {
    let folder = folder(name);
    let mut command = trackside(&["bench", "--http", "--json", "--seconds", "1", "--data"]);
    let output = command.arg(&folder).args(args).output().unwrap();
    let json: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}\n{json:#}", told(&output));
    assert_eq!(inside(&folder), [] as [PathBuf; 0]);
    let rows = json["rows"].as_array().unwrap().iter();
    rows.map(|it| (it["name"].as_str().unwrap().to_owned(), it.clone())).collect()
}

fn names(rows: &[(String, Json)]) -> Vec<&str> {
    rows.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn a_server_is_held_against_a_bare_handler_and_tells_where_the_time_goes() {
    let args = ["--only", "throughput", "--only", "latency", "--callers", "4", "--entities", "4000"];
    let rows = over_http("bench-http", &args);
    let expected =
        ["throughput", "bareHandler", "inProcess", "serverTime", "bareTime", "latency", "latencyBare"];
    assert_eq!(names(&rows), expected);
    for (name, row) in &rows {
        let number = |it: &Json| it.as_f64().is_some_and(|it| it > 0.0);
        let timed = ["serverTime", "bareTime"].contains(&name.as_str());
        assert!(timed || number(&row["perSecond"]), "{row:#}");
        assert!(name == "throughput" || number(&row["figure"]["value"]), "{row:#}");
    }
    for group in ["http", "decider", "committer"] {
        assert!(rows[3].1["shares"][group].as_f64().is_some_and(|it| it > 0.0), "{:#}", rows[3].1);
    }
    assert!(rows[4].1["shares"]["appends"].as_f64().is_some(), "{:#}", rows[4].1);
}

#[test]
fn every_subscriber_gets_every_entry() {
    let rows = over_http("bench-subscribers", &["--only", "subscribers", "--subscribers", "20"]);
    assert_eq!(names(&rows), ["subscribers", "burst", "subscriberMemory", "subscriberTime"]);
    assert_eq!(rows[0].1["figure"]["value"], 1.0, "{:#}", rows[0].1);
}

#[test]
fn an_idle_server_is_looked_at() {
    let rows = over_http("bench-idle", &["--only", "idle"]);
    assert_eq!(names(&rows), ["up", "idle"]);
    assert!(rows.iter().all(|(_, it)| it["figure"]["value"].as_f64().is_some_and(|it| it > 0.0)));
}

#[test]
fn the_server_ends_with_a_bench_that_is_killed() {
    let folder = folder("bench-http-killed");
    let args = ["bench", "--http", "--only", "latency", "--entities", "100", "--seconds", "60", "--data"];
    let mut bench =
        trackside(&args).arg(&folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let address = || {
        let found = inside(&folder).first().map(|it| it.join("served/address"));
        found.and_then(|it| std::fs::read_to_string(it).ok()).filter(|it| !it.is_empty())
    };
    until(&|| address().is_some());
    let address = address().unwrap();
    assert!(std::net::TcpStream::connect(&address).is_ok());
    bench.kill().unwrap();
    bench.wait().unwrap();
    until(&|| std::net::TcpStream::connect(&address).is_err());
    until(&|| inside(&folder).is_empty());
}

#[test]
fn one_that_is_killed_leaves_nothing_behind() {
    let folder = folder("bench-killed");
    let args = ["bench", "--only", "throughput", "--entities", "100", "--seconds", "60", "--data"];
    let mut bench =
        trackside(&args).arg(&folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
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
    let inside = trackside(&["bench", "--http", "--only", "scale"]).output().unwrap();
    assert_eq!(inside.status.code(), Some(2));
    assert!(told(&inside).contains("leave --http out"), "{}", told(&inside));
    let outside = trackside(&["bench", "--only", "restate"]).output().unwrap();
    assert_eq!(outside.status.code(), Some(2));
    assert!(told(&outside).contains("add --http"), "{}", told(&outside));
    let unknown = trackside(&["bench", "--only", "speed"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    let store = trackside(&["bench", "--start", "/nowhere/at/all"]).output().unwrap();
    assert_eq!(store.status.code(), Some(3));
}
