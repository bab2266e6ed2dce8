//! Lists: pages, and invalid parameters.

use serde_json::{Value as Json, json};

use crate::ground::{RestServer, each, refused, why};

fn tasks(ground: &RestServer, ids: &[&str]) {
    for id in ids {
        let body = json!({ "id": id, "fields": { "title": "x" } });
        ground.owner.post("/v1/entities/mission.task", &body).unwrap();
    }
}

fn next(page: &Json) -> &str {
    page["nextCursor"].as_str().unwrap_or_else(|| panic!("no next page: {page}"))
}

#[test]
fn a_cursor_is_valid_only_for_its_list() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    tasks(&ground, &["T-1", "T-2", "T-3"]);
    let list = "/v1/entities/mission.task";
    let first = owner.get(&format!("{list}?limit=1")).unwrap().body;
    let given = next(&first);
    let second = owner.get(&format!("{list}?limit=1&cursor={given}")).unwrap().body;
    assert_eq!(each(&second, "id"), ["T-2"]);
    for no_cursor in ["T-1", "nothing.of.ours", "1", ""] {
        let problem = refused(owner.get(&format!("{list}?cursor={no_cursor}")));
        assert_eq!((problem.status, problem.code.as_str()), (400, "invalid-parameter"), "{no_cursor}");
        assert_eq!(problem.errors[0].field.as_deref(), Some("cursor"));
        assert!(problem.detail.contains("Send the `nextCursor` of the previous page, or none"));
    }
    // The same id is in both lists: its position in one does not affect the other.
    let others = [
        "/v1/entities/mission.approval",
        "/v1/entities/mission.task/T-1/history",
        "/v1/entities/mission.task/T-1/messages",
        "/v1/approvals",
        "/v1/inbox",
        "/v1/tokens",
        "/v1/webhooks",
        "/v1/alerts",
        "/v1/violations",
        "/v1/notifications",
        "/v1/effects",
        "/v1/lifecycles",
        "/v1/packs",
        "/v1/queries/mission",
    ];
    for other in others {
        let wrong = (400, "invalid-parameter".to_owned());
        assert_eq!(why(owner.get(&format!("{other}?cursor={given}"))), wrong, "{other}");
        assert_eq!(why(owner.get(&format!("{other}?cursor=2"))), wrong, "{other}");
    }
    let said = json!({ "event": "comment", "fields": { "text": "Soon" } });
    owner.post(&format!("{list}/T-1/transitions"), &said).unwrap();
    let history = |id: &str, more: &str| owner.get(&format!("{list}/{id}/history?limit=1{more}"));
    let entries = history("T-1", "").unwrap().body;
    let on = format!("&cursor={}", next(&entries));
    assert_ne!(history("T-1", &on).unwrap().body["items"], entries["items"]);
    assert_eq!(why(history("T-2", &on)).0, 400, "it is of another entity");
    // Entries of the journal have numbers, so a caller can continue from any of them.
    assert_eq!(owner.get("/v1/journal?cursor=2&limit=1").unwrap().body["items"][0]["seq"], 3);
}

#[test]
fn ids_that_collide_with_routes_are_rejected() {
    let ground = RestServer::new();
    for id in ["claim", ".", ".."] {
        let body = json!({ "id": id, "fields": { "title": "x" } });
        let problem = refused(ground.owner.post("/v1/entities/mission.task", &body));
        assert_eq!((problem.status, problem.code.as_str()), (400, "invalid-id"), "{id}");
        assert!(problem.detail.contains("cannot be an id"), "{}", problem.detail);
    }
    tasks(&ground, &["claims", "...", "Claim"]);
    assert_eq!(ground.owner.get("/v1/entities/mission.task/...").unwrap().body["id"], "...");
}

#[test]
fn short_lists_have_pages_too() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    for (list, member) in
        [("/v1/lifecycles", "lifecycle"), ("/v1/packs", "pack"), ("/v1/queries/coding", "name")]
    {
        let whole = owner.get(list).unwrap().body;
        let all = each(&whole, member);
        assert!(all.len() > 2 && whole["nextCursor"].is_null(), "{whole}");
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = owner.get(&format!("{list}?limit=2{cursor}")).unwrap().body;
            let items = each(&page, member);
            assert!((1..=2).contains(&items.len()), "{list}: {page}");
            found.extend(items.into_iter().map(str::to_owned));
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(found, all, "{list}");
        assert_eq!(why(owner.get(&format!("{list}?limit=0"))).0, 400);
        assert_eq!(why(owner.get(&format!("{list}?limt=2"))).0, 400);
    }
}

#[test]
fn a_correction_to_the_current_state_changes_nothing() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    tasks(&ground, &["T-1"]);
    let correct = |body: Json| owner.post("/v1/entities/mission.task/T-1/correct", &body);
    let before = owner.get("/v1/clock").and_then(|_| owner.get("/v1/journal?limit=200")).unwrap().body;
    let same = [
        json!({ "to": "INBOX", "reason": "it is right" }),
        json!({ "to": "INBOX", "fields": { "title": "x" }, "reason": "it is right" }),
        json!({ "fields": { "title": "x" }, "reason": "it is right" }),
    ];
    for body in same {
        let problem = refused(correct(body));
        assert_eq!((problem.status, problem.code.as_str()), (422, "requirement-missing"));
        assert!(problem.detail.contains("Nothing of mission.task/T-1 would change"), "{}", problem.detail);
    }
    let after = owner.get("/v1/journal?limit=200").unwrap().body;
    assert_eq!(before["items"], after["items"]);
    let told =
        correct(json!({ "to": "INBOX", "fields": { "title": "y" }, "reason": "a slip" })).unwrap().body;
    assert_eq!(
        (&told["entity"]["state"], &told["entity"]["fields"]["title"]),
        (&json!("INBOX"), &json!("y"))
    );
}

#[test]
fn a_caller_that_may_claim_nothing_learns_who_may() {
    let ground = RestServer::new();
    let (intern, sam) = (ground.agent("ina", "mission:intern"), ground.agent("sam", "mission:specialist"));
    let coder = ground.agent("cody", "coding:coder");
    let claim = |who: &trackside_protocol::Client, lifecycle: &str, body: Json| {
        who.post(&format!("/v1/entities/{lifecycle}/claim"), &body)
    };
    for queue in [&[][..], &["T-1"]] {
        tasks(&ground, queue);
        for who in [&ground.owner, &intern, &coder] {
            let problem = refused(claim(who, "mission.task", json!({})));
            assert_eq!((problem.status, problem.code.as_str()), (403, "not-permitted"), "{problem:?}");
            assert_eq!(problem.who.as_deref(), Some("agent and specialist"));
            assert!(problem.detail.contains("may not claim"), "{}", problem.detail);
        }
        assert_eq!(
            claim(&sam, "mission.task", json!({})).unwrap().status,
            if queue.is_empty() { 204 } else { 200 }
        );
    }
    // One of the two claiming events is for coders; asking for the other one is refused.
    assert_eq!(claim(&coder, "coding.task", json!({})).unwrap().status, 204);
    let review = refused(claim(&coder, "coding.task", json!({ "event": "claim_review" })));
    assert_eq!((review.status, review.code.as_str()), (403, "not-permitted"), "{review:?}");
    assert_eq!(why(claim(&ground.owner, "coding.task", json!({}))), (403, "not-permitted".to_owned()));
}
