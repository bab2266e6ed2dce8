//! Archiving loses and changes no entry.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use trackside_engine::actor::ActorKind;
use trackside_engine::entity::OpenEffect;
use trackside_engine::event::{Changes, Entry, Event};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::{Archive, ArchiveHeader, FullJournal, movable, move_out, write};
use crate::audit::{AuditFinding, AuditProblem};
use crate::conformance::sample::{Press, entry, name, projection, row};
use crate::{Chain, MemoryStore, Record, Store, StoreError};

/// A folder that is deleted when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("trackside-archive-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn files(&self) -> Vec<String> {
        let all = std::fs::read_dir(&self.0).into_iter().flatten();
        let mut names: Vec<String> = all.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Thirty entries of A, B and C, a second apart; each sets `n` of its entity to its own number.
fn written() -> Vec<Entry> {
    let ids = ["t.thing/A", "t.thing/B", "t.thing/C"];
    let mut all: Vec<Entry> = (1..=30).map(|seq| entry(seq, ids[seq as usize % 3])).collect();
    for it in &mut all[..3] {
        it.actor_kind = ActorKind::System;
        let fields = vec![(name("n"), Value::Int(it.seq as i64))];
        let changes = Changes { fields, ..Changes::default() };
        it.event = Event::Created { definition: 1, state: name("OPEN"), generation: 1, changes };
    }
    all
}

/// A store with these, projected up to an entry.
fn filled(entries: &[Entry], position: u64) -> (MemoryStore, Vec<Record>) {
    let memory = MemoryStore::new();
    let batch = Press::default().batch(entries);
    memory.journal().unwrap().append(&batch).unwrap();
    if position > 0 {
        let rows = vec![row("t.thing/A", "OPEN")];
        memory.projector().unwrap().project(&projection(position, rows)).unwrap();
    }
    (memory, batch.records)
}

fn moved(memory: &MemoryStore, folder: &Path, before: i64) -> Result<Option<ArchiveHeader>, StoreError> {
    let (mut reader, mut journal) = (memory.reader()?, memory.journal()?);
    move_out(&mut *reader, &mut *journal, folder, Timestamp(before))
}

fn problems(memory: &MemoryStore, folder: &Path) -> Vec<AuditProblem> {
    let archive = Archive::open(folder).unwrap();
    archive.verify(&mut *memory.reader().unwrap(), &[], &mut |_, _| {}).unwrap().problems
}

#[test]
fn only_old_flushed_and_settled_entries_are_archived() {
    let last = |memory: &MemoryStore, before: i64| {
        movable(&mut *memory.reader().unwrap(), Timestamp(before)).unwrap().map(|it| it.seq)
    };
    let (memory, records) = filled(&written(), 20);
    assert_eq!(last(&memory, 0), None);
    assert_eq!(last(&memory, 1_000), None, "the first is as old as that, not older");
    assert_eq!(last(&memory, 1_001), Some(1));
    assert_eq!(last(&memory, 14_500), Some(14));
    assert_eq!(last(&memory, i64::MAX), Some(20), "projections are written up to there");
    let found = movable(&mut *memory.reader().unwrap(), Timestamp(14_500)).unwrap();
    assert_eq!(found, Some(Chain { seq: 14, hash: records[13].hash }));
    assert_eq!(last(&filled(&written(), 0).0, i64::MAX), None);
    let (memory, _) = filled(&written(), 30);
    assert_eq!(last(&memory, i64::MAX), Some(29), "the newest stays");
    let open =
        row("t.thing/B", "OPEN").with(|it| it.effects = vec![OpenEffect { id: 9, effect: name("print") }]);
    memory.projector().unwrap().project(&projection(31, vec![open])).unwrap();
    assert_eq!(last(&memory, i64::MAX), Some(29), "an open effect does not block archiving");
}

