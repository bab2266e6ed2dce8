//! Hidden data stays hidden on every route: after a new version of the rules, and after the reader's token
//! has ended.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value as Json, json};
use trackside_protocol::Client;

use crate::ground::{RestServer, why};

/// A pack whose chests are visible to their holders, or to all.
fn chests(version: u32, read: &str) -> Json {
    let pack =
        format!("pack: vault\nversion: {version}\nabout: Chests.\naudiences: {{ operator: Watches. }}\n");
    let chest = format!(
        "lifecycle: vault.chest\nabout: A chest.\n{read}\
         fields: {{ holder: {{ type: string }}, secret: {{ type: string }} }}\n\
         create: {{ by: human, takes: [holder, secret] }}\n\
         states: {{ SHUT: {{ initial: true }}, OPEN: {{ final: true, outcome: success }} }}\n\
         transitions:\n  open: {{ from: SHUT, to: OPEN, by: human }}\n  \
         shake: {{ from: SHUT, by: human, notify: {{ audience: operator, message: 'It sounds like {{secret}}' }}, \
         alert: {{ kind: shaken, severity: error, message: 'It sounds like {{secret}}' }} }}\n"
    );
    json!({ "files": { "pack.yaml": pack, "lifecycles/chest.yaml": chest } })
}

const FOR_HOLDERS: &str = "read: actor.id == holder || (human && admin)\n";

#[test]
fn visibility_follows_the_entitys_own_version() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    owner.put("/v1/packs/vault", &chests(1, FOR_HOLDERS)).unwrap_or_else(|it| panic!("{it:#?}"));
    let chest = |id: &str, secret: &str| {
        let fields = json!({ "holder": "mia", "secret": secret });
        owner.post("/v1/entities/vault.chest", &json!({ "id": id, "fields": fields })).unwrap();
    };
    chest("C-1", "the-old-combination");
    owner.put("/v1/packs/vault", &chests(2, "")).unwrap();
    chest("C-2", "for-everybody");
    let shake = json!({ "event": "shake" });
    for id in ["C-1", "C-2"] {
        owner.post(&format!("/v1/entities/vault.chest/{id}/transitions"), &shake).unwrap();
    }
    let (token, mia) = (ground.mint_token(json!({ "actor": "pia", "kind": "human" })), ground.person("mia"));
    let pia = ground.client(&token);
    assert_eq!(why(pia.get("/v1/entities/vault.chest/C-1")).0, 404);
    pia.get("/v1/entities/vault.chest/C-2").unwrap();

    let surfaces = ["/v1/journal?limit=200", "/v1/notifications", "/v1/alerts", "/v1/export"];
    let shown = |who: &Client, path: &str| String::from_utf8(who.get_bytes(path).unwrap()).unwrap();
    for path in surfaces {
        assert!(!shown(&pia, path).contains("the-old-combination"), "{path}");
        assert!(shown(&pia, path).contains("for-everybody"), "{path}");
        assert!(shown(&mia, path).contains("the-old-combination"), "{path}");
    }
    let head = format!("GET /v1/events?after=0&audience=all HTTP/1.1\r\nAuthorization: Bearer {token}");
    let heard = String::from_utf8(ground.raw_begin(&head).body).unwrap();
    assert!(heard.contains("for-everybody") && !heard.contains("the-old-combination"), "{heard}");
}

/// The lines of a stream as they arrive, until it ends.
fn lines(stream: impl std::io::BufRead + Send + 'static) -> Receiver<String> {
    let (told, heard) = channel();
    std::thread::spawn(move || {
        for line in stream.lines().map_while(Result::ok) {
            if told.send(line).is_err() {
                return;
            }
        }
    });
    heard
}

/// Waits until a text occurs. A caller that loses its right meanwhile gets nothing more.
fn until(heard: &Receiver<String>, whom: &str) {
    loop {
        let line = heard.recv_timeout(Duration::from_secs(10)).expect("the stream continues");
        if line.contains(whom) {
            return;
        }
    }
}

/// Everything until the stream ends, which it must.
fn to_the_end(heard: &Receiver<String>) -> String {
    let mut all = String::new();
    loop {
        match heard.recv_timeout(Duration::from_secs(10)) {
            Ok(line) => all.push_str(&line),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return all,
            Err(_) => panic!("the stream does not end: {all}"),
        }
    }
}

#[test]
fn a_stream_ends_with_the_token_it_was_opened_with() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let task = |id: &str| {
        let body = json!({ "id": id, "fields": { "title": "x" } });
        owner.post("/v1/entities/mission.task", &body).unwrap();
    };
    let open = |token: &Json| {
        let client = ground.client(token["token"].as_str().unwrap());
        lines(client.stream("/v1/events?audience=all").unwrap())
    };
    let made = |more: Json| {
        let mut wanted = json!({ "actor": "pia", "kind": "human" });
        wanted.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        owner.post("/v1/tokens", &wanted).unwrap().body
    };
    let (taken, stays) = (made(json!({})), made(json!({})));
    let (taken_stream, stays_stream) = (open(&taken), open(&stays));
    task("T-1");
    until(&taken_stream, "T-1");
    owner.delete(&format!("/v1/tokens/{}", taken["details"]["id"].as_str().unwrap())).unwrap();
    task("T-2");
    let heard = to_the_end(&taken_stream);
    assert!(!heard.contains("T-2"), "{heard}");

    // Also by the end of its lifetime; other streams continue.
    let late = made(json!({ "lifetime": "1h" }));
    let late_stream = open(&late);
    task("T-3");
    until(&late_stream, "T-3");
    owner.post("/v1/clock/advance", &json!({ "by": "2h" })).unwrap();
    task("T-4");
    let heard = to_the_end(&late_stream);
    assert!(!heard.contains("T-4"), "{heard}");
    until(&stays_stream, "T-4");
}
