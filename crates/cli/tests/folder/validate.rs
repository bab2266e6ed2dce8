//! `trackside validate`.

use crate::ground::{CliProject, LIGHT};

#[test]
fn a_valid_project_is_reported_as_valid() {
    let ground = CliProject::with_scenario("validate-sound", "Lights go on");
    ground.ask(&["validate"]).says(0, &["3 entities checked: 0 violations new", "0 open"]);
}

#[test]
fn a_violation_is_reported_until_it_is_cleared() {
    let ground = CliProject::with_scenario("validate-broken", "One is too bright");
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
fn every_repair_of_the_sweep_is_reported() {
    for (name, repair, told) in [
        (
            "move",
            "dim: { from: [OFF, ON], to: OFF, by: engine, set: { watts: 40 } }",
            "small.light/BIG by dim",
        ),
        ("fields", "dim: { from: [OFF, ON], by: engine, set: { watts: 40 } }", "small.light/BIG by dim"),
    ] {
        let ground = CliProject::new(&format!("validate-repair-{name}"));
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
fn is_mended(name: &str, sql: &str, mended: u64) -> CliProject {
    let ground = CliProject::with_scenario(name, "Lights go on");
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
fn state_of_all(ground: &CliProject) -> Vec<String> {
    let is_state = |it: &String| ["state_count ", "timer ", "field "].iter().any(|name| it.starts_with(name));
    let mut all: Vec<String> = ground.rows("state.db").into_iter().filter(is_state).collect();
    for id in ["A", "B", "C"] {
        let sql = format!("SELECT instr(body, '\"state\":\"ON\"') > 0 FROM entity WHERE id = '{id}'");
        all.push(format!("{id} {}", ground.number("state.db", &sql)));
    }
    all
}

#[test]
fn a_row_with_a_wrong_value_is_rebuilt() {
    let ground = is_mended("validate-value", "UPDATE entity SET body = replace(body, 'hall', 'cellar')", 1);
    assert_eq!(ground.number("state.db", "SELECT count(*) FROM entity WHERE body LIKE '%cellar%'"), 0);
}

#[test]
fn an_unreadable_row_is_rebuilt_and_blocks_nothing() {
    is_mended("validate-unreadable", "UPDATE entity SET body = '{ \"key' WHERE id = 'A'", 1);
    is_mended("validate-unreadable-timers", "UPDATE entity SET timers = '[[' WHERE id = 'A'", 1);
}

#[test]
fn a_deleted_row_is_rebuilt() {
    is_mended("validate-deleted", "DELETE FROM entity WHERE id = 'B'", 1);
    // Counts that were changed as well do not match their checksum, and the journal is searched.
    let ground = CliProject::with_scenario("validate-deleted-counted", "Lights go on");
    ground.ask(&["validate"]).says(0, &[]);
    ground.tamper("state.db", "DELETE FROM entity WHERE id = 'C'; DELETE FROM state_count;");
    ground.tamper(
        "state.db",
        "INSERT INTO state_count SELECT lifecycle, state, count(*), 0 FROM entity GROUP BY 1, 2",
    );
    ground.ask(&["validate"]).says(0, &["3 records compared with the journal, 1 differed"]);
    ground.ask(&["validate", "--deep"]).says(0, &["3 records compared with the journal, 0 differed"]);
}

#[test]
fn a_row_with_an_unknown_entry_number_is_rebuilt() {
    is_mended("validate-nowhere", "UPDATE entity SET seq = 4711, body = '' WHERE id = 'A'", 1);
}

#[test]
fn wrong_counts_are_recounted() {
    is_mended("validate-counts", "UPDATE state_count SET n = n + 5", 1);
    is_mended("validate-fewer", "UPDATE state_count SET n = 0", 1);
}

#[test]
fn a_state_that_only_the_row_has_is_not_taken_over() {
    let state = "UPDATE name SET text = 'OM' WHERE text = 'ON'";
    let body = "UPDATE entity SET body = replace(body, '\"ON\"', '\"OM\"')";
    let ground = CliProject::with_scenario("validate-om", "Lights go on");
    ground.ask(&["validate"]).says(0, &[]);
    ground.tamper("state.db", &format!("{state}; {body}"));
    // A name that was changed leaves nothing to trust: everything is rebuilt when the folder is opened.
    ground.ask(&["validate"]).says(0, &["0 differed", "0 open"]);
    let moved = "SELECT count(*) FROM entries WHERE event = 'STATE_CORRECTED' AND \"from\" != \"to\"";
    assert_eq!(ground.number("journal.db", moved), 0, "the journal says that it is on, and so it stays");
    ground.ask(&["validate"]).says(0, &["3 records compared with the journal, 0 differed", "0 open"]);
}

#[test]
fn a_lost_timer_row_is_rebuilt() {
    let ground = CliProject::new("validate-clock");
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
fn archived_entries_are_checked_and_missing_ones_are_reported_as_unchecked() {
    let ground = CliProject::with_scenario("validate-archived", "Lights go on");
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
fn due_timers_fire_at_the_start_and_not_during_validation() {
    let ground = CliProject::new("validate-due");
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
