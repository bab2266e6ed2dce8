//! The token of a run is limited to the entity of the run: what a thief of it can and cannot do, on every surface.

use serde_json::{Value as Json, json};
use trackside_protocol::Client;

use crate::ground::{RestServer, refused};
use crate::mcp::McpClient;

const WAGON: &str = "\
lifecycle: yard.wagon
about: A wagon.
fields: { load: { type: string }, fitter: { type: string, by: engine } }
slots: { work: { for: 1h, holder: fitter, lost: drop } }
rankings: { parked: { in: [PARKED], by: [createdAt], claims: fix } }
create: { by: human || agent, takes: [load] }
states: { PARKED: { initial: true }, FIXING: {}, GONE: { final: true, outcome: success } }
transitions:
  fix: { from: PARKED, to: FIXING, by: agent, lease: work }
  drop: { from: FIXING, to: PARKED, by: engine || agent }
  leave: { from: FIXING, to: GONE, by: agent }
  note: { from: any, by: agent || human, takes: { text: { type: string } } }
work:
  agent: { claim: fix, ask: 'Fix {id}.', creates: [yard.part], done: leave, agent: { in: yard.fitter } }
";
const PART: &str = "\
lifecycle: yard.part
about: A part.
create: { by: agent }
states: { NEW: { initial: true }, USED: { final: true, outcome: success } }
transitions: { use: { from: NEW, to: USED, by: agent } }
";
const FITTER: &str = "\
lifecycle: yard.fitter
about: The record of a fitter.
create: { by: agent }
states: { IDLE: { initial: true }, BUSY: {} }
transitions: { begin: { from: IDLE, to: BUSY, by: agent }, rest: { from: BUSY, to: IDLE, by: agent } }
";