#[test]
fn the_request_of_an_open_effect_stays_until_it_is_answered() {
    let (folder, entries) = (Folder::new(), written());
    let (memory, records) = filled(&entries, 28);
    let with = |position: u64, ids: &[u64]| {
        let effects = ids.iter().map(|it| OpenEffect { id: *it, effect: name("print") }).collect();
        let open = row("t.thing/A", "OPEN").with(|it| it.effects = effects);
        memory.projector().unwrap().project(&projection(position, vec![open])).unwrap();
    };
    with(29, &[9, 15]);
    moved(&memory, &folder.0, 10_500).unwrap().unwrap();
    moved(&memory, &folder.0, 20_500).unwrap().unwrap();
    let mut reader = memory.reader().unwrap();
    assert_eq!(reader.record(9).unwrap().as_ref(), Some(&records[8]));
    assert_eq!(reader.record(15).unwrap().as_ref(), Some(&records[14]));
    assert_eq!(reader.record(12).unwrap(), None);
    assert_eq!(reader.records(0, 100).unwrap(), records[20..], "they are not part of the journal");
    assert_eq!(reader.stayed(&EntityKey::new("t.thing", "A")).unwrap(), [9, 15]);
    assert_eq!(reader.stayed(&EntityKey::new("t.thing", "B")).unwrap(), [0; 0]);
    assert_eq!(problems(&memory, &folder.0), [], "nor is the chain other than it was");
    // One effect is answered: the next archiving moves its request, even if it moves nothing else.
    with(30, &[15]);
    assert_eq!(moved(&memory, &folder.0, 20_500).unwrap(), None);
    assert_eq!((reader.record(9).unwrap(), reader.record(15).unwrap().is_some()), (None, true));
    // Dropped, it is dropped here too.
    assert_eq!(memory.journal().unwrap().drop_payloads(&[15]).unwrap(), 1);
    assert!(reader.record(15).unwrap().unwrap().is_redacted());
}

#[test]
fn files_and_journal_are_the_whole_chain() {
    let (folder, entries) = (Folder::new(), written());
    let (memory, records) = filled(&entries, 30);
    let first = moved(&memory, &folder.0, 10_500).unwrap().unwrap();
    assert_eq!((first.first(), first.last()), (1, 10));
    let second = moved(&memory, &folder.0, 20_500).unwrap().unwrap();
    assert_eq!((second.first(), second.last(), second.before), (11, 20, first.after));
    assert_eq!(moved(&memory, &folder.0, 20_500).unwrap(), None, "nothing more is as old as that");
    let names = ["journal-000000000001-000000000010.jsonl", "journal-000000000011-000000000020.jsonl"];
    assert_eq!(folder.files(), names);

    let mut reader = memory.reader().unwrap();
    assert_eq!(reader.base().unwrap(), second.after);
    assert_eq!(reader.records(0, 100).unwrap(), records[20..]);
    let archive = Archive::open(&folder.0).unwrap();
    assert_eq!(archive.records(0, 100).unwrap(), records[..20], "byte for byte");
    assert_eq!(archive.records(7, 6).unwrap(), records[7..13]);
    assert_eq!(archive.record(11).unwrap().as_ref(), Some(&records[10]));
    assert_eq!((archive.record(0).unwrap(), archive.record(21).unwrap()), (None, None));

    let mut told = Vec::new();
    let audit = archive.verify(&mut *reader, &[], &mut |done, all| told.push((done, all))).unwrap();
    assert!(audit.is_clean(), "{:?}", audit.problems);
    assert_eq!((audit.entries, audit.from, audit.to.seq), (30, Chain::default(), 30));
    assert_eq!(told, [(10, 30), (20, 30), (30, 30)]);
}

