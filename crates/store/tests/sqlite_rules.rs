//! Rules altered by hand in every way: the folder is not opened, and the audit names them.

#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{StoreFolder, entry};
use rusqlite::Connection;
use trackside_engine::event::{Entry, Event};
use trackside_engine::project::project_key;
use trackside_lifecycle::name::Name;
use trackside_store::archive::{Archive, move_out};
use trackside_store::audit::AuditFinding;
use trackside_store::rules::{self, digest_of};
use trackside_store::{Batch, Chain, Definition, Projection, Sqlite, SqliteOptions, Store, StoreError};

fn definition(pack: &str, version: u32) -> Definition {
    let text = |path: &str, text: String| (path.to_owned(), text);
    let files = vec![
        text("lifecycles/thing.yaml", "by: human\n".to_owned()),
        text("pack.yaml", format!("pack: {pack}\nversion: {version}\n")),
    ];
    Definition { pack: Name::new(pack), version, digest: digest_of(&files), files }
}

fn installation(seq: u64, definition: &Definition) -> Entry {
    let Definition { pack, version, digest, .. } = definition.clone();
    let event = Event::PackInstalled { pack, version, digest: digest.into() };
    Entry { entity: project_key().clone(), version: 0, event, reason: None, ..entry(seq, "") }
}

/// Two packs, one of them in two versions; entries 2, 3 and 6 of thirty put them into force.
fn filled_store(name: &str) -> StoreFolder {
    let folder = StoreFolder::new(name);
    let all = [definition("s", 1), definition("t", 1), definition("t", 2)];
    let mut chain = Chain::default();
    let mut records = Vec::new();
    for seq in 1..=30 {
        let written = match seq {
            2 => installation(2, &all[0]),
            3 => installation(3, &all[1]),
            6 => installation(6, &all[2]),
            _ => entry(seq, "words"),
        };
        records.push(chain.seal(written, 0).unwrap());
    }
    let store = open(&folder).unwrap();
    store.journal().unwrap().append(&Batch { records, definitions: all.to_vec() }).unwrap();
    store.projector().unwrap().project(&Projection { position: 30, ..Projection::default() }).unwrap();
    drop(store);
    folder
}

fn open(folder: &StoreFolder) -> Result<Sqlite, StoreError> {
    Sqlite::open(folder.path(), SqliteOptions::default())
}

fn tamper(folder: &StoreFolder, sql: &str) {
    Connection::open(folder.path().join("journal.db")).unwrap().execute_batch(sql).unwrap();
}

/// Archives the first entries, this many.
fn archive(folder: &StoreFolder, entries: i64) {
    let store = open(folder).unwrap();
    let (mut reader, mut journal) = (store.reader().unwrap(), store.journal().unwrap());
    let before = trackside_lifecycle::time::Timestamp(entries * 1_000 + 1);
    move_out(&mut *reader, &mut *journal, &folder.path().join("archive"), before).unwrap().unwrap();
}

/// The findings of the audit, by entry.
fn audit_rows(folder: &StoreFolder) -> Vec<(u64, String)> {
    let mut reader = Sqlite::open_to_read(folder.path(), SqliteOptions::default()).unwrap();
    let archive = Archive::of(folder.path()).unwrap();
    let audit = archive.verify(reader.as_mut(), &[], &mut |_, _| {}).unwrap();
    let rules = audit.problems.into_iter().filter(|it| matches!(it.what, AuditFinding::RulesChanged(_)));
    rules.map(|it| (it.seq, it.to_string())).collect()
}

const REWRITTEN: &str =
    "UPDATE definition SET files = replace(files, 'human', 'agent') WHERE pack = 't' AND version = 1";

#[test]
fn an_untouched_folder_opens_and_is_clean() {
    let folder = filled_store("rules-clean");
    open(&folder).unwrap();
    assert_eq!(audit_rows(&folder), []);
    archive(&folder, 4);
    open(&folder).unwrap();
    assert_eq!(audit_rows(&folder), []);
    // The file may be elsewhere.
    std::fs::rename(folder.path().join("archive"), folder.path().join("elsewhere")).unwrap();
    open(&folder).unwrap();
    assert_eq!(audit_rows(&folder), []);
}

#[test]
fn installations_deleted_beside_the_journal_are_found_in_it() {
    let lost = "DELETE FROM installed WHERE seq IN (2, 6)";
    let folder = filled_store("rules-lost");
    tamper(&folder, lost);
    let mut reader = Sqlite::open_to_read(folder.path(), SqliteOptions::default()).unwrap();
    assert_eq!(rules::find_changed(reader.as_mut()).unwrap(), [], "nothing was changed");
    drop(reader);
    let copy = StoreFolder::new("rules-lost-copy");
    let store = open(&folder).unwrap();
    let kept = store.reader().unwrap().installed().unwrap();
    assert_eq!(kept.iter().map(|it| it.record.seq).collect::<Vec<_>>(), [2, 3, 6]);
    store.backup(copy.path(), &mut |_, _| {}).unwrap();
    drop(store);
    assert_eq!(audit_rows(&folder), []);
    archive(&folder, 4);
    tamper(&folder, lost);
    open(&folder).unwrap();
    assert_eq!(audit_rows(&folder), []);
}

