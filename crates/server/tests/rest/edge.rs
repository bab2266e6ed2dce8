//! Rules for every request: host, origin, size, depth and idempotency.

use serde_json::{Value as Json, json};

use crate::ground::{RawAnswer, RestServer, each, refused, why};

/// The authorization header of the owner.
fn bearer(ground: &RestServer) -> String {
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    format!("Authorization: Bearer {}", token.trim())
}

/// A task is created by a request with these headers.
fn creating(ground: &RestServer, id: &str, headers: &[&str]) -> RawAnswer {
    let head = format!(
        "POST /v1/entities/mission.task HTTP/1.1\r\nContent-Type: application/json\r\n{}",
        headers.join("\r\n")
    );
    let body = json!({ "id": id, "fields": { "title": "Find the way" } });
    ground.raw(head.trim_end(), body.to_string().as_bytes())
}

fn json_body(answer: &RawAnswer) -> Json {
    serde_json::from_slice(&answer.body).unwrap_or_else(|it| panic!("{it}: {answer:?}"))
}

/// The cookie of a browser that followed the link of the start.
fn followed(ground: &RestServer) -> (RawAnswer, String) {
    let path = ground.sign_in.split_once(&ground.address.to_string()).unwrap().1;
    let answer = ground.raw(&format!("GET {path} HTTP/1.1"), b"");
    let cookie = answer.header("set-cookie").unwrap();
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    (answer, cookie)
}

#[test]
fn a_request_for_another_host_is_rejected() {
    let ground = RestServer::set_up(|options| options.hosts = vec!["tracks.example".to_owned()]);
    let port = ground.address.port();
    let heads = [
        "GET /healthz HTTP/1.1",
        "GET /v1/whoami HTTP/1.1",
        "GET / HTTP/1.1",
        "POST /mcp HTTP/1.1",
        "GET /sign-in HTTP/1.1",
    ];
    let bearer = bearer(&ground);
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "tracks.example.evil",
        "",
        "[::1].evil.example",
        "[::1]@evil.example",
        "[::1]:80@evil.example",
        "[::1]:x",
        "[::1",
        "localhost:1:2",
        "localhost:",
        "localhost:99999",
        "localhost@evil.example",
        "evil.example:80@localhost",
        "localhost/",
    ] {
        for head in heads {
            let answer = ground.raw_at(Some(host), &format!("{head}\r\n{bearer}"), b"");
            assert_eq!(answer.status, 421, "{host} {head}: {answer:?}");
            assert_eq!(json_body(&answer)["code"], "foreign-host");
        }
    }
    assert_eq!(ground.raw_at(None, "GET /healthz HTTP/1.0", b"").status, 421);
    for host in
        ["localhost", "LocalHost:1", "127.0.0.1:7420", "[::1]:9", "tracks.example", "Tracks.Example:443"]
    {
        let head = format!("GET /v1/whoami HTTP/1.1\r\n{bearer}");
        assert_eq!(ground.raw_at(Some(host), &head, b"").status, 200, "{host}");
    }
    assert_eq!(ground.raw_at(Some(&format!("localhost:{port}")), "GET /healthz HTTP/1.1", b"").status, 200);
}

#[test]
fn every_answer_has_the_security_headers() {
    let ground = RestServer::new();
    let bearer = bearer(&ground);
    let large = vec![b' '; 1024 * 1024 + 1];
    let answers = [
        ground.raw("GET /healthz HTTP/1.1", b""),
        ground.raw("GET / HTTP/1.1", b""),
        ground.raw("GET /v1/whoami HTTP/1.1", b""),
        ground.raw("GET /nowhere HTTP/1.1", b""),
        ground.raw(&format!("GET /v1/tokens HTTP/1.1\r\n{bearer}"), b""),
        ground.raw(&format!("GET /metrics HTTP/1.1\r\n{bearer}"), b""),
        ground.raw(&format!("POST /v1/batch HTTP/1.1\r\n{bearer}"), &large),
        ground.raw_at(Some("evil.example"), "GET /healthz HTTP/1.1", b""),
        followed(&ground).0,
    ];
    let statuses: Vec<u16> = answers.iter().map(|it| it.status).collect();
    assert_eq!(statuses, [200, 200, 401, 404, 200, 200, 413, 421, 303]);
    for answer in answers {
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{answer:?}");
        assert!(answer.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer:?}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer:?}");
    }
}

