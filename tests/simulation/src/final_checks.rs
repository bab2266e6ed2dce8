//! Checks after everything is flushed: the projections, the journal and the model agree.

use std::collections::{BTreeMap, BTreeSet};

use trackside_engine::apply;
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event, KeyRecord};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{RankingIndex, RankingKey};
use trackside_engine::view::View;
use trackside_engine::world::World;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_store::conformance::reader_dump::{differing, dump, rebuilt};
use trackside_store::store::{DueAt, Listing};
use trackside_store::{Chain, Reader, Record, Store};

use crate::broken::BrokenPromise;
use crate::packs::WalkPack;

/// The whole journal, from the beginning.
pub(crate) fn records(store: &dyn Store) -> Vec<Record> {
    let mut reader = store.reader().unwrap();
    reader.records(0, usize::MAX).unwrap()
}

/// The chain verifies, a replay gives the present view, no key counts twice, and no erased payload is left.
pub(crate) fn journal(store: &dyn Store, world: &World, keys_last: Span) -> Result<(), BrokenPromise> {
    let broken = |promise, what: String| Err(BrokenPromise::new(promise, what));
    let records = records(store);
    let mut chain = Chain::default();
    let mut view = View::default();
    let mut keys: BTreeMap<(Name, Name), Timestamp> = BTreeMap::new();
    let mut erased: BTreeMap<EntityKey, u64> = BTreeMap::new();
    let mut redacted: BTreeSet<u64> = BTreeSet::new();
    let mut last = Timestamp(i64::MIN);
    for record in &records {
        if let Err(why) = chain.follow(record) {
            return broken("the chain verifies", why.to_string());
        }
        let entry: Entry = record.entry().unwrap();
        if entry.at < last {
            return broken("time never goes back", format!("{entry:?}"));
        }
        last = entry.at;
        if let Some(key) = &entry.key
            && let Some(before) = keys.insert((key.by.clone(), key.key.clone()), entry.at)
            && entry.at.since(before).0 <= keys_last.0
        {
            return broken("a retried command has one effect", format!("{entry:?}"));
        }
        if let Event::Erased { .. } = entry.event {
            erased.insert(entry.entity.clone(), entry.seq);
        }
        if let Event::Redacted { entries, .. } = &entry.event {
            redacted.extend(entries);
        }
        apply(&mut view, &entry);
    }
    for record in records.iter().filter(|it| it.payload.is_some()) {
        let entry = record.entry().unwrap();
        if redacted.contains(&entry.seq) {
            return broken("nothing is left of what was redacted", format!("{entry:?}"));
        }
        if erased.get(&entry.entity).is_some_and(|it| entry.seq < *it) {
            return broken("nothing is left of what was erased", format!("{entry:?}"));
        }
    }
    for entity in world.view.entities() {
        if view.get(&entity.key).map(text) != Some(text(entity)) {
            let what = format!("{:?} instead of {entity:?}", view.get(&entity.key));
            return broken("replaying the journal gives what is", what);
        }
    }
    if view.len() != world.view.len() || view.project != world.view.project {
        return broken("replaying the journal gives what is", "other entities or another project".to_owned());
    }
    Ok(())
}

/// Checks that fully flushed projections agree with the model.
pub(crate) fn projections(
    store: &dyn Store,
    ground: &WalkPack,
    world: &World,
    keys_last: Span,
) -> Result<(), BrokenPromise> {
    let broken = |what: String| Err(BrokenPromise::new("projections are what the journal says", what));
    let mut reader = store.reader().unwrap();
    if reader.position().unwrap() != world.journal.len() as u64 {
        return Ok(());
    }
    let all = Listing { most: usize::MAX, ..Listing::default() };
    let rows = reader.list(&all).unwrap().value;
    let mut known: Vec<String> = rows.iter().map(|it| text(it)).collect();
    let mut expected: Vec<String> = world.view.entities().into_iter().map(text).collect();
    known.sort();
    expected.sort();
    if let Some((known, expected)) = known.iter().zip(&expected).find(|(a, b)| a != b) {
        return broken(format!("{known} instead of {expected}"));
    }
    if known.len() != expected.len() {
        return broken(format!("{} entities instead of {}", known.len(), expected.len()));
    }
    if reader.project().unwrap().unwrap_or_default() != world.view.project {
        return broken(format!("another project: {:?}", reader.project().unwrap()));
    }
    timers(reader.as_mut(), world)?;
    groups(reader.as_mut(), ground, world)?;
    for life in &ground.pack.lifecycles {
        for ranking in &life.rankings {
            let key = RankingKey { lifecycle: life.name.clone(), name: ranking.name.clone() };
            let expected = world.view.rankings.get(&key).cloned().unwrap_or_default();
            let kept: RankingIndex = reader.ranking(&key).unwrap().value;
            if kept != expected {
                return broken(format!("{key:?} is {kept:?} instead of {expected:?}"));
            }
        }
    }
    for entity in world.view.entities() {
        if let Some(same) = &entity.same {
            let holder = reader.unique_holder(&entity.key.lifecycle, same).unwrap();
            if holder.as_ref() != Some(&entity.key) {
                return broken(format!("{same} belongs to {}, not to {holder:?}", entity.key));
            }
        }
    }
    keys(reader.as_mut(), world, keys_last)
}

