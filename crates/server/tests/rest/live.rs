//! The stream contains the entries of the journal, hashes included.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::ground::RestServer;

/// Follows the journal; the stream is open when this returns.
fn follow(ground: &RestServer, after: u64) -> impl Iterator<Item = Json> + use<> {
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let mut stream = TcpStream::connect(ground.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(
        stream,
        "GET /v1/events?audience=all&after={after} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        ground.address,
        token.trim()
    )
    .unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.next().unwrap().contains("200"));
    lines.filter_map(|it| serde_json::from_str(it.strip_prefix("data: ")?).ok())
}

#[test]
fn an_entry_is_the_same_in_the_stream_and_in_the_journal() {
    let ground = RestServer::new();
    let journal = |ground: &RestServer| -> Vec<Json> {
        let page = ground.owner.get("/v1/journal?limit=200").unwrap().body;
        page["items"].as_array().unwrap().clone()
    };
    let before = journal(&ground).len();
    let live = follow(&ground, before as u64);
    for id in ["T-1", "T-2", "T-3"] {
        ground
            .owner
            .post("/v1/entities/mission.task", &json!({ "id": id, "fields": { "title": id } }))
            .unwrap();
    }
    let all = journal(&ground);
    assert!(all.len() > before + 2 && all.iter().all(|it| it["hash"].is_string()));
    let heard: Vec<Json> = live.take(all.len() - before).collect();
    assert_eq!(heard, all[before..], "live");
    let late: Vec<Json> = follow(&ground, 0).take(all.len()).collect();
    assert_eq!(late, all, "from the beginning");
}

#[test]
fn a_stream_that_can_never_send_anything_is_refused() {
    let ground = RestServer::new();
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let ask = |path: &str, more: &str| {
        let mut stream = TcpStream::connect(ground.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (address, token) = (ground.address, token.trim());
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n{more}\r\n"
        )
        .unwrap();
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let status: u16 = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        // A stream does not end: only other answers are read to the end.
        let body = if status == 200 { String::new() } else { lines.last().unwrap_or_default() };
        (status, body)
    };
    let (status, body) = ask("/v1/events?lifecycle=mission.tsk", "");
    assert_eq!(status, 404);
    assert!(body.contains("unknown-lifecycle") && body.contains("Did you mean mission.task?"), "{body}");
    for (path, more) in [("/v1/events?after=100000", ""), ("/v1/events", "Last-Event-ID: 100000\r\n")] {
        let (status, body) = ask(path, more);
        assert_eq!(status, 422, "{path}");
        assert!(body.contains("\"not-yet\"") && body.contains("The journal is at entry"), "{body}");
    }
    let end = ground.owner.get("/readyz").unwrap().body["seq"].as_u64().unwrap();
    assert_eq!(
        ask(&format!("/v1/events?lifecycle=mission.task&after={end}"), "").0,
        200,
        "the end is no mistake"
    );
}
