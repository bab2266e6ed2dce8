//! The tools: their results, and their errors.

use serde_json::{Value as Json, json};

use super::{McpClient, NEWEST, OLDER, park, yard};
use crate::ground::{RestServer, refused};

fn names(all: &Json) -> Vec<&str> {
    all.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect()
}

fn plan() -> Json {
    json!({ "bullets": ["read", "write", "check"], "estimatedCost": 0.5, "estimatedDuration": "2h" })
}

/// Creates a task and assigns it.
fn assign_task(ground: &RestServer, id: &str, to: &str) {
    let owner = &ground.owner;
    owner.post("/v1/entities/mission.task", &json!({ "id": id, "fields": { "title": "Write it" } })).unwrap();
    let asked = json!({ "event": "assign", "fields": { "assigneeIds": [to] } });
    owner.post(&format!("/v1/entities/mission.task/{id}/transitions"), &asked).unwrap();
}

#[test]
fn a_refusal_equals_that_over_http_and_names_the_fix() {
    let ground = yard();
    let token =
        ground.mint_token(json!({ "actor": "ada", "kind": "agent", "roles": ["mission:specialist"] }));
    for (version, id) in [(OLDER, "T-1"), (NEWEST, "T-2")] {
        assign_task(&ground, id, "ada");
        let ada = McpClient::new(&ground, &token, version);
        let asked = json!({ "lifecycle": "mission.task", "id": id, "to": "IN_PROGRESS" });
        let result = ada.call("fire", asked.clone());
        assert_eq!(result["isError"], true);
        let why = &result["structuredContent"];
        let path = format!("/v1/entities/mission.task/{id}/transitions");
        let over_http = refused(ground.client(&token).post(&path, &json!({ "to": "IN_PROGRESS" })));
        assert_eq!(*why, serde_json::to_value(&over_http).unwrap(), "the same words");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("Refused (requirement-missing)"), "{text}");
        assert!(text.contains("You can move it to: "), "{text}");
        // The refusal names the field that is missing: with it, the same call is done.
        let missing = why["errors"][0]["field"].as_str().unwrap();
        let mut asked = asked;
        asked["fields"] = json!({ missing: plan() });
        let done = ada.tool_result("fire", asked);
        assert_eq!(done["entity"]["state"], "IN_PROGRESS", "{done}");
        assert_eq!(done["transition"]["actor"], "ada");
    }
}

#[test]
fn my_work_lists_own_claimable_and_waiting_work() {
    let ground = yard();
    let (ada, mia) = (McpClient::agent(&ground, "ada"), McpClient::agent(&ground, "mia"));
    let nothing = ada.tool_result("my_work", json!({ "lifecycle": "yard.wagon" }));
    assert_eq!((names(&nothing["yours"]), names(&nothing["claimable"])), (vec![], vec![]));
    park(&ground, "W-1");
    park(&ground, "W-2");
    let work = ada.tool_result("my_work", json!({ "lifecycle": "yard.wagon" }));
    assert_eq!(work["you"]["actor"], "ada");
    assert_eq!(names(&work["claimable"]), ["W-1"], "{work}");
    assert_eq!(names(&work["open"]), ["W-1", "W-2"]);
    assert_eq!(names(&work["yours"]), Vec::<&str>::new());
    // Listing takes nothing.
    let claimed = ada.tool_result("claim", json!({ "lifecycle": "yard.wagon" }));
    assert_eq!(claimed["entity"]["id"], "W-1");
    let work = ada.tool_result("my_work", json!({}));
    assert_eq!(names(&work["yours"]), ["W-1"]);
    let mine = &work["yours"][0];
    assert_eq!((&mine["as"], &mine["allowedTransitions"]), (&json!(["fitter"]), &json!(["CHECKING"])));
    assert_eq!(mine["leases"][0]["holder"], "ada");
    assert_eq!(mine["fields"]["load"], "coal");
    assert_eq!(names(&work["claimable"]), ["W-2"]);
    // The checker is named by a relation, and the work waits for that person.
    let work = mia.tool_result("my_work", json!({ "lifecycle": "yard.wagon" }));
    assert_eq!(names(&work["yours"]).len(), 2);
    assert_eq!(work["yours"][0]["as"], json!(["checker"]));
    let first =
        |work: &Json| (work["yours"][0]["id"].clone(), work["yours"][0]["allowedTransitions"].clone());
    ada.tool_result("fire", json!({ "lifecycle": "yard.wagon", "id": "W-1", "event": "done" }));
    let work = mia.tool_result("my_work", json!({ "lifecycle": "yard.wagon" }));
    assert!(
        work["yours"].as_array().unwrap().iter().any(|it| it["allowedTransitions"] == json!(["GONE"])),
        "{:?}",
        first(&work)
    );
    let typo = ada.tool_refusal("my_work", json!({ "lifecycle": "yard.wagons" }));
    assert_eq!((&typo["status"], &typo["code"]), (&json!(404), &json!("unknown-lifecycle")));
    assert!(typo["detail"].as_str().unwrap().contains("yard.wagon"), "{typo}");
}

