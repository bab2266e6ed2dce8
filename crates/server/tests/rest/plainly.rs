//! Cases that a server could ignore silently are reported.

use serde_json::json;

use crate::ground::{RestServer, refused};

#[test]
fn the_clock_does_not_go_back() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    owner.post("/v1/clock/advance", &json!({ "by": "1h" })).unwrap();
    let back = refused(owner.post("/v1/clock/advance", &json!({ "to": "2026-01-01T00:30:00Z" })));
    assert_eq!((back.status, back.code.as_str()), (422, "in-the-past"));
    assert!(back.detail.contains("The clock is at 2026-01-01T01:00:00Z"), "{}", back.detail);
    let here = owner.post("/v1/clock/advance", &json!({ "to": "2026-01-01T01:00:00Z" })).unwrap().body;
    assert_eq!(here["now"], "2026-01-01T01:00:00Z", "where it is, it may stay");
}

#[test]
fn a_failed_condition_names_the_values_it_read() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    for (id, priority) in [("T-1", 3), ("T-2", 1)] {
        let fields = json!({ "title": "x", "priority": priority });
        owner.post("/v1/entities/mission.task", &json!({ "id": id, "fields": fields })).unwrap();
    }
    let list = |condition: &str| {
        let condition: String = condition.bytes().map(|it| format!("%{it:02X}")).collect();
        owner.get(&format!("/v1/entities/mission.task?where={condition}"))
    };
    let problem = refused(list("10 / (priority - 3) < 0"));
    assert_eq!((problem.status, problem.code.as_str()), (422, "invalid-where"));
    assert!(problem.detail.contains("could not be answered for mission.task/T-1"), "{}", problem.detail);
    let found = list("priority != 3 && 10 / (priority - 3) < 0").unwrap().body;
    assert_eq!(found["items"][0]["id"], "T-2");
    assert_eq!(list("budget > 1.0").unwrap().body["items"], json!([]), "an unset value is no failure");
}

#[test]
fn a_misspelled_target_gets_a_suggestion_and_a_decided_approval_has_no_timers() {
    let ground = RestServer::new();
    let (owner, pia) = (&ground.owner, ground.person("pia"));
    owner.post("/v1/entities/mission.task", &json!({ "id": "T-1", "fields": { "title": "x" } })).unwrap();
    let escalate = json!({ "event": "escalate", "fields": { "justification": "costly" } });
    owner.post("/v1/entities/mission.task/T-1/transitions", &escalate).unwrap();
    let shown = || owner.get("/v1/entities/mission.approval/T-1.A1").unwrap().body;
    assert_eq!(shown()["timers"][0]["name"], "expiry");
    let decide = |to: &str| {
        let body = json!({ "decision": "approve", "note": "go", "to": to });
        pia.post("/v1/approvals/T-1.A1/decision", &body)
    };
    let problem = refused(decide("INBOKS"));
    assert!(problem.detail.contains("did you mean INBOX?"), "{}", problem.detail);
    decide("INBOX").unwrap_or_else(|it| panic!("{it:#?}"));
    assert_eq!((&shown()["final"], &shown()["timers"]), (&json!(true), &json!([])));
    let listed = owner.get("/v1/entities/mission.approval").unwrap().body;
    assert_eq!(listed["items"][0]["timers"], json!([]));
}

#[test]
fn an_explanation_names_the_moves_that_need_a_field() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let task = json!({ "id": "T-1", "fields": { "title": "x" } });
    owner.post("/v1/entities/mission.task", &task).unwrap();
    let assign = json!({ "event": "assign", "fields": { "assigneeIds": ["ada"] } });
    owner.post("/v1/entities/mission.task/T-1/transitions", &assign).unwrap();
    let said = owner.get("/v1/entities/mission.task/T-1/explain").unwrap().body;
    let summary = said["summary"].as_str().unwrap();
    assert!(summary.contains("You could move it by sending more: start with workPlan; "), "{summary}");
    assert!(!summary.contains("Nothing that you could ask for"), "{summary}");
}
