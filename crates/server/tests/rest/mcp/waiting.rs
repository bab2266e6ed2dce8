//! Waiting: in the call, with progress, and as a task.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::{McpClient, NEWEST, OLDER, park, yard};
use crate::ground::RestServer;

/// A request to people.
fn ask(ground: &RestServer, id: &str) {
    let fields = json!({ "justification": "to move on", "summary": "Delete it" });
    let asked = json!({ "id": id, "fields": fields });
    ground.person("pia").post("/v1/entities/mission.approval", &asked).unwrap();
}

fn decide(ground: &RestServer, id: &str, decision: &str) {
    let decided = json!({ "decision": decision, "note": "so it is" });
    ground.owner.post(&format!("/v1/approvals/{id}/decision"), &decided).unwrap();
}

/// The number of MCP requests that the server has received.
fn received(ground: &RestServer) -> f64 {
    let page = String::from_utf8(ground.owner.get_bytes("/metrics").unwrap()).unwrap();
    let counts = |line: &&str| {
        line.starts_with("trackside_http_requests_under_way")
            || (line.starts_with("trackside_http_requests_total") && line.contains("route=\"/mcp\""))
    };
    let number = |line: &str| line.rsplit(' ').next().and_then(|it| it.parse::<f64>().ok()).unwrap();
    page.lines().filter(counts).map(number).sum()
}

/// Does `work` once the server has received the request of `wait`.
fn meanwhile<T: Send>(ground: &RestServer, work: impl FnOnce() + Send, wait: impl FnOnce() -> T) -> T {
    let before = received(ground);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let late = Instant::now() + Duration::from_secs(10);
            while received(ground) <= before {
                assert!(Instant::now() < late, "the server received no request");
                std::thread::sleep(Duration::from_millis(5));
            }
            work();
        });
        wait()
    })
}

#[test]
fn a_call_waits_until_people_have_decided() {
    let ground = yard();
    ask(&ground, "A-1");
    let ada = McpClient::agent(&ground, "ada");
    let wait = json!({ "lifecycle": "mission.approval", "id": "A-1", "seconds": 60 });
    let waited = meanwhile(&ground, || decide(&ground, "A-1", "approve"), || ada.tool_result("wait", wait));
    assert_eq!(waited["happened"], true);
    assert_eq!(waited["entity"]["state"], "APPROVED");
    // An entity that has left the state already is reported at once.
    let again = ada.tool_result(
        "wait",
        json!({ "lifecycle": "mission.approval", "id": "A-1", "state": "PENDING", "seconds": 60 }),
    );
    assert_eq!(again["happened"], true);
    let typo =
        ada.tool_refusal("wait", json!({ "lifecycle": "mission.approval", "id": "A-1", "state": "PENDIN" }));
    assert!(typo["detail"].as_str().unwrap().contains("Did you mean PENDING?"), "{typo}");
}

#[test]
fn a_wait_ends_with_its_token() {
    let ground = yard();
    ask(&ground, "A-1");
    let made = ground.owner.post("/v1/tokens", &json!({ "actor": "ada", "kind": "agent" })).unwrap().body;
    let ada = McpClient::new(&ground, made["token"].as_str().unwrap(), OLDER);
    let wait = json!({ "lifecycle": "mission.approval", "id": "A-1", "seconds": 10 });
    let gone = format!("/v1/tokens/{}", made["details"]["id"].as_str().unwrap());
    let take = || {
        ground.owner.delete(&gone).unwrap();
    };
    let waited = meanwhile(&ground, take, || ada.tool_refusal("wait", wait));
    assert_eq!((&waited["status"], &waited["code"]), (&json!(401), &json!("unauthorized")));
}

#[test]
fn a_wait_that_times_out_says_so_and_reports_progress() {
    let ground = yard();
    ask(&ground, "A-1");
    for (version, id) in [(OLDER, 1), (NEWEST, 2)] {
        let token = ground.mint_token(json!({ "actor": "ada", "kind": "agent" }));
        let ada = McpClient::new(&ground, &token, version);
        let arguments = json!({ "lifecycle": "mission.approval", "id": "A-1", "seconds": 1 });
        let params = json!({ "name": "wait", "arguments": arguments, "_meta": { "progressToken": id } });
        let heard = ada.call_messages("tools/call", params);
        assert_eq!(heard[0]["method"], "notifications/progress", "{heard:?}");
        assert_eq!(heard[0]["params"]["progressToken"], id);
        assert_eq!(heard[0]["params"]["message"], "Still waiting: mission.approval/A-1 is PENDING");
        let waited = &heard.last().unwrap()["result"]["structuredContent"];
        assert_eq!((&waited["happened"], &waited["entity"]["state"]), (&json!(false), &json!("PENDING")));
    }
}

