//! Behaviour that only a folder with SQLite files has: owners, files of other releases, errors, positions.

#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::BTreeMap;

use common::{StoreFolder, batch, effect, entity, row, timer};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;
use trackside_store::store::Listing;
use trackside_store::{Chain, GroupChange, Projection, Sqlite, SqliteOptions, Store, StoreError};

fn open(folder: &StoreFolder) -> Sqlite {
    Sqlite::open(folder.path(), SqliteOptions::default()).unwrap()
}

#[test]
fn appended_records_survive_a_reopen() {
    let folder = StoreFolder::new("append");
    let mut chain = Chain::default();
    let first = batch(&mut chain, 3);
    let second = batch(&mut chain, 2);
    {
        let store = open(&folder);
        let mut journal = store.journal().unwrap();
        assert_eq!(journal.head().unwrap().chain, Chain::default());
        journal.append(&first).unwrap();
        journal.append(&second).unwrap();
        assert_eq!(journal.head().unwrap().chain, chain);
    }
    let store = open(&folder);
    let mut reader = store.reader().unwrap();
    let head = reader.head().unwrap();
    assert_eq!((head.chain, head.at), (chain, Some(Timestamp(5_000))));
    let all: Vec<_> = first.records.into_iter().chain(second.records).collect();
    assert_eq!(reader.records(0, 100).unwrap(), all);
    assert_eq!(reader.records(1, 2).unwrap(), all[1..3]);
    assert_eq!(reader.record(4).unwrap().as_ref(), all.get(3));
    assert_eq!(reader.record(9).unwrap(), None);
}

#[test]
fn a_second_owner_learns_who_the_first_is() {
    let folder = StoreFolder::new("lock");
    let options = SqliteOptions { owner: Some("trackside serve".to_owned()), ..SqliteOptions::default() };
    let first = Sqlite::open(folder.path(), options).unwrap();
    let refused = Sqlite::open(folder.path(), SqliteOptions::default()).unwrap_err();
    let words = format!("trackside serve (process {})", std::process::id());
    assert!(matches!(&refused, StoreError::InUse { owner, .. } if *owner == words), "{refused}");
    // Open handles keep the folder locked.
    let reader = first.reader().unwrap();
    drop(first);
    assert!(Sqlite::open(folder.path(), SqliteOptions::default()).is_err());
    drop(reader);
    open(&folder);
}

#[test]
fn a_batch_that_does_not_follow_is_refused() {
    let folder = StoreFolder::new("follow");
    let store = open(&folder);
    let mut journal = store.journal().unwrap();
    let mut chain = Chain::default();
    journal.append(&batch(&mut chain, 2)).unwrap();
    let mut elsewhere = Chain { seq: 5, ..chain };
    let refused = journal.append(&batch(&mut elsewhere, 1)).unwrap_err();
    assert!(matches!(refused, StoreError::NotOurs { found: 2, known: 5 }), "{refused}");
    // After an error nothing is appended until the head is read.
    let next = batch(&mut chain, 1);
    assert!(journal.append(&next).is_err());
    assert_eq!(journal.head().unwrap().chain.seq, 2);
    journal.append(&next).unwrap();
}

#[test]
fn a_journal_written_by_another_process_is_refused() {
    let folder = StoreFolder::new("not-ours");
    let store = open(&folder);
    let mut journal = store.journal().unwrap();
    let mut chain = Chain::default();
    journal.append(&batch(&mut chain, 2)).unwrap();
    let other = rusqlite::Connection::open(folder.path().join("journal.db")).unwrap();
    other.execute("INSERT INTO journal SELECT 3, prev, format, header, payload, digest, hash FROM journal WHERE seq = 2", []).unwrap();
    let refused = journal.append(&batch(&mut chain, 1)).unwrap_err();
    assert!(matches!(refused, StoreError::NotOurs { found: 3, known: 2 }), "{refused}");
}

#[test]
fn one_appends_and_one_projects_at_a_time() {
    let folder = StoreFolder::new("one");
    let store = open(&folder);
    let (journal, projector) = (store.journal().unwrap(), store.projector().unwrap());
    assert!(store.journal().is_err());
    assert!(store.projector().is_err());
    drop((journal, projector));
    store.journal().unwrap();
    store.projector().unwrap();
}

