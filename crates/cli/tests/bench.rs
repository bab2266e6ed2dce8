//! `trackside bench`, as people type it.
#![expect(
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

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A new, empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect()
}

/// Runs a short bench; returns its rows and whether the folder is empty afterwards.
fn rows(name: &str, args: &[&str]) -> Vec<Json> {
    let folder = folder(name);
    let mut command = trackside(&["bench", "--json", "--seconds", "1", "--callers", "4"]);
    let output = command.args(args).arg("--data").arg(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(entries(&folder), [] as [PathBuf; 0]);
    let report: Json = serde_json::from_slice(&output.stdout).unwrap();
    report["rows"].as_array().unwrap().clone()
}

fn names(rows: &[Json]) -> Vec<&str> {
    rows.iter().map(|it| it["name"].as_str().unwrap()).collect()
}

fn is_positive(number: &Json) -> bool {
    number.as_f64().is_some_and(|it| it > 0.0)
}

#[test]
fn in_process_throughput_and_latency_are_measured() {
    let rows = rows("bench-in-process", &["--entities", "400", "--busy", "10"]);
    assert_eq!(names(&rows), ["throughput", "diskSync", "latency"]);
    for row in &rows {
        assert!(is_positive(&row["perSecond"]) && is_positive(&row["latency"]["p99Micros"]), "{row:#}");
    }
    // Arrivals at half of the peak rate: the latency row's rate is that half, not the peak.
    let [peak, half] = [0, 2].map(|it: usize| rows[it]["perSecond"].as_f64().unwrap());
    assert!(half < peak * 0.75, "{half} of {peak}");
    assert_eq!(rows[2]["note"], "beside other load: 10 % of one core");
}

#[test]
fn few_entities_can_be_moved_any_number_of_times() {
    let rows = rows("bench-few", &["--entities", "4", "--only", "throughput"]);
    assert_eq!(names(&rows), ["throughput", "diskSync"]);
}

#[test]
fn over_http_the_server_is_compared_with_a_bare_handler() {
    let only = ["--only", "throughput", "--only", "mixed"];
    let rows = rows("bench-http", &[&["--http", "--entities", "400"][..], &only].concat());
    assert_eq!(names(&rows), ["throughput", "bareHandler", "serverTime", "mixed", "mixedMemory"]);
    assert!(is_positive(&rows[0]["perSecond"]) && is_positive(&rows[1]["figure"]["value"]), "{rows:#?}");
    for thread in ["http", "decider", "committer"] {
        assert!(is_positive(&rows[2]["shares"][thread]), "{:#}", rows[2]);
    }
    assert!(is_positive(&rows[3]["perSecond"]) && is_positive(&rows[4]["figure"]["value"]), "{rows:#?}");
    assert_eq!(rows[3]["figure"]["value"], 0.0, "errors: {:#}", rows[3]);
}

fn wait_until(condition: &dyn Fn() -> bool) {
    for _ in 0..6_000 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("waited for a minute");
}

#[test]
fn a_killed_bench_leaves_neither_server_nor_folder() {
    let folder = folder("bench-killed");
    let args = ["bench", "--http", "--callers", "4", "--entities", "100", "--seconds", "6", "--data"];
    let mut bench =
        trackside(&args).arg(&folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let address = || {
        let found = entries(&folder).first().map(|it| it.join("store/address"));
        found.and_then(|it| std::fs::read_to_string(it).ok()).filter(|it| !it.is_empty())
    };
    wait_until(&|| address().is_some());
    let address = address().unwrap();
    wait_until(&|| std::net::TcpStream::connect(&address).is_ok());
    bench.kill().unwrap();
    bench.wait().unwrap();
    wait_until(&|| std::net::TcpStream::connect(&address).is_err());
    wait_until(&|| entries(&folder).is_empty());
}

#[test]
fn wrong_arguments_are_refused_with_the_next_step() {
    let few = trackside(&["bench", "--callers", "64", "--entities", "10"]).output().unwrap();
    assert_eq!(few.status.code(), Some(2));
    assert!(stderr(&few).contains("raise --entities"), "{}", stderr(&few));
    let nowhere = trackside(&["bench", "--data", "/nowhere/at/all"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(3));
    assert!(stderr(&nowhere).contains("--data"), "{}", stderr(&nowhere));
    let unknown = trackside(&["bench", "--only", "speed"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
}
