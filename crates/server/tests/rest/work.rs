//! What agents are asked, and the events that follow their runs.

use serde_json::{Value as Json, json};
use trackside_lifecycle::model::run_members;
use trackside_protocol::Client;

use crate::ground::{RestServer, refused, why};

/// A task that coder-1 has claimed through its runner.
fn claimed() -> (RestServer, Client) {
    let ground = RestServer::new();
    ground.owner.put("/v1/settings/coding", &json!({ "isolation": "none" })).unwrap();
    let planner = ground.agent("planner-1", "coding:planner");
    let task = json!({ "id": "T-1", "fields": { "description": "Speed up the parser" } });
    planner.post("/v1/entities/coding.task", &task).unwrap();
    planner.post("/v1/entities/coding.task/T-1/transitions", &json!({ "event": "finalize" })).unwrap();
    let runner = ground.actor(json!({
        "actor": "runner-1", "kind": "agent", "roles": ["fleet:agent_runner", "coding:coder"], "for": ["coder-1"],
    }));
    let agent = runner.clone().acting_for("coder-1");
    let record = &agent.get("/v1/lifecycles/coding.task").unwrap().body["work"]["coder"]["agent"];
    let fields = &record["fields"];
    assert_eq!(record["lifecycle"], json!("coding.agent"));
    agent.post("/v1/entities/coding.agent", &json!({ "id": "coder-1", "fields": fields })).unwrap();
    let taken = agent.post("/v1/entities/coding.task/claim", &json!({ "event": "claim" })).unwrap().body;
    assert_eq!(taken["entity"]["fields"]["assigned_to"], json!("coder-1"));
    (ground, runner)
}

fn run(runner: &Client, id: &str) {
    runner.post("/v1/entities/fleet.runner", &json!({ "id": "runner-1" })).unwrap();
    let fields = json!({
        "entity": "coding.task/T-1", "agent": "coder-1", "role": "coder", "runner": "runner-1", "adapter": "plain",
    });
    runner.post("/v1/entities/fleet.run", &json!({ "id": id, "fields": fields })).unwrap();
}

fn apply(client: &Client, body: &Json) -> Json {
    client.post("/v1/runs/R-1/apply", body).unwrap_or_else(|it| panic!("{it:#?}")).body
}

#[test]
fn a_lifecycle_lists_the_work_of_its_roles() {
    let ground = RestServer::new();
    let work = ground.owner.get("/v1/lifecycles/coding.task").unwrap().body["work"].clone();
    let coder = &work["coder"];
    assert_eq!((&coder["claim"], &coder["claimRoute"]), (&json!("claim"), &json!(true)));
    assert_eq!(
        (&coder["done"], &coder["failed"], &coder["note"]),
        (&json!("submit"), &json!("block"), &json!("handoff"))
    );
    assert_eq!((&coder["meter"], &coder["query"]), (&Json::Null, &Json::Null));
    assert_eq!(work["planner"]["query"], json!("needsPlanner"));
    assert_eq!(coder["agent"]["fields"], json!({ "role": "coder" }));
    let mission = ground.owner.get("/v1/lifecycles/mission.task").unwrap().body["work"]["specialist"].clone();
    assert_eq!((&mission["begin"], &mission["meter"]), (&json!("begin_run"), &json!("report_run")));
}

