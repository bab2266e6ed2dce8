//! Shared fixtures: packs, actors and short request functions.

use std::path::Path;
use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Seed};
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;
use trackside_runtime::{AcceptedCommand, CommandAnswer, Options, PackSource, ProjectClock, Runtime};
use trackside_store::Store;

pub(crate) fn pack(name: &str) -> PackSource {
    PackSource::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs").join(name)).unwrap()
}

pub(crate) fn start_of_time() -> Timestamp {
    Timestamp::parse("2026-01-01T00:00:00Z").unwrap()
}

pub(crate) fn manual() -> Options {
    Options { clock: ProjectClock::manual(start_of_time()), ..Options::default() }
}

pub(crate) fn started(store: Arc<dyn Store>, options: Options) -> Runtime {
    Runtime::start(store, &[pack("mission"), pack("coding")], options).unwrap()
}

pub(crate) fn fields(json: serde_json::Value) -> Fields {
    json.as_object().unwrap().iter().map(|(name, value)| (name.as_str(), Value::from_json(value))).collect()
}

pub(crate) fn key(text: &str) -> EntityKey {
    EntityKey::parse(text).unwrap()
}

pub(crate) fn ada() -> Actor {
    Actor::new("ada", ActorKind::Agent).with_roles(["specialist"])
}

pub(crate) fn plant(runtime: &Runtime, text: &str, state: &str, json: serde_json::Value) {
    let system = Actor::new("given", ActorKind::System);
    let plant = Seed { state: Some(Name::new(state)), fields: fields(json), ..Seed::new(key(text)) };
    accepted(runtime, Command::new(system, Ask::Seed(plant)));
}

pub(crate) fn fire(actor: Actor, text: &str, event: &str, json: serde_json::Value) -> Command {
    Command::fire(actor, key(text), event, fields(json))
}

pub(crate) fn keyed(mut command: Command, key: &str) -> Command {
    command.idempotency_key = Some(Name::new(key));
    command
}

pub(crate) fn accepted(runtime: &Runtime, command: Command) -> AcceptedCommand {
    match runtime.gateway().unwrap().ask(command).unwrap() {
        CommandAnswer::Accepted(accepted) => accepted,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn refused(runtime: &Runtime, command: Command) -> String {
    match runtime.gateway().unwrap().ask(command).unwrap() {
        CommandAnswer::Refused(refusal) => refusal.code.to_string(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn entity(runtime: &Runtime, text: &str) -> Arc<Entity> {
    runtime.entity(&key(text)).unwrap().unwrap()
}

pub(crate) fn plan() -> serde_json::Value {
    serde_json::json!({ "workPlan": { "bullets": ["Read it", "Write it", "Check it"] } })
}

pub(crate) fn assigned(runtime: &Runtime, id: &str) {
    let task = serde_json::json!({ "title": "Write the page", "assigneeIds": ["ada"], "type": "DOCS" });
    plant(runtime, &format!("mission.task/{id}"), "ASSIGNED", task);
}

pub(crate) fn team(runtime: &Runtime) {
    plant(runtime, "mission.agent/ada", "ACTIVE", serde_json::json!({ "role": "specialist" }));
}
