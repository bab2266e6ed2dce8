//! The rights of a token: its roles never widen, its records cannot be overridden, and derived tokens and sessions end with it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::hex;
use trackside_lifecycle::value::Value;
use trackside_protocol::Client;
use trackside_random::Random;
use trackside_runtime::{CommandAnswer, Options, Runtime};
use trackside_server::WebhookOptions;
use trackside_store::{Sqlite, SqliteOptions};

use crate::ground::{RawAnswer, RestServer, each, refused, until, why};
use crate::receiver::Receiver;

/// A pack whose lifecycle only holders of its roles may create.
fn pack(name: &str, roles: &[&str]) -> Json {
    let declared: Vec<String> = roles.iter().map(|it| format!("{it}: {{}}")).collect();
    let by = [roles.join(" || "), format!("\"{}\" in actor.roles", roles[0])].join(" || ");
    json!({ "files": {
        "pack.yaml": format!("pack: {name}\nversion: 1\nroles: {{ {} }}\n", declared.join(", ")),
        "lifecycles/pay.yaml": format!(
            "lifecycle: {name}.pay\nabout: A payment.\ncreate: {{ by: '{by}' }}\nstates: {{ MADE: {{ initial: true }} }}\n"
        ),
    } })
}

fn install(ground: &RestServer, name: &str, roles: &[&str]) {
    let pack = pack(name, roles);
    ground.owner.put(&format!("/v1/packs/{name}"), &pack).unwrap_or_else(|it| panic!("{it:#?}"));
}

fn may_create(client: &Client, lifecycle: &str) -> bool {
    match client.post(&format!("/v1/entities/{lifecycle}?dryRun=true"), &json!({})) {
        Ok(_) => true,
        other => {
            assert_eq!(why(other).0, 403);
            false
        }
    }
}

#[test]
fn installing_a_pack_never_widens_a_token() {
    const NAMES: [&str; 7] = ["coder", "planner", "lead", "teller", "payer", "clerk", "supervisor"];
    let ground = RestServer::new();
    install(&ground, "bank", &["teller", "payer"]);
    let mut random = Random::new(19);
    let tokens: Vec<String> = [
        json!({ "actor": "a-1", "kind": "agent", "roles": ["coder", "teller"] }),
        json!({ "actor": "a-2", "kind": "agent", "roles": ["coding:planner", "bank:payer"], "for": ["*"] }),
        json!({ "actor": "p-1", "kind": "human", "roles": ["lead", "payer"] }),
        json!({ "actor": "s-1", "kind": "system", "roles": ["teller"], "for": ["agent-*"] }),
    ]
    .map(|it| ground.mint_token(it))
    .into();
    let all = |ground: &RestServer| -> Vec<Client> { tokens.iter().map(|it| ground.client(it)).collect() };
    let before: Vec<bool> = all(&ground).iter().map(|it| may_create(it, "bank.pay")).collect();
    assert_eq!(before, [true, true, true, true]);
    assert_eq!(
        all(&ground)[0].get("/v1/whoami").unwrap().body["roles"],
        json!(["coding:coder", "bank:teller"])
    );
    let mut installed = Vec::new();
    for number in 0..12 {
        let name = format!("extra-{number}");
        let count = 1 + random.below(4);
        let mut roles: Vec<&str> = (0..count).map(|_| *random.pick(&NAMES).unwrap()).collect();
        roles.sort_unstable();
        roles.dedup();
        install(&ground, &name, &roles);
        for client in all(&ground) {
            assert!(!may_create(&client, &format!("{name}.pay")), "{roles:?} of {name} widened a token");
        }
        let run = |client: &Client, role: String| {
            client.post("/v1/tokens", &json!({ "actor": "agent-1", "kind": "agent", "roles": [role] }))
        };
        for role in &roles {
            for place in [1, 3] {
                let problem = refused(run(&all(&ground)[place], format!("{name}:{role}")));
                assert_eq!(problem.status, 403, "{problem:#?}");
            }
        }
        installed.push((name, roles));
    }
    // A supervisor still creates run tokens with its own role. The bare name is ambiguous by now.
    let own = json!({ "actor": "agent-1", "kind": "agent", "roles": ["bank:teller"] });
    all(&ground)[3].post("/v1/tokens", &own).unwrap_or_else(|it| panic!("{it:#?}"));
    let bare = json!({ "actor": "agent-1", "kind": "agent", "roles": ["teller"] });
    let problem = refused(all(&ground)[3].post("/v1/tokens", &bare));
    assert_eq!(problem.code, "ambiguous-role");
    assert!(problem.detail.contains("bank:teller or "), "{}", problem.detail);
    // The same with tokens that are looked up again.
    let ground = ground.restart();
    for client in all(&ground) {
        assert!(may_create(&client, "bank.pay"));
        for (name, roles) in &installed {
            assert!(!may_create(&client, &format!("{name}.pay")), "{roles:?} of {name} widened a token");
        }
    }
}

