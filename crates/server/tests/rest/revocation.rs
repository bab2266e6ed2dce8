//! A token that ends for any reason is refused from the next request on: the cache of tokens observes every
//! commit.

use serde_json::json;
use trackside_protocol::Client;

use crate::ground::{RestServer, why};

/// A token that the server has cached, and its id.
fn cached_client(ground: &RestServer, lifetime: Option<&str>) -> (Client, String) {
    let body = json!({ "actor": "ada", "kind": "agent", "for": ["coder-*"], "lifetime": lifetime });
    let made = ground.owner.post("/v1/tokens", &body).unwrap().body;
    let client = ground.client(made["token"].as_str().unwrap());
    client.get("/v1/whoami").unwrap();
    (client, made["details"]["id"].as_str().unwrap().to_owned())
}

fn assert_ended(client: &Client, how: &str) {
    assert_eq!(why(client.get("/v1/whoami")).0, 401, "ended by {how}");
}

#[test]
fn a_token_ends_with_the_commit_that_ends_it_by_every_path() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let fire = json!({ "event": "revoke" });
    let of = |id: &str| format!("/v1/entities/access.token/{id}");

    let (token, id) = cached_client(&ground, None);
    owner.delete(&format!("/v1/tokens/{id}")).unwrap();
    assert_ended(&token, "DELETE /v1/tokens");

    let (token, id) = cached_client(&ground, None);
    owner.post(&format!("{}/transitions", of(&id)), &fire).unwrap();
    assert_ended(&token, "a command");

    for atomic in [false, true] {
        let (token, id) = cached_client(&ground, None);
        let command = json!({ "lifecycle": "access.token", "id": id, "event": "revoke" });
        owner.post("/v1/batch", &json!({ "atomic": atomic, "commands": [command] })).unwrap();
        assert_ended(&token, if atomic { "an atomic batch" } else { "a batch" });
    }

    let (token, id) = cached_client(&ground, None);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "fire", "arguments": { "lifecycle": "access.token", "id": id, "event": "revoke" } } });
    let told = owner.post_with("/mcp", &call, &[("Accept", "application/json, text/event-stream")]).unwrap();
    assert!(told.body["result"]["isError"] != json!(true), "{:#}", told.body);
    assert_ended(&token, "MCP");

    let (token, id) = cached_client(&ground, None);
    let run = token.post("/v1/tokens", &json!({ "actor": "coder-1", "kind": "agent" })).unwrap().body;
    let run = ground.client(run["token"].as_str().unwrap());
    run.get("/v1/whoami").unwrap();
    owner.post(&format!("{}/transitions", of(&id)), &fire).unwrap();
    assert_ended(&token, "a command");
    assert_ended(&run, "a command about the token it was made with");

    let (token, _) = cached_client(&ground, Some("10s"));
    owner.post("/v1/clock/advance", &json!({ "by": "11s" })).unwrap();
    assert_ended(&token, "its timer");

    // Tokens cannot be imported, so no import can end or replace one.
    let (token, id) = cached_client(&ground, None);
    let ended =
        json!({ "lifecycle": "access.token", "id": id, "state": "REVOKED", "fields": {}, "origin": "x" });
    assert_eq!(why(owner.post("/v1/import", &json!({ "entities": [ended] }))).0, 422);
    token.get("/v1/whoami").unwrap();
}
