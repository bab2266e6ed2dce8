//! A decision under construction: the view, with the decision's own events applied.

use std::collections::BTreeMap;

use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use crate::apply::apply_to;
use crate::entity::Entity;
use crate::event::{Entry, Shift};
use crate::index::Index;
use crate::key::{EntityKey, GroupKey};
use crate::view::{Found, Ledger, Lookup, shift_counts};

#[derive(Clone)]
pub(super) struct DecisionDraft<'a> {
    base: &'a Lookup<'a>,
    entities: Touched,
    /// Counts of the groups that it changed; none if the earlier counts are not known.
    counts: BTreeMap<GroupKey, Option<BTreeMap<Name, u64>>>,
    /// Entities that moved within a group, and their new state. None: it left the group.
    moved: BTreeMap<(GroupKey, EntityKey), Option<Name>>,
    /// Values taken (some) or given free (none) by this decision.
    unique_values: BTreeMap<(Name, Name), Option<EntityKey>>,
    pub entries: Vec<Entry>,
}

/// The entities of a decision. Few are found fastest by looking; many have an index.
#[derive(Clone, Default)]
struct Touched {
    all: Vec<Entity>,
    places: Index<EntityKey, usize>,
}

/// Up to this number, entities are found by a scan instead of an index.
const FEW: usize = 8;

impl Touched {
    fn place(&self, key: &EntityKey) -> Option<usize> {
        if self.all.len() <= FEW {
            return self.all.iter().position(|it| it.key == *key);
        }
        self.places.get(key).copied()
    }

    fn get(&self, key: &EntityKey) -> Option<&Entity> {
        self.all.get(self.place(key)?)
    }

    fn get_mut(&mut self, key: &EntityKey) -> Option<&mut Entity> {
        let place = self.place(key)?;
        self.all.get_mut(place)
    }

    fn put(&mut self, entity: Entity) {
        if let Some(known) = self.get_mut(&entity.key) {
            *known = entity;
            return;
        }
        if self.all.len() == FEW {
            for (place, it) in self.all.iter().enumerate() {
                self.places.insert(it.key.clone(), place);
            }
        }
        if self.all.len() >= FEW {
            self.places.insert(entity.key.clone(), self.all.len());
        }
        self.all.push(entity);
    }
}

impl<'a> DecisionDraft<'a> {
    pub fn new(base: &'a Lookup<'a>) -> Self {
        Self {
            base,
            entities: Touched::default(),
            counts: BTreeMap::new(),
            moved: BTreeMap::new(),
            unique_values: BTreeMap::new(),
            entries: Vec::new(),
        }
    }

    pub fn base(&self) -> &'a Lookup<'a> {
        self.base
    }

    pub fn entity(&self, key: &EntityKey) -> Found<&Entity> {
        match self.entities.get(key) {
            Some(entity) => Found::Here(entity),
            None => self.base.entity(key),
        }
    }

    /// An entity that is followed through a field of ids.
    pub fn reached(&self, key: &EntityKey, by: &Name) -> Found<&Entity> {
        match self.entities.get(key) {
            Some(entity) => Found::Here(entity),
            None => self.base.reached(key, by),
        }
    }

    pub fn counts(&self, group: &GroupKey) -> Found<&BTreeMap<Name, u64>> {
        match self.counts.get(group) {
            Some(Some(counts)) => Found::Here(counts),
            _ => self.base.group(group).map(|it| &it.counts),
        }
    }

    /// The time of a group's last move; `now` if this decision moved a member.
    pub fn moved_at(&self, group: &GroupKey, now: Timestamp) -> Found<Option<Timestamp>> {
        if self.counts.contains_key(group) {
            return Found::Here(Some(now));
        }
        self.base.group(group).map(|it| it.moved_at)
    }

