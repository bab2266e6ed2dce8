//! Runs the named queries of the packs on the whole project.

use std::cell::RefCell;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::actor::Actor;
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::query::{
    GroupedRows, QueryError, QueryKind, QueryPlan, QueryReader, find_query, sort, values,
};
use trackside_engine::ranking::{RankingIndex, RankingKey};
use trackside_engine::supervise::{Ended, Verdict, after_exit_by};
use trackside_engine::view::Needs;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_store::store::Listing;

use super::list::hint;
use super::list_filter::ConditionNames;
use super::read_view::ReadView;
use super::walk::{CHUNK, Walk};
use super::{ReadError, Reads};

/// The answer of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum NamedAnswer {
    Entities(Vec<Arc<Entity>>),
    /// Named values instead of rows.
    Values(Vec<(Name, Value)>),
    /// Entries of the journal of an entity; see [`Reads::selected_history`].
    History(HistorySelection),
}

/// The entries that a history query selects.
#[derive(Clone, Debug, PartialEq)]
pub struct HistorySelection {
    pub key: EntityKey,
    pub pack: Name,
    pub query: Name,
    pub params: Fields,
    pub actor: Actor,
}

impl Reads {
    /// Answers a query of a pack with the rows that the actor may see.
    ///
    /// Queries over a ranking wait for the decider, which keeps its order.
    pub fn run_query(
        &self,
        pack: &str,
        query: &str,
        asked: &Fields,
        actor: &Actor,
    ) -> Result<NamedAnswer, ReadError> {
        let mut view = ReadView::new(self);
        let law = view.law().clone();
        let pack = law.pack(pack).ok_or_else(|| ReadError::unknown_pack(&law, pack))?;
        let plan = QueryPlan::new(&law, find_query(pack, query)?, asked)?;
        match &plan.kind {
            QueryKind::History(key) => {
                let key = self.readable(key, actor)?.key.clone();
                let (pack, query) = (pack.name.clone(), plan.query.name.clone());
                let (params, actor) = (plan.params.clone(), actor.clone());
                Ok(NamedAnswer::History(HistorySelection { key, pack, query, params, actor }))
            }
            QueryKind::Groups(of) => {
                let mut grouped = GroupedRows::default();
                self.each_row(&law, of, &plan, |entities| {
                    let found = view.ask(|law, view, now| {
                        let asking = QueryReader { law, view, actor, shown: true, now };
                        Needs::collect(entities.iter().map(|it| asking.grouped(plan.query, &plan.params, it)))
                    })?;
                    found.into_iter().for_each(|it| grouped.add(plan.query, it));
                    Ok(())
                })?;
                Ok(NamedAnswer::Values(grouped.finish(plan.query)))
            }
            QueryKind::Values => {
                let mut counts = Vec::new();
                for name in &plan.query.counts {
                    let counted = QueryPlan::for_counting(&law, find_query(pack, name)?, &plan.params)?;
                    counts.push((name.clone(), self.rows(&mut view, &law, &counted, Some(actor))?.len()));
                }
                Ok(NamedAnswer::Values(values(pack, &self.shared.project(), &plan, &counts)?))
            }
            QueryKind::Ranked { .. } | QueryKind::Rows(_) => {
                Ok(NamedAnswer::Entities(self.rows(&mut view, &law, &plan, Some(actor))?))
            }
        }
    }

    /// Applies the rules of supervision of a pack to a process that ended.
    pub fn after_exit(&self, pack: &str, ended: &Ended) -> Result<Verdict, ReadError> {
        let view = RefCell::new(ReadView::new(self));
        let law = view.borrow().law().clone();
        let pack = law.pack(pack).ok_or_else(|| ReadError::unknown_pack(&law, pack))?;
        let failed = RefCell::new(None);
        let count_rows = |query: &Name, params: &Fields| {
            let plan = QueryPlan::for_counting(&law, find_query(pack, query)?, params)?;
            // The pack asks, so all rows count.
            match self.rows(&mut view.borrow_mut(), &law, &plan, None) {
                Ok(rows) => Ok(rows.len()),
                Err(error) => {
                    let why = error.to_string();
                    failed.replace(Some(error));
                    Err(QueryError(vec![why]))
                }
            }
        };
        let verdict = after_exit_by(pack, &self.shared.project(), ended, &count_rows, None);
        verdict.map_err(|error| failed.take().unwrap_or_else(|| error.into()))
    }