#[test]
fn a_version_whose_text_and_entry_were_deleted_is_missed_at_opening() {
    let gone = "DELETE FROM installed WHERE seq = 6; DELETE FROM definition WHERE version = 2";
    let folder = filled_store("rules-gone");
    open(&folder).unwrap();
    tamper(&folder, gone);
    for _ in 0..2 {
        let refused = open(&folder).unwrap_err().to_string();
        assert!(refused.contains("entry 6 installed it, but its text is missing"), "{refused}");
    }
    // It was archived, and the file is missing: the loss is still detected.
    let folder = filled_store("rules-gone-elsewhere");
    archive(&folder, 10);
    std::fs::rename(folder.path().join("archive"), folder.path().join("elsewhere")).unwrap();
    open(&folder).unwrap();
    tamper(&folder, gone);
    let refused = open(&folder).unwrap_err().to_string();
    assert!(
        refused.contains("3 pack versions were installed, but the entry and the text of 1 are missing"),
        "{refused}"
    );
    std::fs::rename(folder.path().join("elsewhere"), folder.path().join("archive")).unwrap();
    let refused = open(&folder).unwrap_err().to_string();
    assert!(refused.contains("entry 6 installed it, but its text is missing"), "{refused}");
    // A folder of an earlier build does not contain the count until it is opened once.
    let folder = filled_store("rules-uncounted");
    tamper(&folder, "DELETE FROM meta WHERE key = 'installed'");
    open(&folder).unwrap();
    tamper(&folder, gone);
    assert!(open(&folder).is_err());
}

#[test]
fn a_version_installed_twice_with_two_texts_is_reported() {
    let folder = filled_store("rules-twice");
    let gone = "DELETE FROM installed WHERE seq = 6; DELETE FROM definition WHERE version = 2";
    tamper(&folder, &format!("{gone}; DELETE FROM meta WHERE key = 'installed'"));
    let store = open(&folder).unwrap();
    let copy = StoreFolder::new("rules-twice-copy");
    // A backup reads the whole journal, so it notices the change.
    let refused = store.backup(copy.path(), &mut |_, _| {}).unwrap_err().to_string();
    assert!(refused.contains("entry 6 installed it, but its text is missing"), "{refused}");
    let mut other = definition("t", 2);
    other.files[0].1.push_str("# more\n");
    other.digest = digest_of(&other.files);
    let mut chain = store.reader().unwrap().head().unwrap().chain;
    let record = chain.seal(installation(31, &other), 0).unwrap();
    store.journal().unwrap().append(&Batch { records: vec![record], definitions: vec![other] }).unwrap();
    drop(store);
    let found = audit_rows(&folder);
    assert_eq!(
        found.iter().map(|it| it.0).collect::<Vec<_>>(),
        [6, 31],
        "the text is another one, and so is the entry"
    );
    assert!(found[1].1.contains("entry 6 installed the text"), "{found:?}");
}

#[test]
fn altered_rules_are_named_and_the_folder_is_not_opened() {
    let other = definition("t", 3);
    let inserted = format!(
        "INSERT INTO definition VALUES ('t', 3, '{}', '{}')",
        other.digest,
        serde_json::to_string(&other.files).unwrap()
    );
    let with_digest = format!(
        "{REWRITTEN}; UPDATE definition SET digest = '{}' WHERE pack = 't' AND version = 1",
        "0".repeat(64)
    );
    let forged =
        "UPDATE installed SET header = replace(header, '\"version\":1', '\"version\":4') WHERE seq = 3";
    for (n, (sql, seq, words)) in [
        (REWRITTEN, 3, "t 1 were changed: its text has the digest"),
        (&with_digest, 3, "t 1 were changed: its text has the digest"),
        ("UPDATE definition SET digest = '' WHERE pack = 's'", 2, "s 1 were changed: its text is unchanged"),
        (
            "UPDATE definition SET files = 'no list' WHERE pack = 's'",
            0,
            "s 1 were changed: its text cannot be read",
        ),
        (&inserted, 0, "t 3 were changed: no entry in the journal installed it"),
        (
            "DELETE FROM definition WHERE version = 2",
            6,
            "t 2 were changed: entry 6 installed it, but its text is missing",
        ),
        (
            "UPDATE definition SET version = 9 WHERE version = 2",
            6,
            "t 2 were changed: entry 6 installed it, but its text is missing",
        ),
        (forged, 3, "t 4 were changed: the stored copy of the entry"),
        ("UPDATE installed SET header = '{}' WHERE seq = 2", 2, "the stored copy of entry 2"),
    ]
    .into_iter()
    .enumerate()
    {
        for archived in [false, true] {
            let folder = filled_store(&format!("rules-{n}"));
            if archived {
                archive(&folder, 4);
            }
            tamper(&folder, sql);
            let refused = open(&folder).map(|_| ()).unwrap_err();
            assert!(matches!(refused, StoreError::Rules { .. }), "{sql}: {refused}");
            let told = refused.to_string();
            assert!(told.contains("journal.db: the rules of ") && told.contains("recovery.md"), "{told}");
            // The audit finds missing rows because it reads the whole chain.
            if !sql.starts_with("DELETE FROM installed") {
                assert!(told.contains(words), "{sql}: {told}");
                let found = audit_rows(&folder);
                assert!(found.iter().any(|it| it.0 == seq && it.1.contains(words)), "{sql}: {found:?}");
                let mut reader = Sqlite::open_to_read(folder.path(), SqliteOptions::default()).unwrap();
                let looked = rules::find_changed(reader.as_mut()).unwrap();
                assert!(looked.iter().any(|it| it.to_string().contains(words)), "{looked:?}");
            }
        }
    }
}

