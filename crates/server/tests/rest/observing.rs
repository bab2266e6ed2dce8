//! Who sees the messages and entries of a channel, on every interface.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value as Json, json};
use trackside_protocol::Client;
use trackside_server::WebhookOptions;

use crate::ground::{RestServer, each, packs, refused};
use crate::receiver::Receiver;

/// An actor with its token.
struct Member {
    token: String,
    client: Client,
}

/// A channel with members in every state, and one agent outside it.
struct Channel {
    ground: RestServer,
}

impl Channel {
    fn open(config: Json) -> Self {
        let webhooks = WebhookOptions {
            allow_private: true,
            first_wait: Duration::from_millis(20),
            longest_wait: Duration::from_millis(50),
            ..WebhookOptions::default()
        };
        let ground = RestServer::telling(webhooks);
        let folder = packs().join("turns");
        let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
        let mut files = BTreeMap::from([("pack.yaml".to_owned(), read(&folder.join("pack.yaml")))]);
        for entry in std::fs::read_dir(folder.join("lifecycles")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            files.insert(format!("lifecycles/{name}"), read(&path));
        }
        ground
            .owner
            .put("/v1/packs/turns", &json!({ "files": files }))
            .unwrap_or_else(|it| panic!("{it:#?}"));
        let it = Self { ground };
        it.make(&it.ground.owner, "turns.channel", "ch", json!({ "turnConfig": config }));
        it
    }

    fn make(&self, who: &Client, lifecycle: &str, id: &str, fields: Json) {
        let body = json!({ "id": id, "fields": fields });
        who.post(&format!("/v1/entities/{lifecycle}"), &body).unwrap_or_else(|it| panic!("{it:#?}"));
    }

    fn fire(&self, who: &Client, entity: &str, event: &str, fields: Json) -> Json {
        let body = json!({ "event": event, "fields": fields });
        let path = format!("/v1/entities/{entity}/transitions");
        who.post(&path, &body).unwrap_or_else(|it| panic!("{event} of {entity}: {it:#?}")).body
    }

    fn actor(&self, id: &str, kind: &str) -> Member {
        let token = self.ground.mint_token(json!({ "actor": id, "kind": kind }));
        let client = self.ground.client(&token);
        Member { token, client }
    }

    /// An agent that is registered and connected.
    fn agent(&self, id: &str) -> Member {
        let agent = self.actor(id, "agent");
        self.make(&agent.client, "turns.agent", id, json!({}));
        agent
    }

    fn member(&self, id: &str) -> Member {
        let agent = self.agent(id);
        self.make(&agent.client, "turns.member", &format!("ch:{id}"), json!({}));
        agent
    }

    fn say(&self, who: &Client, text: &str) -> Json {
        self.fire(who, "turns.channel/ch", "message", json!({ "text": text }))
    }

    /// Everything that an interface gives this caller.
    fn shown(&self, who: &Member, interface: &str) -> String {
        match interface {
            "/v1/events" => {
                let head = format!(
                    "GET /v1/events?after=0&audience=all HTTP/1.1\r\nAuthorization: Bearer {}",
                    who.token
                );
                String::from_utf8(self.ground.raw_begin(&head).body).unwrap()
            }
            "mcp show" => {
                let head = format!(
                    "POST /mcp HTTP/1.1\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
                     Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25",
                    who.token
                );
                let arguments = json!({ "lifecycle": "turns.channel", "id": "ch" });
                let params = json!({ "name": "show", "arguments": arguments });
                let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
                String::from_utf8(self.ground.raw(&head, call.to_string().as_bytes()).body).unwrap()
            }
            path => String::from_utf8(who.client.get_bytes(path).unwrap()).unwrap(),
        }
    }
}

const JOURNALS: [&str; 3] = ["/v1/journal?limit=200", "/v1/events", "/v1/export"];
const OWN: [&str; 3] = [
    "/v1/entities/turns.channel/ch/messages",
    "/v1/entities/turns.channel/ch/history?limit=200",
    "/v1/queries/turns/channelHistory?channel=ch&limit=200",
];

