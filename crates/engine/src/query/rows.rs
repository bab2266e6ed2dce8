//! Selects and orders the entities of a query. They may come from any source.

use std::cmp::Ordering;

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Invariant, InvariantsOf, Lifecycle, Query, Severity};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::groups::GroupedValues;
use crate::actor::Actor;
use crate::decide::{kind_of, sample_elements, sample_scope, subject_of_run};
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
        let test = |life: &Lifecycle, read: &Guard, entity: &Entity| {
            sample_scope(law, view, life, entity, actor, now, None, |scope| read.test(scope).unwrap_or(false))
        };
        if !test(life, read, entity)? {
            return Ok(false);
        }
        let Some(subject) = subject_of_run(entity, actor) else { return Ok(true) };
        let Some(subject) = view.read(|it| it.entity(&subject))?.here() else { return Ok(true) };
        match law.definition(&subject.key.lifecycle, subject.definition) {
            Some(life) => life.read.as_ref().map_or(Ok(true), |read| test(life, read, subject)),
            None => Ok(false),
        }
    }

    /// Why the holder of a lease should stop: the conditions of its slot that do not hold, and violated invariants.
    pub fn stops(&self, entity: &Entity, slot: &Name) -> Result<Vec<String>, Needs> {
        let Self { law, view, actor, now, .. } = *self;
        let life = law.definition(&entity.key.lifecycle, entity.definition);
        let Some((life, slot)) = life.and_then(|it| Some((it, it.slot(slot)?))) else {
            return Ok(Vec::new());
        };
        let mut stops: Vec<String> = sample_scope(law, view, life, entity, actor, now, None, |scope| {
            let broken = slot.goes_on.iter().filter(|it| matches!(it.guard.test(scope), Ok(false)));
            let said = broken.map(|it| it.says.render(scope).unwrap_or_else(|_| it.says.source().to_owned()));
            said.collect()
        })?;
        for of in &slot.invariants_of {
            let other = match of {
                InvariantsOf::This => Some(entity),
                InvariantsOf::Ref(name) => match referenced_by(life, entity, name) {
                    Some(key) => view.read(|it| it.entity(&key))?.here(),
                    None => None,
                },
            };
            if let Some(other) = other {
                stops.extend(self.violated(other)?);
            }
        }
        Ok(stops)
    }

    /// The messages of the violated invariants of severity `error`. An invariant that cannot be evaluated
    /// counts as violated.
    fn violated(&self, entity: &Entity) -> Result<Vec<String>, Needs> {
        let Self { law, view, now, .. } = *self;
        let Some(life) = law.definition(&entity.key.lifecycle, entity.definition) else {
            return Ok(Vec::new());
        };
        let engine = Actor::engine();
        sample_scope(law, view, life, entity, &engine, now, None, |scope| {
            let here = |it: &&Invariant| {
                let applies = it.within.as_ref().is_none_or(|it| it.has(&entity.state));
                applies && it.severity >= Severity::Error && !it.holds.test(scope).unwrap_or(false)
            };
            let said = life.invariants.iter().filter(here).map(|it| {
                let says = it.says.render(scope).unwrap_or_else(|_| it.says.source().to_owned());
                format!("Invariant {} of {} is violated: {says}", it.name, entity.key)
            });
            said.collect()
        })
    }

    /// The values of an entity in the tables of a query; none if the query does not select it, or the actor may
    /// not see it.
    pub fn grouped(
        &self,
        query: &Query,
        params: &Fields,
        entity: &Entity,
    ) -> Result<Vec<GroupedValues>, Needs> {
        let Self { law, view, actor, now, .. } = *self;
        let Some(life) = law.newest(&entity.key.lifecycle) else { return Ok(Vec::new()) };
        if self.row(query, params, entity)?.is_none() {
            return Ok(Vec::new());
        }
        sample_elements(law, view, life, entity, actor, now, params, |eval| {
            let mut found = Vec::new();
            for (table, group) in query.groups.iter().enumerate() {
                let elements: Vec<Option<Value>> = match &group.each {
                    None => vec![None],
                    Some(each) => match eval(None, each) {
                        Ok(Value::List(items)) => items.iter().cloned().map(Some).collect(),
                        _ => Vec::new(),
                    },
                };
                for it in &elements {
                    // A value that cannot be computed is null.
                    let value = |guard: &Guard| eval(it.as_ref(), guard).unwrap_or_default();
                    found.push(GroupedValues {
                        table,
                        by: group.by.iter().map(|(_, it)| value(it)).collect(),
                        measured: group.measure.iter().map(|(_, it)| value(it).as_float()).collect(),
                    });
                }
            }
            found
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

/// The entity that a single ref names.
fn referenced_by(life: &Lifecycle, entity: &Entity, name: &Name) -> Option<EntityKey> {
    let reference = life.reference(name)?;
    let id = match &reference.by {
        Some(field) => match entity.fields.value(field) {
            Value::Text(id) => id,
            _ => return None,
        },
        None => kind_of(&reference.to),
    };
    Some(EntityKey { lifecycle: reference.to.clone(), id })
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
