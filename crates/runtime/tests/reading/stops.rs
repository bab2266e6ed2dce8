//! The reasons to stop that a heartbeat returns.

use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_lifecycle::name::Name;

use crate::ground::*;
use crate::stores::{Stores, on_every_store};

on_every_store! {
    a_violated_invariant_of_the_record_or_of_its_task_stops_an_agent
}

fn a_violated_invariant_of_the_record_or_of_its_task_stops_an_agent(stores: Stores) {
    let place = stores.place();
    let runtime = started(place.open(), manual());
    let reads = runtime.reads().unwrap();
    let bo = Actor::new("bo", ActorKind::Agent).with_roles(["coder"]);
    let agent = |task: &str| json!({ "role": "coder", "current_task": task });
    let task = |owner: &str| json!({ "assigned_to": owner, "lease_expires": "2026-01-01T00:30:00Z" });
    let sound = |owner: &str| {
        let mut fields = task(owner);
        fields["worktree"] = json!("x");
        fields
    };
    let stops = |of: &str, slot: &str| reads.stops(&key(of), &Name::new(slot), &bo).unwrap();
    let none: [&str; 0] = [];

    plant(&runtime, "coding.agent/bo", "WORKING", agent("T-1"));
    plant(&runtime, "coding.task/T-1", "CLAIMED", sound("bo"));
    assert_eq!(stops("coding.agent/bo", "presence"), none);
    assert_eq!(stops("coding.task/T-1", "work"), none);

    plant(&runtime, "coding.agent/cy", "WORKING", agent("T-2"));
    plant(&runtime, "coding.task/T-2", "CLAIMED", task("cy"));
    let broken =
        ["Invariant claimed_worktree of coding.task/T-2 is violated: CLAIMED task T-2 must have worktree"];
    assert_eq!(stops("coding.agent/cy", "presence"), broken);
    assert_eq!(stops("coding.task/T-2", "work"), broken);
    assert_eq!(stops("coding.task/T-2", "review"), broken, "without a reviewer");

    plant(&runtime, "coding.agent/di", "REVIEWING", agent("T-3"));
    plant(&runtime, "coding.task/T-3", "CLAIMED", sound("di"));
    let broken = ["Invariant reviewers_review of coding.agent/di is violated: \
                   Only a code_reviewer can be REVIEWING, and di is a coder"];
    assert_eq!(stops("coding.agent/di", "presence"), broken);
    assert_eq!(stops("coding.task/T-3", "work"), broken);
}
