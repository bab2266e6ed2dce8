//! The inbox: everything that waits for its caller.

use serde_json::{Value as Json, json};
use trackside_protocol::Client;
use trackside_server::ServerLimits;

use crate::ground::{RestServer, each, refused, why};

/// A user's own lifecycle: it has no face, and people decide in one of its states.
pub(crate) const TASK: &str = "\
lifecycle: crew.task
about: A piece of work.
title: title
card: [cost]
path: [TODO, APPROVAL, DONE]
read: '!confidential || (human && admin)'
fields: { title: { type: string }, cost: { type: number }, confidential: { type: boolean, default: false }, note: { type: string } }
create: { by: human, takes: [title, cost, confidential] }
states:
  TODO:     { initial: true }
  APPROVAL: { about: Waits for an approval., deadline: { after: 24h, warn: [50%], then: expire } }
  STUCK:    { about: Needs help., shows: stuck, waits_for: people }
  DONE:     { final: true, outcome: success }
  DROPPED:  { final: true, outcome: failure }
transitions:
  submit:    { from: TODO, to: APPROVAL, by: human || agent }
  get_stuck: { from: TODO, to: STUCK, by: agent, alert: { kind: stuck, severity: error, message: '{id} is stuck' } }
  release:   { from: APPROVAL, to: DONE, by: human }
  send_back: { from: APPROVAL, to: TODO, by: human, takes: { note: Say what to change } }
  drop:      { from: [APPROVAL, STUCK], to: DROPPED, by: human && admin, reason: Say why }
  help:      { from: STUCK, to: TODO, by: human || agent }
  expire:    { from: APPROVAL, to: TODO, by: engine }
";

fn crew() -> RestServer {
    crew_on(RestServer::new())
}

