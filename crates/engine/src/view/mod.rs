//! What decisions may see.
//!
//! A view holds everything, or, where it is `partial`, what was loaded into it: then every question about
//! something else is answered with `Unknown` and noted, and no decision is built on it.

pub(crate) mod held;
mod load;
mod need;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use crate::entity::Entity;
use crate::event::{KeyRecord, Shift};
use crate::index::Index;
use crate::key::{EntityKey, GroupKey};
use crate::ranking::{Ranking, RankingKey, Rankings};
use held::Held;
use need::Missed;
pub use need::Need;

/// The longest list of members that a partial view keeps along for whoever asked for it.
const LONGEST: u64 = 4_096;
/// The same where nobody did: keeping a long one in order costs more with every move than reading it once.
const SHORT: u64 = 64;

/// What is known of an entity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found<T> {
    Here(T),
    /// There is none.
    Absent,
    /// Nobody has looked yet.
    Unknown,
}

impl<T> Found<T> {
    /// What is here; what is unknown counts as absent, so this is for whole views.
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
    /// Shared, so that a copy of a view is cheap until something moves.
    entities: Index<EntityKey, Held<Arc<Entity>>>,
    groups: Index<GroupKey, Held<Group>>,
    keys: Index<(Name, Name), (u64, KeyRecord)>,
    /// By lifecycle and value; none: known to be free.
    sames: Index<(Name, Name), Option<EntityKey>>,
    pub rankings: Rankings,
    pub project: Project,
    /// The number of the last entry applied.
    pub seq: u64,
    /// When the server last came back after it was away. Not stored: whoever runs it says so.
    pub resumed_at: Option<Timestamp>,
    /// It holds only part of what exists: what is not here may be elsewhere.
    pub partial: bool,
    /// With `partial`: looked for, and not there.
    absent: Index<EntityKey, ()>,
    /// With `partial`: keys looked for, and not there.
    unused: Index<(Name, Name), ()>,
    missed: Missed,
}

/// What is the same for the whole project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Project {
    /// Overrides of settings, by pack.
    pub settings: BTreeMap<Name, BTreeMap<Name, Value>>,
    /// IANA name of its time zone; empty means UTC.
    pub zone: String,
    /// Ids of the people it knows.
    pub people: Vec<Name>,
}

/// Those that refer to an entity under one name: how many per state, and who.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub counts: BTreeMap<Name, u64>,
    /// Whether `members` is all of them; in a partial view often only the counts are known.
    pub listed: bool,
    /// By state, so that those in one state are found without a look at the others.
    pub members: BTreeMap<Name, BTreeSet<EntityKey>>,
    /// When one of them last moved, joined or left.
    pub moved_at: Option<Timestamp>,
}

