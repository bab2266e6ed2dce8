//! Metrics for monitoring: who may see them, their values, and their number.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::ground::{RestServer, refused};

fn metrics(ground: &RestServer) -> String {
    String::from_utf8(ground.owner.get_bytes("/metrics").unwrap()).unwrap()
}

/// Samples by name and labels.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|it| !it.starts_with('#'));
    lines
        .map(|it| {
            let (name, value) = it.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap_or_else(|_| panic!("{it}")))
        })
        .collect()
}

fn value(text: &str, name: &str) -> f64 {
    *samples(text).get(name).unwrap_or_else(|| panic!("there is no {name} in\n{text}"))
}

fn create(ground: &RestServer, id: &str) {
    let task = json!({ "id": id, "fields": { "title": "Find the way" } });
    ground.owner.post("/v1/entities/mission.task", &task).unwrap_or_else(|it| panic!("{it:#?}"));
}

#[test]
fn metrics_need_a_token_unless_they_are_open() {
    let closed = RestServer::new();
    let answer = closed.raw("GET /metrics HTTP/1.1", b"");
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")));
    let open = RestServer::set_up(|options| options.open_metrics = true);
    let answer = open.raw("GET /metrics HTTP/1.1", b"");
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("text/plain; version=0.0.4; charset=utf-8"))
    );
    assert_eq!(open.raw("GET /v1/stats HTTP/1.1", b"").status, 401, "nothing else is");
    let accept = "\r\nAccept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    let answer = open.raw(&format!("GET /metrics HTTP/1.1{accept}"), b"");
    assert!(
        answer.header("content-type").unwrap().starts_with("application/openmetrics-text; version=1.0.0")
    );
    assert!(String::from_utf8(answer.body).unwrap().contains("# EOF\n"));
}

#[test]
fn metrics_count_the_work() {
    let ground = RestServer::new();
    let before = metrics(&ground);
    (0..3).for_each(|it| create(&ground, &format!("T-{it}")));
    let problem = refused(
        ground.owner.post("/v1/entities/mission.task", &json!({ "id": "T-1", "fields": { "title": "x" } })),
    );
    assert_eq!(problem.code, "already-exists");
    let key = [("Idempotency-Key", "once")];
    for _ in 0..2 {
        let task = json!({ "id": "T-9", "fields": { "title": "Once" } });
        ground.owner.post_with("/v1/entities/mission.task", &task, &key).unwrap();
    }
    ground.owner.get("/v1/audit/verify").unwrap();
    ground.owner.post("/v1/backup", &json!({ "to": "copy" })).unwrap();
    let after = metrics(&ground);
    let more = |name: &str| value(&after, name) - samples(&before).get(name).copied().unwrap_or_default();
    assert_eq!(more("trackside_commands_total{outcome=\"accepted\"}"), 4.0);
    assert_eq!(more("trackside_commands_total{outcome=\"refused\"}"), 1.0);
    assert_eq!(more("trackside_commands_total{outcome=\"replayed\"}"), 1.0);
    assert_eq!(more("trackside_commands_total{outcome=\"failed\"}"), 0.0);
    assert_eq!(more("trackside_refusals_total{lifecycle=\"mission.task\",code=\"already-exists\"}"), 1.0);
    assert_eq!(more("trackside_journal_entries_total{event=\"CREATED\"}"), 4.0);
    becomes(&ground, "trackside_entities{lifecycle=\"mission.task\",state=\"INBOX\"}", 4.0);
    becomes(&ground, "trackside_entities{lifecycle=\"mission.task\",state=\"DONE\"}", 0.0);
    let seq = ground.owner.get("/readyz").unwrap().body["seq"].as_f64().unwrap();
    assert_eq!(value(&after, "trackside_journal_sequence"), seq);
    let commits = more("trackside_commit_duration_seconds_count");
    assert!((1.0..=4.0).contains(&commits), "{commits}");
    assert_eq!(more("trackside_commit_commands_count"), commits);
    assert_eq!(
        (value(&after, "trackside_queue_depth"), value(&after, "trackside_queue_limit")),
        (0.0, 8_192.0)
    );
    let posted = |status: u16| {
        format!(
            "trackside_http_requests_total{{route=\"/v1/entities/{{lifecycle}}\",method=\"POST\",status=\"{status}\"}}"
        )
    };
    assert_eq!((value(&after, &posted(201)), value(&after, &posted(409))), (5.0, 1.0));
    let took =
        "trackside_http_request_duration_seconds_count{route=\"/v1/entities/{lifecycle}\",method=\"POST\"}";
    assert_eq!(value(&after, took), 6.0);
    assert_eq!(value(&before, "trackside_journal_verified_timestamp_seconds"), 0.0);
    assert!(value(&after, "trackside_journal_verified_timestamp_seconds") > 1.7e9);
    assert!(value(&after, "trackside_backup_timestamp_seconds") > 1.7e9);
    assert_eq!(value(&after, "trackside_journal_damaged"), 0.0);
    assert_eq!(value(&after, "trackside_store_available"), 1.0);
    assert_eq!(value(&after, "trackside_http_requests_under_way"), 1.0, "the one that asks");
}

