//! The requests of callers. A key determines its command, so that a command can be repeated from its key.

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

/// Steps of the life of one task.
const STEPS: u64 = 12;

/// The name of a command: which round, which caller, the how manieth of that caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommandKey {
    pub round: u64,
    pub caller: u64,
    pub step: u64,
}

impl CommandKey {
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|it| it.parse().ok());
        Some(Self { round: parts.next()??, caller: parts.next()??, step: parts.next()?? })
    }

    /// The key of a second command in the same commit, if there is one.
    pub fn together(self) -> Option<Self> {
        (self.step % STEPS == 8 && self.caller.is_multiple_of(2))
            .then_some(Self { step: self.step + 1, ..self })
    }

    pub fn next(self) -> Self {
        Self { step: self.step + 1, ..self }
    }
}

impl std::fmt::Display for CommandKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.round, self.caller, self.step)
    }
}

fn fields(json: serde_json::Value) -> Fields {
    json.as_object().unwrap().iter().map(|(name, value)| (name.as_str(), Value::from_json(value))).collect()
}

fn person(name: &str) -> Actor {
    Actor::new(name, ActorKind::Human)
}

fn agent(id: &str, role: &str) -> Actor {
    Actor::new(id, ActorKind::Agent).with_roles([role])
}

/// An agent that many callers act for, so that they conflict.
pub fn worker(caller: u64) -> String {
    format!("ada-{}", caller % 3)
}

fn entity(lifecycle: &str, id: &str) -> EntityKey {
    EntityKey::parse(&format!("{lifecycle}/{id}")).unwrap()
}

/// The command of a key: the next step of a task that is created, assigned, started, blocked or escalated.
/// Some questions and some leases are left to expire.
pub fn command(key: CommandKey) -> Command {
    let turn = key.step / STEPS;
    let id = format!("{}-{}-{turn}", key.round, key.caller);
    let (task, question) = (entity("mission.task", &id), entity("mission.approval", &format!("A-{id}")));
    let code = entity("coding.task", &id);
    let worker = worker(key.caller);
    let (ada, bob, carol) = (agent(&worker, "specialist"), person("bob"), person("carol"));
    let planner = agent("planner-1", "planner");
    let coder = agent(&format!("coder-{id}"), "coder");
    let fire =
        |actor, of: &EntityKey, event: &str, json| Command::fire(actor, of.clone(), event, fields(json));
    let create = |actor, of: &EntityKey, json| {
        Command::new(actor, Ask::Create { entity: of.clone(), fields: fields(json) })
    };
    let nothing = || serde_json::json!({});
    let mut command = match key.step % STEPS {
        0 => create(bob, &task, serde_json::json!({ "title": format!("Page {id}"), "type": "DOCS" })),
        1 => fire(bob, &task, "assign", serde_json::json!({ "assigneeIds": [worker] })),
        2 => {
            let bullets = ["Read it", "Write it", "Check it"];
            fire(ada, &task, "start", serde_json::json!({ "workPlan": { "bullets": bullets } }))
        }
        3 => {
            let (entity, slot) = (entity("mission.agent", &worker), Name::new("presence"));
            Command::new(ada, Ask::Heartbeat { entity, slot, fence: None })
        }
        4 => fire(ada, &task, "block", serde_json::json!({ "blockReason": "Nobody answers ".repeat(20) })),
        5 => fire(bob, &task, "unblock", nothing()).with_reason("somebody answered"),
        6 => create(
            bob,
            &question,
            serde_json::json!({ "taskId": id, "justification": "It costs", "summary": "May it cost?" }),
        ),
        7 => match turn % 3 {
            2 => fire(carol, &question, "approve", serde_json::json!({ "note": "It may" })),
            1 => fire(carol, &question, "deny", serde_json::json!({ "note": "It may not" })),
            // No decision comes: it expires. The agent may have lost its lease meanwhile.
            _ => create(ada, &entity("mission.agent", &worker), nothing()),
        },
        8 => create(planner, &code, serde_json::json!({ "description": format!("Code {id}") })),
        9 => fire(planner, &code, "finalize", nothing()),
        10 => fire(coder, &code, "claim", nothing()),
        _ => match turn % 2 {
            0 => fire(
                coder,
                &code,
                "block",
                serde_json::json!({ "blocked_reason": "The specification is missing" }),
            ),
            // Not blocked: the lease runs out.
            _ => create(ada, &entity("mission.agent", &worker), nothing()),
        },
    };
    command.idempotency_key = Some(Name::new(&key.to_string()));
    command
}

/// Entities created first: the agents.
pub fn agents() -> Vec<Command> {
    let make = |caller| {
        let id = worker(caller);
        let fields = fields(serde_json::json!({ "role": "specialist" }));
        let mut command = Command::new(
            agent(&id, "specialist"),
            Ask::Create { entity: entity("mission.agent", &id), fields },
        );
        command.idempotency_key = Some(Name::new(&format!("agent-{caller}")));
        command
    };
    (0..3).map(make).collect()
}