#[test]
fn the_cookie_of_a_browser_is_out_of_reach_of_pages_and_ends_by_itself() {
    let ground = RestServer::new();
    let (answer, cookie) = followed(&ground);
    let set = answer.header("set-cookie").unwrap();
    let parts: Vec<&str> = set.split("; ").skip(1).collect();
    assert_eq!(parts, ["Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=604800"], "{set}");
    let whoami = format!("GET /v1/whoami HTTP/1.1\r\n{cookie}");
    assert_eq!(json_body(&ground.raw(&whoami, b""))["actor"], "owner");
    ground.owner.post("/v1/clock/advance", &json!({ "by": "6d" })).unwrap();
    assert_eq!(ground.raw(&whoami, b"").status, 200);
    ground.owner.post("/v1/clock/advance", &json!({ "by": "2d" })).unwrap();
    assert_eq!(ground.raw(&whoami, b"").status, 401);
}

#[test]
fn with_a_cookie_only_our_own_page_changes_something() {
    let ground = RestServer::new();
    let (_, cookie) = followed(&ground);
    let own = format!("Origin: http://{}", ground.address);
    let refused: [&[&str]; 6] = [
        &[],
        &["Origin: http://evil.example"],
        &["Origin: null"],
        &[&own, "Sec-Fetch-Site: cross-site"],
        &[&own, "Sec-Fetch-Site: same-site"],
        &["Sec-Fetch-Site: same-origin"],
    ];
    for more in refused {
        let answer = creating(&ground, "T-1", &[&[cookie.as_str()], more].concat());
        assert_eq!((answer.status, &json_body(&answer)["code"]), (403, &json!("not-permitted")), "{more:?}");
    }
    let path = "/v1/entities/mission.task/T-1";
    assert_eq!(why(ground.owner.get(path)), (404, "unknown-entity".to_owned()), "nothing was made");
    // The server answers the read, but the browser does not show it to another site, because no CORS header
    // allows it.
    let read =
        ground.raw(&format!("GET /v1/whoami HTTP/1.1\r\n{cookie}\r\nOrigin: http://evil.example"), b"");
    assert_eq!((read.status, read.header("access-control-allow-origin")), (200, None));
    assert_eq!(creating(&ground, "T-1", &[&cookie, &own, "Sec-Fetch-Site: same-origin"]).status, 201);
    assert_eq!(creating(&ground, "T-2", &[&cookie, &own]).status, 201);
    // A token is no cookie: no browser sends it by itself.
    assert_eq!(creating(&ground, "T-3", &[&bearer(&ground), "Origin: http://evil.example"]).status, 201);
    let out = format!("POST /v1/sign-out HTTP/1.1\r\n{cookie}");
    assert_eq!(ground.raw(&out, b"").status, 403);
    let out = ground.raw(&format!("{out}\r\n{own}"), b"");
    assert!(out.status == 200 && out.header("set-cookie").unwrap().contains("Max-Age=0"), "{out:?}");
    assert_eq!(ground.raw(&format!("GET /v1/whoami HTTP/1.1\r\n{cookie}"), b"").status, 401);
}

#[test]
fn pages_of_other_sites_are_never_allowed_to_read() {
    let ground = RestServer::new();
    let bearer = bearer(&ground);
    for head in [
        format!("GET /v1/whoami HTTP/1.1\r\n{bearer}\r\nOrigin: http://evil.example"),
        "GET /healthz HTTP/1.1\r\nOrigin: http://evil.example".to_owned(),
        "OPTIONS /v1/batch HTTP/1.1\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: POST"
            .to_owned(),
    ] {
        let answer = ground.raw(&head, b"");
        assert!(!answer.head.to_ascii_lowercase().contains("access-control-allow"), "{answer:?}");
    }
}

