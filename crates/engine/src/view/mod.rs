//! The data that decisions read: entities, groups, rankings, idempotency keys and the project.
//!
//! A whole view holds everything. A `partial` one holds only loaded data and answers `Unknown` to a
//! question about the rest. A [`Lookup`] collects these questions, so that no decision relies on missing
//! data.

pub(crate) mod cached;
pub(crate) mod copy_on_write;
mod load;
mod lookup;
mod need;
mod pauses;
mod ring;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use crate::entity::Entity;
use crate::event::{KeyRecord, Shift};
use crate::index::Index;
use crate::key::{EntityKey, GroupKey};
use crate::ranking::{RankingIndex, RankingKey, Rankings};
use cached::Cached;
use copy_on_write::CopyOnWrite;
pub use load::{CacheLimit, EvictionProgress};
pub use lookup::Lookup;
pub use need::{Need, Needs};
pub use pauses::Pauses;
use ring::EvictionRing;

/// The longest list of members that a partial view keeps up to date after a question needed it.
const LONGEST: u64 = 4_096;
/// The limit if no question needed the list: updating a long list with every move costs more than reading
/// it once.
const SHORT: u64 = 64;

/// Most entities that are followed through one ref.
pub const MOST_REACHED: usize = 10_000;

/// The answer of a view to a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found<T> {
    Here(T),
    /// It does not exist.
    Absent,
    /// It is not loaded.
    Unknown,
}

impl<T> Found<T> {
    /// The value. `Unknown` counts as absent, so this is for whole views.
    pub fn here(self) -> Option<T> {
        match self {
            Self::Here(it) => Some(it),
            Self::Absent | Self::Unknown => None,
        }
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Found<U> {
        match self {
            Self::Here(it) => Found::Here(change(it)),
            Self::Absent => Found::Absent,
            Self::Unknown => Found::Unknown,
        }
    }
}

/// Entities, the counts of those that refer to them, and the project around them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Shared, so that a copy of a view is cheap.
    entities: Index<EntityKey, Cached<Arc<Entity>>>,
    groups: Index<GroupKey, Cached<CopyOnWrite<Group>>>,
    keys: Index<(Name, Name), (u64, KeyRecord)>,
    /// By lifecycle and value; none: known to be free.
    unique_values: Index<(Name, Name), Option<EntityKey>>,
    pub rankings: Rankings,
    pub project: Project,
    /// The number of the last entry applied.
    pub seq: u64,
    /// The time at which the server last came back. Not stored: the runtime sets it.
    pub resumed_at: Option<Timestamp>,
    /// Shorter pauses of the server's loop since then. Not stored either.
    pub pauses: Pauses,
    /// Whether it holds only loaded data.
    pub partial: bool,
    /// If partial: entities that do not exist.
    absent: Index<EntityKey, ()>,
    /// If partial: idempotency keys that were never used.
    unused: Index<(Name, Name), ()>,
    /// If partial: the memory that entities and groups take, and the order in which they are evicted.
    entity_bytes: CachedBytes,
    group_bytes: CachedBytes,
    entity_ring: EvictionRing<EntityKey>,
    group_ring: EvictionRing<GroupKey>,
}

/// Memory that cached items take, about. It does not count when views are compared.
#[derive(Clone, Copy, Debug, Default)]
struct CachedBytes(usize);

impl CachedBytes {
    /// An item that took `before` takes `after` now.
    fn replace(&mut self, before: &mut usize, after: usize) {
        self.0 = (self.0 + after).saturating_sub(*before);
        *before = after;
    }

    fn remove(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes);
    }
}

impl PartialEq for CachedBytes {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Settings, time zone and people of the project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Project {
    /// Overrides of settings, by pack.
    pub settings: BTreeMap<Name, BTreeMap<Name, Value>>,
    /// IANA name of its time zone; empty means UTC.
    pub zone: String,
    /// Ids of the people it knows.
    pub people: Vec<Name>,
}

/// The entities that refer to an entity under one name: counts per state, and members.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub counts: BTreeMap<Name, u64>,
    /// Whether `members` is complete; in a partial view often only the counts are known.
    pub listed: bool,
    /// By state, so that the members in one state are found directly.
    pub members: BTreeMap<Name, BTreeSet<EntityKey>>,
    /// The time at which a member last moved, joined or left.
    pub moved_at: Option<Timestamp>,
}

