//! The pages on which people decide. They work without scripts.

use serde_json::{Value as Json, json};

use crate::ground::{RawAnswer, RestServer, each};
use crate::inbox::{create, crew_on, fire};

/// Requests of a signed-in browser.
struct Browser<'a> {
    ground: &'a RestServer,
    cookie: String,
}

impl<'a> Browser<'a> {
    fn sign_in(ground: &'a RestServer, person: &str, more: &str) -> (Self, String) {
        let made = ground.owner.post("/v1/sign-in-links", &json!({ "actor": person })).unwrap().body;
        let path =
            made["url"].as_str().unwrap().split_once(&ground.address.to_string()).unwrap().1.to_owned();
        let followed = ground.raw(&format!("GET {path} HTTP/1.1{more}"), b"");
        assert_eq!(followed.status, 303, "{followed:?}");
        let cookie = followed.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        (Self { ground, cookie }, followed.header("location").unwrap().to_owned())
    }

    fn get(&self, path: &str) -> RawAnswer {
        let head = format!("GET {path} HTTP/1.1\r\nAccept: text/html\r\nCookie: {}", self.cookie);
        self.ground.raw(&head, b"")
    }

    fn post(&self, path: &str, origin: &str, form: &str) -> RawAnswer {
        let head = format!(
            "POST {path} HTTP/1.1\r\nAccept: text/html\r\nCookie: {}\r\n{origin}Content-Type: application/x-www-form-urlencoded",
            self.cookie
        );
        self.ground.raw(&head, form.as_bytes())
    }
}

fn text(answer: &RawAnswer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

fn state(ground: &RestServer, id: &str) -> Json {
    ground.owner.get(&format!("/v1/entities/crew.task/{id}")).unwrap().body["state"].clone()
}

/// An entity that waits, and the number of its item.
fn waiting(ground: &RestServer, id: &str, title: &str) -> String {
    create(ground, id, json!({ "title": title }));
    fire(&ground.owner, id, "submit");
    let found = ground.owner.get("/v1/inbox").unwrap().body;
    let items = found["items"].as_array().unwrap();
    items.iter().find(|it| it["id"] == id).unwrap()["number"].to_string()
}

fn version(ground: &RestServer, id: &str) -> String {
    ground.owner.get(&format!("/v1/entities/crew.task/{id}")).unwrap().body["version"].to_string()
}

#[test]
fn a_person_decides_on_a_page_without_scripts() {
    let ground = crew_on(RestServer::new());
    ground.person("pia");
    let number = waiting(&ground, "F-1", "<script>alert(1)</script> \"Part\" \u{202e}1");
    let (pia, _) = Browser::sign_in(&ground, "pia", "");
    let own = format!("Origin: http://{}\r\n", ground.address);
    let listed = text(&pia.get("/decide"));
    assert!(listed.contains(&format!("<a href=\"/decide/{number}\">")), "{listed}");
    let page = pia.get(&format!("/decide/{number}"));
    let shown = text(&page);
    assert!(!shown.contains("<script") && !shown.contains('\u{202e}'), "{shown}");
    assert!(
        shown.contains(
            "&lt;script&gt;alert(1)&lt;/script&gt; &quot;Part&quot; \\u{202e}1: Waits for an approval"
        ),
        "{shown}"
    );
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("form-action 'self'"), "{policy}");
    assert_eq!(page.header("referrer-policy"), Some("same-origin"), "else browsers send no origin");
    for part in [
        "value=\"approve\"",
        "value=\"deny\"",
        "name=\"field:note\" required",
        "Without a decision: expire at 2026-01-02",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("fire:drop"), "only admins drop");

    // Nothing but a form of our own page decides.
    let path = format!("/decide/{number}");
    let form = format!("do=approve&version={}&note=go+ahead", version(&ground, "F-1"));
    assert_eq!(ground.raw(&format!("HEAD {path} HTTP/1.1\r\nCookie: {}", pia.cookie), b"").status, 200);
    for origin in ["", "Origin: https://evil.example\r\n", "Origin: null\r\n"] {
        assert_eq!(pia.post(&path, origin, &form).status, 403, "{origin}");
    }
    let cross = format!("{own}Sec-Fetch-Site: cross-site\r\n");
    assert_eq!(pia.post(&path, &cross, &form).status, 403);
    assert_eq!(pia.post(&path, &own, "do=drop").status, 400);
    assert_eq!(pia.post(&path, &own, "do=fire:drop&note=x").status, 400, "not one of her actions");
    assert_eq!(state(&ground, "F-1"), "APPROVAL");
    // A page that shows an older version decides nothing.
    let old = format!("do=approve&version={}", version(&ground, "F-1").parse::<u64>().unwrap() - 1);
    let stale = pia.post(&path, &own, &old);
    assert_eq!((stale.status, state(&ground, "F-1")), (412, json!("APPROVAL")), "{}", text(&stale));
    let done = pia.post(&path, &own, &form);
    assert_eq!((done.status, state(&ground, "F-1")), (200, json!("DONE")), "{}", text(&done));
    let history = ground.owner.get("/v1/entities/crew.task/F-1/history").unwrap().body;
    let last = history["items"].as_array().unwrap().iter().find(|it| it["to"] == "DONE").unwrap().clone();
    assert_eq!((&last["actor"], &last["reason"]), (&json!("pia"), &json!("go ahead")));
    let again = pia.post(&path, &own, &form);
    assert_eq!(again.status, 404, "it no longer waits");
    assert!(text(&again).contains("It may have been decided"), "{}", text(&again));
    assert_eq!(pia.get("/decide/none").status, 404);
}

