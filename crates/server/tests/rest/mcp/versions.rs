//! Both protocols: the one with a handshake, and the one without.

use serde_json::json;

use super::{McpClient, NEWEST, OLDER, yard};

const TOOLS: [&str; 11] =
    ["my_work", "inbox", "show", "list", "explain", "create", "claim", "fire", "report", "heartbeat", "wait"];

#[test]
fn the_older_protocol_begins_with_a_handshake() {
    let ground = yard();
    let ada = McpClient::agent(&ground, "ada");
    let hello = json!({ "protocolVersion": OLDER, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let agreed = ada.result("initialize", hello);
    assert_eq!(agreed["protocolVersion"], OLDER);
    assert_eq!(agreed["serverInfo"]["name"], "trackside");
    assert!(agreed["capabilities"]["tools"].is_object(), "{agreed}");
    assert!(agreed["instructions"].as_str().unwrap().contains("my_work"));
    assert_eq!(ada.result("ping", json!({})), json!({}));
    // A client with an unknown version is offered one that the server supports.
    let strange = json!({ "protocolVersion": "2031-01-01", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    assert_eq!(ada.result("initialize", strange)["protocolVersion"], OLDER);
}

#[test]
fn the_newest_protocol_has_no_handshake() {
    let ground = yard();
    let token = ground.mint_token(json!({ "actor": "ada", "kind": "agent" }));
    let ada = McpClient::new(&ground, &token, NEWEST);
    let found = ada.result("server/discover", json!({}));
    let versions = found["supportedVersions"].as_array().unwrap_or_else(|| panic!("{found}"));
    assert!(versions.contains(&json!(NEWEST)) && versions.contains(&json!(OLDER)), "{found}");
    // Without its headers the newest protocol is not used.
    let bare = McpClient { version: OLDER, ..McpClient::new(&ground, &token, OLDER) };
    let params = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": NEWEST } });
    let answer = bare.send("tools/list", params);
    assert_eq!(answer.status, 400, "{}", answer.head);
    assert_eq!(
        answer.header("content-type"),
        Some("application/json"),
        "a JSON-RPC error, as the protocol has it"
    );
}

#[test]
fn unsupported_methods_are_unknown() {
    let ground = yard();
    let token = ground.mint_token(json!({ "actor": "ada", "kind": "agent" }));
    for version in [OLDER, NEWEST] {
        let ada = McpClient::new(&ground, &token, version);
        for method in ["prompts/list", "resources/list", "resources/templates/list"] {
            let answer = ada.call_messages(method, json!({})).pop().unwrap();
            assert_eq!(answer["error"]["code"], -32601, "{method} of {version}: {answer}");
        }
    }
}

#[test]
fn every_tool_is_described_in_both() {
    let ground = yard();
    let token = ground.mint_token(json!({ "actor": "ada", "kind": "agent" }));
    for version in [OLDER, NEWEST] {
        let listed = McpClient::new(&ground, &token, version).result("tools/list", json!({}));
        let tools = listed["tools"].as_array().unwrap();
        assert_eq!(tools.iter().map(|it| it["name"].as_str().unwrap()).collect::<Vec<_>>(), TOOLS);
        for tool in tools {
            let name = &tool["name"];
            assert!(tool["description"].as_str().is_some_and(|it| it.len() > 40), "{name}");
            assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
            assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
            let reads =
                ["my_work", "inbox", "show", "list", "explain", "wait"].map(|it| json!(it)).contains(name);
            assert_eq!(tool["annotations"]["readOnlyHint"], reads, "{name}");
            assert_eq!(tool["annotations"]["openWorldHint"], false, "{name}");
        }
    }
}

#[test]
fn unknown_tools_and_prompts_are_protocol_errors() {
    let ground = yard();
    let ada = McpClient::agent(&ground, "ada");
    let unknown = ada.call_messages("tools/call", json!({ "name": "fly", "arguments": {} })).pop().unwrap();
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert!(unknown["error"]["message"].as_str().unwrap().contains("my_work"), "{unknown}");
    let unknown = ada.call_messages("prompts/get", json!({ "name": "x" })).pop().unwrap();
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
}