#[test]
fn an_agent_reads_what_it_is_asked() {
    let (ground, runner) = claimed();
    let agent = runner.clone().acting_for("coder-1");
    let path = "/v1/entities/coding.task/T-1/work";
    let body = agent.get(&format!("{path}?role=coder")).unwrap().body;
    let text = body["instructions"].as_str().unwrap();
    assert!(text.contains("You are coder-1") && text.contains("Speed up the parser"), "{text}");
    assert_eq!((&body["agent"], &body["role"]), (&json!("coder-1"), &json!("coder")));
    assert_eq!(
        (&body["done"], &body["failed"], &body["claim"]),
        (&json!("submit"), &json!("block"), &Json::Null)
    );
    assert_eq!(body["entity"]["state"], json!("CLAIMED"));
    assert_eq!(body["entity"]["leases"], json!([]), "no fence");
    assert!(!body.to_string().to_lowercase().contains("fence"), "{body:#}");
    let submit = body["events"].as_array().unwrap().iter().find(|it| it["event"] == json!("submit")).unwrap();
    assert_eq!(submit["to"], json!(["READY_FOR_REVIEW"]));
    assert_eq!(submit["schema"]["required"], json!(["review_commit"]));
    assert_eq!(submit["schema"]["properties"]["review_commit"]["type"], json!("string"));
    // With the name of the pack, and as the runner itself.
    assert!(agent.get(&format!("{path}?role=coding:coder")).is_ok());
    assert!(runner.get(&format!("{path}?role=coder")).unwrap().body["events"].as_array().unwrap().is_empty());
    let unknown = refused(agent.get(&format!("{path}?role=tester")));
    assert_eq!((unknown.status, unknown.code.as_str()), (404, "no-work"));
    assert!(unknown.detail.contains("code_reviewer, coder, planner"), "{}", unknown.detail);
    // Without a role: the one that the caller has.
    assert_eq!(agent.get(path).unwrap().body["role"], json!("coder"));
    assert_eq!(why(ground.owner.get(path)), (400, "invalid-parameter".to_owned()));
    assert_eq!(
        why(agent.get("/v1/entities/coding.task/T-9/work?role=coder")),
        (404, "unknown-entity".to_owned())
    );
    assert_eq!(why(agent.get("/v1/entities/coding.goal/G/work")), (404, "no-work".to_owned()));
}

#[test]
fn a_runner_applies_the_steps_of_its_run() {
    let (ground, runner) = claimed();
    run(&runner, "R-1");
    let nothing = apply(&runner, &json!({ "action": "meter", "values": { "cost": 1.5 } }));
    assert_eq!(nothing["applied"], json!(false));
    assert!(nothing["why"].as_str().unwrap().contains("declares no `meter`"), "{nothing}");
    let uncommitted = apply(&runner, &json!({ "action": "done" }));
    assert!(uncommitted["why"].as_str().unwrap().contains("run.commit != null"), "{uncommitted}");
    let noted =
        apply(&runner, &json!({ "action": "note", "values": { "summary": "Half", "next": "The rest" } }));
    assert_eq!(noted["entity"]["fields"]["handoff"]["next_action"], json!("The rest"));
    // A refusal of the lifecycle is answered as such.
    let body = json!({ "action": "note", "values": { "summary": "Two\nlines", "next": "The rest" } });
    assert_eq!(why(runner.post("/v1/runs/R-1/apply", &body)).0, 422);
    // The agent cannot apply the steps itself.
    let agent = ground.agent("coder-1", "coding:coder");
    assert_eq!(why(agent.post("/v1/runs/R-1/apply", &json!({ "action": "done" }))).0, 403);
    let other = ground.agent("coder-2", "coding:coder");
    assert_eq!(why(other.post("/v1/runs/R-1/apply", &json!({ "action": "done" }))).0, 404);
    for body in [
        json!({ "action": "finish" }),
        json!({ "action": "done", "values": { "comit": "a" } }),
        json!({ "action": "done", "values": { "commit": 7 } }),
    ] {
        assert_eq!(why(runner.post("/v1/runs/R-1/apply", &body)).0, 400, "{body}");
    }
    let stale = json!({ "action": "done", "values": { "commit": "0a1b" }, "fence": 99 });
    assert_eq!(why(runner.post("/v1/runs/R-1/apply", &stale)), (409, "stale-fence".to_owned()));
    let done = json!({ "action": "done", "values": { "commit": "0a1b2c" } });
    let keyed = |client: &Client| {
        client.post_with("/v1/runs/R-1/apply", &done, &[("Idempotency-Key", "run-1-done")]).unwrap().body
    };
    let first = keyed(&runner);
    assert_eq!((&first["applied"], &first["replayed"]), (&json!(true), &json!(false)), "{first:#}");
    assert_eq!(first["entity"]["state"], json!("READY_FOR_REVIEW"));
    let entry = &first["transition"];
    assert_eq!((&entry["actor"], &entry["onBehalfOf"]), (&json!("runner-1"), &json!("coder-1")));
    let again = keyed(&runner);
    assert_eq!((&again["applied"], &again["replayed"]), (&json!(true), &json!(true)), "{again:#}");
    assert_eq!(again["transition"]["seq"], entry["seq"]);
    let late = apply(&runner, &done);
    assert_eq!(late["applied"], json!(false));
    assert!(late["why"].as_str().unwrap().contains("does not leave this state"), "{late}");
    assert_eq!(late["entity"]["state"], json!("READY_FOR_REVIEW"));
}