#[test]
fn an_entry_altered_together_with_its_text_is_reported() {
    let folder = filled_store("rules-entry");
    let digest = digest_of(&[
        ("lifecycles/thing.yaml".to_owned(), "by: agent\n".to_owned()),
        ("pack.yaml".to_owned(), "pack: t\nversion: 1\n".to_owned()),
    ]);
    let of_old = definition("t", 1).digest;
    let and_entry = |table: &str| {
        format!("UPDATE {table} SET header = replace(header, '{of_old}', '{digest}') WHERE seq = 3;")
    };
    let row =
        format!("{REWRITTEN}; UPDATE definition SET digest = '{digest}' WHERE pack = 't' AND version = 1;");
    tamper(&folder, &(row + &and_entry("journal") + &and_entry("installed")));
    let refused = open(&folder).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("t 1 were changed: the stored copy of the entry"), "{refused}");
}

#[test]
fn a_backup_with_changed_rules_is_neither_made_nor_restored() {
    let folder = filled_store("rules-backup");
    let (kept, late, back) =
        (StoreFolder::new("rules-kept"), StoreFolder::new("rules-late"), StoreFolder::new("rules-back"));
    let store = open(&folder).unwrap();
    store.backup(kept.path(), &mut |_, _| {}).unwrap();
    // While a server has it.
    tamper(&folder, REWRITTEN);
    let refused = store.backup(late.path(), &mut |_, _| {}).unwrap_err();
    assert!(matches!(refused, StoreError::Rules { .. }), "{refused}");
    drop(store);
    tamper(&kept, REWRITTEN);
    let refused = Sqlite::restore(kept.path(), back.path()).unwrap_err();
    assert!(matches!(refused, StoreError::Rules { .. }), "{refused}");
    assert!(!back.path().join("journal.db").exists());
}

#[test]
fn a_folder_of_an_earlier_release_reads_installations_from_its_archive() {
    let old = |name: &str| {
        let folder = filled_store(name);
        archive(&folder, 4);
        let earlier = "DROP TABLE installed; ALTER TABLE meta DROP COLUMN sum; UPDATE meta SET value = 1 WHERE key = 'schema'";
        tamper(&folder, earlier);
        folder
    };
    let folder = old("rules-earlier");
    let store = open(&folder).unwrap();
    let known: Vec<u64> =
        store.reader().unwrap().installed().unwrap().iter().map(|it| it.record.seq).collect();
    assert_eq!(known, [2, 3, 6]);
    drop(store);
    std::fs::remove_dir_all(folder.path().join("archive")).unwrap();
    open(&folder).unwrap();
    // It is needed once.
    let folder = old("rules-without");
    std::fs::rename(folder.path().join("archive"), folder.path().join("elsewhere")).unwrap();
    for _ in 0..2 {
        let refused = open(&folder).map(|_| ()).unwrap_err();
        assert!(matches!(refused, StoreError::NotArchived { first: 1, last: 4, .. }), "{refused}");
    }
    std::fs::rename(folder.path().join("elsewhere"), folder.path().join("archive")).unwrap();
    open(&folder).unwrap();
    // Its findings are compared with the texts like the others.
    let folder = old("rules-learned");
    tamper(&folder, REWRITTEN);
    let refused = open(&folder).map(|_| ()).unwrap_err();
    assert!(matches!(refused, StoreError::Rules { .. }), "{refused}");
}
