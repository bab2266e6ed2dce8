//! Holds what is kept of many together against each of them, a few rows at a time: who is in a group and how many, who
//! stands in an order, and whether it is closed.
//!
//! What should be follows from the entities, and those are held against the journal one by one: who is in which group by
//! their fields, where they stand by what was decided last. Each entity looks for its own rows (`apart`); here rows are
//! looked at for which there is nobody, and what counts them.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackside_engine::decide::groups_of;
use trackside_engine::entity::Entity;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{RankingKey, Within};
use trackside_engine::view::Need;
use trackside_lifecycle::name::Name;
use trackside_store::StoreError;
use trackside_store::store::{MemberRow, OrderRow};

use super::decider::Decider;
use super::sweep::{Budget, Pass};

/// Rows read at a time.
const PAGE: usize = 64;
/// How often one group is begun with anew, where somebody writes meanwhile.
const TRIES: u32 = 3;

/// How far it is.
#[derive(Debug, Default)]
pub(super) struct Together {
    stage: Stage,
    /// The group that is counted.
    tally: Option<Tally>,
    /// The last group, place and order that was looked at.
    group: u64,
    place: Option<(RankingKey, Name)>,
    order: Option<(RankingKey, Within)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Groups,
    Places,
    Orders,
    Over,
}

/// A group whose members are counted.
#[derive(Debug)]
struct Tally {
    key: GroupKey,
    /// What was seen is of this moment.
    position: u64,
    after: u64,
    by_state: BTreeMap<Name, u64>,
    somebody: Option<EntityKey>,
    tries: u32,
}

impl Tally {
    fn of(key: GroupKey, position: u64, tries: u32) -> Self {
        Self { key, position, after: 0, by_state: BTreeMap::new(), somebody: None, tries }
    }
}

impl Decider {
    /// Goes on with it; true when it is over.
    pub(super) fn go_on_together(
        &mut self,
        at: &mut Together,
        pass: &mut Pass,
        left: &mut Budget,
    ) -> Result<bool, StoreError> {
        match at.stage {
            Stage::Groups => self.next_group(at, pass, left)?,
            Stage::Places => self.next_places(at, pass, left)?,
            Stage::Orders => self.next_orders(at, pass, left)?,
            Stage::Over => return Ok(true),
        }
        Ok(at.stage == Stage::Over)
    }

    fn next_group(
        &mut self,
        at: &mut Together,
        pass: &mut Pass,
        left: &mut Budget,
    ) -> Result<(), StoreError> {
        if let Some(tally) = at.tally.take() {
            at.tally = self.count_on(tally, pass, left)?;
            return Ok(());
        }
        let found = self.reader.groups_after(at.group, 1)?;
        left.records = left.records.saturating_sub(1);
        match found.value.into_iter().next() {
            None => at.stage = Stage::Places,
            Some((row, key)) => {
                at.group = row;
                // One that moves is looked at another time.
                if !self.tail.moves(&key) {
                    at.tally = Some(Tally::of(key, found.position, 0));
                }
            }
        }
        Ok(())
    }

    /// Counts some more members; none when it is done with them.
    fn count_on(
        &mut self,
        mut tally: Tally,
        pass: &mut Pass,
        left: &mut Budget,
    ) -> Result<Option<Tally>, StoreError> {
        let most = PAGE.min(left.records).max(1);
        let found = self.reader.members_after(&tally.key, tally.after, most)?;
        left.records = left.records.saturating_sub(found.value.len().max(1));
        if found.position != tally.position || self.tail.moves(&tally.key) {
            let again = tally.tries + 1;
            return Ok((again < TRIES).then(|| Tally::of(tally.key, found.position, again)));
        }
        for MemberRow { row, key, state } in &found.value {
            tally.after = *row;
            if self.belongs(key, &tally.key)? {
                *tally.by_state.entry(state.clone()).or_default() += 1;
                tally.somebody.get_or_insert_with(|| key.clone());
            } else {
                let told = format!("it was kept as one of {} of {}", tally.key.name, tally.key.of);
                self.stale.push((u64::MAX, tally.key.clone()));
                self.blame(key, told, pass)?;
                // The rest of it shows when this is put right.
                return Ok(None);
            }
        }
        if found.value.len() == most {
            return Ok(Some(tally));
        }
        let counts = self.reader.counts(&tally.key)?;
        if counts.position != tally.position || counts.value.by_state == tally.by_state {
            return Ok(None);
        }
        let told = format!(
            "{} of {} were counted as {:?}, and are {:?}",
            tally.key.name, tally.key.of, counts.value.by_state, tally.by_state
        );
        let owner = Some(tally.key.of.clone());
        for somebody in owner.into_iter().chain(tally.somebody) {
            if self.reader.is_kept(&somebody)? {
                self.stale.push((u64::MAX, tally.key.clone()));
                self.blame(&somebody, told, pass)?;
                return Ok(None);
            }
        }
        pass.report.unchecked += 1;
        Ok(None)
    }