#[test]
fn a_form_sends_fields_and_acts_on_alerts() {
    let ground = crew_on(RestServer::new());
    let number = waiting(&ground, "F-1", "Part 1");
    let (owner, _) = Browser::sign_in(&ground, "owner", "");
    let own = format!("Origin: http://{}\r\n", ground.address);
    let path = format!("/decide/{number}");
    // The message of the rule is shown where a field is missing.
    let missing = owner.post(&path, &own, "do=deny");
    assert!(missing.status == 422 && text(&missing).contains("Say what to change"), "{}", text(&missing));
    assert_eq!(owner.post(&path, &own, "do=deny&field:note=too+long%21").status, 200);
    let task = ground.owner.get("/v1/entities/crew.task/F-1").unwrap().body;
    assert_eq!((&task["state"], &task["fields"]["note"]), (&json!("TODO"), &json!("too long!")));
    fire(&ground.owner, "F-1", "submit");
    let number = ground.owner.get("/v1/inbox").unwrap().body["items"][0]["number"].to_string();
    let dropped = owner.post(&format!("/decide/{number}"), &own, "do=fire%3Adrop&note=not+needed");
    assert_eq!((dropped.status, state(&ground, "F-1")), (200, json!("DROPPED")), "{}", text(&dropped));

    let ada = ground.agent("ada", "mission:specialist");
    create(&ground, "F-2", json!({ "title": "Part 2" }));
    fire(&ada, "F-2", "get_stuck");
    let alert = ground.owner.get("/v1/inbox?kind=alert").unwrap().body["items"][0]["number"].to_string();
    let path = format!("/decide/{alert}");
    assert!(text(&owner.get(&path)).contains("value=\"acknowledge\""));
    assert_eq!(owner.post(&path, &own, "do=acknowledge&note=I+look").status, 200);
    assert_eq!(owner.post(&path, &own, "do=acknowledge").status, 400, "it is acknowledged");
    assert_eq!(owner.post(&path, &own, "do=resolve").status, 200);
    assert!(each(&ground.owner.get("/v1/inbox?kind=alert").unwrap().body, "id").is_empty());
    let json_form = ground.raw(
        &format!("POST {path} HTTP/1.1\r\nCookie: {}\r\n{own}Content-Type: application/json", owner.cookie),
        b"{}",
    );
    assert_eq!(json_form.status, 400);
}

#[test]
fn a_browser_without_a_session_signs_in_and_comes_back() {
    let ground = crew_on(RestServer::new());
    ground.person("pia");
    let number = waiting(&ground, "F-1", "the-combination");
    let path = format!("/decide/{number}");
    let get =
        |path: &str, more: &str| ground.raw(&format!("GET {path} HTTP/1.1\r\nAccept: text/html{more}"), b"");
    // It may have a session that it does not send on a link from elsewhere, so it is asked once more.
    let first = get(&path, "");
    assert_eq!(first.status, 200);
    assert!(text(&first).contains(&format!("content=\"0; url={path}?again=1\"")), "{}", text(&first));
    let second = get(&format!("{path}?again=1"), "");
    assert_eq!(second.status, 401);
    let shown = text(&second);
    assert!(shown.contains("trackside sign-in") && !shown.contains("combination"), "{shown}");
    let cookie = second.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    assert!(cookie.ends_with(&format!("={path}")), "{cookie}");
    let (pia, location) = Browser::sign_in(&ground, "pia", &format!("\r\nCookie: {cookie}"));
    assert_eq!(location, path);
    assert_eq!(pia.get(&location).status, 200);
    let name = cookie.split_once('=').unwrap().0;
    for elsewhere in ["https://evil.example", "//evil.example", "/decide/../x", "/decide/1/2", "/decidex"] {
        let (_, location) = Browser::sign_in(&ground, "pia", &format!("\r\nCookie: {name}={elsewhere}"));
        assert_eq!(location, "/", "{elsewhere}");
    }
    // A program with a wrong token gets a problem, not a page.
    let wrong = ground.raw(&format!("GET {path} HTTP/1.1\r\nAuthorization: Bearer nothing"), b"");
    assert_eq!((wrong.status, wrong.header("content-type")), (401, Some("application/problem+json")));
    assert_eq!(get(&format!("{path}?other=1"), "").status, 400);
}
