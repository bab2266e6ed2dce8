//! Messages to people about what waits for them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{Receiver as Lines, channel};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use trackside_protocol::Client;
use trackside_server::WebhookOptions;

use crate::ground::{RestServer, each, refused, why};
use crate::inbox::{create, crew_on, fire};
use crate::receiver::{ReceivedMessage, Receiver};

/// A server with the pack of the inbox, which may send to this machine.
fn crew() -> RestServer {
    crew_on(RestServer::telling(WebhookOptions {
        allow_private: true,
        patience: Duration::from_secs(30),
        ..WebhookOptions::default()
    }))
}

/// The receiver's URL without its path.
fn base(receiver: &Receiver) -> &str {
    receiver.url.split_once("/hooks").unwrap().0
}

fn set(ground: &RestServer, name: &str, audience: Json) -> Json {
    let set = ground.owner.put(&format!("/v1/audiences/{name}"), &audience);
    set.unwrap_or_else(|it| panic!("{it:#?}")).body
}

/// An address of one person, at this path of a receiver.
fn address(person: &str, receiver: &Receiver) -> Json {
    let url = format!("{}/{person}", base(receiver));
    json!({ "name": format!("of-{person}"), "channel": "webhook", "person": person, "values": { "url": url } })
}

/// An entity that waits for people.
fn wait_for_people(ground: &RestServer, id: &str, title: &str) {
    create(ground, id, json!({ "title": title }));
    fire(&ground.owner, id, "submit");
}

fn advance(ground: &RestServer, by: &str) {
    ground.owner.post("/v1/clock/advance", &json!({ "by": by })).unwrap();
}

fn deliveries(client: &Client, query: &str) -> Vec<Json> {
    let found = client.get(&format!("/v1/deliveries?limit=200{query}")).unwrap().body;
    found["items"].as_array().unwrap().clone()
}

