//! Access, identity and size limits.

use serde_json::json;
use trackside_server::ServerLimits;

use super::{McpClient, NEWEST, OLDER, on, park, yard};
use crate::ground::RestServer;

#[test]
fn a_call_without_a_token_is_rejected() {
    let ground = yard();
    for shown in ["", "\r\nAuthorization: Bearer ts_000000000000_00", "\r\nAuthorization: Basic eDp5"] {
        for version in [OLDER, NEWEST] {
            let nobody = McpClient { shown: shown.to_owned(), ..McpClient::new(&ground, "", version) };
            let answer = nobody.send("tools/list", json!({}));
            assert_eq!(answer.status, 401, "{shown} {}", answer.head);
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        }
    }
    // A token that is revoked is out with the next message: there is no session that it could live on in.
    let made = ground.owner.post("/v1/tokens", &json!({ "actor": "ada", "kind": "agent" })).unwrap().body;
    let ada = McpClient::new(&ground, made["token"].as_str().unwrap(), OLDER);
    assert_eq!(ada.send("tools/list", json!({})).status, 200);
    ground.owner.delete(&format!("/v1/tokens/{}", made["details"]["id"].as_str().unwrap())).unwrap();
    assert_eq!(ada.send("tools/list", json!({})).status, 401);
}

#[test]
fn the_token_determines_the_actor() {
    let ground = yard();
    park(&ground, "W-1");
    let (ada, eve) = (McpClient::agent(&ground, "ada"), McpClient::agent(&ground, "eve"));
    let fence =
        ada.tool_result("claim", json!({ "lifecycle": "yard.wagon" }))["entity"]["leases"][0]["fence"]
            .clone();
    // Another agent cannot finish it, renew its lease, or act for its holder.
    let done = json!({ "lifecycle": "yard.wagon", "id": "W-1", "event": "done", "fence": fence });
    let refused = eve.tool_refusal("fire", done.clone());
    assert_eq!((&refused["status"], &refused["code"]), (&json!(403), &json!("not-permitted")));
    assert_eq!(
        eve.tool_refusal("heartbeat", json!({ "lifecycle": "yard.wagon", "id": "W-1", "fence": fence }))["status"],
        409
    );
    for named in ["actor", "onBehalfOf", "subject"] {
        let mut pretends = done.clone();
        pretends[named] = json!("ada");
        assert_eq!(eve.tool_refusal("fire", pretends)["code"], "invalid-arguments", "{named}");
    }
    let mut pretends = McpClient::agent(&ground, "eve");
    pretends.shown.push_str("\r\nTrackside-For: ada");
    let answer = pretends.send("tools/call", json!({ "name": "fire", "arguments": done }));
    assert_eq!(answer.status, 403, "{}", answer.head);
    // No tool shows an entity that only another actor may see.
    let chest = json!({ "id": "C-1", "fields": { "holder": "ada", "secret": "the-combination" } });
    ground.owner.post("/v1/entities/yard.chest", &chest).unwrap();
    let one = json!({ "lifecycle": "yard.chest", "id": "C-1" });
    for tool in ["show", "explain", "report", "wait", "fire"] {
        let mut asked = one.clone();
        if tool == "fire" {
            asked["event"] = json!("unlock");
        }
        let result = eve.call(tool, asked);
        assert_eq!(result["structuredContent"]["status"], 404, "{tool}: {result}");
        assert!(!result.to_string().contains("the-combination"));
    }
    for tool in ["my_work", "list"] {
        let told = eve.tool_result(tool, json!({ "lifecycle": "yard.chest" })).to_string();
        assert!(!told.contains("C-1"), "{tool}: {told}");
    }
    assert_eq!(ada.tool_result("show", one)["fields"]["secret"], "the-combination");
}

#[test]
fn the_journal_records_a_supervisor_and_its_agent() {
    let ground = yard();
    park(&ground, "W-1");
    let token = ground.mint_token(json!({ "actor": "boss", "kind": "agent", "for": ["fitter-*"] }));
    let mut boss = McpClient::new(&ground, &token, NEWEST);
    boss.shown.push_str("\r\nTrackside-For: fitter-1\r\nX-Request-Id: by-mcp-7");
    let claimed = boss.tool_result("claim", json!({ "lifecycle": "yard.wagon" }));
    assert_eq!(claimed["transition"]["requestId"], "by-mcp-7", "{claimed}");
    assert_eq!(claimed["entity"]["leases"][0]["holder"], "fitter-1");
    assert_eq!(
        (&claimed["transition"]["actor"], &claimed["transition"]["onBehalfOf"]),
        (&json!("boss"), &json!("fitter-1"))
    );
    let work = boss.tool_result("my_work", json!({ "lifecycle": "yard.wagon" }));
    assert_eq!(work["you"]["actingFor"], "fitter-1");
    assert_eq!(work["yours"][0]["id"], "W-1");
}

#[test]
fn oversized_and_cross_site_calls_are_rejected() {
    let ground = on(RestServer::with(ServerLimits {
        body: 4 * 1024,
        depth: 16,
        streams: 0,
        ..ServerLimits::default()
    }));
    let mut ada = McpClient::agent(&ground, "ada");
    let long = json!({ "name": "report", "arguments": { "text": "x".repeat(5_000) } });
    assert_eq!(ada.send("tools/call", long).status, 413);
    let deep = (0..20).fold(json!(1), |it, _| json!([it]));
    assert_eq!(
        ada.send("tools/call", json!({ "name": "fire", "arguments": { "fields": deep } })).status,
        400
    );
    // No more may wait than the streams that there may be.
    park(&ground, "W-1");
    let wait = ada.tool_refusal("wait", json!({ "lifecycle": "yard.wagon", "id": "W-1" }));
    assert_eq!((&wait["status"], &wait["code"]), (&json!(429), &json!("overloaded")));
    let own = ada.shown.clone();
    for (origin, status) in [
        ("http://evil.example", 403),
        ("null", 403),
        ("http://localhost:5173", 200),
        ("http://127.0.0.1", 200),
    ] {
        ada.shown = format!("{own}\r\nOrigin: {origin}");
        let answer = ada.send("tools/list", json!({}));
        assert_eq!(answer.status, status, "{origin}");
    }
    for method in ["GET", "DELETE"] {
        let answer = ground.raw(&format!("{method} /mcp HTTP/1.1{own}\r\nAccept: text/event-stream"), b"");
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.header("allow"), Some("POST"));
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    }
    let head = format!(
        "POST /mcp HTTP/1.1{own}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream"
    );
    for body in [
        "",
        "nonsense",
        "[]",
        "{}",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
    ] {
        let answer = ground.raw(&head, body.as_bytes());
        assert_eq!((answer.status, answer.header("content-type")), (400, Some("application/json")), "{body}");
        let told: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        let code = if body.is_empty() || body == "nonsense" { -32_700 } else { -32_600 };
        assert_eq!(
            (&told["jsonrpc"], &told["error"]["code"]),
            (&json!("2.0"), &json!(code)),
            "{body}: {told}"
        );
    }
    let plain = head.replace("application/json\r\nAccept", "text/plain\r\nAccept");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(ground.raw(&plain, ping.as_bytes()).status, 415, "another media type");
    let document = ground.owner.get("/openapi.json").unwrap().body;
    assert!(
        document["paths"]["/mcp"]["post"].is_object() && document["paths"]["/sign-in"]["get"].is_object()
    );
}
