//! `doctor` and a start agree: a folder that a start refuses is refused by the examination, for the same file, and the
//! other way round.

use std::collections::BTreeMap;
use std::path::Path;

use trackside_random::Random;
use trackside_store::Sqlite;

use crate::pages::{seed, some_bit, strata};
use crate::rot_rows::Depot;

/// What happens to a folder.
type Damage<'a> = Box<dyn Fn(&Path) + Sync + 'a>;

/// Changes of `journal.db`, as a foreign program makes them.
const CHANGES: &[(&str, &str)] = &[
    ("a later schema", "UPDATE meta SET value = 99 WHERE key = 'schema'"),
    ("no schema", "DELETE FROM meta WHERE key = 'schema'"),
    ("a later format", "UPDATE journal SET format = 99 WHERE seq = (SELECT max(seq) FROM journal)"),
    ("a later format of an older entry", "UPDATE journal SET format = 99 WHERE seq = 3"),
    ("an unknown kind", "UPDATE journal SET header = replace(header, 'Corrected', 'Invented')"),
    ("another actor", "UPDATE journal SET header = replace(header, 'hank', 'tank') WHERE seq = 4"),
    ("another payload", "UPDATE journal SET payload = replace(payload, 't-1', 't-7')"),
    ("a dropped payload", "UPDATE journal SET payload = NULL WHERE seq = 4"),
    ("a deleted entry", "DELETE FROM journal WHERE seq = 4"),
    ("a deleted end", "DELETE FROM journal WHERE seq > 6"),
    ("no entries", "DELETE FROM journal"),
    ("another hash", "UPDATE journal SET hash = zeroblob(32) WHERE seq = 5"),
    ("another text of a pack", "UPDATE definition SET files = replace(files, 'depot.box', 'depot.fox')"),
    ("no text of a pack", "DELETE FROM definition"),
    ("a text that is no list", "UPDATE definition SET files = '{'"),
    ("no installation", "DELETE FROM installed"),
    ("another installation", "UPDATE installed SET header = replace(header, 'depot', 'tepot')"),
    ("fewer starts", "UPDATE meta SET value = 0 WHERE key = 'begun'"),
    ("a base", "INSERT INTO meta (key, value) VALUES ('base_seq', 3)"),
    ("no table of entries", "DROP TABLE journal"),
    ("no table of packs", "DROP TABLE definition"),
];

fn write(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

/// The damages, by their names.
fn damages(base: &Depot) -> BTreeMap<String, Damage<'_>> {
    let mut all: BTreeMap<String, Damage<'_>> = BTreeMap::new();
    for (what, sql) in CHANGES {
        all.insert(
            format!("journal.db: {what}"),
            Box::new(|folder| {
                rusqlite::Connection::open(folder.join("journal.db")).unwrap().execute_batch(sql).unwrap();
            }),
        );
    }
    let mut random = Random::new(seed());
    for file in ["journal.db", "state.db", "journal.end"] {
        all.insert(
            format!("{file}: missing"),
            Box::new(move |folder| std::fs::remove_file(folder.join(file)).unwrap()),
        );
        for part in [0, 1, 2, 3] {
            all.insert(
                format!("{file}: {part} quarters are left"),
                Box::new(move |folder| {
                    write(&folder.join(file), |bytes| bytes.truncate(bytes.len() * part / 4));
                }),
            );
        }
        if file == "journal.end" {
            continue;
        }
        for ((name, region), ranges) in strata(&base.0.join(file)) {
            let (at, mask) = some_bit(&mut random, &ranges);
            all.insert(
                format!("{file}: a bit in {region:?} of {name}, byte {at} bit {mask:#04x}"),
                Box::new(move |folder| write(&folder.join(file), |bytes| bytes[at] ^= mask)),
            );
        }
    }
    all
}

/// What a start says, and what the examination said before it.
fn judged(base: &Depot, number: usize, damage: &Damage<'_>) -> (Result<(), String>, Result<(), String>) {
    let copy = base.copy(&format!("agreement-{number}"));
    damage(&copy.0);
    let examined = Sqlite::examine(&copy.0).map_err(|it| it.to_string());
    let started = copy.try_start().map(|it| it.stop());
    (examined, started)
}

/// Whether it is refused, and for which file.
fn verdict(answer: &Result<(), String>) -> Option<&'static str> {
    let why = answer.as_ref().err()?;
    let files = ["journal.db", "state.db"].into_iter().filter_map(|it| Some((why.find(it)?, it)));
    Some(files.min().map_or("no file", |it| it.1))
}

#[test]
fn the_examination_of_a_damaged_folder_says_what_a_start_says() {
    let base = Depot::filled("agreement");
    let damages: Vec<_> = damages(&base).into_iter().collect();
    assert!(damages.len() >= 60, "{}", damages.len());
    let mut refused = 0;
    let mut differences = Vec::new();
    for (number, (what, damage)) in damages.iter().enumerate() {
        let (examined, started) = judged(&base, number, damage);
        refused += usize::from(started.is_err());
        if verdict(&examined) != verdict(&started) {
            differences.push(format!("{what}:\n  examined: {examined:?}\n  started: {started:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(refused >= 20, "{refused} of {} are refused", damages.len());
}
