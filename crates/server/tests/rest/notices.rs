//! Recipients of notifications, as each pack declares them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use trackside_protocol::Client;

use crate::ground::{RestServer, each, packs, refused};

/// The server has these; the others are installed.
pub(crate) fn all_packs() -> RestServer {
    let ground = RestServer::new();
    for pack in ["research", "build", "turns"] {
        let folder = packs().join(pack);
        let mut files = BTreeMap::from([("pack.yaml".to_owned(), read(&folder.join("pack.yaml")))]);
        for entry in std::fs::read_dir(folder.join("lifecycles")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            files.insert(format!("lifecycles/{name}"), read(&path));
        }
        let sent = json!({ "files": files });
        ground.owner.put(&format!("/v1/packs/{pack}"), &sent).unwrap_or_else(|it| panic!("{it:#?}"));
    }
    ground
}

fn read(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn make(who: &Client, lifecycle: &str, id: &str, fields: Json) {
    let body = json!({ "id": id, "fields": fields });
    who.post(&format!("/v1/entities/{lifecycle}"), &body).unwrap_or_else(|it| panic!("{lifecycle}: {it:#?}"));
}

fn fire(who: &Client, entity: &str, event: &str, fields: Json) {
    let body = json!({ "event": event, "fields": fields });
    let path = format!("/v1/entities/{entity}/transitions");
    who.post(&path, &body).unwrap_or_else(|it| panic!("{event} of {entity}: {it:#?}"));
}

/// Audience, named recipients and text of the notifications about a lifecycle.
fn notices(who: &Client, query: &str, lifecycle: &str) -> Vec<(String, Vec<String>, String)> {
    let found = who.get(&format!("/v1/notifications{query}")).unwrap().body;
    let text = |it: &Json| it.as_str().unwrap().to_owned();
    let items = found["items"].as_array().unwrap().iter().filter(|it| it["lifecycle"] == lifecycle);
    let to = |it: &Json| it["to"].as_array().unwrap().iter().map(text).collect();
    items.map(|it| (text(&it["audience"]), to(it), text(&it["message"]))).collect()
}

fn notice(audience: &str, to: &[&str], message: &str) -> (String, Vec<String>, String) {
    (audience.to_owned(), to.iter().map(|it| (*it).to_owned()).collect(), message.to_owned())
}

#[test]
fn every_pack_notifies_its_declared_recipients() {
    let ground = all_packs();
    let owner = &ground.owner;
    // Research: the user is notified of the session, and internal audiences of everything.
    make(owner, "research.session", "S-1", json!({ "goal": "Find more" }));
    let session = "Session S-1 is INITIALIZING";
    let expected = [notice("user", &["owner"], session), notice("internal", &[], session)];
    assert_eq!(notices(owner, "", "research.session"), expected);
    assert_eq!(notices(owner, "?audience=internal", "research.session"), expected[1..]);
    assert_eq!(notices(owner, "?to=me", "research.session"), expected[..1]);
    // Mission: the assignee.
    make(owner, "mission.task", "T-1", json!({ "title": "Write the page" }));
    let ada = ground.agent("ada", "mission:specialist");
    fire(owner, "mission.task/T-1", "assign", json!({ "assigneeIds": ["ada"] }));
    let expected = [notice("assignees", &["ada"], "T-1 is assigned to you: Write the page")];
    assert_eq!(notices(owner, "", "mission.task"), expected);
    assert_eq!(notices(&ada, "?to=me", "mission.task"), expected);
    assert!(notices(owner, "?to=me", "mission.task").is_empty());
    fire(owner, "mission.task/T-1", "block", json!({ "blockReason": "No access" }));
    let blocked = notice("operator", &[], "T-1 is blocked: No access");
    assert_eq!(notices(owner, "?audience=operator", "mission.task"), [blocked]);
    // Coding: the actors that can claim it.
    let planner = ground.agent("planner-1", "coding:planner");
    make(owner, "coding.goal", "G-1", json!({ "description": "A faster parser" }));
    make(&planner, "coding.sprint", "S-1", json!({ "goal_ref": "G-1" }));
    let fields = json!({
        "description": "Parse numbers", "priority": 2, "spec_ref": "spec.md#numbers", "done_when": "They pass",
        "scope": "src/numbers.rs", "sprint_id": "S-1"
    });
    make(&planner, "coding.task", "T-1", fields);
    fire(&planner, "coding.task/T-1", "finalize", json!({}));
    assert_eq!(
        notices(owner, "", "coding.task"),
        [notice("coder", &[], "T-1 can be claimed: Parse numbers")]
    );
    let claimable = notices(owner, "", "coding.task");
    assert_eq!(notices(&ground.agent("coder-1", "coding:coder"), "", "coding.task"), claimable);
    assert!(notices(&ground.agent("reviewer-1", "coding:code_reviewer"), "", "coding.task").is_empty());
    // Build: the plan manager at 80 %, the orchestrator when the time is over.
    let planner = ground.agent("plan", "build:plan_manager");
    make(&planner, "build.task", "B-1", json!({ "title": "Add a search box" }));
    owner.post("/v1/clock/advance", &json!({ "by": "48m" })).unwrap();
    let late = |words: &str| format!("Task B-1 (Add a search box) {words} in pending.");
    let warned = notice("plan_manager", &[], &late("has used 80 % of its time"));
    assert_eq!(notices(owner, "", "build.task"), [warned]);
    owner.post("/v1/clock/advance", &json!({ "by": "12m" })).unwrap();
    let over = notice("orchestrator", &[], &late("has used 100 % of its time"));
    assert_eq!(notices(owner, "?audience=orchestrator", "build.task"), [over]);
    // Turns: the agent whose turn it is.
    let pm = ground.actor(json!({ "actor": "pm", "kind": "agent" }));
    make(owner, "turns.channel", "reviews", json!({}));
    make(&pm, "turns.agent", "pm", json!({}));
    fire(&pm, "turns.agent/pm", "connect", json!({}));
    make(&pm, "turns.member", "reviews:pm", json!({}));
    let turn = notice("agents", &["pm"], "It is your turn in reviews");
    assert_eq!(notices(&pm, "?to=me", "turns.member"), [turn]);
}

#[test]
fn an_actor_reads_its_own_notifications_and_those_of_its_audiences() {
    let ground = all_packs();
    let owner = &ground.owner;
    let ada = ground.agent("ada", "mission:specialist");
    let bob = ground.agent("bob", "mission:specialist");
    let (pia, cron) = (ground.person("pia"), ground.actor(json!({ "actor": "cron", "kind": "system" })));
    make(owner, "mission.task", "T-1", json!({ "title": "x" }));
    fire(owner, "mission.task/T-1", "assign", json!({ "assigneeIds": ["ada"] }));
    fire(owner, "mission.task/T-1", "block", json!({ "blockReason": "No disk" }));
    let audiences = |who: &Client| {
        let page = who.get("/v1/notifications").unwrap().body;
        let of_it = page["items"].as_array().unwrap().iter().filter(|it| it["id"] == "T-1");
        of_it.map(|it| it["audience"].as_str().unwrap().to_owned()).collect::<BTreeSet<String>>()
    };
    let set = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<BTreeSet<String>>();
    assert_eq!(audiences(owner), set(&["assignees", "operator"]));
    assert_eq!(audiences(&cron), set(&["assignees", "operator"]), "systems deliver them");
    assert_eq!(audiences(&ada), set(&["assignees"]), "her own");
    assert_eq!(audiences(&bob), set(&[]), "none is for him");
    assert_eq!(audiences(&pia), set(&["operator"]), "people are the operators");
    for path in ["/v1/journal?limit=200", "/v1/entities/mission.task/T-1/history"] {
        let shown = |who: &Client| {
            let page = who.get(path).unwrap().body;
            let items = page["items"].as_array().unwrap().iter();
            items.filter(|it| it["event"] == "NOTIFIED" && it["id"] == "T-1").count()
        };
        assert_eq!((shown(&bob), shown(&ada), shown(owner)), (0, 1, 2), "{path}");
    }
}

#[test]
fn a_user_stream_has_only_notifications_for_users() {
    let ground = all_packs();
    let seq = ground.owner.get("/readyz").unwrap().body["seq"].as_u64().unwrap();
    make(&ground.owner, "research.session", "S-1", json!({ "goal": "Find more" }));
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let heard = |audience: &str| {
        let head = format!(
            "GET /v1/events?after={seq}&audience={audience} HTTP/1.1\r\nAuthorization: Bearer {}",
            token.trim()
        );
        String::from_utf8(ground.raw_begin(&head).body).unwrap()
    };
    let (user, all) = (heard("user"), heard("all"));
    let kinds: BTreeSet<&str> = user.lines().filter_map(|it| it.strip_prefix("event: ")).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["NOTIFIED"], "{user}");
    assert!(user.contains(r#""audience":"user""#) && !user.contains(r#""audience":"internal""#), "{user}");
    assert!(heard("changes").contains("event: CREATED"));
    assert!(all.contains(r#""audience":"internal""#), "{all}");
    // Every number, without a gap.
    let numbers: Vec<u64> = all.lines().filter_map(|it| it.strip_prefix("id: ")?.parse().ok()).collect();
    assert_eq!(numbers, (seq + 1..=seq + numbers.len() as u64).collect::<Vec<_>>());
    make(&ground.owner, "mission.task", "T-1", json!({ "title": "x" }));
    fire(&ground.owner, "mission.task/T-1", "assign", json!({ "assigneeIds": ["ada"] }));
    assert!(!heard("user").contains("mission.task"), "nothing there is for users");
    assert!(heard("assignees").contains("mission.task"));
    let problem = refused(ground.owner.get("/v1/events?audience=usr"));
    assert!(problem.status == 400 && problem.detail.contains("Did you mean user?"), "{}", problem.detail);
    // The same holds for webhooks: no audience here that a stream would not have.
    assert_eq!(each(&ground.owner.get("/v1/notifications?audience=user").unwrap().body, "id"), ["S-1"]);
}
