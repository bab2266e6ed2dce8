//! The changes of a decision to rankings.

use trackside_lifecycle::model::{Lifecycle, Ranking};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::fire::plain_scope;
use super::request::Request;
use super::{DecisionBuilder, EACH, Stop};
use crate::actor::ActorKind;
use crate::entity::Entity;
use crate::fields::Fields;
use crate::key::{EntityKey, GroupKey};
use crate::law::Law;
use crate::ranking::{RankPlace, RankingKey, Reranked, Weight, Within};
use crate::refusal::{Code, Refusal};
use crate::view::{Found, Lookup, View};

impl DecisionBuilder<'_> {
    /// Recomputes the places of all entities that this decision touched, and of those that read them.
    pub fn rerank(&mut self) -> Result<(), Stop> {
        if self.draft.entries.is_empty() {
            return Ok(());
        }
        let moved = self.moved_ones();
        let mut keys = moved.clone();
        self.add_watchers(&moved, true, &mut keys)?;
        let mut changes = self.ranking_changes(&moved, &keys)?;
        let gone = |(ranking, entity): (Name, EntityKey)| Reranked::Placed { ranking, entity, place: None };
        changes.extend(std::mem::take(&mut self.ghost_places).into_iter().map(gone));
        if let Some(last) = self.draft.entries.last_mut() {
            last.reranked.extend(changes);
        }
        Ok(())
    }

    /// The differences of the places of `keys`, and of the orders within `moved`, from the stored ones.
    pub(super) fn ranking_changes(
        &self,
        moved: &[EntityKey],
        keys: &[EntityKey],
    ) -> Result<Vec<Reranked>, Stop> {
        let mut changes = Vec::new();
        let mut opened: Vec<(RankingKey, Within)> = Vec::new();
        for key in keys {
            let Found::Here(entity) = self.draft.entity(key) else { continue };
            let Some(life) = self.law.definition(&key.lifecycle, entity.definition) else { continue };
            for ranking in &life.rankings {
                let index = RankingKey { lifecycle: key.lifecycle.clone(), name: ranking.name.clone() };
                let known = match self.draft.base().ranking(&index) {
                    Found::Here(known) => Some(known),
                    Found::Absent => None,
                    Found::Unknown => return Err(Stop::NotLoaded),
                };
                let place = self.place(life, ranking, entity)?;
                let is_new = place.as_ref() != known.and_then(|it| it.place(&key.id));
                let to_rebuild = self.to_rebuild.contains(key);
                if is_new || to_rebuild || (place.is_some() && self.restated.contains(key)) {
                    let within = place.as_ref().map(|it| it.within.clone());
                    changes.push(Reranked::Placed {
                        ranking: ranking.name.clone(),
                        entity: key.clone(),
                        place,
                    });
                    opened.extend(within.filter(|_| ranking.open.is_some()).map(|it| (index, it)));
                }
            }
        }
        for key in moved {
            let Some(life) = self.law.newest(&key.lifecycle) else { continue };
            for closing in &life.closes {
                let index =
                    RankingKey { lifecycle: closing.lifecycle.clone(), name: closing.ranking.clone() };
                let Found::Here(known) = self.draft.base().ranking(&index) else { continue };
                opened.extend(
                    known.orders_within(closing.place, &key.id).map(|it| (index.clone(), it.clone())),
                );
            }
        }
        opened.sort();
        opened.dedup();
        for (index, within) in opened {
            let Some(life) = self.law.newest(&index.lifecycle) else { continue };
            let Some(ranking) = life.ranking(&index.name) else { continue };
            let open = self.is_open(life, ranking, &within)?;
            // A new order is open until a rule closes it.
            let known = match self.draft.base().ranking(&index) {
                Found::Here(known) => known.is_open(&within),
                Found::Absent | Found::Unknown => None,
            };
            // An order that is emptied and filled again in the same decision counts as new, too.
            let filled = changes.iter().any(|it| match it {
                Reranked::Placed { entity, ranking, place: Some(place) } => {
                    entity.lifecycle == index.lifecycle && *ranking == index.name && place.within == within
                }
                _ => false,
            });
            let to_rebuild = self.to_rebuild.iter().any(|it| it.lifecycle == index.lifecycle);
            if open != known.unwrap_or(true) || (filled && (!open || to_rebuild)) {
                changes.push(Reranked::Opened { ranking: index, within, open });
            }
        }
        Ok(changes)
    }

    /// All touched entities, and those whose counts changed.
    pub fn moved_ones(&self) -> Vec<EntityKey> {
        let mut keys = self.touched.clone();
        for owner in self.draft.owners_of_changed_groups() {
            if !keys.contains(&owner) {
                keys.push(owner);
            }
        }
        keys
    }

    /// Adds the entities whose rankings (or reactions) read one of `moved` through a ref.
    pub fn add_watchers(
        &self,
        moved: &[EntityKey],
        rankings: bool,
        keys: &mut Vec<EntityKey>,
    ) -> Result<(), Stop> {
        for key in moved {
            let Some(life) = self.law.newest(&key.lifecycle) else { continue };
            for watcher in life.watchers.iter().filter(|it| it.ranking == rankings) {
                let group = GroupKey { of: key.clone(), name: watcher.inverse.clone() };
                let members = match self.draft.members(&group, EACH, |state| watcher.states.has(state)) {
                    Found::Here(members) => members,
                    Found::Absent => continue,
                    Found::Unknown => return Err(Stop::NotLoaded),
                };
                if members.len() > EACH {
                    let message = format!(
                        "More than {EACH} {} look at {key}, which one command may not concern: use `within` and `open` for what many share",
                        watcher.inverse
                    );
                    return Err(Refusal::one(Code::TooManyMoves, message).into());
                }
                for member in members {
                    if !keys.contains(&member) {
                        if matches!(self.draft.entity(&member), Found::Unknown) {
                            return Err(Stop::NotLoaded);
                        }
                        keys.push(member);
                    }
                }
            }
        }
        Ok(())
    }

    /// The place of an entity in a ranking, if it has one.
    pub fn place(
        &self,
        life: &Lifecycle,
        ranking: &Ranking,
        entity: &Entity,
    ) -> Result<Option<RankPlace>, Stop> {
        if !ranking.within_states.has(&entity.state) {
            return Ok(None);
        }
        let around = self.surroundings();
        let request = ranking_request();
        let scope = plain_scope(&around, life, entity, &request);
        if let Some(when) = &ranking.when {
            // An entity whose place cannot be computed is not handed out.
            if !self.test(&scope, when)?.unwrap_or(false) {
                return Ok(None);
            }
        }
        let mut weights = Vec::with_capacity(ranking.by.len());
        for order in &ranking.by {
            let value = self.eval(&scope, &order.by)?.unwrap_or_default();
            weights.push(Weight::new(&value, order.descending));
        }
        let meant_for = match &ranking.meant_for {
            Some(guard) => match self.eval(&scope, guard)?.unwrap_or_default() {
                Value::Text(id) => Some(id),
                _ => None,
            },
            None => None,
        };
        let within = ranking.within.iter().map(|it| within_id(life, it, entity)).collect();
        Ok(Some(RankPlace { within, meant_for, weights: weights.into(), since: entity.created_at }))
    }

    /// Whether an order is open for its members.
    fn is_open(&self, life: &Lifecycle, ranking: &Ranking, within: &Within) -> Result<bool, Stop> {
        let Some(open) = &ranking.open else { return Ok(true) };
        let key = EntityKey { lifecycle: life.name.clone(), id: Name::new("") };
        let mut member = self.blank(life, &key);
        for (name, id) in ranking.within.iter().zip(within) {
            if let Some(field) = life.reference(name).and_then(|it| it.by.as_ref()) {
                let value = if id.is_empty() { Value::Null } else { Value::from(id) };
                member.fields.set(field, value);
            }
        }
        let around = self.surroundings();
        let request = ranking_request();
        let scope = plain_scope(&around, life, &member, &request);
        // A condition that cannot be evaluated closes it.
        Ok(self.test(&scope, open)?.unwrap_or(false))
    }
}

/// Wrong places in the rankings of a whole view: none, unless definitions or settings have changed.
pub fn reindex(law: &Law, view: &View, now: Timestamp) -> Vec<Reranked> {
    let lookup = Lookup::new(view);
    let builder = DecisionBuilder::new(law, &lookup, now, false);
    let all: Vec<EntityKey> = view.entities().into_iter().map(|it| it.key.clone()).collect();
    builder.ranking_changes(&all, &all).unwrap_or_default()
}

/// A request without a caller: rankings are the same for all actors.
fn ranking_request() -> Request {
    Request::engine(ActorKind::System, Fields::default(), Name::new("ranking"), None)
}

/// The id that a ref of an entity names; empty if it names none.
pub(super) fn within_id(life: &Lifecycle, reference: &Name, entity: &Entity) -> Name {
    let Some(reference) = life.reference(reference) else { return Name::new("") };
    match &reference.by {
        Some(field) => entity.ids(field).into_iter().next().unwrap_or_else(|| Name::new("")),
        None => super::scope::kind_of(&reference.to),
    }
}
