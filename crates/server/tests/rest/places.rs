//! The server reports its own addresses and limits.

use std::net::{IpAddr, SocketAddr};

use serde_json::json;
use trackside_server::ServerLimits;

use crate::ground::{RestServer, each, refused, why};

#[test]
fn a_server_on_all_interfaces_reports_a_reachable_address() {
    let ground = RestServer::listening("0.0.0.0:0", |_| {});
    let told = std::fs::read_to_string(ground.data.join("address")).unwrap();
    let address: SocketAddr = told.parse().unwrap();
    assert_eq!(address.ip(), IpAddr::from([127, 0, 0, 1]));
    assert!(ground.sign_in.starts_with(&format!("http://{told}/sign-in?link=")), "{}", ground.sign_in);
    let hosted = |host: &str| ground.raw_to(host, "GET /healthz HTTP/1.1").status;
    assert_eq!((hosted(&told), hosted(&format!("0.0.0.0:{}", address.port()))), (200, 200));
    assert_eq!((hosted("evil.example"), hosted("192.0.2.7")), (421, 421));
}

#[test]
fn a_form_body_gets_advice_to_send_json() {
    let ground = RestServer::new();
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let head = format!(
        "POST /v1/entities/mission.task HTTP/1.1\r\nAuthorization: Bearer {}\r\nContent-Type: application/x-www-form-urlencoded",
        token.trim()
    );
    let answer = ground.raw(&head, br#"{"fields":{"title":"x"}}"#);
    let problem: trackside_protocol::Problem = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status, problem.code.as_str()), (400, "not-json"));
    assert!(problem.detail.contains("Content-Type: application/json"), "{}", problem.detail);
}

#[test]
fn limits_are_settings_with_their_origin_and_apply_at_once() {
    let ground = RestServer::new();
    let settings = || ground.owner.get("/v1/settings/access").unwrap().body;
    let of = |name: &str| {
        let told = settings();
        let items = told["items"].as_array().unwrap();
        let found = items.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("no {name}"));
        (found["value"].clone(), found["origin"].as_str().unwrap().to_owned())
    };
    let usual = ServerLimits::default();
    for (name, value) in [
        ("bodyBytes", usual.body as u64),
        ("bodyDepth", usual.depth as u64),
        ("artifactBytes", usual.artifact as u64),
        ("batchCommands", usual.batch as u64),
        ("eventStreams", usual.streams as u64),
        ("requestsPerSecond", usual.rate.into()),
        ("commandsPerSecond", usual.actor_commands.into()),
        ("bytesPerSecond", usual.actor_bytes.into()),
        ("actorEventStreams", usual.actor_streams as u64),
        ("artifactBytesPerDay", usual.actor_artifact_bytes),
        ("artifactBytesTotal", usual.actor_artifact_total),
        ("entitiesPerDay", usual.actor_entities),
        ("connections", usual.connections as u64),
        ("addressConnections", usual.address_connections as u64),
        ("strangersPerSecond", usual.strangers.into()),
        ("requestSeconds", usual.seconds),
    ] {
        assert_eq!(of(name), (json!(value), "default".to_owned()), "{name}");
    }
    let listed = ground.owner.get("/v1/settings").unwrap().body;
    assert!(each(&json!({ "items": listed["packs"] }), "pack").contains(&"access"), "an admin sees them");
    let seen = ground.person("pia").get("/v1/settings").unwrap().body;
    assert!(!each(&json!({ "items": seen["packs"] }), "pack").contains(&"access"));

    let task = json!({ "fields": { "title": "a".repeat(1_500) } });
    ground.owner.post("/v1/entities/mission.task", &task).unwrap();
    ground
        .owner
        .put(
            "/v1/settings/access",
            &json!({ "bodyBytes": 1_024, "artifactBytes": 1_024, "batchCommands": 2 }),
        )
        .unwrap();
    assert_eq!(of("bodyBytes"), (json!(1_024), "project".to_owned()));
    let problem = refused(ground.owner.post("/v1/entities/mission.task", &task));
    assert_eq!((problem.status, problem.code.as_str()), (413, "too-large"));
    assert!(problem.detail.contains("1024"), "{}", problem.detail);
    let artifact = ground.owner.put_bytes(&format!("/v1/artifacts/{}", "0".repeat(64)), &[0; 2_000]);
    assert_eq!(why(artifact), (413, "too-large".to_owned()));
    let create = json!({ "lifecycle": "mission.task", "fields": { "title": "x" } });
    let batch = json!({ "commands": [create, create, create] });
    assert_eq!(why(ground.owner.post("/v1/batch", &batch)), (400, "invalid-body".to_owned()));
    ground.owner.put("/v1/settings/access", &json!({ "bodyBytes": null, "batchCommands": null })).unwrap();
    ground.owner.post("/v1/entities/mission.task", &task).unwrap();
    assert_eq!(why(ground.owner.put("/v1/settings/access", &json!({ "bodyBytes": 1 }))).0, 422);
}

