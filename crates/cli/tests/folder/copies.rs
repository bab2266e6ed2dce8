//! `trackside backup`, `restore` and `archive`.

use crate::ground::{CliProject, trackside};

#[test]
fn a_backup_is_a_project_and_can_be_restored() {
    let ground = CliProject::with_scenario("backup", "Lights go on");
    let (copy, back) = (ground.path("copy"), ground.path("back"));
    let told = ground.ask(&["backup", &copy, "--json"]);
    assert_eq!(told.says(0, &[]).json()["end"]["seq"], 8);
    trackside(&["audit", "verify", "--data", &copy]).says(0, &["intact  8 entries"]);
    trackside(&["restore", &copy, "--data", &back]).says(0, &["restored", "ends at 8:"]);
    trackside(&["audit", "verify", "--data", &back]).says(0, &["intact  8 entries"]);
    trackside(&["validate", "--data", &back]).says(0, &["3 entities checked"]);
}

#[test]
fn artifacts_in_a_backup_are_checked_against_their_hash() {
    let ground = CliProject::with_scenario("backup-artifacts", "Lights go on");
    // An arbitrary hash, and the hash of empty content.
    let ids = [
        "d9cbd6c6a1a0d0e9c7b2f1d1e0d3a0f3a9d0a1b2c3d4e5f60718293a4b5c6d7e",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ];
    let put = |data: &str, id: &str, content: &str| {
        let folder = ground.root.join(data).join("artifacts").join(&id[..2]);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(id), content).unwrap();
    };
    put("data", ids[1], "");
    let (copy, back) = (ground.path("copy"), ground.path("back"));
    ground.ask(&["backup", &copy]).says(0, &["with 1 artifact"]);
    assert!(ground.root.join("copy/artifacts/e3").join(ids[1]).is_file());
    let told = trackside(&["restore", &copy, "--data", &back, "--json"]);
    assert_eq!(told.says(0, &[]).json()["artifacts"], 1);
    assert!(ground.root.join("back/artifacts/e3").join(ids[1]).is_file());

    // An artifact with wrong content is reported and not copied.
    put("data", ids[0], "something else");
    let other = ground.path("other");
    ground.ask(&["backup", &other]).says(1, &["with 1 artifact", "not copied", ids[0]]);
    assert!(!ground.root.join("other/artifacts/d9").exists());
    put("copy", ids[0], "something else");
    let nowhere = ground.path("nowhere");
    trackside(&["restore", &copy, "--data", &nowhere]).says(1, &["does not match its hash", ids[0]]);
    assert!(!ground.root.join("nowhere").exists(), "nothing was made");
}