impl Group {
    /// Whether `members` is the whole group.
    fn lists_all(&self) -> bool {
        self.listed || self.counts.is_empty()
    }

    /// The memory that it takes, about.
    fn bytes(&self) -> usize {
        /// Of a member: its key in a tree.
        const MEMBER: usize = 2 * size_of::<EntityKey>();
        let states = self.counts.len() + self.members.len();
        let members: usize = self.members.values().map(BTreeSet::len).sum();
        size_of::<Self>() + 2 * size_of::<GroupKey>() + states * 3 * size_of::<Name>() + members * MEMBER
    }

    /// A member joins, leaves or changes its state.
    pub fn shift(&mut self, member: &EntityKey, shift: &Shift, at: Timestamp, listed: bool) {
        self.moved_at = Some(at);
        shift_counts(&mut self.counts, shift);
        if !listed && !self.listed {
            return;
        }
        if let Some(from) = &shift.from
            && let Some(there) = self.members.get_mut(from)
        {
            there.remove(member);
            if there.is_empty() {
                self.members.remove(from);
            }
        }
        if let Some(to) = &shift.to {
            self.members.entry(to.clone()).or_default().insert(member.clone());
        }
    }
}

impl View {
    pub fn entity(&self, key: &EntityKey) -> Found<&Entity> {
        match self.entities.get(key) {
            Some(cached) => found(cached).map(|it| &**it),
            None if self.partial && self.absent.get(key).is_none() => Found::Unknown,
            None => Found::Absent,
        }
    }

    /// An entity if it is loaded, idle or not.
    pub fn get(&self, key: &EntityKey) -> Option<&Entity> {
        self.entities.get(key).map(|it| &***it)
    }

    /// A snapshot of an entity, which later changes of the view do not affect.
    pub fn image(&self, key: &EntityKey) -> Option<Arc<Entity>> {
        self.entities.get(key).map(|it| Arc::clone(it))
    }

    pub fn group(&self, key: &GroupKey) -> Found<&Group> {
        match self.groups.get(key) {
            Some(cached) => found(cached).map(|it| &**it),
            None if self.partial && !self.is_whole(&key.of) => Found::Unknown,
            None => Found::Absent,
        }
    }

    /// The counts of a group if they are known.
    pub(crate) fn known_counts(&self, key: &GroupKey) -> Option<BTreeMap<Name, u64>> {
        match self.groups.get(key) {
            Some(group) => Some(group.counts.clone()),
            None if self.partial && !self.is_whole(&key.of) => None,
            None => Some(BTreeMap::new()),
        }
    }

    /// A group whose members are known.
    pub fn group_with_members(&self, key: &GroupKey) -> Found<&Group> {
        match self.groups.get(key) {
            Some(cached) if !self.partial || cached.lists_all() => found(cached).map(|it| &**it),
            None if !self.partial || self.is_whole(&key.of) => Found::Absent,
            _ => Found::Unknown,
        }
    }

    pub fn ranking(&self, key: &RankingKey) -> Found<&RankingIndex> {
        match self.rankings.cached(key) {
            Some(cached) => found(cached).map(|it| &**it),
            None if self.partial && !self.rankings.is_known(key) => Found::Unknown,
            None => Found::Absent,
        }
    }

    /// The open entity of a lifecycle that has this unique value.
    pub fn unique_holder(&self, lifecycle: &Name, value: &Name) -> Found<&EntityKey> {
        match self.unique_values.get(&(lifecycle.clone(), value.clone())) {
            Some(Some(key)) => Found::Here(key),
            None if self.partial => Found::Unknown,
            _ => Found::Absent,
        }
    }

    /// The record of an idempotency key, and the number of its first entry.
    pub fn key(&self, actor: &Name, key: &Name) -> Found<&(u64, KeyRecord)> {
        let both = (actor.clone(), key.clone());
        match self.keys.get(&both) {
            Some(known) => Found::Here(known),
            None if self.partial && self.unused.get(&both).is_none() => Found::Unknown,
            None => Found::Absent,
        }
    }

