//! The power fails at every write of a run of the real workers on the real SQLite. Every answered command
//! survives.
//!
//! The controls: with a disk that ignores syncs, and with syncs switched off, losses are found.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use trackside_crash::consistency::projections;
use trackside_crash::journal::{StoredJournal, WrittenCommand};
use trackside_crash::load::{CommandKey, command};
use trackside_crash::script::{FOLDER, ManualWorkers, ScriptRun, run, written_command};
use trackside_crash::settings::setting;
use trackside_crash::{CheckResult, holds};
use trackside_engine::event::Event;
use trackside_powercut::{Image, OperationKind, Unsynced, VirtualDisk};
use trackside_runtime::CommandAnswer;
use trackside_store::{Chain, Sqlite, SqliteOptions, Store};

/// WAL files that restart often.
fn on(disk: &VirtualDisk) -> SqliteOptions {
    SqliteOptions { vfs: Some(disk.vfs().to_owned()), ..SqliteOptions::default() }.with_logs(24, 48)
}

/// The parts of a find by which openers can tell it from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RecoverySummary {
    entries: usize,
    position: u64,
    redacted: usize,
}

/// The checks so far.
#[derive(Debug, Default)]
struct CutChecks {
    images: BTreeSet<u64>,
    opened: BTreeSet<RecoverySummary>,
    cuts: u64,
}

impl CutChecks {
    /// Checks one cut: everything answered before it is found, and nothing is half there.
    fn look(&mut self, run: &ScriptRun, image: Image, at: u64) -> CheckResult {
        self.cuts += 1;
        let mut hasher = DefaultHasher::new();
        image.files().for_each(|it| it.hash(&mut hasher));
        let answered: BTreeMap<String, WrittenCommand> =
            run.answers.iter().filter(|it| it.at <= at).map(|it| (it.key.clone(), it.written)).collect();
        (answered.len(), at >= run.redaction.1).hash(&mut hasher);
        if !self.images.insert(hasher.finish()) {
            return Ok(());
        }
        let disk = VirtualDisk::from_image(image);
        let alike = {
            let store =
                Sqlite::open(Path::new(FOLDER), on(&disk)).map_err(|it| format!("it does not open: {it}"))?;
            let mut reader = store.reader().map_err(|it| it.to_string())?;
            let journal = StoredJournal::read(reader.as_mut())?;
            journal.has(&answered)?;
            journal.agrees_with(&run.journal)?;
            let position = projections(reader.as_mut(), &journal)?;
            let redacted = journal.records.iter().filter(|it| it.is_redacted()).count();
            if at >= run.redaction.1 {
                no_words(&journal)?;
            }
            RecoverySummary { entries: journal.entries.len(), position, redacted }
        };
        match self.opened.insert(alike) {
            true => goes_on(&disk, &answered),
            false => Ok(()),
        }
    }
}

/// The redacted payload is gone.
fn no_words(journal: &StoredJournal) -> CheckResult {
    for entry in &journal.entries {
        let Event::Redacted { entries, .. } = &entry.event else { continue };
        let left =
            entries.iter().find(|it| !journal.records[usize::try_from(**it - 1).unwrap()].is_redacted());
        holds(left.is_none(), || format!("{} says that {left:?} was taken out, and it is there", entry.seq))?;
    }
    Ok(())
}

/// The workers start on the files, catch up, and continue: answered commands are not repeated, others are
/// done once.
fn goes_on(disk: &VirtualDisk, answered: &BTreeMap<String, WrittenCommand>) -> CheckResult {
    let mut hand = ManualWorkers::open(on(disk))?;
    hand.flush()?;
    let mut reader = hand.store.reader().map_err(|it| it.to_string())?;
    let journal = StoredJournal::read(reader.as_mut())?;
    no_words(&journal)?;
    let position = projections(reader.as_mut(), &journal)?;
    holds(position == journal.entries.len() as u64, || format!("caught up to {position} only"))?;
    for entity in journal.replay(u64::MAX).entities() {
        let shown = hand.stepper.entity(&entity.key).map_err(|it| it.to_string())?;
        holds(shown.as_deref() == Some(entity), || format!("{} is shown as {shown:?}", entity.key))?;
    }
    if journal.entries.is_empty() || journal.commands.is_empty() {
        return Ok(());
    }
    let mut keys: Vec<CommandKey> = answered.keys().filter_map(|it| CommandKey::parse(it)).collect();
    keys.sort();
    let last = keys.last().map_or(0, |it| it.step + 1);
    let next = (0..3).map(|caller| CommandKey { round: 0, caller, step: last });
    let keys: Vec<CommandKey> = keys.into_iter().rev().take(3).chain(next).collect();
    for _ in 0..2 {
        let before = StoredJournal::read(reader.as_mut())?;
        let answers = hand.ask(keys.iter().map(|it| command(*it)).collect());
        for (key, answer) in keys.iter().zip(&answers) {
            let known = before.commands.get(&key.to_string());
            let replayed = matches!(answer, CommandAnswer::Replayed { .. });
            holds(
                replayed == known.is_some() && (known.is_none() || known.copied() == written_command(answer)),
                || format!("{key} was {known:?}, and asked again it is {answer:?}"),
            )?;
        }
    }
    hand.flush()?;
    let journal = StoredJournal::read(reader.as_mut())?;
    projections(reader.as_mut(), &journal).map(drop)
}

/// The writes to a file: how far the disk was before each, and where in the file it was.
fn writes_to(disk: &VirtualDisk, file: &str) -> Vec<(u64, u64)> {
    let path = format!("{FOLDER}/{file}");
    let operations = disk.operations().into_iter().enumerate();
    let written = operations.filter(|(_, it)| it.file.ends_with(&path));
    let written = written.filter_map(|(at, it)| match it.act {
        OperationKind::Write { offset, .. } => Some((at as u64, offset)),
        _ => None,
    });
    written.collect()
}

