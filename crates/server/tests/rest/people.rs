//! Messages to people, requests to people, and the risk of actions.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command};
use trackside_engine::project::ProjectChange;
use trackside_lifecycle::name::Name;
use trackside_protocol::Client;
use trackside_runtime::{Options, Runtime};
use trackside_store::{Sqlite, SqliteOptions};

use crate::ground::{RestServer, each, refused, until, why};

const LETTERS: &str = "\
lifecycle: post.box
about: A box.
fields: { text: { type: string }, readers: { items: { type: string }, default: [] } }
create: { by: human }
states: { OPEN: { initial: true }, SHUT: { final: true } }
transitions:
  write:
    from: OPEN
    by: human
    takes: { text: { type: string }, readers: { items: { type: string } } }
    post: { kind: LETTER, text: '{text}', visible: readers }
  call: { from: OPEN, by: human, takes: { text: { type: string } }, post: { kind: CALL, text: '{text}', to: '[\"kim\"]' } }
  shout: { from: OPEN, by: human, takes: { text: { type: string } }, post: { kind: SHOUT, text: '{text}' } }
  shut: { from: OPEN, to: SHUT, by: human }
";

/// A request to people with names of its own.
const LEAVE: &str = "\
lifecycle: post.leave
about: Somebody wants a day off.
face: { is: approval, approve: grant, deny: turn_down, note: words, urgent: soon }
read: human
fields:
  words: { type: string }
  soon: { type: boolean, default: false }
  asker: { type: string, by: engine }
create: { by: human, takes: [soon], set: { asker: actor.id } }
states:
  ASKED: { initial: true }
  GIVEN: { final: true, outcome: success }
  REFUSED: { final: true, outcome: failure }
transitions:
  grant: { from: ASKED, to: GIVEN, by: human && actor.id != asker, takes: [words] }
  turn_down: { from: ASKED, to: REFUSED, by: human && actor.id != asker, takes: { words: Say why not } }
";

