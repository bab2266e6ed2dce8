//! A real entity as the model sees it.

use trackside_engine::entity::Entity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::domain::{Abs, Domain};
use super::model::AbstractModel;
use super::shape::Shape;

/// The source of a variable, and its mapping.
#[derive(Clone, Debug)]
pub(super) struct Follows {
    what: What,
    domain: Domain,
}

#[derive(Clone, Debug)]
enum What {
    State,
    Previous,
    Field(Name),
    Tally(Name, Option<Name>),
    Slot(Name),
}

pub(super) fn follows(shape: &Shape<'_>) -> Vec<Follows> {
    let what = |variable: usize| {
        let field =
            shape.fields.iter().find(|(_, it)| **it == variable).map(|(name, _)| What::Field(name.clone()));
        let slot =
            shape.slots.iter().find(|(_, it)| **it == variable).map(|(name, _)| What::Slot(name.clone()));
        let tally = shape.tallies.iter().find(|(_, it)| **it == variable);
        let tally = tally.map(|((name, key), _)| What::Tally(name.clone(), key.clone()));
        let previous = (shape.previous == Some(variable)).then_some(What::Previous);
        field.or(slot).or(tally).or(previous).unwrap_or(What::State)
    };
    let parts = shape.parts.iter().enumerate();
    parts.map(|(variable, it)| Follows { what: what(variable), domain: it.domain.clone() }).collect()
}

impl AbstractModel {
    /// The values that stand for an entity, given the two actors that the model distinguishes.
    pub fn seen(&self, entity: &Entity, people: [&str; 2]) -> Vec<u8> {
        self.follows.iter().map(|it| it.value(entity, people)).collect()
    }
}

impl Follows {
    fn value(&self, entity: &Entity, people: [&str; 2]) -> u8 {
        let value = match &self.what {
            What::State => Abs::Known(Value::from(&entity.state)),
            What::Previous => Abs::Known(entity.previous_state.as_ref().map_or(Value::Null, Value::from)),
            What::Field(name) => self.field(&entity.fields.value(name), people),
            What::Slot(name) => {
                let holder = entity.lease(name).and_then(|it| it.holder.as_ref());
                holder.map_or(Abs::NULL, |it| person(it, people))
            }
            What::Tally(name, key) => {
                let last = || entity.tallies(name).and_then(|it| it.by_key.last()).map(|(_, it)| it);
                let tally = key.as_ref().map_or_else(last, |key| entity.tally(name, key));
                Abs::Known(Value::Int(tally.map_or(0, |it| it.value.ceil() as i64)))
            }
        };
        self.domain.encode(&value).first().copied().unwrap_or_default()
    }

    fn field(&self, value: &Value, people: [&str; 2]) -> Abs {
        match (&self.domain, value) {
            (Domain::Person, Value::Text(id)) => person(id, people),
            (Domain::People, Value::List(ids)) => {
                let bit = |it: &Value| match it.as_str().map(|it| person(it, people)) {
                    Some(Abs::Person(it)) => it,
                    _ => 4,
                };
                Abs::People(ids.iter().fold(0, |all, it| all | bit(it)))
            }
            (_, value) => Abs::Known(value.clone()),
        }
    }
}

fn person(id: &str, [first, second]: [&str; 2]) -> Abs {
    if id == first {
        Abs::Person(1)
    } else if id == second {
        Abs::Person(2)
    } else {
        Abs::Someone
    }
}
