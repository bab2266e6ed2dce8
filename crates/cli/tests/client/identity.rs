//! Tokens and sign-in.

use crate::ground::ClientServer;

#[test]
fn tokens_are_made_used_listed_and_revoked() {
    let ground = ClientServer::small("tokens");
    let made = ground.ask(&[
        "token",
        "create",
        "ada",
        "--kind",
        "agent",
        "--lifetime",
        "8h",
        "--note",
        "night shift",
    ]);
    made.says(0, &["valid until 2026-01-01 08:00:00Z"]);
    let token = made.data.trim();
    assert_eq!(made.data.lines().count(), 1, "the token stands alone");
    ground.ask_as(token, &["whoami"]).says(0, &["ada (agent), no role", "valid until 2026-01-01 08:00:00Z"]);
    ground
        .ask_as(token, &["token", "create", "eve", "--kind", "human"])
        .says(4, &["refused: not-permitted", "Only a person with role admin may"]);
    let listed = ground.ask(&["token", "list"]);
    listed.says(0, &["ada", "night shift", "owner"]);
    assert!(!listed.data.contains(token), "secrets are not listed");
    let listed = ground.ask(&["token", "list", "--json"]).json();
    let ada = listed["items"].as_array().unwrap().iter().find(|it| it["actor"] == "ada").unwrap();
    let id = ada["id"].as_str().unwrap();
    ground.ask(&["token", "revoke", id]).says(0, &["is revoked"]);
    ground.ask_as(token, &["whoami"]).says(4, &["refused: unauthorized"]);
    assert!(!ground.ask(&["token", "list"]).data.contains("night shift"));
    ground.ask(&["token", "list", "--ended"]).says(0, &["night shift"]);
    ground.ask(&["token", "create", "ada", "--kind", "agent", "--role", "nobody"]).says(1, &["unknown-role"]);
}

#[test]
fn a_token_ends_when_its_time_is_over() {
    let ground = ClientServer::small("lifetime");
    let made = ground.ask(&["token", "create", "ada", "--kind", "agent", "--lifetime", "1h"]);
    let token = made.data.trim();
    ground.ask_as(token, &["whoami"]).says(0, &[]);
    ground.ask(&["clock", "advance", "61m"]).says(0, &[]);
    ground.ask_as(token, &["whoami"]).says(4, &["unauthorized"]);
}

#[test]
fn a_supervisor_acts_only_for_its_agents() {
    let ground = ClientServer::small("supervisor");
    let made = ground.ask(&["token", "create", "boss", "--kind", "agent", "--for", "coder-*"]);
    let boss = made.says(0, &[]).data.trim().to_owned();
    ground.ask_as(&boss, &["whoami"]).says(0, &["can act for coder-*"]);
    ground.ask(&["new", "small.light", "--id", "A"]).says(0, &[]);
    let fire = ["fire", "small.light/A", "fix", "--for", "coder-1"];
    ground.ask_as(&boss, &fire).says(0, &["work held by coder-1"]);
    ground.ask(&["history", "small.light/A"]).says(0, &["by boss (agent) for coder-1"]);
    let other = ["heartbeat", "small.light/A", "--for", "eve"];
    ground.ask_as(&boss, &other).says(4, &["may not act for eve"]);
}

#[test]
fn a_link_signs_a_person_in() {
    let ground = ClientServer::small("link");
    let link = ground.ask(&["sign-in"]);
    link.says(0, &["/sign-in?link=", "works once, until 2026-01-01 00:15:00Z"]);
    assert_eq!(link.data.lines().count(), 1);
    let ada = ground.token("ada", "agent", &[]);
    ground.ask_as(&ada, &["sign-in"]).says(4, &["not-permitted"]);
}
