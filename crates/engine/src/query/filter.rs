//! A filter expression, evaluated on an entity.

use trackside_lifecycle::compile::{Filter, FilterCounter};
use trackside_lifecycle::guard::{Fault, Scope, VarSlot};
use trackside_lifecycle::model::Read;
use trackside_lifecycle::value::Value;

use crate::decide::SINGLE;
use crate::entity::Entity;

/// Whether a filter matches an entity. A filter that cannot be evaluated does not match.
pub fn lets_through(filter: &Filter, entity: &Entity) -> bool {
    matches_filter(filter, entity).unwrap_or(false)
}

/// Like [`lets_through`], but returns the fault. A filter that reads an unset value, or a map or list that
/// may lack a part, does not match; any other failed evaluation is a fault.
pub fn matches_filter(filter: &Filter, entity: &Entity) -> Result<bool, Fault> {
    let scope = FilterScope { filter, entity };
    filter.guard().test(&scope).or_else(|fault| {
        let mut reads = filter.guard().reads().iter().map(|it| scope.read(it.slot));
        match reads.any(|it| matches!(it, Err(_) | Ok(Value::Null | Value::Map(_) | Value::List(_)))) {
            true => Ok(false),
            false => Err(fault),
        }
    })
}

/// The value of a counter; one that has not counted yet is zero.
fn count(entity: &Entity, counter: &FilterCounter) -> Value {
    let key = if counter.per_state { &entity.state } else { SINGLE };
    let value = entity.tally(&counter.name, key).map_or(0.0, |it| it.value);
    if counter.is_whole { Value::Int(value as i64) } else { Value::Float(value) }
}

struct FilterScope<'a> {
    filter: &'a Filter,
    entity: &'a Entity,
}

impl Scope for FilterScope<'_> {
    fn read(&self, slot: VarSlot) -> Result<Value, Fault> {
        let entity = self.entity;
        Ok(match self.filter.read(slot) {
            Some(Read::Field(name)) => entity.fields.value(name),
            Some(Read::Counter(name)) => {
                self.filter.counter(name).map_or(Value::Null, |it| count(entity, it))
            }
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
