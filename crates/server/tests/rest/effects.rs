//! Work for the outside is taken with a lease and answered once.

use serde_json::{Value as Json, json};
use trackside_protocol::Client;

use crate::ground::{RestServer, each, why};

/// A pack whose entities request effects; one kind of them is hidden.
fn errands() -> Json {
    let life = |name: &str, read: &str| {
        format!(
            "lifecycle: errands.{name}\nabout: An errand.\n{read}fields: {{ what: {{ type: string }}, got: {{ type: string }} }}\n\
             create: {{ by: human, takes: [what] }}\n\
             states: {{ OPEN: {{ initial: true }}, DONE: {{ final: true, outcome: success }}, FAILED: {{ final: true, outcome: failure }} }}\n\
             transitions:\n  send: {{ from: OPEN, by: human, effects: [ {{ effect: fetch }} ] }}\n  \
             brought: {{ from: OPEN, to: DONE, by: engine, takes: [got] }}\n  missed: {{ from: OPEN, to: FAILED, by: engine }}\n\
             effects: {{ fetch: {{ with: {{ what: what }}, ok: brought, failed: missed }} }}\n"
        )
    };
    json!({ "files": {
        "pack.yaml": "pack: errands\nversion: 1\nabout: Errands.\n",
        "lifecycles/open.yaml": life("open", ""),
        "lifecycles/secret.yaml": life("secret", "read: human\n"),
    } })
}

fn ground() -> RestServer {
    let ground = RestServer::new();
    ground.owner.put("/v1/packs/errands", &errands()).unwrap_or_else(|it| panic!("{it:#?}"));
    ground
}

fn send_effect(owner: &Client, lifecycle: &str, id: &str) {
    owner
        .post(&format!("/v1/entities/{lifecycle}"), &json!({ "id": id, "fields": { "what": "tea" } }))
        .unwrap();
    owner.post(&format!("/v1/entities/{lifecycle}/{id}/transitions"), &json!({ "event": "send" })).unwrap();
}

fn take(client: &Client, body: Json) -> Vec<Json> {
    client.post("/v1/effects/take", &body).unwrap().body["items"].as_array().unwrap().clone()
}