#[test]
fn a_projection_is_found_by_every_index() {
    let folder = StoreFolder::new("project");
    let store = open(&folder);
    let mut projector = store.projector().unwrap();
    let mut reader = store.reader().unwrap();
    let group = GroupKey { of: EntityKey::new("kind.owner", "O-1"), name: Name::new("things") };
    let (open_, done) = (Name::new("open"), Name::new("done"));
    let lifecycle = Name::new("kind.thing");

    let mut one = entity("T-1", "open", 1);
    one.timers = vec![(Name::new("deadline"), timer(500)), (Name::new("lease.work"), timer(300))];
    one.effects = vec![effect(1)];
    let mut first = row(one.clone());
    first.indexed = vec![(Name::new("owner"), Value::text("ada"))];
    first.overdue_at = Some(Timestamp(700));
    let two = entity("T-2", "open", 2);
    let mut projection = Projection { position: 2, ..Projection::default() };
    projection.entities = vec![first, row(two.clone())];
    let change = GroupChange {
        counts: BTreeMap::from([(open_.clone(), 2)]),
        members: BTreeMap::from([(one.key.clone(), true), (two.key.clone(), true)]),
        moved_at: Some(Timestamp(9)),
    };
    projection.groups = BTreeMap::from([(group.clone(), change)]);
    projection.dwell_times =
        vec![(lifecycle.clone(), open_.clone(), 20), (lifecycle.clone(), open_.clone(), 20)];
    projector.project(&projection).unwrap();

    assert_eq!(reader.position().unwrap(), 2);
    assert_eq!(*reader.entity(&one.key).unwrap().unwrap(), one);
    let due: Vec<_> = reader.timers(None, 9).unwrap().value;
    assert_eq!(
        due.iter().map(|it| (it.due.0, it.timer.as_str())).collect::<Vec<_>>(),
        [(300, "lease.work"), (500, "deadline")]
    );
    assert_eq!(reader.timers(due.first(), 9).unwrap().value, due[1..]);
    assert_eq!(reader.effects(0, 9).unwrap().value[0].id, 1);
    let members = reader.members(&group).unwrap();
    assert_eq!((members.position, members.value.by_state[&open_].len()), (2, 2));
    let listed = |reader: &mut Box<dyn trackside_store::Reader>, listing: Listing| {
        let listing = Listing { lifecycle: Some(lifecycle.clone()), most: 9, ..listing };
        let all = reader.list(&listing).unwrap().value;
        all.iter().map(|it| it.key.id.to_string()).collect::<Vec<_>>()
    };
    let of_ada = || Listing { indexed: Some((Name::new("owner"), Value::text("ada"))), ..Listing::default() };
    let overdue = || Listing { overdue_at: Some(Timestamp(800)), ..Listing::default() };
    assert_eq!(listed(&mut reader, of_ada()), ["T-1"]);
    assert_eq!(listed(&mut reader, overdue()), ["T-1"]);
    assert_eq!(listed(&mut reader, Listing::default()), ["T-1", "T-2"]);
    assert_eq!(reader.dwell_times(&lifecycle).unwrap().value[&open_].count, 2);

    // The first one is final: its derived rows are gone.
    let mut projection = Projection { position: 3, ..Projection::default() };
    one = entity("T-1", "done", 3);
    projection.entities = vec![row(one.clone())];
    let change = GroupChange {
        counts: BTreeMap::from([(open_.clone(), -2), (done.clone(), 1)]),
        members: BTreeMap::from([(two.key.clone(), false)]),
        moved_at: Some(Timestamp(10)),
    };
    projection.groups = BTreeMap::from([(group.clone(), change)]);
    projector.project(&projection).unwrap();
    assert_eq!(reader.timers(None, 9).unwrap().value, []);
    assert_eq!(reader.effects(0, 9).unwrap().value, []);
    assert!(listed(&mut reader, of_ada()).is_empty());
    assert!(listed(&mut reader, overdue()).is_empty());
    assert_eq!(
        reader.states(&lifecycle).unwrap().value,
        BTreeMap::from([(done.clone(), 1), (open_.clone(), 1)])
    );
    assert_eq!(reader.counts(&group).unwrap().value.by_state, BTreeMap::from([(done.clone(), 1)]));
    let members = reader.members(&group).unwrap().value;
    assert_eq!(members.by_state.keys().collect::<Vec<_>>(), [&done]);

    // Positions only grow, and a projection that fails leaves nothing.
    assert!(projector.project(&projection).is_err());
    projection.position = 4;
    projection.entities = vec![row(entity("T-3", "new", 4))];
    projection.groups = BTreeMap::from([(
        group.clone(),
        GroupChange {
            members: BTreeMap::from([(EntityKey::new("kind.thing", "nobody"), true)]),
            ..GroupChange::default()
        },
    )]);
    assert!(projector.project(&projection).is_err());
    assert_eq!(reader.position().unwrap(), 3);
    assert_eq!(reader.entity(&EntityKey::new("kind.thing", "T-3")).unwrap(), None);
    projection.groups.clear();
    projector.project(&projection).unwrap();
    assert_eq!(reader.entity(&EntityKey::new("kind.thing", "T-3")).unwrap().unwrap().state, "new");

    projector.clear().unwrap();
    assert_eq!((projector.position().unwrap(), reader.states(&lifecycle).unwrap().value.len()), (0, 0));
}