#[test]
fn a_backup_with_increments_is_restored_to_any_entry() {
    let ground = CliProject::with_scenario("increments", "Lights go on");
    let (copy, back) = (ground.path("copy"), |seq: u64| ground.path(&format!("back-{seq}")));
    ground.ask(&["backup", &copy]).says(0, &["ends at 8:"]);
    ground.ask(&["backup", &copy, "--increment"]).says(0, &["increment added", "ends at 8:"]);
    let redact = ["redact", "small.light/A", "--set", "note=[gone]", "--reason", "it was secret"];
    ground.ask(&redact).says(0, &[]);
    let told = ground.ask(&["backup", &copy, "--increment", "--json"]);
    let end = told.says(0, &[]).json()["end"]["seq"].as_u64().unwrap();
    assert!(end > 8, "{end}");
    trackside(&["backup", "list", &copy]).says(0, &[&format!("entries 1 to {end}, 1 increment after 8")]);
    let listed = trackside(&["backup", "list", &ground.path(""), "--json"]).says(0, &[]).json();
    assert_eq!(listed["backups"][0]["end"]["seq"], end, "{listed:#}");
    // Without an entry, all of it; the redacted value is gone, although the complete copy has it.
    let whole = back(end);
    trackside(&["restore", &copy, "--data", &whole]).says(0, &[&format!("ends at {end}:")]);
    trackside(&["audit", "verify", "--data", &whole]).says(0, &["intact", "dropped"]);
    let journal = std::fs::read(ground.root.join(format!("back-{end}/journal.db"))).unwrap();
    assert!(!journal.windows(16).any(|it| it == b"the secret place"), "the value is still in the file");
    // To an entry of the copy: both lights are still on.
    let early = back(5);
    trackside(&["restore", &copy, "--to-seq", "5", "--data", &early]).says(0, &["ends at 5:"]);
    trackside(&["audit", "verify", "--data", &early]).says(0, &["intact  5 entries"]);
    let state = "SELECT count(*) FROM entities WHERE state = 'ON'";
    let count = |folder: &str| -> i64 {
        let file = rusqlite::Connection::open(ground.root.join(folder).join("state.db")).unwrap();
        file.query_row(state, [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("back-5"), count(&format!("back-{end}"))), (2, 1));
    assert!(!ground.root.join("back-5.restoring").exists());
    let nowhere = ground.path("nowhere");
    let why = [&*format!("has the entries 1 to {end}"), "Choose one of them"];
    trackside(&["restore", &copy, "--to-seq", "99", "--data", &nowhere]).says(1, &why);
    assert!(!ground.root.join("nowhere").exists() && !ground.root.join("nowhere.restoring").exists());
    // Effects get greater fences than the original can have handed out.
    let begun = |folder: &str| -> i64 {
        let file = rusqlite::Connection::open(ground.root.join(folder).join("journal.db")).unwrap();
        file.query_row("SELECT value FROM meta WHERE key = 'begun'", [], |row| row.get(0)).unwrap()
    };
    assert!(begun("back-5") >= begun("data") + 900, "{} {}", begun("back-5"), begun("data"));
    // A damaged increment is refused before anything is written.
    let file = std::fs::read_dir(ground.root.join("copy/increments")).unwrap().map(|it| it.unwrap().path());
    let file = file.into_iter().find(|it| it.extension().is_some_and(|it| it == "jsonl")).unwrap();
    let text = std::fs::read_to_string(&file).unwrap().replace("it was secret", "it was boring");
    std::fs::write(&file, text).unwrap();
    trackside(&["restore", &copy, "--data", &nowhere]).says(3, &["entry 9 was changed"]);
    assert!(!ground.root.join("nowhere").exists());
}

#[test]
fn a_backup_of_every_earlier_format_is_restored() {
    let ground = CliProject::new("backup-earlier");
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/fixtures");
    let folders = |it: &std::path::Path| -> Vec<_> {
        std::fs::read_dir(it).unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_dir()).collect()
    };
    let all: Vec<_> = folders(&fixtures).iter().flat_map(|it| folders(it)).collect();
    assert!(all.len() >= 11, "{all:?}");
    for (nth, fixture) in all.iter().enumerate() {
        let (from, back) = (fixture.to_str().unwrap(), ground.path(&format!("back-{nth}")));
        let before = std::fs::read(fixture.join("journal.db")).unwrap();
        trackside(&["restore", from, "--data", &back]).says(0, &["restored", "verified"]);
        trackside(&["audit", "verify", "--data", &back]).says(0, &["intact"]);
        assert_eq!(before, std::fs::read(fixture.join("journal.db")).unwrap(), "the backup does not change");
        assert!(!ground.root.join(format!("back-{nth}.upgrading")).exists());
    }
}

#[test]
fn restore_overwrites_nothing_and_refuses_a_damaged_backup() {
    let ground = CliProject::with_scenario("backup-refused", "Lights go on");
    let copy = ground.path("copy");
    ground.ask(&["backup", &copy]).says(0, &["ends at 8:"]);
    ground.ask(&["backup", &copy]).says(2, &["is not empty", "Name another folder"]);
    ground.ask(&["restore", &copy]).says(2, &["is not empty", "Name another folder"]);
    ground.ask(&["audit", "verify"]).says(0, &["intact"]);

    let broken = rusqlite::Connection::open(ground.root.join("copy/journal.db")).unwrap();
    broken.execute_batch("PRAGMA journal_mode = DELETE; DELETE FROM journal WHERE seq = 4").unwrap();
    drop(broken);
    let nowhere = ground.path("nowhere");
    trackside(&["restore", &copy, "--data", &nowhere])
        .says(3, &["copy: ", "entry 5 comes after 3", "use another backup"]);
    assert!(!ground.root.join("nowhere").exists(), "nothing was made");
    trackside(&["restore", &ground.path("no-backup"), "--data", &nowhere])
        .says(3, &["no journal.db in it", "Name a folder written by trackside backup"]);
}

