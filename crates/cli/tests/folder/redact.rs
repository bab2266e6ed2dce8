//! `trackside redact`.

use crate::ground::{CliProject, LIGHT, holds};

#[test]
fn a_dropped_payload_is_gone_from_every_file_and_the_chain_records_it() {
    let ground = CliProject::with_scenario("redact", "Lights go on");
    ground.ask(&["doctor", "--rebuild"]).says(0, &[]);
    assert!(holds(&ground.data(), "secret place"));
    ground
        .ask(&["redact", "small.light/A", "--set", "watts:=60", "--reason", "it was said in confidence"])
        .says(0, &["of small.light/A: 1", "note is cleared", "recorded as entry"]);
    assert!(!holds(&ground.data(), "secret place"));
    ground.ask(&["audit", "verify"]).says(
        0,
        &["intact", "REDACTED small.light/A by owner at", "it was said in confidence", "1 payload dropped"],
    );
    ground.ask(&["validate", "--deep"]).says(0, &[", 0 differed"]);
}

#[test]
fn a_redacted_field_can_get_a_new_value_and_a_required_one_must() {
    let ground = CliProject::with_scenario("redact-needed", "Lights go on");
    let told = ground.ask(&["redact", "small.light/B", "--entry", "2", "--reason", "private", "--json"]);
    told.says(1, &["refused: cannot-redact", "ON needs note"]);
    assert_eq!(told.json()["code"], "cannot-redact");
    assert!(holds(&ground.data(), "hall"));
    let set = [
        "redact",
        "small.light/B",
        "--entry",
        "2",
        "--set",
        "note=[gone]",
        "--set",
        "watts:=40",
        "--reason",
        "private",
        "--json",
    ];
    let json = ground.ask(&set).says(0, &[]).json();
    assert_eq!(
        (&json["entries"], &json["fields"]["note"]),
        (&serde_json::json!([2]), &"[gone]".into()),
        "{json:#}"
    );
    assert!(!holds(&ground.data(), "hall"));
}

#[test]
fn archived_payloads_are_dropped_too() {
    let ground = CliProject::with_scenario("redact-archived", "Lights go on");
    ground.ask(&["archive", "--older-than", "0s"]).says(0, &["7 entries (1 to 7)"]);
    assert!(holds(&ground.data().join("archive"), "secret place"));
    ground
        .ask(&["redact", "small.light/A", "--set", "watts:=60", "--reason", "in confidence"])
        .says(0, &["note is cleared"]);
    assert!(!holds(&ground.data(), "secret place"));
    ground.ask(&["audit", "verify"]).says(0, &["intact", "REDACTED small.light/A"]);
}

#[test]
fn unknown_entries_and_wrong_arguments_are_reported() {
    let ground = CliProject::with_scenario("redact-wrong", "Lights go on");
    ground.ask(&["redact", "small.light/Z", "--reason", "x"]).says(1, &["refused: unknown-entity"]);
    ground.ask(&["redact", "small.light", "--reason", "x"]).says(2, &["LIFECYCLE/ID"]);
    ground.ask(&["redact", "small.light/A"]).says(2, &["--reason"]);
    ground.ask(&["redact", "small.light/A", "--reason", " "]).says(1, &["A redaction needs a reason"]);
    ground
        .ask(&["redact", "small.light/A", "--entry", "2", "--reason", "x"])
        .says(1, &["Entry 2 does not belong to small.light/A"]);
    ground.ask(&["redact", "small.light/A", "--set", "note", "--reason", "x"]).says(2, &["name=text"]);
    assert_eq!(ground.number("journal.db", "SELECT count(*) FROM journal"), 8, "nothing was written");
}

#[test]
fn a_rule_that_needs_a_cleared_field_is_reported_with_the_field_and_its_entry() {
    let ground = CliProject::new("redact-rule");
    // A field without a default.
    let bare = LIGHT.replace("type: integer, default: 40", "type: integer").replace(
        "takes: [note, watts] }",
        "takes: [note, watts], set: { watts: 'watts == null ? 40 : watts' } }",
    );
    ground.pack("pack", 1, &bare);
    ground.journal("Lights go on");
    ground.ask(&["import", &ground.path("journal.jsonl"), "--packs", &ground.path("pack")]).says(0, &[]);
    let redact = ["redact", "small.light/A", "--reason", "it was said in confidence"];
    let told = ground.ask(&redact);
    let words = [
        "refused: cannot-redact",
        "- watts: A rule of small.light needs watts, which came with entry 1",
        "say what it becomes, or leave entry 1 out",
        "--set NAME=VALUE",
        "--entry N",
    ];
    told.says(1, &words);
    assert!(!told.messages.contains("- note"), "only the fields that a rule needs are named: {told:?}");
    assert!(holds(&ground.data(), "secret place"), "nothing was changed");
    let set = [redact.as_slice(), &["--set", "watts:=60"]].concat();
    ground.ask(&set).says(0, &["note is cleared"]);
    assert!(!holds(&ground.data(), "secret place"));
}

#[test]
fn a_redacted_field_returns_to_its_default() {
    let ground = CliProject::with_scenario("redact-default", "Lights go on");
    let redact = ["redact", "small.light/A", "--reason", "it was said in confidence"];
    ground.ask(&redact).says(0, &["note is cleared", "watts is now 40"]);
    assert!(!holds(&ground.data(), "secret place"));
}
