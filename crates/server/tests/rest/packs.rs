//! Packs are installed while the server runs.

use std::time::Duration;

use serde_json::{Value as Json, json};
use trackside_server::ServerLimits;

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

/// A pack in which every state leads to every state: its checks take long.
fn dense(states: usize) -> Json {
    let mut life = String::from(
        "lifecycle: dense.thing\nfields: { n: { type: integer } }\ncreate: { by: human }\n\
         counters: { rounds: { limit: 9 }, again: { limit: 3, then: close } }\nstates:\n  S0: { initial: true }\n",
    );
    for n in 1..states {
        life.push_str(&format!("  S{n}: {{}}\n"));
    }
    life.push_str(
        "  END: { final: true }\ntransitions:\n  close: { from: any, to: END, by: human || engine }\n",
    );
    for n in 0..states {
        let more = ["count: rounds", "count: again, reset: [again]", "when: n < 5"][n % 3];
        life.push_str(&format!("  t{n}: {{ from: any, to: S{n}, by: agent, {more} }}\n"));
    }
    json!({ "files": { "pack.yaml": "pack: dense\nversion: 1\n", "lifecycles/thing.yaml": life } })
}

/// The metric that counts cancelled checks.
const CANCELLED: &str = "trackside_pack_checks_cancelled_total";

/// The value of a metric.
fn metric(ground: &RestServer, name: &str) -> u64 {
    let text = String::from_utf8(ground.owner.get_bytes("/metrics").unwrap()).unwrap();
    let line = text.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap().parse().unwrap()
}

#[test]
fn the_checks_of_a_pack_end_when_the_client_goes_away() {
    use std::io::Write as _;
    let ground = RestServer::new();
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let body = dense(300).to_string();
    let alone = metric(&ground, "trackside_http_requests_under_way");
    let mut socket = std::net::TcpStream::connect(ground.address).unwrap();
    write!(
        socket,
        "PUT /v1/packs/dense HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        ground.address,
        token.trim(),
        body.len()
    )
    .unwrap();
    until("the request is under way", || metric(&ground, "trackside_http_requests_under_way") > alone);
    assert_eq!(metric(&ground, CANCELLED), 0);
    drop(socket);
    until("the checks are cancelled", || metric(&ground, CANCELLED) == 1);
}

#[test]
fn the_checks_of_a_pack_end_with_the_time_of_the_request() {
    let ground = RestServer::with(ServerLimits { seconds: 1, ..ServerLimits::default() });
    assert_eq!(why(ground.owner.put("/v1/packs/dense", &dense(300))), (503, "timeout".to_owned()));
    until("the checks are cancelled", || metric(&ground, CANCELLED) == 1);
}

/// Waits until this is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..1_200 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{what}");
}
