//! Long-term storage over HTTP: an archived entity is still shown, exported, proved and copied.

use std::time::Duration;

use serde_json::json;

use crate::artifacts::id;
use crate::ground::{RestServer, refused};

const BOOK: &str = "\
lifecycle: shelf.book
about: A book.
fields: { text: { type: string } }
create: { by: human, takes: [text] }
states: { OPEN: { initial: true }, STORED: { final: true, archive: true } }
transitions: { store: { from: OPEN, to: STORED, by: human } }
";

#[test]
fn an_archived_entity_is_shown_with_its_file_and_still_read_everywhere() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let files =
        json!({ "pack.yaml": "pack: shelf\nversion: 1\nabout: Books.\n", "lifecycles/book.yaml": BOOK });
    owner.put("/v1/packs/shelf", &json!({ "files": files })).unwrap_or_else(|it| panic!("{it:#?}"));
    let page = b"the page of the book";
    let artifact = format!("/v1/artifacts/{}", id(page));
    owner.put_bytes(&artifact, page).unwrap();
    let text = format!("a sentence, and the page {}", id(page));
    owner.post("/v1/entities/shelf.book", &json!({ "id": "B-1", "fields": { "text": text } })).unwrap();
    let book = "/v1/entities/shelf.book/B-1";
    let before = owner.get(&format!("{book}/history")).unwrap().body;
    assert_eq!(owner.get(book).unwrap().body["archiveFile"], json!(null));
    owner.post(&format!("{book}/transitions"), &json!({ "to": "STORED" })).unwrap();
    let named = (0..2_000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(5));
        owner.get(book).unwrap().body["archiveFile"].as_str().map(str::to_owned)
    });
    let file = ground.data.join(named.unwrap());
    assert!(std::fs::read_to_string(&file).unwrap().contains("a sentence"));
    assert!(!ground.data.join("artifacts").join(&id(page)[..2]).join(id(page)).exists());

    let shown = owner.get(book).unwrap().body;
    assert_eq!((&shown["state"], &shown["fields"]["text"]), (&json!("STORED"), &json!(text)));
    let after = owner.get(&format!("{book}/history")).unwrap().body;
    assert_eq!(after["items"][0], before["items"][0]);
    let seq = before["items"][0]["seq"].as_u64().unwrap();
    let then = owner.get(&format!("{book}?at={seq}")).unwrap().body;
    assert_eq!((&then["state"], &then["fields"]["text"]), (&json!("OPEN"), &json!(text)));
    assert_eq!(owner.get_bytes(&artifact).unwrap(), page);
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let raw = |path: &str| {
        let answer =
            ground.raw(&format!("GET {path} HTTP/1.1\r\nAuthorization: Bearer {}", token.trim()), b"");
        (answer.status, String::from_utf8(answer.body).unwrap())
    };
    for path in ["/v1/export", "/v1/journal?limit=200"] {
        let (status, body) = raw(path);
        assert!(status == 200 && body.contains("a sentence"), "{path} {status}");
    }
    let audit = owner.get("/v1/audit/verify").unwrap().body;
    assert_eq!((&audit["intact"], &audit["payloadsDropped"]), (&json!(true), &json!(0)), "{audit}");
    let copied = owner.post("/v1/backup", &json!({ "to": "monday" })).unwrap().body;
    assert_eq!((&copied["archiveFiles"], &copied["artifacts"]), (&json!(1), &json!(1)), "{copied}");

    // A file that is missing is named, and nothing is answered without it.
    let elsewhere = ground.data.join("elsewhere");
    std::fs::rename(&file, &elsewhere).unwrap();
    let refusal = refused(owner.get(&format!("{book}/history")));
    let detail = refusal.detail.clone();
    assert!(refusal.status == 410 && detail.contains(file.to_str().unwrap()), "{refusal:?}");
    assert_eq!(owner.get(book).unwrap().body["state"], json!("STORED"));
    let audit = owner.get("/v1/audit/verify").unwrap().body;
    assert!(audit.to_string().contains("payload-unread"), "{audit}");
    std::fs::rename(&elsewhere, &file).unwrap();
    owner.get(&format!("{book}/history")).unwrap();
}
