//! Alerts: people see them, and see to them.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value as Json, json};

use crate::ground::{RestServer, each, refused, why};

/// An alert of a task, and its number.
fn raise_alert(ground: &RestServer, id: &str) -> String {
    let owner = &ground.owner;
    owner.post("/v1/entities/mission.task", &json!({ "id": id, "fields": { "title": "x" } })).unwrap();
    correct_entity(ground, id)
}

/// A correction raises one.
fn correct_entity(ground: &RestServer, id: &str) -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let body = json!({ "fields": { "title": format!("x {number}") }, "reason": "so that people look" });
    ground.owner.post(&format!("/v1/entities/mission.task/{id}/correct"), &body).unwrap();
    let all = ground.owner.get("/v1/alerts?limit=200").unwrap().body;
    let mine = all["items"].as_array().unwrap().iter().rfind(|it| it["id"] == id).cloned().unwrap();
    assert_eq!(mine["kind"], "corrected");
    assert_eq!(mine["severity"], "critical");
    assert_eq!((&mine["lifecycle"], &mine["acknowledgedBy"]), (&json!("mission.task"), &Json::Null));
    assert!(mine["since"].is_string() && mine["message"].as_str().unwrap().contains("so that people look"));
    mine["alertId"].as_str().unwrap().to_owned()
}

#[test]
fn the_first_acknowledgement_stays_and_a_resolution_ends_the_alert() {
    let ground = RestServer::new();
    let alert = raise_alert(&ground, "T-1");
    let (pia, tom) = (ground.person("pia"), ground.person("tom"));
    let to = |what: &str| format!("/v1/alerts/{alert}/{what}");
    let told = pia.post(&to("acknowledge"), &json!({ "note": "I am on it" })).unwrap().body;
    assert_eq!((&told["changed"], &told["alert"]["acknowledgedBy"]), (&json!(true), &json!("pia")));
    assert_eq!(told["alert"]["acknowledgedNote"], "I am on it");
    let again = tom.post(&to("acknowledge"), &json!({})).unwrap().body;
    assert_eq!((&again["changed"], &again["alert"]["acknowledgedBy"]), (&json!(false), &json!("pia")));
    assert_eq!(ground.owner.get("/v1/alerts").unwrap().body["items"][0]["acknowledgedBy"], "pia");

    // A key counts once.
    let key = [("Idempotency-Key", "k-1")];
    let done = tom.post_with(&to("resolve"), &json!({ "note": "set right" }), &key).unwrap().body;
    assert_eq!((&done["changed"], &done["alert"]["resolvedBy"]), (&json!(true), &json!("tom")));
    let same = tom.post_with(&to("resolve"), &json!({ "note": "set right" }), &key).unwrap().body;
    assert_eq!((&same["replayed"], &same["alert"]), (&json!(true), &done["alert"]));
    let late = pia.post(&to("resolve"), &json!({})).unwrap().body;
    assert_eq!((&late["changed"], &late["alert"]["resolvedBy"]), (&json!(false), &json!("tom")));
    let late = refused(pia.post(&to("acknowledge"), &json!({})));
    assert_eq!((late.status, late.code.as_str()), (409, "alert-resolved"));
    assert!(late.detail.contains("tom resolved"), "{}", late.detail);

    assert!(each(&ground.owner.get("/v1/alerts").unwrap().body, "id").is_empty());
    let all = ground.owner.get("/v1/alerts?all=true").unwrap().body;
    assert_eq!(each(&all, "resolvedBy"), ["tom"]);
    assert_eq!(all["items"][0]["resolvedNote"], "set right");
    // The same alert raised again is a new one, also after a restart.
    let second = correct_entity(&ground, "T-1");
    assert_ne!(second, alert);
    let ground = ground.restart();
    assert_eq!(each(&ground.owner.get("/v1/alerts").unwrap().body, "alertId"), [second.as_str()]);
    assert_eq!(each(&ground.owner.get("/v1/alerts?all=true").unwrap().body, "alertId").len(), 2);
    // The journal records who and when.
    let history = ground.owner.get("/v1/entities/mission.task/T-1/history").unwrap().body;
    let attended: Vec<(&str, &str)> = history["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["metadata"]["alert"].is_u64())
        .map(|it| (it["event"].as_str().unwrap(), it["actor"].as_str().unwrap()))
        .collect();
    assert_eq!(attended, [("ALERT_ACKNOWLEDGED", "pia"), ("ALERT_RESOLVED", "tom")]);
}

#[test]
fn only_people_attend_and_only_to_alerts() {
    let ground = RestServer::new();
    let alert = raise_alert(&ground, "T-1");
    let ada = ground.agent("ada", "mission:specialist");
    for what in ["acknowledge", "resolve"] {
        assert_eq!(
            why(ada.post(&format!("/v1/alerts/{alert}/{what}"), &json!({}))),
            (403, "not-permitted".into())
        );
        for id in ["1", "0", "99999999", "x", "18446744073709551616"] {
            let answer = ground.owner.post(&format!("/v1/alerts/{id}/{what}"), &json!({}));
            assert_eq!(why(answer), (404, "unknown-alert".into()), "{id}");
        }
        let long = "x".repeat(2_001);
        let answer = ground.owner.post(&format!("/v1/alerts/{alert}/{what}"), &json!({ "note": long }));
        assert_eq!(why(answer), (400, "invalid-body".into()));
    }
    assert_eq!(ground.owner.get("/v1/alerts").unwrap().body["items"][0]["acknowledgedBy"], Json::Null);
}

#[test]
fn alerts_are_filtered_by_entity() {
    let ground = RestServer::new();
    let first = raise_alert(&ground, "T-1");
    let second = correct_entity(&ground, "T-1");
    let pia = ground.person("pia");
    let said = |what: &str| {
        let told =
            pia.post(&format!("/v1/alerts/T-1/{what}"), &json!({})).unwrap_or_else(|it| panic!("{it:#?}"));
        (told.body["alert"]["alertId"].as_str().unwrap().to_owned(), told.body["changed"] == json!(true))
    };
    assert_eq!(said("acknowledge"), (first.clone(), true));
    assert_eq!(said("acknowledge"), (second.clone(), true));
    assert_eq!(said("acknowledge"), (second.clone(), false));
    assert_eq!(said("resolve"), (first, true));
    assert_eq!(said("resolve"), (second.clone(), true));
    assert_eq!(said("resolve"), (second, false));
    assert_eq!(why(pia.post("/v1/alerts/T-2/resolve", &json!({}))), (404, "unknown-alert".to_owned()));
}