#[test]
fn only_the_queue_people_and_systems_see_a_channel() {
    let channel = Channel::open(json!({}));
    let (ada, bob) = (channel.member("ada"), channel.member("bob"));
    let (left, gone, out) = (channel.member("left"), channel.member("gone"), channel.agent("out"));
    let (person, system) = (channel.actor("pia", "human"), channel.actor("orch", "system"));
    channel.say(&person.client, "said by a person");
    channel.say(&ada.client, "said by ada");
    channel.fire(&left.client, "turns.member/ch:left", "leave", json!({}));
    channel.fire(&gone.client, "turns.agent/gone", "disconnect", json!({}));
    channel.say(&person.client, "said later");
    let said = ["said by a person", "said by ada", "said later"];

    // ACTIVE, QUEUED, a person, a system: all of it, whoever it is routed to.
    for (who, name) in [(&ada, "ada"), (&bob, "bob"), (&person, "pia"), (&system, "orch")] {
        let messages = who.client.get(OWN[0]).unwrap().body;
        assert_eq!(each(&messages, "text"), said, "{name}");
        assert_eq!(messages["items"][0]["to"], json!(["ada"]), "{name}");
        for interface in JOURNALS.iter().chain(&OWN) {
            let shown = channel.shown(who, interface);
            assert!(said.iter().all(|it| shown.contains(it)), "{name} {interface}");
        }
    }
    // Left (IDLE), OFFLINE, never in it: nothing, and a refusal that says what to do.
    for (who, name) in [(&left, "left"), (&gone, "gone"), (&out, "out")] {
        for path in OWN {
            let problem = refused(who.client.get(path));
            assert_eq!((problem.status, problem.code.as_str()), (403, "not-permitted"), "{name} {path}");
            assert!(problem.detail.contains(&format!("turns.member/ch:{name}")), "{}", problem.detail);
            assert_eq!(problem.who.as_deref(), Some("human or system or observer"));
        }
        for interface in JOURNALS.iter().chain(&["/v1/notifications", "/v1/alerts", "mcp show"]) {
            let shown = channel.shown(who, interface);
            assert!(!said.iter().any(|it| shown.contains(it)), "{name} {interface}");
        }
        // No entry of the channel, and none of its other members.
        let journal = who.client.get("/v1/journal?limit=200").unwrap().body;
        let ids = each(&journal, "id");
        assert!(!ids.contains(&"ch") && !ids.contains(&"ch:ada"), "{name}: {ids:?}");
        // It can still find the channel.
        assert_eq!(who.client.get("/v1/entities/turns.channel/ch").unwrap().body["state"], "OPEN");
    }
    // It comes back as soon as it is in the queue again.
    channel.make(&left.client, "turns.member", "ch:left", json!({}));
    assert_eq!(each(&left.client.get(OWN[0]).unwrap().body, "text"), said, "the backlog");
}

#[test]
fn a_stream_follows_the_membership() {
    let channel = Channel::open(json!({}));
    let (ada, bob) = (channel.member("ada"), channel.agent("bob"));
    let after = channel.ground.owner.get("/readyz").unwrap().body["seq"].as_u64().unwrap();
    let stream = bob.client.stream(&format!("/v1/events?after={after}&audience=all")).unwrap();
    let (told, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::BufRead::lines(stream).map_while(Result::ok) {
            if told.send(line).is_err() {
                return;
            }
        }
    });
    let until = |text: &str| {
        let mut all = String::new();
        while !all.contains(text) {
            all.push_str(&heard.recv_timeout(Duration::from_secs(10)).expect("the stream continues"));
        }
        all
    };
    channel.say(&ada.client, "before bob");
    // Something that bob sees marks the place.
    channel.make(&channel.ground.owner, "turns.agent", "mark-1", json!({}));
    assert!(!until("mark-1").contains("before bob"));
    channel.make(&bob.client, "turns.member", "ch:bob", json!({}));
    channel.say(&ada.client, "with bob");
    until("with bob");
    channel.fire(&bob.client, "turns.member/ch:bob", "leave", json!({}));
    until("leave");
    channel.say(&ada.client, "after bob");
    channel.make(&channel.ground.owner, "turns.agent", "mark-2", json!({}));
    assert!(!until("mark-2").contains("after bob"));
}

