//! What an entity becomes when values and words of some of its entries are dropped from the journal.
//!
//! Whatever replaying what is left would not give is named by one more entry, so that a replay still comes to
//! the entity as it is. Nothing old comes back: a value that came from a dropped entry is gone, not replaced by
//! the one before it.

use std::collections::BTreeSet;

use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::apply::apply;
use crate::entity::{Entity, Tallies};
use crate::event::{Entry, TallyChange};
use crate::view::View;

/// The entity that these entries come to, the contents of some of them left out. They are all of its entries, in order.
pub fn replayed(history: &[Entry], without: &BTreeSet<u64>) -> Option<Entity> {
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

/// Fields that came from what is dropped, each with what it becomes: nothing.
pub fn cleared(live: &Entity, replayed: &Entity) -> Vec<(Name, Value)> {
    let names: BTreeSet<&Name> =
        live.fields.iter().chain(replayed.fields.iter()).map(|(name, _)| name).collect();
    let differs = |name: &&Name| live.fields.get(name) != replayed.fields.get(name);
    names.into_iter().filter(differs).map(|name| (name.clone(), Value::Null)).collect()
}

/// Tallies written anew where they would come out otherwise, and those of the counters that are named. Numbers stay, since rules count on them; those under
/// a key that came from what is dropped go, since the key itself is made of values.
pub fn recounted(
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