#[test]
fn a_trail_and_a_past_state_continue_in_archive_files() {
    let folder = Folder::new();
    let (memory, _) = filled(&written(), 30);
    moved(&memory, &folder.0, 8_500).unwrap();
    moved(&memory, &folder.0, 17_500).unwrap();
    let archive = Archive::open(&folder.0).unwrap();
    let mut reader = memory.reader().unwrap();
    let mut trail = |from, most| -> Vec<u64> {
        archive.trail(&mut *reader, from, most).unwrap().iter().map(|it| it.seq).collect()
    };
    assert_eq!(trail(28, 100), [28, 25, 22, 19, 16, 13, 10, 7, 4, 1]);
    assert_eq!(trail(28, 5), [28, 25, 22, 19, 16]);
    assert_eq!(trail(28, 7), [28, 25, 22, 19, 16, 13, 10]);
    assert_eq!(trail(14, 3), [14, 11, 8], "from within a file");
    let key = EntityKey::new("t.thing", "B");
    let mut n = |seq| {
        let entity = archive.as_of(&mut *reader, &key, 28, seq).unwrap();
        entity.map(|it| it.fields.value("n"))
    };
    assert_eq!(n(0), None);
    assert_eq!(n(1), Some(Value::Int(1)));
    assert_eq!(n(9), Some(Value::Int(7)));
    assert_eq!(n(17), Some(Value::Int(16)));
    assert_eq!(n(100), Some(Value::Int(28)));
    // Without the older file it is an error.
    std::fs::remove_file(&archive.files()[0].path).unwrap();
    let archive = Archive::open(&folder.0).unwrap();
    let error = archive.as_of(&mut *reader, &key, 28, 28).unwrap_err();
    assert!(error.to_string().starts_with("journal entry 7 is in no archive file in"), "{error}");
    let audit = archive.verify(&mut *reader, &[], &mut |_, _| {}).unwrap();
    assert_eq!((audit.from.seq, audit.problems), (8, vec![]), "it says from where it is whole");
}

#[test]
fn an_archiving_interrupted_before_the_cut_is_resumed() {
    let folder = Folder::new();
    let (memory, records) = filled(&written(), 30);
    let upto = Chain { seq: 10, hash: records[9].hash };
    let about = write(&mut *memory.reader().unwrap(), &folder.0, upto).unwrap();
    std::fs::write(folder.0.join("journal-000000000011-000000000020.partial"), "{ \"arch").unwrap();
    assert_eq!(problems(&memory, &folder.0), [], "an entry in both is no problem");
    assert_eq!(memory.reader().unwrap().records(0, 100).unwrap().len(), 30);
    // A second call first completes the interrupted one.
    assert_eq!(moved(&memory, &folder.0, 20_500).unwrap(), Some(about));
    assert_eq!(memory.reader().unwrap().base().unwrap(), upto);
    assert_eq!(moved(&memory, &folder.0, 20_500).unwrap().unwrap().last(), 20);
    assert_eq!(problems(&memory, &folder.0), []);
    assert_eq!(folder.files().len(), 2, "and nothing half written is left: {:?}", folder.files());
}

#[test]
fn an_altered_archive_file_deletes_nothing() {
    let tampers: [fn(&str) -> String; 5] = [
        |text| text.replacen("ada", "eve", 7),
        |text| text.replace("the 4th", "no"),
        |text| text.lines().take(8).map(|it| format!("{it}\n")).collect(),
        |text| text.chars().take(text.len() / 2).collect(),
        |text| text.replacen("\"last\":10", "\"last\":9", 1),
    ];
    for (n, tamper) in tampers.iter().enumerate() {
        let folder = Folder::new();
        let (memory, records) = filled(&written(), 30);
        let upto = Chain { seq: 10, hash: records[9].hash };
        let about = write(&mut *memory.reader().unwrap(), &folder.0, upto).unwrap();
        let text = std::fs::read_to_string(&about.path).unwrap();
        assert_ne!(tamper(&text), text);
        std::fs::write(&about.path, tamper(&text)).unwrap();
        moved(&memory, &folder.0, 20_500).expect_err(&format!("tamper {n}"));
        assert_eq!(memory.reader().unwrap().records(0, 100).unwrap(), records, "tamper {n}");
    }
}

#[test]
fn a_file_of_another_journal_is_not_taken_for_ours() {
    let folder = Folder::new();
    let (memory, records) = filled(&written(), 30);
    let mut others = written();
    others[2].actor = name("eve");
    let (other, _) = filled(&others, 30);
    moved(&other, &folder.0, 10_500).unwrap();
    moved(&memory, &folder.0, 10_500).unwrap_err();
    assert_eq!(memory.reader().unwrap().records(0, 100).unwrap(), records);
}

