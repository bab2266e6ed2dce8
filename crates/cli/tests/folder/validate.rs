//! `trackside validate`.

use crate::ground::{Ground, LIGHT};

#[test]
fn a_sound_project_is_told_so() {
    let ground = Ground::filled("validate-sound", "Lights go on");
    ground.ask(&["validate"]).says(0, &["3 entities looked at: 0 violations new", "0 open"]);
}

#[test]
fn what_is_broken_is_told_until_it_is_not() {
    let ground = Ground::filled("validate-broken", "One is too bright");
    let told = ground.ask(&["validate"]);
    told.says(
        1,
        &["error small.light/BIG modest: 200 watts are too many (since 20", "1 open, 1 of them errors"],
    );
    // The second time it is known.
    let json = ground.ask(&["validate", "--json"]).says(1, &[]).json();
    assert_eq!((&json["errors"], &json["sweep"]["found"]), (&1.into(), &0.into()), "{json:#}");
    let first = &json["violations"][0];
    assert_eq!((&first["id"], &first["rule"]), (&"BIG".into(), &"modest".into()), "{json:#}");
    ground.ask(&["audit", "verify"]).says(0, &["intact"]);
}

#[test]
fn a_record_that_is_not_what_the_journal_says_is_made_anew() {
    let ground = Ground::filled("validate-deep", "Lights go on");
    ground.ask(&["validate"]).says(0, &[]);
    ground.tamper("state.db", "UPDATE entity SET body = replace(body, 'hall', 'cellar')");
    let cellar = "SELECT count(*) FROM entity WHERE body LIKE '%cellar%'";
    ground.ask(&["validate"]).says(0, &[]);
    assert_eq!(ground.number("state.db", cellar), 1, "a sweep does not look there");
    ground
        .ask(&["validate", "--deep"])
        .says(0, &["3 records held against the journal, 1 were not what it says"]);
    assert_eq!(ground.number("state.db", cellar), 0);
    ground.ask(&["validate", "--deep"]).says(0, &["3 records held against the journal, 0 were not"]);
}

#[test]
fn what_became_due_happens_when_the_project_is_started_and_not_when_it_is_looked_at() {
    let ground = Ground::new("validate-due");
    let hourly = LIGHT
        .replace("ON: { require", "ON: { deadline: { after: 1h, then: switch_off }, require")
        .replace("to: OFF, by: human", "to: OFF, by: human || engine");
    ground.pack("pack", 1, &hourly);
    ground.journal("Lights go on");
    let (journal, pack) = (ground.path("journal.jsonl"), ground.path("pack"));
    ground.ask(&["import", &journal, "--packs", &pack]).says(0, &[]);
    let entries = || ground.number("journal.db", "SELECT max(seq) FROM journal");
    ground.ask(&["doctor", "--rebuild"]).says(0, &[]);
    ground.ask(&["migrate", "plan", "small.light", "--to", "1"]).says(0, &[]);
    ground.ask(&["archive", "--older-than", "36500d"]).says(0, &[]);
    assert_eq!(entries(), 8, "its light is on, and has been for long");
    ground.ask(&["validate"]).says(0, &[]);
    assert!(entries() > 8, "it went off");
    let json = ground.ask(&["doctor", "--json"]).json();
    assert_eq!(json["projections"]["lag"], 0, "{json:#}");
}