#[test]
fn timers_leases_and_effects_are_counted_as_they_come_and_go() {
    let ground = RestServer::new();
    let yard = "lifecycle: yard.job\nabout: A job.\ncreate: { by: human }\n\
        states: { OPEN: { initial: true }, DONE: { final: true, outcome: success } }\n\
        slots: { work: { for: 30m } }\neffects: { ship: {} }\n\
        transitions:\n  hold: { from: OPEN, by: human, lease: work }\n  send: { from: OPEN, by: human, effects: [ { effect: ship } ] }\n  \
        finish: { from: OPEN, to: DONE, by: human }\n";
    let pack = json!({ "files": { "pack.yaml": "pack: yard\nversion: 1\nabout: A yard.\n", "lifecycles/job.yaml": yard } });
    ground.owner.put("/v1/packs/yard", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    let fire = |event: &str| {
        ground
            .owner
            .post("/v1/entities/yard.job/J-1/transitions", &json!({ "event": event }))
            .unwrap_or_else(|it| panic!("{it:#?}"));
    };
    let becomes = |name: &str, wanted: f64| becomes(&ground, name, wanted);
    ground.owner.post("/v1/entities/yard.job", &json!({ "id": "J-1" })).unwrap();
    let timers = value(&metrics(&ground), "trackside_timers_pending");
    fire("hold");
    becomes("trackside_leases", 1.0);
    becomes("trackside_timers_pending", timers + 1.0);
    fire("send");
    becomes("trackside_effects_waiting", 1.0);
    let fired = value(&metrics(&ground), "trackside_timer_lateness_seconds_count");
    ground.owner.post("/v1/clock/advance", &json!({ "by": "20m" })).unwrap();
    becomes("trackside_effect_oldest_seconds", 1_200.0);
    becomes("trackside_leases", 1.0);
    ground.owner.post("/v1/clock/advance", &json!({ "by": "20m" })).unwrap();
    becomes("trackside_leases", 0.0);
    assert!(value(&metrics(&ground), "trackside_timer_lateness_seconds_count") > fired);
    becomes("trackside_timer_overdue_seconds", 0.0);
    fire("finish");
    becomes("trackside_entities{lifecycle=\"yard.job\",state=\"DONE\"}", 1.0);
    // It was open for 40 minutes.
    let stay = |part: &str, more: &str| {
        format!("trackside_time_in_state_seconds_{part}{{lifecycle=\"yard.job\",state=\"OPEN\"{more}}}")
    };
    // A state that no entity has left has no series.
    while !metrics(&ground).contains(&stay("count", "")) {
        std::thread::yield_now();
    }
    becomes(&stay("count", ""), 1.0);
    becomes(&stay("sum", ""), 2_400.0);
    becomes(&stay("bucket", ",le=\"900\""), 0.0);
    becomes(&stay("bucket", ",le=\"3600\""), 1.0);
    becomes(&stay("bucket", ",le=\"2592000\""), 1.0);
}

/// Waits until a metric has this value. Projections are a moment behind, and a survey is cached for twenty
/// times the time it took.
fn becomes(ground: &RestServer, name: &str, wanted: f64) {
    for _ in 0..3_000 {
        if value(&metrics(ground), name) == wanted {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("{name} is {}, not {wanted}", value(&metrics(ground), name));
}

#[test]
fn alerts_are_counted_until_they_are_resolved() {
    let ground = RestServer::new();
    create(&ground, "T-1");
    let open = |seen: bool| format!("trackside_alerts_open{{severity=\"critical\",acknowledged=\"{seen}\"}}");
    becomes(&ground, &open(false), 0.0);
    let correction = json!({ "fields": { "title": "y" }, "reason": "so that people look" });
    ground.owner.post("/v1/entities/mission.task/T-1/correct", &correction).unwrap();
    becomes(&ground, &open(false), 1.0);
    ground.owner.post("/v1/clock/advance", &json!({ "by": "90s" })).unwrap();
    becomes(&ground, "trackside_alert_oldest_seconds", 90.0);
    let alert =
        ground.owner.get("/v1/alerts").unwrap().body["items"][0]["alertId"].as_str().unwrap().to_owned();
    ground.owner.post(&format!("/v1/alerts/{alert}/acknowledge"), &json!({})).unwrap();
    becomes(&ground, &open(true), 1.0);
    becomes(&ground, &open(false), 0.0);
    becomes(&ground, "trackside_alert_oldest_seconds", 0.0);
    ground.owner.post(&format!("/v1/alerts/{alert}/resolve"), &json!({})).unwrap();
    becomes(&ground, &open(true), 0.0);
}

#[test]
fn a_tampered_journal_shows_in_the_metrics() {
    let ground = RestServer::new();
    create(&ground, "T-1");
    let file = rusqlite::Connection::open(ground.data.join("journal.db")).unwrap();
    let sql = "UPDATE journal SET payload = replace(payload, 'Find the way', 'Lose the way') WHERE payload LIKE '%Find the way%'";
    assert_eq!(file.execute(sql, []).unwrap(), 1);
    ground.owner.get("/v1/audit/verify").unwrap();
    let text = metrics(&ground);
    assert_eq!(value(&text, "trackside_journal_damaged"), 1.0);
    assert_eq!(value(&text, "trackside_journal_verified_timestamp_seconds"), 0.0);
}

#[test]
fn nothing_is_rebuilt_from_an_altered_journal() {
    for change in [
        "payload = replace(payload, 'Find the way', 'Lose the way')",
        "header = replace(header, 'owner', 'other')",
    ] {
        let ground = RestServer::new();
        create(&ground, "T-1");
        let sweep = || ground.owner.post("/v1/sweep", &json!({})).unwrap().body;
        // Unflushed entries are not compared.
        becomes(&ground, "trackside_projections_behind_entries", 0.0);
        let sound = sweep();
        assert_eq!((&sound["mended"], &sound["forged"]), (&json!(0), &json!(0)), "{sound}");
        let file = rusqlite::Connection::open(ground.data.join("journal.db")).unwrap();
        let sql = format!("UPDATE journal SET {change} WHERE payload LIKE '%Find the way%'");
        assert_eq!(file.execute(&sql, []).unwrap(), 1);
        // The stored row now also differs from the journal.
        let state = rusqlite::Connection::open(ground.data.join("state.db")).unwrap();
        state.execute("UPDATE entity SET entered_at = entered_at + 1 WHERE id = 'T-1'", []).unwrap();
        let told = sweep();
        assert_eq!((&told["mended"], &told["forged"]), (&json!(0), &json!(1)), "{change}: {told}");
        let task = ground.owner.get("/v1/entities/mission.task/T-1").unwrap().body;
        assert_eq!(task["fields"]["title"], "Find the way");
        assert_eq!(value(&metrics(&ground), "trackside_journal_damaged"), 1.0);
    }
}

#[test]
fn no_label_takes_values_from_requests() {
    let ground = RestServer::new();
    let count = || samples(&metrics(&ground)).len();
    create(&ground, "T-0");
    let odd = |n: usize| {
        create(&ground, &format!("T-odd-{n}"));
        refused(ground.owner.get(&format!("/v1/entities/mission.task/none-{n}")));
        refused(ground.owner.get(&format!("/nowhere/{n}")));
        refused(ground.owner.post(&format!("/v1/entities/made.up{n}"), &json!({})));
        ground.raw(&format!("MADE{n} /v1/stats HTTP/1.1"), b"");
        refused(
            ground
                .owner
                .post("/v1/entities/mission.task/T-0/transitions", &json!({ "event": format!("e{n}") })),
        );
    };
    let inbox = "trackside_entities{lifecycle=\"mission.task\",state=\"INBOX\"}";
    odd(0);
    becomes(&ground, inbox, 2.0);
    let before = count();
    (1..20).for_each(odd);
    becomes(&ground, inbox, 21.0);
    assert_eq!(count(), before);
    let text = metrics(&ground);
    assert!(!text.contains("T-odd") && !text.contains("made.up") && !text.contains("nowhere"), "{text}");
    assert!(!text.contains("access."), "the server's own affairs are not counted: {text}");
}

/// Names of metrics in a text.
fn spoken_of(text: &str) -> BTreeSet<String> {
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let words = text.split(|it| !is_part(it));
    let ours = words.filter(|it| it.starts_with("trackside_") || it.starts_with("process_"));
    ours.map(str::to_owned).collect()
}

#[test]
fn alert_rules_and_dashboard_use_existing_metrics() {
    let ground = RestServer::new();
    create(&ground, "T-0");
    refused(
        ground.owner.post("/v1/entities/mission.task", &json!({ "id": "T-0", "fields": { "title": "x" } })),
    );
    // Metrics per lifecycle appear once the lifecycle has entries.
    let ready = json!({ "event": "cancel", "reason": "never mind" });
    ground
        .owner
        .post("/v1/entities/mission.task/T-0/transitions", &ready)
        .unwrap_or_else(|it| panic!("{it:#?}"));
    let text = metrics(&ground);
    let told: BTreeSet<String> =
        samples(&text).into_keys().map(|it| it.split('{').next().unwrap().to_owned()).collect();
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let mut used = BTreeSet::new();
    for file in ["prometheus/rules.yaml", "grafana/trackside.json"] {
        let names = spoken_of(&std::fs::read_to_string(deploy.join(file)).unwrap());
        assert!(names.len() > 8, "{file} speaks of {names:?}");
        let missing: Vec<_> = names.difference(&told).collect();
        assert!(missing.is_empty(), "{file} uses unknown metrics: {missing:?}");
        used.extend(names);
    }
    // The page about metrics names every one.
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operating/observing.md");
    let described = spoken_of(&std::fs::read_to_string(page).unwrap());
    let families = text
        .lines()
        .filter_map(|it| it.strip_prefix("# TYPE "))
        .map(|it| it.split(' ').next().unwrap().to_owned());
    let unnamed: Vec<String> = families.filter(|it| !described.contains(it)).collect();
    assert!(unnamed.is_empty(), "docs/operating/observing.md does not speak of {unnamed:?}");
}

#[test]
fn the_dashboard_layout_is_valid() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/grafana/trackside.json");
    let board: Json = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|it| it["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "every panel has a number of its own");
    let spoken_of = spoken_of(&board.to_string());
    for family in ["trackside_webhooks", "trackside_webhook_messages", "trackside_webhook_attempts_total"] {
        assert!(spoken_of.contains(family), "{family} is on no panel");
    }
    // A panel behind another one is not visible.
    let mut taken = BTreeSet::new();
    for panel in panels {
        let number = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        let (x, y) = (number("x"), number("y"));
        for place in (x..x + number("w")).flat_map(|x| (y..y + number("h")).map(move |y| (x, y))) {
            assert!(taken.insert(place), "{} lies on another: {place:?}", panel["title"]);
        }
    }
    for panel in panels.iter().filter(|it| it["type"] != "row") {
        assert!(panel["title"].is_string() && !panel["targets"].as_array().unwrap().is_empty(), "{panel:#}");
        let place = &panel["gridPos"];
        assert!(place["x"].as_u64().unwrap() + place["w"].as_u64().unwrap() <= 24, "{panel:#}");
    }
}
