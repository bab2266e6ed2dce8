//! What is taken out is gone from every file.

use std::sync::Arc;

use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_runtime::{Answer, Redaction};
use trackside_store::sqlite::{Sqlite, SqliteOptions};

use crate::ground::{accepted, entity, fields, key, manual, started};

const SECRET: &str = "open-sesame-4711";

#[test]
fn a_redacted_value_is_in_no_file_of_the_folder() {
    let folder = std::env::temp_dir().join(format!("trackside-erasing-{}", std::process::id()));
    let store = Sqlite::open(&folder, SqliteOptions::default()).unwrap();
    let runtime = started(Arc::new(store), manual());
    let hank = Actor::new("hank", ActorKind::Human).with_roles(["admin"]);
    let ask = Ask::Create { entity: key("mission.task/T-1"), fields: fields(json!({ "title": SECRET })) };
    let created = accepted(&runtime, Command::new(hank.clone(), ask)).entries[0].seq;
    runtime.wait_until_written().unwrap();
    assert!(holds(&folder), "it was there");
    let redaction = Redaction {
        entity: key("mission.task/T-1"),
        entries: vec![created],
        becomes: fields(json!({ "title": "redacted" })),
        reason: "A secret".to_owned(),
    };
    let answer = runtime.redact(hank, redaction).unwrap();
    assert!(matches!(answer, Answer::Accepted(_)), "{answer:?}");
    assert_eq!(entity(&runtime, "mission.task/T-1").fields.value("title").as_str(), Some("redacted"));
    // While it runs: closing the files would tidy them anyway.
    let gone = (0..400).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        !holds(&folder)
    });
    assert!(gone, "it is still in a file");
    runtime.stop();
    std::fs::remove_dir_all(&folder).ok();
}

fn holds(folder: &std::path::Path) -> bool {
    let files = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let found = |bytes: Vec<u8>| bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes());
    files.filter(|it| it.is_file()).any(|it| std::fs::read(it).is_ok_and(found))
}
