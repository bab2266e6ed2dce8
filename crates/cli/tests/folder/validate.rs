//! `trackside validate`.

use crate::ground::{Ground, LIGHT};

#[test]
fn a_sound_project_is_told_so() {
    let ground = Ground::filled("validate-sound", "Lights go on");
    ground.ask(&["validate"]).says(0, &["3 entities checked: 0 violations new", "0 open"]);
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
fn what_the_sweep_repairs_is_told_be_it_a_move_or_a_change_of_fields() {
    for (name, repair, told) in [
        (
            "move",
            "dim: { from: [OFF, ON], to: OFF, by: engine, set: { watts: 40 } }",
            "small.light/BIG by dim",
        ),
        ("fields", "dim: { from: [OFF, ON], by: engine, set: { watts: 40 } }", "small.light/BIG by dim"),
    ] {
        let ground = Ground::new(&format!("validate-repair-{name}"));
        let dimmed = LIGHT
            .replace("invariants:", &format!("  {repair}\ninvariants:"))
            .replace("'{watts} watts are too many' }", "'{watts} watts are too many', repair: dim }");
        ground.pack("pack", 1, &dimmed);
        ground.journal("One is too bright");
        let (journal, pack) = (ground.path("journal.jsonl"), ground.path("pack"));
        ground.ask(&["import", &journal, "--packs", &pack]).says(0, &[]);
        ground.ask(&["validate"]).says(0, &["repaired", told, "200 watts are too many", "1 repair; 0 open"]);
        ground.ask(&["validate"]).says(0, &["0 repairs; 0 open"]);
    }
}

/// A tampered row is found and rebuilt, and a second sweep finds nothing.
fn is_mended(name: &str, sql: &str, mended: u64) -> Ground {
    let ground = Ground::filled(name, "Lights go on");
    ground.ask(&["validate"]).says(0, &["3 records compared with the journal, 0 differed"]);
    let before = state_of_all(&ground);
    ground.tamper("state.db", sql);
    let told = format!("{mended} differed and were rebuilt");
    ground.ask(&["validate"]).says(0, &[&told, "0 open"]);
    assert_eq!(state_of_all(&ground), before, "{sql}");
    ground
        .ask(&["validate", "--deep"])
        .says(0, &["3 records compared with the journal, 0 differed", "0 open"]);
    ground.ask(&["audit", "verify"]).says(0, &["intact"]);
    let loud = "SELECT count(*) FROM entries WHERE event = 'STATE_CORRECTED'";
    assert_eq!(ground.number("journal.db", loud), mended as i64, "each is journalled");
    ground
}

/// The counts per state, the clocks and the fields in the tables, and whether each light is on.
fn state_of_all(ground: &Ground) -> Vec<String> {
    let is_state = |it: &String| ["state_count ", "timer ", "field "].iter().any(|name| it.starts_with(name));
    let mut all: Vec<String> = ground.rows("state.db").into_iter().filter(is_state).collect();
    for id in ["A", "B", "C"] {
        let sql = format!("SELECT instr(body, '\"state\":\"ON\"') > 0 FROM entity WHERE id = '{id}'");
        all.push(format!("{id} {}", ground.number("state.db", &sql)));
    }
    all
}

#[test]
fn a_record_with_another_value_is_made_anew() {
    let ground = is_mended("validate-value", "UPDATE entity SET body = replace(body, 'hall', 'cellar')", 1);
    assert_eq!(ground.number("state.db", "SELECT count(*) FROM entity WHERE body LIKE '%cellar%'"), 0);
}

#[test]
fn a_record_that_cannot_be_read_is_made_anew_and_stops_nobody() {
    is_mended("validate-unreadable", "UPDATE entity SET body = '{ \"key' WHERE id = 'A'", 1);
    is_mended("validate-unreadable-timers", "UPDATE entity SET timers = '[[' WHERE id = 'A'", 1);
}

#[test]
fn a_record_that_was_deleted_is_made_anew() {
    is_mended("validate-deleted", "DELETE FROM entity WHERE id = 'B'", 1);
    // If the counts were changed as well, only the journal reveals it.
    let ground = Ground::filled("validate-deleted-counted", "Lights go on");
    ground.ask(&["validate"]).says(0, &[]);
    ground.tamper("state.db", "DELETE FROM entity WHERE id = 'C'; DELETE FROM state_count;");
    ground.tamper(
        "state.db",
        "INSERT INTO state_count SELECT lifecycle, state, count(*) FROM entity GROUP BY 1, 2",
    );
    ground.ask(&["validate"]).says(0, &["2 records compared with the journal, 0 differed"]);
    ground.ask(&["validate", "--deep"]).says(0, &["3 records compared with the journal, 1 differed"]);
    ground.ask(&["validate", "--deep"]).says(0, &["3 records compared with the journal, 0 differed"]);
}

#[test]
fn a_record_whose_number_leads_nowhere_is_made_anew() {
    is_mended("validate-nowhere", "UPDATE entity SET seq = 4711, body = '' WHERE id = 'A'", 1);
}

#[test]
fn wrong_counts_are_counted_anew() {
    is_mended("validate-counts", "UPDATE state_count SET n = n + 5", 1);
    is_mended("validate-fewer", "UPDATE state_count SET n = 0", 1);
}

#[test]
fn a_state_that_only_its_record_has_does_not_move_it() {
    let state = "UPDATE name SET text = 'OM' WHERE text = 'ON'";
    let body = "UPDATE entity SET body = replace(body, '\"ON\"', '\"OM\"')";
    let ground = Ground::filled("validate-om", "Lights go on");
    ground.ask(&["validate"]).says(0, &[]);
    ground.tamper("state.db", &format!("{state}; {body}"));
    ground.ask(&["validate"]).says(0, &["2 differed and were rebuilt", "0 open"]);
    let moved = "SELECT count(*) FROM entries WHERE event = 'STATE_CORRECTED' AND \"from\" != \"to\"";
    assert_eq!(ground.number("journal.db", moved), 0, "the journal says that it is on, and so it stays");
    ground.ask(&["validate"]).says(0, &["3 records compared with the journal, 0 differed", "0 open"]);
}

#[test]
fn a_clock_that_was_lost_runs_again() {
    let ground = Ground::new("validate-clock");
    let yearly = LIGHT
        .replace("ON: { require", "ON: { deadline: { after: 36500d, then: switch_off }, require")
        .replace("to: OFF, by: human", "to: OFF, by: human || engine");
    ground.pack("pack", 1, &yearly);
    ground.journal("Lights go on");
    let (journal, pack) = (ground.path("journal.jsonl"), ground.path("pack"));
    ground.ask(&["import", &journal, "--packs", &pack]).says(0, &[]);
    ground.ask(&["validate"]).says(0, &[]);
    let timers = || ground.number("state.db", "SELECT count(*) FROM timer");
    let there = timers();
    assert!(there > 0);
    ground.tamper("state.db", "DELETE FROM timer");
    ground.ask(&["validate"]).says(0, &["1 differed and were rebuilt"]);
    assert_eq!(timers(), there);
    ground.ask(&["validate"]).says(0, &["0 differed"]);
}

#[test]
fn what_is_archived_is_read_there_and_what_is_not_here_is_said_to_be_unchecked() {
    let ground = Ground::filled("validate-archived", "Lights go on");
    ground.ask(&["archive", "--older-than", "0s"]).says(0, &["7 entries (1 to 7)"]);
    ground.tamper("state.db", "UPDATE entity SET body = replace(body, 'hall', 'cellar')");
    let (here, away) = (ground.data().join("archive"), ground.root.join("away"));
    std::fs::rename(&here, &away).unwrap();
    ground.ask(&["validate"]).says(0, &["0 records compared with the journal", "3 records could not be"]);
    assert_eq!(ground.number("state.db", "SELECT count(*) FROM entity WHERE body LIKE '%cellar%'"), 1);
    std::fs::rename(&away, &here).unwrap();
    ground.ask(&["validate"]).says(0, &["3 records compared with the journal, 1 differed"]);
    ground.ask(&["validate"]).says(0, &["3 records compared with the journal, 0 differed"]);
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