/// Stores a token as an earlier release did, with roles as they were written.
fn store_token(data: &std::path::Path, id: &str, text: &str, roles: &[&str]) {
    use sha2::{Digest as _, Sha256};
    let store = Arc::new(Sqlite::open(data, SqliteOptions::default()).unwrap());
    let runtime = Runtime::start(store, &[], Options::default()).unwrap();
    let fields = [
        ("holder", Value::text("old")),
        ("kind", Value::text("agent")),
        ("roles", Value::list(roles.iter().map(|it| Value::text(it)).collect())),
        ("hash", Value::text(&hex::encode(Sha256::digest(text.as_bytes())))),
    ];
    let entity = EntityKey::new("access.token", id);
    let ask = Ask::Create { entity, fields: fields.into_iter().collect() };
    let made = runtime.gateway().unwrap().ask(Command::new(Actor::engine(), ask)).unwrap();
    assert!(matches!(made, CommandAnswer::Accepted(_)), "{made:#?}");
    runtime.stop();
}

#[test]
fn a_bare_role_of_an_earlier_release_means_the_packs_of_its_time() {
    let ground = RestServer::new();
    install(&ground, "bank", &["teller"]);
    let (id, text) = ("0123456789ab", format!("ts_0123456789ab_{}", "7".repeat(64)));
    // `ghost` belonged to no pack when the token was made.
    let ground = ground.restarted_after(|data| store_token(data, id, &text, &["teller", "ghost", "admin"]));
    install(&ground, "payroll", &["teller", "ghost"]);
    for ground in [ground].into_iter().map(RestServer::restart) {
        let old = ground.client(&text);
        assert_eq!(old.get("/v1/whoami").unwrap().body["roles"], json!(["bank:teller", "admin"]));
        assert!(may_create(&old, "bank.pay") && !may_create(&old, "payroll.pay"));
    }
}

#[test]
fn nobody_overrides_the_record_of_a_token() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    let made = owner.post("/v1/tokens", &json!({ "actor": "ada", "kind": "human" })).unwrap().body;
    let id = made["details"]["id"].as_str().unwrap();
    let ada = ground.client(made["token"].as_str().unwrap());
    owner.delete(&format!("/v1/tokens/{id}")).unwrap();
    let end = owner.get("/readyz").unwrap().body["seq"].clone();
    let correct = format!("/v1/entities/access.token/{id}/correct");
    let says = |outcome| {
        let problem = refused(outcome);
        assert!(problem.detail.contains("access.token cannot be "), "{}", problem.detail);
        (problem.status, problem.code)
    };
    let forbidden = (403, "not-permitted".to_owned());
    for body in [
        json!({ "to": "VALID", "reason": "so" }),
        json!({ "fields": { "hash": "0".repeat(64) }, "reason": "so" }),
        json!({ "fields": { "holder": "owner" }, "reason": "so" }),
    ] {
        assert_eq!(says(owner.post(&correct, &body)), forbidden);
        assert_eq!(says(owner.post(&format!("{correct}?dryRun=true"), &body)), forbidden);
    }
    let redact = json!({ "lifecycle": "access.token", "id": id, "all": true, "reason": "so" });
    assert_eq!(says(owner.post("/v1/redactions", &redact)), forbidden);
    for dry_run in ["", "?dryRun=true"] {
        let migrate = json!({ "lifecycle": "access.token", "to": 7 });
        assert_eq!(says(owner.post(&format!("/v1/migrations{dry_run}"), &migrate)), forbidden);
        let token =
            json!({ "lifecycle": "access.token", "id": "x", "state": "VALID", "fields": {}, "origin": "x" });
        let import = json!({ "entities": [token] });
        let refusal = (422, "cannot-import".to_owned());
        assert_eq!(says(owner.post(&format!("/v1/import{dry_run}"), &import)), refusal);
    }
    // No other route creates or moves one, alone or in a batch.
    let create =
        json!({ "lifecycle": "access.token", "id": "x", "event": "create", "fields": { "holder": "x" } });
    for atomic in [false, true] {
        for command in [
            create.clone(),
            json!({ "lifecycle": "access.token", "id": id, "event": "replace", "fields": { "successor": "x" } }),
        ] {
            let outcome = owner.post("/v1/batch", &json!({ "atomic": atomic, "commands": [command] }));
            let told = outcome.map_or_else(|it| format!("{it:?}"), |it| it.body.to_string());
            assert!(!told.contains("\"success\":true"), "{told}");
        }
    }
    assert_eq!(why(ada.get("/v1/whoami")).0, 401);
    assert_eq!(owner.get("/readyz").unwrap().body["seq"], end, "nothing was written");
}

