//! Settings with their origin.

use serde_json::{Value as Json, json};
use trackside_protocol::Client;

use crate::ground::{RestServer, refused, why};

fn setting(client: &Client, name: &str) -> Json {
    let told = client.get("/v1/settings/mission").unwrap().body;
    told["items"].as_array().unwrap().iter().find(|it| it["name"] == name).cloned().unwrap_or_default()
}

#[test]
fn a_setting_shows_its_origin_and_null_resets_it() {
    let ground = RestServer::new();
    let (owner, person) = (&ground.owner, ground.person("pia"));
    let before = setting(&person, "redApprovers");
    assert_eq!((&before["origin"], &before["type"]), (&json!("default"), &json!("integer")));
    assert_eq!(before["value"], before["default"]);

    let changed = owner.put("/v1/settings/mission", &json!({ "redApprovers": 3, "approvalLifetime": "2h" }));
    assert_eq!(changed.unwrap().status, 200);
    let after = setting(&person, "redApprovers");
    assert_eq!((&after["origin"], &after["value"]), (&json!("project"), &json!(3)));
    assert_eq!(after["default"], before["default"]);
    assert_eq!(setting(&person, "approvalLifetime")["value"], json!("2h"));

    let ground = ground.restart();
    let owner = &ground.owner;
    assert_eq!(setting(owner, "redApprovers")["value"], json!(3));
    owner.put("/v1/settings/mission", &json!({ "redApprovers": null })).unwrap();
    assert_eq!(setting(owner, "redApprovers"), before);
    let journal = owner.get("/v1/journal?limit=200").unwrap().body;
    let told = journal["items"].as_array().unwrap().iter();
    let told: Vec<&Json> =
        told.filter(|it| it["event"] == "PROJECT_CHANGED" && it["actor"] == "owner").collect();
    assert_eq!(told.len(), 2, "{journal:#}");
}

#[test]
fn an_invalid_change_is_refused_as_a_whole() {
    let ground = RestServer::new();
    let (owner, person) = (&ground.owner, ground.person("pia"));
    let wrong = json!({ "redApprovers": "many", "redAprovers": 2, "approvalLifetime": "1h" });
    assert_eq!(refused(owner.put("/v1/settings/mission", &Json::Null)).status, 400);
    let problem = refused(owner.put("/v1/settings/mission", &wrong));
    assert_eq!((problem.status, problem.code.as_str()), (422, "invalid-setting"));
    assert_eq!(problem.errors.len(), 2, "{problem:#?}");
    assert!(
        problem.errors.iter().any(|it| it.message.contains("Did you mean redApprovers?")),
        "{problem:#?}"
    );
    assert_eq!(setting(owner, "approvalLifetime")["origin"], json!("default"));

    assert_eq!(why(owner.put("/v1/settings/misson", &json!({}))), (404, "unknown-pack".to_owned()));
    assert_eq!(why(owner.get("/v1/settings/misson")), (404, "unknown-pack".to_owned()));
    let change = json!({ "redApprovers": 1 });
    assert_eq!(why(person.put("/v1/settings/mission", &change)), (403, "not-permitted".to_owned()));
}

#[test]
fn the_project_has_one_time_zone() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    assert_eq!(owner.get("/v1/settings").unwrap().body["zone"], json!(""));
    let told = owner.put("/v1/settings", &json!({ "zone": "Europe/Berlin" })).unwrap().body;
    assert_eq!(told["zone"], json!("Europe/Berlin"));
    assert_eq!(told["packs"].as_array().unwrap().len(), 4);
    assert_eq!(
        why(owner.put("/v1/settings", &json!({ "zone": "Berlin" }))),
        (422, "invalid-setting".to_owned())
    );
    let person = ground.person("pia");
    assert_eq!(why(person.put("/v1/settings", &json!({ "zone": "" }))), (403, "not-permitted".to_owned()));
    assert_eq!(person.get("/v1/settings").unwrap().body["zone"], json!("Europe/Berlin"));
}
