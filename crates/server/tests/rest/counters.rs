//! Counters in entities and in conditions.

use serde_json::json;
use trackside_protocol::Client;

use crate::ground::{RestServer, each, refused};

/// A lifecycle with a budget, a counter per state, one per key and one that reads a hidden field.
const BUDGET: &str = "\
lifecycle: shop.job
about: A job with a budget.
title: what
fields: { what: { type: string }, secret: { type: number, default: 1.0, read: human }, more: { type: number, default: 0.0 } }
create: { by: human, takes: [what] }
states:
  OPEN: { initial: true }
  DONE: { final: true, outcome: success }
transitions:
  spend:  { from: OPEN, by: human || agent, takes: { cost: { type: number }, on: { type: string } }, count: [spent, rounds, kinds, leak, recent] }
  finish: { from: OPEN, to: DONE, by: human }
counters:
  spent:  { add: cost, limit: 3.0 + more }
  rounds: { per: state }
  kinds:  { key: ['on'], add: cost }
  leak:   { add: cost * secret }
  recent: { within: 1h }
";

#[test]
fn counters_are_shown_with_their_limits_and_compared_in_where() {
    let ground = RestServer::new();
    let pack = json!({ "files": { "pack.yaml": "pack: shop\nversion: 1\n", "lifecycles/job.yaml": BUDGET } });
    ground.owner.put("/v1/packs/shop", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    let ada = ground.agent("ada", "mission:specialist");
    for (id, costs) in [("J-1", vec![1.0, 0.5]), ("J-2", vec![])] {
        ground.owner.post("/v1/entities/shop.job", &json!({ "id": id, "fields": { "what": "x" } })).unwrap();
        for cost in costs {
            let body = json!({ "event": "spend", "fields": { "cost": cost, "on": "model" } });
            ada.post(&format!("/v1/entities/shop.job/{id}/transitions"), &body)
                .unwrap_or_else(|it| panic!("{it:#?}"));
        }
    }
    let shown = |client: &Client, id: &str| client.get(&format!("/v1/entities/shop.job/{id}")).unwrap().body;
    let open = json!({
        "spent": { "value": 1.5, "limit": 3.0 }, "rounds": { "value": 2, "byKey": { "OPEN": 2 } },
        "kinds": { "byKey": { "model": 1.5 } }, "recent": { "value": 2 },
    });
    assert_eq!(shown(&ada, "J-1")["counters"], open, "the hidden factor could be computed from `leak`");
    assert_eq!(shown(&ground.owner, "J-1")["counters"]["leak"], json!({ "value": 1.5 }));
    let none = json!({ "spent": { "value": 0.0, "limit": 3.0 }, "rounds": { "value": 0 }, "recent": { "value": 0 } });
    assert_eq!(shown(&ada, "J-2")["counters"], none);
    ground.owner.post("/v1/clock/advance", &json!({ "by": "2h" })).unwrap();
    assert_eq!(shown(&ada, "J-1")["counters"]["recent"], json!({ "value": 0 }), "the window has passed");

    let list = |condition: &str| {
        let condition: String = condition.bytes().map(|it| format!("%{it:02X}")).collect();
        ada.get(&format!("/v1/entities/shop.job?where={condition}"))
    };
    for (condition, ids) in [
        ("spent > 1", vec!["J-1"]),
        ("spent == 0.0", vec!["J-2"]),
        ("rounds >= 2 && state == 'OPEN'", vec!["J-1"]),
        ("spent > 2", vec![]),
    ] {
        let found = list(condition).unwrap_or_else(|it| panic!("{condition}: {it:#?}")).body;
        assert_eq!(each(&found, "id"), ids, "{condition}");
    }
    // One value that does not change with time, and that every reader may see.
    for condition in ["kinds > 1", "recent > 0", "leak > 0"] {
        let problem = refused(list(condition));
        assert_eq!((problem.status, problem.code.as_str()), (422, "invalid-where"), "{condition}");
        assert!(problem.detail.contains("unknown name"), "{}", problem.detail);
    }
}
