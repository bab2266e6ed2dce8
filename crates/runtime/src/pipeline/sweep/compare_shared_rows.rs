//! Compares groups and rankings with their entities, a few rows at a time: members, counts, places, and whether an
//! order is closed.
//!
//! The expected rows follow from the entities, which are compared with the journal one by one: members from their
//! fields, places from the last decision. Each entity looks for its own rows (`apart`); here, rows without an entity
//! and wrong counts are found.

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

use super::{MOST_SKIPPED, SweepBudget, SweepPass};
use crate::memory::Overlay as _;
use crate::pipeline::decider::Decider;

/// The size of an order, whether it is open, and its first entity.
type KnownOrder = (u64, Option<bool>, Option<Name>);

/// Rows read at a time.
const PAGE: usize = 64;
/// Attempts to compare a group whose rows change meanwhile.
const TRIES: u32 = 3;

/// The progress of the comparison.
#[derive(Debug, Default)]
pub(super) struct SharedRowCheck {
    stage: Stage,
    /// The group that is counted.
    tally: Option<RunTotals>,
    /// The last group, place and order that were checked.
    group: u64,
    place: Option<(RankingKey, Name)>,
    order: Option<(RankingKey, Within)>,
    skipped: u32,
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
struct RunTotals {
    key: GroupKey,
    /// The position of the rows read so far.
    position: u64,
    after: u64,
    by_state: BTreeMap<Name, u64>,
    first_member: Option<EntityKey>,
    tries: u32,
}

impl SweepBudget {
    /// The rows to read next.
    fn page(&self) -> usize {
        PAGE.min(self.records).max(1)
    }

    /// A query costs at least one row.
    fn spend(&mut self, rows: usize) {
        self.records = self.records.saturating_sub(rows.max(1));
    }
}

impl SharedRowCheck {
    /// Moves past a row that cannot be read. Groups in a row that cannot be read end their stage: numbers can be large.
    pub fn skip(&mut self) {
        match self.stage {
            Stage::Groups if self.tally.take().is_some() => {}
            Stage::Groups if self.skipped < MOST_SKIPPED => {
                self.skipped += 1;
                self.group = self.group.saturating_add(1);
            }
            Stage::Groups => self.stage = Stage::Places,
            Stage::Places => self.stage = Stage::Orders,
            Stage::Orders | Stage::Over => self.stage = Stage::Over,
        }
    }
}

impl RunTotals {
    fn of(key: GroupKey, position: u64, tries: u32) -> Self {
        Self { key, position, after: 0, by_state: BTreeMap::new(), first_member: None, tries }
    }
}

impl Decider {
    /// Continues; true when it is over.
    pub(super) fn continue_shared_rows(
        &mut self,
        at: &mut SharedRowCheck,
        pass: &mut SweepPass,
        left: &mut SweepBudget,
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
        at: &mut SharedRowCheck,
        pass: &mut SweepPass,
        left: &mut SweepBudget,
    ) -> Result<(), StoreError> {
        if let Some(tally) = at.tally.take() {
            at.tally = self.count_on(tally, pass, left)?;
            return Ok(());
        }
        let found = self.memory.reader().groups_after(at.group, 1)?;
        left.spend(1);
        match found.value.into_iter().next() {
            None => at.stage = Stage::Places,
            Some((row, key)) => {
                at.group = row;
                // A group that is moving is checked another time.
                if !self.memory.unflushed().moves(&key) {
                    at.tally = Some(RunTotals::of(key, found.position, 0));
                }
            }
        }
        Ok(())
    }

    /// Counts some more members; none when it is done.
    fn count_on(
        &mut self,
        mut tally: RunTotals,
        pass: &mut SweepPass,
        left: &mut SweepBudget,
    ) -> Result<Option<RunTotals>, StoreError> {
        let most = left.page();
        let found = self.memory.reader().members_after(&tally.key, tally.after, most)?;
        left.spend(found.value.len());
        if found.position != tally.position || self.memory.unflushed().moves(&tally.key) {
            let again = tally.tries + 1;
            return Ok((again < TRIES).then(|| RunTotals::of(tally.key, found.position, again)));
        }
        for MemberRow { row, key, state } in &found.value {
            tally.after = *row;
            if self.belongs(key, &tally.key)? {
                *tally.by_state.entry(state.clone()).or_default() += 1;
                tally.first_member.get_or_insert_with(|| key.clone());
            } else {
                let difference = format!("it is listed as one of {} of {}", tally.key.name, tally.key.of);
                self.memory.source.stale.push((u64::MAX, tally.key.clone()));
                self.mark_for_rebuild(key, difference, pass)?;
                // The repair of this one reveals the rest.
                return Ok(None);
            }
        }
        if found.value.len() == most {
            return Ok(Some(tally));
        }
        let difference = match self.memory.reader().counts(&tally.key) {
            Ok(counts) if counts.position != tally.position || counts.value.by_state == tally.by_state => {
                return Ok(None);
            }
            Ok(counts) => format!(
                "{} of {} are stored as {:?}, but are {:?}",
                tally.key.name, tally.key.of, counts.value.by_state, tally.by_state
            ),
            Err(error) if error.is_state_damage() => {
                format!("{} of {}: {error}", tally.key.name, tally.key.of)
            }
            Err(error) => return Err(error),
        };
        let owner = Some(tally.key.of.clone());
        for carrier in owner.into_iter().chain(tally.first_member) {
            if self.memory.reader().is_stored(&carrier)? {
                self.memory.source.stale.push((u64::MAX, tally.key.clone()));
                self.mark_for_rebuild(&carrier, difference, pass)?;
                return Ok(None);
            }
        }
        pass.report.unchecked += 1;
        Ok(None)
    }