#[test]
fn my_work_lists_decisions_for_people() {
    let ground = yard();
    let owner = &ground.owner;
    let arguments = json!({ "command": "fly destroy", "where": ["here"] });
    let long = "x".repeat(9_000);
    let asked = json!({ "id": "A-1", "fields": {
        "justification": "to move on", "summary": "Delete it", "action": "shell",
        "payload": { "arguments": arguments }, "rollbackPlan": long,
    } });
    ground.person("pia").post("/v1/entities/mission.approval", &asked).unwrap();
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let work = McpClient::new(&ground, token.trim(), NEWEST).tool_result("my_work", json!({}));
    assert_eq!(names(&work["decisions"]), ["A-1"], "{work}");
    // The deciding person sees the full arguments.
    assert_eq!(work["decisions"][0]["fields"]["payload"]["arguments"], arguments, "{work}");
    assert_eq!(work["decisions"][0]["leftOut"], json!(["rollbackPlan"]), "{work}");
    assert_eq!(
        names(&McpClient::agent(&ground, "ada").tool_result("my_work", json!({}))["decisions"]),
        Vec::<&str>::new()
    );
    owner.post("/v1/approvals/A-1/decision", &json!({ "decision": "approve", "note": "go" })).unwrap();
}

#[test]
fn work_is_claimed_kept_and_finished_under_its_lease() {
    let ground = yard();
    let (ada, bob) = (McpClient::agent(&ground, "ada"), McpClient::agent(&ground, "bob"));
    let none = ada.tool_result("claim", json!({ "lifecycle": "yard.wagon" }));
    assert_eq!(none["claimed"], false);
    park(&ground, "W-1");
    let key = json!({ "lifecycle": "yard.wagon", "idempotencyKey": "once" });
    let claimed = ada.tool_result("claim", key.clone());
    assert_eq!(claimed["claimed"], true);
    assert_eq!(ada.tool_result("claim", key)["entity"]["id"], "W-1", "the same key counts once");
    assert_eq!(bob.tool_result("claim", json!({ "lifecycle": "yard.wagon" }))["claimed"], false);
    let fence = claimed["entity"]["leases"][0]["fence"].as_u64().unwrap();
    let beat = json!({ "lifecycle": "yard.wagon", "id": "W-1", "fence": fence });
    assert!(ada.tool_result("heartbeat", beat.clone())["expiresAt"].is_string());
    assert_eq!(bob.tool_refusal("heartbeat", beat)["status"], 409);
    let late = json!({ "lifecycle": "yard.wagon", "id": "W-1", "event": "done", "fence": fence + 1 });
    assert_eq!(ada.tool_refusal("fire", late)["code"], "stale-fence");
    let asked =
        json!({ "lifecycle": "yard.wagon", "id": "W-1", "event": "done", "fence": fence, "dryRun": true });
    assert_eq!(ada.tool_result("fire", asked.clone())["dryRun"], true);
    let shown = ada.tool_result("show", json!({ "lifecycle": "yard.wagon", "id": "W-1" }));
    assert_eq!(shown["state"], "FIXING", "a dry run changes nothing");
    let mut asked = asked;
    asked["dryRun"] = json!(false);
    asked["ifVersion"] = json!(1);
    assert_eq!(ada.tool_refusal("fire", asked.clone())["code"], "version-mismatch");
    asked["ifVersion"] = shown["version"].clone();
    assert_eq!(ada.tool_result("fire", asked)["entity"]["state"], "CHECKING");
}

