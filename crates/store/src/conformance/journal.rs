//! The journal contains exactly the appended records, in order.

use std::collections::BTreeSet;

use super::Make;
use super::sample::{Press, definition, entries, entry, installation, key, name, projection, row};
use crate::rules::Installed;
use crate::store::Listing;
use crate::{Batch, Chain, Head, Record, StoreError, rules};

use trackside_lifecycle::time::Timestamp;

pub fn appended_records_are_read_back(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let mut press = Press::default();
    let batch = press.batch(&entries(5, &["t.thing/A", "t.thing/B"]));
    let mut journal = store.journal().unwrap();
    journal.append(&batch).unwrap();
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.records(0, 100).unwrap(), batch.records);
    for (n, record) in batch.records.iter().enumerate() {
        assert_eq!(reader.record(record.seq).unwrap().as_ref(), Some(record));
        let entity = if n % 2 == 0 { "t.thing/A" } else { "t.thing/B" };
        assert_eq!(record.entry().unwrap(), entry(record.seq, entity));
    }
    assert_eq!(reader.record(6).unwrap(), None);
    let head = Head { chain: press.chain, at: Some(Timestamp(5_000)) };
    assert_eq!((reader.head().unwrap(), journal.head().unwrap()), (head, head));
    assert_eq!(reader.base().unwrap(), Chain::default());
}

pub fn a_store_that_is_new_is_empty(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.head().unwrap(), Head::default());
    assert_eq!(store.journal().unwrap().head().unwrap(), Head::default());
    assert_eq!(reader.records(0, 10).unwrap(), []);
    assert_eq!(reader.trail(1, 10).unwrap(), []);
    assert_eq!(reader.definitions().unwrap(), []);
    assert_eq!((reader.position().unwrap(), store.projector().unwrap().position().unwrap()), (0, 0));
    assert_eq!(reader.project().unwrap(), None);
    assert_eq!(reader.entity(&key("t.thing/A")).unwrap(), None);
    assert_eq!(reader.timers(None, 10).unwrap().value, []);
    assert_eq!(reader.list(&Listing { most: 10, ..Listing::default() }).unwrap().value, []);
}

pub fn every_session_gets_a_new_number(make: Make<'_>) {
    let place = make();
    let mut given = Vec::new();
    for _ in 0..3 {
        let store = place.open();
        let mut journal = store.journal().unwrap();
        given.extend([journal.begin().unwrap(), journal.begin().unwrap()]);
        assert_eq!(journal.head().unwrap(), Head::default(), "it is no entry");
    }
    assert!(given.is_sorted_by(|a, b| a < b) && given[0] > 0, "{given:?}");
}

pub fn records_are_read_in_pieces(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let mut press = Press::default();
    let mut journal = store.journal().unwrap();
    let all = entries(10, &["t.thing/A"]);
    for some in all.chunks(3) {
        journal.append(&press.batch(some)).unwrap();
    }
    // An empty batch is no commit.
    journal.append(&Batch::default()).unwrap();
    assert_eq!(journal.head().unwrap().chain, press.chain);
    let mut reader = store.reader().unwrap();
    let mut chain = Chain::default();
    let mut pieces = Vec::new();
    while let some = reader.records(chain.seq, 4).unwrap()
        && !some.is_empty()
    {
        pieces.push(some.len());
        some.iter().for_each(|it| chain.follow(it).unwrap());
    }
    assert_eq!((pieces, chain), (vec![4, 4, 2], press.chain));
    assert_eq!(reader.records(0, 0).unwrap(), []);
    assert_eq!(reader.records(10, 5).unwrap(), []);
}

pub fn a_trail_leads_back_to_the_first_entry_of_an_entity(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let batch = Press::default().batch(&entries(9, &["t.thing/A", "t.thing/B", "t.thing/A"]));
    store.journal().unwrap().append(&batch).unwrap();
    let mut reader = store.reader().unwrap();
    let mut trail =
        |from, most| -> Vec<u64> { reader.trail(from, most).unwrap().iter().map(|it| it.seq).collect() };
    assert_eq!(trail(9, 100), [9, 7, 6, 4, 3, 1]);
    assert_eq!(trail(8, 100), [8, 5, 2]);
    assert_eq!(trail(9, 2), [9, 7]);
    assert_eq!(trail(6, 2), [6, 4]);
    assert_eq!(trail(1, 2), [1]);
    assert!(trail(10, 2).is_empty());
    assert!(trail(9, 0).is_empty());
}