#[test]
fn an_open_effect_does_not_block_archiving_and_is_answered_later() {
    let ground = ground();
    let owner = &ground.owner;
    send_effect(owner, "errands.open", "E-1");
    send_effect(owner, "errands.open", "E-2");
    owner.post("/v1/clock/advance", &json!({ "by": "40d" })).unwrap();
    owner.post("/v1/entities/errands.open", &json!({ "id": "E-3" })).unwrap();
    let archived = owner.post("/v1/archive", &json!({ "olderThan": "30d" })).unwrap().body;
    let file = &archived["files"][0];
    let cart = ground.actor(json!({ "actor": "cart", "kind": "system" }));
    let open = cart.get("/v1/effects").unwrap().body;
    let last = open["items"][1]["id"].as_u64().unwrap();
    assert!(file["last"].as_u64().unwrap() >= last, "{archived:#} {open:#}");
    // Without the archive files, the work to do is still known.
    std::fs::rename(ground.data.join("archive"), ground.data.join("elsewhere")).unwrap();
    let held = take(&cart, json!({ "kind": "fetch", "lease": "1m", "limit": 5 }));
    assert_eq!((held.len(), &held[0]["with"]), (2, &json!({ "what": "tea" })));
    let path = format!("/v1/effects/{}/result", held[0]["id"]);
    let result = json!({ "ok": true, "detail": { "got": "green tea" }, "fence": held[0]["fence"] });
    cart.post(&path, &result).unwrap();
    assert_eq!(owner.get("/v1/entities/errands.open/E-1").unwrap().body["state"], json!("DONE"));
    std::fs::rename(ground.data.join("elsewhere"), ground.data.join("archive")).unwrap();
    // Answered effects are archived, open ones stay.
    owner.post("/v1/archive", &json!({ "olderThan": "30d" })).unwrap();
    let journal = rusqlite::Connection::open(ground.data.join("journal.db")).unwrap();
    let sql = "SELECT seq FROM journal WHERE seq <= (SELECT value FROM meta WHERE key = 'base_seq')";
    let stayed: Vec<i64> =
        journal.prepare(sql).unwrap().query_map([], |it| it.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(stayed, [held[1]["id"].as_i64().unwrap()]);
    assert_eq!(owner.get("/v1/audit/verify").unwrap().body["intact"], json!(true));
}

#[test]
fn an_effect_is_taken_by_one_and_answered_once() {
    let ground = ground();
    let owner = &ground.owner;
    let cart = |id: &str| ground.actor(json!({ "actor": id, "kind": "system" }));
    let (first, second) = (cart("cart-1"), cart("cart-2"));
    send_effect(owner, "errands.open", "E-1");
    let listed = first.get("/v1/effects?kind=fetch").unwrap().body;
    assert_eq!((each(&listed, "kind"), each(&listed, "entity")), (vec!["fetch"], vec!["E-1"]));
    assert!(each(&first.get("/v1/effects?kind=merge").unwrap().body, "kind").is_empty());

    let held = take(&first, json!({ "kind": "fetch", "lease": "1m" })).remove(0);
    assert_eq!(held["with"], json!({ "what": "tea" }));
    assert!(take(&second, json!({})).is_empty(), "cart-1 is at it");
    assert_eq!(each(&owner.get("/v1/effects").unwrap().body, "takenBy"), ["cart-1"]);

    // A worker that takes too long loses the effect, and its late answer does not count.
    owner.post("/v1/clock/advance", &json!({ "by": "2m" })).unwrap();
    let again = take(&second, json!({})).remove(0);
    assert_eq!(again["id"], held["id"]);
    let path = format!("/v1/effects/{}/result", held["id"]);
    let result = |fence: &Json| json!({ "ok": true, "detail": { "got": "green tea" }, "fence": fence });
    assert_eq!(why(first.post(&path, &result(&held["fence"]))), (409, "stale-fence".to_owned()));
    second.post(&path, &result(&again["fence"])).unwrap();
    let entity = owner.get("/v1/entities/errands.open/E-1").unwrap().body;
    assert_eq!((&entity["state"], &entity["fields"]["got"]), (&json!("DONE"), &json!("green tea")));
    assert_eq!(why(second.post(&path, &result(&again["fence"]))), (409, "effect-settled".to_owned()));
    assert_eq!(
        why(second.post("/v1/effects/1/result", &result(&json!(1)))),
        (404, "unknown-effect".to_owned())
    );
    assert_eq!(
        why(second.post("/v1/effects/x/result", &result(&json!(1)))),
        (404, "unknown-effect".to_owned())
    );
    assert!(each(&owner.get("/v1/effects").unwrap().body, "kind").is_empty());
}

#[test]
fn a_failure_is_an_answer_too() {
    let ground = ground();
    send_effect(&ground.owner, "errands.open", "E-1");
    let held = take(&ground.owner, json!({ "limit": 5 })).remove(0);
    let result = json!({ "ok": false, "detail": { "why": "closed" }, "fence": held["fence"] });
    ground.owner.post(&format!("/v1/effects/{}/result", held["id"]), &result).unwrap();
    assert_eq!(ground.owner.get("/v1/entities/errands.open/E-1").unwrap().body["state"], json!("FAILED"));
}

#[test]
fn only_privileged_callers_take_effects_and_only_visible_ones() {
    let ground = ground();
    send_effect(&ground.owner, "errands.secret", "S-1");
    send_effect(&ground.owner, "errands.open", "E-1");
    let system = ground.actor(json!({ "actor": "cart", "kind": "system" }));
    let supervisor = ground.actor(json!({ "actor": "boss", "kind": "agent", "for": ["coder-*"] }));
    let agent = ground.agent("ada", "mission:specialist");
    for client in [&agent, &ground.person("pia")] {
        assert_eq!(why(client.post("/v1/effects/take", &json!({}))), (403, "not-permitted".to_owned()));
        let result = json!({ "ok": true, "fence": 1 });
        assert_eq!(why(client.post("/v1/effects/1/result", &result)), (403, "not-permitted".to_owned()));
    }
    assert_eq!(each(&agent.get("/v1/effects").unwrap().body, "entity"), ["E-1"]);
    let held = take(&supervisor, json!({ "limit": 10 }));
    assert_eq!(held.len(), 1);
    assert_eq!(held[0]["entity"], json!("E-1"));
    assert!(take(&system, json!({ "limit": 10 })).is_empty(), "the other one is secret");
    let hidden = take(&ground.owner, json!({ "limit": 10 })).remove(0);
    assert_eq!(hidden["entity"], json!("S-1"));
    let result = json!({ "ok": true, "fence": hidden["fence"] });
    let path = format!("/v1/effects/{}/result", hidden["id"]);
    assert_eq!(why(system.post(&path, &result)), (404, "unknown-effect".to_owned()));
    // A guessed fence is not a hold.
    let path = format!("/v1/effects/{}/result", held[0]["id"]);
    let result = json!({ "ok": true, "fence": held[0]["fence"] });
    assert_eq!(why(system.post(&path, &result)), (409, "stale-fence".to_owned()));
    supervisor.post(&path, &result).unwrap();
}

#[test]
fn an_effect_is_answered_only_by_its_taker() {
    let ground = ground();
    let owner = &ground.owner;
    let token = ground.mint_token(json!({ "actor": "cart-1", "kind": "system" }));
    let first = ground.client(&token);
    let second = ground.actor(json!({ "actor": "cart-2", "kind": "system" }));
    send_effect(owner, "errands.open", "E-1");
    let listed = |client: &Client| client.get("/v1/effects").unwrap().body["items"][0].clone();
    assert_eq!((&listed(&first)["with"], listed(&first).get("fence")), (&json!({ "what": "tea" }), None));
    let path = format!("/v1/effects/{}/result", listed(&first)["id"]);
    let result = |fence: &Json| json!({ "ok": true, "detail": "it rained", "fence": fence });
    let stale = (409, "stale-fence".to_owned());
    assert_eq!(why(second.post(&path, &result(&json!(1)))), stale, "it has no taker");
    let held = take(&first, json!({ "lease": "1m" })).remove(0);
    assert_eq!((&listed(&first)["fence"], listed(&second).get("fence")), (&held["fence"], None));
    owner.post("/v1/clock/advance", &json!({ "by": "2m" })).unwrap();
    // The lease has expired, but no other worker has taken it.
    assert_eq!(why(second.post(&path, &result(&held["fence"]))), stale);
    assert_eq!(why(first.post(&path, &result(&json!(7)))), stale);
    first.post(&path, &result(&held["fence"])).unwrap_or_else(|it| panic!("{it:#?}"));

    send_effect(owner, "errands.open", "E-2");
    let held = take(&first, json!({})).remove(0);
    let path = format!("/v1/effects/{}/result", held["id"]);
    let ground = ground.restart();
    let again = ground.client(&token);
    assert_eq!(why(again.post(&path, &result(&held["fence"]))), stale, "holds are not stored");
    let held = take(&again, json!({})).remove(0);
    again.post(&path, &result(&held["fence"])).unwrap();
}

/// A pack whose effects are handed out one at a time for each lane, and only while the errand is open.
fn lanes() -> Json {
    let life = "lifecycle: lanes.errand\nabout: An errand.\nfields: { lane: { type: string } }\n\
         create: { by: human, takes: [lane] }\n\
         states: { OPEN: { initial: true }, HELD: {}, DONE: { final: true, outcome: success }, FAILED: { final: true, outcome: failure } }\n\
         transitions:\n  send: { from: OPEN, by: human, effects: [carry] }\n  hold: { from: OPEN, to: HELD, by: human }\n  \
         brought: { from: OPEN, to: DONE, by: engine }\n  missed: { from: [OPEN, HELD], to: FAILED, by: engine }\n\
         effects: { carry: { with: { way: lane }, queue: [way], while: state == \"OPEN\" && way == lane, ok: brought, failed: missed } }\n";
    json!({ "files": { "pack.yaml": "pack: lanes\nversion: 1\nabout: Lanes.\n", "lifecycles/errand.yaml": life } })
}

#[test]
fn effects_of_a_queue_are_handed_out_one_at_a_time_in_order_and_only_while_they_are_wanted() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    owner.put("/v1/packs/lanes", &lanes()).unwrap_or_else(|it| panic!("{it:#?}"));
    for (id, lane) in [("E-1", "a"), ("E-2", "a"), ("E-3", "b"), ("E-4", "a")] {
        owner.post("/v1/entities/lanes.errand", &json!({ "id": id, "fields": { "lane": lane } })).unwrap();
        fire(owner, id, "send");
    }
    let cart = |id: &str| ground.actor(json!({ "actor": id, "kind": "system" }));
    let (first, second) = (cart("cart-1"), cart("cart-2"));
    let entities = |held: &[Json]| -> Vec<String> {
        held.iter().map(|it| it["entity"].as_str().unwrap().to_owned()).collect()
    };
    assert!(take(&second, json!({ "entity": "lanes.errand/E-2", "limit": 5 })).is_empty(), "E-1 comes first");
    let held = take(&first, json!({ "kind": "carry", "limit": 5, "lease": "1m" }));
    assert_eq!(entities(&held), ["E-1", "E-3"]);
    assert!(take(&second, json!({ "kind": "carry", "limit": 5 })).is_empty());
    let listed = owner.get("/v1/effects").unwrap().body;
    assert_eq!(
        (&listed["items"][1]["behind"], &listed["items"][0]["takenBy"]),
        (&held[0]["id"], &json!("cart-1"))
    );

    // What it waits for is explained.
    let explained = owner.get("/v1/entities/lanes.errand/E-2/explain").unwrap().body;
    let open = &explained["openEffects"][0];
    assert_eq!((&open["behind"], &open["behindEntity"]), (&held[0]["id"], &json!("lanes.errand/E-1")));
    let sentence = explained["summary"].as_str().unwrap();
    let id = held[0]["id"].as_u64().unwrap();
    assert!(sentence.contains(&format!("it comes after effect {id} of lanes.errand/E-1")), "{sentence}");
    let explained = owner.get("/v1/entities/lanes.errand/E-1/explain").unwrap().body;
    assert_eq!(explained["openEffects"][0]["takenBy"], json!("cart-1"));
    assert!(explained["summary"].as_str().unwrap().contains("cart-1 has taken it until"), "{explained:#}");

    // One that is not wanted any more has failed, and is not handed out.
    fire(owner, "E-2", "hold");
    let path = format!("/v1/effects/{}/result", held[0]["id"]);
    first.post(&path, &json!({ "ok": true, "fence": held[0]["fence"] })).unwrap();
    assert_eq!(entities(&take(&second, json!({ "kind": "carry", "limit": 5 }))), ["E-4"]);
    assert_eq!(owner.get("/v1/entities/lanes.errand/E-2").unwrap().body["state"], json!("FAILED"));

    // A worker that is silent for too long gives its place in the queue to another one, not to a later effect.
    owner.post("/v1/clock/advance", &json!({ "by": "2m" })).unwrap();
    assert_eq!(entities(&take(&second, json!({ "kind": "carry", "limit": 5 }))), ["E-3"]);
    assert_eq!(why(first.post("/v1/effects/take", &json!({ "entity": "E-1" }))).0, 400);
}

fn fire(owner: &Client, id: &str, event: &str) {
    let path = format!("/v1/entities/lanes.errand/{id}/transitions");
    owner.post(&path, &json!({ "event": event })).unwrap_or_else(|it| panic!("{it:#?}"));
}