    /// Whether an entity belongs to a group by its own fields. An unreadable row is taken as stored.
    fn belongs(&mut self, key: &EntityKey, group: &GroupKey) -> Result<bool, StoreError> {
        let entity = match self.memory.reader().entity(key) {
            Ok(Some(entity)) => entity,
            Ok(None) | Err(StoreError::Damaged { .. } | StoreError::DamagedRow { .. }) => return Ok(true),
            Err(error) => return Err(error),
        };
        let life = self.memory.law.definition(&key.lifecycle, entity.definition);
        Ok(life.is_none_or(|it| groups_of(it, &entity).contains(group)))
    }

    /// Finds places of entities that do not exist, and orders without their row.
    fn next_places(
        &mut self,
        at: &mut SharedRowCheck,
        pass: &mut SweepPass,
        left: &mut SweepBudget,
    ) -> Result<(), StoreError> {
        let most = left.page();
        let found = self.memory.reader().places_after(at.place.as_ref(), most)?;
        left.spend(found.value.len());
        if found.value.len() < most {
            at.stage = Stage::Orders;
        }
        at.place = found.value.last().cloned().or(at.place.take());
        let mut ghosts = Vec::new();
        for (ranking, id) in found.value {
            let key = EntityKey { lifecycle: ranking.lifecycle.clone(), id: id.clone() };
            if !self.memory.reader().is_stored(&key)? {
                ghosts.push((ranking.name, key));
                continue;
            }
            let place = match self.memory.reader().place(&ranking, &id) {
                Err(error) if error.is_state_damage() => {
                    self.mark_for_rebuild(&key, format!("its place in {}: {error}", ranking.name), pass)?;
                    continue;
                }
                place => place?,
            };
            let Some(within) = place.value.map(|it| it.within) else { continue };
            let order = match self.memory.reader().order(&ranking, &within) {
                Err(error) if error.is_state_damage() => {
                    self.mark_for_rebuild(&key, format!("its order in {}: {error}", ranking.name), pass)?;
                    continue;
                }
                order => order?,
            };
            // Both must be of one position.
            if order.position == place.position && order.value.is_none() {
                self.mark_for_rebuild(&key, format!("its order in {} is missing", ranking.name), pass)?;
            }
        }
        let Some((ranking, ghost)) = ghosts.first() else { return Ok(()) };
        let difference = format!("{ghost}, which does not exist, has a place in {ranking}");
        // An entity of its lifecycle carries the repair, or any entity.
        let carrier = match self.first_stored(&ghost.lifecycle)? {
            None => self.first_stored(&Name::new(""))?,
            found => found,
        };
        match carrier {
            Some(carrier) => {
                pass.ghost_places.extend(ghosts);
                self.mark_for_rebuild(&carrier, difference, pass)?;
            }
            None => pass.report.unchecked += ghosts.len() as u64,
        }
        Ok(())
    }