/// Follows a sign-in link and returns the cookie.
fn follow(ground: &RestServer, url: &str) -> Option<String> {
    let path = url.split_once(&ground.address.to_string()).unwrap().1;
    let answer = ground.raw(&format!("GET {path} HTTP/1.1"), b"");
    let cookie = answer.header("set-cookie").filter(|_| answer.status == 303)?;
    Some(format!("Cookie: {}", cookie.split(';').next().unwrap()))
}

fn with_cookie(ground: &RestServer, cookie: &str, method: &str, path: &str) -> RawAnswer {
    let own = format!("Origin: http://{}\r\nContent-Type: application/json", ground.address);
    ground.raw(&format!("{method} {path} HTTP/1.1\r\n{cookie}\r\n{own}"), b"{}")
}

#[test]
fn everything_made_with_a_token_ends_with_it() {
    let receiver = Receiver::willing();
    let options = WebhookOptions { allow_private: true, ..WebhookOptions::default() };
    for how in ["revoked", "expired", "revoked in a batch"] {
        let ground = RestServer::telling(options.clone());
        let owner = &ground.owner;
        let lifetime = if how == "expired" { json!("2h") } else { Json::Null };
        let body = json!({ "actor": "ada", "kind": "human", "for": ["agent-*"], "lifetime": lifetime });
        let made = owner.post("/v1/tokens", &body).unwrap().body;
        let (text, id) = (made["token"].as_str().unwrap(), made["details"]["id"].as_str().unwrap());
        let ada = ground.client(text);
        let link =
            || ada.post("/v1/sign-in-links", &json!({})).unwrap().body["url"].as_str().unwrap().to_owned();
        // A session, a session made with that one, two links, a run token and a webhook.
        let session = follow(&ground, &link()).unwrap();
        let second = with_cookie(&ground, &session, "POST", "/v1/sign-in-links");
        let second: Json = serde_json::from_slice(&second.body).unwrap();
        let second = follow(&ground, second["url"].as_str().unwrap()).unwrap();
        let third = with_cookie(&ground, &second, "POST", "/v1/sign-in-links");
        let third: Json = serde_json::from_slice(&third.body).unwrap();
        let links = [link(), third["url"].as_str().unwrap().to_owned()];
        let run = ada.post("/v1/tokens", &json!({ "actor": "agent-1", "kind": "agent" })).unwrap().body;
        assert_eq!(run["details"]["madeWith"], json!(id));
        let run = ground.client(run["token"].as_str().unwrap());
        let hook = ada.post("/v1/webhooks", &json!({ "url": receiver.url })).unwrap().body;
        let hook = format!("/v1/webhooks/{}", hook["details"]["id"].as_str().unwrap());
        run.get("/v1/whoami").unwrap();
        for cookie in [&session, &second] {
            assert_eq!(with_cookie(&ground, cookie, "GET", "/v1/whoami").status, 200);
        }
        // Two open streams, one of them of a session.
        let stream = |credential: &str| {
            let mut stream = TcpStream::connect(ground.address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            write!(
                stream,
                "GET /v1/events HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{credential}\r\n\r\n",
                ground.address
            )
            .unwrap();
            let mut lines = BufReader::new(stream);
            let mut first = String::new();
            lines.read_line(&mut first).unwrap();
            assert!(first.contains("200"), "{first}");
            lines
        };
        let streams = [stream(&format!("Authorization: Bearer {text}")), stream(&second)];
        match how {
            "revoked" => drop(owner.delete(&format!("/v1/tokens/{id}")).unwrap()),
            "expired" => drop(owner.post("/v1/clock/advance", &json!({ "by": "2h" })).unwrap()),
            _ => {
                let revoke = json!({ "lifecycle": "access.token", "id": id, "event": "revoke" });
                owner.post("/v1/batch", &json!({ "commands": [revoke] })).unwrap();
            }
        }
        // Invalid at once.
        assert_eq!(why(ada.get("/v1/whoami")).0, 401, "{how}");
        assert_eq!(why(run.get("/v1/whoami")).0, 401, "{how}: the run token");
        for cookie in [&session, &second] {
            assert_eq!(with_cookie(&ground, cookie, "GET", "/v1/whoami").status, 401, "{how}: a session");
            assert_eq!(with_cookie(&ground, cookie, "POST", "/v1/sign-in-links").status, 401, "{how}");
        }
        for link in &links {
            assert_eq!(follow(&ground, link), None, "{how}: an unused link");
        }
        // The streams end with the next entry, the webhook is off with it.
        let task = json!({ "id": "T", "fields": { "title": "x" } });
        owner.post("/v1/entities/mission.task", &task).unwrap();
        for mut stream in streams {
            // Comments that keep a stream alive must not keep this test waiting.
            let (told, ended) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                let mut rest = String::new();
                stream.read_to_string(&mut rest).unwrap();
                told.send(rest)
            });
            let rest = ended.recv_timeout(Duration::from_secs(60)).expect("the stream ends");
            assert!(!rest.contains("mission.task"), "{how}: {rest}");
        }
        until(|| owner.get(&hook).unwrap().body["state"] == "OFF");
        assert!(receiver.messages().iter().all(|it| !it.entity().contains("mission.task")), "{how}");
        // The records end too.
        until(|| {
            let tokens = owner.get("/v1/tokens?limit=200").unwrap().body;
            let open = tokens["items"].as_array().unwrap().iter().filter(|it| it["state"] == "VALID");
            open.map(|it| it["actor"].as_str().unwrap()).all(|it| it == "owner")
        });
        // Only the link that the server printed when it started is left.
        until(|| {
            let links = owner.get("/v1/entities/access.link?limit=200").unwrap().body;
            each(&links, "state").iter().filter(|it| **it == "OPEN").count() <= 1
        });
    }
}

