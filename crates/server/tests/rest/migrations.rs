//! Running entities move to another version, and back.

use serde_json::{Value as Json, json};

use crate::ground::{RestServer, refused, why};
use crate::packs::{THREE, TWO, lamps};

fn lamp(ground: &RestServer, id: &str) -> (Json, Json) {
    let told = ground.owner.get(&format!("/v1/entities/lamps.lamp/{id}")).unwrap().body;
    (told["definition"].clone(), told["state"].clone())
}

#[test]
fn entities_move_to_a_version_and_back() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    owner.put("/v1/packs/lamps", &lamps(1, &TWO.replace("ON", "LIT"))).unwrap();
    for id in ["a", "b"] {
        owner.post("/v1/entities/lamps.lamp", &json!({ "id": id })).unwrap();
    }
    owner.post("/v1/entities/lamps.lamp/b/transitions", &json!({ "to": "LIT" })).unwrap();
    owner.put("/v1/packs/lamps", &lamps(2, THREE)).unwrap();

    let plain = json!({ "lifecycle": "lamps.lamp", "to": 2 });
    let plan = owner.post("/v1/migrations?dryRun=true", &plain).unwrap().body;
    assert_eq!((&plan["moved"], &plan["stuck"], &plan["dryRun"]), (&json!(1), &json!(1), &json!(true)));
    assert_eq!(plan["cannot"][0]["id"], json!("b"));
    assert!(plan["cannot"][0]["refusal"]["detail"].is_string(), "{plan:#}");
    assert_eq!(lamp(&ground, "a"), (json!(1), json!("OFF")));

    let mapped = json!({ "lifecycle": "lamps.lamp", "to": 2, "states": { "LIT": "ON" } });
    let done = owner.post("/v1/migrations", &mapped).unwrap().body;
    assert_eq!((&done["moved"], &done["stuck"], &done["dryRun"]), (&json!(2), &json!(0), &json!(false)));
    assert_eq!(lamp(&ground, "b"), (json!(2), json!("ON")));

    let undone = json!({ "lifecycle": "lamps.lamp", "to": 2, "undo": true });
    assert_eq!(owner.post("/v1/migrations", &undone).unwrap().body["moved"], json!(2));
    assert_eq!(lamp(&ground, "b"), (json!(1), json!("LIT")));

    let unknown = json!({ "lifecycle": "lamps.lamp", "to": 7 });
    assert_eq!(why(owner.post("/v1/migrations", &unknown)), (422, "unknown-version".to_owned()));
    let problem = refused(owner.post("/v1/migrations", &json!({ "lifecycle": "lamps.lam", "to": 1 })));
    assert_eq!(problem.status, 404);
    assert!(problem.detail.contains("Did you mean lamps.lamp?"), "{problem:#?}");
    assert_eq!(why(ground.person("pia").post("/v1/migrations", &mapped)), (403, "not-permitted".to_owned()));
}
