//! Imports of entities from elsewhere.

use serde_json::{Value as Json, json};

use crate::ground::{RestServer, why};

fn task(id: &str, state: &str, fields: &Json) -> Json {
    json!({ "lifecycle": "mission.task", "id": id, "state": state, "fields": fields, "origin": format!("old {id}") })
}

fn problems(answer: Result<trackside_protocol::HttpReply, trackside_protocol::ClientError>) -> Vec<String> {
    match answer {
        Err(trackside_protocol::ClientError::Refused(problem)) => {
            assert_eq!((problem.status, problem.code.as_str()), (422, "cannot-import"), "{problem:#?}");
            problem.errors.iter().filter_map(|it| it.field.clone()).collect()
        }
        other => panic!("{other:#?}"),
    }
}

#[test]
fn entities_are_imported_once_and_the_journal_records_their_origin() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let body = json!({ "file": "old.jsonl", "entities": [
        task("T-1", "CANCELED", &json!({ "title": "Find the way" })),
        task("T-2", "INBOX", &json!({ "title": "Go it", "priority": 1 })),
    ] });
    let tried = owner.post("/v1/import?dryRun=true", &body).unwrap().body;
    assert_eq!(tried, json!({ "imported": 2, "already": [], "dryRun": true }));
    assert_eq!(why(owner.get("/v1/entities/mission.task/T-1")), (404, "unknown-entity".to_owned()));
    let told = owner.post("/v1/import", &body).unwrap().body;
    assert_eq!(told, json!({ "imported": 2, "already": [], "dryRun": false }));
    let entity = owner.get("/v1/entities/mission.task/T-1").unwrap().body;
    assert_eq!((&entity["state"], &entity["final"]), (&json!("CANCELED"), &json!(true)), "{entity:#}");
    let history = owner.get("/v1/entities/mission.task/T-1/history").unwrap().body;
    let first = &history["items"][0];
    assert_eq!((&first["event"], &first["trigger"]), (&json!("STATE_CORRECTED"), &json!("import")));
    assert_eq!(first["reason"], json!("imported from old T-1 in old.jsonl"), "{first:#}");
    assert_eq!(first["actorKind"], json!("human"));

    // Later changes stay, and only new entities are imported.
    owner
        .post("/v1/entities/mission.task/T-2/transitions", &json!({ "event": "cancel", "reason": "no" }))
        .unwrap();
    let mut more = body.clone();
    more["file"] = json!("renamed.jsonl");
    more["entities"].as_array_mut().unwrap().push(task("T-3", "INBOX", &json!({ "title": "Rest" })));
    let told = owner.post("/v1/import", &more).unwrap().body;
    assert_eq!(
        told,
        json!({ "imported": 1, "already": ["mission.task/T-1", "mission.task/T-2"], "dryRun": false })
    );
    assert_eq!(owner.get("/v1/entities/mission.task/T-2").unwrap().body["state"], json!("CANCELED"));
    assert_eq!(owner.get("/v1/audit/verify").unwrap().body["intact"], json!(true));
}

#[test]
fn every_problem_is_reported_with_its_place_and_nothing_is_imported() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    owner.post("/v1/entities/mission.task", &json!({ "id": "T-1", "fields": { "title": "Mine" } })).unwrap();
    let mut stranger = task("T-1", "INBOX", &json!({ "title": "Not yours" }));
    stranger["origin"] = json!("elsewhere 1");
    let token = json!({ "lifecycle": "access.token", "id": "x", "origin": "elsewhere" });
    let body = json!({ "entities": [
        task("T-5", "INBOX", &json!({ "title": "Fine" })),
        stranger,
        task("T-6", "NOWHERE", &json!({ "titel": "x", "priority": 9 })),
    ] });
    for path in ["/v1/import", "/v1/import?dryRun=true"] {
        let told = problems(owner.post(path, &body));
        let expected =
            ["entities.1.id", "entities.2.state", "entities.2.fields.priority", "entities.2.fields.titel"];
        assert_eq!(told, expected);
    }
    let unrecorded = json!({ "entities": [task("T-5", "DONE", &json!({ "title": "Fine" }))] });
    assert_eq!(problems(owner.post("/v1/import", &unrecorded)), ["entities.0"], "a rule of the lifecycle");
    assert_eq!(why(owner.get("/v1/entities/mission.task/T-5")), (404, "unknown-entity".to_owned()));
    let told = problems(owner.post("/v1/import", &json!({ "entities": [token] })));
    assert_eq!(told, ["entities.0.lifecycle"]);
    let many: Vec<Json> = (0..1_001).map(|it| task(&format!("X-{it}"), "INBOX", &json!({}))).collect();
    assert_eq!(why(owner.post("/v1/import", &json!({ "entities": many }))), (400, "invalid-body".to_owned()));
    // More than an ordinary body may have.
    let long = json!({ "entities": [task("T-7", "INBOX", &json!({ "title": "x", "description": "x".repeat(2 << 20) }))] });
    assert_eq!(owner.post("/v1/import", &long).unwrap().body["imported"], json!(1));
    let longer = json!({ "entities": [task("T-8", "INBOX", &json!({ "title": "x".repeat(17 << 20) }))] });
    assert_eq!(why(owner.post("/v1/import", &longer)), (413, "too-large".to_owned()));
}

#[test]
fn a_definition_lists_its_fields() {
    let ground = RestServer::new();
    let told = ground.owner.get("/v1/lifecycles/mission.task").unwrap().body;
    let field = |name: &str| {
        told["fields"].as_array().unwrap().iter().find(|it| it["name"] == name).cloned().unwrap_or_default()
    };
    assert_eq!((&field("title")["type"], &field("title")["by"]), (&json!("string"), &json!("caller")));
    assert_eq!((&field("priority")["type"], &field("priority")["maximum"]), (&json!("integer"), &json!(4.0)));
    assert_eq!(field("assigneeIds")["items"]["type"], json!("string"));
    assert_eq!(field("extraBudget")["by"], json!("engine"));
}
