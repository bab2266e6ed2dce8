//! Every route, times every kind of caller, times other people's entities, against one table.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use trackside_server::ServerLimits;

use crate::ground::{RawAnswer, RestServer};
use crate::table::{AccessRow, CALLERS, Cell, EntityOwner, ROWS};

/// Answers that hold the values of entities.
const TELLING: &[(&str, &str)] = &[
    ("GET", "/v1/entities/{lifecycle}"),
    ("GET", "/v1/entities/{lifecycle}/{id}/history"),
    ("GET", "/v1/journal"),
    ("GET", "/v1/events"),
    ("GET", "/v1/export"),
    ("GET", "/v1/audit/export/{lifecycle}/{id}"),
    ("GET", "/v1/approvals"),
    ("GET", "/v1/entities/{lifecycle}/{id}/work"),
    ("GET", "/v1/runs/{id}/transcript"),
    ("POST", "/v1/effects/take"),
    ("POST", "/v1/entities/{lifecycle}/{id}/transitions"),
];

/// The credentials of a caller.
struct CallerCredentials {
    name: &'static str,
    actor: String,
    headers: String,
    /// The id of its token.
    token: String,
}

/// Two lifecycles with different `read` rules.
fn vault() -> Json {
    let life = |name: &str, read: &str| {
        format!(
            "lifecycle: vault.{name}\nabout: A thing of somebody.\n{read}\
             fields: {{ holder: {{ type: string }}, secret: {{ type: string }} }}\n\
             create: {{ by: human || agent || system, takes: [holder, secret] }}\n\
             states: {{ LAID: {{ initial: true }}, TAKEN: {{ final: true, outcome: success }} }}\n\
             transitions:\n  take: {{ from: LAID, to: TAKEN, by: actor.id == holder || subject.id == holder || (human && admin) }}\n  \
             fetch: {{ from: LAID, by: human && admin, effects: [ {{ effect: carry }} ] }}\n  \
             hold: {{ from: LAID, by: human && admin, lease: work }}\n\
             slots: {{ work: {{ for: 30m }} }}\n\
             effects: {{ carry: {{ with: {{ what: secret }} }} }}\n\
             work: {{ keeper: {{ query: laid_{name}, ask: 'Take {{secret}}', done: take }} }}\n"
        )
    };
    let request = "lifecycle: vault.request\nabout: A request.\nface: approval\nread: actor.id == holder || (human && admin)\n\
         fields: { holder: { type: string }, note: { type: string }, secret: { type: string } }\n\
         create: { by: human, takes: [holder, secret] }\n\
         states: { ASKED: { initial: true }, GIVEN: { final: true, outcome: success }, KEPT: { final: true, outcome: failure } }\n\
         transitions:\n  approve: { from: ASKED, to: GIVEN, by: human && admin, takes: [note] }\n  deny: { from: ASKED, to: KEPT, by: human && admin, takes: [note] }\n";
    json!({ "files": {
        "pack.yaml": "pack: vault\nversion: 1\nabout: Things of somebody.\nroles: { keeper: {} }\nqueries:\n  \
             laid_open: { of: vault.open, where: state == 'LAID' }\n  laid_closed: { of: vault.closed, where: state == 'LAID' }\n",
        "lifecycles/open.yaml": life("open", ""),
        "lifecycles/closed.yaml": life("closed", "read: actor.id == holder || (human && admin)\n"),
        "lifecycles/request.yaml": request,
    } })
}

