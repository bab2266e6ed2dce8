//! What the simulation found once, each as small as it can be.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_runtime::{Answer, Options};
use trackside_store::Memory;
use trackside_store::memory::{Call, Fault};

use crate::ground::{assigned, fields, key, manual, started, team};

#[test]
fn projections_that_were_written_though_the_store_said_otherwise_are_not_stuck() {
    let failures = AtomicUsize::new(3);
    let store = Memory::with_faults(move |call: Call| match call {
        Call::Project(_) if failures.load(Ordering::Relaxed) > 0 => {
            failures.fetch_sub(1, Ordering::Relaxed);
            Some(Fault::After)
        }
        _ => None,
    });
    let runtime = started(Arc::new(store), Options { behind: Duration::from_millis(1), ..manual() });
    team(&runtime);
    assigned(&runtime, "T-1");
    for _ in 0..2_000 {
        if runtime.lag() == 0 && runtime.trouble().is_none() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{} entries behind: {:?}", runtime.lag(), runtime.trouble());
}

#[test]
fn what_no_two_may_have_in_common_is_known_to_several_at_once_before_it_is_written() {
    let runtime =
        started(Arc::new(Memory::new()), Options { behind: Duration::from_secs(3_600), ..manual() });
    team(&runtime);
    assigned(&runtime, "T-1");
    let create = |id: &str| {
        let fields = fields(json!({ "taskId": "T-1", "justification": "It is needed" }));
        let ask = Ask::Create { entity: key(&format!("mission.approval/{id}")), fields };
        Command::new(Actor::new("hank", ActorKind::Human), ask)
    };
    let gateway = runtime.gateway().unwrap();
    let first = gateway.ask(create("A-1")).unwrap();
    assert!(matches!(first, Answer::Accepted(_)), "{first:?}");
    gateway.submit_atomic(vec![create("A-2")]).unwrap().wait().unwrap();
    assert!(runtime.entity(&key("mission.approval/A-1")).unwrap().is_some());
    assert_eq!(runtime.entity(&key("mission.approval/A-2")).unwrap(), None, "it is the same as A-1");
}
