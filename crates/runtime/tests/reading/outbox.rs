//! Effects are handed to one taker at a time, until they are answered.

use std::time::Duration;

use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::fields::Fields;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_runtime::{CommandAnswer, Options, OutboxCourier, OutboxError, Runtime};

use crate::ground::*;
use crate::stores::{Stores, on_every_store};

on_every_store! {
    an_effect_is_handed_out_again_after_its_hold_expires
    unanswered_effects_are_handed_out_again_after_a_restart
}

const MINUTE: Span = Span(60_000);

fn claim_tasks(runtime: &Runtime, n: usize) {
    let name = format!("bo-{n}");
    let bo = Actor::new(name.as_str(), ActorKind::Agent).with_roles(["coder"]);
    plant(runtime, &format!("coding.agent/{name}"), "IDLE", json!({ "role": "coder", "registered": true }));
    let text = format!("coding.task/C-{n}");
    plant(
        runtime,
        &text,
        "UNCLAIMED",
        json!({ "description": "It", "spec_ref": "a.md", "done_when": "it is", "scope": "all" }),
    );
    accepted(runtime, fire(bo, &text, "claim", json!({})));
}

fn take_effects(outbox: &OutboxCourier, taker: &str) -> Vec<u64> {
    let found = outbox.take(None, &Name::new(taker), MINUTE, 10).unwrap();
    found.iter().map(|it| it.id).collect()
}

fn wait(runtime: &Runtime, by: Span) {
    let to = runtime.reads().unwrap().now().plus(by);
    runtime.gateway().unwrap().advance(to).unwrap().wait().unwrap();
}

fn an_effect_is_handed_out_again_after_its_hold_expires(stores: Stores) {
    for behind in [1, 3_600_000] {
        let options = Options { behind: Duration::from_millis(behind), ..manual() };
        let place = stores.place();
        let runtime = started(place.open(), options);
        let outbox = runtime.outbox().unwrap();
        claim_tasks(&runtime, 1);
        let kind = Name::new("worktree.create");
        assert!(outbox.take(Some(&Name::new("merge")), &kind, MINUTE, 10).unwrap().is_empty());
        let first = outbox.take(Some(&kind), &Name::new("w-1"), MINUTE, 10).unwrap();
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].with.get("branch").and_then(|it| it.as_str()), Some("task/C-1"));
        assert!(take_effects(&runtime.outbox().unwrap(), "w-2").is_empty(), "it is with w-1");
        assert_eq!(outbox.open(None, 0, 10).unwrap()[0].taken_by, Some(Name::new("w-1")));

        wait(&runtime, MINUTE);
        // The hold has expired, but only its last taker may answer with its fence: other takers and guessed
        // fences are rejected.
        let (thief, w_1) = (Actor::new("w-2", ActorKind::System), Actor::new("w-1", ActorKind::System));
        for (who, fence) in [(thief, first[0].fence), (w_1, first[0].fence + 1)] {
            let guessed = outbox.settle(who, first[0].id, fence, true, Fields::default());
            assert!(matches!(guessed, Err(OutboxError::NotTaken { .. })), "{guessed:?}");
        }
        let second = outbox.take(Some(&kind), &Name::new("w-2"), MINUTE, 10).unwrap();
        assert_eq!(second[0].id, first[0].id);
        assert!(second[0].fence > first[0].fence);
        let system = || Actor::new("w-2", ActorKind::System);
        let late = outbox.settle(system(), first[0].id, first[0].fence, true, Fields::default());
        assert!(matches!(late, Err(OutboxError::Stale { .. })), "{late:?}");
        let done = outbox.settle(system(), second[0].id, second[0].fence, true, Fields::default()).unwrap();
        assert!(matches!(done, CommandAnswer::Accepted(_)), "{done:?}");
        wait(&runtime, MINUTE);
        assert!(take_effects(&outbox, "w-3").is_empty() && outbox.open(None, 0, 10).unwrap().is_empty());
        let twice = outbox.settle(system(), second[0].id, second[0].fence, true, Fields::default()).unwrap();
        assert!(matches!(twice, CommandAnswer::Refused(it) if it.code.as_str() == "effect-settled"));
        assert!(matches!(
            outbox.settle(system(), 1, 1, true, Fields::default()),
            Err(OutboxError::Unknown(1))
        ));
    }
}

fn unanswered_effects_are_handed_out_again_after_a_restart(stores: Stores) {
    let place = stores.place();
    let runtime = started(place.open(), manual());
    for n in 0..3 {
        claim_tasks(&runtime, n);
    }
    let outbox = runtime.outbox().unwrap();
    let found = outbox.take(None, &Name::new("w-1"), MINUTE, 10).unwrap();
    assert_eq!(found.len(), 3);
    let system = Actor::new("w-1", ActorKind::System);
    outbox.settle(system.clone(), found[1].id, found[1].fence, true, Fields::default()).unwrap();
    drop(outbox);
    runtime.stop();
    let runtime = started(place.open(), manual());
    let outbox = runtime.outbox().unwrap();
    // Holds are not stored, so no taker can answer an old one: the effect is taken again.
    let old = outbox.settle(system.clone(), found[0].id, found[0].fence, true, Fields::default());
    assert!(matches!(old, Err(OutboxError::NotTaken { .. })), "{old:?}");
    let again = outbox.take(None, &Name::new("w-1"), MINUTE, 1).unwrap().remove(0);
    assert_eq!(again.id, found[0].id);
    // The clock has not moved, but the fence has grown.
    assert!(again.fence > found.iter().map(|it| it.fence).max().unwrap(), "{again:?} after {found:?}");
    let done = outbox.settle(system, again.id, again.fence, true, Fields::default()).unwrap();
    assert!(matches!(done, CommandAnswer::Accepted(_)), "{done:?}");
    assert_eq!(take_effects(&outbox, "w-2"), [found[2].id]);
}
