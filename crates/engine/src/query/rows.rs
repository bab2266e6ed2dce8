//! Which entities are in the answer of a query, and in which order. They may come from anywhere.

use std::cmp::Ordering;

use trackside_lifecycle::guard::Fault;
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
use crate::view::View;

/// What rows are looked at with.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    pub law: &'a Law,
    /// Where what rows refer to is found.
    pub view: &'a View,
    pub actor: &'a Actor,
    /// The actor sees what it may read; otherwise the pack itself asks, which only counts.
    pub shown: bool,
    pub now: Timestamp,
}

impl Asking<'_> {
    /// Whether an entity may be shown. What has no answer may not.
    pub fn may_read(&self, entity: &Entity) -> Result<bool, Fault> {
        let Some(life) = self.law.definition(&entity.key.lifecycle, entity.definition) else {
            return Ok(false);
        };
        let Some(read) = life.read.as_ref().filter(|_| self.shown) else { return Ok(true) };
        let Self { law, view, actor, now, .. } = *self;
        sample_scope(law, view, life, entity, actor, now, None, |scope| answered(read.test(scope), false))
    }

    /// Why the holder of a lease should not go on: what its slot says must hold meanwhile, and does not.
    pub fn stops(&self, entity: &Entity, slot: &Name) -> Vec<String> {
        let Self { law, view, actor, now, .. } = *self;
        let life = law.definition(&entity.key.lifecycle, entity.definition);
        let Some((life, slot)) = life.and_then(|it| Some((it, it.slot(slot)?))) else { return Vec::new() };
        sample_scope(law, view, life, entity, actor, now, None, |scope| {
            let broken = slot.goes_on.iter().filter(|it| matches!(it.guard.test(scope), Ok(false)));
            let said = broken.map(|it| it.says.render(scope).unwrap_or_else(|_| it.says.source().to_owned()));
            said.collect()
        })
    }

    /// What an entity is ordered by, if the actor may see it and it is asked for.
    pub fn row(&self, query: &Query, params: &Fields, entity: &Entity) -> Result<Option<Vec<Value>>, Fault> {
        let Self { law, view, actor, now, .. } = *self;
        // A query speaks the language of the newest version, whichever one the entity lives by.
        let Some(life) = law.newest(&entity.key.lifecycle) else { return Ok(None) };
        if !self.may_read(entity)? {
            return Ok(None);
        }
        sample_scope(law, view, life, entity, actor, now, Some(params), |scope| {
            // What has no answer is not in it.
            if let Some(filter) = &query.filter
                && !answered(filter.test(scope), false)?
            {
                return Ok(None);
            }
            let keys = query.order.iter().map(|it| answered(it.by.eval(scope), Value::Null));
            keys.collect::<Result<Vec<Value>, Fault>>().map(Some)
        })
    }
}

/// What was answered, or what stands for no answer.
fn answered<T>(answer: Result<T, Fault>, otherwise: T) -> Result<T, Fault> {
    match answer {
        Err(Fault::NotLoaded) => Err(Fault::NotLoaded),
        Err(_) => Ok(otherwise),
        Ok(it) => Ok(it),
    }
}

/// Puts rows in the order of their query; those that are equal in the order of their keys.
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
