//! Filling a partial view, and letting go of what nobody uses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::held::Held;
use super::{Group, Need, View};
use crate::entity::Entity;
use crate::event::KeyRecord;
use crate::key::{EntityKey, GroupKey};
use crate::ranking::{Ranking, RankingKey};

impl View {
    /// A view that knows nothing yet, after the entry `seq`.
    pub fn partial(seq: u64) -> Self {
        Self { partial: true, seq, ..Self::default() }
    }

    pub fn load(&mut self, entity: Arc<Entity>) {
        self.entities.insert(entity.key.clone(), Held::new(entity));
    }

    /// The same with all groups of it that are not empty.
    pub fn load_whole(&mut self, entity: Arc<Entity>, groups: impl IntoIterator<Item = (Name, Group)>) {
        for (name, group) in groups {
            self.groups.insert(GroupKey { of: entity.key.clone(), name }, Held::new(group));
        }
        self.entities.insert(entity.key.clone(), Held::whole(entity));
    }

    /// Notes that groups of an entity which are not here are empty.
    pub fn mark_whole(&mut self, key: &EntityKey) {
        if let Some(held) = self.entities.get_mut(key) {
            held.whole = true;
        }
    }

    /// Notes that an entity was looked for and is not there.
    pub fn mark_absent(&mut self, key: EntityKey) {
        self.absent.insert(key, ());
    }

    pub fn load_counts(&mut self, key: GroupKey, counts: BTreeMap<Name, u64>, moved_at: Option<Timestamp>) {
        let group = Group { counts, moved_at, listed: false, members: BTreeMap::new() };
        self.groups.insert(key, Held::new(group));
    }

    /// Who a group consists of, by state.
    pub fn load_members(
        &mut self,
        key: GroupKey,
        members: BTreeMap<Name, BTreeSet<EntityKey>>,
        moved_at: Option<Timestamp>,
    ) {
        let counts = members.iter().map(|(state, there)| (state.clone(), there.len() as u64)).collect();
        self.groups.insert(key, Held::asked(Group { counts, moved_at, listed: true, members }));
    }

    /// Lets go of a group that is to be loaded again.
    pub fn forget_group(&mut self, key: &GroupKey) {
        self.groups.remove(key);
        if let Some(held) = self.entities.get_mut(&key.of) {
            held.whole = false;
        }
    }

    pub fn load_ranking(&mut self, key: RankingKey, ranking: Ranking) {
        self.rankings.load(key, ranking);
    }

    pub fn load_same(&mut self, lifecycle: Name, value: Name, holder: Option<EntityKey>) {
        self.sames.insert((lifecycle, value), holder);
    }

    pub fn load_key(&mut self, actor: Name, key: Name, known: Option<(u64, KeyRecord)>) {
        match known {
            Some(known) => {
                self.keys.insert((actor, key), known);
            }
            None => {
                self.unused.insert((actor, key), ());
            }
        }
    }

    /// Loads what is needed from a view that holds it all.
    pub fn load_from(&mut self, whole: &View, need: Need) {
        match need {
            Need::Entity(key) => match whole.image(&key) {
                Some(entity) => self.load(entity),
                None => self.mark_absent(key),
            },
            Need::Counts(key) => {
                let known = whole.peek(&key).cloned().unwrap_or_default();
                self.load_counts(key, known.counts, known.moved_at);
            }
            Need::Members(key) => {
                let known = whole.peek(&key).cloned().unwrap_or_default();
                self.load_members(key, known.members, known.moved_at);
            }
            Need::Ranking(key) => {
                let known = whole.rankings.get(&key).cloned().unwrap_or_default();
                self.load_ranking(key, known);
            }
            Need::Same { lifecycle, value } => {
                let holder = whole.sames.get(&(lifecycle.clone(), value.clone())).cloned().flatten();
                self.load_same(lifecycle, value, holder);
            }
            Need::Key { actor, key } => {
                let known = whole.keys.get(&(actor.clone(), key.clone())).cloned();
                self.load_key(actor, key, known);
            }
        }
    }

    /// Whether it is known what came of a key, be it nothing.
    pub fn knows_key(&self, actor: &Name, key: &Name) -> bool {
        let both = (actor.clone(), key.clone());
        self.keys.get(&both).is_some() || self.unused.get(&both).is_some()
    }

    /// Forgets what was looked for and not found: it may come to be elsewhere.
    pub fn forget_absent(&mut self) {
        self.absent = Default::default();
        self.unused = Default::default();
    }

    /// Lets go of an idempotency key that can be loaded again.
    pub fn forget_key(&mut self, actor: &Name, key: &Name) {
        self.keys.remove(&(actor.clone(), key.clone()));
    }

    /// Lets go of values that no two open entities share, where there are more than `most`: who has them can be loaded
    /// again. What is not written must stay: `stays` says so of a lifecycle and its value.
    pub fn evict_sames(&mut self, most: usize, stays: impl Fn(&Name, &Name) -> bool) {
        if self.sames.len() > most {
            self.sames.retain(|(lifecycle, value), _| stays(lifecycle, value));
        }
    }

    /// Lets go of idempotency keys of entries up to `written`, where there are more than `most`: they can be loaded again.
    pub fn evict_keys(&mut self, most: usize, written: u64) {
        if self.keys.len() > most {
            self.keys.retain(|_, (seq, _)| *seq > written);
        }
    }

    /// How many values that no two may share are held, and how many keys.
    pub fn remembered(&self) -> (usize, usize) {
        (self.sames.len(), self.keys.len())
    }

    /// Lets go of entities that have not moved since the entry `written`, where there are more than `most`, and of their
    /// groups: first of those that nobody used since the last time, then of others. What is not written must stay. It
    /// looks at all of them, so it lets go of some more, not to be called again soon.
    pub fn evict(&mut self, most: usize, written: u64) {
        if self.entities.len() <= most {
            return;
        }
        let mut over = self.entities.len().saturating_sub(most - most / 8);
        for idle in [true, false] {
            self.entities.retain(|_, it| {
                let stays = over == 0 || it.seq > written || (idle && it.was_used());
                over -= usize::from(!stays);
                stays
            });
            if self.entities.len() <= most {
                break;
            }
        }
        let entities = &self.entities;
        self.groups.retain(|key, _| entities.get(&key.of).is_some());
    }

    /// Lets go of groups, where there are more than `most`: first of those that nobody asked about since the last time.
    /// Whoever loads one again must bring it to the present, so it does not matter what of it is written.
    pub fn evict_groups(&mut self, most: usize) {
        if self.groups.len() <= most {
            return;
        }
        let mut over = self.groups.len().saturating_sub(most - most / 8);
        let mut owners = Vec::new();
        for idle in [true, false] {
            self.groups.retain(|key, it| {
                let stays = over == 0 || (idle && it.was_used());
                if !stays {
                    over -= 1;
                    owners.push(key.of.clone());
                }
                stays
            });
            if self.groups.len() <= most {
                break;
            }
        }
        // From now on a group of theirs that is not here may be anything.
        for owner in owners {
            if let Some(held) = self.entities.get_mut(&owner) {
                held.whole = false;
            }
        }
    }

    /// Lets go of orders that nobody asked for since the last time, where more than `most` stand in all of them: each can
    /// be loaded again, and brought to the present.
    pub fn evict_rankings(&mut self, most: usize) {
        if self.partial && self.rankings.places() > most {
            self.rankings.let_go_idle();
        }
    }

    /// How many groups are held.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }
}
