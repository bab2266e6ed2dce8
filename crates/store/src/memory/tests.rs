//! Crashes and faults. The rules for every store are in the conformance suite.

use std::sync::{Arc, Mutex};

use trackside_engine::key::EntityKey;

use super::{Call, Faults, MemoryStore, StoreFault};
use crate::Store;
use crate::conformance::sample::{Press, entries, entry, projection, row};

#[test]
fn after_a_crash_the_old_process_can_do_nothing() {
    let before = MemoryStore::new();
    let (mut journal, mut projector) = (before.journal().unwrap(), before.projector().unwrap());
    let mut reader = before.reader().unwrap();
    let mut press = Press::default();
    journal.append(&press.batch(&entries(2, &["t.thing/A"]))).unwrap();
    let after = before.reopen();
    journal.append(&press.batch(&[entry(3, "t.thing/A")])).unwrap_err();
    projector.project(&projection(2, Vec::new())).unwrap_err();
    reader.head().unwrap_err();
    assert!(before.reader().is_err() && before.journal().is_err());
    let mut journal_after = after.journal().unwrap();
    // Dropping old handles does not free those of the new process.
    drop((journal, projector));
    assert!(after.journal().is_err());
    assert_eq!(journal_after.head().unwrap().chain.seq, 2);
}

#[test]
fn an_error_before_writes_nothing_and_one_after_writes_all() {
    let next: Arc<Mutex<Option<StoreFault>>> = Arc::default();
    let decided = next.clone();
    let memory = MemoryStore::with_faults(move |call: Call| match call {
        Call::Append(_) | Call::Project(_) => decided.lock().unwrap().take(),
        _ => None,
    });
    let (mut journal, mut projector) = (memory.journal().unwrap(), memory.projector().unwrap());
    let batch = Press::default().batch(&entries(2, &["t.thing/A"]));
    let set = |fault| *next.lock().unwrap() = Some(fault);
    set(StoreFault::Before);
    journal.append(&batch).unwrap_err();
    assert_eq!(journal.head().unwrap().chain.seq, 0);
    set(StoreFault::After);
    journal.append(&batch).unwrap_err();
    assert_eq!(journal.head().unwrap().chain.seq, 2, "it is written in spite of the error");
    set(StoreFault::Before);
    projector.project(&projection(1, Vec::new())).unwrap_err();
    assert_eq!(projector.position().unwrap(), 0);
    set(StoreFault::After);
    projector.project(&projection(1, Vec::new())).unwrap_err();
    assert_eq!(projector.position().unwrap(), 1);
}

/// Loses the last writes, this many.
struct Loses(usize);

impl Faults for Loses {
    fn on(&mut self, _: Call) -> Option<StoreFault> {
        None
    }

    fn lost(&mut self, unsaved: usize) -> usize {
        self.0.min(unsaved)
    }
}

#[test]
fn a_crash_takes_back_the_last_projections_and_no_record() {
    let memory = MemoryStore::with_faults(Loses(2));
    let mut press = Press::default();
    memory.journal().unwrap().append(&press.batch(&entries(9, &["t.thing/A"]))).unwrap();
    let mut projector = memory.projector().unwrap();
    for seq in 1..=5 {
        projector.project(&projection(seq, vec![row(&format!("t.thing/{seq}"), "OPEN")])).unwrap();
    }
    let memory = memory.reopen();
    let mut reader = memory.reader().unwrap();
    assert_eq!((reader.position().unwrap(), reader.head().unwrap().chain.seq), (3, 9));
    let mut there = |id| reader.entity(&EntityKey::new("t.thing", id)).unwrap().is_some();
    assert!(there("3") && !there("4"));
    // Checkpointed writes are durable.
    let mut projector = memory.projector().unwrap();
    projector.project(&projection(7, Vec::new())).unwrap();
    assert!(projector.tidy().unwrap());
    projector.project(&projection(8, Vec::new())).unwrap();
    assert_eq!(memory.reopen().reader().unwrap().position().unwrap(), 7);
}
