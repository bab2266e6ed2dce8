//! Records tampered with in every way, each found and named.

use std::collections::BTreeSet;
use std::sync::Arc;

use trackside_engine::event::{Changes, Entry, Event};
use trackside_engine::fields::Fields;

use super::{Audit, AuditFinding, AuditProblem, Auditor, Dropped, verify};
use crate::conformance::sample::{Press, entries, entry};
use crate::record::digest;
use crate::{Chain, MemoryStore, Record, Store};

/// Twelve entries of two entities.
fn written() -> Vec<Record> {
    Press::default().batch(&entries(12, &["t.thing/A", "t.thing/B"])).records
}

fn audited(records: &[Record]) -> Audit {
    let mut auditor = Auditor::new(Chain::default(), &[]);
    records.iter().for_each(|it| auditor.check(it));
    auditor.finish(None)
}

/// The findings after a change, as text.
fn found(change: impl FnOnce(&mut Vec<Record>)) -> Vec<String> {
    let mut records = written();
    change(&mut records);
    audited(&records).problems.iter().map(ToString::to_string).collect()
}

/// Gives every record the number of its place.
fn renumber(records: &mut [Record]) {
    for (n, it) in records.iter_mut().enumerate() {
        it.seq = n as u64 + 1;
    }
}

/// A forged record that follows another.
fn forged(after: &Record) -> Record {
    let mut chain = Chain { seq: after.seq, hash: after.hash };
    let mut entry = entry(after.seq + 1, "t.thing/A");
    entry.reason = Some(Arc::from("nobody said so"));
    chain.seal(entry, 0).unwrap()
}

#[test]
fn an_untouched_journal_is_clean() {
    let records = written();
    let audit = audited(&records);
    assert!(audit.is_clean(), "{:?}", audit.problems);
    let last = &records[11];
    let wanted = Audit { entries: 12, to: Chain { seq: 12, hash: last.hash }, ..Audit::default() };
    assert_eq!(audit, wanted);
}

#[test]
fn a_changed_header_is_named() {
    let changed = ["entry 5 was changed, or entry 4 before it was replaced"];
    assert_eq!(found(|it| it[4].header = it[4].header.replace("ada", "eve")), changed);
    assert_eq!(found(|it| it[4].header.push(' ')), changed);
    assert_eq!(found(|it| it[4].header.clear()), changed, "nor need it be readable");
    assert_eq!(found(|it| it[4].prev = 1), changed);
    assert_eq!(found(|it| it[4].digest = None), changed);
    assert_eq!(found(|it| it[4].digest = Some(digest("other"))), changed);
    assert_eq!(found(|it| it[4].format = 0).len(), 1);
    // A hash that was changed breaks two links.
    assert_eq!(found(|it| it[4].hash = digest("other")).len(), 2);
    let first = found(|it| it[0].header = it[0].header.replace("ada", "eve"));
    assert_eq!(first, ["entry 1 was changed, or entry 0 before it was replaced"]);
    assert_eq!(found(|it| it[11].header = it[11].header.replace("ada", "eve")).len(), 1);
}

#[test]
fn a_replaced_entry_shows_at_the_next() {
    let replaced = found(|it| it[4] = forged(&it[3]));
    assert_eq!(replaced, ["entry 6 was changed, or entry 5 before it was replaced"]);
}

#[test]
fn a_changed_payload_is_named() {
    let changed = found(|it| it[6].payload = Some(it[6].payload.clone().unwrap().replace("reason", "lie")));
    assert_eq!(changed, ["the payload of entry 7 was changed"]);
    let swapped = found(|it| {
        let payload = it[2].payload.take();
        it[2].payload = std::mem::replace(&mut it[5].payload, payload);
    });
    assert_eq!(swapped, ["the payload of entry 3 was changed", "the payload of entry 6 was changed"]);
    let mut bare = entry(1, "t.thing/A");
    bare.reason = None;
    bare.event = Event::ViolationCleared { rule: "rule".into() };
    let mut records = Press::default().batch(&[bare]).records;
    assert_eq!((records[0].payload.as_ref(), records[0].digest), (None, None));
    records[0].payload = Some("{}".to_owned());
    assert_eq!(audited(&records).problems, [AuditProblem { seq: 1, what: AuditFinding::PayloadAdded }]);
}