#[test]
fn a_new_member_sees_the_last_messages_from_before_it_joined() {
    let channel = Channel::open(json!({ "defaultTimeoutSeconds": 3600 }));
    let ada = channel.member("ada");
    for n in 0..60 {
        channel.say(&ada.client, &format!("message {n:02}"));
    }
    let bob = channel.member("bob");
    channel.say(&ada.client, "message 60");
    let texts = |query: &str| -> Vec<String> {
        let body = bob.client.get(&format!("{}?{query}", OWN[0])).unwrap().body;
        each(&body, "text").into_iter().map(str::to_owned).collect()
    };
    let expected: Vec<String> = (10..=60).map(|n| format!("message {n:02}")).collect();
    assert_eq!(texts("limit=200"), expected);
    assert_eq!(texts("limit=3"), expected[..3]);
    for interface in JOURNALS {
        // Pages of the journal: the feed and the export have all of it.
        if interface.contains("journal") {
            continue;
        }
        let shown = channel.shown(&bob, interface);
        assert!(shown.contains("message 10") && !shown.contains("message 09"), "{interface}");
    }
    assert_eq!(each(&ada.client.get(&format!("{}?limit=200", OWN[0])).unwrap().body, "text").len(), 61);
}

#[test]
fn a_held_message_is_for_people_only() {
    let channel = Channel::open(json!({ "humanInterruptMode": "queue" }));
    let (ada, bob) = (channel.member("ada"), channel.member("bob"));
    let (person, system) = (channel.actor("pia", "human"), channel.actor("orch", "system"));
    let hooks = (Receiver::willing(), Receiver::willing());
    let hook = |it: &Receiver| json!({ "url": it.url, "lifecycles": ["turns"], "audience": "all" });
    person.client.post("/v1/webhooks", &hook(&hooks.0)).unwrap();
    system.client.post("/v1/webhooks", &hook(&hooks.1)).unwrap();
    channel.say(&person.client, "held for later");
    let all = JOURNALS.iter().chain(&OWN).chain(&[
        "/v1/entities/turns.channel/ch",
        "/v1/entities/turns.channel",
        "mcp show",
    ]);
    for interface in all {
        for (who, name) in [(&ada, "ada"), (&bob, "bob"), (&system, "orch")] {
            let shown = channel.shown(who, interface);
            assert!(!shown.contains("held for later"), "{name} {interface}");
        }
        let shown = channel.shown(&person, interface);
        assert!(interface.contains("/messages") || shown.contains("held for later"), "{interface}: {shown}");
    }
    // No condition of a list tells its value either.
    let asked = "/v1/entities/turns.channel?where=size(held)%3E0";
    assert_eq!(refused(ada.client.get(asked)).status, 422);
    assert_eq!(refused(person.client.get(asked)).status, 422);
    // The turn ends: everyone in the queue sees it, and it is routed to the next speaker.
    let answer = channel.fire(&ada.client, "turns.member/ch:ada", "turn_complete", json!({}));
    assert!(!answer.to_string().contains("held for later"), "{answer}");
    for who in [&ada, &bob, &person, &system] {
        let messages = who.client.get(OWN[0]).unwrap().body;
        assert_eq!(
            (each(&messages, "text"), &messages["items"][0]["to"]),
            (vec!["held for later"], &json!(["bob"]))
        );
    }
    // Webhooks follow the same rules as the feed of their owner.
    let told = |it: &Receiver| -> Vec<String> {
        let heard = it.messages();
        heard.iter().map(|it| String::from_utf8(it.body.clone()).unwrap()).collect()
    };
    let posted = |it: &String| it.contains("MESSAGE_POSTED") && it.contains("held for later");
    for hook in [&hooks.0, &hooks.1] {
        for _ in 0..200 {
            if told(hook).iter().any(posted) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(told(hook).iter().any(posted));
    }
    let of_held = |it: &String| it.contains("FIELDS_CHANGED") && it.contains("held for later");
    assert!(told(&hooks.0).iter().any(of_held));
    assert!(!told(&hooks.1).iter().any(of_held));
}

#[test]
fn an_actor_on_behalf_of_a_member_sees_what_the_member_sees() {
    let channel = Channel::open(json!({}));
    let ada = channel.member("ada");
    channel.say(&ada.client, "said by ada");
    let boss = channel.ground.actor(json!({ "actor": "boss", "kind": "agent", "for": ["ada"] }));
    assert_eq!(refused(boss.get(OWN[0])).status, 403);
    assert_eq!(each(&boss.acting_for("ada").get(OWN[0]).unwrap().body, "text"), ["said by ada"]);
}