#[test]
fn a_gap_is_not_archived() {
    let folder = Folder::new();
    let (memory, _) = filled(&written(), 30);
    let wrong = Chain { seq: 10, hash: [7; 32] };
    write(&mut *memory.reader().unwrap(), &folder.0, wrong).unwrap_err();
    assert_eq!(folder.files(), [""; 0], "and nothing is left of the attempt");
}

#[test]
fn a_change_in_a_file_is_named() {
    let folder = Folder::new();
    let (memory, _) = filled(&written(), 30);
    let about = moved(&memory, &folder.0, 20_500).unwrap().unwrap();
    let text = std::fs::read_to_string(&about.path).unwrap();
    let with = |from: &str, to: &str| {
        std::fs::write(&about.path, text.replacen(from, to, 1)).unwrap();
        problems(&memory, &folder.0)
    };
    assert_eq!(with("the 4th", "the fourth"), [AuditProblem { seq: 4, what: AuditFinding::PayloadChanged }]);
    let header = with("{\\\"seq\\\":7,\\\"at\\\":7000", "{\\\"seq\\\":7,\\\"at\\\":6999");
    assert_eq!(header, [AuditProblem { seq: 7, what: AuditFinding::Changed }]);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.remove(5);
    std::fs::write(&about.path, lines.join("\n") + "\n").unwrap();
    assert_eq!(
        problems(&memory, &folder.0),
        [AuditProblem { seq: 5, what: AuditFinding::Removed { last: 5 } }]
    );
    std::fs::write(&about.path, text.replacen("\"seq\":9,", "\"seq\":nine,", 1)).unwrap();
    let archive = Archive::open(&folder.0).unwrap();
    let error = archive.verify(&mut *memory.reader().unwrap(), &[], &mut |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("line 10"), "{error}");
}

#[test]
fn payloads_are_dropped_from_files_too() {
    let folder = Folder::new();
    let mut entries = written();
    // B is erased in the journal, after its first entries were archived.
    entries[27].event = Event::Erased { kept: Fields::default() };
    let (memory, _) = filled(&entries, 30);
    let about = moved(&memory, &folder.0, 20_500).unwrap().unwrap();
    let archive = Archive::open(&folder.0).unwrap();
    let of_b: Vec<u64> = (1..28).filter(|it| it % 3 == 1).collect();
    assert_eq!(archive.drop_payloads(&of_b).unwrap(), 7, "those that are in the file");
    assert_eq!(archive.drop_payloads(&of_b).unwrap(), 0);
    assert_eq!(memory.journal().unwrap().drop_payloads(&of_b).unwrap(), 2);
    let text = std::fs::read_to_string(&about.path).unwrap();
    assert!(!text.contains("the 7th") && text.contains("the 8th"));
    let audit = archive.verify(&mut *memory.reader().unwrap(), &[], &mut |_, _| {}).unwrap();
    assert_eq!((audit.redacted, audit.problems), (9, vec![]));
    assert_eq!(archive.drop_payloads(&[8]).unwrap(), 1);
    assert_eq!(problems(&memory, &folder.0), [AuditProblem { seq: 8, what: AuditFinding::PayloadGone }]);
}

#[test]
fn a_file_of_a_later_release_says_so() {
    let folder = Folder::new();
    let (memory, _) = filled(&written(), 30);
    let about = moved(&memory, &folder.0, 20_500).unwrap().unwrap();
    let text = std::fs::read_to_string(&about.path).unwrap();
    std::fs::write(&about.path, text.replacen("\"format\":1", "\"format\":2", 1)).unwrap();
    assert!(matches!(Archive::open(&folder.0), Err(StoreError::TooNew { found: 2, known: 1, .. })));
}

