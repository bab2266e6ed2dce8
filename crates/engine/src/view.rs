//! What decisions may see.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use crate::entity::Entity;
use crate::event::{KeyRecord, Shift};
use crate::index::Index;
use crate::key::{EntityKey, GroupKey};
use crate::ranking::Rankings;

/// What is known of an entity.
#[derive(Debug)]
pub enum Found<T> {
    Here(T),
    /// There is none.
    Absent,
    /// Nobody has looked yet.
    Unknown,
}

/// Entities, the counts of those that refer to them, and the project around them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Shared, so that a copy of a view is cheap until something moves.
    entities: Index<EntityKey, Arc<Entity>>,
    groups: Index<GroupKey, Group>,
    keys: Index<(Name, Name), (u64, KeyRecord)>,
    sames: Index<(Name, Name), EntityKey>,
    pub rankings: Rankings,
    pub project: Project,
    /// The number of the last entry applied.
    pub seq: u64,
    /// It holds only part of what exists: what is not here may be elsewhere.
    pub partial: bool,
    /// With `partial`: looked for, and not there.
    absent: Index<EntityKey, ()>,
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
    /// By state, so that those in one state are found without a look at the others.
    pub members: BTreeMap<Name, BTreeSet<EntityKey>>,
    /// When one of them last moved, joined or left.
    pub moved_at: Option<Timestamp>,
}

impl View {
    pub fn entity(&self, key: &EntityKey) -> Found<&Entity> {
        match self.entities.get(key) {
            Some(entity) => Found::Here(entity),
            None if self.partial && self.absent.get(key).is_none() => Found::Unknown,
            None => Found::Absent,
        }
    }

    pub fn get(&self, key: &EntityKey) -> Option<&Entity> {
        self.entities.get(key).map(|it| &**it)
    }

    pub fn group(&self, key: &GroupKey) -> Option<&Group> {
        self.groups.get(key)
    }

    /// The open entity of a lifecycle that has this value.
    pub fn same(&self, lifecycle: &Name, value: &Name) -> Option<&EntityKey> {
        self.sames.get(&(lifecycle.clone(), value.clone()))
    }

    pub fn key(&self, actor: &Name, key: &Name) -> Option<&(u64, KeyRecord)> {
        self.keys.get(&(actor.clone(), key.clone()))
    }

    /// Every entity in the order of the keys: slow, for exports, sweeps and comparisons.
    pub fn entities(&self) -> Vec<&Entity> {
        self.entities.sorted().into_iter().map(|(_, it)| &**it).collect()
    }

    pub fn len(&self) -> usize {
        self.entities.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Notes that an entity was looked for and is not there.
    pub fn mark_absent(&mut self, key: EntityKey) {
        self.absent.insert(key, ());
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
        self.entities.get_mut(key).map(Arc::make_mut)
    }

    fn put(&mut self, entity: Entity) {
        self.entities.insert(entity.key.clone(), Arc::new(entity));
    }

    fn set_same(&mut self, key: &EntityKey, before: Option<&Name>, after: Option<&Name>) {
        if let Some(before) = before {
            self.sames.remove(&(key.lifecycle.clone(), before.clone()));
        }
        if let Some(after) = after {
            self.sames.insert((key.lifecycle.clone(), after.clone()), key.clone());
        }
    }

    fn shift(&mut self, member: &EntityKey, shift: &Shift, at: Timestamp) {
        let group = self.groups.entry(shift.group.clone());
        group.moved_at = Some(at);
        shift_counts(&mut group.counts, shift);
        if let Some(from) = &shift.from
            && let Some(there) = group.members.get_mut(from)
        {
            there.remove(member);
            if there.is_empty() {
                group.members.remove(from);
            }
        }
        if let Some(to) = &shift.to {
            group.members.entry(to.clone()).or_default().insert(member.clone());
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
