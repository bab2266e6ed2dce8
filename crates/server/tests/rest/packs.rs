//! Packs are installed while the server runs.

use serde_json::{Value as Json, json};

use crate::ground::{RestServer, each, refused, why};

/// A pack with one lifecycle, at a version.
pub(crate) fn lamps(version: u32, states: &str) -> Json {
    let pack = format!("pack: lamps\nversion: {version}\nabout: Lamps.\nroles: {{ janitor: {{}} }}\n");
    let lamp = format!(
        "lifecycle: lamps.lamp\nabout: A lamp.\nfields: {{ note: {{ type: string }} }}\ncreate: {{ by: human, takes: [note] }}\n{states}"
    );
    json!({ "files": { "pack.yaml": pack, "lifecycles/lamp.yaml": lamp } })
}

pub(crate) const TWO: &str = "\
states: { OFF: { initial: true }, ON: {} }
transitions:
  switch_on:  { from: OFF, to: ON, by: human }
  switch_off: { from: ON, to: OFF, by: human }
";

pub(crate) const THREE: &str = "\
states: { OFF: { initial: true }, DIM: {}, ON: {} }
transitions:
  dim:        { from: OFF, to: DIM, by: human }
  switch_on:  { from: DIM, to: ON, by: human }
  switch_off: { from: [DIM, ON], to: OFF, by: human }
";

#[test]
fn a_pack_is_installed_beside_the_one_that_runs() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let made = owner.put("/v1/packs/lamps", &lamps(1, TWO)).unwrap().body;
    assert_eq!(
        made,
        json!({ "pack": "lamps", "version": 1, "lifecycles": ["lamps.lamp"], "installed": true })
    );
    owner.post("/v1/entities/lamps.lamp", &json!({ "id": "hall" })).unwrap();

    let again = owner.put("/v1/packs/lamps", &lamps(1, TWO)).unwrap().body;
    assert_eq!((again["installed"].as_bool(), again["version"].as_u64()), (Some(false), Some(1)));
    assert_eq!(why(owner.put("/v1/packs/lamps", &lamps(1, THREE))), (409, "version-in-use".to_owned()));

    owner.put("/v1/packs/lamps", &lamps(2, THREE)).unwrap();
    owner.post("/v1/entities/lamps.lamp", &json!({ "id": "attic" })).unwrap();
    let to_on = json!({ "to": "ON" });
    owner.post("/v1/entities/lamps.lamp/hall/transitions", &to_on).unwrap();
    assert_eq!(refused(owner.post("/v1/entities/lamps.lamp/attic/transitions", &to_on)).status, 422);
    assert_eq!(why(owner.put("/v1/packs/lamps", &lamps(1, THREE))), (409, "version-in-use".to_owned()));

    let ground = ground.restart();
    let listed = ground.owner.get("/v1/packs").unwrap().body;
    assert_eq!(each(&listed, "pack"), ["access", "coding", "fleet", "lamps", "mission"]);
    let lamps = &listed["items"][3];
    assert_eq!((&lamps["version"], &lamps["roles"]), (&json!(2), &json!(["janitor"])));
    assert_eq!(lamps["lifecycles"], json!(["lamps.lamp"]));
}

#[test]
fn a_pack_with_errors_is_refused_with_all_of_them_and_their_places() {
    let ground = RestServer::new();
    let broken = "\
states: { OFF: { initial: true }, ON: {} }
transitions:
  switch_on:  { from: OFF, to: ONN, by: human }
  switch_off: { from: OM, to: OFF, by: human }
";
    let problem = refused(ground.owner.put("/v1/packs/lamps", &lamps(1, broken)));
    assert_eq!((problem.status, problem.code.as_str()), (422, "invalid-pack"));
    let said: Vec<&str> = problem.errors.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(said.len(), 2, "{said:#?}");
    assert!(said[0].starts_with("lifecycles/lamp.yaml:7:"), "{said:#?}");
    assert!(said[1].starts_with("lifecycles/lamp.yaml:8:") && said[1].contains("OM"), "{said:#?}");

    // A definition that compiles can still be wrong: no actor can ever take this step.
    let odd = TWO.replace("from: ON, to: OFF, by: human", "from: ON, to: OFF, by: human && agent");
    let problem = refused(ground.owner.put("/v1/packs/lamps", &lamps(1, &odd)));
    assert_eq!(problem.code, "invalid-pack");
    let nobody = problem.errors.iter().find(|it| it.code == "nobody-may").expect("the finding nobody-may");
    assert!(nobody.message.starts_with("lifecycles/lamp.yaml:8:"), "{problem:#?}");

    assert!(!each(&ground.owner.get("/v1/packs").unwrap().body, "pack").contains(&"lamps"));
}

#[test]
fn a_pack_cannot_take_the_name_of_another() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    assert_eq!(why(owner.put("/v1/packs/other", &lamps(1, TWO))), (422, "invalid-pack".to_owned()));
    let mut taken = lamps(9, TWO);
    for (_, text) in taken["files"].as_object_mut().unwrap() {
        *text =
            json!(text.as_str().unwrap().replace("lamps", "access").replace("access.lamp", "access.token"));
    }
    for own in ["access", "fleet", "trackside"] {
        assert_eq!(why(owner.put(&format!("/v1/packs/{own}"), &taken)), (409, "reserved-pack".to_owned()));
    }
    assert_eq!(why(owner.put("/v1/packs/lamps", &taken)), (422, "invalid-pack".to_owned()));
    let pack = "pack: lamps\nversion: 1\nabout: Lamps.\n";
    let strange = json!({ "files": { "pack.yaml": pack, "../evil.yaml": "x" } });
    assert_eq!(why(owner.put("/v1/packs/lamps", &strange)), (422, "invalid-pack".to_owned()));
    assert_eq!(why(owner.put("/v1/packs/lamps", &json!({ "files": {} }))), (422, "invalid-pack".to_owned()));

    let person = ground.person("pia");
    assert_eq!(why(person.put("/v1/packs/lamps", &lamps(1, TWO))), (403, "not-permitted".to_owned()));
}