#[test]
fn a_record_is_found_in_a_long_file_wherever_it_is() {
    let folder = Folder::new();
    let mut entries: Vec<Entry> =
        (1..=2_000).map(|seq| entry(seq, &format!("t.thing/{}", seq % 7))).collect();
    // Lines of very different lengths.
    for it in &mut entries {
        let words = "long ".repeat(it.seq as usize * 37 % 400);
        it.reason = Some(std::sync::Arc::from(words));
    }
    let (memory, records) = filled(&entries, 2_000);
    let about = moved(&memory, &folder.0, 1_900_500).unwrap().unwrap();
    assert!(std::fs::metadata(&about.path).unwrap().len() > 1 << 20, "longer than one read");
    let archive = Archive::open(&folder.0).unwrap();
    for seq in (1..=1_900).step_by(13).chain([2, 1_899, 1_900]) {
        let wanted = &records[seq as usize - 1];
        assert_eq!(archive.record(seq).unwrap().as_ref(), Some(wanted), "{seq}");
    }
    assert_eq!(archive.records(1_000, 5).unwrap(), records[1_000..1_005]);
    assert_eq!(archive.record(1_901).unwrap(), None);
    // A line with similar text does not hide the right one.
    let text = std::fs::read_to_string(&about.path).unwrap();
    std::fs::write(&about.path, text.replace("{\"seq\":", "{ \"seq\":")).unwrap();
    assert_eq!(archive.record(1_234).unwrap().as_ref(), Some(&records[1_233]));
}

/// A store in memory whose archive is in a folder.
struct WithArchive<'a>(&'a MemoryStore, &'a Path);

impl Store for WithArchive<'_> {
    fn journal(&self) -> Result<Box<dyn crate::JournalWriter>, StoreError> {
        self.0.journal()
    }

    fn projector(&self) -> Result<Box<dyn crate::Projector>, StoreError> {
        self.0.projector()
    }

    fn reader(&self) -> Result<Box<dyn crate::Reader>, StoreError> {
        self.0.reader()
    }

    fn archive(&self) -> Result<Archive, StoreError> {
        Archive::open(self.1)
    }
}

#[test]
fn the_whole_chain_is_read_as_one_and_gaps_are_reported() {
    let folder = Folder::new();
    let (memory, records) = filled(&written(), 30);
    let first = moved(&memory, &folder.0, 8_500).unwrap().unwrap();
    moved(&memory, &folder.0, 17_500).unwrap();
    let store = WithArchive(&memory, &folder.0);
    let mut reader = memory.reader().unwrap();
    let mut whole = FullJournal::new(&store, reader.as_mut());
    assert_eq!(whole.records(0, 100).unwrap(), records);
    assert_eq!(whole.records(5, 7).unwrap(), records[5..12]);
    assert_eq!(whole.records(16, 5).unwrap(), records[16..21]);
    assert_eq!(whole.records(30, 5).unwrap(), []);
    assert_eq!(whole.record(4).unwrap().as_ref(), Some(&records[3]));
    assert_eq!((whole.record(0).unwrap(), whole.record(31).unwrap()), (None, None));
    let seqs = |it: Vec<Record>| it.iter().map(|it| it.seq).collect::<Vec<_>>();
    assert_eq!(seqs(whole.trail(28, 100).unwrap()), [28, 25, 22, 19, 16, 13, 10, 7, 4, 1]);
    assert_eq!(seqs(whole.trail(28, 6).unwrap()), [28, 25, 22, 19, 16, 13]);
    assert_eq!(seqs(whole.trail(7, 2).unwrap()), [7, 4]);

    std::fs::remove_file(&first.path).unwrap();
    let mut whole = FullJournal::new(&store, reader.as_mut());
    let missing = |it: StoreError| match it {
        StoreError::NotArchived { first, last, .. } => (first, last),
        other => panic!("{other}"),
    };
    assert_eq!(missing(whole.records(0, 5).unwrap_err()), (1, 8));
    assert_eq!(missing(whole.record(4).unwrap_err()), (1, 8));
    assert_eq!(whole.records(8, 3).unwrap(), records[8..11]);
    assert_eq!(seqs(whole.trail(28, 100).unwrap()), [28, 25, 22, 19, 16, 13, 10], "as far as it goes");
    assert_eq!(missing(whole.trail(7, 100).unwrap_err()), (1, 8));
}
