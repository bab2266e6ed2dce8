//! Webhook messages: signed, in order, at least once, and only visible data.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::http::HeaderValue;
use serde_json::{Value as Json, json};
use trackside_protocol::Client;
use trackside_server::WebhookOptions;

use crate::ground::{RestServer, each, refused, why};
use crate::receiver::Receiver;

/// Quick, and to receivers on this machine.
fn quick() -> WebhookOptions {
    WebhookOptions {
        allow_private: true,
        attempts: 3,
        first_wait: Duration::from_millis(20),
        longest_wait: Duration::from_millis(50),
        patience: Duration::from_secs(20),
        ..WebhookOptions::default()
    }
}

/// Adds one for tasks that are made; its id and its secret.
fn add(who: &Client, receiver: &Receiver) -> (String, String) {
    let body = json!({ "url": receiver.url, "lifecycles": ["mission.task"], "events": ["CREATED"] });
    let made = who.post("/v1/webhooks", &body).unwrap().body;
    let text = |it: &Json| it.as_str().unwrap().to_owned();
    (text(&made["details"]["id"]), text(&made["secret"]))
}

fn task(ground: &RestServer, id: &str) {
    let body = json!({ "id": id, "fields": { "title": format!("Task {id}") } });
    ground.owner.post("/v1/entities/mission.task", &body).unwrap();
}

fn entities(receiver: &Receiver, count: usize) -> Vec<String> {
    receiver.wait(count).iter().map(|it| it.entity()).collect()
}

/// Waits until `count` messages are in this state.
fn until(ground: &RestServer, webhook: &str, state: &str, count: usize) -> Json {
    for _ in 0..600 {
        let found =
            ground.owner.get(&format!("/v1/webhooks/{webhook}/deliveries?state={state}")).unwrap().body;
        if each(&found, "messageId").len() == count {
            return found;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let all = ground.owner.get(&format!("/v1/webhooks/{webhook}/deliveries")).unwrap().body;
    panic!("there are not {count} {state} messages: {all:#}");
}

#[test]
fn a_message_is_a_cloud_event_that_the_reference_library_accepts_and_nothing_else() {
    let ground = RestServer::telling(quick());
    let receiver = Receiver::willing();
    let (webhook, secret) = add(&ground.owner, &receiver);
    task(&ground, "T-1");
    let message = receiver.wait(1).remove(0);
    let event = message.json();
    let journal = ground.owner.get("/v1/journal?limit=200").unwrap().body;
    let entry = journal["items"].as_array().unwrap().iter().find(|it| it["id"] == "T-1").unwrap();
    assert_eq!(event["specversion"], "1.0");
    assert_eq!(event["type"], "dev.trackside.created");
    assert_eq!(event["subject"], "mission.task/T-1");
    assert_eq!(event["id"], entry["seq"].to_string());
    assert_eq!(event["time"], entry["timestamp"]);
    assert_eq!(event["datacontenttype"], "application/json");
    assert_eq!(event["data"], *entry, "as the journal has it");
    assert!(event["source"].as_str().unwrap().starts_with("urn:uuid:"));
    assert_eq!(message.line, "POST /hooks?of=ours");
    assert_eq!(message.header("content-type"), "application/cloudevents+json");
    assert_eq!(message.header("webhook-id"), format!("msg_{webhook}_{}", entry["seq"]));

    let verifier = standardwebhooks::Webhook::new(&secret).unwrap();
    verifier.verify(&message.body, &message.headers).unwrap();
    let mut body = message.body.clone();
    let at = body.windows(3).position(|it| it == b"T-1").unwrap();
    body[at + 2] = b'2';
    assert!(verifier.verify(&body, &message.headers).is_err(), "another body");
    for (name, change) in [
        (
            "webhook-timestamp",
            (|it: &str| (it.parse::<u64>().unwrap() + 1).to_string()) as fn(&str) -> String,
        ),
        ("webhook-timestamp", |it| (it.parse::<u64>().unwrap() - 600).to_string()),
        ("webhook-id", |it| format!("{it}0")),
        ("webhook-signature", |it| it.replacen(&it[3..5], if &it[3..5] == "AA" { "BB" } else { "AA" }, 1)),
    ] {
        let mut headers = message.headers.clone();
        let changed = change(message.header(name));
        headers.insert(name, HeaderValue::from_str(&changed).unwrap());
        assert!(verifier.verify(&message.body, &headers).is_err(), "{name} {changed}");
    }
    let other = standardwebhooks::Webhook::new("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").unwrap();
    assert!(other.verify(&message.body, &message.headers).is_err(), "another secret");

    // The secret is in its answer and nowhere else.
    let ground = ground.restart();
    task(&ground, "T-2");
    verifier.verify(&receiver.wait(2)[1].body, &receiver.wait(2)[1].headers).unwrap();
    let hidden = secret.strip_prefix("whsec_").unwrap();
    let mut said = vec![ground.owner.get("/v1/journal?limit=200").unwrap().body.to_string()];
    said.push(ground.owner.get("/v1/webhooks").unwrap().body.to_string());
    said.push(ground.owner.get(&format!("/v1/entities/access.webhook/{webhook}")).unwrap().body.to_string());
    assert!(said.iter().all(|it| it.contains(&webhook) && !it.contains(hidden)), "{said:#?}");
    for entry in std::fs::read_dir(&ground.data).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(hidden.len()).any(|it| it == hidden.as_bytes()), "{}", path.display());
        }
    }
}