/// Waits until the deliveries to a person about an entity are in these states.
fn until_states(ground: &RestServer, person: &str, id: &str, states: &[&str]) {
    let found = || -> Vec<String> {
        let all = deliveries(&ground.owner, "");
        let of = all.iter().filter(|it| it["person"] == person && it["entity"] == id);
        of.map(|it| it["state"].as_str().unwrap().to_owned()).collect()
    };
    for _ in 0..3_000 {
        if found() == states {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{person} {id}: {:?}, not {states:?}: {:#?}", found(), deliveries(&ground.owner, ""));
}

/// Waits until the only delivery was attempted so often.
fn until_attempts(ground: &RestServer, count: u64) {
    let found = || deliveries(&ground.owner, "").first().and_then(|it| it["attempts"].as_u64());
    for _ in 0..3_000 {
        if found() == Some(count) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{:?} attempts, not {count}", found());
}

/// The paths of messages, in order.
fn lines(messages: &[ReceivedMessage]) -> Vec<&str> {
    messages.iter().map(|it| it.line.as_str()).collect()
}

#[test]
fn every_service_gets_its_own_form_of_a_message() {
    let ground = crew();
    ground.person("pia");
    let receiver = Receiver::willing();
    let at = |path: &str| format!("{}/{path}", base(&receiver));
    let of = |name: &str, values: Json| json!({ "name": name, "channel": name, "person": "pia", "values": values });
    let shown = set(
        &ground,
        "reviewers",
        json!({ "members": ["pia"], "addresses": [
            of("webhook", json!({ "url": at("webhook?a=b") })),
            of("slack", json!({ "url": at("slack") })),
            of("discord", json!({ "url": at("discord") })),
            of("telegram", json!({ "api": base(&receiver), "token": "12:Ab", "chat": "7" })),
            of("matrix", json!({ "homeserver": base(&receiver), "token": "word", "room": "!a/b:x" })),
            of("ntfy", json!({ "server": at(""), "topic": "news", "authorization": "Bearer tk" })),
        ] }),
    );
    assert_eq!(
        (&shown["people"], each(&json!({ "items": shown["addresses"] }), "problem").len()),
        (&json!(["pia"]), 0)
    );
    wait_for_people(&ground, "F-1", "Ship <!channel> {link} \"it\"\n\u{1b}[2J");
    let number = ground.owner.get("/v1/inbox").unwrap().body["items"][0]["number"].to_string();
    let link = format!("http://{}/decide/{number}", ground.address);
    let title = "Ship <!channel> {link} \"it\" \\u{1b}[2J: Waits for an approval";
    let text = format!(
        "crew.task/F-1, since 2026-01-01T00:00:00Z\nOtherwise: expire at 2026-01-02T00:00:00Z\nDecide: {link}"
    );
    let delivery = |address: &str| {
        let all = deliveries(&ground.owner, "");
        all.iter().find(|it| it["address"] == address).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let mut heard: Vec<(String, Json)> =
        receiver.wait(6).iter().map(|it| (it.line.clone(), it.json())).collect();
    heard.sort_by(|a, b| a.0.cmp(&b.0));
    let matrix = format!("PUT /_matrix/client/v3/rooms/!a%2Fb:x/send/m.room.message/{}", delivery("matrix"));
    let expected = [
        ("POST /".to_owned(), json!({ "topic": "news", "title": title, "message": text, "click": link })),
        (
            "POST /bot12:Ab/sendMessage".to_owned(),
            json!({ "chat_id": "7", "text": format!("{title}\n{text}"), "link_preview_options": { "is_disabled": true } }),
        ),
        (
            "POST /discord".to_owned(),
            json!({ "content": format!("**{title}**\n{text}"), "allowed_mentions": { "parse": [] } }),
        ),
        (
            "POST /slack".to_owned(),
            json!({ "text": format!("*{}*\n{text}", title.replace('<', "&lt;").replace('>', "&gt;")) }),
        ),
        (
            "POST /webhook?a=b".to_owned(),
            json!({ "title": title, "text": text, "link": link, "severity": "info", "person": "pia", "audience": "reviewers", "count": "1" }),
        ),
        (matrix, json!({ "msgtype": "m.text", "body": format!("{title}\n{text}") })),
    ];
    assert_eq!(heard, expected);
    let sent = receiver.messages();
    let header = |line: &str, name: &str| {
        sent.iter().find(|it| it.line.contains(line)).unwrap().header(name).to_owned()
    };
    assert_eq!(header("_matrix", "authorization"), "Bearer word");
    assert_eq!(header("POST /bot", "content-type"), "application/json");
    assert!(sent.iter().any(|it| it.line == "POST /" && it.header("authorization") == "Bearer tk"));
    until_states(&ground, "pia", "F-1", &["SENT"; 6]);
    // A decision ends them.
    ground.owner.post("/v1/approvals/F-1/decision", &json!({ "decision": "approve" })).unwrap();
    until_states(&ground, "pia", "F-1", &["ANSWERED"; 6]);
    assert_eq!(receiver.messages().len(), 6);
}

#[test]
fn a_channel_of_the_project_runs_a_program_without_a_shell() {
    let ground = crew();
    ground.person("pia");
    let folder = ground.data.join("channels");
    std::fs::create_dir_all(&folder).unwrap();
    let (script, heard) = (folder.join("say.sh"), folder.join("heard"));
    let code = format!(
        "printf '%s|' \"$@\" > {0}.new\nenv | grep -c TRACKSIDE >> {0}.new\nmv {0}.new {0}\n",
        heard.display()
    );
    std::fs::write(&script, code).unwrap();
    let own = format!(
        "channel: say\nabout: Says it.\nneeds: {{ volume: How loud. }}\ncommand: [/bin/sh, {}, '{{title}}', '{{volume}}', $HOME]\n",
        script.display()
    );
    std::fs::write(folder.join("say.yaml"), own).unwrap();
    let wanted = |volume: Json| json!({ "members": ["pia"], "addresses": [{ "name": "a", "channel": "say", "person": "pia", "values": volume }] });
    let missing = refused(ground.owner.put("/v1/audiences/x", &wanted(json!({}))));
    assert_eq!((missing.status, missing.code.as_str()), (422, "invalid-audience"));
    assert!(missing.detail.contains("needs a value volume"), "{}", missing.detail);
    set(&ground, "x", wanted(json!({ "volume": "low" })));
    wait_for_people(&ground, "F-1", "$(touch /tmp/x); `id` \"'");
    until_states(&ground, "pia", "F-1", &["SENT"]);
    let said = std::fs::read_to_string(&heard).unwrap();
    assert_eq!(said, "$(touch /tmp/x); `id` \"': Waits for an approval|low|$HOME|0\n");
}

/// A mail server that accepts one message, and hands over the lines it is sent.
fn mail_server(recipient: &'static str) -> (u16, Lines<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, (said, heard)) = (listener.local_addr().unwrap().port(), channel());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            stream.write_all(b"220 mail.example ESMTP\r\n").unwrap();
            let (mut line, mut is_data) = (String::new(), false);
            while reader.read_line(&mut line).is_ok_and(|it| it > 0) {
                let it = std::mem::take(&mut line);
                let it = it.trim_end_matches(['\r', '\n']);
                said.send(it.to_owned()).unwrap();
                let answer = match it {
                    "." if is_data => {
                        is_data = false;
                        "250 Ok".to_owned()
                    }
                    _ if is_data => continue,
                    "DATA" => {
                        is_data = true;
                        "354 Go on".to_owned()
                    }
                    "QUIT" => "221 Bye".to_owned(),
                    it if it.starts_with("EHLO") => "250-mail.example\r\n250 SIZE 1000000".to_owned(),
                    it if it.starts_with("RCPT") && !it.contains(recipient) => {
                        format!("550 5.1.1 no such user {it}")
                    }
                    _ => "250 Ok".to_owned(),
                };
                stream.write_all(format!("{answer}\r\n").as_bytes()).unwrap();
            }
        }
    });
    (port, heard)
}

#[test]
fn an_e_mail_is_sent_and_a_refused_recipient_is_a_failure_without_the_address() {
    let ground = crew();
    ground.person("pia");
    let (port, heard) = mail_server("pia@example.com");
    let mail = |to: &str| {
        let values = json!({ "server": "127.0.0.1", "port": port.to_string(), "tls": "none", "from": "trackside@example.com", "to": to });
        json!({ "members": ["pia"], "addresses": [{ "name": "mail", "channel": "email", "person": "pia", "values": values }] })
    };
    set(&ground, "x", mail("pia@example.com"));
    wait_for_people(&ground, "F-1", "Größe\r\nBcc: eve@example.com");
    let mut said = Vec::new();
    while said.last().is_none_or(|it| it != "QUIT") {
        said.push(heard.recv_timeout(Duration::from_secs(60)).unwrap());
    }
    assert_eq!(
        said[..4],
        ["EHLO [127.0.0.1]", "MAIL FROM:<trackside@example.com>", "RCPT TO:<pia@example.com>", "DATA"]
    );
    assert_eq!(said[4..6], ["From: <trackside@example.com>", "To: <pia@example.com>"]);
    let blank = said.iter().position(String::is_empty).unwrap();
    let subject: String = said[6..blank].iter().take_while(|it| !it.starts_with("Date")).cloned().collect();
    let words = subject.trim_start_matches("Subject: ").split(' ').map(|it| {
        let word = it.trim_start_matches("=?UTF-8?B?").trim_end_matches("?=");
        String::from_utf8(STANDARD.decode(word).unwrap()).unwrap()
    });
    assert_eq!(words.collect::<String>(), "Größe Bcc: eve@example.com: Waits for an approval");
    let body: String = said[blank + 1..said.len() - 2].concat();
    let body = String::from_utf8(STANDARD.decode(body).unwrap()).unwrap();
    assert!(body.starts_with("crew.task/F-1, since 2026-01-01T00:00:00Z\r\nOtherwise: "), "{body}");
    assert!(!said.iter().any(|it| it.starts_with("Bcc")), "{said:#?}");
    until_states(&ground, "pia", "F-1", &["SENT"]);

    set(&ground, "x", mail("nobody@example.com"));
    wait_for_people(&ground, "F-2", "two");
    until_states(&ground, "pia", "F-2", &["FAILED"]);
    let failed = deliveries(&ground.owner, "&state=FAILED").remove(0);
    assert_eq!(failed["why"], "it answered 550 5.1.1 no such user RCPT TO:<(to)>");
    assert_eq!(failed["attempts"], 1, "another attempt would fail as well");
}

#[test]
fn a_person_is_told_only_of_items_of_the_own_inbox() {
    let ground = crew();
    let receiver = Receiver::willing();
    let pia = ground.person("pia");
    let ada = ground.agent("ada", "mission:specialist");
    let addresses = json!([
        address("pia", &receiver),
        address("owner", &receiver),
        address("ada", &receiver),
        address("gone", &receiver)
    ]);
    let shown =
        set(&ground, "all", json!({ "members": ["ada", "gone", "pia", "owner"], "addresses": addresses }));
    assert_eq!(
        shown["people"],
        json!(["pia", "owner"]),
        "agents get no messages, nor do people without a token"
    );
    create(&ground, "S-1", json!({ "title": "the-combination", "confidential": true }));
    fire(&ground.owner, "S-1", "submit");
    wait_for_people(&ground, "F-1", "Part 1");
    // An agent may help here too.
    create(&ground, "P-1", json!({ "title": "Part 2" }));
    fire(&ada, "P-1", "get_stuck");
    // The item and its alert.
    for person in ["pia", "owner"] {
        until_states(&ground, person, "F-1", &["SENT"]);
        until_states(&ground, person, "P-1", &["SENT", "SENT"]);
    }
    until_states(&ground, "owner", "S-1", &["SENT"]);
    until_states(&ground, "pia", "S-1", &[]);
    let heard = receiver.messages();
    let said = |person: &str| -> String {
        let to = heard.iter().filter(|it| it.line == format!("POST /{person}"));
        to.map(|it| it.json().to_string()).collect()
    };
    assert!(said("owner").contains("combination") && said("pia").contains("Part 1"), "{heard:#?}");
    assert!(!said("pia").contains("combination"), "{heard:#?}");
    assert_eq!(said("ada") + &said("gone"), "");
    // People see the messages to them, admins see all.
    assert!(deliveries(&pia, "").iter().all(|it| it["person"] == "pia"));
    assert!(deliveries(&ada, "").is_empty());
    // A person without a valid token gets no more messages.
    let tokens = ground.owner.get("/v1/tokens").unwrap().body;
    let of_pia = tokens["items"].as_array().unwrap().iter().find(|it| it["actor"] == "pia").unwrap();
    ground.owner.delete(&format!("/v1/tokens/{}", of_pia["id"].as_str().unwrap())).unwrap();
    wait_for_people(&ground, "F-2", "Part 3");
    until_states(&ground, "owner", "F-2", &["SENT"]);
    until_states(&ground, "pia", "F-2", &[]);
}

#[test]
fn members_by_role_are_told_one_after_the_other_while_nobody_reacts() {
    let ground = crew();
    let receiver = Receiver::willing();
    let mia = ground.actor(json!({ "actor": "mia", "kind": "human", "roles": ["mission:lead"] }));
    for person in ["pia", "tom"] {
        ground.person(person);
    }
    let addresses = json!(["pia", "mia", "tom"].map(|it| address(it, &receiver)));
    let shown = set(
        &ground,
        "duty",
        json!({ "members": ["pia", "role:lead", "tom"], "addresses": addresses, "escalateAfter": "15m" }),
    );
    assert_eq!(shown["members"], json!(["pia", "role:mission:lead", "tom"]));
    assert_eq!(shown["people"], json!(["pia", "mia", "tom"]));
    wait_for_people(&ground, "F-1", "one");
    until_states(&ground, "pia", "F-1", &["SENT"]);
    advance(&ground, "14m");
    until_states(&ground, "mia", "F-1", &[]);
    advance(&ground, "1m");
    until_states(&ground, "pia", "F-1", &["ESCALATED"]);
    until_states(&ground, "mia", "F-1", &["SENT"]);
    until_states(&ground, "tom", "F-1", &[]);
    mia.post("/v1/approvals/F-1/decision", &json!({ "decision": "approve" })).unwrap();
    until_states(&ground, "mia", "F-1", &["ANSWERED"]);
    // A reaction in time ends it.
    wait_for_people(&ground, "F-2", "two");
    until_states(&ground, "pia", "F-2", &["SENT"]);
    ground.owner.post("/v1/approvals/F-2/decision", &json!({ "decision": "approve" })).unwrap();
    until_states(&ground, "pia", "F-2", &["ANSWERED"]);
    advance(&ground, "1h");
    wait_for_people(&ground, "F-3", "three");
    until_states(&ground, "pia", "F-3", &["SENT"]);
    until_states(&ground, "mia", "F-2", &[]);
    assert_eq!(lines(&receiver.wait(4)), ["POST /pia", "POST /mia", "POST /pia", "POST /pia"]);
}

#[test]
fn a_failed_message_is_retried_then_visible_and_the_next_person_is_told() {
    let ground = crew();
    let (broken, receiver) = (Receiver::new(|_| (503, String::new())), Receiver::willing());
    for person in ["pia", "mia"] {
        ground.person(person);
    }
    ground.owner.put("/v1/settings/access", &json!({ "deliveryAttempts": 3 })).unwrap();
    let addresses = json!([address("pia", &broken), address("mia", &receiver)]);
    set(
        &ground,
        "duty",
        json!({ "members": ["pia", "mia"], "addresses": addresses, "escalateAfter": "15m" }),
    );
    wait_for_people(&ground, "F-1", "one");
    until_attempts(&ground, 1);
    until_states(&ground, "pia", "F-1", &["WAITING"]);
    advance(&ground, "29s");
    assert_eq!(broken.messages().len(), 1, "its wait is not over");
    advance(&ground, "1s");
    until_attempts(&ground, 2);
    assert!(receiver.messages().is_empty());
    advance(&ground, "1m");
    until_states(&ground, "pia", "F-1", &["FAILED"]);
    until_states(&ground, "mia", "F-1", &["SENT"]);
    assert_eq!((broken.messages().len(), lines(&receiver.messages())), (3, vec!["POST /mia"]));
    let failed = deliveries(&ground.owner, "&state=FAILED").remove(0);
    assert_eq!(
        (&failed["attempts"], &failed["why"]),
        (&json!(3), &json!("it answered 503 Service Unavailable"))
    );
    // The alert is seen in the inbox, and is not sent in turn.
    let alerts = ground.owner.get("/v1/alerts").unwrap().body;
    let alert =
        alerts["items"].as_array().unwrap().iter().find(|it| it["kind"] == "delivery").unwrap().clone();
    let message =
        "A message to pia through of-pia (webhook) could not be sent: it answered 503 Service Unavailable";
    assert_eq!((&alert["severity"], &alert["message"]), (&json!("error"), &json!(message)));
    // An answer that another attempt would get as well is a failure at once.
    broken.answer(|_| (404, String::new()));
    wait_for_people(&ground, "F-2", "two");
    until_states(&ground, "pia", "F-2", &["FAILED"]);
    until_states(&ground, "mia", "F-2", &["SENT"]);
    assert_eq!((broken.messages().len(), receiver.messages().len()), (4, 2));
    let wrong = refused(ground.owner.get("/v1/deliveries?state=LOST"));
    assert_eq!((wrong.status, wrong.code.as_str()), (400, "invalid-parameter"));
}

#[test]
fn in_quiet_hours_messages_are_collected_and_what_is_decided_is_left_out() {
    let ground = crew();
    let receiver = Receiver::willing();
    ground.person("pia");
    let quiet = json!({ "from": "22:00", "to": "07:00", "zone": "Etc/UTC" });
    let audience = json!({ "members": ["pia"], "addresses": [address("pia", &receiver)], "quiet": quiet, "digest": "1h" });
    assert_eq!(set(&ground, "x", audience)["quiet"], quiet);
    for (id, title) in [("F-1", "one"), ("F-2", "two"), ("F-3", "three")] {
        wait_for_people(&ground, id, title);
        until_states(&ground, "pia", id, &["WAITING"]);
    }
    assert_eq!(deliveries(&ground.owner, "")[0]["dueAt"], "2026-01-01T07:00:00Z");
    ground.owner.post("/v1/approvals/F-2/decision", &json!({ "decision": "approve" })).unwrap();
    until_states(&ground, "pia", "F-2", &["DROPPED"]);
    advance(&ground, "7h");
    until_states(&ground, "pia", "F-1", &["SENT"]);
    until_states(&ground, "pia", "F-3", &["SENT"]);
    let heard: Vec<Json> = receiver.messages().iter().map(ReceivedMessage::json).collect();
    assert_eq!(heard.len(), 1, "one message about both: {heard:#?}");
    assert_eq!(heard[0]["title"], "2 things wait for you");
    let text = heard[0]["text"].as_str().unwrap();
    assert!(
        text.contains("- one: Waits") && text.contains("- three: Waits") && !text.contains("two: "),
        "{text}"
    );
    // By day the digest comes at the full hour.
    wait_for_people(&ground, "F-4", "four");
    until_states(&ground, "pia", "F-4", &["WAITING"]);
    wait_for_people(&ground, "F-5", "five");
    until_states(&ground, "pia", "F-5", &["WAITING"]);
    let due = deliveries(&ground.owner, "&state=WAITING");
    assert_eq!(each(&json!({ "items": due }), "dueAt"), ["2026-01-01T08:00:00Z"; 2]);
}

#[test]
fn a_restart_sends_what_is_due_and_nothing_twice() {
    let ground = crew();
    let receiver = Receiver::new(|_| (503, String::new()));
    ground.person("pia");
    set(&ground, "x", json!({ "members": ["pia"], "addresses": [address("pia", &receiver)] }));
    wait_for_people(&ground, "F-1", "one");
    until_attempts(&ground, 1);
    let ground = ground.restart();
    receiver.answer(|_| (200, String::new()));
    let before = receiver.messages().len();
    advance(&ground, "30s");
    until_states(&ground, "pia", "F-1", &["SENT"]);
    assert_eq!(receiver.messages().len(), before + 1, "after a restart it is sent once");
    let ground = ground.restart();
    wait_for_people(&ground, "F-2", "two");
    until_states(&ground, "pia", "F-2", &["SENT"]);
    assert_eq!(receiver.messages().len(), before + 2, "what was sent is not sent again");
}

#[test]
fn what_already_waits_is_planned_when_an_audience_changes_as_at_a_start() {
    let ground = crew();
    let receiver = Receiver::willing();
    ground.person("pia");
    wait_for_people(&ground, "F-0", "before the audience");
    let members = json!(["pia", "owner"]);
    set(&ground, "x", json!({ "members": members }));
    wait_for_people(&ground, "F-1", "one");
    create(&ground, "S-1", json!({ "title": "hidden from all but admins", "confidential": true }));
    fire(&ground.owner, "S-1", "submit");
    set(
        &ground,
        "x",
        json!({ "members": members, "addresses": [address("pia", &receiver), address("owner", &receiver)] }),
    );
    until_states(&ground, "owner", "F-1", &["SENT"]);
    until_states(&ground, "owner", "S-1", &["SENT"]);
    until_states(&ground, "pia", "F-1", &["SENT"]);
    for person in ["pia", "owner"] {
        until_states(&ground, person, "F-0", &[]);
    }
    // An address that several people read gets one message.
    let shared = json!({ "name": "team", "channel": "webhook", "values": { "url": format!("{}/team", base(&receiver)) } });
    set(&ground, "x", json!({ "members": members, "addresses": [shared] }));
    until_states(&ground, "pia", "F-1", &["SENT", "SENT"]);
    until_states(&ground, "owner", "S-1", &["SENT", "SENT"]);
    let shared = deliveries(&ground.owner, "");
    let shared: Vec<&Json> =
        shared.iter().filter(|it| it["address"] == "team" && it["entity"] == "F-1").collect();
    assert_eq!(shared.len(), 1, "{shared:#?}");
    assert!(receiver.messages().iter().any(|it| it.line == "POST /team"));
}

/// A lifecycle that notifies and in which nothing waits for people.
const NEWS: &str = "\
lifecycle: news.item
about: A piece of news.
create: { by: human }
states:
  DRAFT: { initial: true, waits_for: nobody }
  OUT:   { final: true }
transitions:
  publish: { from: DRAFT, to: OUT, by: human, notify: { audience: readers, message: '{id} is out' } }
";

#[test]
fn notifications_are_sent_where_they_are_asked_for() {
    let ground = crew();
    let receiver = Receiver::willing();
    ground.person("pia");
    let pack = "pack: news\nversion: 1\naudiences: { readers: People who read. }\n";
    let pack = json!({ "files": { "pack.yaml": pack, "lifecycles/item.yaml": NEWS } });
    ground.owner.put("/v1/packs/news", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    let publish = |id: &str| {
        ground
            .owner
            .post("/v1/entities/news.item", &json!({ "id": id }))
            .unwrap_or_else(|it| panic!("{it:#?}"));
        let path = format!("/v1/entities/news.item/{id}/transitions");
        ground.owner.post(&path, &json!({ "event": "publish" })).unwrap_or_else(|it| panic!("{it:#?}"));
    };
    let audience = |name: &str, asks: bool| {
        set(
            &ground,
            name,
            json!({ "members": ["pia"], "addresses": [address("pia", &receiver)], "notifications": asks, "lifecycles": ["news"] }),
        )
    };
    assert_eq!(audience("readers", false)["about"], "People who read.");
    publish("N-1");
    audience("others", true);
    audience("readers", true);
    publish("N-2");
    until_states(&ground, "pia", "N-2", &["ANSWERED"]);
    assert_eq!(receiver.wait(1)[0].json()["title"], "N-2 is out");
    // Nothing but this: not what an audience does not cover, and no notification that it did not ask for.
    wait_for_people(&ground, "F-1", "one");
    publish("N-3");
    until_states(&ground, "pia", "N-3", &["ANSWERED"]);
    until_states(&ground, "pia", "N-1", &[]);
    until_states(&ground, "pia", "F-1", &[]);
}

#[test]
fn values_of_addresses_are_nowhere_but_in_their_file() {
    const HIDDEN: &str = "hidden-combination-42";
    let ground = crew();
    let receiver = Receiver::new(|_| (404, String::new()));
    ground.person("pia");
    let url = format!("{}/{HIDDEN}", base(&receiver));
    let with = |values: Json| json!({ "members": ["pia"], "addresses": [{ "name": "a", "channel": "webhook", "person": "pia", "values": values }] });
    let mut said = vec![set(&ground, "x", with(json!({ "url": url }))).to_string()];
    // Without values it keeps those that it has.
    said.push(set(&ground, "x", with(Json::Null)).to_string());
    wait_for_people(&ground, "F-1", "one");
    until_states(&ground, "pia", "F-1", &["FAILED"]);
    assert_eq!(lines(&receiver.wait(1)), [format!("POST /{HIDDEN}")]);
    let tested = ground.owner.post("/v1/audiences/x/test", &json!({})).unwrap().body;
    assert_eq!(
        (&tested["success"], &tested["results"][0]["problem"]),
        (&json!(false), &json!("it answered 404 Not Found"))
    );
    said.push(tested.to_string());
    let wrong = refused(ground.owner.put("/v1/audiences/x", &with(json!({ "uri": HIDDEN }))));
    said.push(format!("{wrong:?}"));
    for path in [
        "/v1/audiences",
        "/v1/audiences/x",
        "/v1/deliveries",
        "/v1/alerts",
        "/v1/inbox",
        "/v1/export",
        "/v1/journal?limit=200",
    ] {
        let answer = ground.raw(
            &format!(
                "GET {path} HTTP/1.1\r\nAuthorization: Bearer {}",
                std::fs::read_to_string(ground.data.join("token")).unwrap().trim()
            ),
            b"",
        );
        assert_eq!(answer.status, 200, "{path}");
        said.push(String::from_utf8_lossy(&answer.body).into_owned());
    }
    assert!(said.iter().all(|it| !it.contains(HIDDEN)), "{said:#?}");
    let copy = ground.owner.post("/v1/backup", &json!({})).unwrap().body;
    assert!(!copy.to_string().contains(HIDDEN));
    let ground = ground.restart();
    let mut holding = Vec::new();
    search(&ground.data, HIDDEN, &mut holding);
    assert_eq!(holding, ["delivery.secrets"]);
    receiver.answer(|_| (200, String::new()));
    let tested = ground.owner.post("/v1/audiences/x/test", &json!({ "address": "a" })).unwrap().body;
    assert_eq!(tested["success"], true, "they are there after a restart: {tested}");
}

/// The names of the files that contain a text.
fn search(folder: &Path, text: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, text, found);
        } else if std::fs::read(&path).unwrap().windows(text.len()).any(|it| it == text.as_bytes()) {
            found.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
}

#[test]
fn a_wrong_audience_is_explained_and_only_admins_set_one() {
    let ground = crew();
    let pia = ground.person("pia");
    let ada = ground.agent("ada", "mission:lead");
    let path = "/v1/audiences/crew";
    assert_eq!(why(pia.put(path, &json!({ "members": ["pia"] }))).0, 403);
    assert_eq!(why(ada.get(path)).0, 403);
    assert_eq!(why(pia.post("/v1/audiences/crew/test", &json!({}))).0, 403);
    assert_eq!(why(ground.owner.get(path)), (404, "unknown-audience".to_owned()));
    let address = |name: &str, channel: &str, values: Json| json!({ "addresses": [{ "name": name, "channel": channel, "values": values }] });
    for (body, says) in [
        (json!({ "members": ["a b"] }), "no id of a person"),
        (json!({ "members": ["role:mission:leed"] }), "lead"),
        (json!({ "lifecycles": ["mission.tesk"] }), "mission.task"),
        (json!({ "alerts": "loud" }), "`none`, `error` or `all`"),
        (json!({ "digest": "soon" }), "such as 15m"),
        (json!({ "escalateAfter": "0s" }), "at least 1s"),
        (json!({ "quiet": { "from": "7", "to": "8" } }), "write it as 22:00"),
        (json!({ "quiet": { "from": "07:00", "to": "08:00", "zone": "Moon" } }), "no time zone Moon"),
        (address("a", "slak", json!({})), "slack"),
        (address("a", "slack", json!({})), "needs a value url"),
        (address("a", "slack", json!({ "url": "https://x.example", "uri": "x" })), "no value uri"),
        (address("a b", "slack", json!({ "url": "https://x.example" })), "name of an address"),
    ] {
        let problem = refused(ground.owner.put(path, &body));
        assert_eq!(
            (problem.status, problem.code.as_str()),
            (422, "invalid-audience"),
            "{body}: {problem:#?}"
        );
        assert!(problem.detail.contains(says), "{body}: {}", problem.detail);
    }
    let listed = ground.owner.get("/v1/audiences?limit=1").unwrap().body;
    assert_eq!(each(&listed, "name").len(), 1);
    let next = listed["nextCursor"].as_str().unwrap();
    let second = ground.owner.get(&format!("/v1/audiences?limit=1&cursor={next}")).unwrap().body;
    assert_ne!(each(&listed, "name"), each(&second, "name"));
    // An address of a private network is refused where they are not allowed.
    let strict = RestServer::new();
    set(&strict, "x", address("a", "slack", json!({ "url": "https://127.0.0.1:9/x" })));
    let tested = strict.owner.post("/v1/audiences/x/test", &json!({})).unwrap().body;
    assert!(
        tested["results"][0]["problem"].as_str().unwrap().contains("--allow-private-webhooks"),
        "{tested}"
    );
}
