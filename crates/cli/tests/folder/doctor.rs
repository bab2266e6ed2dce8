//! `trackside doctor`.

use crate::ground::CliProject;

#[test]
fn the_doctor_reports_and_changes_nothing() {
    let ground = CliProject::with_scenario("doctor", "Lights go on");
    let told = ground.ask(&["doctor"]);
    told.says(
        0,
        &["none: the folder is free", "journal.db", "schema 4, pages ok", "8 entries at", "small 1"],
    );
    told.says(0, &["written up to 0, 8 behind", "catches up when the project starts"]);
    let json = ground.ask(&["doctor", "--json"]).json();
    assert_eq!((&json["well"], &json["projections"]["lag"]), (&true.into(), &8.into()), "{json:#}");
    let _lock = ground.lock_file();
    ground.ask(&["doctor"]).says(0, &["a server (process 1)"]);
}

#[test]
fn projections_are_rebuilt_from_the_journal() {
    let ground = CliProject::with_scenario("doctor-rebuild", "Lights go on");
    ground.ask(&["doctor", "--rebuild"]).says(0, &["written up to 8, 0 behind", "do next     nothing"]);
    ground.tamper("state.db", "UPDATE entity SET body = replace(body, 'hall', 'cellar')");
    let hall = "SELECT count(*) FROM entity WHERE body LIKE '%hall%'";
    assert_eq!(ground.number("state.db", hall), 0);
    ground.ask(&["doctor", "--rebuild"]).says(0, &["state.db was rebuilt"]);
    assert_eq!(ground.number("state.db", hall), 1);
    assert_eq!(ground.number("journal.db", "SELECT count(*) FROM journal"), 8, "nothing was added");
}

#[test]
fn damage_is_reported_with_the_next_step() {
    let ground = CliProject::with_scenario("doctor-damaged", "Lights go on");
    ground.ask(&["doctor", "--rebuild"]).says(0, &[]);
    // A page of a table, far behind the pages that are needed to open the file.
    let path = ground.data().join("state.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let place = bytes.windows(4).position(|it| it == b"hall").unwrap();
    let page = place / 4096 * 4096;
    bytes[page..page + 64].fill(0xFF);
    std::fs::write(&path, bytes).unwrap();
    let told = ground.ask(&["doctor"]);
    assert!(told.code == 1 || told.code == 3, "{told:#?}");
    let all = told.data + &told.messages;
    assert!(all.contains("doctor --rebuild") || all.contains("recovery.md"), "{all}");
}

#[test]
fn a_truncated_journal_is_reported_by_every_command_and_nothing_is_deleted() {
    let ground = CliProject::with_scenario("doctor-cut", "Lights go on");
    ground.ask(&["doctor", "--rebuild"]).says(0, &[]);
    ground.tamper("journal.db", "DELETE FROM journal WHERE seq > 7");
    let words = "it ends at 7, but state.db was built from 8 entries";
    ground.ask(&["doctor"]).says(1, &["written up to 8, BEYOND", words, "journal.db-wal back"]);
    assert_eq!(ground.ask(&["doctor", "--json"]).json()["well"], false);
    ground.ask(&["audit", "verify"]).says(1, &["BROKEN", "entry 8 is missing"]);
    for command in [vec!["validate"], vec!["doctor", "--rebuild"], vec!["archive", "--older-than", "0s"]] {
        ground.ask(&command).says(3, &["journal.db is damaged", words, "restore a backup"]);
    }
    assert_eq!(ground.number("state.db", "SELECT value FROM meta WHERE key = 'position'"), 8);
    // To accept the loss, delete the note of the end and move the file away.
    std::fs::remove_file(ground.data().join("journal.end")).unwrap();
    std::fs::rename(ground.data().join("state.db"), ground.root.join("state.db")).unwrap();
    ground.ask(&["validate"]).says(0, &[]);
    ground.ask(&["doctor"]).says(0, &["7 entries at", "written up to 7, 0 behind"]);
}