#[test]
fn a_wait_for_work_ends_when_there_is_some() {
    let ground = yard();
    let ada = McpClient::agent(&ground, "ada");
    let wait = json!({ "lifecycle": "yard.wagon", "seconds": 60 });
    let waited = meanwhile(&ground, || park(&ground, "W-1"), || ada.tool_result("wait", wait.clone()));
    assert_eq!((&waited["happened"], &waited["claimable"][0]["id"]), (&json!(true), &json!("W-1")));
    assert_eq!(ada.tool_result("wait", wait)["happened"], true, "and at once where there is");
    let nothing = ada.tool_refusal("wait", json!({ "lifecycle": "mission.approval" }));
    assert_eq!(nothing["code"], "nothing-claimable");
    assert_eq!(ada.tool_refusal("wait", json!({ "lifecycle": "yard.wagons" }))["status"], 404);
    assert_eq!(
        ada.tool_refusal("wait", json!({ "lifecycle": "yard.wagon", "state": "PARKED" }))["status"],
        400
    );
}

/// A client that knows tasks.
fn modern<'a>(ground: &'a RestServer, id: &str) -> McpClient<'a> {
    let token = ground.mint_token(json!({ "actor": id, "kind": "agent" }));
    let capabilities = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    McpClient { capabilities, ..McpClient::new(ground, &token, NEWEST) }
}

fn task(speaker: &McpClient<'_>, id: &str) -> Json {
    speaker.result("tasks/get", json!({ "taskId": id }))
}

#[test]
fn a_client_that_knows_tasks_gets_one_that_outlives_the_server() {
    let ground = yard();
    ask(&ground, "A-1");
    let wait = json!({ "lifecycle": "mission.approval", "id": "A-1" });
    let begun = modern(&ground, "ada").call("wait", wait.clone());
    assert_eq!((&begun["resultType"], &begun["status"]), (&json!("task"), &json!("working")), "{begun}");
    assert_eq!(begun["ttlMs"], 3_600_000);
    let id = begun["taskId"].as_str().unwrap().to_owned();
    assert_eq!(task(&modern(&ground, "ada"), &id)["status"], "working");
    let ground = ground.restart();
    let ada = modern(&ground, "ada");
    assert_eq!(task(&ada, &id)["status"], "working");
    decide(&ground, "A-1", "deny");
    let done = task(&ada, &id);
    assert_eq!(done["status"], "completed", "{done}");
    let waited = &done["result"]["structuredContent"];
    assert_eq!((&waited["happened"], &waited["entity"]["state"]), (&json!(true), &json!("DENIED")));
    assert_eq!(done["result"]["isError"], false);
    // There is nothing left to wait for, so no task is created.
    let mut at_once = wait;
    at_once["state"] = json!("PENDING");
    assert_eq!(ada.tool_result("wait", at_once)["happened"], true);
}

#[test]
fn a_task_expires_and_only_its_owner_may_cancel_it() {
    let ground = yard();
    ask(&ground, "A-1");
    let (ada, eve) = (modern(&ground, "ada"), modern(&ground, "eve"));
    let wait = json!({ "lifecycle": "mission.approval", "id": "A-1", "seconds": 60 });
    let id = ada.call("wait", wait)["taskId"].as_str().unwrap().to_owned();
    eve.result("tasks/cancel", json!({ "taskId": id }));
    assert_eq!(task(&ada, &id)["status"], "working", "another actor cannot cancel it");
    ground.owner.post("/v1/clock/advance", &json!({ "by": "61s" })).unwrap();
    let ended = task(&ada, &id);
    assert_eq!(
        (&ended["status"], &ended["result"]["structuredContent"]["happened"]),
        (&json!("completed"), &json!(false))
    );
    let wait = json!({ "lifecycle": "mission.approval", "id": "A-1", "seconds": 600 });
    let id = ada.call("wait", wait)["taskId"].as_str().unwrap().to_owned();
    ada.result("tasks/cancel", json!({ "taskId": id }));
    assert_eq!(task(&ada, &id)["status"], "cancelled");
    for strange in ["x", "wait~mission.approval~A-1", "wait~a~b~c~1~2~99999999999999"] {
        let told = ada.call_messages("tasks/get", json!({ "taskId": strange })).pop().unwrap();
        assert_eq!(told["error"]["code"], -32602, "{told}");
    }
    // A caller that may not see the entity learns nothing from another actor's task.
    let chest = json!({ "id": "C-1", "fields": { "holder": "ada", "secret": "the-combination" } });
    ground.owner.post("/v1/entities/yard.chest", &chest).unwrap();
    let id = ada.call("wait", json!({ "lifecycle": "yard.chest", "id": "C-1" }))["taskId"]
        .as_str()
        .unwrap()
        .to_owned();
    let told = task(&eve, &id);
    assert_eq!(told["result"]["structuredContent"]["status"], 404, "{told}");
    assert!(!told.to_string().contains("the-combination"));
    // A client without support for tasks cannot request them.
    let token = ground.mint_token(json!({ "actor": "ada", "kind": "agent" }));
    let told = McpClient::new(&ground, &token, NEWEST)
        .call_messages("tasks/get", json!({ "taskId": id }))
        .pop()
        .unwrap();
    assert!(told["error"]["code"].is_number(), "{told}");
}
