//! A slow client cannot keep the server waiting, and does not delay other clients.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use trackside_server::ServerLimits;

use crate::ground::{RestServer, why};

fn quick() -> RestServer {
    RestServer::with(ServerLimits { seconds: 1, ..ServerLimits::default() })
}

/// Whether the server ends a connection by itself.
fn is_ended(mut stream: TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).is_ok()
}

#[test]
fn an_idle_connection_is_closed() {
    let ground = quick();
    assert!(is_ended(TcpStream::connect(ground.address).unwrap()), "nothing said");
    let mut half = TcpStream::connect(ground.address).unwrap();
    half.write_all(b"GET /healthz HTTP/1.1\r\nHost: local").unwrap();
    assert!(is_ended(half), "half a head");
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    for path in ["/v1/backup", "/v1/import", "/mcp", "/v1/entities/mission.task"] {
        let mut slow = TcpStream::connect(ground.address).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{{",
            ground.address,
            token.trim()
        );
        slow.write_all(head.as_bytes()).unwrap();
        assert!(is_ended(slow), "half a body for {path}");
    }
}

/// Reads `count` entity names from a stream of events.
fn count_messages(stream: TcpStream, count: usize) -> usize {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.filter(|it| it.starts_with("data: ") && it.contains("CREATED")).take(count).count()
}

fn follow(ground: &RestServer) -> TcpStream {
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let mut stream = TcpStream::connect(ground.address).unwrap();
    write!(
        stream,
        "GET /v1/events?audience=all&after=0 HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        ground.address,
        token.trim()
    )
    .unwrap();
    stream
}

#[test]
fn a_client_that_stops_reading_is_dropped() {
    let ground = RestServer::with(ServerLimits { seconds: 5, ..ServerLimits::default() });
    let (stuck, healthy) = (follow(&ground), follow(&ground));
    let reading = std::thread::spawn(move || count_messages(healthy, 3_000));
    // More than the buffers in between hold.
    for round in 0..3 {
        let create = |place: usize| {
            let title = format!("{round}-{place} {}", "a".repeat(5_000));
            json!({ "lifecycle": "mission.task", "fields": { "title": title.get(..4_000) } })
        };
        for part in 0..50 {
            let commands: Vec<_> = (part * 20..part * 20 + 20).map(create).collect();
            ground.owner.post("/v1/batch", &json!({ "commands": commands })).unwrap();
        }
    }
    assert_eq!(reading.join().unwrap(), 3_000, "the healthy one hears everything");
    let open = || {
        let page = String::from_utf8(ground.owner.get_bytes("/metrics").unwrap()).unwrap();
        let line = page.lines().find(|it| it.starts_with("trackside_feed_followers ")).unwrap().to_owned();
        line.rsplit(' ').next().unwrap().to_owned()
    };
    let is_left = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        open() == "0"
    });
    assert!(is_left, "an unread stream is still open");
    drop(stuck);
}

#[test]
fn an_actor_that_reads_nothing_holds_only_so_much_memory() {
    let ground = RestServer::new();
    let content = vec![b'a'; 16 * 1024 * 1024];
    let path = format!("/v1/artifacts/{}", crate::artifacts::id(&content));
    ground.owner.put_bytes(&path, &content).unwrap();
    let token = |actor: &str| ground.mint_token(json!({ "actor": actor, "kind": "agent" }));
    let (ada, bob) = (token("ada"), token("bob"));
    let begin = |token: &str| {
        let mut stream = TcpStream::connect(ground.address).unwrap();
        let host = ground.address;
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        (String::from_utf8(status[9..].to_vec()).unwrap(), stream)
    };
    let mut open: Vec<_> = (0..4).map(|_| begin(&ada)).collect();
    assert!(open.iter().all(|it| it.0 == "200"));
    assert_eq!(begin(&ada).0, "429");
    assert_eq!(begin(&bob).0, "200", "another actor");
    // What is read is released, and as it was stored.
    let mut answer = Vec::new();
    open.pop().unwrap().1.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(&content));
    let is_released = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        begin(&ada).0 == "200"
    });
    assert!(is_released);
}

#[test]
fn unknown_tokens_are_rate_limited() {
    let ground = RestServer::with(ServerLimits { strangers: 5, ..ServerLimits::default() });
    assert_eq!(ground.owner.get("/v1/whoami").unwrap().status, 200);
    let stranger = ground.client(&format!("ts_{}_{}", "0".repeat(12), "0".repeat(64)));
    let codes: Vec<String> = (0..16).map(|_| why(stranger.get("/v1/whoami")).1).collect();
    assert_eq!(codes.first().map(String::as_str), Some("unauthorized"));
    assert!(codes.iter().filter(|it| *it == "rate-limited").count() > 4, "{codes:?}");
    // Callers with a valid token still get in from the same address, also with tokens that were never used.
    assert_eq!(ground.owner.get("/v1/whoami").unwrap().status, 200);
    let tokens: Vec<String> = (0..20)
        .map(|n| ground.mint_token(json!({ "actor": format!("coder-{n}"), "kind": "agent" })))
        .collect();
    let ground = ground.restart();
    ground.owner.put("/v1/settings/access", &json!({ "strangersPerSecond": 1 })).unwrap();
    let stranger = ground.client(&format!("ts_{}_{}", "0".repeat(12), "0".repeat(64)));
    let storm = std::thread::spawn(move || (0..8).for_each(|_| drop(stranger.get("/v1/whoami"))));
    for token in tokens {
        assert_eq!(ground.client(&token).get("/v1/whoami").unwrap().status, 200);
    }
    storm.join().unwrap();
}

#[test]
fn a_valid_new_token_is_not_limited() {
    let ground = RestServer::with(ServerLimits { strangers: 5, ..ServerLimits::default() });
    let made = |n: usize| ground.mint_token(json!({ "actor": format!("coder-{n}"), "kind": "agent" }));
    let tokens: Vec<String> = (0..60).map(made).collect();
    for token in tokens {
        assert_eq!(ground.client(&token).get("/v1/whoami").unwrap().status, 200);
    }
}

#[test]
fn a_timed_out_request_counts_once_when_it_is_repeated() {
    let ground = quick();
    let task = json!({ "id": "T-1", "fields": { "title": "Find the way" } });
    let ask = || ground.owner.post_with("/v1/entities/mission.task", &task, &[("Idempotency-Key", "slow")]);
    // Another process holds the write lock.
    let other = rusqlite::Connection::open(ground.data.join("journal.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(why(ask()), (503, "timeout".to_owned()));
    other.execute_batch("ROLLBACK").unwrap();
    let asked_again = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        ask().is_ok_and(|it| it.body["entity"]["id"] == "T-1")
    });
    assert!(asked_again, "the server does not recover");
    let history = ground.owner.get("/v1/entities/mission.task/T-1/history").unwrap().body;
    let created = history["items"].as_array().unwrap().iter().filter(|it| it["event"] == "CREATED");
    assert_eq!(created.count(), 1, "{history:#}");
}
