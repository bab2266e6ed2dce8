//! Selects and orders the entities of a query. They may come from any source.

use std::cmp::Ordering;

use trackside_lifecycle::model::Query;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use crate::actor::Actor;
use crate::decide::sample_scope;
use crate::entity::Entity;
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::law::Law;
use crate::view::{Needs, View};

/// The inputs of a query.
#[derive(Clone, Copy, Debug)]
pub struct QueryReader<'a> {
    pub law: &'a Law,
    /// The view in which refs are resolved.
    pub view: &'a View,
    pub actor: &'a Actor,
    /// Whether the actor sees only rows that it may read. Otherwise the pack itself asks, which only
    /// counts.
    pub shown: bool,
    pub now: Timestamp,
}

impl QueryReader<'_> {
    /// Whether an entity may be shown. A condition that cannot be evaluated hides it.
    pub fn may_read(&self, entity: &Entity) -> Result<bool, Needs> {
        let Some(life) = self.law.definition(&entity.key.lifecycle, entity.definition) else {
            return Ok(false);
        };
        let Some(read) = life.read.as_ref().filter(|_| self.shown) else { return Ok(true) };
        let Self { law, view, actor, now, .. } = *self;
        sample_scope(law, view, life, entity, actor, now, None, |scope| read.test(scope).unwrap_or(false))
    }

    /// Why the holder of a lease should stop: the conditions of its slot that do not hold.
    pub fn stops(&self, entity: &Entity, slot: &Name) -> Result<Vec<String>, Needs> {
        let Self { law, view, actor, now, .. } = *self;
        let life = law.definition(&entity.key.lifecycle, entity.definition);
        let Some((life, slot)) = life.and_then(|it| Some((it, it.slot(slot)?))) else {
            return Ok(Vec::new());
        };
        sample_scope(law, view, life, entity, actor, now, None, |scope| {
            let broken = slot.goes_on.iter().filter(|it| matches!(it.guard.test(scope), Ok(false)));
            let said = broken.map(|it| it.says.render(scope).unwrap_or_else(|_| it.says.source().to_owned()));
            said.collect()
        })
    }

    /// The sort key of an entity, if the query selects it and the actor may see it.
    pub fn row(&self, query: &Query, params: &Fields, entity: &Entity) -> Result<Option<Vec<Value>>, Needs> {
        let Self { law, view, actor, now, .. } = *self;
        // A query uses the names of the newest version for entities of every version.
        let Some(life) = law.newest(&entity.key.lifecycle) else { return Ok(None) };
        if !self.may_read(entity)? {
            return Ok(None);
        }
        sample_scope(law, view, life, entity, actor, now, Some(params), |scope| {
            // A condition that cannot be evaluated leaves the entity out.
            if query.filter.as_ref().is_some_and(|it| !it.test(scope).unwrap_or(false)) {
                return None;
            }
            Some(query.order.iter().map(|it| it.by.eval(scope).unwrap_or_default()).collect())
        })
    }
}

/// Sorts rows in the order of their query; equal rows by key.
pub fn sort<T>(query: &Query, rows: &mut [(Vec<Value>, T)], key: impl Fn(&T) -> &EntityKey) {
    rows.sort_by(|(a, x), (b, y)| {
        let mut order = Ordering::Equal;
        for ((a, b), by) in a.iter().zip(b).zip(&query.order) {
            let one = compare(a, b);
            order = order.then(if by.descending { one.reverse() } else { one });
        }
        order.then_with(|| key(x).cmp(key(y)))
    });
}

/// An order over values of one type; null first.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.cmp(b),
        (Value::Span(a), Value::Span(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        _ => match (a.as_float(), b.as_float()) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => Ordering::Equal,
        },
    }
}