#[test]
fn a_folder_with_an_owner_is_left_alone() {
    let ground = CliProject::with_scenario("backup-taken", "Lights go on");
    let _lock = ground.lock_file();
    let copy = ground.path("copy");
    let words = ["is in use by a server (process 1)", "Stop that process first"];
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
fn archived_entries_are_still_verified_and_backed_up() {
    let ground = CliProject::with_scenario("archive", "Lights go on");
    ground.ask(&["archive", "--older-than", "soon"]).says(2, &["write a span such as 30d"]);
    ground.ask(&["archive", "--older-than", "36500d"]).says(0, &["nothing to archive"]);
    let told = ground.ask(&["archive", "--older-than", "0s", "--json"]);
    let json = told.says(0, &[]).json();
    assert_eq!((&json["files"][0]["first"], &json["files"][0]["last"]), (&1.into(), &7.into()), "{json:#}");
    assert_eq!(ground.number("journal.db", "SELECT count(*) FROM journal"), 1);
    ground.ask(&["audit", "verify"]).says(0, &["intact  8 entries, 1 file of the archive among them"]);
    ground.ask(&["doctor"]).says(0, &["of which 7 are archived"]);

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
fn projections_are_rebuilt_from_archive_and_journal() {
    let ground = CliProject::with_scenario("archive-rebuild", "Lights go on");
    // Two archive files, and a journal that continues after them.
    ground.ask(&["archive", "--older-than", "0s"]).says(0, &["7 entries (1 to 7)"]);
    let redact = ["redact", "small.light/A", "--set", "watts:=60", "--reason", "why not"];
    let tried = ground.ask(&[&redact[..], &["--dry-run"]].concat());
    tried.says(0, &["would erase the values of", "watts would be 60", "nothing was changed"]);
    let tried = ground.ask(&[&redact[..], &["--dry-run", "--json"]].concat()).json();
    assert_eq!((&tried["dryRun"], tried.get("seq")), (&serde_json::json!(true), None));
    ground.ask(&redact).says(0, &["erased the values of", "watts is now 60"]);
    ground.ask(&["archive", "--older-than", "0s"]).says(0, &["(8 to "]);
    let rows = ground.rows("state.db");
    assert!(rows.iter().any(|it| it.starts_with("entity ") && it.contains("hall")), "{rows:#?}");
    ground.ask(&["doctor", "--rebuild"]).says(0, &["rebuilt from the archive and the journal", ", 0 behind"]);
    assert_eq!(ground.rows("state.db"), rows);

    // Missing: every command that needs it rebuilds it.
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        std::fs::remove_file(ground.data().join(file)).ok();
    }
    ground.ask(&["doctor"]).says(3, &["Rebuild it with: trackside doctor --rebuild"]);
    ground.ask(&["validate"]).says(0, &["3 entities checked"]);
    assert_eq!(ground.rows("state.db"), rows);

    // Damaged: moved aside and rebuilt.
    std::fs::write(ground.data().join("state.db"), "no database".repeat(1_000)).unwrap();
    let aside = ["state.db was damaged", "the damaged file is now", "state.db.damaged-1", "check the disk"];
    ground.ask(&["validate"]).says(0, &["3 entities checked"]).says(0, &aside);
    assert_eq!(ground.rows("state.db"), rows);
    assert!(ground.data().join("state.db.damaged-1").is_file());
    let told = ground.ask(&["validate"]);
    assert!(!told.messages.contains("damaged"), "once: {told:?}");
    ground.ask(&["audit", "verify"]).says(0, &["intact", "2 files of the archive"]);
}

#[test]
fn projections_that_cannot_be_rebuilt_are_kept() {
    let ground = CliProject::with_scenario("archive-rebuild-refused", "Lights go on");
    ground.ask(&["archive", "--older-than", "0s"]).says(0, &["7 entries (1 to 7)"]);
    let file = ground.data().join("archive/journal-000000000001-000000000007.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let rows = ground.rows("state.db");

    std::fs::write(&file, text.replace("hank", "henk")).unwrap();
    ground.ask(&["doctor", "--rebuild"]).says(3, &["000000000007.jsonl is damaged", "entry 1 was changed"]);
    let cut: Vec<&str> = text.lines().take(5).collect();
    std::fs::write(&file, cut.join("\n") + "\n").unwrap();
    ground.ask(&["doctor", "--rebuild"]).says(3, &["it ends at entry 4, not at 7"]);

    std::fs::remove_file(&file).unwrap();
    let words = [
        "entries 1 to 7 are archived, but no file in",
        "archive/journal-000000000001-",
        "back, from where it was moved or from a backup",
    ];
    ground.ask(&["doctor", "--rebuild"]).says(3, &words);
    assert_eq!(ground.rows("state.db"), rows, "nothing was thrown away");

    // If only the journal is left, every call reports that.
    std::fs::rename(ground.data().join("state.db"), ground.data().join("kept")).unwrap();
    for _ in 0..2 {
        ground.ask(&["validate"]).says(3, &words);
    }
    std::fs::write(&file, text).unwrap();
    ground.ask(&["validate"]).says(0, &["3 entities checked"]);
    assert_eq!(ground.rows("state.db"), rows);
}

#[test]
fn a_missing_archive_is_reported() {
    let ground = CliProject::with_scenario("archive-elsewhere", "Lights go on");
    ground.ask(&["archive", "--older-than", "0s"]).says(0, &["7 entries (1 to 7)"]);
    std::fs::rename(ground.data().join("archive"), ground.path("elsewhere")).unwrap();
    ground.ask(&["audit", "verify"]).says(0, &["entries up to 7 are archived", "not verified"]);
    ground.ask(&["doctor"]).says(1, &["entries up to 7 were archived, but some archive files are missing"]);
    ground
        .ask(&["redact", "small.light/A", "--reason", "why not"])
        .says(1, &["was archived and its archive file is missing from", "put it back first"]);
}
