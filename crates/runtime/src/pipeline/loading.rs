//! What the decider has in memory: brought in when somebody needs it, let go when it is written and idle.

use std::collections::BTreeSet;
use std::sync::Arc;

use trackside_engine::command::Command;
use trackside_engine::entity::Entity;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::view::{Found, Group, Need};
use trackside_lifecycle::name::Name;
use trackside_store::StoreError;
use trackside_store::store::Counts;

use super::decider::{Decider, Limits};
use crate::planted::{Bug, is_planted};

impl Decider {
    /// Brings something into memory, as of the last decision.
    pub(super) fn load(&mut self, need: Need) -> Result<(), StoreError> {
        match need {
            Need::Entity(key) => {
                if self.view.get(&key).is_some() {
                    return Ok(());
                }
                match self.reader.entity(&key)? {
                    Some(mut entity) => {
                        if is_planted(Bug::FenceForgotten) {
                            Arc::make_mut(&mut entity).leases.iter_mut().for_each(|(_, it)| it.fence = 0);
                        }
                        self.load_whole(entity)?;
                    }
                    None => self.view.mark_absent(key),
                }
            }
            Need::Counts(key) => {
                let found = self.reader.counts(&key)?;
                let mut group = Group {
                    counts: found.value.by_state,
                    moved_at: found.value.moved_at,
                    ..Group::default()
                };
                self.tail.catch_up_group(&key, &mut group, found.position);
                self.view.load_counts(key, group.counts, group.moved_at);
            }
            Need::Members(key) => {
                let found = self.reader.members(&key)?;
                let counts = found
                    .value
                    .by_state
                    .iter()
                    .map(|(state, all)| (state.clone(), all.len() as u64))
                    .collect();
                let mut group = Group {
                    counts,
                    listed: true,
                    members: found.value.by_state,
                    moved_at: found.value.moved_at,
                };
                self.tail.catch_up_group(&key, &mut group, found.position);
                self.view.load_members(key, group.members, group.moved_at);
            }
            Need::Ranking(key) => {
                let found = self.reader.ranking(&key)?;
                let mut ranking = found.value;
                self.tail.catch_up_ranking(&key, &mut ranking, found.position);
                self.view.load_ranking(key, ranking);
            }
            Need::Same { lifecycle, value } => {
                // What was decided since it was written is known here.
                let is_known = self.view.same(&lifecycle, &value) != Found::Unknown;
                self.view.missed();
                if is_known {
                    return Ok(());
                }
                let holder = self.reader.same(&lifecycle, &value)?;
                self.view.load_same(lifecycle, value, holder);
            }
            Need::Key { actor, key } => {
                let known = self.reader.key(&actor, &key)?;
                self.view.load_key(actor, key, known);
            }
        }
        Ok(())
    }

    /// An entity with how many there are in each of its groups, so that nobody need ask for those one by one.
    fn load_whole(&mut self, entity: Arc<Entity>) -> Result<(), StoreError> {
        // Others may refer to it by a later version than the one it lives by.
        let own = self.law.definition(&entity.key.lifecycle, entity.definition);
        let newest = self.law.newest(&entity.key.lifecycle);
        let names: BTreeSet<&Name> =
            own.into_iter().chain(newest).flat_map(|it| &it.inverses).map(|it| &it.name).collect();
        if names.is_empty() {
            self.view.load_whole(entity, []);
            return Ok(());
        }
        let found = self.reader.groups(&entity.key)?;
        let mut groups: Vec<(Name, Group)> = Vec::new();
        for (name, Counts { by_state, moved_at }) in found.value {
            groups.push((name, Group { counts: by_state, moved_at, ..Group::default() }));
        }
        for name in names {
            let key = GroupKey { of: entity.key.clone(), name: name.clone() };
            if self.tail.moves(&key) {
                if !groups.iter().any(|(it, _)| it == name) {
                    groups.push((name.clone(), Group::default()));
                }
                if let Some((_, group)) = groups.iter_mut().find(|(it, _)| it == name) {
                    self.tail.catch_up_group(&key, group, found.position);
                }
            }
        }
        self.view.load_whole(entity, groups);
        Ok(())
    }

    /// Brings what a command speaks of into memory before it is decided, so that it need not be decided twice.
    pub(super) fn fetch(&mut self, command: &Command) -> Result<(), StoreError> {
        if let Some(key) = command.entity() {
            self.load(Need::Entity(key.clone()))?;
        }
        if let Some(key) = &command.idempotency_key {
            let actor = command.key_sender();
            if !self.view.knows_key(actor, key) {
                self.load(Need::Key { actor: actor.clone(), key: key.clone() })?;
            }
        }
        Ok(())
    }

    /// Projections are written up to an entry: what is only there for them may go, and so may what is too much.
    pub fn written(&mut self, upto: u64) {
        self.tail.written(upto, &mut self.view);
        self.forget_stale(upto);
        if upto > self.written || self.has_grown() {
            self.written = self.written.max(upto);
            self.let_go();
            self.kept = self.held();
        }
    }

    /// How much is in memory: entities, groups, values, keys, and places in orders.
    fn held(&self) -> [usize; 5] {
        let (values, keys) = self.view.remembered();
        [self.view.len(), self.view.groups(), values, keys, self.view.rankings.places()]
    }

    /// Whether more was loaded than may stay, though nothing was written: by those who only look, or are refused. What
    /// could not go the last time is not looked at again until there is more of it.
    fn has_grown(&self) -> bool {
        let Limits { entities, groups, sames, keys, .. } = self.limits;
        let most = [entities, groups, sames, keys, entities];
        let all = self.held().into_iter().zip(self.kept).zip(most);
        let is_more = |now: usize, kept: usize, most: usize| kept <= most || now >= kept + (most / 8).max(1);
        all.into_iter().any(|((now, kept), most)| now > most && is_more(now, kept, most))
    }

    fn let_go(&mut self) {
        if is_planted(Bug::CacheUnbounded) {
            return;
        }
        let clean = if is_planted(Bug::UnwrittenEvicted) { u64::MAX } else { self.written };
        self.view.evict(self.limits.entities, clean);
        self.view.evict_groups(self.limits.groups);
        self.view.evict_rankings(self.limits.entities);
        let unwritten = self.tail.sames();
        let forgotten = is_planted(Bug::ValueForgotten);
        let stays = |lifecycle: &Name, value: &Name| !forgotten && unwritten.contains(&(lifecycle, value));
        self.view.evict_sames(self.limits.sames, stays);
        self.view.evict_keys(self.limits.keys, self.written);
    }

    /// A new entity has empty groups, unless others referred to it before it was there.
    pub(super) fn welcome(&mut self, key: &EntityKey) {
        let Some(life) = self.law.newest(&key.lifecycle).filter(|_| self.view.get(key).is_some()) else {
            return;
        };
        let awaited = life
            .inverses
            .iter()
            .any(|it| self.tail.moves(&GroupKey { of: key.clone(), name: it.name.clone() }));
        // What cannot be read now is read when somebody asks.
        let empty = life.inverses.is_empty() || self.reader.groups(key).is_ok_and(|it| it.value.is_empty());
        if empty && !awaited {
            self.view.mark_whole(key);
        }
    }
}
