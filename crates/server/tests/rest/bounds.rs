//! Rate limits, request ids and early answers.

use serde_json::json;
use trackside_server::ServerLimits;

use crate::ground::{RestServer, refused, why};

#[test]
fn an_actor_has_a_rate_of_its_own() {
    let ground = RestServer::with(ServerLimits { rate: 5, ..ServerLimits::default() });
    let pia = ground.person("pia");
    let refused = (0..40).filter(|_| pia.get("/v1/whoami").is_err()).count();
    assert!((20..40).contains(&refused), "{refused} of 40 were refused");
    assert_eq!(why(pia.get("/v1/whoami")), (429, "rate-limited".to_owned()));
    // Another token of the same actor does not help.
    assert!((0..10).any(|_| ground.person("pia").get("/v1/whoami").is_err()));
    // Other callers are not affected.
    assert_eq!(ground.owner.get("/v1/whoami").unwrap().status, 200);

    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let asked = format!("GET /v1/whoami HTTP/1.1\r\nAuthorization: Bearer {}", token.trim());
    let answers: Vec<_> = (0..10).map(|_| ground.raw(&asked, b"")).collect();
    let last = answers.iter().find(|it| it.status == 429).expect("too many");
    assert_eq!(last.header("retry-after"), Some("1"));
}

#[test]
fn every_answer_has_a_request_id() {
    let ground = RestServer::new();
    let named = ground.raw("GET /healthz HTTP/1.1\r\nX-Request-Id: run-7.step_3", b"");
    assert_eq!((named.status, named.header("x-request-id")), (200, Some("run-7.step_3")));
    let mut seen = Vec::new();
    let long = format!("GET /nowhere HTTP/1.1\r\nX-Request-Id: {}", "a".repeat(129));
    for head in ["GET /v1/whoami HTTP/1.1", "GET /healthz HTTP/1.1\r\nX-Request-Id: <b>", &long] {
        let answer = ground.raw(head, b"");
        let id = answer.header("x-request-id").expect("a name").to_owned();
        assert_eq!(id.len(), 16, "{id}");
        seen.push(id);
    }
    seen.dedup();
    assert_eq!(seen.len(), 3);
}

#[test]
fn an_early_rejection_is_still_answered() {
    let ground = RestServer::with(ServerLimits { strangers: 0, ..ServerLimits::default() });
    let stranger = ground.client("ts_000000000000_0");
    // The server does not read this body: the connection must still work for the next request.
    let body = serde_json::json!({ "fields": { "title": "a".repeat(20_000) } });
    for _ in 0..200 {
        assert_eq!(why(stranger.post("/v1/entities/mission.task", &body)), (401, "unauthorized".to_owned()));
        assert_eq!(why(stranger.put("/v1/nowhere", &body)), (404, "unknown-route".to_owned()));
    }
}

#[test]
fn unreadable_requests_get_a_problem_document() {
    let ground = RestServer::new();
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let bearer = format!("Authorization: Bearer {}", token.trim());
    for (head, status) in [
        (format!("GET /v1/entities/%FF HTTP/1.1\r\n{bearer}"), 400),
        (format!("GET /v1/entities/mission.task?limit=x HTTP/1.1\r\n{bearer}"), 400),
        (format!("DELETE /v1/whoami HTTP/1.1\r\n{bearer}"), 405),
        (format!("GET /v1/nowhere HTTP/1.1\r\n{bearer}"), 404),
        ("GET /sign-in?link HTTP/1.1".to_owned(), 401),
    ] {
        let answer = ground.raw(&head, b"");
        assert_eq!(answer.status, status, "{head}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{head}");
        let problem: trackside_protocol::Problem = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(problem.status, status);
    }
}

#[test]
fn the_document_is_for_those_with_a_token() {
    let ground = RestServer::new();
    assert_eq!(ground.raw("GET /openapi.json HTTP/1.1", b"").status, 401);
    assert_eq!(ground.owner.get("/openapi.json").unwrap().body["openapi"], "3.1.0");
}

#[test]
fn the_clock_is_not_moved_through_centuries_by_a_slip() {
    let ground = RestServer::new();
    let advance = |how: serde_json::Value| ground.owner.post("/v1/clock/advance", &how);
    let now = || ground.owner.get("/v1/clock").unwrap().body["now"].clone();
    let before = now();
    for slip in [json!({ "by": "401d" }), json!({ "by": "544000d" }), json!({ "to": "3516-01-01T00:00:00Z" })]
    {
        let problem = refused(advance(slip));
        assert_eq!((problem.status, problem.code.as_str()), (422, "too-far"));
        assert!(problem.detail.contains("at most 400d at once, to 2027-02-05T00:00:00"), "{problem:?}");
    }
    assert_eq!(now(), before);
    advance(json!({ "by": "399d" })).unwrap();
    advance(json!({ "by": "2d" })).unwrap();
}

