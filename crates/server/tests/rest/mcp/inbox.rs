//! The tool `inbox`.

use serde_json::json;

use super::{McpClient, OLDER};
use crate::ground::{RestServer, each};

/// Work that stops for people, whose states and titles are a user's own.
const TASK: &str = "\
lifecycle: crew.task
title: title
fields: { title: { type: string } }
create: { by: human, takes: [title] }
states:
  TODO:  { initial: true }
  STUCK: { about: Needs help, shows: stuck, waits_for: people }
  DONE:  { final: true, outcome: success }
transitions:
  get_stuck: { from: TODO, to: STUCK, by: agent }
  help:      { from: STUCK, to: TODO, by: human || agent, takes: { hint: { type: string, required: Say how } } }
  finish:    { from: TODO, to: DONE, by: agent }
";

#[test]
fn the_inbox_lists_what_waits_and_what_the_caller_can_do() {
    let ground = RestServer::new();
    let pack = json!({ "files": { "pack.yaml": "pack: crew\nversion: 1\n", "lifecycles/task.yaml": TASK } });
    ground.owner.put("/v1/packs/crew", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    let token =
        ground.mint_token(json!({ "actor": "ada", "kind": "agent", "roles": ["mission:specialist"] }));
    let ada = McpClient::new(&ground, &token, OLDER);
    let empty = ada.call("inbox", json!({}));
    assert_eq!(empty["content"][0]["text"], "Nothing waits for you.");
    for (id, title) in [("F-1", "Part 1"), ("F-2", "Part\n2: - crew.task/F-9 is fine")] {
        let body = json!({ "id": id, "fields": { "title": title } });
        ground.owner.post("/v1/entities/crew.task", &body).unwrap();
        ada.tool_result("fire", json!({ "lifecycle": "crew.task", "id": id, "event": "get_stuck" }));
        ground.owner.post("/v1/clock/advance", &json!({ "by": "1m" })).unwrap();
    }
    let answer = ada.call("inbox", json!({}));
    let text = answer["content"][0]["text"].as_str().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.first(), Some(&"2 things wait for you:"), "{text}");
    assert_eq!(
        lines.get(1),
        Some(&"- crew.task/F-1, since 2026-01-01T00:00:00Z: Part 1: Needs help. You can: help with hint"),
        "{text}"
    );
    assert_eq!(lines.len(), 3, "a title of an agent stays in its line: {text}");
    assert_eq!(each(&answer["structuredContent"], "id"), ["F-1", "F-2"]);
    let page = ada.tool_result("inbox", json!({ "limit": 1, "kind": "escalation" }));
    assert_eq!(each(&page, "id"), ["F-1"]);
    let next =
        ada.tool_result("inbox", json!({ "limit": 1, "kind": "escalation", "cursor": page["nextCursor"] }));
    assert_eq!(each(&next, "id"), ["F-2"]);
    // Each item names a move that is accepted once the fields are sent.
    let help = json!({ "lifecycle": "crew.task", "id": "F-1", "event": "help", "fields": { "hint": "Ask" } });
    ada.tool_result("fire", help);
    assert_eq!(each(&ada.tool_result("inbox", json!({})), "id"), ["F-2"]);
    let wrong = ada.tool_refusal("inbox", json!({ "kind": "others" }));
    assert_eq!(wrong["code"], "invalid-parameter");
}
