//! `trackside audit verify`.

use crate::ground::CliProject;

#[test]
fn an_intact_journal_is_reported_with_its_end() {
    let ground = CliProject::with_scenario("audit-intact", "Lights go on");
    let told = ground.ask(&["audit", "verify", "--json"]);
    let json = told.says(0, &[]).json();
    assert_eq!((&json["intact"], &json["entries"]), (&true.into(), &8.into()), "{json:#}");
    let known = format!("8:{}", json["to"]["hash"].as_str().unwrap());
    ground.ask(&["audit", "verify", "--known", &known]).says(0, &["intact  8 entries", &known]);
    let other = format!("6:{}", "0".repeat(64));
    ground
        .ask(&["audit", "verify", "--known", &other])
        .says(1, &["entry 6 does not match the hash noted for it", "recovery.md"]);
    ground.ask(&["audit", "verify", "--known", "6"]).says(2, &["SEQ:HASH"]);
}

#[test]
fn every_change_of_an_entry_is_reported() {
    for (name, sql, words, code) in [
        (
            "changed",
            "UPDATE journal SET header = replace(header, 'hank', 'henk') WHERE seq = 3",
            "entry 3 was changed",
            "changed",
        ),
        (
            "payload",
            "UPDATE journal SET payload = replace(payload, 'secret', 'hidden') WHERE seq = 1",
            "the payload of entry 1 was changed",
            "payload-changed",
        ),
        (
            "gone",
            "UPDATE journal SET payload = NULL WHERE seq = 1",
            "the payload of entry 1 is missing, and no entry records why",
            "payload-gone",
        ),
        ("removed", "DELETE FROM journal WHERE seq = 4", "entry 4 was removed", "removed"),
        (
            "swapped",
            "UPDATE journal SET seq = -2 WHERE seq = 2; UPDATE journal SET seq = 2 WHERE seq = 5;
             UPDATE journal SET seq = 5 WHERE seq = -2",
            "entries 2 and 5 were swapped",
            "swapped",
        ),
        (
            "inserted",
            "UPDATE journal SET seq = -seq - 1 WHERE seq > 3; UPDATE journal SET seq = -seq WHERE seq < 0;
             INSERT INTO journal SELECT 4, prev, format, json_set(header, '$.seq', 4), payload, digest, hash FROM journal WHERE seq = 3",
            "entry 4 was inserted",
            "inserted",
        ),
    ] {
        let ground = CliProject::with_scenario(&format!("audit-{name}"), "Lights go on");
        ground.tamper("journal.db", sql);
        ground.ask(&["audit", "verify"]).says(1, &[words, "BROKEN", "docs/operating/recovery.md"]);
        let told = ground.ask(&["audit", "verify", "--json"]);
        let json = told.says(1, &[]).json();
        let codes: Vec<&str> =
            json["problems"].as_array().unwrap().iter().map(|it| it["code"].as_str().unwrap()).collect();
        assert!(codes.contains(&code), "{name}: {json:#}");
        assert_eq!(json["intact"], false);
    }
}

#[test]
fn an_entry_with_invalid_text_is_reported() {
    for (name, seq) in [("first", 1), ("last", 8)] {
        let ground = CliProject::with_scenario(&format!("audit-garbled-{name}"), "Lights go on");
        ground.tamper("journal.db", &format!("UPDATE journal SET header = 'nothing' WHERE seq = {seq}"));
        ground.ask(&["audit", "verify"]).says(1, &[&format!("entry {seq} was changed")]);
        ground.tamper("journal.db", &format!("UPDATE journal SET hash = 'x' WHERE seq = {seq}"));
        let words = if seq == 8 { "a value is invalid" } else { "entry 1 cannot be read" };
        ground.ask(&["audit", "verify"]).says(1, &[words, "recovery.md"]);
    }
}

#[test]
fn a_journal_that_cannot_be_opened_is_neither_intact_nor_broken() {
    let ground = CliProject::new("audit-nowhere");
    ground.ask(&["audit", "verify"]).says(3, &["does not exist", "--data"]);
    std::fs::create_dir_all(ground.data()).unwrap();
    ground.ask(&["audit", "verify"]).says(3, &["has no project yet"]);
    std::fs::write(ground.data().join("journal.db"), "no database at all, but long enough to be looked at")
        .unwrap();
    ground.ask(&["audit", "verify"]).says(3, &["is not an SQLite file"]);
}

#[test]
fn the_audit_works_beside_the_owner_of_the_folder() {
    let ground = CliProject::with_scenario("audit-beside", "Lights go on");
    let _lock = ground.lock_file();
    ground.ask(&["audit", "verify"]).says(0, &["intact"]);
}

#[test]
fn altered_rules_are_reported_by_every_command_and_nothing_starts() {
    let ground = CliProject::with_scenario("audit-rules", "Lights go on");
    ground.ask(&["doctor", "--rebuild"]).says(0, &[]);
    ground.ask(&["audit", "verify"]).says(0, &["intact"]);
    // A direct edit of the file: ten times as many watts.
    ground.tamper(
        "journal.db",
        "UPDATE definition SET files = replace(files, 'watts <= 100', 'watts <= 1000')",
    );
    let words = "the rules of small 1 were changed: its text has the digest";
    ground.ask(&["audit", "verify"]).says(1, &[words, "BROKEN", "recovery.md"]);
    let json = ground.ask(&["audit", "verify", "--json"]).json();
    assert_eq!((&json["intact"], &json["problems"][0]["code"]), (&false.into(), &"rules-changed".into()));
    ground.ask(&["doctor"]).says(1, &["small 1, RULES CHANGED", words, "restored"]);
    let json = ground.ask(&["doctor", "--json"]).json();
    assert_eq!(
        (&json["well"], &json["rulesChanged"][0]["pack"]),
        (&false.into(), &"small".into()),
        "{json:#}"
    );
    let position = "SELECT value FROM meta WHERE key = 'position'";
    let backup = ground.path("backup");
    let migrate = ["migrate", "plan", "small.light", "--to", "1"];
    for command in [
        &["validate"][..],
        &["doctor", "--rebuild"],
        &["archive", "--older-than", "0s"],
        &["backup", &backup],
        &["export"],
        &migrate,
        &["up", "--listen", "127.0.0.1:0"],
    ] {
        ground.ask(command).says(
            3,
            &["journal.db: the rules of small 1 were changed", "restore the whole backup", "recovery.md"],
        );
        assert_eq!(ground.number("state.db", position), 8, "{command:?}: nothing is cleared");
        assert!(!std::path::Path::new(&backup).exists(), "{command:?}: nothing is left of it");
    }
    // Altered rules that no longer compile are reported as altered, not as compiler errors.
    ground.tamper("journal.db", "UPDATE definition SET files = replace(files, 'watts <= 1000', 'watts <')");
    ground.ask(&["validate"]).says(3, &["the rules of small 1 were changed"]);
    ground.tamper("journal.db", "UPDATE definition SET files = replace(files, 'watts <', 'watts <= 100')");
    ground.ask(&["validate"]).says(0, &[]);
    ground.ask(&["audit", "verify"]).says(0, &["intact"]);
}
