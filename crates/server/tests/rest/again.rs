//! A request repeated under its key counts once, even if its answer contains a secret.

use serde_json::{Value as Json, json};

use crate::ground::{RestServer, each, refused, why};

const KEY: [(&str, &str); 1] = [("Idempotency-Key", "once-1")];

fn text(it: &Json) -> &str {
    it.as_str().unwrap_or_else(|| panic!("no text: {it}"))
}

#[test]
fn a_repeated_webhook_request_returns_the_same_webhook_and_secret() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let wanted = json!({ "url": "https://receiver.invalid/", "events": ["ERASED"], "note": "of ours" });
    let first = owner.post_with("/v1/webhooks", &wanted, &KEY).unwrap();
    let again = owner.post_with("/v1/webhooks", &wanted, &KEY).unwrap();
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(again.body["secret"], first.body["secret"]);
    assert_eq!(again.body["details"]["id"], first.body["details"]["id"]);
    assert_eq!((first.body.get("replayed"), &again.body["replayed"]), (None, &json!(true)));
    assert_eq!(each(&owner.get("/v1/webhooks").unwrap().body, "id").len(), 1);

    let other = json!({ "url": "https://other.invalid/" });
    let conflict = owner.post_with("/v1/webhooks", &other, &KEY);
    assert_eq!(why(conflict), (409, "idempotency-conflict".to_owned()));
    // A key is its sender's.
    let root = ground.actor(json!({ "actor": "root", "kind": "human", "roles": ["admin"] }));
    let theirs = root.post_with("/v1/webhooks", &wanted, &KEY).unwrap().body;
    assert_ne!(theirs["details"]["id"], first.body["details"]["id"]);
    // Without a key each is another.
    owner.post("/v1/webhooks", &wanted).unwrap();
    assert_eq!(each(&owner.get("/v1/webhooks").unwrap().body, "id").len(), 3);
}

#[test]
fn a_repeated_token_request_creates_one_token_and_does_not_show_it_again() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let wanted = json!({ "actor": "ada", "kind": "agent", "roles": ["mission:lead"], "lifetime": "1h" });
    let made = owner.post_with("/v1/tokens", &wanted, &KEY).unwrap().body;
    let id = text(&made["details"]["id"]).to_owned();
    owner.post("/v1/clock/advance", &json!({ "by": "1m" })).unwrap();
    let again = refused(owner.post_with("/v1/tokens", &wanted, &KEY));
    assert_eq!((again.status, again.code.as_str()), (409, "made-before"));
    assert!(again.detail.contains(&id) && again.detail.contains("revoke"), "{}", again.detail);
    assert!(!again.detail.contains(text(&made["token"])));
    ground.client(text(&made["token"])).get("/v1/whoami").unwrap();

    for (member, value) in [("actor", json!("eve")), ("lifetime", json!("2h")), ("roles", json!([]))] {
        let mut other = wanted.clone();
        other[member] = value;
        let conflict = owner.post_with("/v1/tokens", &other, &KEY);
        assert_eq!(why(conflict), (409, "idempotency-conflict".to_owned()), "{member}");
    }
    let all = owner.get("/v1/tokens?limit=200").unwrap().body;
    assert_eq!(each(&all, "actor").iter().filter(|it| **it == "ada").count(), 1);

    // Sent at the same time, one of them makes it.
    let mut statuses: Vec<u16> = std::thread::scope(|threads| {
        let send = || match owner.post_with("/v1/tokens", &wanted, &[("Idempotency-Key", "both")]) {
            Ok(told) => told.status,
            other => refused(other).status,
        };
        let sent: Vec<_> = (0..4).map(|_| threads.spawn(send)).collect();
        sent.into_iter().map(|it| it.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409]);
}

#[test]
fn a_repeated_link_request_creates_one_link_and_does_not_show_it_again() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let wanted = json!({ "actor": "pia" });
    owner.post_with("/v1/sign-in-links", &wanted, &KEY).unwrap();
    let again = refused(owner.post_with("/v1/sign-in-links", &wanted, &KEY));
    assert_eq!((again.status, again.code.as_str()), (409, "made-before"));
    assert!(again.detail.contains("a new key"), "{}", again.detail);
    let other = owner.post_with("/v1/sign-in-links", &json!({ "actor": "mia" }), &KEY);
    assert_eq!(why(other), (409, "idempotency-conflict".to_owned()));
    // A key belongs to one request, on every route.
    let token = json!({ "actor": "ada", "kind": "agent" });
    assert_eq!(why(owner.post_with("/v1/tokens", &token, &KEY)), (409, "idempotency-conflict".to_owned()));
}
