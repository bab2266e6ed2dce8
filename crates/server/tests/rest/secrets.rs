//! Secrets that are shown once are stored nowhere.

use serde_json::{Value as Json, json};

use crate::ground::RestServer;

#[test]
fn the_text_of_a_token_or_link_is_nowhere_but_in_its_answer() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let mut secrets: Vec<String> = Vec::new();
    let text = std::fs::read_to_string(ground.data.join("token")).unwrap();
    secrets.push(text.trim().to_owned());
    for kind in ["human", "agent", "system"] {
        secrets.push(
            ground.mint_token(json!({ "actor": format!("a-{kind}"), "kind": kind, "note": "for a test" })),
        );
    }
    let boss = ground.actor(json!({ "actor": "boss", "kind": "agent", "for": ["coder-*"] }));
    let run = boss.post("/v1/tokens", &json!({ "actor": "coder-1", "kind": "agent" })).unwrap().body;
    secrets.push(run["token"].as_str().unwrap().to_owned());
    let links = [ground.sign_in.clone(), {
        let made = owner.post("/v1/sign-in-links", &json!({ "actor": "pia" })).unwrap().body;
        made["url"].as_str().unwrap().to_owned()
    }];
    let mut cookie_name = String::new();
    for link in &links {
        let (_, rest) = link.split_once("link=").unwrap();
        secrets.push(rest.to_owned());
        // Following it makes a session.
        let path = link.split_once(&ground.address.to_string()).unwrap().1;
        let followed = ground.raw(&format!("GET {path} HTTP/1.1"), b"");
        assert_eq!(followed.status, 303, "{followed:?}");
        let cookie = followed.header("set-cookie").unwrap();
        let (name, session) = cookie.split_once('=').unwrap();
        cookie_name = name.to_owned();
        secrets.push(session.split(';').next().unwrap().to_owned());
    }
    assert_eq!(secrets.len(), 9);
    assert!(secrets.iter().all(|it| it.starts_with("ts_") && it.len() > 70), "{secrets:?}");

    // No error repeats a secret.
    let mut said: Vec<(String, Vec<u8>)> = Vec::new();
    for secret in &secrets {
        let bearer = format!("Authorization: Bearer {secret}");
        let twisted = format!("Authorization: Bearer {secret}x");
        for head in [
            format!("GET /v1/nowhere/{secret} HTTP/1.1\r\n{bearer}"),
            format!("DELETE /v1/whoami HTTP/1.1\r\n{bearer}"),
            format!("GET /v1/whoami HTTP/1.1\r\n{twisted}"),
            format!("GET /v1/entities/mission.nothing HTTP/1.1\r\n{bearer}"),
            format!("GET /v1/entities/mission.task?where=nothing HTTP/1.1\r\n{bearer}"),
            format!("GET /v1/whoami HTTP/1.1\r\nAuthorization: {secret}"),
            format!("GET /v1/whoami HTTP/1.1\r\nCookie: {cookie_name}={secret}x"),
            format!("POST /v1/tokens HTTP/1.1\r\n{bearer}\r\nContent-Type: application/json"),
            format!("GET /v1/whoami HTTP/1.1\r\n{bearer}"),
            format!("GET /v1/tokens HTTP/1.1\r\n{bearer}"),
            format!("GET /v1/journal?limit=200 HTTP/1.1\r\n{bearer}"),
            format!("GET /v1/export HTTP/1.1\r\n{bearer}"),
            format!("GET /metrics HTTP/1.1\r\n{bearer}"),
            format!("GET / HTTP/1.1\r\n{bearer}"),
            format!("GET /sign-in?link={secret}x HTTP/1.1"),
        ] {
            let answer = ground.raw(&head, b"");
            let what = head.lines().next().unwrap_or_default().replace(secret.as_str(), "…");
            // An unknown path is repeated in the error: the server cannot know that it contains a secret.
            if !what.contains("nowhere") {
                said.push((what, [answer.head.into_bytes(), answer.body].concat()));
            }
        }
    }
    let document = owner.get("/openapi.json").unwrap().body;
    said.push(("/openapi.json".to_owned(), document.to_string().into_bytes()));
    let told: Vec<Json> = vec![owner.get("/v1/stats").unwrap().body, owner.get("/v1/alerts").unwrap().body];
    said.extend(told.into_iter().map(|it| ("told".to_owned(), it.to_string().into_bytes())));

    // All files on disk, except the one with the owner's token.
    let ground = ground.restart();
    for file in files(&ground.data) {
        let name = file.display().to_string();
        if !name.ends_with("/token") {
            said.push((name, std::fs::read(&file).unwrap()));
        }
    }
    assert!(said.iter().any(|(name, _)| name.ends_with("journal.db")));
    assert!(said.iter().any(|(name, _)| name.ends_with("state.db")));
    for (place, secret) in secrets.iter().enumerate() {
        // The id in it is no secret; the rest is.
        let hidden = secret.rsplit('_').next().unwrap();
        for (where_, bytes) in &said {
            let found = bytes.windows(hidden.len()).any(|it| it == hidden.as_bytes());
            assert!(!found, "secret {place} is in {where_}");
        }
    }
    // The same search finds data that is there: the id of every token.
    let id = secrets[1].rsplit('_').nth(1).unwrap().as_bytes();
    let journal = said.iter().find(|(name, _)| name.ends_with("journal.db")).unwrap();
    assert!(journal.1.windows(id.len()).any(|it| it == id), "the look itself is blind");
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all
}