    /// Whether an entity is one of a group by what it says itself. What cannot be told is taken as it is kept.
    fn belongs(&mut self, key: &EntityKey, group: &GroupKey) -> Result<bool, StoreError> {
        let entity = match self.reader.entity(key) {
            Ok(Some(entity)) => entity,
            Ok(None) | Err(StoreError::Damaged { .. }) => return Ok(true),
            Err(error) => return Err(error),
        };
        let life = self.law.definition(&key.lifecycle, entity.definition);
        Ok(life.is_none_or(|it| groups_of(it, &entity).contains(group)))
    }

    /// Looks for places of entities that there are not, and for orders without their row.
    fn next_places(
        &mut self,
        at: &mut Together,
        pass: &mut Pass,
        left: &mut Budget,
    ) -> Result<(), StoreError> {
        let most = PAGE.min(left.records).max(1);
        let found = self.reader.places_after(at.place.as_ref(), most)?;
        left.records = left.records.saturating_sub(found.value.len().max(1));
        if found.value.len() < most {
            at.stage = Stage::Orders;
        }
        at.place = found.value.last().cloned().or(at.place.take());
        let mut ghosts = Vec::new();
        for (ranking, id) in found.value {
            let key = EntityKey { lifecycle: ranking.lifecycle.clone(), id: id.clone() };
            if !self.reader.is_kept(&key)? {
                ghosts.push((ranking.name, key));
                continue;
            }
            let place = self.reader.place(&ranking, &id)?;
            let Some(within) = place.value.map(|it| it.within) else { continue };
            let order = self.reader.order(&ranking, &within)?;
            // Both of one moment, or somebody has moved meanwhile.
            if order.position == place.position && order.value.is_none() {
                self.blame(&key, format!("its order in {} was not kept", ranking.name), pass)?;
            }
        }
        let Some((ranking, ghost)) = ghosts.first() else { return Ok(()) };
        let told = format!("{ghost}, which there is not, was kept to stand in {ranking}");
        // Somebody of its kind is to say so, or anybody.
        let first = EntityKey { lifecycle: ghost.lifecycle.clone(), id: Name::new("") };
        let mut somebody = self.reader.kept(Some(&first), 1)?.value;
        if somebody.is_empty() {
            somebody = self.reader.kept(None, 1)?.value;
        }
        match somebody.into_iter().next() {
            Some(somebody) => {
                pass.without.extend(ghosts);
                self.blame(&somebody.key, told, pass)?;
            }
            None => pass.report.unchecked += ghosts.len() as u64,
        }
        Ok(())
    }