    /// The entities that a query gives, in its order. Without an actor, all of them.
    fn rows(
        &self,
        view: &mut ReadView,
        law: &Law,
        plan: &QueryPlan<'_>,
        actor: Option<&Actor>,
    ) -> Result<Vec<Arc<Entity>>, ReadError> {
        match &plan.kind {
            QueryKind::Ranked { ranking, caller } => {
                let mut found = Vec::new();
                let own = Actor::engine();
                let ids = self.open_in(ranking.clone(), caller.clone(), actor.unwrap_or(&own))?;
                for ids in ids.chunks(CHUNK) {
                    let keys = ids
                        .iter()
                        .map(|id| EntityKey { lifecycle: ranking.lifecycle.clone(), id: id.clone() });
                    let entities = keys.map(|it| self.entity(&it)).collect::<Result<Vec<_>, _>>()?;
                    found.extend(matching_rows(view, plan, actor, entities.into_iter().flatten().collect())?);
                }
                Ok(found.into_iter().map(|(_, it)| it).collect())
            }
            QueryKind::Rows(of) => {
                let mut found = Vec::new();
                self.each_row(law, of, plan, |entities| {
                    found.extend(matching_rows(view, plan, actor, entities)?);
                    Ok(())
                })?;
                sort(plan.query, &mut found, |it| &it.key);
                Ok(found.into_iter().map(|(_, it)| it).collect())
            }
            QueryKind::Values | QueryKind::Groups(_) | QueryKind::History(_) => Ok(Vec::new()),
        }
    }

    /// Reads the entities that can be rows of a query, in chunks.
    fn each_row(
        &self,
        law: &Law,
        of: &Name,
        plan: &QueryPlan<'_>,
        mut add: impl FnMut(Vec<Arc<Entity>>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let Some(listing) = listing(law, of, plan) else { return Ok(()) };
        let indexed = listing.indexed.is_some();
        let mut walk = Walk::new(self, of, listing);
        while let Some(entities) = walk.next(CHUNK.min(self.budget))? {
            add(entities)?;
            if walk.is_over(self.budget) {
                let hint = hint(&*self.lifecycle(of)?, indexed);
                return Err(ReadError::TooExpensive { looked: walk.entities_read(), hint, reached: None });
            }
        }
        Ok(())
    }

    /// The ids that a ranking hands out, first to last.
    fn open_in(
        &self,
        ranking: RankingKey,
        caller: Option<Name>,
        actor: &Actor,
    ) -> Result<Vec<Name>, ReadError> {
        let most = self.budget;
        let ids = self.gateway.evaluate_for(actor, move |_, view, _| {
            let open =
                |it: &RankingIndex| it.open(caller.as_ref()).take(most + 1).cloned().collect::<Vec<Name>>();
            view.read(|it| it.ranking(&ranking).here().map(open).unwrap_or_default())
        })?;
        let ids = ids.wait()?;
        if ids.len() > most {
            let hint = "Take from it with a claim, or list by state.".to_owned();
            return Err(ReadError::TooExpensive { looked: most, hint, reached: None });
        }
        Ok(ids)
    }
}

/// The sort keys, and the entity.
type Row = (Vec<Value>, Arc<Entity>);

/// The entities that match, with their sort keys.
fn matching_rows(
    view: &mut ReadView,
    plan: &QueryPlan<'_>,
    actor: Option<&Actor>,
    entities: Vec<Arc<Entity>>,
) -> Result<Vec<Row>, ReadError> {
    let own = Actor::engine();
    let rows = view.ask(|law, view, now| {
        let asking = QueryReader { law, view, actor: actor.unwrap_or(&own), shown: actor.is_some(), now };
        Needs::collect(entities.iter().map(|it| asking.row(plan.query, &plan.params, it)))
    })?;
    Ok(rows.into_iter().zip(entities).filter_map(|(keys, it)| Some((keys?, it))).collect())
}

/// The listing that contains its rows; none if there cannot be any.
fn listing(law: &Law, of: &Name, plan: &QueryPlan<'_>) -> Option<Listing> {
    let Some(filter) = &plan.query.filter else { return Some(Listing::default()) };
    let life = law.newest(of)?;
    let read = |slot: trackside_lifecycle::guard::VarSlot| life.reads.get(slot.0 as usize).cloned();
    let names = ConditionNames { law, lifecycle: of, read: &read, params: &plan.params };
    let filtered = names.list_filter(&filter.outline());
    let empty = filtered.is_empty();
    let states = filtered.states.unwrap_or_default();
    (!empty).then(|| Listing { states, indexed: filtered.indexed, ..Listing::default() })
}