#[test]
fn a_pattern_does_not_match_people() {
    let ground = RestServer::new();
    // Not even a name in full makes a token act for the server.
    let bold = ground.actor(json!({ "actor": "bold", "kind": "system", "for": ["*", "trackside"] }));
    let problem = refused(bold.acting_for("trackside").get("/v1/whoami"));
    assert_eq!((problem.status, problem.code.as_str()), (403, "not-permitted"), "{problem:?}");
    let pia = ground.owner.post("/v1/tokens", &json!({ "actor": "pia", "kind": "human" })).unwrap().body;
    let all = ground.actor(json!({ "actor": "boss", "kind": "agent", "for": ["*"] }));
    let named = ground.actor(json!({ "actor": "desk", "kind": "system", "for": ["pia", "p*"] }));
    let whoami = |client: &Client, id: &str| client.clone().acting_for(id).get("/v1/whoami");
    whoami(&all, "coder-1").unwrap();
    for person in ["owner", "pia"] {
        let problem = refused(whoami(&all, person));
        assert_eq!(problem.status, 403);
        assert!(problem.detail.contains(&format!("--for {person}")), "{}", problem.detail);
    }
    assert_eq!(whoami(&named, "pia").unwrap().body["actingFor"], "pia");
    // Once a person, always a person.
    ground.owner.delete(&format!("/v1/tokens/{}", pia["details"]["id"].as_str().unwrap())).unwrap();
    assert_eq!(why(whoami(&all, "pia")).0, 403);
    whoami(&all, "quentin").unwrap();
    ground.person("quentin");
    assert_eq!(why(whoami(&all, "quentin")).0, 403, "from the first token on");
    for bad in ["a:b", "coding:coder", ":"] {
        assert_eq!(why(whoami(&all, bad)).0, 400, "{bad}");
    }
}

