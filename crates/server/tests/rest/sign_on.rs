//! People who are authenticated elsewhere: by an OpenID provider, and by a reverse proxy. Failed sign-ins.

use std::io::Read as _;
use std::net::TcpStream;
use std::path::Path;

use serde_json::{Value as Json, json};
use trackside_server::{OidcOptions, PeopleFile, ProxyOptions};

use crate::ground::{RawAnswer, RestServer, why};
use crate::openid_provider::{CLIENT, CLIENT_SECRET, OpenIdProvider, TokenPlan};

const PEOPLE: &str = "\
claim: email
require: { email_verified: true }
people:
  ada@example.com: { id: ada, roles: [admin, 'mission:lead'] }
groups: { claim: groups, roles: { devs: [coder] } }
";

fn people(name: &str) -> PeopleFile {
    let path = std::env::temp_dir().join(format!("trackside-people-{}-{name}.yaml", std::process::id()));
    std::fs::write(&path, PEOPLE).unwrap();
    let people = PeopleFile::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    people
}

fn with_provider(provider: &OpenIdProvider, change: impl FnOnce(&mut OidcOptions)) -> RestServer {
    let mut oidc = OidcOptions {
        issuer: provider.issuer.clone(),
        client_id: CLIENT.to_owned(),
        client_secret: Some(CLIENT_SECRET.to_owned()),
        scopes: "email profile".to_owned(),
        people: people(&provider.issuer.replace([':', '/'], "_")),
        trust: None,
    };
    change(&mut oidc);
    RestServer::set_up(|options| options.oidc = Some(oidc))
}

/// The cookie that an answer sets whose name contains this text, as a request header.
fn cookie(answer: &RawAnswer, name: &str) -> Option<String> {
    let lines = answer.head.lines().filter_map(|it| it.split_once(": "));
    let mut set = lines.filter(|(it, _)| it.eq_ignore_ascii_case("set-cookie")).map(|(_, value)| value);
    let found = set.find(|it| it.split('=').next().unwrap().contains(name))?;
    Some(format!("Cookie: {}", found.split(';').next().unwrap()))
}