/// Every query on the projections gives the same answer as on projections rebuilt from the journal.
pub(crate) fn made_from_the_journal(store: &dyn Store, world: &World) -> Result<(), BrokenPromise> {
    let mut reader = store.reader().unwrap();
    if reader.position().unwrap() != world.journal.len() as u64 {
        return Ok(());
    }
    // A commit that is in doubt may be on disk already.
    let known = records(store).into_iter().filter(|it| it.seq <= world.journal.len() as u64);
    let entries: Vec<Entry> = known.map(|it| it.entry().unwrap()).collect();
    let mut kept = dump(reader.as_mut(), &world.law, &entries);
    let mut anew = rebuilt(&world.law, &entries);
    // Keys are checked above: some may have expired.
    kept.retain(|it| !it.starts_with("key "));
    anew.retain(|it| !it.starts_with("key "));
    match differing(&kept, &anew) {
        odd if odd.is_empty() => Ok(()),
        odd => Err(BrokenPromise::new(
            "projections are what the journal says",
            format!("made anew they tell something else: {odd:#?}"),
        )),
    }
}

/// Idempotency keys are known until they expire.
fn keys(reader: &mut dyn Reader, world: &World, keys_last: Span) -> Result<(), BrokenPromise> {
    let mut last: BTreeMap<(&Name, &Name), &Entry> = BTreeMap::new();
    for entry in &world.journal {
        last.extend(entry.key.as_ref().map(|it| ((&it.by, &it.key), entry)));
    }
    for ((by, key), entry) in last {
        // Only the journal stores which fields were ignored.
        let stored = |(seq, key): (u64, KeyRecord)| (seq, KeyRecord { ignored: Vec::new(), ..key });
        let expected = entry.key.clone().map(|it| stored((entry.seq, it)));
        let kept = reader.key(by, key).unwrap().map(stored);
        let may_be_gone = entry.at.plus(keys_last) < world.now;
        if kept != expected && !(kept.is_none() && may_be_gone) {
            let what = format!("{key} of {by} is {kept:?} instead of {expected:?}");
            return Err(BrokenPromise::new("a key is known until it expires", what));
        }
    }
    Ok(())
}

fn timers(reader: &mut dyn Reader, world: &World) -> Result<(), BrokenPromise> {
    let mut expected = BTreeSet::new();
    for entity in world.view.entities() {
        for (timer, state) in &entity.timers {
            let (entity, timer) = (entity.key.clone(), timer.clone());
            expected.extend(state.due.map(|due| DueAt { due, entity, timer }));
        }
    }
    let kept: Vec<DueAt> = reader.timers(None, usize::MAX).unwrap().value;
    if kept.iter().eq(expected.iter()) {
        return Ok(());
    }
    Err(BrokenPromise::new(
        "projections are what the journal says",
        format!("{kept:?} instead of {expected:?}"),
    ))
}

/// Every group that has or had a member.
pub(crate) fn all_groups(ground: &WalkPack, world: &World) -> Vec<GroupKey> {
    let mut groups = BTreeSet::new();
    for life in &ground.pack.lifecycles {
        for reference in &life.refs {
            let Some(name) = &reference.inverse else { continue };
            for entity in world.view.entities().iter().filter(|it| it.key.lifecycle == reference.to) {
                groups.insert(GroupKey { of: entity.key.clone(), name: name.clone() });
            }
        }
    }
    groups.into_iter().collect()
}

fn groups(reader: &mut dyn Reader, ground: &WalkPack, world: &World) -> Result<(), BrokenPromise> {
    for key in all_groups(ground, world) {
        let expected = world.view.group(&key).here().cloned().unwrap_or_default();
        let counts = reader.counts(&key).unwrap().value;
        let members = reader.members(&key).unwrap().value;
        if (&counts.by_state, counts.moved_at, &members.by_state)
            != (&expected.counts, expected.moved_at, &expected.members)
        {
            let what = format!("{key:?} is {counts:?} and {members:?} instead of {expected:?}");
            return Err(BrokenPromise::new("projections are what the journal says", what));
        }
    }
    Ok(())
}

pub(crate) fn text(entity: &Entity) -> String {
    serde_json::to_string(entity).unwrap()
}