/// One of every kind of caller, in the order of the table.
fn callers(ground: &RestServer) -> Vec<CallerCredentials> {
    let made = |body: Json| {
        let made = ground.owner.post("/v1/tokens", &body).unwrap().body;
        let id = made["details"]["id"].as_str().unwrap().to_owned();
        (made["token"].as_str().unwrap().to_owned(), id)
    };
    let shown =
        |name: &'static str, actor: &str, (text, token): (String, String), on_behalf: Option<&str>| {
            let mut headers = format!("\r\nAuthorization: Bearer {text}");
            if let Some(id) = on_behalf {
                headers.push_str(&format!("\r\nTrackside-For: {id}"));
            }
            CallerCredentials { name, actor: actor.to_owned(), headers, token }
        };
    let revoked = made(json!({ "actor": "gone", "kind": "human", "roles": ["admin"] }));
    ground.owner.delete(&format!("/v1/tokens/{}", revoked.1)).unwrap();
    let expired = made(json!({ "actor": "late", "kind": "human", "roles": ["admin"], "lifetime": "1s" }));
    ground.owner.post("/v1/clock/advance", &json!({ "by": "2s" })).unwrap();
    let boss = json!({ "actor": "boss", "kind": "agent", "roles": ["mission:specialist"], "for": ["ada"] });
    let bad = format!("ts_{}_{}", "0".repeat(12), "0".repeat(64));
    let admin = made(json!({ "actor": "root", "kind": "human", "roles": ["admin"] }));
    let all = vec![
        CallerCredentials {
            name: "none",
            actor: String::new(),
            headers: String::new(),
            token: "none".to_owned(),
        },
        shown("bad", "nobody", (bad, "none".to_owned()), None),
        shown("revoked", "gone", revoked, None),
        shown("expired", "late", expired, None),
        shown(
            "agent",
            "ada",
            made(json!({ "actor": "ada", "kind": "agent", "roles": ["mission:specialist"] })),
            None,
        ),
        shown(
            "foreign",
            "cody",
            made(json!({ "actor": "cody", "kind": "agent", "roles": ["coding:coder"] })),
            None,
        ),
        shown("acting-for", "boss", made(boss.clone()), Some("ada")),
        shown("not-for", "boss", made(boss), Some("cody")),
        shown("system", "cron", made(json!({ "actor": "cron", "kind": "system" })), None),
        shown("person", "pia", made(json!({ "actor": "pia", "kind": "human" })), None),
        shown("admin", "root", admin, None),
    ];
    assert_eq!(all.iter().map(|it| it.name).collect::<Vec<_>>(), CALLERS);
    all
}