/// A quota that is used up: the answer names it, its value, the use, and how to raise it.
fn must_name(problem: &trackside_protocol::Problem, parts: &[&str]) {
    assert_eq!((problem.status, problem.code.as_str()), (429, "rate-limited"), "{problem:?}");
    for part in parts {
        assert!(problem.detail.contains(part), "{part} is missing: {}", problem.detail);
    }
}

fn create(n: usize) -> serde_json::Value {
    json!({ "lifecycle": "mission.task", "id": format!("T-{n}"), "fields": { "title": "Write it" } })
}

#[test]
fn a_batch_counts_as_its_commands_and_refused_ones_count_too() {
    let ground = RestServer::with(ServerLimits { actor_commands: 5, ..ServerLimits::default() });
    let pia = ground.person("pia");
    let task = json!({ "fields": { "title": "Write it" } });
    // Refused: the task does not exist.
    let start = json!({ "lifecycle": "mission.task", "id": "NONE", "event": "start" });
    let batch = json!({ "commands": vec![start; 60] });
    assert_eq!(pia.post("/v1/batch", &batch).unwrap().body["results"].as_array().unwrap().len(), 60);
    let problem = refused(pia.post("/v1/batch", &json!({ "commands": [create(1)] })));
    must_name(
        &problem,
        &["pia", "`commandsPerSecond`", "5 commands a second", "commandsPerSecond:=10", "free again in 1"],
    );
    must_name(&refused(pia.post("/v1/entities/mission.task", &task)), &["commandsPerSecond"]);
    // Reads, other actors and admins are not affected.
    assert_eq!(pia.get("/v1/whoami").unwrap().status, 200);
    let batch = json!({ "commands": (0..20).map(create).collect::<Vec<_>>() });
    for other in [&ground.person("paul"), &ground.owner] {
        assert_eq!(other.post("/v1/batch", &batch).unwrap().status, 200);
    }
    ground.owner.post("/v1/batch", &batch).unwrap();
    // The setting applies from the next request on.
    ground.owner.put("/v1/settings/access", &json!({ "commandsPerSecond": 0 })).unwrap();
    assert_eq!(pia.post("/v1/entities/mission.task", &task).unwrap().status, 201);
}

#[test]
fn an_actor_creates_and_stores_so_much_a_day() {
    let ground = RestServer::with(ServerLimits {
        actor_entities: 3,
        actor_artifact_bytes: 1_500,
        actor_bytes: 10_000,
        ..ServerLimits::default()
    });
    let pia_token = ground.mint_token(json!({ "actor": "pia", "kind": "human" }));
    let pia = ground.client(&pia_token);
    let batch =
        |from: usize, many: usize| json!({ "commands": (from..from + many).map(create).collect::<Vec<_>>() });
    assert_eq!(pia.post("/v1/batch", &batch(0, 2)).unwrap().status, 200);
    let problem = refused(pia.post("/v1/batch", &batch(2, 2)));
    must_name(
        &problem,
        &["`entitiesPerDay`", "used 2", "3 new entities a day", "needs 2", "24.0 hours", "entitiesPerDay:=6"],
    );
    assert_eq!(pia.post("/v1/batch", &batch(2, 1)).unwrap().status, 200);

    // Records that the server creates for an actor count too.
    let boss = ground.actor(json!({ "actor": "boss", "kind": "system", "for": ["agent-*"] }));
    let mint = |number: usize| {
        boss.post("/v1/tokens", &json!({ "actor": format!("agent-{number}"), "kind": "agent" }))
    };
    assert!((0..3).all(|it| mint(it).is_ok()));
    must_name(&refused(mint(3)), &["boss", "`entitiesPerDay`", "used 3"]);
    let paul = ground.person("paul");
    let link = || paul.post("/v1/sign-in-links", &json!({}));
    assert!((0..3).all(|_| link().is_ok()));
    must_name(&refused(link()), &["paul", "`entitiesPerDay`"]);
    let hook = json!({ "url": "https://receiver.invalid/", "events": ["ERASED"] });
    must_name(&refused(paul.post("/v1/webhooks", &hook)), &["paul", "`entitiesPerDay`"]);

    let artifact = |byte: u8| vec![byte; 1_000];
    let path = |content: &[u8]| format!("/v1/artifacts/{}", crate::artifacts::id(content));
    assert_eq!(pia.put_bytes(&path(&artifact(1)), &artifact(1)).unwrap().status, 201);
    // One that is there already costs nothing.
    assert_eq!(pia.put_bytes(&path(&artifact(1)), &artifact(1)).unwrap().status, 200);
    let problem = refused(pia.put_bytes(&path(&artifact(2)), &artifact(2)));
    must_name(
        &problem,
        &["`artifactBytesPerDay`", "used 1000", "1500 bytes of artifacts a day", "needs 1000"],
    );
    assert_eq!(ground.owner.put_bytes(&path(&artifact(2)), &artifact(2)).unwrap().status, 201);

    let large = json!({ "title": "x".repeat(30_000) });
    // It passes, and the next one waits for it.
    pia.post("/v1/entities/mission.task", &json!({ "fields": large })).ok();
    must_name(&refused(pia.post("/v1/batch", &batch(9, 1))), &["`bytesPerSecond`", "10000 bytes"]);

    // In all: also after a restart, which sets the use of the day to zero.
    let setting = json!({ "artifactBytesTotal": 1_500 });
    ground.owner.put("/v1/settings/access", &setting).unwrap();
    let ground = ground.restart();
    let pia = ground.client(&pia_token);
    let problem = refused(pia.put_bytes(&path(&artifact(3)), &artifact(3)));
    must_name(
        &problem,
        &[
            "`artifactBytesTotal`",
            "used 1000",
            "1500 bytes of artifacts",
            "needs 1000",
            "artifactBytesTotal:=3000",
        ],
    );
    assert_eq!(pia.put_bytes(&path(&artifact(1)), &artifact(1)).unwrap().status, 200);
    assert_eq!(pia.put_bytes(&path(&[4; 500]), &[4; 500]).unwrap().status, 201);
}

