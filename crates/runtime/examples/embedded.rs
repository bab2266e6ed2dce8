//! Trackside inside another program: a folder, a pack, a command, and what became of it.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::value::Value;
use trackside_runtime::{CommandAnswer, Options, PackSource, Runtime};
use trackside_store::sqlite::{Sqlite, SqliteOptions};

/// Creates a task in the project that is kept in `folder`; its state.
pub fn create_a_task(folder: &Path, pack: &Path) -> Result<String, Box<dyn Error>> {
    let store = Arc::new(Sqlite::open(folder, SqliteOptions::default())?);
    let runtime = Runtime::start(store, &[PackSource::read(pack)?], Options::default())?;
    let task = EntityKey::new("mission.task", "T-1");
    let fields = [("title", Value::from("Write the page"))].into_iter().collect();
    let hank = Actor::new("hank", ActorKind::Human);
    let create = Command::new(hank, Ask::Create { entity: task.clone(), fields });
    match runtime.gateway()?.ask(create)? {
        CommandAnswer::Refused(refusal) => Ok(refusal.to_string()),
        _ => Ok(runtime.entity(&task)?.map(|it| it.state.to_string()).unwrap_or_default()),
    }
}

#[allow(dead_code, reason = "a test takes the rest")]
fn main() -> Result<(), Box<dyn Error>> {
    let packs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs/mission");
    let folder = std::env::temp_dir().join(format!("trackside-embedded-{}", std::process::id()));
    let state = create_a_task(&folder, &packs)?;
    std::fs::remove_dir_all(&folder)?;
    if state == "INBOX" { Ok(()) } else { Err(state.into()) }
}