pub fn a_batch_with_a_gap_is_not_appended(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let mut press = Press::default();
    let all = entries(6, &["t.thing/A"]);
    let first = press.batch(&all[..2]);
    let second = press.batch(&all[2..4]);
    let third = press.batch(&all[4..]);
    let mut journal = store.journal().unwrap();
    journal.append(&first).unwrap();
    let head = journal.head().unwrap();
    let mut refused = |batch: &Batch, what: &str| {
        let error = journal.append(batch).expect_err(what);
        assert!(matches!(error, StoreError::NotOurs { .. }), "{what}: {error}");
        assert_eq!(journal.head().unwrap(), head, "{what}");
        assert_eq!(store.reader().unwrap().records(0, 100).unwrap(), first.records, "{what}");
    };
    refused(&third, "something is missing between");
    refused(&first, "it is there already");
    // The same numbers, from a journal with another start.
    let mut other = Press::default();
    other.batch(&entries(2, &["t.thing/Z"]));
    refused(&other.batch(&all[2..4]), "it follows another entry");
    journal.append(&second).unwrap();
    journal.append(&third).unwrap();
    assert_eq!(journal.head().unwrap().chain, press.chain);
}

pub fn a_dropped_payload_leaves_the_chain_whole_and_shows(make: Make<'_>) {
    let place = make();
    let mut press = Press::default();
    let batch = press.batch(&entries(6, &["t.thing/A", "t.thing/B"]));
    {
        let store = place.open();
        let mut journal = store.journal().unwrap();
        journal.append(&batch).unwrap();
        assert_eq!(journal.drop_payloads(&[1, 3, 5]).unwrap(), 3);
        assert_eq!(journal.drop_payloads(&[3, 4, 99]).unwrap(), 1, "one of them had one");
        assert_eq!(journal.head().unwrap().chain, press.chain);
    }
    let store = place.open();
    let records = store.reader().unwrap().records(0, 100).unwrap();
    let mut chain = Chain::default();
    for (now, was) in records.iter().zip(&batch.records) {
        chain.follow(now).unwrap();
        let dropped = [1, 3, 4, 5].contains(&now.seq);
        assert_eq!(now.is_redacted(), dropped, "{}", now.seq);
        assert_eq!((&now.header, now.digest, now.hash), (&was.header, was.digest, was.hash));
        let entry = now.entry().unwrap();
        assert_eq!(entry.reason.is_none(), dropped);
        assert_eq!((entry.seq, &entry.actor), (was.seq, &name("ada")));
    }
    assert_eq!((records.len(), chain), (6, press.chain));
}

pub fn texts_of_packs_come_with_the_commit(make: Make<'_>) {
    let place = make();
    let all = [definition("s", 1), definition("t", 1), definition("t", 2)];
    {
        let store = place.open();
        let mut journal = store.journal().unwrap();
        let mut press = Press::default();
        let records = press.batch(&[entry(1, "t.thing/A"), installation(2, &all[1])]).records;
        journal.append(&Batch { records, definitions: vec![all[1].clone()] }).unwrap();
        let records = press.batch(&[installation(3, &all[2]), installation(4, &all[0])]).records;
        journal.append(&Batch { records, definitions: vec![all[2].clone(), all[0].clone()] }).unwrap();
        // A refused batch stores no texts.
        let records = Press::default().batch(&entries(1, &["t.thing/A"])).records;
        journal.append(&Batch { records, definitions: vec![definition("u", 1)] }).unwrap_err();
    }
    let mut found = place.open().reader().unwrap().definitions().unwrap();
    found.sort_by(|a, b| (&a.pack, a.version).cmp(&(&b.pack, b.version)));
    assert_eq!(found, all);
}

