//! A key counts once, on every route that changes something.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use trackside_protocol::{Client, ClientError, HttpReply};

use crate::ground::{RestServer, each, why};

/// A lifecycle that supports every request with a key.
const THING: &str = "\
lifecycle: once.thing
about: A thing.
fields: { size: { type: integer, default: 1 }, weight: { type: integer, by: engine } }
create: { by: human, takes: [size] }
states: { LAID: { initial: true }, TAKEN: {}, GONE: { final: true, outcome: success } }
rankings: { next: { in: [LAID], by: [size], claims: take } }
slots: { work: { for: 30m } }
effects: { carry: { with: { size: size } } }
transitions:
  grow: { from: LAID, by: human || agent, takes: [size], set: { weight: size * 2 } }
  take: { from: LAID, to: TAKEN, by: human || agent, lease: work }
  fetch: { from: [LAID, TAKEN], by: human, effects: [ { effect: carry } ] }
  end: { from: [LAID, TAKEN], to: GONE, by: human }
work: { agent: { claim: take, ask: Grow it, done: { fire: grow, with: { size: run.output } } } }
";

const REQUEST: &str = "\
lifecycle: once.request
about: A request.
face: approval
fields: { note: { type: string } }
create: { by: human }
states: { ASKED: { initial: true }, GIVEN: { final: true, outcome: success }, KEPT: { final: true, outcome: failure } }
transitions:
  approve: { from: ASKED, to: GIVEN, by: human, takes: [note] }
  deny: { from: ASKED, to: KEPT, by: human, takes: [note] }
";

/// Routes that cannot be sent twice with one key: a signed-out caller has no access.
const ENDS: &[&str] = &["/v1/sign-out", "/mcp"];

/// Refused while the clock is manual. With the system clock, a second correction is refused because none is needed.
const SYSTEM_CLOCK: &str = "/v1/clock/correct";

/// Their answers contain secrets, which are stored in another way: see `again`.
const SECRETS: &[&str] = &["/v1/webhooks", "/v1/tokens", "/v1/tokens/rotate", "/v1/sign-in-links"];

