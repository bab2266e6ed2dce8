//! An empty queue and a caller who may claim nothing have different answers.

use serde_json::json;

use super::{McpClient, NEWEST};
use crate::ground::{RestServer, refused};

#[test]
fn a_caller_that_may_claim_nothing_gets_a_refusal_and_not_an_empty_queue() {
    let ground = RestServer::new();
    let token =
        ground.mint_token(json!({ "actor": "sam", "kind": "agent", "roles": ["mission:specialist"] }));
    let (owner, sam) = (&ground.owner, ground.client(&token));
    let claim = || sam.post("/v1/entities/mission.task/claim", &json!({}));
    sam.post("/v1/entities/mission.agent", &json!({ "id": "sam", "fields": { "role": "specialist" } }))
        .unwrap();
    assert_eq!(claim().unwrap().status, 204, "there is none");
    let told = |event: &str| {
        let asked = json!({ "event": event, "reason": "Too fast" });
        owner
            .post("/v1/entities/mission.agent/sam/transitions", &asked)
            .unwrap_or_else(|it| panic!("{it:#?}"));
    };
    told("pause");
    let none = refused(claim());
    assert_eq!((none.status, none.code.as_str()), (403, "gate-closed"), "though there is none");
    owner
        .post("/v1/entities/mission.task", &json!({ "id": "T-1", "fields": { "title": "Write the page" } }))
        .unwrap();
    let claimed = refused(claim());
    let fired = refused(sam.post("/v1/entities/mission.task/T-1/transitions", &json!({ "event": "claim" })));
    assert_eq!((&claimed.errors, &claimed.detail, &claimed.who), (&fired.errors, &fired.detail, &fired.who));
    assert!(claimed.detail.contains("Your agent record is PAUSED"), "{claimed:?}");
    let by_mcp =
        McpClient::new(&ground, &token, NEWEST).call("claim", json!({ "lifecycle": "mission.task" }));
    assert_eq!(by_mcp["isError"], true);
    assert_eq!(by_mcp["structuredContent"], serde_json::to_value(&claimed).unwrap(), "the same words");
    told("quarantine");
    assert!(refused(claim()).detail.contains("QUARANTINED"));
    told("resume");
    assert_eq!(claim().unwrap().body["entity"]["id"], "T-1");
    assert_eq!(claim().unwrap().status, 204, "there is none any more");
    // A caller whom no rule admits learns that on every route.
    let token = ground.mint_token(json!({ "actor": "ina", "kind": "agent", "roles": ["mission:intern"] }));
    let over_http = refused(ground.client(&token).post("/v1/entities/mission.task/claim", &json!({})));
    assert_eq!((over_http.status, over_http.code.as_str()), (403, "not-permitted"));
    let by_mcp =
        McpClient::new(&ground, &token, NEWEST).call("claim", json!({ "lifecycle": "mission.task" }));
    assert_eq!(by_mcp["structuredContent"], serde_json::to_value(&over_http).unwrap());
}
