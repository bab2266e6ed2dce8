//! The state of an entity after values and texts of some of its entries are dropped from the journal.
//!
//! One more entry names every value that a replay of the remaining journal would get wrong, so that the
//! replay still gives the live entity. No older value comes back: a value from a dropped entry is cleared,
//! not replaced by the one before it.

use std::collections::BTreeSet;

use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::apply::apply;
use crate::entity::{Entity, Tallies};
use crate::event::{Entry, TallyChange};
use crate::view::View;

/// Replays all entries of an entity, in order, without the contents of some of them.
pub fn replay_without(history: &[Entry], without: &BTreeSet<u64>) -> Option<Entity> {
    let key = &history.first()?.entity;
    let mut view = View::default();
    for entry in history {
        let mut entry = entry.clone();
        if without.contains(&entry.seq) {
            entry.part();
        }
        entry.key = None;
        apply(&mut view, &entry);
    }
    view.get(key).cloned()
}

/// Fields whose value came from a dropped entry; each becomes null.
pub fn fields_to_clear(live: &Entity, replayed: &Entity) -> Vec<(Name, Value)> {
    let names: BTreeSet<&Name> =
        live.fields.iter().chain(replayed.fields.iter()).map(|(name, _)| name).collect();
    let differs = |name: &&Name| live.fields.get(name) != replayed.fields.get(name);
    names.into_iter().filter(differs).map(|name| (name.clone(), Value::Null)).collect()
}

/// Rewrites the tallies that a replay would get wrong, and those of the named counters. Numbers stay, since
/// rules read them. Tallies under a key that came from a dropped entry are removed, since the key consists
/// of values.
pub fn tallies_to_correct(
    live: &Entity,
    replayed: &Entity,
    named: &BTreeSet<&Name>,
    keyed: impl Fn(&Name) -> bool,
) -> Vec<TallyChange> {
    if live.tallies == replayed.tallies && named.is_empty() {
        return Vec::new();
    }
    let mut changes = Vec::new();
    let all = live.tallies.iter().chain(&replayed.tallies);
    for counter in all.map(|it| &it.counter).chain(named.iter().copied()).collect::<BTreeSet<_>>() {
        changes.push(TallyChange { counter: counter.clone(), key: Name::new(""), tally: None });
    }
    for Tallies { counter, by_key } in &live.tallies {
        for (key, tally) in by_key {
            if !keyed(counter) || replayed.tally(counter, key) == Some(tally) {
                let (counter, key) = (counter.clone(), key.clone());
                changes.push(TallyChange { counter, key, tally: Some(tally.clone()) });
            }
        }
    }
    changes
}