    /// Holds orders against those who stand in them, and against what is in memory.
    fn next_orders(
        &mut self,
        at: &mut Together,
        pass: &mut Pass,
        left: &mut Budget,
    ) -> Result<(), StoreError> {
        let most = PAGE.min(left.records).max(1);
        let found = self.reader.orders_after(at.order.as_ref(), most)?;
        left.records = left.records.saturating_sub(found.value.len().max(1));
        if found.value.len() < most {
            at.stage = Stage::Over;
        }
        at.order = found.value.last().map(|it| (it.ranking.clone(), it.within.clone())).or(at.order.take());
        for OrderRow { ranking, within, n, closed } in found.value {
            // One that moves is looked at another time.
            if self.tail.reranks(&ranking, found.position) {
                continue;
            }
            if !self.view.rankings.is_known(&ranking) {
                self.load(Need::Ranking(ranking.clone()))?;
            }
            let Some(known) = self.view.rankings.get(&ranking) else { continue };
            let (size, open) = (known.size(&within) as u64, known.is_open(&within));
            if size == n && open == Some(!closed) {
                continue;
            }
            let somebody = known.ascending(&within).next().cloned();
            let told = format!(
                "an order of {} was kept with {n} in it, {}, and has {size}, {}",
                ranking.name,
                if closed { "closed" } else { "open" },
                if open == Some(false) { "closed" } else { "open" },
            );
            let key = match somebody {
                Some(id) => Some(EntityKey { lifecycle: ranking.lifecycle.clone(), id }),
                // Nobody stands in it: anybody of their kind will do.
                None => {
                    let first = EntityKey { lifecycle: ranking.lifecycle.clone(), id: Name::new("") };
                    let next = self.reader.kept(Some(&first), 1)?.value.into_iter().next();
                    next.map(|it| it.key).filter(|it| it.lifecycle == ranking.lifecycle)
                }
            };
            match key {
                Some(key) => self.blame(&key, told, pass)?,
                None => pass.report.unchecked += 1,
            }
        }
        Ok(())
    }

    /// Has everything made anew that is kept of an entity, and of those it is counted with.
    fn blame(&mut self, key: &EntityKey, told: String, pass: &mut Pass) -> Result<(), StoreError> {
        if pass.to_mend.iter().any(|(it, ..)| it == key) {
            return Ok(());
        }
        match self.newest_of(key, None)? {
            Some(newest) => pass.to_mend.push((key.clone(), newest, Some(told))),
            None => {
                pass.lost.insert(key.clone());
            }
        }
        Ok(())
    }

    /// What should be kept of an entity among others, and is not: that it is one of a group, and where it stands.
    pub(super) fn apart(&mut self, entity: &Arc<Entity>) -> Result<Option<String>, StoreError> {
        let key = &entity.key;
        let Some(life) = self.law.definition(&key.lifecycle, entity.definition).cloned() else {
            return Ok(None);
        };
        for group in groups_of(&life, entity) {
            if !self.tail.moves(&group) && !self.reader.is_member(&group, key)? {
                return Ok(Some(format!("it was not kept as one of {} of {}", group.name, group.of)));
            }
        }
        for ranking in &life.rankings {
            let ranking = RankingKey { lifecycle: key.lifecycle.clone(), name: ranking.name.clone() };
            let Some(known) = self.view.rankings.get(&ranking) else { continue };
            let wanted = known.place(&key.id).cloned();
            let kept = match self.reader.place(&ranking, &key.id) {
                Ok(kept) if self.tail.places(&ranking, &key.id, kept.position) => continue,
                Ok(kept) if kept.value == wanted => continue,
                Ok(kept) => serde_json::to_string(&kept.value).unwrap_or_default(),
                Err(StoreError::Damaged { what, .. }) => what,
                Err(error) => return Err(error),
            };
            return Ok(Some(format!("its place in {} was kept as {kept}", ranking.name)));
        }
        Ok(None)
    }

    /// Groups that an entity is in or has are loaded again once it is written anew.
    pub(super) fn forget_groups_of(&mut self, entity: &Entity) {
        let seq = self.view.seq;
        self.stale.iter_mut().filter(|it| it.0 == u64::MAX).for_each(|it| it.0 = seq);
        let Some(life) = self.law.definition(&entity.key.lifecycle, entity.definition) else { return };
        let own = life.inverses.iter().map(|it| GroupKey { of: entity.key.clone(), name: it.name.clone() });
        self.stale.extend(groups_of(life, entity).into_iter().chain(own).map(|it| (seq, it)));
    }

    /// Projections are written up to an entry: what was loaded from what they were before is loaded again.
    pub(super) fn forget_stale(&mut self, upto: u64) {
        let (over, stay): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.stale).into_iter().partition(|(seq, _)| *seq <= upto);
        self.stale = stay;
        for (_, group) in over {
            self.view.forget_group(&group);
        }
    }
}
