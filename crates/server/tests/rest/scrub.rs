//! Damage that nobody reads is found by the scrub, and shows in `/metrics` and `/readyz`.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value as Json, json};
use trackside_lifecycle::time::Timestamp;
use trackside_store::archive::{folder_of, move_out};
use trackside_store::{Sqlite, SqliteOptions, Store as _};

use crate::ground::RestServer;

fn create(ground: &RestServer, id: &str) {
    let body = json!({ "id": id, "fields": { "title": format!("About {id}") } });
    assert_eq!(ground.owner.post("/v1/entities/mission.task", &body).unwrap().status, 201);
}

/// Waits until this is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{what}");
}

/// The value of a metric.
fn metric(ground: &RestServer, name: &str) -> f64 {
    let text = String::from_utf8(ground.owner.get_bytes("/metrics").unwrap()).unwrap();
    let line = text.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
}

/// The status code of `/readyz`, and its body.
fn readiness(ground: &RestServer) -> (u16, Json) {
    let answer = ground.raw("GET /readyz HTTP/1.1", b"");
    (answer.status, serde_json::from_slice(&answer.body).unwrap())
}

fn change(data: &Path, file: &str, sql: &str) {
    assert!(Connection::open(data.join(file)).unwrap().execute(sql, []).unwrap() > 0, "{sql}");
}

/// A server with more entries than a start verifies, after a change to its folder.
fn damaged(meanwhile: impl FnOnce(&Path)) -> RestServer {
    let ground = RestServer::new();
    create(&ground, "T-OLD");
    ground.owner.post("/v1/clock/advance", &json!({ "by": "1m" })).unwrap();
    (0..20).for_each(|it| create(&ground, &format!("T-{it}")));
    ground.restarted_after(meanwhile)
}

#[test]
fn a_pass_over_an_intact_folder_is_complete() {
    let ground = damaged(|_| {});
    until("a pass is complete", || metric(&ground, "trackside_scrub_timestamp_seconds") > 0.0);
    assert_eq!(metric(&ground, "trackside_scrub_damaged"), 0.0);
    let (status, body) = readiness(&ground);
    assert_eq!((status, &body["status"]), (200, &json!("ready")), "{body:#}");
}

#[test]
fn a_damaged_entry_is_a_warning() {
    let ground = damaged(|data| {
        change(
            data,
            "journal.db",
            "UPDATE journal SET payload = replace(payload, 'About T-OLD', 'Above T-OLD')",
        );
    });
    until("the entry is found", || metric(&ground, "trackside_scrub_damaged") == 1.0);
    let (status, body) = readiness(&ground);
    assert_eq!((status, &body["status"]), (200, &json!("degraded")), "{body:#}");
    let warning = body["warnings"].to_string();
    assert!(warning.contains("journal entry") && warning.contains("doctor"), "{body:#}");
    // It stays a warning after the pass, which reads the rest.
    until("the pass is complete", || metric(&ground, "trackside_scrub_timestamp_seconds") > 0.0);
    assert_eq!(metric(&ground, "trackside_scrub_damaged"), 1.0);
    assert_eq!(readiness(&ground).1["status"], json!("degraded"));
}

#[test]
fn a_damaged_archive_file_is_a_warning() {
    let ground = damaged(|data| {
        let store = Sqlite::open(data, SqliteOptions::default()).unwrap();
        let (mut reader, mut journal) = (store.reader().unwrap(), store.journal().unwrap());
        let later = Timestamp::parse("2026-01-01T00:00:30Z").unwrap();
        move_out(reader.as_mut(), journal.as_mut(), &folder_of(data), later).unwrap().unwrap();
        for file in std::fs::read_dir(folder_of(data)).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(path, text.replace("About T-OLD", "Above T-OLD")).unwrap();
        }
    });
    until("the file is found", || metric(&ground, "trackside_scrub_damaged") == 1.0);
    let (status, body) = readiness(&ground);
    assert_eq!((status, &body["status"]), (200, &json!("degraded")), "{body:#}");
    assert!(body["warnings"].to_string().contains("archive"), "{body:#}");
}