    /// Compares orders with their members and with the memory.
    fn next_orders(
        &mut self,
        at: &mut SharedRowCheck,
        pass: &mut SweepPass,
        left: &mut SweepBudget,
    ) -> Result<(), StoreError> {
        let most = left.page();
        let found = self.memory.reader().orders_after(at.order.as_ref(), most)?;
        left.spend(found.value.len());
        if found.value.len() < most {
            at.stage = Stage::Over;
        }
        at.order = found.value.last().map(|it| (it.ranking.clone(), it.within.clone())).or(at.order.take());
        for OrderRow { ranking, within, n, closed } in found.value {
            // A ranking that is changing is checked another time.
            if self.memory.unflushed().reranks(&ranking, found.position) {
                continue;
            }
            let known = match self.order_of(&ranking, &within) {
                // It is compared with the places that can be read, and rebuilt.
                Err(error) if error.is_state_damage() => {
                    self.without_damaged(|it| it.order_of(&ranking, &within))?
                }
                known => known?,
            };
            let Some((size, open, first)) = known else { continue };
            if size == n && open == Some(!closed) {
                continue;
            }
            let difference = format!(
                "an order of {} is stored with {n} members, {}, but has {size}, {}",
                ranking.name,
                if closed { "closed" } else { "open" },
                if open == Some(false) { "closed" } else { "open" },
            );
            let key = match first {
                Some(id) => Some(EntityKey { lifecycle: ranking.lifecycle.clone(), id }),
                // The order is empty: any entity of the lifecycle carries the repair.
                None => self.first_stored(&ranking.lifecycle)?.filter(|it| it.lifecycle == ranking.lifecycle),
            };
            match key {
                Some(key) => self.mark_for_rebuild(&key, difference, pass)?,
                None => pass.report.unchecked += 1,
            }
        }
        Ok(())
    }

    /// The size of an order in memory, whether it is open, and its first entity.
    fn order_of(&mut self, ranking: &RankingKey, within: &Within) -> Result<Option<KnownOrder>, StoreError> {
        if !self.memory.view.rankings.is_known(ranking) {
            self.memory.load(Need::Ranking(ranking.clone()))?;
        }
        Ok(self
            .memory
            .view
            .rankings
            .get(ranking)
            .map(|it| (it.size(within) as u64, it.is_open(within), it.ascending(within).next().cloned())))
    }

    /// The first stored entity of a lifecycle, or of those after it by name.
    fn first_stored(&mut self, lifecycle: &Name) -> Result<Option<EntityKey>, StoreError> {
        let first = EntityKey { lifecycle: lifecycle.clone(), id: Name::new("") };
        let found = self.memory.reader().stored_entities(Some(&first), 1)?.value;
        Ok(found.into_iter().next().map(|it| it.key))
    }

    /// Rebuilds all rows of an entity and of the groups that count it.
    fn mark_for_rebuild(
        &mut self,
        key: &EntityKey,
        difference: String,
        pass: &mut SweepPass,
    ) -> Result<(), StoreError> {
        if pass.to_mend.iter().any(|(it, ..)| it == key) {
            return Ok(());
        }
        let newest = match self.newest_of(key, None) {
            Err(error) if error.is_journal_damage() => {
                self.count_forged(pass, key.clone());
                return Ok(());
            }
            newest => newest?,
        };
        match newest {
            Some(newest) => pass.to_mend.push((key.clone(), newest, Some(difference))),
            None => {
                pass.lost.insert(key.clone());
            }
        }
        Ok(())
    }

    /// The first row about an entity that is missing: its membership in a group, or its place in a ranking.
    pub(super) fn first_missing_row(&mut self, entity: &Arc<Entity>) -> Result<Option<String>, StoreError> {
        let key = &entity.key;
        let Some(life) = self.memory.law.definition(&key.lifecycle, entity.definition).cloned() else {
            return Ok(None);
        };
        for group in groups_of(&life, entity) {
            if !self.memory.unflushed().moves(&group) && !self.memory.reader().is_member(&group, key)? {
                return Ok(Some(format!("it is not listed as one of {} of {}", group.name, group.of)));
            }
        }
        for ranking in &life.rankings {
            let ranking = RankingKey { lifecycle: key.lifecycle.clone(), name: ranking.name.clone() };
            let Some(known) = self.memory.view.rankings.get(&ranking) else { continue };
            let wanted = known.place(&key.id).cloned();
            let kept = match self.memory.reader().place(&ranking, &key.id) {
                Ok(kept) if self.memory.unflushed().places(&ranking, &key.id, kept.position) => continue,
                Ok(kept) if kept.value == wanted => continue,
                Ok(kept) => serde_json::to_string(&kept.value).unwrap_or_default(),
                Err(StoreError::Damaged { what, .. }) => what,
                Err(error) => return Err(error),
            };
            return Ok(Some(format!("its place in {} was kept as {kept}", ranking.name)));
        }
        Ok(None)
    }

    /// The groups of an entity are loaded again once its rebuilt rows are flushed.
    pub(super) fn forget_groups_of(&mut self, entity: &Entity) {
        let seq = self.memory.view.seq;
        self.memory.source.stale.iter_mut().filter(|it| it.0 == u64::MAX).for_each(|it| it.0 = seq);
        let Some(life) = self.memory.law.definition(&entity.key.lifecycle, entity.definition) else { return };
        let own = life.inverses.iter().map(|it| GroupKey { of: entity.key.clone(), name: it.name.clone() });
        self.memory.source.stale.extend(groups_of(life, entity).into_iter().chain(own).map(|it| (seq, it)));
    }
}