#[test]
fn one_actor_cannot_take_all_event_streams() {
    let ground = RestServer::with(ServerLimits { actor_streams: 2, ..ServerLimits::default() });
    let open = |token: &str| {
        use std::io::{Read as _, Write as _};
        let mut stream = std::net::TcpStream::connect(ground.address).unwrap();
        let head = format!(
            "GET /v1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
            ground.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        (String::from_utf8_lossy(&status[9..]).into_owned(), stream)
    };
    let token = |id: &str| ground.mint_token(json!({ "actor": id, "kind": "human" }));
    let (one, two) = (token("pia"), token("pia"));
    let (first, second) = (open(&one), open(&two));
    assert_eq!((first.0.as_str(), second.0.as_str()), ("200", "200"));
    assert_eq!(open(&one).0, "429");
    assert_eq!(open(&token("paul")).0, "200");
    drop(first);
    let is_free = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        open(&one).0 == "200"
    });
    assert!(is_free, "a closed stream still counts");
}

#[test]
fn connections_are_limited_before_any_token() {
    use std::io::{Read as _, Write as _};
    let ground = RestServer::with(ServerLimits {
        connections: 40,
        address_connections: 20,
        ..ServerLimits::default()
    });
    let connect = || std::net::TcpStream::connect(ground.address).unwrap();
    let mut open: Vec<_> = (0..30).map(|_| connect()).collect();
    // Connections beyond the limit get a response that says so.
    let refused: Vec<String> = open
        .drain(20..)
        .filter_map(|mut it| {
            let mut text = String::new();
            it.read_to_string(&mut text).ok()?;
            Some(text)
        })
        .collect();
    assert!(
        refused.iter().any(|it| it.starts_with("HTTP/1.1 503") && it.contains("overloaded")),
        "{refused:?}"
    );
    // A closed connection gives its place back.
    drop(open);
    let is_served = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        ground.owner.get("/v1/whoami").is_ok_and(|it| it.status == 200)
    });
    assert!(is_served, "closed connections still count");
    // A head without an end takes little memory.
    let mut endless = connect();
    let line = format!("X-Filler: {}\r\n", "x".repeat(8_000));
    endless.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
    let is_refused = (0..20).any(|_| endless.write_all(line.as_bytes()).is_err());
    let mut answer = String::new();
    endless.read_to_string(&mut answer).ok();
    assert!(is_refused || answer.starts_with("HTTP/1.1 431"), "160 KB of head were read: {answer}");
}

#[test]
fn a_key_that_is_there_twice_and_an_integer_that_loses_digits_are_refused() {
    let ground = RestServer::new();
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let head = format!(
        "POST /v1/entities/mission.task HTTP/1.1\r\nAuthorization: Bearer {}\r\nContent-Type: application/json",
        token.trim()
    );
    for (body, words) in [
        (r#"{"fields":{"title":"a","title":"b"}}"#, r#"\"title\" is there twice in \"fields\""#),
        (r#"{"fields":{"title":"a","priority":9223372036854775808}}"#, "9223372036854775808 is outside"),
        (r#"{"fields":{"title":"a"},"id":"T-1","id":"T-2"}"#, "duplicate field"),
    ] {
        let answer = ground.raw(&head, body.as_bytes());
        assert_eq!(answer.status, 400, "{body}");
        let said = String::from_utf8_lossy(&answer.body);
        assert!(said.contains(words), "{body}: {said}");
    }
}
