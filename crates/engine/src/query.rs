//! Named questions of a pack, asked of a view that holds everything.

use std::cmp::Ordering;

use trackside_lifecycle::compile::Filter;
use trackside_lifecycle::guard::{Fault, Guard, Scope, Slot};
use trackside_lifecycle::model::{Pack, Query, Read};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use crate::actor::{Actor, ActorKind};
use crate::decide::sample_scope;
use crate::entity::Entity;
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::law::Law;
use crate::ranking::RankingKey;
use crate::settings::effective;
use crate::view::{Found, View};

/// What a query gives.
#[derive(Debug)]
pub enum Answer<'v> {
    Entities(Vec<&'v Entity>),
    /// What it gives instead of rows, by name.
    Values(Vec<(Name, Value)>),
    /// The journal of this entity.
    History(EntityKey),
}

/// Why a query has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError(pub Vec<String>);

/// Answers a query of a pack, as far as the actor may see.
pub fn ask<'v>(
    law: &Law,
    view: &'v View,
    query: &Query,
    actor: &Actor,
    asked: &Fields,
    now: Timestamp,
) -> Result<Answer<'v>, QueryError> {
    answer(law, view, query, &Who { actor, asks: true }, asked, now)
}

fn answer<'v>(
    law: &Law,
    view: &'v View,
    query: &Query,
    who: &Who<'_>,
    asked: &Fields,
    now: Timestamp,
) -> Result<Answer<'v>, QueryError> {
    let actor = who.actor;
    let params = params(query, asked)?;
    if !query.answers.is_empty() {
        return values(law, view, query, actor, &params, now).map(Answer::Values);
    }
    let Some(of) = &query.of else {
        return Err(QueryError(vec![format!("{} asks about nothing", query.name)]));
    };
    let Some(life) = law.newest(of) else {
        return Err(QueryError(vec![format!("there is no lifecycle {of}")]));
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
        let key = EntityKey::new(of.clone(), id.clone());
        let readable = match view.entity(&key) {
            Found::Here(entity) => sample_scope(law, view, life, entity, actor, now, None, |scope| {
                life.read.as_ref().is_none_or(|it| it.test(scope).unwrap_or(false))
            }),
            Found::Absent | Found::Unknown => false,
        };
        if !readable {
            return Err(QueryError(vec![format!("there is no {key}")]));
        }
        return Ok(Answer::History(EntityKey::new(of.clone(), id)));
    }
    if let Some(ranking) = &query.ranked {
        let index = RankingKey { lifecycle: of.clone(), name: ranking.clone() };
        let caller = match &query.meant_for {
            Some(guard) => match guard.eval(&ParamScope { life, params: &params }).map_err(failed)? {
                Value::Text(id) => Some(Name::from(id)),
                _ => None,
            },
            None => None,
        };
        let mut found = Vec::new();
        let Found::Here(ranking) = view.ranking(&index) else { return Ok(Answer::Entities(found)) };
        for id in ranking.open(caller.as_ref()) {
            let key = EntityKey { lifecycle: of.clone(), id: id.clone() };
            let Found::Here(entity) = view.entity(&key) else { continue };
            if row(law, view, query, entity, who, &params, now).map_err(failed)?.is_some() {
                found.push(entity);
            }
        }
        return Ok(Answer::Entities(found));
    }
    let mut found: Vec<(Vec<Value>, &Entity)> = Vec::new();
    for entity in view.entities().into_iter().filter(|it| it.key.lifecycle == *of) {
        if let Some(keys) = row(law, view, query, entity, who, &params, now).map_err(failed)? {
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

/// What was answered, or what stands for no answer.
fn answered<T>(answer: Result<T, Fault>, otherwise: T) -> Result<T, Fault> {
    match answer {
        Err(Fault::NotLoaded) => Err(Fault::NotLoaded),
        Err(_) => Ok(otherwise),
        Ok(it) => Ok(it),
    }
}

/// Who asks: an actor, who sees what it may read, or the pack itself, which only counts.
struct Who<'a> {
    actor: &'a Actor,
    asks: bool,
}

/// What an entity is ordered by, if the actor may see it and it is asked for.
fn row(
    law: &Law,
    view: &View,
    query: &Query,
    entity: &Entity,
    who: &Who<'_>,
    params: &Fields,
    now: Timestamp,
) -> Result<Option<Vec<Value>>, Fault> {
    let Some(life) = law.definition(&entity.key.lifecycle, entity.definition) else { return Ok(None) };
    sample_scope(law, view, life, entity, who.actor, now, Some(params), |scope| {
        // What has no answer is not in it, and nobody is told why of what they may not see.
        let yes = |guard: Option<&Guard>| guard.map_or(Ok(true), |it| answered(it.test(scope), false));
        let readable = !who.asks || yes(life.read.as_ref())?;
        if !readable || !yes(query.filter.as_ref())? {
            return Ok(None);
        }
        let keys = query.order.iter().map(|it| answered(it.by.eval(scope), Value::Null));
        keys.collect::<Result<Vec<Value>, Fault>>().map(Some)
    })
}

/// How many rows a query has, given those of the parameters that it takes. Without an actor all of them count: a question of the pack's own.
pub fn count(
    law: &Law,
    view: &View,
    pack: &Pack,
    name: &Name,
    actor: Option<&Actor>,
    params: &Fields,
    now: Timestamp,
) -> Result<usize, QueryError> {
    let Some(query) = pack.queries.iter().find(|it| it.name == *name) else {
        return Err(QueryError(vec![format!("there is no query {name}")]));
    };
    let mut own = Fields::default();
    for (name, value) in params.iter().filter(|(name, _)| query.takes.iter().any(|(it, _)| it == *name)) {
        own.put(name, value.clone());
    }
    let pack = Actor::new("trackside", ActorKind::System);
    let who = Who { actor: actor.unwrap_or(&pack), asks: actor.is_some() };
    match answer(law, view, query, &who, &own, now)? {
        Answer::Entities(rows) => Ok(rows.len()),
        Answer::Values(_) | Answer::History(_) => Ok(0),
    }
}

/// The answers of a query that gives values.
fn values(
    law: &Law,
    view: &View,
    query: &Query,
    actor: &Actor,
    params: &Fields,
    now: Timestamp,
) -> Result<Vec<(Name, Value)>, QueryError> {
    let Some(pack) = law.packs().find(|it| it.queries.iter().any(|it| std::ptr::eq(it, query))) else {
        return Err(QueryError(vec![format!("{} is a query of no pack", query.name)]));
    };
    let mut rows = Fields::default();
    for name in &query.counts {
        let count = count(law, view, pack, name, Some(actor), params, now)?;
        rows.put(name, Value::Int(i64::try_from(count).unwrap_or(i64::MAX)));
    }
    let scope = PackScope { pack, view, params, rows: &rows, given: &Fields::default() };
    let answers = query.answers.iter().map(|(name, it)| Ok((name.clone(), it.eval(&scope)?)));
    answers.collect::<Result<_, Fault>>().map_err(|fault| QueryError(vec![fault.to_string()]))
}

/// What an expression of a pack sees without an entity.
pub(crate) struct PackScope<'a> {
    pub pack: &'a Pack,
    pub view: &'a View,
    pub params: &'a Fields,
    pub rows: &'a Fields,
    pub given: &'a Fields,
}