fn ground() -> RestServer {
    let ground = RestServer::new();
    let pack = json!({ "files": {
        "pack.yaml": "pack: once\nversion: 1\nabout: Things that happen once.\n",
        "lifecycles/thing.yaml": THING,
        "lifecycles/request.yaml": REQUEST,
    } });
    ground.owner.put("/v1/packs/once", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    ground
}

fn thing(owner: &Client, id: &str) {
    owner.post("/v1/entities/once.thing", &json!({ "id": id, "fields": { "size": 1 } })).unwrap();
}

fn fire(owner: &Client, id: &str, event: &str) -> Json {
    let path = format!("/v1/entities/once.thing/{id}/transitions");
    owner.post(&path, &json!({ "event": event })).unwrap_or_else(|it| panic!("{it:#?}")).body
}

fn post_with_key(client: &Client, path: &str, body: &Json, key: &str) -> Result<HttpReply, ClientError> {
    client.post_with(path, body, &[("Idempotency-Key", key)])
}

/// The last entry of the journal.
fn last(owner: &Client) -> u64 {
    let mut last = 0;
    loop {
        let page = owner.get(&format!("/v1/journal?limit=200&after={last}")).unwrap().body;
        match page["items"].as_array().unwrap().last() {
            Some(entry) => last = entry["seq"].as_u64().unwrap(),
            None => return last,
        }
    }
}

/// Two alerts of one thing.
fn raise_alarm(owner: &Client, id: &str) {
    thing(owner, id);
    for to in ["TAKEN", "LAID"] {
        let path = format!("/v1/entities/once.thing/{id}/correct");
        owner.post(&path, &json!({ "to": to, "reason": "so" })).unwrap();
    }
}

/// Registers a runner of its own, and starts a run.
fn start_run(ground: &RestServer, id: &str) {
    let name = format!("runner-of-{id}");
    let token = json!({ "actor": name, "kind": "agent", "roles": ["fleet:agent_runner"] });
    let runner = ground.actor(token);
    runner.post("/v1/entities/fleet.runner", &json!({ "id": name })).unwrap();
    let run = json!({ "entity": "once.thing/worked-on", "agent": "ada", "role": "agent", "runner": name, "adapter": "plain" });
    runner.post("/v1/entities/fleet.run", &json!({ "id": id, "fields": run })).unwrap();
}

/// Only a runner appends lines; their numbers make a repeated request harmless.
const TRANSCRIPT: &str = "/v1/runs/{id}/transcript";

/// A request to a route, and a different one.
fn route_request(ground: &RestServer, route: &str) -> (String, Json, Json) {
    let owner = &ground.owner;
    let sized = |size: u64| json!({ "fields": { "size": size } });
    let on = |path: &str, one: Json, other: Json| (path.to_owned(), one, other);
    match route {
        "/v1/entities/{lifecycle}" => on("/v1/entities/once.thing", sized(1), sized(2)),
        "/v1/entities/{lifecycle}/{id}/transitions" => {
            thing(owner, "move");
            let grow = |size: u64| json!({ "event": "grow", "fields": { "size": size, "weight": 9 } });
            on("/v1/entities/once.thing/move/transitions", grow(4), grow(5))
        }
        "/v1/entities/{lifecycle}/claim" => {
            (0..2).for_each(|it| thing(owner, &format!("claim-{it}")));
            on("/v1/entities/once.thing/claim", json!({}), json!({ "where": "size > 0" }))
        }
        "/v1/entities/{lifecycle}/{id}/heartbeat" => {
            thing(owner, "beat");
            let taken = fire(owner, "beat", "take");
            let fence = taken["entity"]["leases"][0]["fence"].as_u64().unwrap();
            let beat = |fence: u64| json!({ "slot": "work", "fence": fence });
            on("/v1/entities/once.thing/beat/heartbeat", beat(fence), beat(fence + 1))
        }
        "/v1/entities/{lifecycle}/{id}/correct" => {
            thing(owner, "wrong");
            let right = |reason: &str| json!({ "to": "TAKEN", "reason": reason });
            on("/v1/entities/once.thing/wrong/correct", right("so"), right("or so"))
        }
        "/v1/entities/{lifecycle}/{id}/worktree" => {
            thing(owner, "housed");
            let report = |state: &str| json!({ "state": state });
            on("/v1/entities/once.thing/housed/worktree", report("making"), report("ready"))
        }
        "/v1/entities/{lifecycle}/{id}/changes" => {
            thing(owner, "changed");
            let artifact = crate::worktrees::stored_change(owner, "aaaa", "bbbb");
            let report =
                |files: u64| json!({ "from": "aaaa", "to": "bbbb", "artifact": artifact, "files": files });
            on("/v1/entities/once.thing/changed/changes", report(1), report(2))
        }
        "/v1/batch" => {
            let create = json!({ "lifecycle": "once.thing", "fields": { "size": 1 } });
            let longer = json!({ "commands": [create, create, create] });
            on("/v1/batch", json!({ "commands": [create, create] }), longer)
        }
        "/v1/migrations" => {
            let to = |lifecycle: &str| json!({ "lifecycle": lifecycle, "to": 1 });
            on("/v1/migrations", to("once.thing"), to("once.request"))
        }
        "/v1/alerts/{id}/acknowledge" => {
            raise_alarm(owner, "seen");
            on("/v1/alerts/seen/acknowledge", json!({}), json!({ "note": "seen" }))
        }
        "/v1/alerts/{id}/resolve" => {
            raise_alarm(owner, "seen-to");
            on("/v1/alerts/seen-to/resolve", json!({}), json!({ "note": "done" }))
        }
        // It has no other body: the key is tried on another route.
        "/v1/sweep" => on("/v1/sweep", json!({}), Json::Null),
        "/v1/import" => {
            let bring = |id: &str| json!({ "entities": [{ "lifecycle": "once.thing", "id": id, "origin": "there" }] });
            on("/v1/import", bring("I-1"), bring("I-2"))
        }
        "/v1/backup" => on("/v1/backup", json!({}), json!({ "to": "other" })),
        "/v1/redactions" => {
            thing(owner, "said");
            let drop = |reason: &str| json!({ "lifecycle": "once.thing", "id": "said", "all": true, "reason": reason });
            on("/v1/redactions", drop("so"), drop("or so"))
        }
        "/v1/approvals/{id}/decision" => {
            owner.post("/v1/entities/once.request", &json!({ "id": "R" })).unwrap();
            let decide = |decision: &str| json!({ "decision": decision, "note": "so" });
            on("/v1/approvals/R/decision", decide("approve"), decide("deny"))
        }
        "/v1/policy/evaluate" => {
            let action = |it: &str| json!({ "action": it, "pack": "mission" });
            on("/v1/policy/evaluate", action("shell"), action("email"))
        }
        "/v1/policy/request" => {
            let action = |it: &str| json!({ "action": it, "pack": "mission" });
            on("/v1/policy/request", action("shell"), action("email"))
        }
        "/v1/runs/{id}/steer" => {
            start_run(ground, "R-2");
            let message = |text: &str| json!({ "text": text });
            on("/v1/runs/R-2/steer", message("one"), message("two"))
        }
        "/v1/runs/{id}/stop" => {
            start_run(ground, "R-3");
            let reason = |text: &str| json!({ "reason": text });
            on("/v1/runs/R-3/stop", reason("one"), reason("two"))
        }
        "/v1/runs/{id}/apply" => {
            thing(owner, "worked-on");
            start_run(ground, "R-1");
            let done = |size: u64| json!({ "action": "done", "values": { "output": size } });
            on("/v1/runs/R-1/apply", done(3), done(4))
        }
        "/v1/effects/take" => {
            thing(owner, "fetched");
            (0..2).for_each(|_| drop(fire(owner, "fetched", "fetch")));
            on("/v1/effects/take", json!({ "limit": 1 }), json!({ "limit": 2 }))
        }
        "/v1/effects/{id}/result" => {
            thing(owner, "answered");
            fire(owner, "answered", "fetch");
            let taken = owner.post("/v1/effects/take", &json!({ "limit": 200 })).unwrap().body;
            let items = taken["items"].as_array().unwrap();
            let held = items.iter().find(|it| it["entity"] == "answered").unwrap().clone();
            let path = format!("/v1/effects/{}/result", held["id"]);
            let result = |ok: bool| json!({ "ok": ok, "detail": {}, "fence": held["fence"] });
            on(&path, result(true), result(false))
        }
        "/v1/webhooks/{id}/replay" => {
            let hook = json!({ "url": "https://receiver.invalid/", "events": ["ERASED"] });
            let made = owner.post("/v1/webhooks", &hook).unwrap().body;
            let path = format!("/v1/webhooks/{}/replay", made["details"]["id"].as_str().unwrap());
            on(&path, json!({}), json!({ "seqs": [1] }))
        }
        "/v1/tokens/{id}/replace" => {
            let token = json!({ "actor": "owner", "kind": "human", "roles": ["admin"] });
            let made = owner.post("/v1/tokens", &token).unwrap().body;
            on(
                &format!("/v1/tokens/{}/replace", made["details"]["id"].as_str().unwrap()),
                json!({}),
                Json::Null,
            )
        }
        "/v1/tokens/{id}/extend" => {
            let token = json!({ "actor": "boss", "kind": "agent", "for": ["coder-*"] });
            let boss = owner.post("/v1/tokens", &token).unwrap().body;
            let boss = ground.client(boss["token"].as_str().unwrap());
            let made = boss.post("/v1/tokens", &json!({ "actor": "coder-1", "kind": "agent" })).unwrap().body;
            let path = format!("/v1/tokens/{}/extend", made["details"]["id"].as_str().unwrap());
            on(&path, json!({}), Json::Null)
        }
        "/v1/archive" => on("/v1/archive", json!({ "olderThan": "900d" }), json!({ "olderThan": "901d" })),
        "/v1/clock/advance" => on("/v1/clock/advance", json!({ "by": "1h" }), json!({ "by": "2h" })),
        other => panic!("POST {other} is new: say here how it is asked for with a key"),
    }
}

#[test]
fn the_same_key_counts_once_on_every_post() {
    let ground = ground();
    let owner = &ground.owner;
    let document = serde_json::to_value(trackside_server::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let posts: BTreeSet<&str> =
        paths.iter().filter(|(_, it)| it.get("post").is_some()).map(|(path, _)| path.as_str()).collect();
    let special = [SYSTEM_CLOCK, TRANSCRIPT];
    for route in
        posts.iter().filter(|it| !ENDS.contains(it) && !SECRETS.contains(it) && !special.contains(it))
    {
        let declared = document["paths"][route]["post"]["parameters"].to_string();
        assert!(declared.contains("Idempotency-Key"), "{route} does not say that it takes a key");
        let (path, body, other) = route_request(&ground, route);
        let key = format!("key-of-{route}");
        let first = post_with_key(owner, &path, &body, &key).unwrap_or_else(|it| panic!("{route}: {it:#?}"));
        let stand = |ground: &RestServer| {
            let backups = std::fs::read_dir(ground.data.join("backups")).map_or(0, Iterator::count);
            (last(&ground.owner), ground.owner.get("/v1/clock").unwrap().body, backups)
        };
        // Values that change with the time are those of the first answer.
        owner.post("/v1/clock/advance", &json!({ "by": "7m" })).unwrap();
        let before = stand(&ground);
        let mut again = post_with_key(owner, &path, &body, &key)
            .unwrap_or_else(|it| panic!("{route} again: {it:#?}"))
            .body;
        assert_eq!(stand(&ground), before, "{route} did something again");
        let mut expected = first.body.clone();
        match expected.get("results").is_some() {
            true => {
                let results = expected["results"].as_array_mut().unwrap();
                results.iter_mut().for_each(|it| it["replayed"] = json!(true));
            }
            false => {
                assert_eq!(
                    again["replayed"].take(),
                    json!(true),
                    "{route} does not say that it was done before"
                );
                again.as_object_mut().unwrap().remove("replayed");
                expected.as_object_mut().unwrap().remove("replayed");
            }
        }
        assert_eq!(again, expected, "{route} is not the first answer");
        let conflict = (409, "idempotency-conflict".to_owned());
        if !other.is_null() {
            assert_eq!(why(post_with_key(owner, &path, &other, &key)), conflict, "{route} with another body");
        }
        let elsewhere = match *route {
            "/v1/sweep" => ("/v1/clock/advance", json!({ "by": "1h" })),
            _ => ("/v1/sweep", json!({})),
        };
        assert_eq!(
            why(post_with_key(owner, elsewhere.0, &elsewhere.1, &key)),
            conflict,
            "{route}, then another route"
        );
        let create = json!({ "fields": { "size": 77 } });
        assert_eq!(
            why(post_with_key(owner, "/v1/entities/once.thing", &create, &key)),
            conflict,
            "{route}, then a command"
        );
        assert_eq!(stand(&ground), before, "{route}: a conflict did something");
    }
}

/// The request body of a route whose answer contains a secret.
fn secret(route: &str) -> Json {
    match route {
        "/v1/webhooks" => json!({ "url": "https://receiver.invalid/", "events": ["ERASED"] }),
        "/v1/tokens" => json!({ "actor": "ada", "kind": "agent" }),
        "/v1/tokens/rotate" => json!({}),
        "/v1/sign-in-links" => json!({ "actor": "pia" }),
        other => panic!("POST {other} is new: say here how it is asked for"),
    }
}

#[test]
fn a_key_is_for_one_request_with_or_without_a_secret() {
    let ground = ground();
    let conflict = (409, "idempotency-conflict".to_owned());
    let size = json!({ "size": 3 });
    let batch = json!({ "commands": [{ "lifecycle": "once.thing", "fields": size }] });
    let bring =
        |id: &str| json!({ "entities": [{ "lifecycle": "once.thing", "id": id, "origin": "there" }] });
    // One is a command, two store the digest of their request, one has its answer in memory.
    let others = |route: &str| {
        [
            ("/v1/entities/once.thing", json!({ "fields": size })),
            ("/v1/batch", batch.clone()),
            ("/v1/import", bring(&route.replace('/', "_"))),
            ("/v1/clock/advance", json!({ "by": "1m" })),
        ]
    };
    let (owner, [(create, created), ..]) = (&ground.owner, others(""));
    let stand = || (last(owner), owner.get("/v1/clock").unwrap().body);
    for route in SECRETS {
        let secret_of = secret(route);
        for (path, body) in others(route) {
            // Either of them first, then the other one.
            for (first, second) in
                [((path, &body), (*route, &secret_of)), ((*route, &secret_of), (path, &body))]
            {
                let key = format!("{}-then-{}", first.0, second.0);
                post_with_key(owner, first.0, first.1, &key).unwrap_or_else(|it| panic!("{key}: {it:#?}"));
                let before = stand();
                assert_eq!(why(post_with_key(owner, second.0, second.1, &key)), conflict, "{key}");
                assert_eq!(stand(), before, "{key}: a conflict did something");
            }
        }
        for other in SECRETS.iter().filter(|it| it != &route) {
            let key = format!("{route}-then-{other}");
            post_with_key(owner, route, &secret_of, &key).unwrap();
            assert_eq!(why(post_with_key(owner, other, &secret(other), &key)), conflict, "{key}");
        }
        // Another actor has its own keys.
        let root = ground.actor(json!({ "actor": "root", "kind": "human", "roles": ["admin"] }));
        post_with_key(&root, route, &secret_of, &format!("{create}-then-{route}")).unwrap();
    }
    // The keys of the journal are known after a restart.
    let ground = ground.restart();
    for route in SECRETS {
        let key = format!("{route}-then-{create}");
        assert_eq!(why(post_with_key(&ground.owner, create, &created, &key)), conflict, "{key}");
        let key = format!("{create}-then-{route}");
        assert_eq!(why(post_with_key(&ground.owner, route, &secret(route), &key)), conflict, "{key}");
    }
}

#[test]
fn commands_of_a_batch_share_one_key() {
    let ground = ground();
    let owner = &ground.owner;
    let create = |size: u64| json!({ "lifecycle": "once.thing", "fields": { "size": size, "weight": 9 } });
    let ids = |told: &Json| -> Vec<String> {
        let results = told["results"].as_array().unwrap();
        results.iter().map(|it| it["entity"]["id"].as_str().unwrap_or_default().to_owned()).collect()
    };
    for atomic in [false, true] {
        let key = format!("batch-{atomic}");
        let batch = |commands: Vec<Json>| json!({ "commands": commands, "atomic": atomic });
        let body = batch(vec![create(1), create(2)]);
        let first = post_with_key(owner, "/v1/batch", &body, &key).unwrap().body;
        let again = post_with_key(owner, "/v1/batch", &body, &key).unwrap().body;
        assert_eq!(ids(&first), ids(&again));
        for result in again["results"].as_array().unwrap() {
            assert_eq!(
                (&result["replayed"], &result["ignored"]),
                (&json!(true), &json!(["weight"])),
                "{result:#}"
            );
        }
        let count = || each(&owner.get("/v1/entities/once.thing?limit=200").unwrap().body, "id").len();
        let before = count();
        let conflict = (409, "idempotency-conflict".to_owned());
        for other in [
            batch(vec![create(1), create(2), create(3)]),
            batch(vec![create(2)]),
            batch(vec![create(2), create(1)]),
        ] {
            assert_eq!(why(post_with_key(owner, "/v1/batch", &other, &key)), conflict);
        }
        let single = json!({ "fields": { "size": 1, "weight": 9 } });
        assert_eq!(why(post_with_key(owner, "/v1/entities/once.thing", &single, &key)), conflict);
        assert_eq!(count(), before, "a conflict carries nothing out");
        post_with_key(owner, "/v1/entities/once.thing", &single, &format!("single-{atomic}")).unwrap();
        assert_eq!(why(post_with_key(owner, "/v1/batch", &body, &format!("single-{atomic}"))), conflict);
        assert_eq!(count(), before + 1);
    }
    // A refused request may be tried again under its key, an accepted one not.
    thing(owner, "taken");
    fire(owner, "taken", "end");
    let both = json!({ "commands": [
        { "lifecycle": "once.thing", "id": "later", "event": "take" },
        { "lifecycle": "once.thing", "id": "early", "fields": { "size": 1 } },
    ] });
    let first = post_with_key(owner, "/v1/batch", &both, "partly").unwrap().body;
    assert_eq!((&first["results"][0]["status"], &first["results"][1]["status"]), (&json!(404), &json!(201)));
    thing(owner, "later");
    let again = post_with_key(owner, "/v1/batch", &both, "partly").unwrap().body;
    assert_eq!(
        (&again["results"][0]["status"], &again["results"][0]["replayed"]),
        (&json!(200), &json!(false))
    );
    assert_eq!(again["results"][1]["replayed"], json!(true));
    let third = post_with_key(owner, "/v1/batch", &both, "partly").unwrap().body;
    assert_eq!(third["results"][0]["replayed"], json!(true));
}

#[test]
fn a_repeated_batch_is_recognised_after_a_restart() {
    let ground = ground();
    let create = json!({ "lifecycle": "once.thing", "fields": { "size": 1 } });
    let body = json!({ "commands": [create, create] });
    let first = post_with_key(&ground.owner, "/v1/batch", &body, "kept").unwrap().body;
    let ground = ground.restart();
    let again = post_with_key(&ground.owner, "/v1/batch", &body, "kept").unwrap().body;
    for place in 0..2 {
        assert_eq!(first["results"][place]["entity"]["id"], again["results"][place]["entity"]["id"]);
        assert_eq!(again["results"][place]["replayed"], json!(true));
    }
    let longer = json!({ "commands": [create, create, create] });
    assert_eq!(why(post_with_key(&ground.owner, "/v1/batch", &longer, "kept")).0, 409);
}

#[test]
fn a_concurrent_request_with_the_same_key_waits_for_the_first() {
    let ground = ground();
    let before = ground.owner.get("/v1/clock").unwrap().body["now"].clone();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                post_with_key(&ground.owner, "/v1/clock/advance", &json!({ "by": "1h" }), "one").unwrap()
            });
        }
    });
    let after = ground.owner.get("/v1/clock").unwrap().body["now"].clone();
    assert_eq!((before, after), (json!("2026-01-01T00:00:00Z"), json!("2026-01-01T01:00:00Z")));
}