#[test]
fn both_names_of_the_idempotency_key_are_one_header() {
    let ground = RestServer::new();
    let bearer = bearer(&ground);
    let first = creating(&ground, "T-1", &[&bearer, "X-Idempotency-Key: k-1"]);
    assert_eq!((first.status, &json_body(&first)["replayed"]), (201, &json!(false)));
    for header in ["X-Idempotency-Key: k-1", "Idempotency-Key: k-1", "Idempotency-Key: \"k-1\""] {
        let again = creating(&ground, "T-1", &[&bearer, header]);
        assert_eq!((again.status / 100, &json_body(&again)["replayed"]), (2, &json!(true)), "{header}");
    }
    let other = creating(&ground, "T-2", &[&bearer, "Idempotency-Key: k-1"]);
    assert_eq!((other.status, &json_body(&other)["code"]), (409, &json!("idempotency-conflict")));
    let both = creating(&ground, "T-2", &[&bearer, "Idempotency-Key: k-2", "X-Idempotency-Key: k-2"]);
    assert_eq!(both.status, 201);
    let two = creating(&ground, "T-3", &[&bearer, "Idempotency-Key: k-3", "X-Idempotency-Key: k-4"]);
    assert_eq!((two.status, &json_body(&two)["code"]), (400, &json!("invalid-parameter")), "{two:?}");
}

