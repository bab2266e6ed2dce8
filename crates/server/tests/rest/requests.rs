//! The name of a request is on its answer and in the journal.

use serde_json::{Value as Json, json};

use crate::ground::{RawAnswer, RestServer};
use crate::packs::{THREE, TWO, lamps};

fn post_with_id(ground: &RestServer, path: &str, id: Option<&str>, body: &Json) -> (RawAnswer, String) {
    send_with_id(ground, &format!("POST {path} HTTP/1.1"), id, body)
}

fn send_with_id(ground: &RestServer, line: &str, id: Option<&str>, body: &Json) -> (RawAnswer, String) {
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let mut head = format!(
        "{line}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream",
        token.trim()
    );
    if let Some(id) = id {
        head.push_str(&format!("\r\nX-Request-Id: {id}"));
    }
    let answer = ground.raw(&head, body.to_string().as_bytes());
    let id = answer.header("x-request-id").expect("every answer has a name").to_owned();
    (answer, id)
}

/// Entries with this name, and how many there are in all.
fn requests_with_id(ground: &RestServer, id: &str) -> Vec<Json> {
    let journal = ground.owner.get("/v1/journal?limit=200").unwrap().body;
    let items = journal["items"].as_array().unwrap();
    items.iter().filter(|it| it["requestId"] == id).cloned().collect()
}

#[test]
fn a_request_id_is_recorded_in_the_journal() {
    let ground = RestServer::new();
    let task = |id: &str| json!({ "id": id, "fields": { "title": "Find the way" } });
    let path = "/v1/entities/mission.task";

    let (answer, id) = post_with_id(&ground, path, Some("deploy-42.a_b"), &task("T-1"));
    assert_eq!((answer.status, id.as_str()), (201, "deploy-42.a_b"));
    let entries = requests_with_id(&ground, "deploy-42.a_b");
    assert_eq!(entries[0]["event"], "CREATED");
    assert!(entries.iter().all(|it| it["id"] == "T-1" && it["cause"].is_null()), "{entries:#?}");
    let body: Json = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body["transition"]["requestId"], "deploy-42.a_b", "the answer says it too");

    // A missing id is generated, and no two are the same.
    let (_, first) = post_with_id(&ground, path, None, &task("T-2"));
    let (_, second) = post_with_id(&ground, path, None, &task("T-3"));
    assert_ne!(first, second);
    assert_eq!(
        (
            requests_with_id(&ground, &first)[0]["id"].as_str(),
            requests_with_id(&ground, &second)[0]["id"].as_str()
        ),
        (Some("T-2"), Some("T-3"))
    );

    // An id that would break a log line is replaced, not repeated.
    for odd in ["two words", "a;b", "\"quoted\"", &"x".repeat(129)] {
        let (answer, id) = post_with_id(&ground, path, Some(odd), &task("T-1"));
        assert_eq!(answer.status, 409);
        assert!(id != odd && id.len() == 16, "{id}");
    }

    // A refusal has a request id, and writes no entry under it.
    let (answer, id) = post_with_id(&ground, path, Some("again"), &task("T-1"));
    assert_eq!((answer.status, id.as_str(), requests_with_id(&ground, "again").len()), (409, "again", 0));

    // Every command of a batch, and the server's own commands on behalf of a caller.
    let batch = json!({ "commands": [
        { "lifecycle": "mission.task", "id": "B-1", "fields": { "title": "One" } },
        { "lifecycle": "mission.task", "id": "B-2", "fields": { "title": "Two" } },
    ] });
    post_with_id(&ground, "/v1/batch", Some("both"), &batch);
    let created: Vec<Json> = requests_with_id(&ground, "both").iter().map(|it| it["id"].clone()).collect();
    assert!(created.contains(&json!("B-1")) && created.contains(&json!("B-2")), "{created:?}");
    post_with_id(&ground, "/v1/tokens", Some("minting"), &json!({ "actor": "ada", "kind": "agent" }));
    assert!(requests_with_id(&ground, "minting").iter().any(|it| it["lifecycle"] == "access.token"));
}

#[test]
fn a_request_id_survives_a_restart() {
    let ground = RestServer::new();
    post_with_id(
        &ground,
        "/v1/entities/mission.task",
        Some("before"),
        &json!({ "id": "T-1", "fields": { "title": "x" } }),
    );
    let before = requests_with_id(&ground, "before");
    let ground = ground.restart();
    assert_eq!(requests_with_id(&ground, "before"), before);
    let told = ground.owner.get("/v1/audit/verify").unwrap().body;
    assert_eq!(told["intact"], json!(true), "it is sealed with the rest");
}

#[test]
fn an_mcp_call_is_recorded_with_its_request_id() {
    let ground = RestServer::new();
    let arguments =
        json!({ "lifecycle": "mission.task", "id": "T-1", "fields": { "title": "Find the way" } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "create", "arguments": arguments } });
    let line = "POST /mcp HTTP/1.1\r\nMCP-Protocol-Version: 2025-11-25";
    let (answer, id) = send_with_id(&ground, line, Some("by-mcp"), &call);
    assert_eq!((answer.status, id.as_str()), (200, "by-mcp"));
    let entries = requests_with_id(&ground, "by-mcp");
    assert_eq!(entries.first().map(|it| &it["event"]), Some(&json!("CREATED")), "{entries:#?}");
    // A missing id is generated here, too.
    let note = json!({ "lifecycle": "mission.task", "id": "T-2", "fields": { "title": "x" } });
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "create", "arguments": note } });
    let (_, id) = send_with_id(&ground, line, None, &call);
    assert_eq!(requests_with_id(&ground, &id).first().map(|it| &it["id"]), Some(&json!("T-2")));
}

#[test]
fn installations_and_redactions_are_recorded_with_their_request() {
    let ground = RestServer::new();
    let only = |id: &str, event: &str| {
        let entries = requests_with_id(&ground, id);
        assert!(!entries.is_empty(), "nothing is named {id}");
        for it in &entries {
            assert_eq!((&it["event"], &it["actor"]), (&json!(event), &json!("owner")), "{it:#}");
            assert_eq!(it["actorKind"], json!("human"));
        }
        entries.len()
    };
    let put = "PUT /v1/packs/lamps HTTP/1.1";
    assert_eq!(send_with_id(&ground, put, Some("first"), &lamps(1, TWO)).0.status, 200);
    assert_eq!(only("first", "PACK_INSTALLED"), 1);
    for id in ["a", "b"] {
        ground
            .owner
            .post("/v1/entities/lamps.lamp", &json!({ "id": id, "fields": { "note": "red" } }))
            .unwrap();
    }
    assert_eq!(send_with_id(&ground, put, Some("second"), &lamps(2, THREE)).0.status, 200);
    assert_eq!(only("second", "PACK_INSTALLED"), 1);
    let moves = [
        ("to", json!({ "lifecycle": "lamps.lamp", "to": 2 })),
        ("back", json!({ "lifecycle": "lamps.lamp", "to": 2, "undo": true })),
    ];
    for (id, body) in &moves {
        assert_eq!(post_with_id(&ground, "/v1/migrations", Some(id), body).0.status, 200);
        assert_eq!(only(id, "MIGRATED"), 2);
    }
    let drop = json!({ "lifecycle": "lamps.lamp", "id": "a", "all": true, "reason": "nobody's business" });
    assert_eq!(post_with_id(&ground, "/v1/redactions", Some("drops"), &drop).0.status, 200);
    assert_eq!(only("drops", "REDACTED"), 1);
}
