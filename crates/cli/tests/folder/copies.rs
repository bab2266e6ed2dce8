//! `trackside backup`, `restore` and `archive`.

use crate::ground::{Ground, trackside};

#[test]
fn a_backup_is_a_project_and_can_be_put_back() {
    let ground = Ground::filled("backup", "Lights go on");
    let (copy, back) = (ground.path("copy"), ground.path("back"));
    let told = ground.ask(&["backup", &copy, "--json"]);
    assert_eq!(told.says(0, &[]).json()["end"]["seq"], 8);
    trackside(&["audit", "verify", "--data", &copy]).says(0, &["intact  8 entries"]);
    trackside(&["restore", &copy, "--data", &back]).says(0, &["restored", "ends at 8:"]);
    trackside(&["audit", "verify", "--data", &back]).says(0, &["intact  8 entries"]);
    trackside(&["validate", "--data", &back]).says(0, &["3 entities looked at"]);
}

#[test]
fn nothing_is_overwritten_and_nothing_broken_is_put_back() {
    let ground = Ground::filled("backup-refused", "Lights go on");
    let copy = ground.path("copy");
    ground.ask(&["backup", &copy]).says(0, &["ends at 8:"]);
    ground.ask(&["backup", &copy]).says(3, &["there is something in it already"]);
    ground.ask(&["restore", &copy]).says(3, &["there is something in it already"]);
    ground.ask(&["audit", "verify"]).says(0, &["intact"]);

    let broken = rusqlite::Connection::open(ground.root.join("copy/journal.db")).unwrap();
    broken.execute_batch("PRAGMA journal_mode = DELETE; DELETE FROM journal WHERE seq = 4").unwrap();
    drop(broken);
    let nowhere = ground.path("nowhere");
    trackside(&["restore", &copy, "--data", &nowhere]).says(3, &["entry 5 comes after 3"]);
    assert!(!ground.root.join("nowhere").exists(), "nothing was made");
    trackside(&["restore", &ground.path("no-backup"), "--data", &nowhere])
        .says(3, &["there is no such file"]);
}

#[test]
fn a_folder_that_somebody_has_is_left_alone() {
    let ground = Ground::filled("backup-taken", "Lights go on");
    let _lock = ground.taken();
    let copy = ground.path("copy");
    let words = ["is in use by a server (process 1)", "Stop that one first"];
    for args in [
        vec!["backup", &copy],
        vec!["archive", "--older-than", "1d"],
        vec!["validate"],
        vec!["redact", "small.light/A", "--reason", "why not"],
        vec!["migrate", "plan", "small.light", "--to", "2"],
        vec!["migrate", "undo", "small.light", "--version", "2"],
        vec!["doctor", "--rebuild"],
    ] {
        ground.ask(&args).says(3, &words);
    }
}

#[test]
fn old_journal_moves_into_files_and_is_still_verified_and_copied() {
    let ground = Ground::filled("archive", "Lights go on");
    ground.ask(&["archive", "--older-than", "soon"]).says(2, &["write a span such as 30d"]);
    ground.ask(&["archive", "--older-than", "36500d"]).says(0, &["nothing to archive"]);
    let told = ground.ask(&["archive", "--older-than", "0s", "--json"]);
    let json = told.says(0, &[]).json();
    assert_eq!((&json["files"][0]["first"], &json["files"][0]["last"]), (&1.into(), &7.into()), "{json:#}");
    assert_eq!(ground.number("journal.db", "SELECT count(*) FROM journal"), 1);
    ground.ask(&["audit", "verify"]).says(0, &["intact  8 entries, 1 file of the archive among them"]);
    ground.ask(&["doctor"]).says(0, &["of which 7 are archived"]);
    ground.ask(&["doctor", "--rebuild"]).says(1, &["are archived", "Restore a backup"]);

    let (copy, back) = (ground.path("copy"), ground.path("back"));
    ground.ask(&["backup", &copy]).says(0, &[]);
    trackside(&["restore", &copy, "--data", &back]).says(0, &[]);
    trackside(&["audit", "verify", "--data", &back]).says(0, &["intact  8 entries, 1 file"]);

    let file = std::fs::read_dir(ground.root.join("copy/archive")).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("hank", "henk")).unwrap();
    let again = ground.path("again");
    trackside(&["restore", &copy, "--data", &again]).says(1, &["entry 1 was changed"]);
    assert!(!ground.root.join("again").exists(), "nothing was made");
}

#[test]
fn an_archive_that_is_elsewhere_is_missed() {
    let ground = Ground::filled("archive-elsewhere", "Lights go on");
    ground.ask(&["archive", "--older-than", "0s"]).says(0, &["7 entries (1 to 7)"]);
    std::fs::rename(ground.data().join("archive"), ground.path("elsewhere")).unwrap();
    ground.ask(&["audit", "verify"]).says(0, &["entries up to 7 were archived", "not looked at"]);
    ground.ask(&["doctor"]).says(1, &["entries up to 7 were archived and their files are not all here"]);
    ground
        .ask(&["redact", "small.light/A", "--reason", "why not"])
        .says(1, &["was archived and its file is not in", "put it back first"]);
}