#[test]
fn a_removed_entry_is_named_and_the_rest_is_audited() {
    let removed = found(|it| drop(it.remove(4)));
    assert_eq!(removed, ["entry 5 was removed"]);
    let two = found(|it| {
        it[10].header = it[10].header.replace("ada", "eve");
        it.drain(3..6);
        it.remove(0);
    });
    let wanted = [
        "entry 1 was removed",
        "entries 4 to 6 were removed",
        "entry 11 was changed, or entry 10 before it was replaced",
    ];
    assert_eq!(two, wanted);
    // Closing the gap does not hide it.
    let closed = |change: fn(&mut Vec<Record>)| {
        found(|it| {
            change(it);
            renumber(it);
        })
    };
    assert_eq!(closed(|it| drop(it.remove(4))), ["entry 5 was removed"]);
    assert_eq!(closed(|it| drop(it.drain(4..7))), ["entries 5 to 7 were removed"]);
    assert_eq!(closed(|it| drop(it.remove(10))), ["entry 11 was removed"], "next to the last");
    assert_eq!(closed(|it| drop(it.remove(0))), ["entry 1 was removed"]);
}

#[test]
fn an_inserted_entry_is_named() {
    let inserted = |at: usize, what: fn(&[Record], usize) -> Record| {
        found(|it| {
            let new = what(it, at);
            it.insert(at, new);
            renumber(it);
        })
    };
    for made_up in [
        |it: &[Record], at: usize| forged(&it[at - 1]),
        |it: &[Record], _: usize| it[1].clone(),
        |it: &[Record], _: usize| it[9].clone(),
        |it: &[Record], at: usize| Record { hash: digest("?"), ..forged(&it[at - 1]) },
    ] {
        assert_eq!(inserted(4, made_up), ["entry 5 was inserted"]);
        assert_eq!(inserted(11, made_up), ["entry 12 was inserted"]);
    }
    let twice = found(|it| it.insert(4, it[3].clone()));
    assert_eq!(twice, ["entry 4 comes after entry 4"]);
}

#[test]
fn swapped_entries_are_named() {
    for (one, other) in [(4, 5), (4, 7), (0, 11), (10, 11), (2, 4)] {
        let wanted = [format!("entries {} and {} were swapped", one + 1, other + 1)];
        let whole = found(|it| {
            it.swap(one, other);
            renumber(it);
        });
        assert_eq!(whole, wanted);
        // The same with the hashes left in their places.
        let content = found(|it| {
            let hashes: Vec<_> = it.iter().map(|it| it.hash).collect();
            it.swap(one, other);
            renumber(it);
            it.iter_mut().zip(hashes).for_each(|(it, hash)| it.hash = hash);
        });
        assert_eq!(content, wanted);
    }
    let unsorted = found(|it| it.swap(4, 5));
    assert_eq!(unsorted, ["entry 5 was removed", "entry 5 comes after entry 6"]);
}

#[test]
fn a_copy_in_the_place_of_another_is_named() {
    let copied = found(|it| it[6] = Record { seq: 7, ..it[2].clone() });
    assert_eq!(copied, ["entry 7 contains what was written as entry 3"]);
}

