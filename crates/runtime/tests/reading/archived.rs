//! Archived entries are read as if they were still in the journal; entries whose file is missing are
//! reported as missing.

use serde_json::json;
use trackside_engine::command::{AlertAction, Ask, Command};
use trackside_engine::fields::Fields;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_runtime::read::ReadError;
use trackside_runtime::{
    Failure, MigratedEntity, Migration, MigrationRange, Options, PackSource, ProjectClock, Runtime,
};

use crate::ground::*;
use crate::lists::owner;
use crate::stores::{ArchiveFolder, StoreSite, Stores};

const PUMP: &str = "\
lifecycle: small.pump
create: { by: human }
states: { ON: { initial: true } }
transitions:
  leak: { from: ON, by: human, alert: { kind: leak, severity: critical, message: 'It leaks' } }
";

fn pumps(place: &StoreSite, version: u32) -> Runtime {
    let files = [
        ("pack.yaml", format!("pack: small\nversion: {version}\n")),
        ("lifecycles/pump.yaml", PUMP.to_owned()),
    ];
    let pack = PackSource { files: files.map(|(path, text)| (path.to_owned(), text)).to_vec() };
    let options = Options {
        sweep_every: None,
        clock: ProjectClock::manual(start_of_time().plus(Span(60_000))),
        ..manual()
    };
    Runtime::start(place.open(), &[pack], options).unwrap()
}

fn create(runtime: &Runtime, id: &str) {
    let ask = Ask::Create { entity: key(&format!("small.pump/{id}")), fields: fields(json!({})) };
    accepted(runtime, Command::new(owner(), ask));
}

fn leak(runtime: &Runtime, id: &str) -> u64 {
    let command = Command::fire(owner(), key(&format!("small.pump/{id}")), "leak", fields(json!({})));
    accepted(runtime, command).entries.last().unwrap().seq
}

/// Archives everything but the newest entry; then a little more work.
fn archive_entries(place: &StoreSite, runtime: Runtime) -> (ArchiveFolder, u64) {
    let later = runtime.reads().unwrap().now().plus(Span(60_000));
    let last = runtime.seq();
    runtime.stop();
    (place.archive(later), last)
}

fn is_archived(error: &ReadError) -> bool {
    matches!(error, ReadError::Failure(Failure::Archived { first: 1, .. })) && error.code() == "archived"
}

#[test]
fn the_arrival_of_an_entity_is_known_after_archiving() {
    let place = Stores::Sqlite.place();
    let runtime = pumps(&place, 1);
    create(&runtime, "A");
    leak(&runtime, "A");
    create(&runtime, "B");
    let of = |runtime: &Runtime| runtime.reads().unwrap().arrival(&key("small.pump/A"));
    let before = of(&runtime).unwrap().unwrap();
    let (files, _) = archive_entries(&place, runtime);
    let runtime = pumps(&place, 1);
    let after = of(&runtime).unwrap().expect("it is in a file");
    assert_eq!((after.entry, after.cause, after.changed), (before.entry, before.cause, before.changed));
    files.put_away();
    assert!(of(&runtime).unwrap().is_none(), "the rest of the answer is complete");
}

#[test]
fn an_open_alert_is_listed_after_archiving() {
    let place = Stores::Sqlite.place();
    let runtime = pumps(&place, 1);
    create(&runtime, "A");
    let alert = leak(&runtime, "A");
    create(&runtime, "B");
    let (files, _) = archive_entries(&place, runtime);
    let runtime = pumps(&place, 1);
    let reads = runtime.reads().unwrap();
    let open = || {
        let found = reads.alerts(0, 50, false)?.0;
        Ok::<_, ReadError>(found.iter().map(|it| it.raised.seq).collect::<Vec<_>>())
    };
    assert_eq!(open().unwrap(), [alert]);
    assert_eq!(reads.survey().unwrap().alerts.get(&("critical", false)), Some(&1));
    assert_eq!(reads.alert(alert).unwrap().raised.entity.id, *"A");

    files.put_away();
    assert!(is_archived(&open().unwrap_err()), "{:?}", open());
    assert!(is_archived(&reads.alert(alert).unwrap_err()));
    assert_eq!(
        reads.survey().unwrap().alerts.get(&("unknown", false)),
        Some(&1),
        "that there is one is known"
    );
    files.put_back();

    let ask = Ask::HandleAlert { entity: key("small.pump/A"), alert, action: AlertAction::Resolve };
    accepted(&runtime, Command::new(owner(), ask).with_reason("a new seal"));
    assert_eq!(open().unwrap(), [0; 0]);
    let (all, _) = reads.alerts(0, 50, true).unwrap();
    let resolved = all[0].resolved.as_ref().and_then(|it| it.reason.as_deref());
    assert_eq!((all.len(), resolved), (1, Some("a new seal")));
}

