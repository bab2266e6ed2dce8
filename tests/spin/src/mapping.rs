//! A real entity as the model sees it.

use trackside_engine::entity::Entity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::domain::{AbstractValue, Domain};
use super::model::AbstractModel;
use super::shape::EntityShape;

/// The source of a variable, and its mapping.
#[derive(Clone, Debug)]
pub(super) struct VariableMapping {
    what: EntityPart,
    domain: Domain,
}

#[derive(Clone, Debug)]
enum EntityPart {
    State,
    Previous,
    Field(Name),
    Tally(Name, Option<Name>),
    Slot(Name),
}

pub(super) fn variable_mappings(shape: &EntityShape<'_>) -> Vec<VariableMapping> {
    let what = |variable: usize| {
        let field = shape
            .fields
            .iter()
            .find(|(_, it)| **it == variable)
            .map(|(name, _)| EntityPart::Field(name.clone()));
        let slot = shape
            .slots
            .iter()
            .find(|(_, it)| **it == variable)
            .map(|(name, _)| EntityPart::Slot(name.clone()));
        let tally = shape.tallies.iter().find(|(_, it)| **it == variable);
        let tally = tally.map(|((name, key), _)| EntityPart::Tally(name.clone(), key.clone()));
        let previous = (shape.previous == Some(variable)).then_some(EntityPart::Previous);
        field.or(slot).or(tally).or(previous).unwrap_or(EntityPart::State)
    };
    let parts = shape.parts.iter().enumerate();
    parts.map(|(variable, it)| VariableMapping { what: what(variable), domain: it.domain.clone() }).collect()
}

impl AbstractModel {
    /// The values that stand for an entity, given the two actors that the model distinguishes.
    pub fn abstract_values(&self, entity: &Entity, people: [&str; 2]) -> Vec<u8> {
        self.follows.iter().map(|it| it.value(entity, people)).collect()
    }
}

impl VariableMapping {
    fn value(&self, entity: &Entity, people: [&str; 2]) -> u8 {
        let value = match &self.what {
            EntityPart::State => AbstractValue::Known(Value::from(&entity.state)),
            EntityPart::Previous => {
                AbstractValue::Known(entity.previous_state.as_ref().map_or(Value::Null, Value::from))
            }
            EntityPart::Field(name) => self.field(&entity.fields.value(name), people),
            EntityPart::Slot(name) => {
                let holder = entity.lease(name).and_then(|it| it.holder.as_ref());
                holder.map_or(AbstractValue::NULL, |it| person(it, people))
            }
            EntityPart::Tally(name, key) => {
                let last = || entity.tallies(name).and_then(|it| it.by_key.last()).map(|(_, it)| it);
                let tally = key.as_ref().map_or_else(last, |key| entity.tally(name, key));
                AbstractValue::Known(Value::Int(tally.map_or(0, |it| it.value.ceil() as i64)))
            }
        };
        self.domain.encode(&value).first().copied().unwrap_or_default()
    }

    fn field(&self, value: &Value, people: [&str; 2]) -> AbstractValue {
        match (&self.domain, value) {
            (Domain::Person, Value::Text(id)) => person(id, people),
            (Domain::People, Value::List(ids)) => {
                let bit = |it: &Value| match it.as_str().map(|it| person(it, people)) {
                    Some(AbstractValue::Person(it)) => it,
                    _ => 4,
                };
                AbstractValue::People(ids.iter().fold(0, |all, it| all | bit(it)))
            }
            (_, value) => AbstractValue::Known(value.clone()),
        }
    }
}

fn person(id: &str, [first, second]: [&str; 2]) -> AbstractValue {
    if id == first {
        AbstractValue::Person(1)
    } else if id == second {
        AbstractValue::Person(2)
    } else {
        AbstractValue::Someone
    }
}
