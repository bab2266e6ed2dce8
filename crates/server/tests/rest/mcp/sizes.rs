//! The size of what agents read: they pay for every byte of it.

use serde_json::{Value as Json, json};

use super::{McpClient, NEWEST, OLDER};
use crate::ground::RestServer;
use crate::notices::all_packs;

/// The most bytes of a list of the tools, and of an explanation.
const LIST: usize = 12_000;
const EXPLANATION: usize = 4_000;

#[test]
fn the_list_of_tools_stays_small() {
    let ground = RestServer::new();
    let token = ground.mint_token(json!({ "actor": "ada", "kind": "agent" }));
    for version in [OLDER, NEWEST] {
        let listed = McpClient::new(&ground, &token, version).result("tools/list", json!({}));
        let size = listed.to_string().len();
        assert!(size < LIST, "{size} bytes in {version}");
    }
}

/// One entity of each pack, and the actor that creates it.
fn entities() -> [(&'static str, &'static str, Json, Json); 6] {
    let owner = || json!({ "actor": "olga", "kind": "human", "roles": ["admin"] });
    let planner = json!({ "actor": "planner-1", "kind": "agent", "roles": ["coding:planner"] });
    [
        ("mission.task", "T-1", json!({ "title": "Write it" }), owner()),
        ("coding.task", "T-1", json!({ "description": "Write it" }), planner),
        ("build.task", "TASK-001", json!({ "title": "Write it" }), owner()),
        ("research.session", "S-1", json!({ "goal": "Find it" }), owner()),
        ("turns.channel", "C-1", json!({ "name": "Talk" }), owner()),
        (
            "mission.approval",
            "A-1",
            json!({ "justification": "why", "summary": "Delete it", "action": "shell" }),
            owner(),
        ),
    ]
}

#[test]
fn an_explanation_stays_small_in_every_state_of_the_packs() {
    let ground = all_packs();
    let owner = &ground.owner;
    let roles = ["mission:specialist", "coding:coder", "build:cto", "research:supervisor"];
    let readers = [
        ground.mint_token(json!({ "actor": "ada", "kind": "agent", "roles": roles })),
        ground.mint_token(json!({ "actor": "pia", "kind": "human", "roles": ["admin"] })),
    ];
    let (mut looked, mut largest) = (0, (0, String::new()));
    for (lifecycle, id, fields, maker) in entities() {
        let maker = ground.client(&ground.mint_token(maker));
        let created =
            maker.post(&format!("/v1/entities/{lifecycle}"), &json!({ "id": id, "fields": fields }));
        created.unwrap_or_else(|it| panic!("{lifecycle}: {it:#?}"));
        let declared = owner.get(&format!("/v1/lifecycles/{lifecycle}")).unwrap().body;
        for state in declared["states"].as_array().unwrap().iter().filter_map(Json::as_str) {
            let correct = json!({ "to": state, "reason": "to look at it" });
            let path = format!("/v1/entities/{lifecycle}/{id}/correct");
            if state != owner.get(&format!("/v1/entities/{lifecycle}/{id}")).unwrap().body["state"]
                && owner.post(&path, &correct).is_err()
            {
                continue;
            }
            for token in &readers {
                let reader = McpClient::new(&ground, token, OLDER);
                let answer = reader.call("explain", json!({ "lifecycle": lifecycle, "id": id }));
                // Some records are hidden from agents.
                if answer["isError"] == true {
                    continue;
                }
                let size = answer.to_string().len();
                assert!(size < EXPLANATION, "{lifecycle} in {state}: {size} bytes\n{answer:#}");
                let (text, now) = (&answer["content"][0]["text"], &answer["structuredContent"]["state"]);
                let start = format!("{lifecycle}/{id} is {}. ", now.as_str().unwrap());
                assert!(text.as_str().unwrap().starts_with(&start), "{text}");
                largest = largest.max((size, format!("{lifecycle} in {state}")));
                looked += 1;
            }
        }
    }
    assert!(looked >= 60, "only {looked} were looked at; the largest was {largest:?}");
}

#[test]
fn a_short_explanation_names_each_move_with_what_it_needs_and_a_full_one_every_check() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    owner.post("/v1/entities/mission.task", &json!({ "id": "T-1", "fields": { "title": "x" } })).unwrap();
    let assign = json!({ "event": "assign", "fields": { "assigneeIds": ["ada"] } });
    owner.post("/v1/entities/mission.task/T-1/transitions", &assign).unwrap();
    let token =
        ground.mint_token(json!({ "actor": "ada", "kind": "agent", "roles": ["mission:specialist"] }));
    let ada = McpClient::new(&ground, &token, OLDER);
    let asked = json!({ "lifecycle": "mission.task", "id": "T-1" });
    let answer = ada.call("explain", asked.clone());
    let (text, brief) = (answer["content"][0]["text"].as_str().unwrap(), &answer["structuredContent"]);
    assert!(text.contains("Waiting for you: "), "{text}");
    assert!(text.contains("\n- start (IN_PROGRESS): you can, with workPlan"), "{text}");
    let start = brief["moves"].as_array().unwrap().iter().find(|it| it["event"] == "start").unwrap();
    assert_eq!((&start["ready"], &start["needs"]), (&json!(false), &json!(["workPlan"])));
    assert_eq!(brief["headline"]["actor"], "you");
    let full = ada.tool_result("explain", json!({ "lifecycle": "mission.task", "id": "T-1", "full": true }));
    assert_eq!(full["headline"], brief["headline"]);
    let ways = full["transitions"].as_array().unwrap();
    assert!(ways.iter().any(|it| it["checks"].as_array().is_some_and(|it| !it.is_empty())), "{full}");
}