#[test]
fn a_follower_gets_every_entry_or_the_missing_range() {
    let place = Stores::Sqlite.place();
    let runtime = pumps(&place, 1);
    (0..20).for_each(|n| create(&runtime, &format!("P-{n}")));
    let (files, last) = archive_entries(&place, runtime);
    let runtime = pumps(&place, 1);
    create(&runtime, "late");
    let base = runtime.store().reader().unwrap().base().unwrap().seq;
    assert_eq!(base, last - 1);
    let threads = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let heard = |after: u64| {
        let mut follower = runtime.follow(after);
        let mut seqs = Vec::new();
        while seqs.last().is_none_or(|it| *it < runtime.seq()) {
            seqs.extend(threads.block_on(follower.next())?.iter().map(|it| it.seq));
        }
        Ok::<_, Failure>(seqs)
    };
    for after in [0, 1, 7, base - 1, base, base + 1] {
        assert_eq!(heard(after).unwrap(), (after + 1..=runtime.seq()).collect::<Vec<_>>());
    }
    let reads = runtime.reads().unwrap();
    let journal = |after| reads.journal(after, 200).unwrap().iter().map(|it| it.seq).collect::<Vec<_>>();
    assert_eq!(journal(0), (1..=runtime.seq()).collect::<Vec<_>>());
    assert_eq!(reads.entry(3).unwrap().unwrap().seq, 3);
    files.put_away();
    assert_eq!(heard(1).unwrap_err(), Failure::Archived { first: 1, last: base });
    assert_eq!(heard(base).unwrap(), (base + 1..=runtime.seq()).collect::<Vec<_>>());
    assert!(is_archived(&reads.journal(1, 200).unwrap_err()));
    assert!(is_archived(&reads.entry(3).unwrap_err()));
    assert!(reads.entry(runtime.seq() + 1).unwrap().is_none());
}

#[test]
fn an_undo_reports_entities_whose_archive_is_missing() {
    let place = Stores::Sqlite.place();
    let runtime = pumps(&place, 1);
    ["A", "B", "C"].iter().for_each(|id| create(&runtime, id));
    runtime.stop();
    let runtime = pumps(&place, 2);
    create(&runtime, "NEW");
    let lifecycle = Name::new("small.pump");
    let migration = Migration {
        lifecycle: lifecycle.clone(),
        to: 2,
        states: Default::default(),
        fields: Fields::default(),
    };
    let mut moved = 0;
    let mut told = |it: &MigratedEntity| moved += usize::from(it.outcome.is_ok());
    runtime.apply_migration(owner(), &migration, &MigrationRange::default(), &mut told).unwrap();
    assert_eq!(moved, 3);
    create(&runtime, "last");
    let (files, _) = archive_entries(&place, runtime);
    let runtime = pumps(&place, 2);
    let undo = || {
        let mut told = Vec::new();
        let undone = runtime.undo_migration(owner(), &lifecycle, 2, &MigrationRange::default(), &mut |it| {
            told.push((it.entity.id.to_string(), it.outcome.as_ref().err().map(|it| it.code.as_str())));
        });
        undone.unwrap();
        told
    };
    files.put_away();
    let out_of_reach = |id: &str| (id.to_owned(), Some("archived"));
    assert_eq!(undo(), ["A", "B", "C", "NEW"].map(out_of_reach), "their archive is missing");
    files.put_back();
    assert_eq!(undo(), ["A", "B", "C"].map(|id| (id.to_owned(), None)), "NEW was never moved");
    assert_eq!(undo(), []);
}