impl Scope for PackScope<'_> {
    fn read(&self, slot: Slot) -> Result<Value, Fault> {
        Ok(match self.pack.reads.get(slot.0 as usize) {
            Some(Read::Ask(name)) => self.params.value(name),
            Some(Read::Rows(name)) => self.rows.value(name),
            Some(Read::Given(name)) => self.given.value(name),
            Some(Read::Setting(place)) => match self.pack.settings.get(*place) {
                Some(setting) => effective(setting, &self.pack.name, &self.view.project, None),
                None => Value::Null,
            },
            _ => Value::Null,
        })
    }

    fn call(&self, _: u16, _: &[Value]) -> Result<Value, Fault> {
        Err(Fault::Failed("no functions here".to_owned()))
    }
}

/// Whether a condition that somebody asked for lets an entity through. What has no answer does not.
pub fn lets_through(filter: &Filter, entity: &Entity) -> bool {
    filter.guard().test(&FilterScope { filter, entity }).unwrap_or(false)
}

struct FilterScope<'a> {
    filter: &'a Filter,
    entity: &'a Entity,
}

impl Scope for FilterScope<'_> {
    fn read(&self, slot: Slot) -> Result<Value, Fault> {
        let entity = self.entity;
        Ok(match self.filter.read(slot) {
            Some(Read::Field(name)) => entity.fields.value(name),
            Some(Read::Id) => Value::from(&entity.key.id),
            Some(Read::State) => Value::from(&entity.state),
            Some(Read::PreviousState) => entity.previous_state.as_ref().map_or(Value::Null, Value::from),
            Some(Read::Version) => Value::Int(i64::try_from(entity.version).unwrap_or(i64::MAX)),
            Some(Read::CreatedAt) => Value::Time(entity.created_at),
            Some(Read::UpdatedAt) => Value::Time(entity.updated_at),
            Some(Read::StateEnteredAt) => Value::Time(entity.state_entered_at),
            _ => Value::Null,
        })
    }

    fn call(&self, _: u16, _: &[Value]) -> Result<Value, Fault> {
        Err(Fault::Failed("no functions here".to_owned()))
    }
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
    fn read(&self, slot: Slot) -> Result<Value, Fault> {
        match self.life.reads.get(slot.0 as usize) {
            Some(Read::Ask(name)) => Ok(self.params.value(name)),
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