/// Fetches an address of the provider and returns where it sends the browser.
fn location_of(url: &str) -> String {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    std::io::Write::write_all(
        &mut stream,
        format!("GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes(),
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().find_map(|it| it.strip_prefix("Location: ")).unwrap().to_owned()
}

/// Begins a sign-in: the path to return to, and the browser's cookie.
fn begin(ground: &RestServer) -> (String, String) {
    assert_eq!(ground.raw("GET /sign-in/oidc?nonsense=1 HTTP/1.1", b"").status, 400);
    let start = ground.raw("GET /sign-in/oidc HTTP/1.1", b"");
    assert_eq!(start.status, 303, "{start:?}");
    let browser = cookie(&start, "trackside_oidc").unwrap();
    let back = location_of(start.header("location").unwrap());
    let path = back.split_once(&ground.address.to_string()).unwrap().1.to_owned();
    (path, browser)
}

/// Signs in; the session's cookie, or the refusal.
fn sign_in(ground: &RestServer) -> Result<String, String> {
    let (path, browser) = begin(ground);
    let answer = ground.raw(&format!("GET {path} HTTP/1.1\r\n{browser}"), b"");
    match answer.status {
        200 => Ok(cookie(&answer, "trackside_session").unwrap()),
        status => Err(format!("{status} {}", String::from_utf8_lossy(&answer.body))),
    }
}

fn whoami(ground: &RestServer, cookie: &str) -> Json {
    let answer = ground.raw(&format!("GET /v1/whoami HTTP/1.1\r\n{cookie}"), b"");
    serde_json::from_slice(&answer.body).unwrap()
}

#[test]
fn a_person_signs_in_with_an_openid_provider() {
    let provider = OpenIdProvider::start();
    let ground = with_provider(&provider, |_| {});
    for algorithm in ["RS256", "ES256"] {
        provider.plan(TokenPlan { algorithm, ..TokenPlan::default() });
        let session = sign_in(&ground).unwrap();
        let who = whoami(&ground, &session);
        assert_eq!((&who["actor"], &who["kind"]), (&json!("ada"), &json!("human")), "{algorithm}: {who}");
        assert_eq!(who["roles"], json!(["admin", "mission:lead"]));
        // The journal says how she was authenticated.
        let id = format!("T-{algorithm}");
        let task = json!({ "id": id, "fields": { "title": "x" } }).to_string();
        let head = format!(
            "POST /v1/entities/mission.task HTTP/1.1\r\n{session}\r\nContent-Type: application/json\r\nOrigin: http://{}",
            ground.address
        );
        assert_eq!(ground.raw(&head, task.as_bytes()).status, 201);
        let history = ground.owner.get(&format!("/v1/entities/mission.task/{id}/history")).unwrap().body;
        assert_eq!(history["items"][0]["via"], "oidc", "{history:#}");
    }
    // A group gives a bare role, which is resolved.
    let claims = json!({ "email": "kim@example.com", "groups": ["devs", "others"] });
    provider.plan(TokenPlan { claims, ..TokenPlan::default() });
    let who = whoami(&ground, &sign_in(&ground).unwrap());
    assert_eq!((&who["actor"], &who["roles"]), (&json!("kim@example.com"), &json!(["coding:coder"])));
    // The keys of the provider are read again when one is unknown.
    provider.change_key();
    provider.plan(TokenPlan { algorithm: "ES256", ..TokenPlan::default() });
    sign_in(&ground).unwrap();
    let read = provider.requests().iter().filter(|it| *it == "/jwks").count();
    assert_eq!(read, 2, "{:?}", provider.requests());
}

#[test]
fn a_wrong_answer_of_the_provider_signs_nobody_in() {
    let provider = OpenIdProvider::start();
    let ground = with_provider(&provider, |_| {});
    let plan = |claims: Json| TokenPlan { claims, ..TokenPlan::default() };
    let forged = |algorithm: &'static str| TokenPlan { algorithm, forged: true, ..TokenPlan::default() };
    for (plan, says) in [
        (forged("RS256"), "its signature is wrong"),
        (forged("ES256"), "its signature is wrong"),
        (TokenPlan { algorithm: "none", ..TokenPlan::default() }, "is not RS256 or ES256"),
        (TokenPlan { algorithm: "HS256", ..TokenPlan::default() }, "is not RS256 or ES256"),
        (plan(json!({ "iss": "https://evil.example" })), "another issuer"),
        (plan(json!({ "aud": "another-program" })), "another program"),
        (plan(json!({ "aud": [CLIENT, "another-program"] })), "another program"),
        (plan(json!({ "azp": "another-program" })), "another program"),
        (plan(json!({ "exp": 1_000_000_000 })), "has expired"),
        (plan(json!({ "exp": null })), "has expired"),
        (plan(json!({ "iat": 99_999_999_999_u64 })), "not valid yet"),
        (plan(json!({ "nonce": "x" })), "another sign-in"),
        (plan(json!({ "nonce": null })), "another sign-in"),
        (plan(json!({ "sub": null })), "names nobody"),
        (plan(json!({ "email_verified": false })), "email_verified"),
        (plan(json!({ "email": "eve@example.com" })), "not one of the people"),
        (plan(json!({ "email": "trackside", "groups": ["devs"] })), "is no id of a person"),
    ] {
        provider.plan(plan.clone());
        let refused = sign_in(&ground).unwrap_err();
        assert!(refused.starts_with("401") && refused.contains(says), "{plan:?}: {refused}");
    }
    provider.plan(TokenPlan::default());
    // Only in the browser where it began, and only once.
    let (path, browser) = begin(&ground);
    let callback =
        |path: &str, cookie: &str| ground.raw(&format!("GET {path} HTTP/1.1\r\n{cookie}"), b"").status;
    assert_eq!(callback(&path, "Cookie: x=y"), 401);
    assert_eq!(callback(&path, &browser), 401, "the attempt used it up");
    let (path, browser) = begin(&ground);
    let (other, _) = begin(&ground);
    assert_eq!(callback(&other, &browser), 401, "the cookie of another sign-in");
    assert_eq!(callback(&path.replace("state=", "state=x"), &browser), 401);
    assert_eq!(callback(&path, &browser), 200);
    assert_eq!(callback(&path, &browser), 401, "twice");
    assert_eq!(callback("/sign-in/oidc/callback?error=access_denied&state=x", &browser), 401);
    assert_eq!(callback("/sign-in/oidc/callback", &browser), 401);
    // A wrong secret, and a provider with another issuer.
    let ground = with_provider(&provider, |it| it.client_secret = Some("wrong".to_owned()));
    assert!(sign_in(&ground).unwrap_err().contains("invalid_client"));
    let ground = with_provider(&provider, |it| it.issuer = provider.issuer.replace("127.0.0.1", "localhost"));
    assert_eq!(ground.raw("GET /sign-in/oidc HTTP/1.1", b"").status, 401);
    let ground = RestServer::new();
    assert_eq!(ground.raw("GET /sign-in/oidc HTTP/1.1", b"").status, 404);
}

#[test]
fn claims_that_the_id_token_lacks_come_from_user_info() {
    let missing = json!({ "email": null, "email_verified": null });
    let plan = |claims: Json, user_info: Json| TokenPlan {
        claims,
        user_info: Some(user_info),
        ..TokenPlan::default()
    };
    let ada =
        json!({ "sub": "1234", "email": "ada@example.com", "email_verified": true, "groups": ["devs"] });
    let provider = OpenIdProvider::start();
    provider.plan(plan(missing.clone(), ada.clone()));
    let ground = with_provider(&provider, |_| {});
    let who = whoami(&ground, &sign_in(&ground).unwrap());
    assert_eq!(
        (&who["actor"], &who["roles"]),
        (&json!("ada"), &json!(["admin", "mission:lead", "coding:coder"]))
    );
    // What the ID token says counts: it is signed.
    provider.plan(plan(json!({ "email": "eve@example.com" }), {
        let mut info = ada.clone();
        info["groups"] = json!([]);
        info
    }));
    assert!(sign_in(&ground).unwrap_err().contains("eve@example.com is not one of the people"));
    for (wrong, says) in [
        (json!({ "sub": "5678", "email": "ada@example.com", "email_verified": true }), "another person"),
        (json!({ "email": "ada@example.com", "email_verified": true }), "another person"),
        (json!({ "sub": "1234", "email": "ada@example.com", "email_verified": false }), "email_verified"),
        (json!({ "sub": "1234" }), "email_verified"),
        (json!(["1234"]), "cannot be read"),
    ] {
        provider.plan(plan(missing.clone(), wrong.clone()));
        let refused = sign_in(&ground).unwrap_err();
        assert!(refused.starts_with("401") && refused.contains(says), "{wrong}: {refused}");
    }
}

fn behind_proxy(trusted: &str) -> RestServer {
    let mut proxy = ProxyOptions::default();
    proxy.people = people(&trusted.replace(['.', '/'], "_"));
    proxy.trust(&[trusted.to_owned()]).unwrap();
    proxy.accept_user("X-Forwarded-User").unwrap();
    RestServer::set_up(|options| {
        options.proxy = proxy;
        options.limits.strangers = 5;
    })
}

#[test]
fn a_trusted_proxy_signs_people_in_and_no_other_address_does() {
    let ada = "X-Forwarded-User: ada@example.com";
    let ground = behind_proxy("127.0.0.1");
    let who = whoami(&ground, ada);
    assert_eq!((&who["actor"], &who["roles"]), (&json!("ada"), &json!(["admin", "mission:lead"])));
    assert_eq!(whoami(&ground, ada)["token"], who["token"], "one session");
    let stranger = ground.raw("GET /v1/whoami HTTP/1.1\r\nX-Forwarded-User: eve@example.com", b"");
    assert_eq!(stranger.status, 401);
    // A token counts before the header.
    let cody = ground.mint_token(json!({ "actor": "cody", "kind": "agent" }));
    assert_eq!(whoami(&ground, &format!("{ada}\r\nAuthorization: Bearer {cody}"))["actor"], "cody");
    // Changes only from our own pages, as with a cookie.
    let post = |more: &str| {
        let head = format!(
            "POST /v1/entities/mission.task HTTP/1.1\r\n{ada}\r\nContent-Type: application/json{more}"
        );
        ground.raw(&head, br#"{"id":"T","fields":{"title":"x"}}"#).status
    };
    assert_eq!(post("\r\nOrigin: https://evil.example"), 403);
    assert_eq!(post(""), 403);
    assert_eq!(post(&format!("\r\nOrigin: http://{}", ground.address)), 201);
    let history = ground.owner.get("/v1/entities/mission.task/T/history").unwrap().body;
    assert_eq!(history["items"][0]["via"], "proxy");
    // The limit for unknown tokens counts for the client, not for the proxy.
    let unknown = |client: &str, number: usize| {
        let token = format!("ts_{number:012x}_{}", "0".repeat(64));
        let head =
            format!("GET /v1/whoami HTTP/1.1\r\nAuthorization: Bearer {token}\r\nX-Forwarded-For: {client}");
        ground.raw(&head, b"").status
    };
    assert!((0..30).any(|it| unknown("9.9.9.9", it) == 429));
    assert_eq!(unknown("9.9.9.8", 99), 401);
    // From any other address the headers mean nothing.
    let ground = behind_proxy("10.9.8.7");
    assert_eq!(ground.raw(&format!("GET /v1/whoami HTTP/1.1\r\n{ada}"), b"").status, 401);
    let signed = sign_in_link(&ground, "X-Forwarded-Proto: https");
    assert!(signed.header("set-cookie").unwrap().starts_with("trackside_session_"), "{signed:?}");
}

fn sign_in_link(ground: &RestServer, more: &str) -> RawAnswer {
    let path = ground.sign_in.split_once(&ground.address.to_string()).unwrap().1;
    ground.raw(&format!("GET {path} HTTP/1.1\r\n{more}"), b"")
}

#[test]
fn the_cookie_is_secure_behind_a_proxy_with_tls() {
    let ground = behind_proxy("127.0.0.1");
    let secure = "X-Forwarded-Proto: https";
    let signed = sign_in_link(&ground, secure);
    let cookie = signed.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-trackside_session_") && cookie.ends_with("; Secure"), "{cookie}");
    assert!(
        cookie.contains("; Path=/;") && cookie.contains("HttpOnly") && !cookie.contains("Domain"),
        "{cookie}"
    );
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    assert_eq!(whoami(&ground, &format!("{cookie}\r\n{secure}"))["actor"], "owner");
    // The name without the prefix, which plain HTTP may set, is not accepted over TLS.
    let plain = cookie.replace("__Host-", "");
    assert_eq!(ground.raw(&format!("GET /v1/whoami HTTP/1.1\r\n{plain}\r\n{secure}"), b"").status, 401);
    // Links for others have the scheme of the proxy.
    let own = format!(
        "{cookie}\r\n{secure}\r\nOrigin: https://{}\r\nContent-Type: application/json",
        ground.address
    );
    let link = ground.raw(&format!("POST /v1/sign-in-links HTTP/1.1\r\n{own}"), b"{}");
    let link: Json = serde_json::from_slice(&link.body).unwrap();
    assert!(link["url"].as_str().unwrap().starts_with("https://"), "{link}");
    // Another server on the same host has another name.
    let name = |ground: &RestServer| {
        let answer = sign_in_link(ground, "Accept: */*");
        answer.header("set-cookie").unwrap().split('=').next().unwrap().to_owned()
    };
    assert_ne!(name(&RestServer::new()), name(&RestServer::new()));
}

/// Records of failed sign-ins: address, attempts and credentials.
fn failures(ground: &RestServer) -> Vec<(String, u64, Json)> {
    let found = ground.owner.get("/v1/entities/access.failure?limit=200").unwrap().body;
    let items = found["items"].as_array().unwrap().iter().map(|it| &it["fields"]);
    let one = |it: &Json| {
        (
            it["address"].as_str().unwrap().to_owned(),
            it["attempts"].as_u64().unwrap(),
            it["credentials"].clone(),
        )
    };
    items.map(one).collect()
}

#[test]
fn failed_sign_ins_are_recorded_once_per_address_and_minute() {
    let ground = RestServer::new();
    // Tokens that the server knows are not affected by the limit for unknown ones.
    ground.owner.get("/v1/whoami").unwrap();
    let before = ground.owner.get("/readyz").unwrap().body["seq"].as_u64().unwrap();
    let unknown = format!("ts_000000000000_{}", "0".repeat(64));
    for _ in 0..120 {
        let status =
            ground.raw(&format!("GET /v1/whoami HTTP/1.1\r\nAuthorization: Bearer {unknown}"), b"").status;
        assert!([401, 429].contains(&status));
    }
    assert!([401, 429].contains(&ground.raw(&format!("GET /sign-in?link={unknown} HTTP/1.1"), b"").status));
    // A request without a credential is no sign-in.
    assert_eq!(ground.raw("GET /v1/whoami HTTP/1.1", b"").status, 401);
    let page = String::from_utf8(ground.owner.get_bytes("/metrics").unwrap()).unwrap();
    assert!(page.contains("trackside_sign_in_failures_total{credential=\"token\"} 120\n"), "{page}");
    assert!(page.contains("trackside_sign_in_failures_total{credential=\"link\"} 1\n"), "{page}");
    // They are recorded when the server stops, too.
    let ground = ground.restart();
    assert_eq!(failures(&ground), [("127.0.0.1".to_owned(), 121, json!(["token", "link"]))]);
    let agent = ground.agent("cody", "coding:coder");
    assert_eq!(agent.get("/v1/entities/access.failure").unwrap().body["items"], json!([]));
    let create = json!({ "fields": { "address": "x", "attempts": 1 } });
    assert_eq!(why(ground.owner.post("/v1/entities/access.failure", &create)).0, 403);
    let journal = ground.owner.get(&format!("/v1/journal?after={before}&limit=200")).unwrap().body;
    let of_failures =
        journal["items"].as_array().unwrap().iter().filter(|it| it["lifecycle"] == "access.failure");
    assert_eq!(of_failures.count(), 1);
    let files = ["journal.db", "journal.db-wal", "state.db", "state.db-wal"];
    for file in files.map(|it| ground.data.join(it)) {
        let bytes = std::fs::read(Path::new(&file)).unwrap_or_default();
        assert!(!bytes.windows(unknown.len()).any(|it| it == unknown.as_bytes()), "{}", file.display());
    }
}