#[test]
fn a_report_moves_nothing_and_lists_the_possible_ones() {
    let ground = yard();
    park(&ground, "W-1");
    let ada = McpClient::agent(&ground, "ada");
    let on = |more: Json| {
        let mut asked = json!({ "lifecycle": "yard.wagon", "id": "W-1" });
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        asked
    };
    let which = ada.tool_refusal("report", on(json!({})));
    assert_eq!(which["code"], "report-missing");
    assert!(which["detail"].as_str().unwrap().ends_with("now: note"), "{which}");
    let moves = ada.tool_refusal("report", on(json!({ "event": "fix" })));
    assert_eq!(moves["code"], "moves");
    let typo = ada.tool_refusal("report", on(json!({ "event": "not" })));
    assert!(typo["detail"].as_str().unwrap().contains("Did you mean note?"), "{typo}");
    assert_eq!(ada.tool_refusal("report", on(json!({ "event": "note" })))["errors"][0]["field"], "text");
    let done = ada.tool_result("report", on(json!({ "event": "note", "fields": { "text": "rusty" } })));
    assert_eq!(done["entity"]["state"], "PARKED");
    let told = ground.owner.get("/v1/entities/yard.wagon/W-1/messages").unwrap().body;
    assert_eq!((&told["items"][0]["text"], &told["items"][0]["from"]), (&json!("rusty"), &json!("ada")));
}

#[test]
fn things_are_created_listed_and_explained() {
    let ground = yard();
    let ada = McpClient::agent(&ground, "ada");
    let without = ada.tool_refusal("create", json!({ "lifecycle": "yard.wagon", "fields": {} }));
    assert_eq!(without["errors"][0]["field"], "load");
    let made = ada.tool_result(
        "create",
        json!({ "lifecycle": "yard.wagon", "id": "W-1", "fields": { "load": "salt" } }),
    );
    assert_eq!(made["transition"]["actor"], "ada");
    ada.tool_result("create", json!({ "lifecycle": "yard.wagon", "fields": { "load": "coal" } }));
    let listed = ada.tool_result(
        "list",
        json!({ "lifecycle": "yard.wagon", "where": "load == \"salt\"", "state": "PARKED" }),
    );
    assert_eq!(names(&listed["items"]), ["W-1"]);
    let page = ada.tool_result("list", json!({ "lifecycle": "yard.wagon", "limit": 1 }));
    assert!(page["nextCursor"].is_string(), "{page}");
    assert_eq!(
        ada.tool_refusal("list", json!({ "lifecycle": "yard.wagon", "where": "load ==" }))["status"],
        422
    );
    let told = ada.tool_result("explain", json!({ "lifecycle": "yard.wagon", "id": "W-1", "full": true }));
    assert!(told["summary"].as_str().unwrap().contains("yard.wagon/W-1 is PARKED"), "{told}");
    assert!(told["ready"].as_array().unwrap().contains(&json!("fix")), "{told}");
    // An invalid shape is reported to the model, which can correct it.
    for arguments in [
        json!({ "lifecycle": "yard.wagon" }),
        json!({ "lifecycle": "yard.wagon", "id": 7 }),
        json!({ "lifecycle": "a", "id": "b", "as": "eve" }),
    ] {
        let wrong = ada.tool_refusal("show", arguments);
        assert_eq!((&wrong["status"], &wrong["code"]), (&json!(400), &json!("invalid-arguments")));
    }
}