#[test]
fn a_body_has_limits_of_size_and_depth() {
    let ground = RestServer::new();
    let sent = |body: &[u8]| {
        let head = "POST /v1/entities/mission.task HTTP/1.1\r\nContent-Type: application/json";
        ground.raw(&format!("{head}\r\n{}", bearer(&ground)), body)
    };
    let sized = |bytes: usize| {
        let mut body = br#"{"id":"T-1","fields":{"title":"Large"}"#.to_vec();
        body.resize(bytes - 1, b' ');
        body.push(b'}');
        body
    };
    let answer = sent(&sized(1024 * 1024 + 1));
    assert_eq!((answer.status, &json_body(&answer)["code"]), (413, &json!("too-large")));
    assert!(json_body(&answer)["detail"].as_str().unwrap().contains("1048576 bytes"), "{answer:?}");
    assert_eq!(sent(&sized(1024 * 1024)).status, 201);
    let deep = |levels: usize| {
        // Two levels are around it.
        let inner = levels - 2;
        format!(r#"{{"id":"T-2","fields":{{"title":{}1{}}}}}"#, "[".repeat(inner), "]".repeat(inner))
    };
    let answer = sent(deep(65).as_bytes());
    assert_eq!((answer.status, &json_body(&answer)["code"]), (400, &json!("invalid-body")), "{answer:?}");
    assert!(json_body(&answer)["detail"].as_str().unwrap().contains("64 levels"), "{answer:?}");
    // With a permitted depth the body is parsed: a title is no list.
    assert_eq!(sent(deep(64).as_bytes()).status, 422);
}

#[test]
fn an_atomic_batch_that_is_refused_changes_nothing() {
    let ground = RestServer::new();
    let task = |id: &str| json!({ "lifecycle": "mission.task", "id": id, "fields": { "title": "Find it" } });
    let journal =
        || ground.owner.get("/v1/journal?limit=200").unwrap().body["items"].as_array().unwrap().len();
    let before = journal();
    let sent = |commands: Json, key: &str| {
        let body = json!({ "atomic": true, "commands": commands });
        let head = format!(
            "POST /v1/batch HTTP/1.1\r\nContent-Type: application/json\r\nIdempotency-Key: {key}\r\n{}",
            bearer(&ground)
        );
        ground.raw(&head, body.to_string().as_bytes())
    };
    let missing = json!({ "lifecycle": "mission.task", "id": "T-1", "event": "start" });
    let answer = sent(json!([task("T-1"), task("T-2"), missing, task("T-3")]), "k");
    let problem = json_body(&answer);
    assert_eq!((answer.status, &problem["code"]), (422, &json!("batch-refused")), "{problem:#}");
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    let statuses: Vec<u64> =
        problem["results"].as_array().unwrap().iter().map(|it| it["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [424, 424, 422, 424], "{problem:#}");
    assert_eq!(journal(), before, "something was written");
    let listed = ground.owner.get("/v1/entities/mission.task").unwrap().body;
    assert!(each(&listed, "id").is_empty(), "{listed:#}");
    // The key is not used up: the corrected request is carried out.
    let answer = sent(json!([task("T-1"), task("T-2")]), "k");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(each(&ground.owner.get("/v1/entities/mission.task").unwrap().body, "id"), ["T-1", "T-2"]);
}

#[test]
fn fields_of_the_engine_are_left_alone_and_named() {
    let ground = RestServer::new();
    let fields = json!({ "title": "Find it", "reviewCycles": 7, "totalReviewCycles": 9 });
    let made = ground
        .owner
        .post("/v1/entities/mission.task", &json!({ "id": "T-1", "fields": fields }))
        .unwrap()
        .body;
    assert_eq!(made["ignored"], json!(["reviewCycles", "totalReviewCycles"]), "{made:#}");
    assert_eq!(made["entity"]["fields"]["reviewCycles"], 0);
    let moved = json!({ "event": "cancel", "reason": "Not needed", "fields": { "reviewCycles": 3 } });
    let moved = ground.owner.post("/v1/entities/mission.task/T-1/transitions", &moved).unwrap().body;
    assert_eq!(
        (&moved["ignored"], &moved["entity"]["fields"]["reviewCycles"]),
        (&json!(["reviewCycles"]), &json!(0))
    );
    let other = json!({ "id": "T-2", "fields": { "title": "Find it", "colour": "red" } });
    assert_eq!(
        why(ground.owner.post("/v1/entities/mission.task", &other)),
        (422, "unexpected-field".to_owned())
    );
}

#[test]
fn readiness_follows_the_state_of_the_store() {
    let ground = RestServer::new();
    assert_eq!(ground.raw("GET /readyz HTTP/1.1", b"").status, 200);
    let (journal, away) = (ground.data.join("journal.db"), ground.data.join("away.db"));
    std::fs::rename(&journal, &away).unwrap();
    let answer = creating(&ground, "T-1", &[&bearer(&ground)]);
    assert_eq!((answer.status, &json_body(&answer)["code"]), (503, &json!("unavailable")), "{answer:?}");
    let answer = ground.raw("GET /readyz HTTP/1.1", b"");
    assert_eq!((answer.status, &json_body(&answer)["code"]), (503, &json!("unavailable")), "{answer:?}");
    assert!(json_body(&answer)["detail"].as_str().unwrap().contains("journal.db"), "{answer:?}");
    assert_eq!(ground.raw("GET /healthz HTTP/1.1", b"").status, 200, "the server still answers");
    std::fs::rename(&away, &journal).unwrap();
    for _ in 0..600 {
        let well = ground.raw("GET /readyz HTTP/1.1", b"").status == 200;
        if well && creating(&ground, "T-1", &[&bearer(&ground)]).status == 201 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("it does not recover by itself");
}

#[test]
fn run_tokens_are_short_lived_and_marked() {
    let ground = RestServer::new();
    let boss = ground
        .actor(json!({ "actor": "boss", "kind": "agent", "roles": ["coding:coder"], "for": ["coder-*"] }));
    let run = |lifetime: Option<&str>| {
        let mut body = json!({ "actor": "coder-1", "kind": "agent" });
        if let Some(lifetime) = lifetime {
            body["lifetime"] = json!(lifetime);
        }
        boss.post("/v1/tokens", &body).unwrap_or_else(|it| panic!("{it:#?}")).body
    };
    let made = [run(None), run(Some("24h")), run(Some("5m"))];
    let ends: Vec<&str> = made.iter().map(|it| it["details"]["expiresAt"].as_str().unwrap()).collect();
    assert_eq!(
        ends,
        ["2026-01-01T01:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T00:05:00Z"],
        "an hour at most"
    );
    assert!(
        made.iter().all(|it| it["details"]["purpose"] == "run" && it["details"]["mintedBy"] == "boss"),
        "{made:#?}"
    );
    let lasting =
        ground.owner.post("/v1/tokens", &json!({ "actor": "coder-1", "kind": "agent" })).unwrap().body;
    assert_eq!(
        (&lasting["details"]["purpose"], &lasting["details"]["expiresAt"]),
        (&json!("token"), &Json::Null)
    );
    let client = |it: &Json| ground.client(it["token"].as_str().unwrap());
    assert_eq!(client(&made[2]).get("/v1/whoami").unwrap().body["actor"], "coder-1");
    ground.owner.post("/v1/clock/advance", &json!({ "by": "5m" })).unwrap();
    assert_eq!(why(client(&made[2]).get("/v1/whoami")).0, 401);
    assert!(client(&made[1]).get("/v1/whoami").is_ok());
    // Its maker extends a run token, and not the run itself.
    let extend = format!("/v1/tokens/{}/extend", made[0]["details"]["id"].as_str().unwrap());
    assert_eq!(boss.post(&extend, &json!({})).unwrap().body["expiresAt"], "2026-01-01T01:05:00Z");
    assert_eq!(why(client(&made[0]).post(&extend, &json!({}))).0, 404);
    ground.owner.post("/v1/clock/advance", &json!({ "by": "55m" })).unwrap();
    assert_eq!(why(client(&made[1]).get("/v1/whoami")).0, 401);
    assert!(client(&made[0]).get("/v1/whoami").is_ok(), "it was extended");
    assert!(client(&lasting).get("/v1/whoami").is_ok());
    let shortened = |it: &Json| it["shortened"].as_str().map(str::to_owned);
    assert_eq!((shortened(&made[0]), shortened(&made[2])), (None, None));
    assert_eq!(shortened(&made[1]).unwrap(), "you asked for 24h, but a run token lasts 1h at most");
    // Neither for other actors than its agents nor with more roles than it has; the problem names the
    // field.
    for (body, field, says) in [
        (json!({ "actor": "tester-1", "kind": "agent" }), "actor", "tester-1 is not one of the agents"),
        (json!({ "actor": "coder-1", "kind": "human" }), "kind", "for an agent, not for a human"),
        (
            json!({ "actor": "coder-1", "kind": "agent", "roles": ["mission:lead"] }),
            "roles",
            "boss does not have mission:lead, only coding:coder",
        ),
        (json!({ "actor": "coder-1", "kind": "agent", "for": ["coder-2"] }), "for", "omit `for`"),
    ] {
        let problem = refused(boss.post("/v1/tokens", &body));
        assert_eq!((problem.status, problem.errors.len()), (403, 1), "{body}");
        assert_eq!(problem.errors[0].field.as_deref(), Some(field));
        assert!(problem.detail.contains(says), "{}", problem.detail);
    }
    let all = json!({ "actor": "tester-1", "kind": "human", "roles": ["lead", "coder"], "for": ["x"] });
    assert_eq!(refused(boss.post("/v1/tokens", &all)).errors.len(), 4, "everything at once");
    let bare = boss.post("/v1/tokens", &json!({ "actor": "coder-1", "kind": "agent", "roles": ["coder"] }));
    assert_eq!(bare.unwrap_or_else(|it| panic!("{it:#?}")).body["details"]["purpose"], "run");
}

#[test]
fn run_tokens_end_with_the_token_that_made_them() {
    let ground = RestServer::new();
    ground.person("pia");
    let supervisor = json!({ "actor": "boss", "kind": "agent", "for": ["*"], "lifetime": "30m" });
    let made = ground.owner.post("/v1/tokens", &supervisor).unwrap().body;
    let boss = ground.client(made["token"].as_str().unwrap());
    let run = |id: &str, lifetime: &str| {
        let body = json!({ "actor": id, "kind": "agent", "lifetime": lifetime });
        boss.post("/v1/tokens", &body).unwrap_or_else(|it| panic!("{it:#?}")).body
    };
    // A run token does not outlive the token that created it.
    let first = run("coder-1", "45m");
    assert_eq!(first["details"]["expiresAt"], "2026-01-01T00:30:00Z");
    assert_eq!(
        first["shortened"],
        "you asked for 45m, but the token it is made with ends at 2026-01-01T00:30:00Z"
    );
    let second = run("coder-2", "5m");
    assert_eq!(second["shortened"], Json::Null);
    // Never under the id of a person, not even on behalf of one.
    for id in ["owner", "pia"] {
        let problem = refused(boss.post("/v1/tokens", &json!({ "actor": id, "kind": "agent" })));
        assert_eq!(
            (problem.status, problem.errors[0].field.as_deref()),
            (403, Some("actor")),
            "{problem:#?}"
        );
        assert!(problem.detail.contains(&format!("{id} is a person")), "{}", problem.detail);
    }
    // Their creator sees them and revokes them; a run token sees only itself.
    let seen = |who: &trackside_protocol::Client| {
        let mut all: Vec<(String, String)> = each(&who.get("/v1/tokens").unwrap().body, "actor")
            .into_iter()
            .map(str::to_owned)
            .zip(each(&who.get("/v1/tokens").unwrap().body, "state").into_iter().map(str::to_owned))
            .collect();
        all.sort();
        all
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(seen(&boss), [pair("boss", "VALID"), pair("coder-1", "VALID"), pair("coder-2", "VALID")]);
    let runs = [&first, &second].map(|it| ground.client(it["token"].as_str().unwrap()));
    assert_eq!(seen(&runs[0]), [pair("coder-1", "VALID")]);
    let path = |it: &Json| format!("/v1/tokens/{}", it["details"]["id"].as_str().unwrap());
    assert_eq!(why(runs[0].delete(&path(&second))).0, 404);
    boss.delete(&path(&second)).unwrap();
    assert_eq!(why(runs[1].get("/v1/whoami")).0, 401);
    assert!(runs[0].get("/v1/whoami").is_ok());
    // Revoking its token revokes them too, at once.
    ground.owner.delete(&path(&made)).unwrap();
    assert_eq!(why(runs[0].get("/v1/whoami")).0, 401);
    let all = ground.owner.get("/v1/tokens").unwrap().body;
    let ended: Vec<&Json> =
        all["items"].as_array().unwrap().iter().filter(|it| it["mintedBy"] == "boss").collect();
    assert_eq!(ended.len(), 2);
    assert!(ended.iter().all(|it| it["state"] == "REVOKED"), "{ended:#?}");
}

#[test]
fn a_sign_in_link_leads_to_a_page_with_the_identity() {
    let ground = RestServer::new();
    let (answer, cookie) = followed(&ground);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
    let page = ground.raw(&format!("GET / HTTP/1.1\r\n{cookie}"), b"");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let text = String::from_utf8(page.body).unwrap();
    assert!(text.contains("signed in as <strong>owner</strong> (human, with role admin)"), "{text}");
    assert!(text.contains("trackside help") && text.contains("/openapi.json"), "{text}");
    // Its links work.
    for path in text.split("href=\"").skip(1).map(|it| it.split('"').next().unwrap()) {
        assert_eq!(ground.raw(&format!("GET {path} HTTP/1.1\r\n{cookie}"), b"").status, 200, "{path}");
    }
    let stranger = String::from_utf8(ground.raw("GET / HTTP/1.1", b"").body).unwrap();
    assert!(stranger.contains("You are not signed in") && !stranger.contains("owner"), "{stranger}");
}
