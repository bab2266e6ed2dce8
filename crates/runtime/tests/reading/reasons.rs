//! Explanations of why an entity does not move, and dry runs.

use serde_json::json;
use trackside_engine::Decision;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_lifecycle::name::Name;
use trackside_runtime::Options;
use trackside_runtime::read::Trial;

use crate::ground::*;
use crate::stores::{Stores, on_every_store};

on_every_store! {
    every_transition_is_explained_with_the_values_of_its_conditions
    open_transitions_are_shown_with_their_target
    a_dry_run_decides_and_changes_nothing
}

fn every_transition_is_explained_with_the_values_of_its_conditions(stores: Stores) {
    // Nothing stays in memory: all data must be loaded.
    let place = stores.place();
    let runtime = started(place.open(), Options { cached_entities: 1, cached_groups: 1, ..manual() });
    let reads = runtime.reads().unwrap();
    team(&runtime);
    assigned(&runtime, "T-1");
    while runtime.lag() > 0 {
        std::thread::yield_now();
    }
    let seq = runtime.seq();
    let told = reads.explain(&key("mission.task/T-1"), &ada()).unwrap();
    assert_eq!(told.entity.state, *"ASSIGNED");
    let way = |event: &str| told.transitions.iter().find(|it| it.event == *event).unwrap();
    let start = way("start");
    assert!(start.permitted && start.to.iter().any(|it| it == "IN_PROGRESS"), "{start:#?}");
    assert!(start.takes.iter().any(|(name, _)| name == "workPlan"), "{start:#?}");
    let plan_check = start.checks.iter().find(|it| it.rule.contains("workPlan")).unwrap();
    assert!(!plan_check.passed && plan_check.message.is_some(), "{start:#?}");
    assert!(start.checks.iter().any(|it| it.passed && !it.saw.is_empty()), "{start:#?}");
    let trial = |event: &str| told.trials.iter().find(|(it, _)| it == event).map(|(_, it)| it).unwrap();
    assert!(matches!(trial("start"), Trial::Refused(it) if it.code.as_str() == "requirement-missing"));
    assert!(told.transitions.iter().all(|way| told.trials.iter().any(|(it, _)| *it == way.event)));
    assert_eq!(runtime.seq(), seq, "nothing was written");
    let shown = reads.present(&key("mission.task/T-1"), &ada()).unwrap();
    assert!(shown.facts.allowed.contains(&Name::new("IN_PROGRESS")), "{shown:?}");
}

fn open_transitions_are_shown_with_their_target(stores: Stores) {
    let place = stores.place();
    let runtime = started(place.open(), manual());
    let reads = runtime.reads().unwrap();
    let bo = Actor::new("bo", ActorKind::Agent).with_roles(["coder"]);
    plant(&runtime, "coding.agent/bo", "IDLE", json!({ "role": "coder", "registered": true }));
    let task = json!({ "description": "It", "spec_ref": "a.md", "done_when": "it is", "scope": "all" });
    plant(&runtime, "coding.task/C-1", "UNCLAIMED", task);
    let claim = |actor: &Actor| {
        let told = reads.explain(&key("coding.task/C-1"), actor).unwrap();
        told.trials.into_iter().find(|(it, _)| it == "claim").map(|(_, it)| it).unwrap()
    };
    assert_eq!(claim(&bo), Trial::Accepted { to: Some(Name::new("CLAIMED")) });
    let cy = Actor::new("cy", ActorKind::Agent);
    assert!(matches!(claim(&cy), Trial::Refused(_)), "cy is no coder");
}

fn a_dry_run_decides_and_changes_nothing(stores: Stores) {
    let place = stores.place();
    let runtime = started(place.open(), manual());
    let reads = runtime.reads().unwrap();
    team(&runtime);
    assigned(&runtime, "T-1");
    let before = (runtime.seq(), entity(&runtime, "mission.task/T-1"));
    let start = || fire(ada(), "mission.task/T-1", "start", plan());
    let Decision::Accepted(planned) = reads.dry_run(start()).unwrap() else { panic!("it can be done") };
    assert_eq!((runtime.seq(), entity(&runtime, "mission.task/T-1")), before);
    let done = accepted(&runtime, start());
    assert_eq!(*done.entries, planned.entries, "the result is that of the dry run");
    let Decision::Refused(refusal) = reads.dry_run(start()).unwrap() else {
        panic!("it cannot be done twice")
    };
    assert_eq!(refusal.code.as_str(), "no-such-edge");
}