    /// Answers a question that reads several things.
    pub fn read<'a, T>(&'a self, question: impl FnOnce(&Lookup<'a>) -> T) -> Result<T, Needs> {
        let lookup = Lookup::new(self);
        let answer = question(&lookup);
        lookup.finish(answer)
    }

    /// Whether the groups of an entity that are not loaded are empty.
    fn is_whole(&self, owner: &EntityKey) -> bool {
        self.entities.get(owner).is_some_and(|it| it.whole)
    }

    /// Every entity in the order of the keys: slow, for exports, sweeps and comparisons.
    pub fn entities(&self) -> Vec<&Entity> {
        self.entities.sorted().into_iter().map(|(_, it)| &***it).collect()
    }

    pub fn len(&self) -> usize {
        self.entities.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// The memory that cached entities and groups take, about.
    pub fn bytes(&self) -> usize {
        self.entity_bytes.0 + self.group_bytes.0
    }

    pub(crate) fn remember(&mut self, seq: u64, record: &KeyRecord) {
        self.keys.insert((record.by.clone(), record.key.clone()), (seq, record.clone()));
    }
}

/// Only a partial view ever has idle values.
fn found<T>(cached: &Cached<T>) -> Found<&T> {
    cached.in_use().map_or(Found::Unknown, Found::Here)
}

/// The target of applied events: the view, or the draft of a decision.
pub trait Ledger {
    fn entity_mut(&mut self, key: &EntityKey) -> Option<&mut Entity>;
    fn put(&mut self, entity: Entity);
    fn shift(&mut self, member: &EntityKey, shift: &Shift, at: Timestamp);
    /// An entity takes a value that no other open one may have, or gives it free.
    fn set_unique(&mut self, key: &EntityKey, before: Option<&Name>, after: Option<&Name>);
}

impl Ledger for View {
    fn entity_mut(&mut self, key: &EntityKey) -> Option<&mut Entity> {
        self.entities.get_mut(key).map(|it| Arc::make_mut(it))
    }

    fn put(&mut self, entity: Entity) {
        self.keep_entity(Cached::new(Arc::new(entity)));
    }

    fn set_unique(&mut self, key: &EntityKey, before: Option<&Name>, after: Option<&Name>) {
        let of = |value: &Name| (key.lifecycle.clone(), value.clone());
        // Another entity may have taken the value: the entry by which this one freed it was redacted.
        let place = before.map(of).filter(|it| {
            let holder = self.unique_values.get(it).and_then(|it| it.as_ref());
            holder.is_none_or(|it| it == key)
        });
        if let Some(place) = place {
            if self.partial {
                self.unique_values.insert(place, None);
            } else {
                self.unique_values.remove(&place);
            }
        }
        if let Some(after) = after {
            self.unique_values.insert(of(after), Some(key.clone()));
        }
    }

    fn shift(&mut self, member: &EntityKey, shift: &Shift, at: Timestamp) {
        // A group that is not loaded is not updated: loading it later includes this entry.
        let group = match self.groups.get_mut(&shift.group) {
            Some(group) => group,
            None if self.partial && !self.entities.get(&shift.group.of).is_some_and(|it| it.whole) => return,
            None => {
                if self.partial {
                    self.group_ring.push(shift.group.clone());
                }
                let group = self.groups.entry(shift.group.clone());
                // The group was empty, so the list is complete from its first member on.
                group.listed = self.partial;
                group
            }
        };
        group.shift(member, shift, at, !self.partial);
        // Counts are enough until a question needs the members. Longer lists are not kept.
        let most = if group.asked { LONGEST } else { SHORT };
        if self.partial && group.listed && group.counts.values().sum::<u64>() > most {
            group.listed = false;
            group.members = BTreeMap::new();
        }
        if self.partial {
            let bytes = group.value.bytes();
            self.group_bytes.replace(&mut group.bytes, bytes);
        }
    }
}

pub(crate) fn shift_counts(counts: &mut BTreeMap<Name, u64>, shift: &Shift) {
    if let Some(from) = &shift.from
        && let Some(count) = counts.get_mut(from)
    {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(from);
        }
    }
    if let Some(to) = &shift.to {
        *counts.entry(to.clone()).or_default() += 1;
    }
}

#[cfg(test)]
mod tests;
