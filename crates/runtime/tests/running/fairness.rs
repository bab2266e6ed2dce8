//! Fairness between actors: the order of answers while the decider was busy.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Seed};
use trackside_runtime::{CommandAnswer, Failure, Figures, Gateway, Options, Runtime};
use trackside_store::MemoryStore;

use crate::ground::{fields, fire, key, manual, plan, started, team};

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

/// A command that creates a task.
fn create(actor: &str, id: &str) -> Command {
    let seed =
        Seed { fields: fields(json!({ "title": "x" })), ..Seed::new(key(&format!("mission.task/{id}"))) };
    Command::new(Actor::new(actor, ActorKind::System), Ask::Seed(seed))
}

/// An atomic batch that creates tasks.
fn batch(actor: &str, name: &str, size: usize) -> Vec<Command> {
    (0..size).map(|it| create(actor, &format!("{name}-{it}"))).collect()
}

#[test]
fn an_actor_pays_for_its_batch_before_its_next_one_is_decided() {
    let runtime = runtime(20_000);
    let gateway = runtime.gateway().unwrap();
    let go = block(gateway);
    let (answered, answers) = channel();
    let mut pending = Vec::new();
    for name in ["first", "second"] {
        pending.push(gateway.submit_atomic(batch("storm", name, 1_000), Vec::new()).unwrap());
    }
    for _ in 0..200 {
        let (answered, reads) = (answered.clone(), runtime.reads().unwrap());
        let note = move |_| answered.send(reads.seq()).unwrap();
        gateway.submit_then(refused_command("other"), note).unwrap();
    }
    drop((go, answered));
    // The last entry on disk when each command of the other actor is answered.
    let seen: Vec<u64> = answers.iter().collect();
    for one in pending {
        assert!(one.wait().unwrap().into_answers().is_some());
    }
    assert_eq!(seen.len(), 200);
    let (last, end) = (seen.iter().max().unwrap(), runtime.seq());
    assert!(last + 1_000 <= end, "the second batch comes last: entry {last} of {end}");
}

#[test]
fn an_answer_does_not_wait_for_a_batch_that_is_decided_after_it() {
    let runtime = runtime(20_000);
    let gateway = runtime.gateway().unwrap();
    let go = block(gateway);
    let quiet = gateway.submit(create("quiet", "QUIET")).unwrap();
    let large = gateway.submit_atomic(batch("storm", "STORM", 1_000), Vec::new()).unwrap();
    drop(go);
    assert!(matches!(quiet.wait(), Ok(CommandAnswer::Accepted(_))));
    assert!(large.wait().unwrap().into_answers().is_some());
    // A commit is counted after its callers are answered, and before the next commit.
    gateway.ask(create("quiet", "LAST")).unwrap();
    // They are not in one commit.
    assert_eq!(Figures::get(&runtime.figures().largest_commit), 1_000);
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
