//! Flipped bits: nothing is decided on a damaged row, and nothing is repaired from a damaged entry.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::{View, apply};
use trackside_random::Random;
use trackside_runtime::{CommandAnswer, Options, PackSource, Runtime, SweepReport};
use trackside_store::{Sqlite, SqliteOptions, audit};

use crate::ground::{accepted, fields, fire, key, manual};
use crate::pages::{is_guarded, seed, some_bit, strata};

const COUNT: &str = "\
lifecycle: tally.count
fields: { n: { type: integer, default: 0 } }
create: { by: human }
states: { OPEN: { initial: true }, DONE: { final: true, outcome: success } }
transitions:
  bump: { from: OPEN, to: OPEN, by: human, set: { n: n + 1 } }
  end: { from: OPEN, to: DONE, by: human }
";

fn pack() -> PackSource {
    let pack = "pack: tally\nversion: 1\nabout: Numbers that grow.\n";
    let files = [("pack.yaml", pack), ("lifecycles/count.yaml", COUNT)];
    PackSource { files: files.map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec() }
}

const IDS: [&str; 3] = ["A", "B", "C"];

/// A folder with three counters at 2, closed.
struct Counters {
    folder: PathBuf,
}

impl Counters {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("trackside-rot-{}-{name}", std::process::id()));
        std::fs::remove_dir_all(&folder).ok();
        let counters = Self { folder };
        let runtime = counters.start().unwrap();
        // One after the other, so that the places of rows in the files are the same in each run.
        runtime.wait_until_written().unwrap();
        for id in IDS {
            let create = Ask::Create { entity: key(&format!("tally.count/{id}")), fields: fields(json!({})) };
            for command in [Command::new(hank(), create), bump(id), bump(id)] {
                accepted(&runtime, command);
                runtime.wait_until_written().unwrap();
            }
        }
        runtime.stop();
        counters
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn start(&self) -> Result<Runtime, String> {
        start(&self.folder)
    }

    /// A copy in which one byte of a file is changed.
    fn with_byte(&self, name: &str, at: usize, change: impl Fn(u8) -> u8) -> Self {
        let copy = Self { folder: self.folder.with_extension("copy") };
        std::fs::remove_dir_all(&copy.folder).ok();
        std::fs::create_dir(&copy.folder).unwrap();
        for file in ["journal.db", "state.db", "journal.end"] {
            std::fs::copy(self.path(file), copy.path(file)).unwrap();
        }
        let mut bytes = std::fs::read(copy.path(name)).unwrap();
        bytes[at] = change(bytes[at]);
        std::fs::write(copy.path(name), bytes).unwrap();
        copy
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

fn start(folder: &Path) -> Result<Runtime, String> {
    let options = SqliteOptions::default();
    let store = Arc::new(Sqlite::open(folder, options).map_err(|it| it.to_string())?);
    let options = Options { sweep_every: None, ..manual() };
    Runtime::start(store, &[pack()], options).map_err(|it| it.to_string())
}

fn hank() -> Actor {
    Actor::new("hank", ActorKind::Human)
}

fn bump(id: &str) -> Command {
    fire(hank(), &format!("tally.count/{id}"), "bump", json!({}))
}

fn sweep(runtime: &Runtime) -> Result<SweepReport, String> {
    runtime.wait_until_written().map_err(|it| it.to_string())?;
    let report = runtime.gateway().unwrap().sweep().unwrap().wait().map_err(|it| it.to_string())?;
    runtime.wait_until_written().map_err(|it| it.to_string())?;
    Ok(report)
}

/// The value of each counter by the journal, if the journal is intact.
fn journalled(runtime: &Runtime) -> Option<BTreeMap<String, i64>> {
    let mut reader = runtime.store().reader().unwrap();
    if !audit::verify(reader.as_mut(), &[], &mut |_, _| {}).is_ok_and(|it| it.is_clean()) {
        return None;
    }
    let mut view = View::default();
    for record in reader.records(0, 10_000).unwrap() {
        apply(&mut view, &record.entry().unwrap());
    }
    let value = |id: &str| view.get(&key(&format!("tally.count/{id}")))?.fields.get("n")?.as_int();
    Some(IDS.iter().filter_map(|id| Some((id.to_string(), value(id)?))).collect())
}

/// The value of a counter as callers see it; none if it is not shown.
fn shown(runtime: &Runtime, id: &str) -> Option<i64> {
    runtime.entity(&key(&format!("tally.count/{id}"))).ok()??.fields.get("n")?.as_int()
}

/// The bits to flip in a file, one after the other. Of every row of this table two, of every other region one. With
/// `TRACKSIDE_ROT`, of every so many bits one: 1 for all of them.
fn some_bits(counters: &Counters, file: &str, table: &str) -> Vec<(usize, u8)> {
    let strata = strata(&counters.path(file));
    let guarded = strata.iter().filter(|it| is_guarded(it.0.1));
    let step = std::env::var("TRACKSIDE_ROT").ok().and_then(|it| it.parse::<usize>().ok());
    if let Some(step) = step {
        let bytes: BTreeSet<usize> = guarded.flat_map(|it| it.1).cloned().flatten().collect();
        let bits = bytes.into_iter().flat_map(|at| (0..8).map(move |bit| (at, 1 << bit)));
        return bits.step_by(step.max(1)).collect();
    }
    let mut random = Random::new(seed());
    let mut all = Vec::new();
    for ((name, _), ranges) in guarded {
        match name == table {
            true => ranges.iter().for_each(|it| {
                all.extend([(); 2].map(|()| some_bit(&mut random, std::slice::from_ref(it))));
            }),
            false => all.push(some_bit(&mut random, ranges)),
        }
    }
    all
}

/// One command for each counter on a damaged `state.db`. The journal must get what it would get without the damage.
fn counts_on(counters: &Counters, what: &str) {
    // A folder that is refused is not decided on.
    let Ok(runtime) = counters.start() else { return };
    let mut wanted: BTreeMap<&str, i64> = IDS.iter().map(|it| (*it, 2)).collect();
    for id in IDS {
        match runtime.gateway().unwrap().ask(bump(id)) {
            Ok(CommandAnswer::Accepted(_)) => *wanted.get_mut(id).unwrap() += 1,
            // Refused as unavailable: the caller tries again.
            Err(_) => {}
            Ok(other) => panic!("{what}: {id} {other:?}"),
        }
    }
    let report = sweep(&runtime);
    for id in IDS {
        if let Ok(CommandAnswer::Accepted(_)) = runtime.gateway().unwrap().ask(bump(id)) {
            *wanted.get_mut(id).unwrap() += 1;
        }
    }
    let found = journalled(&runtime).unwrap();
    for id in IDS {
        assert_eq!(found.get(id), wanted.get(id), "{what}: {report:?}");
        assert!(shown(&runtime, id).is_none_or(|it| it == wanted[id]), "{what}: {id}");
    }
    let unwell = runtime.problem();
    runtime.stop();
    // What could not be repaired is rebuilt at the next start.
    let runtime = counters.start().unwrap();
    for id in IDS {
        assert_eq!(shown(&runtime, id), Some(wanted[id]), "{what}: {id} after a restart, {unwell:?}");
        accepted(&runtime, bump(id));
    }
    runtime.stop();
}

#[test]
fn one_flipped_bit_of_a_value_is_not_decided_on() {
    let counters = Counters::new("value");
    let mut at = 0;
    let copy = loop {
        let bytes = std::fs::read(counters.path("state.db")).unwrap();
        at += 1 + bytes[at + 1..].iter().position(|it| *it == b'2').unwrap();
        let copy = counters.with_byte("state.db", at, |it| it ^ 4);
        // The file is read by others too: it must be valid but for the value.
        let sql = "SELECT count(*) FROM entity WHERE json_extract(body, '$.fields') LIKE '%\"n\"%6%'";
        let changed = Connection::open(copy.path("state.db")).unwrap().query_row(sql, [], |row| row.get(0));
        if changed == Ok(1_i64) {
            break copy;
        }
    };
    counts_on(&copy, "n is 6");
    let runtime = copy.start().unwrap();
    assert_eq!(sweep(&runtime).unwrap().mended, 0);
    assert_eq!(IDS.map(|id| shown(&runtime, id)), [Some(5); 3]);
}

#[test]
fn every_payload_has_a_salt_of_its_own() {
    let counters = Counters::new("salts");
    let runtime = counters.start().unwrap();
    let records = runtime.store().reader().unwrap().records(0, 1_000).unwrap();
    let payloads: Vec<String> = records.into_iter().filter_map(|it| it.payload).collect();
    let salts: BTreeSet<&str> =
        payloads.iter().map(|it| it.strip_prefix("{\"salt\":\"").unwrap().get(..32).unwrap()).collect();
    assert!(payloads.len() > 5 && salts.len() == payloads.len(), "{payloads:?}");
}

#[test]
fn a_row_that_is_no_text_stops_neither_the_sweep_nor_the_others() {
    let counters = Counters::new("utf8");
    let state = Connection::open(counters.path("state.db")).unwrap();
    state.execute("UPDATE entity SET body = CAST(x'ff' AS TEXT) WHERE id = 'B'", []).unwrap();
    drop(state);
    let runtime = counters.start().unwrap();
    let report = sweep(&runtime).unwrap();
    assert_eq!((report.mended, report.compared, report.unchecked), (1, 3, 0), "{report:?}");
    assert_eq!(shown(&runtime, "B"), Some(2));
    assert_eq!(runtime.problem(), None);
}

#[test]
fn no_byte_of_the_projections_is_decided_on_if_it_is_damaged() {
    let counters = Counters::new("state");
    for (at, mask) in some_bits(&counters, "state.db", "entity") {
        counts_on(
            &counters.with_byte("state.db", at, |it| it ^ mask),
            &format!("byte {at}, bit {mask:#04x}"),
        );
        if mask == 1 {
            counts_on(&counters.with_byte("state.db", at, |it| !it), &format!("byte {at}, all bits"));
        }
    }
}

#[test]
fn the_places_of_flipped_bits_are_the_same_in_each_run() {
    let (one, other) = (Counters::new("places-1"), Counters::new("places-2"));
    for file in ["journal.db", "state.db"] {
        assert_eq!(strata(&one.path(file)), strata(&other.path(file)), "{file}");
    }
}

#[test]
fn no_bit_of_the_journal_moves_an_entity_back() {
    let counters = Counters::new("journal");
    for (at, mask) in some_bits(&counters, "journal.db", "journal") {
        let what = format!("byte {at}, bit {mask:#04x}");
        let copy = counters.with_byte("journal.db", at, |it| it ^ mask);
        let Ok(runtime) = copy.start() else { continue };
        let seq = runtime.seq();
        let _ = sweep(&runtime);
        for id in IDS {
            assert!(shown(&runtime, id).is_none_or(|it| it == 2), "{what}: {id}");
        }
        assert_eq!(runtime.seq(), seq, "{what}: something was repaired from a damaged journal");
        if let Some(found) = journalled(&runtime) {
            assert!(found.values().all(|it| *it == 2), "{what}: {found:?}");
        }
        runtime.stop();
    }
}

#[test]
fn a_damaged_entry_rolls_nothing_back_and_is_not_served() {
    let counters = Counters::new("entry");
    // The last entry of A is not among the last few, which are verified at the start.
    let runtime = counters.start().unwrap();
    let last = runtime.entity(&key("tally.count/A")).unwrap().unwrap().seq;
    for _ in 0..20 {
        accepted(&runtime, bump("C"));
    }
    runtime.stop();
    let journal = Connection::open(counters.path("journal.db")).unwrap();
    let changed =
        "UPDATE journal SET header = replace(header, '\"id\":\"A\"', '\"id\":\"Q\"') WHERE seq = ?1";
    assert_eq!(journal.execute(changed, [last as i64]).unwrap(), 1);
    drop(journal);
    let runtime = counters.start().unwrap();
    let report = sweep(&runtime).unwrap();
    assert_eq!((report.forged, report.mended), (1, 0), "{report:?}");
    assert_eq!(shown(&runtime, "A"), Some(2));
    let refused = runtime.reads().unwrap().entry(last).unwrap_err().to_string();
    assert!(refused.contains(&format!("journal entry {last} ")) && refused.contains("doctor"), "{refused}");
    // Without its row, the entity is not rebuilt from the entries before the damaged one.
    runtime.stop();
    let state = Connection::open(counters.path("state.db")).unwrap();
    state.execute("UPDATE entity SET body = '', sum = 0 WHERE id = 'A'", []).unwrap();
    drop(state);
    let runtime = counters.start().unwrap();
    assert!(runtime.gateway().unwrap().ask(bump("A")).is_err());
    let report = sweep(&runtime).unwrap();
    assert_eq!((report.forged, report.mended), (1, 0), "{report:?}");
    assert!(runtime.problem().is_some());
    assert_eq!(shown(&runtime, "A"), None);
}
