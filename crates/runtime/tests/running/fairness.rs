//! Fairness between actors: the order of answers while the decider was busy.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::Command;
use trackside_runtime::{Failure, Gateway, Options, Runtime};
use trackside_store::MemoryStore;

use crate::ground::{fire, manual, plan, started, team};

/// Blocks the decider until the sender is used or dropped.
fn block(gateway: &Gateway) -> Sender<()> {
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let (begun, has_begun) = channel::<()>();
    let question = move |_: &_, _: &_, _| {
        begun.send(()).ok();
        Ok(wait.lock().unwrap().recv().ok())
    };
    drop(gateway.evaluate(question).unwrap());
    has_begun.recv().unwrap();
    go
}

fn agent(id: &str) -> Actor {
    Actor::new(id, ActorKind::Agent).with_roles(["specialist"])
}

/// A command that is refused: the task does not exist.
fn refused_command(actor: &str) -> Command {
    fire(agent(actor), "mission.task/NONE", "start", plan())
}

fn runtime(queue: usize) -> Runtime {
    let runtime = started(Arc::new(MemoryStore::new()), Options { queue, sweep_every: None, ..manual() });
    team(&runtime);
    runtime
}

#[test]
fn a_storm_of_one_actor_does_not_delay_another() {
    let runtime = runtime(20_000);
    let gateway = runtime.gateway().unwrap();
    let go = block(gateway);
    let (answered, answers) = channel();
    let submit = |actor: &'static str| {
        let answered = answered.clone();
        gateway.submit_then(refused_command(actor), move |_| answered.send(actor).unwrap()).unwrap();
    };
    (0..10_000).for_each(|_| submit("storm"));
    submit("quiet");
    (0..50).for_each(|_| submit("other"));
    drop((go, answered));
    let order: Vec<&str> = answers.iter().collect();
    assert_eq!(order.len(), 10_051);
    let place = |actor: &str| order.iter().position(|it| *it == actor).unwrap();
    assert!(place("quiet") <= 8, "quiet is number {}", place("quiet"));
    let last = order.iter().rposition(|it| *it == "other").unwrap();
    assert!(last <= 120, "the 50 commands of other end at number {last}");
}

#[test]
fn an_actor_that_sends_too_much_is_rejected_and_others_are_not() {
    let runtime = runtime(64);
    let gateway = runtime.gateway().unwrap();
    let go = block(gateway);
    let mut pending = Vec::new();
    let rejected = loop {
        match gateway.submit(refused_command("storm")) {
            Ok(it) => pending.push(it),
            Err(failure) => break failure,
        }
    };
    assert_eq!(rejected, Failure::Overloaded("too many commands of this actor wait"));
    assert!(pending.len() <= 64, "{} wait", pending.len());
    for _ in 0..16 {
        pending.push(gateway.submit(refused_command("quiet")).unwrap());
    }
    // A list of commands is accepted as a whole or not at all.
    let many =
        |actor: &str, many: usize| (0..many).map(|_| (refused_command(actor), Default::default())).collect();
    assert!(gateway.submit_all(many("storm", 2)).is_err());
    assert_eq!(gateway.submit_all(many("third", 100)).unwrap().len(), 100);
    drop(go);
    for one in pending {
        one.wait().unwrap();
    }
}
