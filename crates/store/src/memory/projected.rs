//! Projections as maps in memory.

use std::collections::{BTreeMap, BTreeSet};

use trackside_engine::event::KeyRecord;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{RankingIndex, RankingKey};
use trackside_engine::view::Project;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use crate::store::{Counts, DueAt, DwellTimes, OpenEffectRow};
use crate::{EntityRow, GroupChange, Projection, StoreError};

/// All projections.
#[derive(Clone, Default)]
pub(super) struct Projected {
    pub position: u64,
    pub project: Option<Project>,
    pub entities: BTreeMap<EntityKey, EntityRow>,
    /// Per lifecycle, how many are in which state.
    pub states: BTreeMap<Name, BTreeMap<Name, u64>>,
    pub timers: BTreeSet<DueAt>,
    pub effects: BTreeMap<u64, OpenEffectRow>,
    pub groups: BTreeMap<GroupKey, Kin>,
    pub rankings: BTreeMap<RankingKey, RankingIndex>,
    pub unique_values: BTreeMap<(Name, Name), EntityKey>,
    pub keys: BTreeMap<(Name, Name), (u64, KeyRecord)>,
    /// Keys by their age.
    ages: BTreeSet<(Timestamp, u64, Name, Name)>,
    pub notices: BTreeSet<(u64, &'static str)>,
    pub dwell_times: BTreeMap<Name, BTreeMap<Name, DwellTimes>>,
}

/// A group: its counts and members.
#[derive(Clone, Default)]
pub(super) struct Kin {
    pub counts: Counts,
    pub members: BTreeSet<EntityKey>,
}

/// One transaction.
pub(super) enum Write {
    Project(Box<Projection>),
    Expire { before: Timestamp, most: usize },
    Clear,
}

impl Projected {
    /// Writes all of it or nothing. Returns the number of expired keys.
    pub fn write(&mut self, write: &Write) -> Result<usize, StoreError> {
        match write {
            Write::Project(projection) => self.project(projection).map(|()| 0),
            Write::Expire { before, most } => Ok(self.expire(*before, *most)),
            Write::Clear => {
                *self = Self::default();
                Ok(0)
            }
        }
    }

    fn project(&mut self, all: &Projection) -> Result<(), StoreError> {
        if all.position <= self.position {
            let why = format!("{} is not after {}, which is written already", all.position, self.position);
            return Err(StoreError::io(format!("writing projections up to entry {}", all.position), why));
        }
        self.position = all.position;
        for row in &all.entities {
            if all.to_rebuild.contains(&row.entity.key) {
                self.timers.retain(|it| it.entity != row.entity.key);
                self.effects.retain(|_, it| it.entity != row.entity.key);
            }
            self.put(row);
        }
        if !all.to_rebuild.is_empty() {
            self.states.clear();
            for row in self.entities.values() {
                let of = self.states.entry(row.entity.key.lifecycle.clone()).or_default();
                count(of, &row.entity.state, 1);
            }
        }
        for (key, change) in &all.groups {
            self.groups.entry(key.clone()).or_default().change(change);
        }
        for (key, groups) in &all.regrouped {
            self.regroup(key, groups);
        }
        for change in &all.reranked {
            self.rankings.entry(change.ranking()).or_default().change(change);
        }
        for (lifecycle, value, id) in &all.freed {
            let place = (lifecycle.clone(), value.clone());
            if self.unique_values.get(&place).is_some_and(|it| it.id == *id) {
                self.unique_values.remove(&place);
            }
        }
        for (place, holder) in &all.unique_values {
            match holder {
                Some(holder) => self.unique_values.insert(place.clone(), holder.clone()),
                None => self.unique_values.remove(place),
            };
        }
        for (seq, at, record) in &all.keys {
            let (by, key) = (record.by.clone(), record.key.clone());
            self.ages.insert((*at, *seq, by.clone(), key.clone()));
            self.keys.insert((by, key), (*seq, record.clone()));
        }
        self.notices.extend(all.notices.iter().map(|it| (it.seq, it.kind)));
        for (kind, seq) in &all.settled {
            self.notices.remove(&(*seq, *kind));
        }
        for (lifecycle, state, ms) in &all.dwell_times {
            let of = self.dwell_times.entry(lifecycle.clone()).or_default();
            of.entry(state.clone()).or_default().add(*ms);
        }
        if let Some(project) = &all.project {
            self.project = Some(project.clone());
        }
        Ok(())
    }

    /// Writes an entity and its derived rows.
    fn put(&mut self, row: &EntityRow) {
        let key = &row.entity.key;
        if let Some(old) = self.entities.insert(key.clone(), row.clone()) {
            for due in timers_of(&old) {
                self.timers.remove(&due);
            }
            for effect in &old.entity.effects {
                self.effects.remove(&effect.id);
            }
            let of = self.states.entry(key.lifecycle.clone()).or_default();
            count(of, &old.entity.state, -1);
        }
        self.timers.extend(timers_of(row));
        for it in &row.entity.effects {
            let open = OpenEffectRow { id: it.id, effect: it.effect.clone(), entity: key.clone() };
            self.effects.insert(it.id, open);
        }
        count(self.states.entry(key.lifecycle.clone()).or_default(), &row.entity.state, 1);
    }

    /// Makes an entity a member of exactly these groups, and recounts these groups and its own.
    fn regroup(&mut self, key: &EntityKey, groups: &[GroupKey]) {
        for (name, kin) in &mut self.groups {
            let wanted = groups.contains(name);
            let changed = match wanted {
                true => kin.members.insert(key.clone()),
                false => kin.members.remove(key),
            };
            if wanted || changed || name.of == *key {
                kin.counts.by_state.clear();
                for row in kin.members.iter().filter_map(|it| self.entities.get(it)) {
                    count(&mut kin.counts.by_state, &row.entity.state, 1);
                }
            }
        }
    }

    fn expire(&mut self, before: Timestamp, most: usize) -> usize {
        let mut gone = 0;
        while gone < most
            && let Some((at, seq, by, key)) = self.ages.pop_first()
        {
            if at >= before {
                self.ages.insert((at, seq, by, key));
                break;
            }
            let place = (by, key);
            // A key may have been used again since.
            if self.keys.get(&place).is_some_and(|(it, _)| *it == seq) {
                self.keys.remove(&place);
                gone += 1;
            }
        }
        gone
    }
}

impl Kin {
    fn change(&mut self, change: &GroupChange) {
        self.counts.moved_at = change.moved_at.or(self.counts.moved_at);
        for (state, by) in &change.counts {
            count(&mut self.counts.by_state, state, *by);
        }
        for (member, joined) in &change.members {
            if *joined {
                self.members.insert(member.clone());
            } else {
                self.members.remove(member);
            }
        }
    }
}

pub(super) fn timers_of(row: &EntityRow) -> impl Iterator<Item = DueAt> {
    let entity = &row.entity.key;
    row.entity
        .timers
        .iter()
        .filter_map(|(timer, it)| Some(DueAt { due: it.due?, entity: entity.clone(), timer: timer.clone() }))
}

fn count(counts: &mut BTreeMap<Name, u64>, state: &Name, by: i64) {
    let now = counts.get(state).copied().unwrap_or(0).saturating_add_signed(by);
    match now {
        0 => counts.remove(state),
        _ => counts.insert(state.clone(), now),
    };
}
