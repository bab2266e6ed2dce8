//! A key that is sent again, after the journal was archived.

use serde_json::json;
use trackside_lifecycle::time::Timestamp;
use trackside_store::archive::{folder_of, move_out};
use trackside_store::{Sqlite, SqliteOptions, Store as _};

use crate::ground::RestServer;

#[test]
fn a_repeated_key_never_returns_the_entries_of_another_command() {
    let ground = RestServer::new();
    let create = |ground: &RestServer, id: &str, key: &str| {
        let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
        let body = json!({ "id": id, "fields": { "title": format!("About {id}") } }).to_string();
        let head = format!(
            "POST /v1/entities/mission.task HTTP/1.1\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nIdempotency-Key: {key}",
            token.trim()
        );
        let answer = ground.raw(&head, body.as_bytes());
        (answer.status, String::from_utf8(answer.body).unwrap())
    };
    assert_eq!(create(&ground, "A", "k-1").0, 201);
    assert_eq!(create(&ground, "SECRET", "k-2").0, 201);
    ground.owner.post("/v1/clock/advance", &json!({ "by": "1m" })).unwrap();
    assert_eq!(create(&ground, "LATE", "k-3").0, 201);
    let ground = ground.restarted_after(|data| {
        let store = Sqlite::open(data, SqliteOptions::default()).unwrap();
        let (mut reader, mut journal) = (store.reader().unwrap(), store.journal().unwrap());
        let later = Timestamp::parse("2026-01-01T00:00:30Z").unwrap();
        move_out(reader.as_mut(), journal.as_mut(), &folder_of(data), later).unwrap().unwrap();
    });
    let (status, body) = create(&ground, "A", "k-1");
    assert!(!body.contains("SECRET"), "{status} {body}");
    assert!(
        status == 410 && body.contains("\"archived\"") || status == 201 && body.contains("About A"),
        "{status} {body}"
    );
    std::fs::remove_dir_all(folder_of(&ground.data)).unwrap();
    let (status, body) = create(&ground, "A", "k-1");
    assert!(status == 410 && body.contains("\"archived\""), "{status} {body}");
    assert_eq!(create(&ground, "LATE", "k-3").0, 201);
}
