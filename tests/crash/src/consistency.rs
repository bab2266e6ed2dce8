//! Compares projections and a running project with a replay of the journal.

use std::collections::{BTreeMap, BTreeSet};

use trackside_engine::entity::Entity;
use trackside_engine::event::Entry;
use trackside_engine::ranking::Reranked;
use trackside_engine::view::View;
use trackside_lifecycle::name::Name;
use trackside_runtime::{CommandAnswer, Runtime};
use trackside_store::conformance::reader_dump::{differing, dump, rebuilt};
use trackside_store::store::{DueAt, Listing};
use trackside_store::{Reader, Store, StoreError};

use crate::journal::StoredJournal;
use crate::load::{CommandKey, command};
use crate::script::{law, written_command};
use crate::{CheckResult, holds};

const ALL: usize = usize::MAX >> 1;

fn text(entity: &Entity) -> String {
    serde_json::to_string(entity).unwrap()
}

fn store_error(error: StoreError) -> String {
    error.to_string()
}

/// Projections equal a replay up to their position: every entity, timer, group, ranking and key, and every query
/// answers as on rebuilt projections. Returns that position.
pub fn projections(reader: &mut dyn Reader, journal: &StoredJournal) -> CheckResult<u64> {
    let position = reader.position().map_err(store_error)?;
    let end = journal.entries.len() as u64;
    holds(position <= end, || format!("projections are at {position}, the journal ends at {end}"))?;
    let view = journal.replay(position);
    let rows = reader.list(&Listing { most: ALL, ..Listing::default() }).map_err(store_error)?.value;
    let bare = journal.bare_after(position);
    let whole = |it: &&Entity| !bare.contains(&it.key);
    let kept: BTreeSet<String> = rows.iter().map(|it| &**it).filter(whole).map(text).collect();
    let lived: BTreeSet<String> = view.entities().into_iter().filter(whole).map(text).collect();
    let odd: Vec<_> = kept.symmetric_difference(&lived).take(2).collect();
    holds(odd.is_empty() && rows.len() == view.len(), || format!("entities differ at {position}: {odd:#?}"))?;
    let timers = reader.timers(None, ALL).map_err(store_error)?.value;
    holds(timers.iter().eq(due(&view).iter()), || format!("timers differ at {position}"))?;
    counts(reader, &view)?;
    let entries = || journal.entries.iter().take_while(|it| it.seq <= position);
    let shifts = entries().filter_map(|it| it.event.changes()).flat_map(|it| &it.shifts);
    for group in shifts.map(|it| &it.group).collect::<BTreeSet<_>>() {
        let lived = view.group(group).here().cloned().unwrap_or_default();
        let counts = reader.counts(group).map_err(store_error)?.value;
        let members = reader.members(group).map_err(store_error)?.value;
        holds((counts.by_state, members.by_state) == (lived.counts, lived.members), || {
            format!("the group {group:?} differs at {position}")
        })?;
    }
    for ranking in entries().flat_map(|it| &it.reranked).map(Reranked::ranking).collect::<BTreeSet<_>>() {
        let kept = reader.ranking(&ranking).map_err(store_error)?.value;
        let lived = view.rankings.get(&ranking).cloned().unwrap_or_default();
        holds(kept == lived, || format!("{ranking:?} differs at {position}"))?;
    }
    for entry in entries() {
        let Some(record) = &entry.key else { continue };
        let kept = reader.key(&record.by, &record.key).map_err(store_error)?;
        holds(kept.as_ref() == Some(&(entry.seq, record.clone())), || {
            format!("the key {} is {kept:?} at {position}", record.key)
        })?;
    }
    let entries: Vec<Entry> = entries().cloned().collect();
    // Payloads that are dropped already are missing from rebuilt projections, and from lists by value.
    let names = |it: &String| bare.iter().any(|bare| it.contains(bare.id.as_str()));
    let of_others = |it: &String| bare.is_empty() || !(it.starts_with("indexed") || names(it));
    let mut kept = dump(reader, law(), &entries);
    let mut anew = rebuilt(law(), &entries);
    kept.retain(of_others);
    anew.retain(of_others);
    let odd = differing(&kept, &anew);
    holds(odd.is_empty(), || {
        format!("made anew up to {position}, projections tell something else: {odd:#?}")
    })?;
    Ok(position)
}

fn counts(reader: &mut dyn Reader, view: &View) -> CheckResult {
    let mut lived: BTreeMap<Name, BTreeMap<Name, u64>> = BTreeMap::new();
    for entity in view.entities() {
        *lived.entry(entity.key.lifecycle.clone()).or_default().entry(entity.state.clone()).or_default() += 1;
    }
    for (lifecycle, lived) in lived {
        let mut kept = reader.states(&lifecycle).map_err(store_error)?.value;
        kept.retain(|_, it| *it > 0);
        holds(kept == lived, || format!("{lifecycle} has {kept:?} instead of {lived:?}"))?;
    }
    Ok(())
}

/// The clocks that run.
pub fn due(view: &View) -> BTreeSet<DueAt> {
    let mut all = BTreeSet::new();
    for entity in view.entities() {
        for (timer, state) in &entity.timers {
            let (entity, timer) = (entity.key.clone(), timer.clone());
            all.extend(state.due.map(|due| DueAt { due, entity, timer }));
        }
    }
    all
}

/// Checks that a running project shows the state of its journal, at once and after everything is flushed.
/// Returns its journal.
pub fn check_reads(runtime: &Runtime, store: &dyn Store) -> CheckResult<StoredJournal> {
    let mut reader = store.reader().map_err(store_error)?;
    let journal = StoredJournal::read(reader.as_mut())?;
    let view = journal.replay(u64::MAX);
    for entity in view.entities() {
        let shown = runtime.entity(&entity.key).map_err(store_error)?.map(|it| text(&it));
        holds(shown.as_ref() == Some(&text(entity)), || {
            format!("{} is shown as {shown:?}, replayed it is {}", entity.key, text(entity))
        })?;
    }
    runtime.wait_until_written().map_err(|it| it.to_string())?;
    let position = projections(reader.as_mut(), &journal)?;
    let end = journal.entries.len() as u64;
    holds(position == end, || format!("caught up to {position}, the journal ends at {end}"))?;
    Ok(journal)
}

/// Callers without an answer send again, twice: there is one effect. The same holds for callers with an
/// answer.
pub fn repeat_commands(runtime: &Runtime, store: &dyn Store, keys: &[CommandKey]) -> CheckResult {
    let gateway = runtime.gateway().map_err(|it| it.to_string())?;
    let mut known = StoredJournal::read(store.reader().map_err(store_error)?.as_mut())?.commands;
    for _ in 0..2 {
        let asked: Result<Vec<_>, _> = keys.iter().map(|it| gateway.submit(command(*it))).collect();
        for (key, answer) in keys.iter().zip(asked.map_err(|it| it.to_string())?) {
            let answer = answer.wait().map_err(|it| it.to_string())?;
            let (before, again) =
                (known.get(&key.to_string()).copied(), matches!(answer, CommandAnswer::Replayed { .. }));
            let after = written_command(&answer);
            holds(again == before.is_some() && (before.is_none() || before == after), || {
                format!("{key} is {before:?}, and asked again it is {answer:?}")
            })?;
            known.extend(after.map(|it| (key.to_string(), it)));
        }
    }
    Ok(())
}