pub fn installations_are_known_after_a_cut(make: Make<'_>) {
    let place = make();
    let all = [definition("s", 1), definition("t", 1), definition("t", 2)];
    let mut press = Press::default();
    let written = [
        installation(1, &all[0]),
        entry(2, "t.thing/A"),
        installation(3, &all[1]),
        installation(4, &all[2]),
        entry(5, "t.thing/A"),
    ];
    let records = press.batch(&written).records;
    let wanted: Vec<Installed> = [0_usize, 2, 3]
        .iter()
        .map(|it| Installed {
            before: it
                .checked_sub(1)
                .and_then(|it| records.get(it))
                .map_or(Chain::default(), |it| Chain { seq: it.seq, hash: it.hash }),
            record: Record { payload: None, ..records[*it].clone() },
        })
        .collect();
    let cut = Chain { seq: 3, hash: records[2].hash };
    {
        let store = place.open();
        let mut journal = store.journal().unwrap();
        journal.append(&Batch { records, definitions: all.to_vec() }).unwrap();
        assert_eq!(store.reader().unwrap().installed().unwrap(), wanted);
        store.projector().unwrap().project(&projection(5, Vec::new())).unwrap();
        journal.cut(cut, &BTreeSet::new()).unwrap();
    }
    let store = place.open();
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.installed().unwrap(), wanted);
    assert_eq!(rules::find_changed(&mut *reader).unwrap(), []);
    let audit = crate::audit::verify(&mut *reader, &[], &mut |_, _| {}).unwrap();
    assert!(audit.is_clean(), "{:?}", audit.problems);
}

pub fn written_data_survives_a_reopen(make: Make<'_>) {
    let place = make();
    let mut press = Press::default();
    let all = entries(4, &["t.thing/A"]);
    let (first, second) = (press.batch(&all[..2]), press.batch(&all[2..]));
    {
        let store = place.open();
        store.journal().unwrap().append(&first).unwrap();
        store.projector().unwrap().project(&projection(2, vec![row("t.thing/A", "OKAY")])).unwrap();
    }
    {
        let store = place.open();
        assert_eq!(store.reader().unwrap().head().unwrap().at, Some(Timestamp(2_000)));
        store.journal().unwrap().append(&second).unwrap();
    }
    let store = place.open();
    let mut reader = store.reader().unwrap();
    let records = [first.records, second.records].concat();
    assert_eq!(reader.records(0, 100).unwrap(), records);
    assert_eq!(reader.head().unwrap(), Head { chain: press.chain, at: Some(Timestamp(4_000)) });
    assert_eq!(reader.position().unwrap(), 2);
    assert_eq!(store.projector().unwrap().position().unwrap(), 2);
    let entity = reader.entity(&key("t.thing/A")).unwrap();
    assert_eq!(entity, Some(row("t.thing/A", "OKAY").entity));
}

pub fn one_appends_and_one_projects(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let journal = store.journal().unwrap();
    assert!(store.journal().is_err(), "there is one end");
    let projector = store.projector().unwrap();
    assert!(store.projector().is_err(), "one writes projections");
    let (_one, _other) = (store.reader().unwrap(), store.reader().unwrap());
    drop((journal, projector));
    assert!(store.journal().is_ok() && store.projector().is_ok(), "after one comes another");
}

pub fn a_reader_sees_later_appends(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.records(0, 10).unwrap().len(), 0);
    let mut press = Press::default();
    let mut journal = store.journal().unwrap();
    let mut projector = store.projector().unwrap();
    for seq in 1..=3 {
        journal.append(&press.batch(&[entry(seq, "t.thing/A")])).unwrap();
        assert_eq!(reader.records(0, 10).unwrap().len() as u64, seq);
        assert_eq!(reader.head().unwrap().chain, press.chain);
        projector.project(&projection(seq, vec![row(&format!("t.thing/{seq}"), "OKAY")])).unwrap();
        assert_eq!(reader.position().unwrap(), seq);
        assert_eq!(reader.states(&name("t.thing")).unwrap().value[&name("OKAY")], seq);
    }
}

