//! The reader of the store in memory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use trackside_engine::entity::Entity;
use trackside_engine::event::{EventKind, KeyRecord};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{RankPlace, RankingIndex, RankingKey, Within};
use trackside_engine::view::Project;
use trackside_lifecycle::name::Name;

use super::projected::{Projected, timers_of};
use super::{Call, Disk, MemoryStore};
use crate::rules::Installed;
use crate::store::{
    AtPosition, Census, Counts, Definition, DueAt, DwellTimes, Head, Listing, MemberRow, Members,
    NOTHING_KEPT, OpenEffectRow, OrderRow, ReadAt, Reader,
};
use crate::{Chain, EntityRow, Record, StoreError};

pub(super) struct MemoryReader(pub(super) MemoryStore);

impl MemoryReader {
    fn read<T>(&self, at: impl FnOnce(&Disk) -> T) -> Result<T, StoreError> {
        self.0.attempt(Call::Read, |disk| Ok(at(disk)))
    }

    /// A value of the projections and their position.
    fn with_position<T>(&self, at: impl FnOnce(&Projected) -> T) -> ReadAt<T> {
        self.read(|it| AtPosition { position: it.projected.position, value: at(&it.projected) })
    }
}

impl Reader for MemoryReader {
    fn head(&mut self) -> Result<Head, StoreError> {
        self.read(|it| it.head)
    }

    fn records(&mut self, after: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        let later = (Bound::Excluded(after), Bound::Unbounded);
        self.read(|it| it.records.range(later).take(most).map(|(_, it)| it.clone()).collect())
    }

    fn record(&mut self, seq: u64) -> Result<Option<Record>, StoreError> {
        self.read(|it| it.records.get(&seq).or_else(|| it.stayed.get(&seq)).cloned())
    }

    fn stayed(&mut self, of: &EntityKey) -> Result<Vec<u64>, StoreError> {
        let is_of = |it: &&Record| it.entity().as_ref() == Some(of);
        self.read(|it| it.stayed.values().filter(is_of).map(|it| it.seq).collect())
    }

    fn trail(&mut self, from: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        self.read(|disk| {
            let first = disk.records.get(&from);
            let earlier = |it: &&Record| disk.records.get(&it.prev).filter(|before| before.seq < it.seq);
            std::iter::successors(first, earlier).take(most).cloned().collect()
        })
    }

    fn base(&mut self) -> Result<Chain, StoreError> {
        self.read(|it| it.base)
    }

    fn definitions(&mut self) -> Result<Vec<Definition>, StoreError> {
        self.read(|it| it.definitions.values().cloned().collect())
    }

    fn installed(&mut self) -> Result<Vec<Installed>, StoreError> {
        self.read(|it| it.installed.clone())
    }

    fn position(&mut self) -> Result<u64, StoreError> {
        self.read(|it| it.projected.position)
    }

    fn project(&mut self) -> Result<Option<Project>, StoreError> {
        self.read(|it| it.projected.project.clone())
    }

    fn entity(&mut self, key: &EntityKey) -> Result<Option<Arc<Entity>>, StoreError> {
        self.read(|it| it.projected.entities.get(key).map(|it| it.entity.clone()))
    }

    fn counts(&mut self, group: &GroupKey) -> ReadAt<Counts> {
        self.with_position(|it| it.groups.get(group).map(|it| it.counts.clone()).unwrap_or_default())
    }

    fn groups(&mut self, of: &EntityKey) -> ReadAt<Vec<(Name, Counts)>> {
        self.with_position(|it| {
            let own = it.groups.iter().filter(|(key, _)| key.of == *of);
            own.map(|(key, group)| (key.name.clone(), group.counts.clone())).collect()
        })
    }

    fn members(&mut self, group: &GroupKey) -> ReadAt<Members> {
        self.with_position(|all| {
            let Some(kin) = all.groups.get(group) else { return Members::default() };
            let mut members = Members { moved_at: kin.counts.moved_at, ..Members::default() };
            for key in &kin.members {
                if let Some(row) = all.entities.get(key) {
                    members.by_state.entry(row.entity.state.clone()).or_default().insert(key.clone());
                }
            }
            members
        })
    }

