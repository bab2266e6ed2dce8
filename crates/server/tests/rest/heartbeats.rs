//! The answers to a heartbeat.

use serde_json::{Value as Json, json};
use trackside_protocol::Client;

use crate::ground::{RestServer, each, refused};

fn beat(client: &Client, of: &str, slot: &str) -> Json {
    let asked = json!({ "slot": slot, "fence": 1 });
    client.post(&format!("/v1/entities/{of}/heartbeat"), &asked).unwrap_or_else(|it| panic!("{it:#?}")).body
}

fn fire(client: &Client, of: &str, event: &str, fields: Json) {
    let asked = json!({ "event": event, "fields": fields, "reason": "Because" });
    client.post(&format!("/v1/entities/{of}/transitions"), &asked).unwrap_or_else(|it| panic!("{it:#?}"));
}

#[test]
fn a_pause_reaches_the_lease_holder() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    owner
        .post("/v1/entities/coding.goal", &json!({ "id": "G", "fields": { "description": "Faster" } }))
        .unwrap();
    owner.post("/v1/entities/coding.sprint", &json!({ "id": "S", "fields": { "goal_ref": "G" } })).unwrap();
    let coder = ground.agent("coder-1", "coding:coder");
    coder
        .post("/v1/entities/coding.agent", &json!({ "id": "coder-1", "fields": { "role": "coder" } }))
        .unwrap();
    let planner = ground.agent("planner-1", "coding:planner");
    let fields = json!({
        "sprint_id": "S", "description": "Parse", "done_when": "it parses", "scope": "src", "spec_ref": "spec.md", "priority": 1,
    });
    planner
        .post("/v1/entities/coding.task", &json!({ "id": "T", "fields": fields }))
        .unwrap_or_else(|it| panic!("{it:#?}"));
    fire(&planner, "coding.task/T", "finalize", json!({}));
    fire(&coder, "coding.task/T", "claim", json!({}));
    assert_eq!(beat(&coder, "coding.task/T", "work").get("stop"), None);
    fire(owner, "coding.sprint/S", "pause", json!({}));
    let told = beat(&coder, "coding.task/T", "work");
    assert_eq!(told["stop"], json!({ "why": "Sprint S is paused: stop and leave the work as it is" }));
    assert!(told["expiresAt"].is_string(), "{told}");
    fire(owner, "coding.sprint/S", "resume", json!({}));
    assert_eq!(beat(&coder, "coding.task/T", "work").get("stop"), None);
    // A heartbeat without a slot also reports a lost lease.
    let unnamed =
        |client: &Client| client.post("/v1/entities/coding.task/T/heartbeat", &json!({ "fence": 1 }));
    unnamed(&coder).unwrap_or_else(|it| panic!("{it:#?}"));
    let other = ground.agent("coder-2", "coding:coder");
    let problem = refused(unnamed(&other));
    assert_eq!((problem.status, problem.code.as_str()), (409, "stale-fence"));
    assert!(problem.detail.contains("is held by coder-1"), "{problem:?}");
    owner.post("/v1/clock/advance", &json!({ "by": "3h" })).unwrap();
    assert_eq!(refused(unnamed(&coder)).code, "stale-fence");
}

#[test]
fn a_heartbeat_returns_new_messages_once() {
    let ground = RestServer::new();
    let [ada, bob] = ["ada", "bob"].map(|it| {
        let agent = ground.agent(it, "mission:specialist");
        agent.post("/v1/entities/mission.agent", &json!({ "id": it })).unwrap_or_else(|it| panic!("{it:#?}"));
        agent
    });
    let assign = |id: &str, to: &str| {
        let task = json!({ "id": id, "fields": { "title": "Write" } });
        ground.owner.post("/v1/entities/mission.task", &task).unwrap_or_else(|it| panic!("{it:#?}"));
        fire(&ground.owner, &format!("mission.task/{id}"), "assign", json!({ "assigneeIds": [to] }));
    };
    let told = |client: &Client, of: &str| {
        let body = beat(client, of, "presence");
        each(&json!({ "items": body["notices"] }), "id").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assign("T-1", "ada");
    assign("T-2", "bob");
    assert_eq!(told(&ada, "mission.agent/ada"), ["T-1"]);
    assert_eq!(told(&ada, "mission.agent/ada"), [""; 0]);
    assign("T-3", "ada");
    assign("T-4", "ada");
    assert_eq!(told(&ada, "mission.agent/ada"), ["T-3", "T-4"]);
    assert_eq!(told(&bob, "mission.agent/bob"), ["T-2"]);
}