/// The values of the placeholders in braces.
fn scene(
    ground: &RestServer,
    row: &AccessRow,
    caller: &CallerCredentials,
    number: usize,
) -> BTreeMap<&'static str, String> {
    let owner = &ground.owner;
    let id = format!("V-{number}");
    let (lifecycle, holder) = match row.subject {
        EntityOwner::None => ("vault.open", "somebody"),
        EntityOwner::Own => ("vault.closed", caller.actor.as_str()),
        EntityOwner::Other => ("vault.open", "somebody"),
        EntityOwner::Hidden => ("vault.closed", "somebody"),
    };
    let seq = owner.get("/readyz").unwrap().body["seq"].to_string();
    let mut words = BTreeMap::from([
        ("seq", seq),
        ("lifecycle", lifecycle.to_owned()),
        ("id", id.clone()),
        ("pack", "coding".to_owned()),
        ("name", "reviewable".to_owned()),
        ("sha256", "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881".to_owned()),
    ]);
    if row.subject == EntityOwner::None {
        return words;
    }
    let word = if row.subject == EntityOwner::Hidden { "the-combination" } else { "a word" };
    let secret = json!({ "id": id, "fields": { "holder": holder, "secret": word } });
    if row.path.contains("/tokens/") {
        let whose = if row.subject == EntityOwner::Own { holder } else { "somebody" };
        // A token needs an actor.
        let actor = if whose.is_empty() { "somebody" } else { whose };
        let kind = match caller.name {
            "agent" | "foreign" | "acting-for" | "not-for" => "agent",
            "system" => "system",
            _ => "human",
        };
        let made = owner.post("/v1/tokens", &json!({ "actor": actor, "kind": kind })).unwrap().body;
        words.insert("id", made["details"]["id"].as_str().unwrap().to_owned());
    } else if row.path.contains("/webhooks/") {
        // Events of this kind do not occur: nothing is ever sent.
        let wanted = json!({ "url": "https://receiver.invalid/", "events": ["ERASED"] });
        let made = owner.post("/v1/webhooks", &wanted).unwrap().body;
        words.insert("id", made["details"]["id"].as_str().unwrap().to_owned());
    } else if row.path.contains("/approvals") || row.path.contains("/inbox") {
        owner.post("/v1/entities/vault.request", &secret).unwrap();
    } else {
        owner.post(&format!("/v1/entities/{lifecycle}"), &secret).unwrap();
    }
    if row.path.contains("/alerts/") {
        let loud =
            json!({ "fields": { "secret": format!("{word} of old") }, "reason": "so that people look" });
        owner.post(&format!("/v1/entities/{lifecycle}/{id}/correct"), &loud).unwrap();
        let history = owner.get(&format!("/v1/entities/{lifecycle}/{id}/history")).unwrap().body;
        let raised = history["items"].as_array().unwrap().iter().find(|it| it["event"] == "ALERT_RAISED");
        words.insert("id", raised.unwrap()["seq"].to_string());
    }
    if row.path.contains("/runs/") {
        let runner = format!("host-{number}");
        let host =
            json!({ "actor": runner, "kind": "system", "roles": ["fleet:agent_runner"], "for": ["worker"] });
        let host = ground.actor(host);
        host.post("/v1/entities/fleet.runner", &json!({ "id": runner })).unwrap();
        let run = json!({ "entity": format!("{lifecycle}/{id}"), "agent": "worker", "role": "vault:keeper",
            "runner": runner, "adapter": "plain" });
        let run = json!({ "id": id, "fields": run });
        host.post("/v1/entities/fleet.run", &run).unwrap_or_else(|it| panic!("{it:#?}"));
        let line = json!({ "number": 1, "at": 1, "kind": "message", "text": word });
        host.post(&format!("/v1/runs/{id}/transcript"), &json!({ "lines": [line] })).unwrap();
    }
    if row.path.contains("/effects") {
        let fetched = json!({ "event": "fetch" });
        owner.post(&format!("/v1/entities/{lifecycle}/{id}/transitions"), &fetched).unwrap();
        let open = owner.get("/v1/effects?limit=200").unwrap().body;
        let open =
            open["items"].as_array().unwrap().iter().find(|it| it["entity"] == id.as_str()).cloned().unwrap();
        words.insert("id", open["id"].to_string());
    }
    words
}

fn send_row(
    ground: &RestServer,
    row: &AccessRow,
    caller: &CallerCredentials,
    words: &BTreeMap<&'static str, String>,
) -> RawAnswer {
    let filled = |text: &str| {
        words.iter().fold(text.to_owned(), |it, (word, with)| it.replace(&format!("{{{word}}}"), with))
    };
    let (path, body) = (filled(row.path), filled(row.body));
    let path = format!("{path}{}", filled(row.query));
    let kind = if body.is_empty() { "" } else { "\r\nContent-Type: application/json" };
    let head = format!("{} {path} HTTP/1.1{}{kind}", row.method, caller.headers);
    match row.path {
        // A stream has no end.
        "/v1/events" => ground.raw_begin(&head),
        _ => ground.raw(&head, body.as_bytes()),
    }
}