fn ground() -> RestServer {
    let ground = RestServer::new();
    let pack = json!({ "files": {
        "pack.yaml": "pack: post\nversion: 1\nabout: Post.\nqueries: { said: { of: post.box, takes: { box: { type: string } }, history: ask.box } }\n",
        "lifecycles/box.yaml": LETTERS,
        "lifecycles/leave.yaml": LEAVE,
    } });
    ground.owner.put("/v1/packs/post", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    ground
}

fn texts(client: &Client, query: &str) -> Vec<String> {
    let told = client.get(&format!("/v1/entities/post.box/B/messages{query}")).unwrap().body;
    each(&told, "text").into_iter().map(str::to_owned).collect()
}

#[test]
fn messages_reach_their_recipients_on_every_interface() {
    let ground = ground();
    let [mia, pia, kim] = ["mia", "pia", "kim"].map(|it| ground.person(it));
    mia.post("/v1/entities/post.box", &json!({ "id": "B" })).unwrap();
    let write = |fields: Json, event: &str| {
        let asked = json!({ "event": event, "fields": fields });
        mia.post("/v1/entities/post.box/B/transitions", &asked).unwrap_or_else(|it| panic!("{it:#?}"));
    };
    write(json!({ "text": "for pia", "readers": ["pia"] }), "write");
    write(json!({ "text": "for all" }), "shout");
    write(json!({ "text": "for both", "readers": ["pia", "kim"] }), "write");
    // `to` says who has to act on it, and hides nothing.
    write(json!({ "text": "kim, act" }), "call");
    let called = pia.get("/v1/entities/post.box/B/messages").unwrap().body["items"][3].clone();
    assert_eq!((&called["text"], &called["to"]), (&json!("kim, act"), &json!(["kim"])));
    assert_eq!(texts(&pia, ""), ["for pia", "for all", "for both", "kim, act"]);
    assert_eq!(texts(&kim, ""), ["for all", "for both", "kim, act"]);
    assert_eq!(texts(&mia, ""), ["for pia", "for all", "for both", "kim, act"], "who wrote it");
    assert_eq!(texts(&ground.owner, "").len(), 4);
    let boss = ground.actor(json!({ "actor": "boss", "kind": "agent", "for": ["kim"] }));
    assert_eq!(texts(&boss, ""), ["for all", "kim, act"]);
    assert_eq!(texts(&boss.acting_for("kim"), ""), ["for all", "for both", "kim, act"]);
    let first = pia.get("/v1/entities/post.box/B/messages?limit=2").unwrap().body;
    assert_eq!(each(&first, "text"), ["for pia", "for all"]);
    assert_eq!(
        texts(&pia, &format!("?cursor={}", first["nextCursor"].as_str().unwrap())),
        ["for both", "kim, act"]
    );
    assert_eq!(each(&first, "from"), ["mia", "mia"]);

    let surfaces = [
        "/v1/journal?limit=200",
        "/v1/entities/post.box/B/history",
        "/v1/queries/post/said?box=B",
        "/v1/export",
    ];
    for surface in surfaces {
        let shown = |client: &Client| String::from_utf8(client.get_bytes(surface).unwrap()).unwrap();
        assert!(!shown(&kim).contains("for pia\\\"") && !shown(&kim).contains("\"for pia\""), "{surface}");
        assert!(shown(&kim).contains("for both"), "{surface}");
        assert!(shown(&pia).contains("for pia"), "{surface}");
    }
    assert_eq!(why(pia.get("/v1/entities/post.box/C/messages")), (404, "unknown-entity".to_owned()));
}

#[test]
fn open_requests_of_all_lifecycles_are_listed_together_urgent_first() {
    let ground = ground();
    let (owner, pia) = (&ground.owner, ground.person("pia"));
    let ask = |id: &str, soon: bool| {
        let asked = json!({ "id": id, "fields": { "soon": soon } });
        pia.post("/v1/entities/post.leave", &asked).unwrap();
        owner.post("/v1/clock/advance", &json!({ "by": "1s" })).unwrap();
    };
    ask("L-1", false);
    let asked = json!({ "id": "A-1", "fields": { "justification": "to move on", "summary": "Delete it", "action": "shell" } });
    pia.post("/v1/entities/mission.approval", &asked).unwrap_or_else(|it| panic!("{it:#?}"));
    ask("L-2", true);
    let inbox = |client: &Client, query: &str| {
        let told = client.get(&format!("/v1/approvals{query}")).unwrap().body;
        each(&told, "id").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(inbox(owner, ""), ["L-2", "L-1", "A-1"]);
    assert_eq!(inbox(&ground.agent("ada", "mission:lead"), ""), ["A-1"], "the others are for people");
    assert_eq!(why(owner.get("/v1/approvals?cursor=nonsense")), (400, "invalid-parameter".to_owned()));
    let first = owner.get("/v1/approvals?limit=2").unwrap().body;
    assert_eq!(each(&first, "id"), ["L-2", "L-1"]);
    assert_eq!(inbox(owner, &format!("?limit=2&cursor={}", first["nextCursor"].as_str().unwrap())), ["A-1"]);

    let decide =
        |client: &Client, id: &str, body: Json| client.post(&format!("/v1/approvals/{id}/decision"), &body);
    let approve = json!({ "decision": "approve", "note": "go" });
    assert_eq!(why(decide(&pia, "L-1", approve.clone())), (403, "not-permitted".to_owned()), "it is her own");
    let done = decide(owner, "L-1", approve.clone()).unwrap().body;
    assert_eq!(
        (&done["entity"]["state"], &done["entity"]["fields"]["words"]),
        (&json!("GIVEN"), &json!("go"))
    );
    assert_eq!(done["transition"]["reason"], json!("go"));
    let silent = refused(decide(owner, "L-2", json!({ "decision": "deny" })));
    assert_eq!((silent.status, silent.errors[0].message.as_str()), (422, "Say why not"));
    let denied = decide(owner, "L-2", json!({ "decision": "deny", "note": "too soon" })).unwrap().body;
    assert_eq!(denied["entity"]["state"], json!("REFUSED"));
    // A shell command is RED: it takes two people, and each counts once.
    decide(owner, "A-1", approve.clone()).unwrap_or_else(|it| panic!("{it:#?}"));
    assert_eq!(inbox(owner, ""), ["A-1"]);
    assert_eq!(why(decide(owner, "A-1", approve.clone())), (403, "not-permitted".to_owned()));
    decide(&ground.person("mia"), "A-1", approve.clone()).unwrap_or_else(|it| panic!("{it:#?}"));
    assert!(inbox(owner, "").is_empty());

    assert_eq!(why(decide(owner, "L-1", approve.clone())).0, 422, "it is decided");
    assert_eq!(why(decide(owner, "L-9", approve.clone())), (404, "unknown-approval".to_owned()));
    assert_eq!(why(decide(owner, "L-1", json!({ "decision": "maybe" }))), (400, "invalid-body".to_owned()));
    let to = json!({ "decision": "approve", "to": "GIVEN" });
    ask("L-3", false);
    assert_eq!(why(decide(owner, "L-3", to)), (422, "unexpected-field".to_owned()));
    let hidden = ground.agent("bob", "mission:lead");
    assert_eq!(why(decide(&hidden, "L-3", approve.clone())), (404, "unknown-approval".to_owned()));

    let both = json!({ "id": "A-2", "fields": { "justification": "to move on" } });
    pia.post("/v1/entities/mission.approval", &both).unwrap();
    ask("A-2", false);
    assert_eq!(why(decide(owner, "A-2", approve)), (409, "ambiguous-approval".to_owned()));
    let named = json!({ "decision": "approve", "lifecycle": "post.leave" });
    assert_eq!(decide(owner, "A-2", named).unwrap().body["entity"]["lifecycle"], json!("post.leave"));
}

#[test]
fn an_action_is_judged_for_a_role() {
    let ground = ground();
    let judge = |client: &Client, body: Json| client.post("/v1/policy/evaluate", &body);
    let agent = ground.agent("ada", "mission:intern");
    let red = judge(&agent, json!({ "action": "never_heard_of" })).unwrap().body;
    assert_eq!((&red["pack"], &red["role"]), (&json!("mission"), &json!("intern")));
    assert_eq!(red["outcome"], json!("approve"));
    assert!(red["why"].as_str().unwrap().contains("never_heard_of"));
    let named =
        judge(&agent, json!({ "action": "never_heard_of", "role": "mission:lead", "pack": "mission" }));
    assert_eq!(named.unwrap().body["role"], json!("lead"));
    assert_eq!(
        why(judge(&agent, json!({ "action": "x", "role": "boss" }))),
        (422, "unknown-role".to_owned())
    );
    assert_eq!(why(judge(&agent, json!({ "action": "x", "pack": "post" }))), (422, "no-policy".to_owned()));
    assert_eq!(
        why(judge(&agent, json!({ "action": "x", "pack": "pots" }))),
        (404, "unknown-pack".to_owned())
    );
}

/// The people of the project, as the journal last recorded them.
fn people_counts(ground: &RestServer) -> Vec<String> {
    let (mut last, mut after) = (Vec::new(), 0);
    loop {
        let journal = ground.owner.get(&format!("/v1/journal?limit=200&after={after}")).unwrap().body;
        let items = journal["items"].as_array().unwrap();
        for people in items.iter().filter_map(|it| it.pointer("/metadata/people")) {
            last = people.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect();
        }
        match items.last() {
            Some(entry) => after = entry["seq"].as_u64().unwrap(),
            None => return last,
        }
    }
}

#[test]
fn the_owner_of_a_person_token_counts_as_a_person() {
    let ground = RestServer::new();
    assert_eq!(people_counts(&ground), ["owner"]);
    ground.person("pia");
    ground.agent("ada", "mission:lead");
    assert_eq!(people_counts(&ground), ["owner", "pia"]);
}

#[test]
fn concurrent_token_creation_loses_no_person() {
    let ground = RestServer::new();
    let names: Vec<String> = (10..26).map(|it| format!("p-{it}")).collect();
    std::thread::scope(|threads| {
        for name in &names {
            threads.spawn(|| ground.person(name));
        }
    });
    let mut all = vec!["owner".to_owned()];
    all.extend(names);
    assert_eq!(people_counts(&ground), all);
}

#[test]
fn a_person_without_a_token_is_not_counted() {
    let ground = RestServer::new();
    let made = |body: Json| {
        let made = ground.owner.post("/v1/tokens", &body).unwrap().body;
        made["details"]["id"].as_str().unwrap().to_owned()
    };
    let person = |id: &str| json!({ "actor": id, "kind": "human" });
    let tokens = [made(person("pia")), made(person("mia")), made(person("kim"))];
    let second = made(person("kim"));
    let ada = ground.agent("ada", "mission:lead");
    let ask = |id: &str| {
        let fields = json!({ "justification": "to move on", "summary": "Delete it", "risk": "RED" });
        let asked = json!({ "id": id, "fields": fields });
        ada.post("/v1/entities/mission.approval", &asked).unwrap_or_else(|it| panic!("{it:#?}"));
        ground.owner.get(&format!("/v1/entities/mission.approval/{id}")).unwrap().body
    };
    assert_eq!(ask("A-1")["fields"]["shortage"], Json::Null);

    for token in &tokens {
        ground.owner.delete(&format!("/v1/tokens/{token}")).unwrap();
    }
    assert_eq!(people_counts(&ground), ["kim", "owner"], "one of hers is good");
    ground.owner.delete(&format!("/v1/tokens/{second}")).unwrap();
    assert_eq!(people_counts(&ground), ["owner"]);
    let quorum = || {
        ground.owner.post("/v1/sweep", &json!({})).unwrap();
        let open = ground.owner.get("/v1/alerts").unwrap().body;
        let all = open["items"].as_array().unwrap();
        let of_it =
            all.iter().filter(|it| it["kind"] == "quorum").map(|it| it["id"].as_str().unwrap().to_owned());
        of_it.collect::<Vec<_>>()
    };
    assert_eq!(quorum(), ["A-1"], "it was filed while enough people could decide");
    let back = ground.person("back");
    assert_eq!(quorum(), [""; 0], "resolved, as enough people can decide again");
    back.post("/v1/sign-out", &json!({})).unwrap();
    assert_eq!(people_counts(&ground), ["owner"]);
    let short = ask("A-2");
    assert_eq!(short["fields"]["shortage"], json!("Needs 2 people, but only 1 can decide"));
    let fewer = json!({ "event": "lower_quorum", "fields": { "people": 1 } });
    let lowered = ground.owner.post("/v1/entities/mission.approval/A-2/transitions", &fewer);
    lowered.unwrap_or_else(|it| panic!("{it:#?}"));

    // By the end of the token's lifetime, and by signing out.
    made(json!({ "actor": "late", "kind": "human", "lifetime": "1h" }));
    let leaves = ground.person("leaves");
    assert_eq!(people_counts(&ground), ["late", "leaves", "owner"]);
    leaves.post("/v1/sign-out", &json!({})).unwrap();
    assert_eq!(people_counts(&ground), ["late", "owner"]);
    ground.owner.post("/v1/clock/advance", &json!({ "by": "2h" })).unwrap();
    until(|| people_counts(&ground) == ["owner"]);

    // A wrong list is corrected when the server starts.
    let ground = ground.restarted_after(|data| {
        let store = Arc::new(Sqlite::open(data, SqliteOptions::default()).unwrap());
        let runtime = Runtime::start(store, &[], Options::default()).unwrap();
        let people = Some(vec![Name::new("ghost"), Name::new("owner")]);
        let change = ProjectChange { people, ..ProjectChange::default() };
        let own = Actor::engine();
        runtime.gateway().unwrap().ask(Command::new(own, Ask::Configure(change))).unwrap();
        runtime.stop();
    });
    assert_eq!(people_counts(&ground), ["owner"]);
}
