//! The manual clock under concurrent requests, the end of the calendar, and settings without sense.

use serde_json::json;

use crate::ground::{RestServer, refused};

#[test]
fn concurrent_moves_of_the_clock_add_up() {
    let ground = RestServer::new();
    let before = ground.owner.get("/v1/clock").unwrap().body["now"].as_str().unwrap().to_owned();
    assert_eq!(before, "2026-01-01T00:00:00Z");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let owner = &ground.owner;
            scope.spawn(move || owner.post("/v1/clock/advance", &json!({ "by": "10s" })).unwrap());
        }
    });
    assert_eq!(ground.owner.get("/v1/clock").unwrap().body["now"], "2026-01-01T00:01:20Z");
}

#[test]
fn nothing_leads_beyond_the_year_9999() {
    let ground = RestServer::new();
    let pack = "pack: late\nversion: 1\nabout: Jobs.\nsettings: { patience: { default: 1h } }\n";
    let job = "\
lifecycle: late.job
about: A job.
fields: { wait: { type: span }, until: { type: time } }
create: { by: human, takes: [wait, until] }
states: { OPEN: { initial: true }, DONE: { final: true, outcome: success } }
timers: { end: { after: 'wait == null ? settings.patience : wait + wait', then: done } }
transitions: { done: { from: OPEN, to: DONE, by: human || engine } }
";
    let pack = json!({ "files": { "pack.yaml": pack, "lifecycles/job.yaml": job } });
    ground.owner.put("/v1/packs/late", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    let create = |id: &str, fields: serde_json::Value| {
        ground.owner.post("/v1/entities/late.job", &json!({ "id": id, "fields": fields }))
    };
    let problem = refused(create("A", json!({ "wait": "3000000d" })));
    assert_eq!((problem.status, problem.code.as_str()), (422, "invalid-field"));
    assert_eq!(problem.errors[0].field.as_deref(), Some("wait"), "{problem:?}");
    assert!(problem.detail.contains("9999") || problem.errors[0].message.contains("9999"), "{problem:?}");
    // Short enough as a value, too long as a timer.
    let problem = refused(create("B", json!({ "wait": "2000000d" })));
    assert!(problem.errors[0].message.contains("The timer end"), "{problem:?}");
    let problem = refused(ground.owner.put("/v1/settings/late", &json!({ "patience": "3000000d" })));
    assert_eq!((problem.status, problem.code.as_str()), (422, "invalid-setting"), "{problem:?}");
    let shown = create("C", json!({ "wait": "1000000d" })).unwrap().body.to_string();
    assert!(!shown.contains('@'), "{shown}");
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let ground = RestServer::new();
    let set = |body: serde_json::Value| ground.owner.put("/v1/settings/coding", &body);
    let problem = refused(set(json!({ "lease_duration": "0s" })));
    assert_eq!((problem.status, problem.code.as_str()), (422, "invalid-setting"));
    let said: Vec<&str> = problem.errors.iter().map(|it| it.message.as_str()).collect();
    assert!(said.contains(&"lease_duration must be longer than 0s"), "{said:?}");
    assert!(said.contains(&"heartbeat_interval must be shorter than lease_duration"), "{said:?}");
    assert_eq!(refused(set(json!({ "heartbeat_interval": "30m" }))).status, 422);
    // Both together agree.
    set(json!({ "heartbeat_interval": "30m", "lease_duration": "2h" })).unwrap();
    assert_eq!(refused(set(json!({ "lease_duration": null }))).status, 422, "the default is shorter now");
    // Other settings are free.
    set(json!({ "draft_alarm": "1h" })).unwrap();
}

#[test]
fn the_entity_that_exists_once_is_created() {
    let ground = RestServer::new();
    let history = ground.owner.get("/v1/entities/mission.control/control/history").unwrap().body;
    let first = &history["items"][0];
    assert_eq!((&first["event"], &first["trigger"]), (&json!("CREATED"), &json!("create")), "{history}");
}

#[test]
fn a_weak_tag_is_no_version() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    owner.post("/v1/entities/mission.task", &json!({ "id": "T", "fields": { "title": "x" } })).unwrap();
    let cancel = json!({ "event": "cancel", "reason": "no" });
    let path = "/v1/entities/mission.task/T/transitions";
    let problem = refused(owner.post_with(path, &cancel, &[("If-Match", "W/\"1\"")]));
    assert_eq!((problem.status, problem.errors[0].field.as_deref()), (400, Some("If-Match")));
    owner.post_with(path, &cancel, &[("If-Match", "\"1\"")]).unwrap();
}

#[test]
fn pages_of_the_journal_lead_to_everything_that_an_actor_may_see() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let ada = ground.agent("ada", "mission:specialist");
    for number in 0..6 {
        let id = format!("T-{number}");
        owner.post("/v1/entities/mission.task", &json!({ "id": id, "fields": { "title": "x" } })).unwrap();
        let to = if number == 5 { "ada" } else { "bob" };
        let assign = json!({ "event": "assign", "fields": { "assigneeIds": [to] } });
        owner.post(&format!("/v1/entities/mission.task/{id}/transitions"), &assign).unwrap();
    }
    let (mut seen, mut cursor, mut short) = (Vec::new(), String::new(), false);
    loop {
        let page = ada.get(&format!("/v1/journal?limit=3{cursor}")).unwrap().body;
        let items = page["items"].as_array().unwrap();
        seen.extend(items.iter().map(|it| it["seq"].as_u64().unwrap()));
        let Some(next) = page["nextCursor"].as_str() else { break };
        short |= items.len() < 3;
        cursor = format!("&cursor={next}");
    }
    let whole = ada.get("/v1/journal?limit=200").unwrap().body;
    let whole: Vec<u64> =
        whole["items"].as_array().unwrap().iter().map(|it| it["seq"].as_u64().unwrap()).collect();
    assert_eq!(seen, whole);
    assert!(short, "some pages held fewer than the limit");
}

#[test]
fn violations_are_the_open_ones_unless_all_are_asked_for() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let pack = "pack: watch\nversion: 1\nabout: Jobs.\n";
    let job = "\
lifecycle: watch.job
about: A job.
fields: { size: { type: integer, default: 0 } }
create: { by: human, takes: [size] }
states: { OPEN: { initial: true }, DONE: { final: true, outcome: success } }
transitions: { resize: { from: OPEN, by: human, takes: [size] }, done: { from: OPEN, to: DONE, by: human } }
invariants: { small: { holds: size < 10, severity: warning, says: It is too large } }
";
    let pack = json!({ "files": { "pack.yaml": pack, "lifecycles/job.yaml": job } });
    owner.put("/v1/packs/watch", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    for id in ["A", "B"] {
        owner.post("/v1/entities/watch.job", &json!({ "id": id, "fields": { "size": 50 } })).unwrap();
    }
    owner.post("/v1/sweep", &json!({})).unwrap();
    let resize = json!({ "event": "resize", "fields": { "size": 1 } });
    owner.post("/v1/entities/watch.job/A/transitions", &resize).unwrap();
    owner.post("/v1/sweep", &json!({})).unwrap();
    let ids = |query: &str| {
        let page = owner.get(&format!("/v1/violations{query}")).unwrap().body;
        let ids = page["items"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(ids(""), ["B"]);
    assert_eq!(ids("?all=true"), ["A", "B"]);
}