/// Whether an answer matches the table and has the right form.
fn check_cell(row: &AccessRow, caller: &str, cell: Cell, answer: &RawAnswer) -> Result<(), String> {
    let text = String::from_utf8_lossy(&answer.body);
    let short: String = text.chars().take(300).collect();
    let fits = match cell {
        Cell::Done => (200..300).contains(&answer.status),
        Cell::Unknown => answer.status == 401,
        Cell::Forbidden => answer.status == 403,
        Cell::Hidden => answer.status == 404,
        // Admitted, and refused because of the request itself.
        Cell::Refused => [400, 409, 412, 422].contains(&answer.status),
    };
    if !fits {
        return Err(format!("expected {cell:?}, was {}: {}", answer.status, short.trim()));
    }
    if answer.status == 401 && answer.header("www-authenticate") != Some("Bearer") {
        return Err("a 401 without WWW-Authenticate".to_owned());
    }
    if answer.status >= 400 && answer.header("content-type") != Some("application/problem+json") {
        return Err(format!("a refusal that is no problem: {}", answer.head));
    }
    // Only admins see the hidden value in any answer. They must see it, or the check proves nothing.
    match (caller, text.contains("the-combination")) {
        ("admin", false)
            if row.subject == EntityOwner::Hidden && TELLING.contains(&(row.method, row.path)) =>
        {
            Err(format!("an admin is not told what is hidden: {short}"))
        }
        ("admin", _) | (_, false) => Ok(()),
        (_, true) => Err(format!("it tells what is hidden: {short}")),
    }
}

#[test]
fn every_route_admits_the_right_callers() {
    let ground = RestServer::with(ServerLimits { strangers: 0, ..ServerLimits::default() });
    ground.owner.put("/v1/packs/vault", &vault()).unwrap_or_else(|it| panic!("{it:#?}"));
    let standing = callers(&ground);
    let (mut cells, mut wrong) = (0, Vec::new());
    for row in ROWS {
        let own = row.ends_its_caller.then(|| callers(&ground));
        for (place, caller) in own.as_ref().unwrap_or(&standing).iter().enumerate() {
            let cell = row.cell(place);
            let mut words = scene(&ground, row, caller, cells);
            words.insert("token", caller.token.clone());
            let answer = send_row(&ground, row, caller, &words);
            if let Err(why) = check_cell(row, caller.name, cell, &answer) {
                wrong.push(format!(
                    "{} {} ({:?}) by {}: {why}",
                    row.method, row.path, row.subject, caller.name
                ));
            }
            cells += 1;
        }
    }
    let routes: BTreeSet<(&str, &str)> = ROWS.iter().map(|it| (it.method, it.path)).collect();
    assert!(wrong.is_empty(), "{} of {cells} cells are wrong:\n{}", wrong.len(), wrong.join("\n"));
    let (routes, callers, rows) = (routes.len(), CALLERS.len(), ROWS.len());
    {
        println!("authorisation matrix: {routes} routes, {callers} callers, {rows} rows, {cells} cells");
    }
}

#[test]
fn every_route_of_the_document_has_a_row() {
    let document = serde_json::to_value(trackside_server::openapi()).unwrap();
    let known: BTreeSet<(String, String)> =
        ROWS.iter().map(|it| (it.method.to_owned(), it.path.to_owned())).collect();
    let mut described = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        // Doors of another kind have tests of their own: mcp/doors.rs, edge.rs.
        if ["/mcp", "/sign-in"].contains(&path.as_str()) {
            continue;
        }
        for method in ["get", "put", "post", "delete", "patch", "head"] {
            if item.get(method).is_some() {
                described.insert((method.to_uppercase(), path.clone()));
            }
        }
    }
    let missing: Vec<_> = described.difference(&known).collect();
    assert!(missing.is_empty(), "routes without a row in table.rs: {missing:#?}");
    let gone: Vec<_> = known.difference(&described).collect();
    assert!(gone.is_empty(), "rows of routes that are not there: {gone:#?}");
    // Every route with an entity id is tried on entities of other actors, and on those that only their
    // holder may see.
    for (method, path) in described.iter().filter(|(_, it)| it.contains("/{id}")) {
        let tried: Vec<EntityOwner> =
            ROWS.iter().filter(|it| it.method == *method && it.path == *path).map(|it| it.subject).collect();
        assert!(tried.contains(&EntityOwner::Hidden), "{method} {path} is not tried on a hidden entity");
    }
}