/// Cuts at every boundary, or until a failure is found.
fn cut_everywhere(disk: &VirtualDisk, run: &ScriptRun, torn: u64) -> CheckResult<CutChecks> {
    let mut looks = CutChecks::default();
    for (at, how) in disk.cuts(torn) {
        let image = disk.after_cut_at(at, how);
        looks
            .look(run, image, at)
            .map_err(|what| format!("cut at {at} of {}, {how:?}: {what}", disk.boundary()))?;
    }
    Ok(looks)
}

#[test]
fn cut_at_every_write_nothing_answered_is_lost_and_nothing_is_half() {
    let commits = setting("TRACKSIDE_CUT_COMMITS", 16);
    let torn = setting("TRACKSIDE_CUT_TORN", 1);
    let disk = VirtualDisk::new();
    let run = run(on(&disk), commits, &|| disk.boundary());
    assert!(run.redaction.1 > 0 && run.answers.len() > 30, "{} answers", run.answers.len());
    // Checkpoints are cut, too: both files are written while logs are moved and restarted.
    let within = |at: u64| run.passes.iter().any(|(before, after)| *before <= at && at < *after);
    for file in ["journal.db", "state.db"] {
        let writes = writes_to(&disk, file);
        assert!(writes.iter().any(|(at, _)| within(*at)), "no pass wrote {file}: {:?}", run.passes);
    }
    let begun = writes_to(&disk, "journal.db-wal").iter().filter(|(_, offset)| *offset == 0).count();
    assert!(begun >= 4, "the log of the journal began {begun} times only");
    let looks = cut_everywhere(&disk, &run, torn).unwrap_or_else(|what| panic!("{what}"));
    println!(
        "{} passes of the keeper, {begun} beginnings of the log; {} boundaries, {} cuts, {} different finds, {} of them opened and gone on with; {} entries, {} answers",
        run.passes.len(),
        disk.boundary(),
        looks.cuts,
        looks.images.len(),
        looks.opened.len(),
        run.journal.entries.len(),
        run.answers.len(),
    );
}

/// The first control: a disk that confirms syncs without doing them.
#[test]
fn a_disk_that_ignores_syncs_is_detected() {
    let disk = VirtualDisk::new();
    disk.ignore_syncs(true);
    let run = run(on(&disk), 6, &|| disk.boundary());
    let what = lost_at_an_answer(&disk, &run).expect_err("every sync was ignored, and nothing was lost");
    println!("{what}");
}

/// The second control: commits that wait for nothing.
#[test]
fn commits_without_a_sync_are_detected() {
    let disk = VirtualDisk::new();
    let run = run(on(&disk).for_tests_without_durability(), 6, &|| disk.boundary());
    let what = lost_at_an_answer(&disk, &run).expect_err("nothing was synced, and nothing was lost");
    println!("{what}");
}

/// Cuts right after each answer, all that was not synced lost.
fn lost_at_an_answer(disk: &VirtualDisk, run: &ScriptRun) -> CheckResult {
    let mut looks = CutChecks::default();
    let moments: BTreeSet<u64> = run.answers.iter().map(|it| it.at).collect();
    assert!(moments.len() >= 4);
    moments.into_iter().try_for_each(|at| looks.look(run, disk.after_cut_at(at, Unsynced::Lost), at))
}

/// The controls of the controls: the same six commits on an honest disk lose nothing.
#[test]
fn the_same_short_run_on_an_honest_disk_loses_nothing() {
    let disk = VirtualDisk::new();
    let run = run(on(&disk), 6, &|| disk.boundary());
    lost_at_an_answer(&disk, &run).unwrap();
}

/// Archived entries are cut from the journal, with a power failure at every write of the cut. The journal
/// begins at its old or its new base, never in between, and all entries after the cut are there.
#[test]
fn cut_while_the_journal_is_cut_off_it_begins_before_or_after() {
    let disk = VirtualDisk::new();
    let whole = run(on(&disk), 6, &|| disk.boundary()).journal.records;
    let store = Sqlite::open(Path::new(FOLDER), on(&disk)).unwrap();
    let last = &whole[whole.len() / 2];
    let upto = Chain { seq: last.seq, hash: last.hash };
    let from = disk.boundary();
    assert_eq!(store.journal().unwrap().cut(upto, &BTreeSet::new()).unwrap(), upto.seq);
    let done = disk.boundary();
    drop(store);
    let (mut before, mut after) = (0, 0);
    for (at, how) in disk.cuts(2).filter(|(at, _)| *at >= from) {
        let found = VirtualDisk::from_image(disk.after_cut_at(at, how));
        let store =
            Sqlite::open(Path::new(FOLDER), on(&found)).unwrap_or_else(|it| panic!("at {at}, {how:?}: {it}"));
        let mut reader = store.reader().unwrap();
        let base = reader.base().unwrap();
        assert!(base == upto || (base == Chain::default() && at < done), "at {at}, {how:?}: {base:?}");
        let records = reader.records(0, usize::MAX >> 1).unwrap();
        let (mut chain, first) = (base, usize::try_from(base.seq).unwrap());
        records.iter().for_each(|it| chain.follow(it).unwrap());
        assert!(records.iter().eq(&whole[first..]), "at {at}, {how:?}");
        *(if base == upto { &mut after } else { &mut before }) += 1;
    }
    println!("{} writes, found as before {before} times, as after {after} times", done - from);
    assert!(before > 0 && after > 0);
}