#[test]
fn an_agent_with_the_id_of_a_person_is_another_actor() {
    let receiver = Receiver::willing();
    let options = WebhookOptions { allow_private: true, ..WebhookOptions::default() };
    let ground = RestServer::telling(options);
    let made = ground.owner.post("/v1/tokens", &json!({ "actor": "pia", "kind": "human" })).unwrap().body;
    let pia = ground.client(made["token"].as_str().unwrap());
    let path = format!("/v1/tokens/{}", made["details"]["id"].as_str().unwrap());
    let hook = pia.post("/v1/webhooks", &json!({ "url": receiver.url })).unwrap().body;
    let hook = format!("/v1/webhooks/{}", hook["details"]["id"].as_str().unwrap());
    let twins = ["agent", "system"].map(|kind| ground.actor(json!({ "actor": "pia", "kind": kind })));
    for twin in &twins {
        let listed = twin.get("/v1/tokens").unwrap().body;
        let kinds = each(&listed, "kind");
        assert!(kinds.len() == 1 && kinds[0] != "human", "{listed:#}");
        assert_eq!(why(twin.delete(&path)).0, 404);
        assert_eq!(why(twin.get(&hook)).0, 404);
        assert_eq!(why(twin.delete(&hook)).0, 404);
    }
    assert_eq!(each(&pia.get("/v1/tokens").unwrap().body, "kind"), ["human"]);
    pia.get(&hook).unwrap();
    // A run token is its creator's, not that of another actor with the same id.
    let boss = ground.actor(json!({ "actor": "boss", "kind": "agent", "for": ["coder-*"] }));
    boss.post("/v1/tokens", &json!({ "actor": "coder-1", "kind": "agent" })).unwrap();
    let twin = ground.actor(json!({ "actor": "boss", "kind": "system" }));
    assert_eq!(each(&twin.get("/v1/tokens").unwrap().body, "actor"), ["boss"]);
    assert_eq!(boss.get("/v1/tokens").unwrap().body["items"].as_array().unwrap().len(), 2);
    pia.delete(&path).unwrap();
}

#[test]
fn what_was_made_with_a_token_continues_with_the_token_that_replaces_it() {
    let ground = RestServer::new();
    let admin = json!({ "actor": "ada", "kind": "human", "roles": ["admin"], "lifetime": "30d" });
    let made = ground.owner.post("/v1/tokens", &admin).unwrap().body;
    let (old, old_id) = (ground.client(made["token"].as_str().unwrap()), made["details"]["id"].clone());
    let link = |client: &Client| {
        let made = client.post("/v1/sign-in-links", &json!({})).unwrap().body;
        follow(&ground, made["url"].as_str().unwrap()).unwrap()
    };
    let session = link(&old);
    let rotated = old.post("/v1/tokens/rotate", &json!({})).unwrap().body;
    let new = ground.client(rotated["token"].as_str().unwrap());
    let details = &rotated["details"];
    assert_eq!((&details["roles"], &details["mintedWith"]), (&json!(["admin"]), &old_id));
    assert_eq!(details["expiresAt"], "2026-01-31T00:00:00Z");
    old.get("/v1/whoami").expect("valid until it is replaced");
    let path = format!("/v1/tokens/{}", old_id.as_str().unwrap());
    // Only the new token of the same holder replaces it.
    assert_eq!(why(ground.owner.post(&format!("{path}/replace"), &json!({}))).0, 403);
    assert_eq!(why(old.post(&format!("{path}/replace"), &json!({}))).0, 403);
    let replaced = new.post(&format!("{path}/replace"), &json!({})).unwrap().body;
    assert_eq!(replaced["expiresAt"], "2026-01-01T00:10:00Z");
    old.get("/v1/whoami").expect("valid for a while");
    ground.owner.post("/v1/clock/advance", &json!({ "by": "10m" })).unwrap();
    assert_eq!(why(old.get("/v1/whoami")).0, 401);
    let status = |cookie: &str| with_cookie(&ground, cookie, "GET", "/v1/whoami").status;
    assert_eq!(status(&session), 200, "the session continues");
    // With the successor it ends.
    ground.owner.delete(&format!("/v1/tokens/{}", details["id"].as_str().unwrap())).unwrap();
    assert_eq!(status(&session), 401);
    // Revoking a replaced token ends the tokens and sessions made with it.
    let made = ground.owner.post("/v1/tokens", &admin).unwrap().body;
    let old = ground.client(made["token"].as_str().unwrap());
    let path = format!("/v1/tokens/{}", made["details"]["id"].as_str().unwrap());
    let session = link(&old);
    let rotated = old.post("/v1/tokens/rotate", &json!({})).unwrap().body;
    let new = ground.client(rotated["token"].as_str().unwrap());
    new.post(&format!("{path}/replace"), &json!({})).unwrap();
    new.delete(&path).unwrap();
    assert_eq!(status(&session), 401);
    new.get("/v1/whoami").unwrap();
    // A lifetime that an admin set cannot be extended by its holder.
    let agent = ground.actor(json!({ "actor": "cody", "kind": "agent", "lifetime": "1h" }));
    assert_eq!(why(agent.post("/v1/tokens/rotate", &json!({}))).0, 403);
    assert_eq!(with_cookie(&ground, &link(&new), "POST", "/v1/tokens/rotate").status, 403, "nor a session");
}