    /// Members of a group in the wanted states, in key order; at most `most + 1`.
    pub fn members(
        &self,
        group: &GroupKey,
        most: usize,
        wanted: impl Fn(&Name) -> bool,
    ) -> Found<Vec<EntityKey>> {
        let known = match self.base.group_with_members(group) {
            Found::Here(it) => Some(it),
            Found::Absent => None,
            Found::Unknown => return Found::Unknown,
        };
        let moved = |member: &EntityKey| self.moved.contains_key(&(group.clone(), member.clone()));
        let states = known.into_iter().flat_map(|it| &it.members);
        let mut members: Vec<EntityKey> = states
            .filter(|(state, _)| wanted(state))
            .flat_map(|(_, members)| members)
            .filter(|it| !moved(it))
            .take(most.saturating_add(1))
            .cloned()
            .collect();
        for ((of, member), state) in &self.moved {
            if of == group && state.as_ref().is_some_and(&wanted) {
                members.push(member.clone());
            }
        }
        members.sort();
        Found::Here(members)
    }

    /// The open entity that has this value.
    pub fn unique_holder(&self, lifecycle: &Name, value: &Name) -> Found<EntityKey> {
        match self.unique_values.get(&(lifecycle.clone(), value.clone())) {
            Some(Some(it)) => Found::Here(it.clone()),
            Some(None) => Found::Absent,
            None => self.base.unique_holder(lifecycle, value).map(EntityKey::clone),
        }
    }

    pub fn next_seq(&self) -> u64 {
        self.base.seq + self.entries.len() as u64 + 1
    }

    pub fn record(&mut self, entry: Entry) {
        apply_to(self, &entry);
        self.entries.push(entry);
    }

    /// Records a move whose outcome is known already: `outcome` is what `apply` would give.
    pub fn record_move(&mut self, entry: Entry, mut outcome: Entity) {
        outcome.seq = entry.seq;
        if let Some(changes) = entry.event.changes() {
            for shift in &changes.shifts {
                self.shift(&entry.entity, shift, entry.at);
            }
            if let Some(same) = &changes.same {
                let before = match self.entity(&entry.entity) {
                    Found::Here(it) => it.same.clone(),
                    _ => None,
                };
                self.set_unique(&entry.entity, before.as_ref(), same.value());
            }
        }
        self.entities.put(outcome);
        self.entries.push(entry);
    }

    /// Whether applying the entries one by one gives this draft.
    pub fn agrees(&self) -> bool {
        let mut again = Self::new(self.base);
        for entry in &self.entries {
            again.record(entry.clone());
        }
        let sorted = |it: &Self| {
            let mut all = it.entities.all.clone();
            all.sort_by(|a, b| a.key.cmp(&b.key));
            all
        };
        sorted(&again) == sorted(self)
            && again.counts == self.counts
            && again.unique_values == self.unique_values
    }

    /// Owners of the groups whose counts changed.
    pub fn owners_of_changed_groups(&self) -> Vec<EntityKey> {
        let mut owners: Vec<EntityKey> = self.counts.keys().map(|it| it.of.clone()).collect();
        owners.dedup();
        owners
    }
}

impl Ledger for DecisionDraft<'_> {
    fn entity_mut(&mut self, key: &EntityKey) -> Option<&mut Entity> {
        if self.entities.get(key).is_none() {
            let entity = self.base.get(key)?.clone();
            self.entities.put(entity);
        }
        self.entities.get_mut(key)
    }

    fn put(&mut self, entity: Entity) {
        self.entities.put(entity);
    }

    fn set_unique(&mut self, key: &EntityKey, before: Option<&Name>, after: Option<&Name>) {
        if let Some(before) = before {
            self.unique_values.insert((key.lifecycle.clone(), before.clone()), None);
        }
        if let Some(after) = after {
            self.unique_values.insert((key.lifecycle.clone(), after.clone()), Some(key.clone()));
        }
    }

    fn shift(&mut self, member: &EntityKey, shift: &Shift, _: Timestamp) {
        if !self.counts.contains_key(&shift.group) {
            // A decision that only moves a member need not know the counts.
            self.counts.insert(shift.group.clone(), self.base.known_counts(&shift.group));
        }
        if let Some(Some(counts)) = self.counts.get_mut(&shift.group) {
            shift_counts(counts, shift);
        }
        self.moved.insert((shift.group.clone(), member.clone()), shift.to.clone());
    }
}
