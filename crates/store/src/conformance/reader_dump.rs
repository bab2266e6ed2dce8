//! Dumps all contents of projections as lines: two stores with equal dumps hold the same data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use trackside_engine::Law;
use trackside_engine::event::{Entry, EventKind};
use trackside_engine::key::GroupKey;
use trackside_engine::ranking::Reranked;
use trackside_engine::view::View;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::story::projected;
use crate::MemoryStore;
use crate::projection_builder::OPEN_ALERT;
use crate::store::{Listing, Reader, Store};

/// Many.
const ALL: usize = usize::MAX >> 1;

/// Everything the projections contain after these entries, under these definitions.
pub fn dump(reader: &mut dyn Reader, law: &Law, entries: &[Entry]) -> Vec<String> {
    let mut all = vec![line("position", "", reader.position().unwrap())];
    all.push(line("project", "", reader.project().unwrap().unwrap_or_default()));
    all.push(line("census", "", reader.census().unwrap().value));
    let everything = Listing { most: ALL, ..Listing::default() };
    let mut indexed = BTreeMap::new();
    for entity in reader.list(&everything).unwrap().value {
        let json = serde_json::to_string(&entity).unwrap();
        assert_eq!(serde_json::to_string(&reader.entity(&entity.key).unwrap().unwrap()).unwrap(), json);
        all.push(format!("entity {json}"));
        let life = law.definition(&entity.key.lifecycle, entity.definition);
        for name in life.into_iter().flat_map(|it| &it.indexes) {
            if let Some(value) = entity.fields.get(name) {
                let place = (entity.key.lifecycle.clone(), name.clone(), format!("{value:?}"));
                indexed.insert(place, value.clone());
            }
        }
    }
    for ((lifecycle, name, _), value) in indexed {
        let indexed = Some((name.clone(), value));
        let listing = Listing { lifecycle: Some(lifecycle), indexed, ..everything.clone() };
        all.push(line("indexed", &name, (&listing.indexed, ids(reader, &listing))));
    }
    for timer in reader.timers(None, ALL).unwrap().value {
        all.push(line("timer", &timer.timer, &timer));
    }
    for effect in reader.effects(0, ALL).unwrap().value {
        all.push(line("effect", &effect.effect, &effect));
    }
    let indexed = EventKind::ALL.iter().filter(|it| it.is_indexed()).map(|it| it.as_str());
    for kind in indexed.chain([OPEN_ALERT]) {
        all.push(line("notices", kind, reader.notices(&[kind], 0, ALL).unwrap()));
    }
    let last = entries.last().map_or(Timestamp(0), |it| it.at);
    let lifecycles: BTreeSet<_> = entries.iter().map(|it| it.entity.lifecycle.clone()).collect();
    for it in &lifecycles {
        let mut states = reader.states(it).unwrap().value;
        states.retain(|_, many| *many > 0);
        all.push(line("states", it, states));
        all.push(line("stays", it, reader.dwell_times(it).unwrap().value));
        for overdue_at in [last, Timestamp(i64::MAX)] {
            let (lifecycle, overdue_at) = (Some(it.clone()), Some(overdue_at));
            let listing = Listing { lifecycle, overdue_at, ..everything.clone() };
            all.push(line("overdue", it, (overdue_at, ids(reader, &listing))));
        }
    }
    for it in groups_of(entries) {
        let (counts, members) = (reader.counts(&it).unwrap().value, reader.members(&it).unwrap().value);
        all.push(line("counts", "", (&it, counts.by_state, counts.moved_at)));
        all.push(line("members", "", (&it, members.by_state, members.moved_at)));
    }
    let rankings: BTreeSet<_> = entries.iter().flat_map(|it| &it.reranked).map(Reranked::ranking).collect();
    for it in rankings {
        let ranking = reader.ranking(&it).unwrap().value;
        all.push(line("open", &it.name, ranking.open(None).collect::<Vec<_>>()));
        let withins: BTreeSet<_> = entries.iter().flat_map(|it| &it.reranked).filter_map(within).collect();
        for within in withins {
            let order: Vec<_> = ranking.ascending(within).map(|it| ranking.place(it)).collect();
            all.push(line("order", &it.name, (within, ranking.is_open(within), order)));
        }
    }
    for (lifecycle, value) in sames_of(entries) {
        all.push(line("same", value, reader.unique_holder(lifecycle, value).unwrap()));
    }
    for record in entries.iter().filter_map(|it| it.key.as_ref()) {
        all.push(line("key", &record.key, reader.key(&record.by, &record.key).unwrap()));
    }
    all
}

/// A dump of projections that are built from these entries in an empty store.
pub fn rebuilt(law: &Law, entries: &[Entry]) -> Vec<String> {
    let store = MemoryStore::new();
    let mut projector = store.projector().unwrap();
    for it in projected(law, &mut View::default(), entries, usize::MAX) {
        projector.project(&it).unwrap();
    }
    dump(&mut *store.reader().unwrap(), law, entries)
}

/// The first few lines that are in only one of the two.
pub fn differing(one: &[String], other: &[String]) -> Vec<String> {
    let (one, other): (BTreeSet<_>, BTreeSet<_>) = (one.iter().collect(), other.iter().collect());
    one.symmetric_difference(&other).take(4).map(|it| (*it).clone()).collect()
}

fn ids(reader: &mut dyn Reader, listing: &Listing) -> Vec<Name> {
    reader.list(listing).unwrap().value.iter().map(|it| it.key.id.clone()).collect()
}

pub(super) fn line(what: &str, of: &str, value: impl Debug) -> String {
    format!("{what} {of} {value:?}")
}

pub(super) fn groups_of(entries: &[Entry]) -> BTreeSet<GroupKey> {
    let shifts = entries.iter().filter_map(|it| it.event.changes()).flat_map(|it| &it.shifts);
    shifts.map(|it| it.group.clone()).collect()
}

pub(super) fn sames_of(entries: &[Entry]) -> BTreeSet<(&Name, &Name)> {
    entries
        .iter()
        .filter_map(|it| Some((&it.entity.lifecycle, it.event.changes()?.same.as_ref()?.value()?)))
        .collect()
}

fn within(change: &Reranked) -> Option<&Vec<Name>> {
    match change {
        Reranked::Placed { place, .. } => place.as_ref().map(|it| &it.within),
        Reranked::Opened { within, .. } => Some(within),
    }
}