#[test]
fn a_failed_message_is_retried_before_later_ones() {
    let ground = RestServer::telling(quick());
    let mut failures = 2;
    let receiver = Receiver::new(move |_| {
        failures -= 1;
        (if failures >= 0 { 500 } else { 204 }, String::new())
    });
    let (webhook, _) = add(&ground.owner, &receiver);
    for id in ["T-1", "T-2", "T-3"] {
        task(&ground, id);
    }
    assert_eq!(entities(&receiver, 5), ["T-1", "T-1", "T-1", "T-2", "T-3"]);
    let ids: Vec<String> = receiver.messages().iter().map(|it| it.header("webhook-id").to_owned()).collect();
    assert!(ids[0] == ids[1] && ids[1] == ids[2] && ids[2] != ids[3], "{ids:?}");
    let delivered = until(&ground, &webhook, "delivered", 3);
    assert_eq!(delivered["items"][0]["attempts"], 3);
    assert_eq!(delivered["items"][1]["attempts"], 1);
    assert_eq!(delivered["items"][0]["status"], 204);
}

#[test]
fn an_undeliverable_message_is_a_dead_letter_until_replayed() {
    let ground = RestServer::telling(quick());
    let receiver = Receiver::new(|it| (if it.entity() == "T-1" { 500 } else { 200 }, String::new()));
    let (webhook, _) = add(&ground.owner, &receiver);
    task(&ground, "T-1");
    task(&ground, "T-2");
    assert_eq!(entities(&receiver, 4), ["T-1", "T-1", "T-1", "T-2"]);
    let dead = until(&ground, &webhook, "dead", 1);
    assert_eq!((&dead["items"][0]["attempts"], &dead["items"][0]["status"]), (&json!(3), &json!(500)));
    assert_eq!(ground.owner.get(&format!("/v1/webhooks/{webhook}")).unwrap().body["dead"], 1);
    // A failing replay: it is tried once, and is dead again.
    let replay = format!("/v1/webhooks/{webhook}/replay");
    let told = ground.owner.post(&replay, &json!({})).unwrap().body;
    assert_eq!((&told["queued"], &told["enabled"]), (&json!(1), &json!(false)));
    receiver.wait(5);
    until(&ground, &webhook, "dead", 1);
    receiver.answer(|_| (200, String::new()));
    let seq = dead["items"][0]["seq"].clone();
    let none = ground.owner.post(&replay, &json!({ "seqs": [1] })).unwrap().body;
    assert_eq!(
        (&none["queued"], &none["passedOver"]),
        (&json!(0), &json!([1])),
        "there is no dead letter of it"
    );
    let beyond = refused(ground.owner.post(&replay, &json!({ "seqs": [seq, 999_999] })));
    assert_eq!((beyond.status, beyond.code.as_str()), (422, "beyond-the-end"));
    assert!(
        beyond.detail.contains("There is no entry 999999 yet: the journal ends with"),
        "{}",
        beyond.detail
    );
    assert_eq!(ground.owner.post(&replay, &json!({ "seqs": [seq] })).unwrap().body["queued"], 1);
    let heard = receiver.wait(6);
    assert_eq!(heard[5].header("webhook-id"), heard[0].header("webhook-id"));
    until(&ground, &webhook, "dead", 0);
    until(&ground, &webhook, "delivered", 2);
}

