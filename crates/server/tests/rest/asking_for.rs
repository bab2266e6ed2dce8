//! A caller that acts for another actor sees what that actor may do.

use serde_json::json;

use crate::ground::{RestServer, each, why};

const DESK: &str = "\
lifecycle: office.desk
about: A desk of somebody.
read: subject.id == owner || (human && admin)
fields: { owner: { type: string } }
create: { by: human, takes: [owner] }
states: { FREE: { initial: true }, TAKEN: {} }
transitions:
  sit: { from: FREE, to: TAKEN, by: subject.id == owner }
  stand: { from: TAKEN, to: FREE, by: subject.id == owner }
";

#[test]
fn a_supervisor_sees_the_permissions_of_its_agent() {
    let ground = RestServer::new();
    let pack = json!({ "files": {
        "pack.yaml": "pack: office\nversion: 1\nabout: An office.\nqueries: { free: { of: office.desk, where: state == 'FREE' } }\n",
        "lifecycles/desk.yaml": DESK,
    } });
    ground.owner.put("/v1/packs/office", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    ground
        .owner
        .post("/v1/entities/office.desk", &json!({ "id": "D", "fields": { "owner": "coder-1" } }))
        .unwrap();
    let boss = ground.actor(json!({ "actor": "boss", "kind": "agent", "for": ["coder-*"] }));
    let path = "/v1/entities/office.desk/D";
    assert_eq!(why(boss.get(path)), (404, "unknown-entity".to_owned()));
    let (mine, others) = (boss.clone().acting_for("coder-1"), boss.acting_for("coder-2"));
    assert_eq!(why(others.get(path)), (404, "unknown-entity".to_owned()));
    assert_eq!(mine.get(path).unwrap().body["allowedTransitions"], json!(["TAKEN"]));
    for list in ["/v1/entities/office.desk", "/v1/queries/office/free"] {
        assert_eq!(each(&mine.get(list).unwrap().body, "id"), ["D"], "{list}");
        assert!(each(&others.get(list).unwrap().body, "id").is_empty(), "{list}");
    }
    let told = mine.get(&format!("{path}/explain")).unwrap().body;
    assert_eq!(told["ready"], json!(["sit"]), "{told:#}");
    let moved = mine.post(&format!("{path}/transitions"), &json!({ "event": "sit" })).unwrap().body;
    assert_eq!(moved["entity"]["allowedTransitions"], json!(["FREE"]), "also in the answer to a command");
}
