//! The state after a stop or a crash.

use std::sync::Arc;

use trackside_runtime::Options;
use trackside_store::memory::MemoryStore;

use crate::ground::*;

#[test]
fn answered_commands_survive_a_restart() {
    let store = MemoryStore::new();
    let runtime = started(Arc::new(store.reopen()), manual());
    team(&runtime);
    for n in 0..20 {
        assigned(&runtime, &format!("T-{n}"));
    }
    let start = || keyed(fire(ada(), "mission.task/T-3", "start", plan()), "k-3");
    accepted(&runtime, start());
    let (before, seq) = (entity(&runtime, "mission.task/T-3"), runtime.seq());
    runtime.stop();
    let runtime = started(Arc::new(store.reopen()), manual());
    assert_eq!(entity(&runtime, "mission.task/T-3"), before);
    assert_eq!(runtime.seq(), seq);
    let again = runtime.gateway().unwrap().ask(start()).unwrap();
    assert!(matches!(again, trackside_runtime::CommandAnswer::Replayed { .. }), "{again:?}");
}

#[test]
fn the_same_packs_are_not_installed_twice_and_others_under_the_same_version_are_refused() {
    let store = MemoryStore::new();
    let runtime = started(Arc::new(store.reopen()), manual());
    assert!(runtime.install(&[pack("mission")]).unwrap().is_empty());
    let mut changed = pack("mission");
    for (path, text) in &mut changed.files {
        if path == "pack.yaml" {
            text.push_str("\n# changed\n");
        }
    }
    let refused = runtime.install(&[changed]).err().unwrap().to_string();
    assert!(refused.contains("higher `version:`"), "{refused}");
    assert_eq!(runtime.install(&[pack("build")]).unwrap().len(), 1);
    assert!(runtime.law().pack("build").is_some());
    runtime.stop();
    let runtime = started(Arc::new(store.reopen()), Options::default());
    assert!(runtime.law().pack("build").is_some(), "it was kept");
}