    fn ranking(&mut self, key: &RankingKey) -> ReadAt<RankingIndex> {
        self.with_position(|it| it.rankings.get(key).cloned().unwrap_or_default())
    }

    fn unique_holder(&mut self, lifecycle: &Name, value: &Name) -> Result<Option<EntityKey>, StoreError> {
        self.read(|it| it.projected.unique_values.get(&(lifecycle.clone(), value.clone())).cloned())
    }

    fn key(&mut self, actor: &Name, key: &Name) -> Result<Option<(u64, KeyRecord)>, StoreError> {
        self.read(|it| it.projected.keys.get(&(actor.clone(), key.clone())).cloned())
    }

    fn timers(&mut self, after: Option<&DueAt>, most: usize) -> ReadAt<Vec<DueAt>> {
        let later = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        self.with_position(|it| it.timers.range::<DueAt, _>(later).take(most).cloned().collect())
    }

    fn list(&mut self, listing: &Listing) -> ReadAt<Vec<Arc<Entity>>> {
        let first = listing.lifecycle.as_ref().map(|it| EntityKey::new(it.clone(), ""));
        let from = match (&listing.after, &first) {
            (Some(after), Some(first)) if after < first => Bound::Included(first),
            (Some(after), _) => Bound::Excluded(after),
            (None, Some(first)) => Bound::Included(first),
            (None, None) => Bound::Unbounded,
        };
        self.with_position(|it| {
            let later = it.entities.range::<EntityKey, _>((from, Bound::Unbounded)).map(|(_, row)| row);
            let of_it = |row: &&EntityRow| {
                listing.lifecycle.as_ref().is_none_or(|it| *it == row.entity.key.lifecycle)
            };
            let wanted = later.take_while(of_it).filter(|it| is_wanted(it, listing));
            wanted.take(listing.most).map(|it| it.entity.clone()).collect()
        })
    }

    fn states(&mut self, lifecycle: &Name) -> ReadAt<BTreeMap<Name, u64>> {
        self.with_position(|it| it.states.get(lifecycle).cloned().unwrap_or_default())
    }

    fn dwell_times(&mut self, lifecycle: &Name) -> ReadAt<BTreeMap<Name, DwellTimes>> {
        self.with_position(|it| it.dwell_times.get(lifecycle).cloned().unwrap_or_default())
    }

    fn notices(&mut self, kinds: &[&str], after: u64, most: usize) -> Result<Vec<u64>, StoreError> {
        let first = (after.saturating_add(1), "");
        self.read(|it| {
            let wanted = it.projected.notices.range(first..).filter(|(_, kind)| kinds.contains(kind));
            let mut seqs: Vec<u64> = wanted.map(|(seq, _)| *seq).collect();
            seqs.dedup();
            seqs.truncate(most);
            seqs
        })
    }

    fn effects(&mut self, after: u64, most: usize) -> ReadAt<Vec<OpenEffectRow>> {
        let later = (Bound::Excluded(after), Bound::Unbounded);
        self.with_position(|it| it.effects.range(later).take(most).map(|(_, it)| it.clone()).collect())
    }

    fn difference(&mut self, row: &EntityRow) -> Result<Option<String>, StoreError> {
        let key = &row.entity.key;
        self.read(|disk| {
            let all = &disk.projected;
            let Some(kept) = all.entities.get(key) else { return Some(NOTHING_KEPT.to_owned()) };
            if kept.entity != row.entity {
                return Some(serde_json::to_string(&*kept.entity).unwrap_or_default());
            }
            let timer = timers_of(row).find(|it| !all.timers.contains(it));
            timer.map(|it| format!("its timer {} has no row", it.timer))
        })
    }