/// Installs the pack on a server.
pub(crate) fn crew_on(ground: RestServer) -> RestServer {
    let pack = json!({ "files": { "pack.yaml": "pack: crew\nversion: 1\n", "lifecycles/task.yaml": TASK } });
    ground.owner.put("/v1/packs/crew", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    ground
}

pub(crate) fn create(ground: &RestServer, id: &str, fields: Json) {
    let body = json!({ "id": id, "fields": fields });
    ground.owner.post("/v1/entities/crew.task", &body).unwrap_or_else(|it| panic!("{it:#?}"));
}

pub(crate) fn fire(client: &Client, id: &str, event: &str) {
    let path = format!("/v1/entities/crew.task/{id}/transitions");
    client.post(&path, &json!({ "event": event })).unwrap_or_else(|it| panic!("{it:#?}"));
}

fn inbox(client: &Client) -> Json {
    client.get("/v1/inbox").unwrap_or_else(|it| panic!("{it:#?}")).body
}

fn ids(found: &Json) -> Vec<&str> {
    each(found, "id")
}

#[test]
fn four_tasks_of_a_users_own_lifecycle_wait_for_approval() {
    let ground = crew();
    let ada = ground.agent("ada", "mission:specialist");
    assert!(ids(&inbox(&ground.owner)).is_empty());
    for n in 1..=4 {
        create(&ground, &format!("F-{n}"), json!({ "title": format!("Part {n}") }));
        fire(&ada, &format!("F-{n}"), "submit");
        ground.owner.post("/v1/clock/advance", &json!({ "by": "1s" })).unwrap();
    }
    let found = inbox(&ground.owner);
    assert_eq!(ids(&found), ["F-1", "F-2", "F-3", "F-4"], "the oldest first");
    let first = &found["items"][0];
    assert_eq!(first["kind"], "decision");
    assert_eq!(first["headline"], "Part 1: Waits for an approval");
    assert_eq!(
        (&first["otherwise"]["event"], &first["otherwise"]["to"]),
        (&json!("expire"), &json!(["TODO"]))
    );
    assert_eq!(first["until"], first["otherwise"]["at"]);
    assert_eq!(
        (&first["since"], &first["until"]),
        (&json!("2026-01-01T00:00:00Z"), &json!("2026-01-02T00:00:00Z"))
    );
    // The number is that of the entry by which it came there.
    let history = ground.owner.get("/v1/entities/crew.task/F-1/history").unwrap().body;
    let moved = history["items"].as_array().unwrap().iter().find(|it| it["to"] == "APPROVAL").unwrap();
    assert_eq!(first["number"], moved["seq"]);
    let number = first["number"].to_string();
    let command = |it: &Json| it["command"].as_str().unwrap().to_owned();
    let actions: Vec<String> = first["actions"].as_array().unwrap().iter().map(command).collect();
    let expected = [
        format!("trackside inbox approve {number}"),
        format!("trackside inbox deny {number} note=VALUE"),
        "trackside fire crew.task/F-1 drop --reason TEXT".to_owned(),
    ];
    assert_eq!(actions, expected);

    // `approvals` agrees, for everybody.
    let approvals = |client: &Client| {
        let found = client.get("/v1/approvals").unwrap().body;
        ids(&found).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(approvals(&ground.owner), ["F-1", "F-2", "F-3", "F-4"]);
    assert!(ids(&inbox(&ada)).is_empty(), "an agent's inbox is its own");
    let pia = ground.person("pia");
    assert_eq!(inbox(&pia)["items"][0]["actions"].as_array().unwrap().len(), 2, "only admins drop");

    let decide = |id: &str, body: Json| ground.owner.post(&format!("/v1/approvals/{id}/decision"), &body);
    let done = decide("F-1", json!({ "decision": "approve", "note": "fine" })).unwrap().body;
    assert_eq!((&done["entity"]["state"], &done["transition"]["reason"]), (&json!("DONE"), &json!("fine")));
    let silent = refused(decide("F-2", json!({ "decision": "deny" })));
    assert_eq!((silent.status, silent.errors[0].message.as_str()), (422, "Say what to change"));
    let back = decide("F-2", json!({ "decision": "deny", "note": "too long" })).unwrap().body;
    assert_eq!(
        (&back["entity"]["state"], &back["entity"]["fields"]["note"]),
        (&json!("TODO"), &json!("too long"))
    );
    assert_eq!(why(decide("F-2", json!({ "decision": "approve" }))), (404, "unknown-approval".to_owned()));
    assert_eq!((ids(&inbox(&ground.owner)), approvals(&ground.owner).len()), (vec!["F-3", "F-4"], 2));
    // Time decides the rest.
    ground.owner.post("/v1/clock/advance", &json!({ "by": "25h" })).unwrap();
    let left = ground.owner.get("/v1/inbox?kind=decision").unwrap().body;
    assert!(ids(&left).is_empty() && approvals(&ground.owner).is_empty());
}

#[test]
fn nobody_sees_an_item_of_an_entity_that_is_hidden_from_them() {
    let ground = crew();
    create(&ground, "S-1", json!({ "title": "the-combination", "confidential": true }));
    fire(&ground.owner, "S-1", "submit");
    let raised =
        json!({ "fields": { "title": "the-combination 2" }, "reason": "so that an alert is raised" });
    ground.owner.post("/v1/entities/crew.task/S-1/correct", &raised).unwrap();
    assert_eq!(ids(&inbox(&ground.owner)), ["S-1", "S-1"], "the decision and the alert of the correction");
    let (pia, ada) = (ground.person("pia"), ground.agent("ada", "mission:lead"));
    for client in [&pia, &ada] {
        let shown = inbox(client).to_string();
        assert!(!shown.contains("S-1") && !shown.contains("combination"), "{shown}");
    }
    let decision = json!({ "decision": "approve", "lifecycle": "crew.task" });
    let path = "/v1/approvals/S-1/decision";
    assert_eq!(why(pia.post(path, &decision)), (404, "unknown-approval".to_owned()));
}

#[test]
fn escalations_and_alerts_come_first_and_text_of_agents_stays_in_its_line() {
    let ground = crew();
    let ada = ground.agent("ada", "mission:specialist");
    create(&ground, "P-1", json!({ "title": "quiet" }));
    fire(&ada, "P-1", "submit");
    create(&ground, "P-2", json!({ "title": "x\n    9  approve this: it is fine\u{1b}[2J" }));
    fire(&ada, "P-2", "get_stuck");
    let found = inbox(&ground.owner);
    assert_eq!(each(&found, "kind"), ["alert", "escalation", "decision"]);
    assert_eq!(each(&found, "severity"), ["error", "warning", "info"]);
    let stuck = &found["items"][1];
    assert_eq!(stuck["headline"], "x 9 approve this: it is fine\u{1b}[2J: Needs help");
    assert_eq!(stuck["otherwise"], Json::Null);
    // A declared state: an agent may help too, and finds it in its own inbox.
    assert_eq!(ids(&inbox(&ada)), ["P-2"]);
    let only = |query: &str| ground.owner.get(&format!("/v1/inbox?{query}")).unwrap().body;
    assert_eq!(ids(&only("kind=decision")), ["P-1"]);
    let page = only("limit=2");
    let next = page["nextCursor"].as_str().unwrap();
    assert_eq!(ids(&only(&format!("limit=2&cursor={next}"))), ["P-1"]);
    let unknown = refused(ground.owner.get("/v1/inbox?kind=others"));
    assert_eq!((unknown.status, unknown.code.as_str()), (400, "invalid-parameter"));
    assert_eq!(why(ground.owner.get("/v1/inbox?all=true")), (400, "invalid-parameter".to_owned()));

    let number = found["items"][0]["number"].to_string();
    ground.owner.post(&format!("/v1/alerts/{number}/acknowledge"), &json!({})).unwrap();
    let actions = &inbox(&ground.owner)["items"][0]["actions"];
    assert_eq!(actions[0]["decision"], "resolve", "it is acknowledged");
    ground.owner.post(&format!("/v1/alerts/{number}/resolve"), &json!({})).unwrap();
    assert_eq!(each(&inbox(&ground.owner), "kind"), ["escalation", "decision"]);
}

#[test]
fn a_request_waits_for_those_who_may_decide_it() {
    let ground = RestServer::new();
    let (pia, mia) = (ground.person("pia"), ground.person("mia"));
    // A shell command takes two people, and none decides an own request.
    let asked = json!({ "id": "A-1", "fields": { "justification": "to move on", "summary": "Delete it", "action": "shell" } });
    pia.post("/v1/entities/mission.approval", &asked).unwrap_or_else(|it| panic!("{it:#?}"));
    let requests = |client: &Client| {
        let found = client.get("/v1/inbox?kind=approval").unwrap().body;
        ids(&found).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(requests(&mia), ["A-1"]);
    assert!(requests(&ground.agent("ada", "mission:lead")).is_empty());
    let approve = json!({ "decision": "approve", "note": "go" });
    mia.post("/v1/approvals/A-1/decision", &approve).unwrap_or_else(|it| panic!("{it:#?}"));
    assert!(requests(&mia).is_empty(), "she has decided");
    assert_eq!(requests(&ground.owner), ["A-1"], "it still needs one");
}

#[test]
fn a_blocked_task_of_a_built_in_pack_waits_for_people() {
    let ground = RestServer::new();
    let pia = ground.person("pia");
    ground
        .owner
        .post("/v1/entities/mission.task", &json!({ "id": "T-1", "fields": { "title": "Write" } }))
        .unwrap();
    let fire = |body: Json| ground.owner.post("/v1/entities/mission.task/T-1/transitions", &body).unwrap();
    assert!(ids(&inbox(&pia)).is_empty());
    fire(json!({ "event": "block", "fields": { "blockReason": "The customer does not answer" } }));
    let found = inbox(&pia);
    let item = &found["items"][0];
    assert_eq!(
        (&item["lifecycle"], &item["id"], &item["kind"]),
        (&json!("mission.task"), &json!("T-1"), &json!("escalation"))
    );
    assert!(item["headline"].as_str().unwrap().starts_with("Write: "), "{item}");
    let number = item["number"].to_string();
    let only = |number: &str| pia.get(&format!("/v1/inbox?number={number}")).unwrap().body;
    assert_eq!(ids(&only(&number)), ["T-1"]);
    assert!(ids(&only("1")).is_empty() && ids(&only("999999")).is_empty());
}

#[test]
fn an_inbox_with_very_much_in_it_is_cut_and_says_so() {
    const LIFE: &str = "lifecycle: heap.part\nabout: A part.\ncreate: { by: human }\nstates:\n  OPEN: { initial: true, waits_for: people }\n  DONE: { final: true }\ntransitions:\n  finish: { from: OPEN, to: DONE, by: human }\n";
    let ground = RestServer::with(ServerLimits { seconds: 600, ..ServerLimits::default() });
    let pack = json!({ "files": { "pack.yaml": "pack: heap\nversion: 1\n", "lifecycles/part.yaml": LIFE } });
    ground.owner.put("/v1/packs/heap", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    for batch in 0..3 {
        let commands: Vec<Json> = (0..700)
            .map(
                |n| json!({ "lifecycle": "heap.part", "id": format!("P-{}", batch * 700 + n), "fields": {} }),
            )
            .collect();
        ground
            .owner
            .post("/v1/batch", &json!({ "commands": commands }))
            .unwrap_or_else(|it| panic!("{it:#?}"));
    }
    let found = ground.owner.get("/v1/inbox?limit=3").unwrap().body;
    assert_eq!((ids(&found).len(), &found["more"]), (3, &json!(true)), "{found}");
    // Each of them is still found by its number.
    let number = found["items"][0]["number"].to_string();
    let only = ground.owner.get(&format!("/v1/inbox?number={number}")).unwrap().body;
    assert_eq!((ids(&only), &only["more"]), (vec![ids(&found)[0]], &json!(false)));
}

#[test]
fn lifecycles_say_what_lists_show() {
    let ground = crew();
    let life = ground.owner.get("/v1/lifecycles/crew.task").unwrap().body;
    assert_eq!((&life["title"], &life["card"]), (&json!("title"), &json!(["cost"])));
    assert_eq!(life["path"], json!(["TODO", "APPROVAL", "DONE"]));
    let shows = json!({ "TODO": "waiting", "APPROVAL": "review", "STUCK": "stuck", "DONE": "done", "DROPPED": "failed" });
    assert_eq!(life["shows"], shows);
    let waits = json!({
        "APPROVAL": { "approve": "release", "deny": "send_back" },
        "STUCK": { "approve": null, "deny": "drop" },
    });
    assert_eq!(life["waitsForPeople"], waits);
}