#[test]
fn a_noted_end_reveals_a_rewritten_journal() {
    let records = written();
    let note = |it: &Record| Chain { seq: it.seq, hash: it.hash };
    let mut forged: Vec<Entry> = entries(12, &["t.thing/A", "t.thing/B"]);
    forged[3].actor = "eve".into();
    let anew = Press::default().batch(&forged).records;
    assert!(audited(&anew).is_clean(), "the chain itself is intact");
    let against = |known: &[Chain], records: &[Record]| {
        let mut auditor = Auditor::new(Chain::default(), known);
        records.iter().for_each(|it| auditor.check(it));
        auditor.finish(None).problems
    };
    assert_eq!(against(&[note(&records[2]), note(&records[11])], &records), []);
    let found = against(&[note(&records[2]), note(&records[8])], &anew);
    assert_eq!(found, [AuditProblem { seq: 9, what: AuditFinding::NotTheKnown }]);
    let cut = against(&[note(&records[11])], &records[..9]);
    assert_eq!(cut, [AuditProblem { seq: 10, what: AuditFinding::Removed { last: 12 } }]);
}

#[test]
fn a_missing_payload_needs_an_entry_that_explains_it() {
    let mut all = entries(12, &["t.thing/A", "t.thing/B"]);
    all[8].event = Event::Erased { kept: Fields::default() };
    let mut records = Press::default().batch(&all).records;
    // All of A before it was erased.
    for seq in [1, 3, 5, 7] {
        records[seq - 1].payload = None;
    }
    let audit = audited(&records);
    assert_eq!(audit.dropped, [Dropped { by: 9, erased: true, payloads: 4 }]);
    assert_eq!((audit.redacted, audit.problems), (4, vec![]));
    // One of B, which was not, and one of A, later.
    records[3].payload = None;
    records[10].payload = None;
    let audit = audited(&records);
    let told: Vec<String> = audit.problems.iter().map(ToString::to_string).collect();
    assert_eq!(audit.redacted, 6);
    let wanted = [4, 11].map(|it| format!("the payload of entry {it} is missing, and no entry records why"));
    assert_eq!(told, wanted);
}

#[test]
fn a_redaction_explains_only_the_entries_it_names() {
    let mut all = entries(12, &["t.thing/A", "t.thing/B"]);
    all[8].event = Event::Redacted { entries: vec![3, 5, 4], changes: Changes::default() };
    let mut records = Press::default().batch(&all).records;
    for seq in [1, 3, 4, 5] {
        records[seq - 1].payload = None;
    }
    let audit = audited(&records);
    assert_eq!(audit.dropped, [Dropped { by: 9, erased: false, payloads: 2 }]);
    let gone = |seq| AuditProblem { seq, what: AuditFinding::PayloadGone };
    assert_eq!(
        (audit.redacted, audit.problems),
        (4, vec![gone(1), gone(4)]),
        "1 is not named, 4 is another's"
    );
}

#[test]
fn problems_without_end_are_counted() {
    let mut records = Press::default().batch(&entries(3_000, &["t.thing/A"])).records;
    records.iter_mut().for_each(|it| it.payload = Some("{}".to_owned()));
    let audit = audited(&records);
    assert_eq!((audit.entries, audit.problems.len(), audit.more), (3_000, 1_000, 2_000));
}

#[test]
fn a_whole_store_is_audited_from_its_base() {
    let memory = MemoryStore::new();
    let mut journal = memory.journal().unwrap();
    let batch = Press::default().batch(&entries(2_500, &["t.thing/A", "t.thing/B"]));
    journal.append(&batch).unwrap();
    let base = Chain { seq: 100, hash: batch.records[99].hash };
    journal.cut(base, &BTreeSet::new()).unwrap();
    let mut told = Vec::new();
    let mut reader = memory.reader().unwrap();
    let audit = verify(&mut *reader, &[base], &mut |done, all| told.push((done, all))).unwrap();
    assert!(audit.is_clean(), "{:?}", audit.problems);
    assert_eq!((audit.entries, audit.from, audit.to.seq), (2_400, base, 2_500));
    assert_eq!(told, [(1_000, 2_400), (2_000, 2_400), (2_400, 2_400)]);
}