#[test]
fn deliveries_resume_after_a_restart() {
    let ground = RestServer::telling(WebhookOptions { attempts: 1_000, ..quick() });
    let receiver = Receiver::new(|_| (503, String::new()));
    let (webhook, _) = add(&ground.owner, &receiver);
    for n in 0..20 {
        task(&ground, &format!("T-{n:02}"));
    }
    receiver.wait(2);
    let ground = ground.restart();
    for n in 20..30 {
        task(&ground, &format!("T-{n:02}"));
    }
    let before = receiver.messages().len();
    receiver.wait(before + 1);
    receiver.answer(|_| (200, String::new()));
    until(&ground, &webhook, "delivered", 30);
    let mut taken: Vec<String> = receiver.messages().iter().map(|it| it.entity()).collect();
    taken.dedup();
    assert_eq!(taken, (0..30).map(|n| format!("T-{n:02}")).collect::<Vec<_>>(), "in order, none left out");
    // A delivered message is not sent again.
    let count = receiver.messages().len();
    let ground = ground.restart();
    task(&ground, "T-30");
    assert_eq!(entities(&receiver, count + 1).last().unwrap(), "T-30");
}

#[test]
fn a_receiver_that_answers_410_gets_no_messages_until_reactivated() {
    let ground = RestServer::telling(quick());
    let receiver = Receiver::new(|_| (410, String::new()));
    let (webhook, _) = add(&ground.owner, &receiver);
    let path = format!("/v1/webhooks/{webhook}");
    task(&ground, "T-1");
    receiver.wait(1);
    let mut told = json!({});
    for _ in 0..600 {
        told = ground.owner.get(&path).unwrap().body;
        if told["sends"] == json!(false) {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(told["why"].as_str().is_some_and(|it| it.contains("410")), "{told}");
    let ground = ground.restart();
    task(&ground, "T-2");
    receiver.answer(|_| (200, String::new()));
    let told = ground.owner.post(&format!("{path}/replay"), &json!({})).unwrap().body;
    assert_eq!(told["enabled"], true);
    assert_eq!(entities(&receiver, 3), ["T-1", "T-1", "T-2"], "nothing came while it was off");
    assert_eq!(ground.owner.get(&path).unwrap().body["sends"], true);
}

#[test]
fn redirects_are_not_followed_and_retry_after_is_respected() {
    let ground = RestServer::telling(WebhookOptions { attempts: 1_000, ..quick() });
    let elsewhere = Receiver::willing();
    let place = elsewhere.url.clone();
    let receiver = Receiver::new(move |_| (307, format!("Location: {place}\r\n")));
    let (webhook, _) = add(&ground.owner, &receiver);
    task(&ground, "T-1");
    receiver.wait(2);
    receiver.answer(|_| (503, "Retry-After: 3600\r\n".to_owned()));
    for _ in 0..600 {
        let failing = until(&ground, &webhook, "failing", 1);
        let it = &failing["items"][0];
        if it["status"] == 503 {
            let at = |name: &str| {
                trackside_lifecycle::time::Timestamp::parse(it[name].as_str().unwrap()).unwrap().0
            };
            assert!(at("nextAt") - at("at") >= 3_600_000, "{it}");
            assert!(elsewhere.messages().is_empty(), "it was followed");
            // A replay tries it at once.
            receiver.answer(|_| (200, String::new()));
            ground.owner.post(&format!("/v1/webhooks/{webhook}/replay"), &json!({})).unwrap();
            until(&ground, &webhook, "delivered", 1);
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it never failed with 503");
}

#[test]
fn a_slow_or_dead_receiver_delays_no_other() {
    let ground = RestServer::telling(quick());
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let slow = Receiver::new(move |_| {
        gone.recv().ok();
        (200, String::new())
    });
    // No server listens on this port.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let dead = json!({ "url": format!("http://127.0.0.1:{port}/"), "events": ["CREATED"] });
    ground.owner.post("/v1/webhooks", &dead).unwrap();
    let (webhook, _) = add(&ground.owner, &slow);
    let receiver = Receiver::willing();
    add(&ground.owner, &receiver);
    for n in 0..50 {
        task(&ground, &format!("T-{n:02}"));
    }
    assert_eq!(entities(&receiver, 50).len(), 50);
    assert!(slow.messages().is_empty(), "it has not answered once");
    drop(go);
    until(&ground, &webhook, "delivered", 50);
}

#[test]
fn private_addresses_get_no_request_unless_allowed() {
    let ground = RestServer::telling(WebhookOptions { allow_private: false, ..quick() });
    let receiver = Receiver::willing();
    let port = receiver.url.rsplit_once(':').unwrap().1.split('/').next().unwrap().to_owned();
    for url in [
        receiver.url.clone(),
        format!("https://127.0.0.1:{port}/"),
        format!("https://[::1]:{port}/"),
        format!("https://[::ffff:127.0.0.1]:{port}/"),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://10.1.2.3/".to_owned(),
    ] {
        let answer = ground.owner.post("/v1/webhooks", &json!({ "url": url }));
        assert_eq!(why(answer), (422, "invalid-webhook".to_owned()), "{url}");
    }
    // A name is resolved when it is connected to.
    let named = json!({ "url": format!("https://localhost:{port}/"), "events": ["CREATED"] });
    let made = ground.owner.post("/v1/webhooks", &named).unwrap().body;
    task(&ground, "T-1");
    let dead = until(&ground, made["details"]["id"].as_str().unwrap(), "dead", 1);
    let said = dead["items"][0]["why"].as_str().unwrap();
    assert!(said.contains("--allow-private-webhooks"), "{said}");
    assert!(receiver.messages().is_empty());
}

#[test]
fn a_webhook_sends_only_what_its_owner_may_see() {
    let ground = RestServer::telling(quick());
    let vault = "lifecycle: safe.box\nabout: A thing of somebody.\nread: actor.id == holder || (human && admin)\n\
         fields: { holder: { type: string } }\ncreate: { by: human, takes: [holder] }\n\
         states: { LAID: { initial: true } }\ntransitions: {}\n";
    let pack = "pack: safe\nversion: 1\nabout: Things of somebody.\n";
    let files = json!({ "files": { "pack.yaml": pack, "lifecycles/box.yaml": vault } });
    ground.owner.put("/v1/packs/safe", &files).unwrap_or_else(|it| panic!("{it:#?}"));
    let token = json!({ "actor": "pia", "kind": "human" });
    let made = ground.owner.post("/v1/tokens", &token).unwrap().body;
    let pia = ground.client(made["token"].as_str().unwrap());
    let (hers, all) = (Receiver::willing(), Receiver::willing());
    let of_it =
        |receiver: &Receiver| json!({ "url": receiver.url, "lifecycles": ["safe"], "audience": "all" });
    let webhook = pia.post("/v1/webhooks", &of_it(&hers)).unwrap().body["details"]["id"].clone();
    ground.owner.post("/v1/webhooks", &of_it(&all)).unwrap();
    let lay = |id: &str, holder: &str| {
        let body = json!({ "id": id, "fields": { "holder": holder } });
        ground.owner.post("/v1/entities/safe.box", &body).unwrap();
    };
    lay("B-1", "tom");
    lay("B-2", "pia");
    lay("B-3", "tom");
    lay("B-4", "pia");
    let told = |receiver: &Receiver, count: usize| -> BTreeSet<String> {
        receiver.wait(count).iter().map(|it| it.entity()).collect()
    };
    assert_eq!(told(&all, 4).len(), 4);
    assert_eq!(told(&hers, 2), BTreeSet::from(["B-2".to_owned(), "B-4".to_owned()]));
    // Others do not see it, and it ends with her token.
    assert_eq!(each(&pia.get("/v1/webhooks").unwrap().body, "holder"), ["pia"]);
    assert_eq!(each(&ground.owner.get("/v1/webhooks").unwrap().body, "holder").len(), 2);
    ground.owner.delete(&format!("/v1/tokens/{}", made["details"]["id"].as_str().unwrap())).unwrap();
    lay("B-5", "pia");
    told(&all, 5);
    let path = format!("/v1/webhooks/{}", webhook.as_str().unwrap());
    for _ in 0..600 {
        if ground.owner.get(&path).unwrap().body["sends"] == json!(false) {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let told = ground.owner.get(&path).unwrap().body;
    assert!(told["why"].as_str().is_some_and(|it| it.contains("token")), "{told}");
    assert_eq!(hers.messages().len(), 2, "a revoked token sends nothing");
    // Removed is removed.
    ground.owner.delete(&path).unwrap();
    assert_eq!(why(ground.owner.get(&path)).0, 404);
    assert_eq!(why(ground.owner.delete(&path)).0, 404);
}

#[test]
fn an_invalid_webhook_is_refused_with_the_reason() {
    let ground = RestServer::telling(quick());
    let url = "http://127.0.0.1:9/";
    for (body, field) in [
        (json!({ "url": "nowhere" }), "url"),
        (json!({ "url": "https://ada:secret@example.com/" }), "url"),
        (json!({ "url": url, "lifecycles": ["mission.tsk"] }), "lifecycles"),
        (json!({ "url": url, "events": ["STATE_TRANSITIONS"] }), "events"),
        (json!({ "url": url, "audience": "nobody" }), "audience"),
    ] {
        let problem = refused(ground.owner.post("/v1/webhooks", &body));
        assert_eq!((problem.status, problem.code.as_str()), (422, "invalid-webhook"));
        assert_eq!(problem.errors[0].field.as_deref(), Some(field));
    }
    assert_eq!(why(ground.owner.post("/v1/webhooks", &json!({ "url": url, "x": 1 }))).0, 400);
    // A browser's session ends too soon for a webhook.
    let path = ground.sign_in.split_once(&ground.address.to_string()).unwrap().1;
    let followed = ground.raw(&format!("GET {path} HTTP/1.1"), b"");
    let session =
        followed.header("set-cookie").unwrap().split_once('=').unwrap().1.split(';').next().unwrap();
    let by_session = ground.client(session);
    assert_eq!(why(by_session.post("/v1/webhooks", &json!({ "url": url }))).0, 403);
    // The number of webhooks is limited.
    let body = json!({ "url": url, "events": ["ERASED"] });
    for _ in 0..64 {
        ground.owner.post("/v1/webhooks", &body).unwrap();
    }
    let refused = why(ground.owner.post("/v1/webhooks", &body));
    assert_eq!(refused, (422, "too-many-webhooks".to_owned()));
}

#[test]
fn a_copy_of_a_project_sends_no_webhooks() {
    let ground = RestServer::telling(quick());
    let receiver = Receiver::willing();
    let (webhook, _) = add(&ground.owner, &receiver);
    task(&ground, "T-1");
    receiver.wait(1);
    // A backup has neither.
    let ground = ground.restarted_after(|data| {
        std::fs::remove_file(data.join("webhook.key")).unwrap();
        std::fs::remove_file(data.join("webhooks.db")).unwrap();
    });
    let path = format!("/v1/webhooks/{webhook}");
    for _ in 0..600 {
        if ground.owner.get(&path).unwrap().body["sends"] == json!(false) {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    task(&ground, "T-2");
    let told = ground.owner.get(&path).unwrap().body;
    assert!(told["why"].as_str().is_some_and(|it| it.contains("copy")), "{told}");
    assert_eq!(receiver.messages().len(), 1);
}

#[test]
fn webhook_failures_show_in_the_metrics() {
    let ground = RestServer::telling(quick());
    let page = || String::from_utf8(ground.owner.get_bytes("/metrics").unwrap()).unwrap();
    let shows = |lines: &[&str]| {
        for _ in 0..600 {
            let page = page();
            if lines.iter().all(|line| page.lines().any(|it| it == *line)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("not all of {lines:?}: {}", page());
    };
    shows(&[
        "trackside_webhooks{state=\"ON\"} 0",
        "trackside_webhooks{state=\"OFF\"} 0",
        "trackside_webhook_messages{state=\"dead\"} 0",
        "trackside_webhook_messages{state=\"failing\"} 0",
        "trackside_webhook_attempts_total{outcome=\"delivered\"} 0",
        "trackside_webhook_attempts_total{outcome=\"failed\"} 0",
    ]);
    let (gone, broken) = (Receiver::new(|_| (410, String::new())), Receiver::new(|_| (500, String::new())));
    let (off, _) = add(&ground.owner, &gone);
    let (failing, _) = add(&ground.owner, &broken);
    task(&ground, "T-1");
    until(&ground, &failing, "dead", 1);
    shows(&[
        "trackside_webhooks{state=\"ON\"} 1",
        "trackside_webhooks{state=\"OFF\"} 1",
        "trackside_webhook_messages{state=\"dead\"} 1",
        "trackside_webhook_attempts_total{outcome=\"delivered\"} 0",
    ]);
    // One attempt for the receiver that is gone; for the other, all attempts until it was given up.
    let sent = gone.messages().len() + broken.messages().len();
    shows(&[&format!("trackside_webhook_attempts_total{{outcome=\"failed\"}} {sent}")]);
    assert!(sent > 2, "{sent}");
    let alerts = ground.owner.get("/v1/alerts").unwrap().body;
    let told = alerts["items"].as_array().unwrap().iter().find(|it| it["id"] == json!(off)).cloned();
    let told = told.unwrap_or_else(|| panic!("no alert: {alerts:#}"));
    assert_eq!((&told["kind"], &told["severity"]), (&json!("webhook"), &json!("error")));
    assert!(told["message"].as_str().unwrap().contains("410"), "{told}");
    assert!(each(&ground.person("pia").get("/v1/alerts").unwrap().body, "id").is_empty(), "it is not hers");
    let well = Receiver::new(|_| (204, String::new()));
    let (taken, _) = add(&ground.owner, &well);
    task(&ground, "T-2");
    until(&ground, &taken, "delivered", 1);
    shows(&["trackside_webhook_attempts_total{outcome=\"delivered\"} 1"]);
}