    fn groups_after(&mut self, after: u64, most: usize) -> ReadAt<Vec<(u64, GroupKey)>> {
        self.with_position(|it| {
            (1_u64..).zip(it.groups.keys().cloned()).skip(index(after)).take(most).collect()
        })
    }

    fn members_after(&mut self, group: &GroupKey, after: u64, most: usize) -> ReadAt<Vec<MemberRow>> {
        self.with_position(|all| {
            let kept = all.groups.get(group).into_iter().flat_map(|it| &it.members);
            let rows = (1_u64..).zip(kept).skip(index(after));
            let row = |(row, key): (u64, &EntityKey)| {
                let state = all.entities.get(key)?.entity.state.clone();
                Some(MemberRow { row, key: key.clone(), state })
            };
            rows.filter_map(row).take(most).collect()
        })
    }

    fn is_member(&mut self, group: &GroupKey, of: &EntityKey) -> Result<bool, StoreError> {
        self.read(|it| it.projected.groups.get(group).is_some_and(|it| it.members.contains(of)))
    }

    fn place(&mut self, ranking: &RankingKey, id: &Name) -> ReadAt<Option<RankPlace>> {
        self.with_position(|it| it.rankings.get(ranking).and_then(|it| it.place(id)).cloned())
    }

    fn places_after(
        &mut self,
        after: Option<&(RankingKey, Name)>,
        most: usize,
    ) -> ReadAt<Vec<(RankingKey, Name)>> {
        self.with_position(|all| {
            let of = |(key, ranking): (&RankingKey, &RankingIndex)| {
                let ids = ranking.orders().flat_map(|it| ranking.ascending(it));
                ids.map(|id| (key.clone(), id.clone())).collect::<Vec<_>>()
            };
            let mut places: Vec<_> = all.rankings.iter().flat_map(of).collect();
            places.retain(|it| after.is_none_or(|after| it > after));
            places.sort();
            places.truncate(most);
            places
        })
    }

    fn order(&mut self, ranking: &RankingKey, within: &Within) -> ReadAt<Option<OrderRow>> {
        self.with_position(|it| order_row(ranking, it.rankings.get(ranking)?, within))
    }

    fn orders_after(&mut self, after: Option<&(RankingKey, Within)>, most: usize) -> ReadAt<Vec<OrderRow>> {
        self.with_position(|all| {
            let of = |(key, ranking): (&RankingKey, &RankingIndex)| {
                ranking.orders().filter_map(|it| order_row(key, ranking, it)).collect::<Vec<_>>()
            };
            let mut orders: Vec<_> = all.rankings.iter().flat_map(of).collect();
            let is_later = |it: &OrderRow| {
                after.is_none_or(|(ranking, within)| (&it.ranking, &it.within) > (ranking, within))
            };
            orders.retain(is_later);
            orders.truncate(most);
            orders
        })
    }

    fn census(&mut self) -> ReadAt<Census> {
        let found = self.notices(&[EventKind::ViolationFound.as_str()], 0, usize::MAX)?.len() as u64;
        let cleared = self.notices(&[EventKind::ViolationCleared.as_str()], 0, usize::MAX)?.len() as u64;
        self.with_position(|it| Census {
            timers: it.timers.len() as u64,
            leases: it.timers.iter().filter(|it| it.timer.starts_with("lease.")).count() as u64,
            effects: it.effects.len() as u64,
            violations: found.saturating_sub(cleared),
        })
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn order_row(key: &RankingKey, ranking: &RankingIndex, within: &Within) -> Option<OrderRow> {
    let closed = !ranking.is_open(within)?;
    let n = ranking.size(within) as u64;
    Some(OrderRow { ranking: key.clone(), within: within.clone(), n, closed })
}

fn is_wanted(row: &EntityRow, listing: &Listing) -> bool {
    let entity = &row.entity;
    (listing.states.is_empty() || listing.states.contains(&entity.state))
        && listing.indexed.as_ref().is_none_or(|it| row.indexed.contains(it))
        && listing.overdue_at.is_none_or(|now| row.overdue_at.is_some_and(|it| it <= now))
}