#[test]
fn a_session_ends_no_later_than_the_token_of_its_link() {
    let ground = RestServer::new();
    let pia = ground.actor(json!({ "actor": "pia", "kind": "human", "lifetime": "1h" }));
    let link = pia.post("/v1/sign-in-links", &json!({})).unwrap().body;
    let path = link["url"].as_str().unwrap().split_once("/sign-in").unwrap().1.to_owned();
    let looked = ground.raw(&format!("HEAD /sign-in{path} HTTP/1.1"), b"");
    assert_eq!((looked.status, looked.header("set-cookie")), (405, None), "the link is still good");
    assert_eq!(looked.header("allow"), Some("GET"));
    let answer = ground.raw(&format!("GET /sign-in{path} HTTP/1.1"), b"");
    let cookie = answer.header("set-cookie").unwrap_or_else(|| panic!("{answer:?}")).to_owned();
    assert!(cookie.contains("Max-Age=3600"), "{cookie}");
    let session = cookie.split(';').next().unwrap().to_owned();
    let asked = |at: &str| ground.raw(&format!("GET /v1/whoami HTTP/1.1\r\nCookie: {at}"), b"").status;
    assert_eq!(asked(&session), 200);
    ground.owner.post("/v1/clock/advance", &json!({ "by": "61m" })).unwrap();
    assert_eq!(asked(&session), 401);
    // A link that an admin creates for another person has the usual lifetime.
    let link = ground.owner.post("/v1/sign-in-links", &json!({ "actor": "mia" })).unwrap().body;
    let path = link["url"].as_str().unwrap().split_once("/sign-in").unwrap().1.to_owned();
    let cookie =
        ground.raw(&format!("GET /sign-in{path} HTTP/1.1"), b"").header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("Max-Age=604800"), "{cookie}");
}

#[test]
fn an_invalid_link_gives_people_a_page_and_programs_a_problem() {
    let ground = RestServer::new();
    let link = ground.owner.post("/v1/sign-in-links", &json!({ "actor": "mia" })).unwrap().body;
    let path = link["url"].as_str().unwrap().split_once("/sign-in").unwrap().1.to_owned();
    let follow = |accept: &str| ground.raw(&format!("GET /sign-in{path} HTTP/1.1\r\nAccept: {accept}"), b"");
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    assert_eq!(follow(browser).status, 303, "the first time it lets in");
    let page = follow(browser);
    assert_eq!((page.status, page.header("content-type")), (401, Some("text/html; charset=utf-8")));
    let text = String::from_utf8(page.body.clone()).unwrap();
    for word in ["<!doctype html>", "lang=\"en\"", "color-scheme", "was used", "trackside sign-in"] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
    assert!(!text.contains(path.trim_start_matches("?link=")), "the page does not repeat the link's secret");
    assert!(!text.contains("<script") && !text.contains("\"detail\""), "{text}");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    let kept =
        [("cache-control", "no-store"), ("x-frame-options", "DENY"), ("referrer-policy", "no-referrer")];
    for (name, value) in kept {
        assert_eq!(page.header(name), Some(value));
    }
    assert_eq!(page.header("vary"), Some("accept"));
    for program in
        ["application/json", "application/problem+json", "*/*", "text/html;q=0.1, application/json"]
    {
        let told = follow(program);
        assert_eq!(
            (told.status, told.header("content-type")),
            (401, Some("application/problem+json")),
            "{program}"
        );
        assert!(String::from_utf8_lossy(&told.body).contains("trackside sign-in"));
    }
    // No parameter at all, as when a line was broken.
    let none = ground.raw(&format!("GET /sign-in HTTP/1.1\r\nAccept: {browser}"), b"");
    assert_eq!((none.status, none.header("content-type")), (401, Some("text/html; charset=utf-8")));
}