/// Every name of `run` in the language is a field of a run, or a value that the runner sends.
#[test]
fn the_language_knows_the_fields_of_a_run() {
    let ground = RestServer::new();
    let body = ground.owner.get("/v1/lifecycles/fleet.run").unwrap().body;
    let fields: Vec<&str> =
        body["fields"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    for (name, _) in run_members() {
        assert!(["id", "why"].contains(&name) || fields.contains(&name), "fleet.run has no field {name}");
    }
}

/// A field that the agent may not read is null in its instructions, and an expression that fails is named.
#[test]
fn hidden_fields_stay_hidden_and_a_failing_expression_is_named() {
    let ground = RestServer::new();
    let desk = "\
lifecycle: office.desk
about: A desk.
fields: { title: { type: string }, secret: { type: string, read: human }, size: { type: integer } }
create: { by: human }
states: { FREE: { initial: true }, TAKEN: {} }
rankings: { free: { in: [FREE], claims: take } }
transitions:
  take: { from: FREE, to: TAKEN, by: agent }
  free: { from: TAKEN, to: FREE, by: agent }
  fill: { from: [FREE, TAKEN], by: agent, takes: [size] }
work:
  agent:
    claim: take
    ask: 'Title {title}, secret <{secret}>.'
    feedback: secret
    done: { fire: fill, with: { size: int(run.exitText) } }
";
    let pack = json!({ "files": {
        "pack.yaml": "pack: office\nversion: 1\nabout: An office.\n", "lifecycles/desk.yaml": desk,
    } });
    ground.owner.put("/v1/packs/office", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    let fields = json!({ "title": "Corner", "secret": "swordfish" });
    ground.owner.post("/v1/entities/office.desk", &json!({ "id": "D", "fields": fields })).unwrap();
    let path = "/v1/entities/office.desk/D/work";
    let ada = ground.actor(json!({ "actor": "ada", "kind": "agent" }));
    let body = ada.get(path).unwrap().body;
    assert!(body["instructions"].as_str().unwrap().contains("Title Corner, secret <>."), "{body:#}");
    assert!(!body.to_string().contains("swordfish"), "{body:#}");
    assert_eq!((&body["feedback"], &body["claim"]), (&Json::Null, &json!("take")));
    assert!(ground.owner.get(path).unwrap().body["instructions"].as_str().unwrap().contains("swordfish"));
    let runner =
        json!({ "actor": "runner-1", "kind": "agent", "roles": ["fleet:agent_runner"], "for": ["ada"] });
    let runner = ground.actor(runner);
    runner.post("/v1/entities/fleet.runner", &json!({ "id": "runner-1" })).unwrap();
    let run = json!({ "entity": "office.desk/D", "agent": "ada", "role": "agent", "runner": "runner-1", "adapter": "plain" });
    runner.post("/v1/entities/fleet.run", &json!({ "id": "R-1", "fields": run })).unwrap();
    let done = |text: &str| json!({ "action": "done", "values": { "exitText": text } });
    let failed = refused(runner.post("/v1/runs/R-1/apply", &done("many")));
    assert_eq!((failed.status, failed.code.as_str()), (422, "work-failed"));
    assert!(
        failed.detail.contains("`size` cannot be computed from `int(run.exitText)`"),
        "{}",
        failed.detail
    );
    assert_eq!(apply(&runner, &done("7"))["entity"]["fields"]["size"], json!(7));
}
