//! Named questions of a pack, asked of a view that holds everything.

use std::cmp::Ordering;

use trackside_lifecycle::guard::{Fault, Scope};
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

/// What a query gives.
#[derive(Debug)]
pub enum Answer<'v> {
    Entities(Vec<&'v Entity>),
    /// The journal of this entity.
    History(EntityKey),
}

/// Why a query has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError(pub Vec<String>);

pub fn ask<'v>(
    law: &Law,
    view: &'v View,
    query: &Query,
    actor: &Actor,
    asked: &Fields,
    now: Timestamp,
) -> Result<Answer<'v>, QueryError> {
    let params = params(query, asked)?;
    let Some(life) = law.newest(&query.of) else {
        return Err(QueryError(vec![format!("there is no lifecycle {}", query.of)]));
    };
    let failed = |fault: Fault| QueryError(vec![fault.to_string()]);
    if let Some(history) = &query.history {
        let blank = Value::Null;
        let id = match history.reads().first() {
            // The id is a parameter: no entity is needed to compute it.
            Some(_) => {
                let scope = ParamScope { life, params: &params };
                history.eval(&scope).map_err(failed)?
            }
            None => history.constant().cloned().unwrap_or(blank),
        };
        let id = id.as_str().unwrap_or_default().to_owned();
        let key = EntityKey::new(query.of.clone(), id.clone());
        let readable = view.get(&key).is_some_and(|entity| {
            sample_scope(law, view, life, entity, actor, now, None, |scope| {
                life.read.as_ref().is_none_or(|it| it.test(scope).unwrap_or(false))
            })
        });
        if !readable {
            return Err(QueryError(vec![format!("there is no {key}")]));
        }
        return Ok(Answer::History(EntityKey::new(query.of.clone(), id)));
    }
    let mut found: Vec<(Vec<Value>, &Entity)> = Vec::new();
    for entity in view.entities().into_iter().filter(|it| it.key.lifecycle == query.of) {
        let Some(life) = law.definition(&entity.key.lifecycle, entity.definition) else { continue };
        let row =
            sample_scope(law, view, life, entity, actor, now, Some(&params), |scope| -> Result<_, Fault> {
                let readable = life.read.as_ref().map_or(Ok(true), |it| it.test(scope))?;
                if !readable || !query.filter.as_ref().map_or(Ok(true), |it| it.test(scope))? {
                    return Ok(None);
                }
                query
                    .order
                    .iter()
                    .map(|it| it.by.eval(scope))
                    .collect::<Result<Vec<Value>, Fault>>()
                    .map(Some)
            });
        if let Some(keys) = row.map_err(failed)? {
            found.push((keys, entity));
        }
    }
    found.sort_by(|(a, x), (b, y)| {
        let mut order = Ordering::Equal;
        for ((a, b), by) in a.iter().zip(b).zip(&query.order) {
            let one = compare(a, b);
            order = order.then(if by.descending { one.reverse() } else { one });
        }
        order.then_with(|| x.key.cmp(&y.key))
    });
    Ok(Answer::Entities(found.into_iter().map(|(_, it)| it).collect()))
}

fn params(query: &Query, asked: &Fields) -> Result<Fields, QueryError> {
    let mut params = Fields::default();
    let mut errors = Vec::new();
    for (name, value) in asked.iter() {
        match query.takes.iter().find(|(it, _)| it == name) {
            Some((_, fits)) => match fits.accept(name, value) {
                Ok(value) => params.put(name, value),
                Err(misfits) => errors.extend(misfits.into_iter().map(|it| it.message)),
            },
            None => errors.push(format!("{} does not take {name}", query.name)),
        }
    }
    for (name, _) in &query.takes {
        if params.get(name).is_none() {
            errors.push(format!("{} needs {name}", query.name));
        }
    }
    if errors.is_empty() { Ok(params) } else { Err(QueryError(errors)) }
}

struct ParamScope<'a> {
    life: &'a trackside_lifecycle::model::Lifecycle,
    params: &'a Fields,
}

impl Scope for ParamScope<'_> {
    fn read(&self, slot: trackside_lifecycle::guard::Slot) -> Result<Value, Fault> {
        match self.life.reads.get(slot.0 as usize) {
            Some(trackside_lifecycle::model::Read::Ask(name)) => Ok(self.params.value(name)),
            _ => Err(Fault::Failed("only parameters can be read here".to_owned())),
        }
    }

    fn call(&self, _: u16, _: &[Value]) -> Result<Value, Fault> {
        Err(Fault::Failed("no functions here".to_owned()))
    }
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

/// Whether a name is a query of the pack.
pub fn names(law: &Law, pack: &str) -> Vec<Name> {
    law.pack(pack).map(|it| it.queries.iter().map(|it| it.name.clone()).collect()).unwrap_or_default()
}