impl Group {
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
            Some(held) => Found::Here(held.used()),
            None if self.partial && self.absent.get(key).is_none() => self.missing(Need::Entity(key.clone())),
            None => Found::Absent,
        }
    }

    pub fn get(&self, key: &EntityKey) -> Option<&Entity> {
        self.entities.get(key).map(|it| &**it.used())
    }

    /// The same, to be kept: it stays as it is when the view goes on.
    pub fn image(&self, key: &EntityKey) -> Option<Arc<Entity>> {
        self.entities.get(key).map(|it| it.used().clone())
    }

    pub fn group(&self, key: &GroupKey) -> Found<&Group> {
        match self.groups.get(key) {
            Some(held) => Found::Here(held.used()),
            None if self.partial && !self.is_whole(&key.of) => self.missing(Need::Counts(key.clone())),
            None => Found::Absent,
        }
    }

    /// How many of a group there are in which state, where that is known, without a need for more.
    pub(crate) fn known_counts(&self, key: &GroupKey) -> Option<BTreeMap<Name, u64>> {
        match self.groups.get(key) {
            Some(group) => Some(group.counts.clone()),
            None if self.partial && !self.is_whole(&key.of) => None,
            None => Some(BTreeMap::new()),
        }
    }

    /// A group as far as it is known, without a need for more.
    pub(crate) fn peek(&self, key: &GroupKey) -> Option<&Group> {
        self.groups.get(key).map(Held::used)
    }

    /// A group whose members are known.
    pub fn listed(&self, key: &GroupKey) -> Found<&Group> {
        match self.groups.get(key) {
            Some(held) if held.listed || !self.partial || held.counts.is_empty() => Found::Here(held.used()),
            None if !self.partial || self.is_whole(&key.of) => Found::Absent,
            _ => self.missing(Need::Members(key.clone())),
        }
    }

    pub fn ranking(&self, key: &RankingKey) -> Found<&Ranking> {
        match self.rankings.get(key) {
            Some(ranking) => Found::Here(ranking),
            None if self.partial && !self.rankings.is_known(key) => self.missing(Need::Ranking(key.clone())),
            None => Found::Absent,
        }
    }

    /// The open entity of a lifecycle that has this value.
    pub fn same(&self, lifecycle: &Name, value: &Name) -> Found<&EntityKey> {
        match self.sames.get(&(lifecycle.clone(), value.clone())) {
            Some(Some(key)) => Found::Here(key),
            None if self.partial => {
                self.missing(Need::Same { lifecycle: lifecycle.clone(), value: value.clone() })
            }
            _ => Found::Absent,
        }
    }

    pub fn key(&self, actor: &Name, key: &Name) -> Found<&(u64, KeyRecord)> {
        let both = (actor.clone(), key.clone());
        match self.keys.get(&both) {
            Some(known) => Found::Here(known),
            None if self.partial && self.unused.get(&both).is_none() => {
                self.missing(Need::Key { actor: actor.clone(), key: key.clone() })
            }
            None => Found::Absent,
        }
    }

    /// Whether the groups of an entity that are not here are empty.
    fn is_whole(&self, owner: &EntityKey) -> bool {
        self.entities.get(owner).is_some_and(|it| it.whole)
    }

    fn missing<T>(&self, need: Need) -> Found<T> {
        self.missed.note(need);
        Found::Unknown
    }

    /// Notes that something is needed, for whoever answers it by what [`View::missed`] says.
    pub fn want(&self, need: Need) {
        self.missed.note(need);
    }

    /// What was asked for since this was last called, and is not here. An answer given meanwhile counts only if this is empty.
    pub fn missed(&self) -> Vec<Need> {
        if self.partial { self.missed.take() } else { Vec::new() }
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

    pub(crate) fn remember(&mut self, seq: u64, record: &KeyRecord) {
        self.keys.insert((record.by.clone(), record.key.clone()), (seq, record.clone()));
    }
}

/// Where events are applied to: the view, or the draft of a decision.
pub trait Ledger {
    fn entity_mut(&mut self, key: &EntityKey) -> Option<&mut Entity>;
    fn put(&mut self, entity: Entity);
    fn shift(&mut self, member: &EntityKey, shift: &Shift, at: Timestamp);
    /// An entity takes a value that no other open one may have, or gives it free.
    fn set_same(&mut self, key: &EntityKey, before: Option<&Name>, after: Option<&Name>);
}

impl Ledger for View {
    fn entity_mut(&mut self, key: &EntityKey) -> Option<&mut Entity> {
        self.entities.get_mut(key).map(|it| Arc::make_mut(it))
    }

    fn put(&mut self, entity: Entity) {
        self.entities.insert(entity.key.clone(), Held::new(Arc::new(entity)));
    }

    fn set_same(&mut self, key: &EntityKey, before: Option<&Name>, after: Option<&Name>) {
        let of = |value: &Name| (key.lifecycle.clone(), value.clone());
        // Another may have it: that this one let go was redacted, and is told only now.
        let place = before.map(of).filter(|it| {
            let holder = self.sames.get(it).and_then(|it| it.as_ref());
            holder.is_none_or(|it| it == key)
        });
        if let Some(place) = place {
            if self.partial {
                self.sames.insert(place, None);
            } else {
                self.sames.remove(&place);
            }
        }
        if let Some(after) = after {
            self.sames.insert(of(after), Some(key.clone()));
        }
    }

    fn shift(&mut self, member: &EntityKey, shift: &Shift, at: Timestamp) {
        // What nobody has asked for is not counted along: it is loaded with this when somebody does.
        let group = match self.groups.get_mut(&shift.group) {
            Some(group) => group,
            None if self.partial && !self.entities.get(&shift.group.of).is_some_and(|it| it.whole) => return,
            None => {
                let group = self.groups.entry(shift.group.clone());
                // It was empty, and is known from its first member on.
                group.listed = self.partial;
                group
            }
        };
        group.shift(member, shift, at, !self.partial);
        // How many they are is enough, until somebody asks who; of more than the longest nobody may.
        let most = if group.asked { LONGEST } else { SHORT };
        if self.partial && group.listed && group.counts.values().sum::<u64>() > most {
            group.listed = false;
            group.members = BTreeMap::new();
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