/// A yard with the wagons W-1 and W-2, both of which mia fixes through her runner, and the text of her run's token for
/// W-1.
fn yard() -> (RestServer, Client, String) {
    let ground = RestServer::new();
    let pack = json!({ "files": {
        "pack.yaml": "pack: yard\nversion: 1\nabout: A yard.\n",
        "lifecycles/wagon.yaml": WAGON, "lifecycles/part.yaml": PART, "lifecycles/fitter.yaml": FITTER,
    } });
    ground.owner.put("/v1/packs/yard", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    let runner = ground.actor(json!({
        "actor": "host", "kind": "agent", "roles": ["fleet:agent_runner"], "for": ["mia", "tom"],
    }));
    let (mia, tom) = (runner.clone().acting_for("mia"), runner.clone().acting_for("tom"));
    for (agent, wagon) in [(&mia, "W-1"), (&mia, "W-2"), (&tom, "W-3")] {
        ground.owner.post("/v1/entities/yard.wagon", &json!({ "id": wagon })).unwrap();
        agent
            .post(&format!("/v1/entities/yard.wagon/{wagon}/transitions"), &json!({ "event": "fix" }))
            .unwrap();
    }
    for (agent, id) in [(&mia, "mia"), (&tom, "tom")] {
        agent.post("/v1/entities/yard.fitter", &json!({ "id": id })).unwrap();
    }
    runner.post("/v1/entities/fleet.runner", &json!({ "id": "host" })).unwrap();
    let run = json!({ "entity": "yard.wagon/W-1", "agent": "mia", "runner": "host", "adapter": "command" });
    runner.post("/v1/entities/fleet.run", &json!({ "id": "R-1", "fields": run })).unwrap();
    let asked = json!({ "actor": "mia", "kind": "agent", "entity": "yard.wagon/W-1", "run": "R-1" });
    let made = runner.post("/v1/tokens", &asked).unwrap().body;
    assert_eq!(made["details"]["entity"], "yard.wagon/W-1", "{made}");
    assert_eq!(made["details"]["purpose"], "run");
    let token = made["token"].as_str().unwrap().to_owned();
    (ground, runner, token)
}

fn fire(
    client: &Client,
    entity: &str,
    body: &Json,
) -> Result<trackside_protocol::HttpReply, trackside_protocol::ClientError> {
    client.post(&format!("/v1/entities/{entity}/transitions"), body)
}

fn outside(outcome: Result<trackside_protocol::HttpReply, trackside_protocol::ClientError>) -> String {
    let problem = refused(outcome);
    assert_eq!((problem.status, problem.code.as_str()), (403, "not-permitted"), "{problem:?}");
    assert!(problem.detail.contains("The token of R-1 works on yard.wagon/W-1"), "{problem:?}");
    problem.detail
}

#[test]
fn it_moves_the_entity_of_its_run_and_the_record_of_its_agent() {
    let (ground, _runner, token) = yard();
    let thief = ground.client(&token);
    assert_eq!(thief.get("/v1/whoami").unwrap().body["entity"], "yard.wagon/W-1");
    fire(&thief, "yard.wagon/W-1", &json!({ "event": "note", "fields": { "text": "half" } })).unwrap();
    // The fence is the runner's: the heartbeat is refused for that, not for the entity.
    let beat = refused(thief.post("/v1/entities/yard.wagon/W-1/heartbeat", &json!({ "slot": "work" })));
    assert_eq!(beat.code, "requirement-missing");
    fire(&thief, "yard.fitter/mia", &json!({ "event": "begin" })).unwrap();
    // What the work of the lifecycle declares may be created, but is not the run's to move.
    thief.post("/v1/entities/yard.part", &json!({ "id": "P-1" })).unwrap();
    let why = outside(fire(&thief, "yard.part/P-1", &json!({ "event": "use" })));
    assert!(
        why.contains("it cannot change yard.part/P-1") && why.contains("Report on yard.wagon/W-1"),
        "{why}"
    );
    fire(&thief, "yard.wagon/W-1", &json!({ "event": "leave" })).unwrap();
}

#[test]
fn a_stolen_run_token_gives_nothing_on_another_entity() {
    let (ground, runner, token) = yard();
    let thief = ground.client(&token);
    // The agent itself may do all of this: the token of its run may not.
    let agent = ground.actor(json!({ "actor": "mia", "kind": "agent" }));
    for (entity, event) in [
        ("yard.wagon/W-2", "note"),
        ("yard.wagon/W-2", "leave"),
        ("yard.wagon/W-3", "drop"),
        ("yard.fitter/tom", "begin"),
    ] {
        let dry = format!("/v1/entities/{entity}/transitions?dryRun=true");
        assert!(agent.post(&dry, &json!({ "event": event })).is_ok(), "{entity} {event}");
        outside(thief.post(&dry, &json!({ "event": event })));
        outside(fire(&thief, entity, &json!({ "event": event })));
    }
    outside(thief.post("/v1/entities/yard.wagon/W-2/heartbeat", &json!({ "slot": "work" })));
    let why = outside(thief.post("/v1/entities/yard.wagon", &json!({ "id": "W-9" })));
    assert!(why.contains("it cannot create yard.wagon") && why.contains("It can create yard.part"), "{why}");
    outside(thief.post("/v1/entities/yard.fitter", &json!({ "id": "zoe" })));
    outside(thief.post("/v1/entities/yard.wagon/claim", &json!({})));
    let batch = json!({ "commands": [
        { "lifecycle": "yard.wagon", "id": "W-1", "event": "note" },
        { "lifecycle": "yard.wagon", "id": "W-2", "event": "note" },
    ] });
    let results = &thief.post("/v1/batch", &batch).unwrap().body["results"];
    assert_eq!(
        (&results[0]["code"], &results[1]["code"]),
        (&Json::Null, &json!("not-permitted")),
        "{results}"
    );
    // No other token, and none of its own kind.
    assert_eq!(refused(thief.post("/v1/tokens", &json!({ "actor": "mia", "kind": "agent" }))).status, 403);
    let own = ground.actor(json!({ "actor": "mia", "kind": "agent" }));
    let other = own.get("/v1/whoami").unwrap().body["token"].as_str().unwrap().to_owned();
    outside(thief.delete(&format!("/v1/tokens/{other}")));
    assert!(own.get("/v1/whoami").is_ok());
    // Lists and explanations say the same as the refusals.
    let seen = thief.get("/v1/entities/yard.wagon/W-2").unwrap().body;
    assert_eq!(seen["allowedTransitions"], json!([]), "it reads what the agent reads");
    assert_eq!(
        agent.get("/v1/entities/yard.wagon/W-2").unwrap().body["allowedTransitions"],
        json!(["PARKED", "GONE"])
    );
    let explained = thief.get("/v1/entities/yard.wagon/W-2/explain").unwrap().body;
    let permitted =
        explained["transitions"].as_array().unwrap().iter().any(|it| it["permitted"] == json!(true));
    assert!(!permitted, "{explained:#}");
    for wagon in ["W-2", "W-3"] {
        assert_eq!(
            ground.owner.get(&format!("/v1/entities/yard.wagon/{wagon}")).unwrap().body["state"],
            "FIXING"
        );
    }
    // The runner is not limited.
    fire(&runner.acting_for("mia"), "yard.wagon/W-2", &json!({ "event": "note" })).unwrap();
}

#[test]
fn it_is_refused_while_its_runner_is_silent_and_after_its_run() {
    let (ground, runner, token) = yard();
    let agent = ground.client(&token);
    let note = json!({ "event": "note", "fields": { "text": "x" } });
    fire(&agent, "yard.wagon/W-1", &note).unwrap();
    let why = |word: &str| {
        let problem = refused(fire(&agent, "yard.wagon/W-1", &note));
        assert_eq!((problem.status, problem.code.as_str()), (403, "not-permitted"), "{problem:?}");
        assert!(problem.detail.contains(word), "{problem:?}");
    };
    fire(&runner, "fleet.run/R-1", &json!({ "event": "started" })).unwrap();
    // Its process may live on without a witness.
    ground.owner.post("/v1/clock/advance", &json!({ "by": "4m" })).unwrap();
    why("has lost its lease");
    runner.post("/v1/entities/fleet.runner", &json!({ "id": "host" })).unwrap();
    fire(&agent, "yard.wagon/W-1", &note).unwrap();
    let ended = json!({ "event": "ended", "fields": { "exitClass": "ok", "exitCode": 0 } });
    fire(&runner, "fleet.run/R-1", &ended).unwrap();
    why("R-1 has ended");
}

#[test]
fn it_is_limited_over_mcp_too() {
    let (ground, _runner, token) = yard();
    let thief = McpClient::new(&ground, &token, crate::mcp::NEWEST);
    // It finds its task, the events and what they take.
    let work = thief.tool_result("my_work", json!({}));
    let task = &work["task"];
    assert_eq!((&task["id"], &task["state"]), (&json!("W-1"), &json!("FIXING")), "{work:#}");
    assert!(task["instructions"].as_str().unwrap().starts_with("Fix W-1."), "{task:#}");
    let events = task["events"].as_array().unwrap();
    let note = events.iter().find(|it| it["event"] == "note").unwrap_or_else(|| panic!("{task:#}"));
    assert_eq!(note["schema"]["properties"]["text"]["type"], "string", "{note:#}");
    let other = thief.tool_result("my_work", json!({ "lifecycle": "yard.wagon", "id": "W-2" }));
    assert_eq!((&other["task"]["id"], &other["task"]["events"]), (&json!("W-2"), &json!([])), "{other:#}");
    assert_eq!(thief.tool_refusal("my_work", json!({ "id": "W-2" }))["code"], "invalid-parameter");
    let noted = json!({ "lifecycle": "yard.wagon", "id": "W-1", "event": "note", "fields": { "text": "x" } });
    thief.tool_result("fire", noted.clone());
    let foreign = json!({ "lifecycle": "yard.wagon", "id": "W-2", "event": "note" });
    for (tool, arguments) in [
        ("fire", foreign.clone()),
        ("report", foreign),
        ("claim", json!({ "lifecycle": "yard.wagon" })),
        ("create", json!({ "lifecycle": "yard.wagon", "id": "W-9" })),
        ("heartbeat", json!({ "lifecycle": "yard.wagon", "id": "W-2" })),
    ] {
        let refusal = thief.tool_refusal(tool, arguments);
        assert_eq!(refusal["code"], "not-permitted", "{tool}: {refusal}");
        let detail = refusal["detail"].as_str().unwrap();
        assert!(detail.contains("The token of R-1 works on yard.wagon/W-1"), "{tool}: {detail}");
    }
}

#[test]
fn a_limit_is_for_one_agent_and_a_known_lifecycle() {
    let (ground, runner, _token) = yard();
    for (asked, says) in [
        (json!({ "actor": "mia", "kind": "agent", "run": "R-1" }), "Name the `entity`"),
        (json!({ "actor": "mia", "kind": "agent", "entity": "W-1" }), "LIFECYCLE/ID"),
        (json!({ "actor": "mia", "kind": "agent", "entity": "yard.wagn/W-1" }), "yard.wagon"),
    ] {
        let problem = refused(runner.post("/v1/tokens", &asked));
        assert!(problem.detail.contains(says), "{problem:?}");
    }
    let wide = json!({ "actor": "mia", "kind": "agent", "entity": "yard.wagon/W-1", "for": ["mia", "tom"] });
    assert!(refused(ground.owner.post("/v1/tokens", &wide)).detail.contains("`for` is omitted"));
}