pub fn a_journal_that_was_cut_begins_at_its_base(make: Make<'_>) {
    let place = make();
    let mut press = Press::default();
    let batch = press.batch(&entries(7, &["t.thing/A", "t.thing/B"]));
    let base = Chain { seq: 4, hash: batch.records[3].hash };
    {
        let store = place.open();
        let mut journal = store.journal().unwrap();
        journal.append(&batch).unwrap();
        // The cut entries are in the projections.
        store.projector().unwrap().project(&projection(7, Vec::new())).unwrap();
        assert_eq!(journal.cut(base, &BTreeSet::new()).unwrap(), 4);
        assert_eq!(journal.cut(base, &BTreeSet::new()).unwrap(), 0, "a second time there is nothing to cut");
    }
    let store = place.open();
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.base().unwrap(), base);
    assert_eq!(reader.records(0, 100).unwrap(), batch.records[4..]);
    assert_eq!(reader.record(4).unwrap(), None);
    let trail: Vec<u64> = reader.trail(7, 100).unwrap().iter().map(|it| it.seq).collect();
    assert_eq!(trail, [7, 5], "it ends at the base");
    assert_eq!(reader.head().unwrap(), Head { chain: press.chain, at: Some(Timestamp(7_000)) });
    let mut journal = store.journal().unwrap();
    journal.append(&press.batch(&[entry(8, "t.thing/B")])).unwrap();
    let mut chain = base;
    reader.records(base.seq, 100).unwrap().iter().for_each(|it| chain.follow(it).unwrap());
    assert_eq!(chain, press.chain);
}

pub fn staying_records_are_found_by_number_after_a_cut(make: Make<'_>) {
    let place = make();
    let mut press = Press::default();
    let batch = press.batch(&entries(8, &["t.thing/A", "t.thing/B"]));
    let at = |seq: usize| Chain { seq: seq as u64, hash: batch.records[seq - 1].hash };
    {
        let store = place.open();
        let mut journal = store.journal().unwrap();
        journal.append(&batch).unwrap();
        store.projector().unwrap().project(&projection(8, Vec::new())).unwrap();
        assert_eq!(journal.cut(at(3), &BTreeSet::from([2, 5])).unwrap(), 3);
        assert_eq!(journal.cut(at(6), &BTreeSet::from([2, 5])).unwrap(), 3);
        journal.cut(at(2), &BTreeSet::new()).expect_err("it stayed, and is before the base");
    }
    let store = place.open();
    let (mut reader, mut journal) = (store.reader().unwrap(), store.journal().unwrap());
    assert_eq!((reader.base().unwrap(), reader.head().unwrap().chain), (at(6), at(8)));
    assert_eq!(reader.records(0, 9).unwrap(), batch.records[6..]);
    assert_eq!(reader.record(2).unwrap().as_ref(), Some(&batch.records[1]));
    assert_eq!(reader.record(5).unwrap().as_ref(), Some(&batch.records[4]));
    assert_eq!((reader.record(1).unwrap(), reader.record(6).unwrap()), (None, None));
    assert_eq!(reader.stayed(&key("t.thing/A")).unwrap(), [5]);
    assert_eq!(reader.stayed(&key("t.thing/B")).unwrap(), [2]);
    assert_eq!(journal.drop_payloads(&[5]).unwrap(), 1);
    assert!(reader.record(5).unwrap().unwrap().is_redacted());
    assert_eq!(journal.cut(at(6), &BTreeSet::from([5])).unwrap(), 0);
    assert_eq!((reader.record(2).unwrap(), reader.record(5).unwrap().is_some()), (None, true));
}

pub fn a_cut_needs_an_existing_entry_before_the_newest(make: Make<'_>) {
    let place = make();
    let store = place.open();
    let mut press = Press::default();
    let batch = press.batch(&entries(5, &["t.thing/A"]));
    let mut journal = store.journal().unwrap();
    journal.append(&batch).unwrap();
    let at = |seq: u64| Chain { seq, hash: batch.records[seq as usize - 1].hash };
    journal.cut(Chain { seq: 3, hash: at(2).hash }, &BTreeSet::new()).expect_err("another entry is there");
    journal.cut(at(5), &BTreeSet::new()).expect_err("the newest stays");
    journal.cut(Chain { seq: 9, hash: at(5).hash }, &BTreeSet::new()).expect_err("it was never written");
    assert_eq!(store.reader().unwrap().records(0, 100).unwrap(), batch.records);
    assert_eq!(journal.cut(at(2), &BTreeSet::new()).unwrap(), 2);
    journal.cut(at(1), &BTreeSet::new()).expect_err("it is gone already");
    assert_eq!(journal.cut(at(4), &BTreeSet::new()).unwrap(), 2);
    assert_eq!(store.reader().unwrap().base().unwrap(), at(4));
}
