//! The named queries of a pack.
//!
//! [`ask`] answers them from a view that holds everything. Callers that store entities elsewhere make a
//! [`QueryPlan`], evaluate each row with [`QueryReader::row`] and sort rows with [`sort`].

mod filter;
mod groups;
mod plan;
mod rows;

use trackside_lifecycle::guard::Fault;
use trackside_lifecycle::model::{Pack, Query};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use crate::actor::Actor;
use crate::entity::Entity;
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::law::Law;
use crate::view::{Found, Needs, View};
pub use filter::{lets_through, matches_filter};
pub use groups::{GroupedRows, GroupedValues};
pub(crate) use plan::PackScope;
pub use plan::{QueryKind, QueryPlan, find_query, values};
pub use rows::{QueryReader, compare, sort};

/// The answer of a query.
#[derive(Debug)]
pub enum QueryAnswer<'v> {
    Entities(Vec<&'v Entity>),
    /// Named values instead of rows.
    Values(Vec<(Name, Value)>),
    /// The journal of this entity.
    History(EntityKey),
}

/// Why a query has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError(pub Vec<String>);

impl From<Fault> for QueryError {
    fn from(fault: Fault) -> Self {
        Self(vec![fault.to_string()])
    }
}

impl From<Needs> for QueryError {
    fn from(needs: Needs) -> Self {
        Self(vec![needs.to_string()])
    }
}

/// Answers a query of a pack with the rows that the actor may see.
pub fn ask<'v>(
    law: &Law,
    view: &'v View,
    query: &Query,
    actor: &Actor,
    asked: &Fields,
    now: Timestamp,
) -> Result<QueryAnswer<'v>, QueryError> {
    let plan = QueryPlan::new(law, query, asked)?;
    answer(&QueryReader { law, view, actor, shown: true, now }, view, &plan)
}

fn answer<'v>(
    asking: &QueryReader<'_>,
    view: &'v View,
    plan: &QueryPlan<'_>,
) -> Result<QueryAnswer<'v>, QueryError> {
    let (query, params) = (plan.query, &plan.params);
    match &plan.kind {
        QueryKind::Values => {
            let Some(pack) =
                asking.law.packs().find(|it| it.queries.iter().any(|it| std::ptr::eq(it, query)))
            else {
                return Err(QueryError(vec![format!("{} is a query of no pack", query.name)]));
            };
            let QueryReader { law, actor, now, .. } = *asking;
            let count =
                |name: &Name| Ok((name.clone(), count(law, view, pack, name, Some(actor), params, now)?));
            let rows = query.counts.iter().map(count).collect::<Result<Vec<_>, QueryError>>()?;
            values(pack, &view.project, plan, &rows).map(QueryAnswer::Values)
        }
        QueryKind::Groups(of) => {
            let mut rows = GroupedRows::default();
            for entity in view.entities().into_iter().filter(|it| it.key.lifecycle == *of) {
                rows.add(query, asking.grouped(query, params, entity)?);
            }
            Ok(QueryAnswer::Values(rows.finish(query)))
        }
        QueryKind::History(key) => {
            let readable = match view.entity(key) {
                Found::Here(entity) => asking.may_read(entity)?,
                Found::Absent | Found::Unknown => false,
            };
            match readable {
                true => Ok(QueryAnswer::History(key.clone())),
                false => Err(QueryError(vec![format!("there is no {key}")])),
            }
        }
        QueryKind::Ranked { ranking: index, caller } => {
            let mut found = Vec::new();
            let Found::Here(ranking) = view.ranking(index) else { return Ok(QueryAnswer::Entities(found)) };
            for id in ranking.open(caller.as_ref()) {
                let key = EntityKey { lifecycle: index.lifecycle.clone(), id: id.clone() };
                let Found::Here(entity) = view.entity(&key) else { continue };
                if asking.row(query, params, entity)?.is_some() {
                    found.push(entity);
                }
            }
            Ok(QueryAnswer::Entities(found))
        }
        QueryKind::Rows(of) => {
            let mut found: Vec<(Vec<Value>, &Entity)> = Vec::new();
            for entity in view.entities().into_iter().filter(|it| it.key.lifecycle == *of) {
                if let Some(keys) = asking.row(query, params, entity)? {
                    found.push((keys, entity));
                }
            }
            sort(query, &mut found, |it| &it.key);
            Ok(QueryAnswer::Entities(found.into_iter().map(|(_, it)| it).collect()))
        }
    }
}

/// The number of rows of a query, given those of the parameters that it takes. Without an actor it counts
/// all rows: the pack itself asks.
pub fn count(
    law: &Law,
    view: &View,
    pack: &Pack,
    name: &Name,
    actor: Option<&Actor>,
    params: &Fields,
    now: Timestamp,
) -> Result<usize, QueryError> {
    let plan = QueryPlan::for_counting(law, find_query(pack, name)?, params)?;
    let own = Actor::engine();
    let asking = QueryReader { law, view, actor: actor.unwrap_or(&own), shown: actor.is_some(), now };
    match answer(&asking, view, &plan)? {
        QueryAnswer::Entities(rows) => Ok(rows.len()),
        QueryAnswer::Values(_) | QueryAnswer::History(_) => Ok(0),
    }
}

/// The names of a pack's queries.
pub fn names(law: &Law, pack: &str) -> Vec<Name> {
    law.pack(pack).map(|it| it.queries.iter().map(|it| it.name.clone()).collect()).unwrap_or_default()
}
