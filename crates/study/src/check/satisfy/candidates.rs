//! A handful of values that represent all values of a read.

use trackside_lifecycle::model::{EntityAttribute, FieldType, Fit, Lifecycle, Read, SlotAttribute};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::pool::{Pool, truths};
use super::profile::Circle;
use super::{Assumptions, CallerKind};
use crate::check::facts::Facts;
use crate::check::values::FieldValues;

/// The names of the kinds of actors.
const KINDS: [&str; 4] = ["human", "agent", "system", "timeout"];

/// The values to try for a read, or none if nothing can be assumed about it.
pub fn candidates(
    facts: &Facts<'_>,
    read: &Read,
    circle: &Circle,
    given: &Assumptions<'_>,
) -> Option<Vec<Value>> {
    let life = facts.life;
    let engine = given.who.is_none_or(|it| it == CallerKind::Engine);
    let pool = Pool::new(facts, circle, engine);
    let none_or_more = || pool.whole_numbers(Some(0.0), None);
    Some(match read {
        Read::Field(name) => {
            let may_be_sent = given.takes.iter().any(|it| it.stored && it.name == *name);
            match facts.known.get(name) {
                Some(FieldValues::Among(values)) if !may_be_sent => values.clone(),
                Some(FieldValues::AtMost(most)) if !may_be_sent => {
                    nullable(pool.lists(&FieldType::ANY, Some(*most))?)
                }
                _ => nullable(pool.values_of_type(&life.field(name)?.fits)?),
            }
        }
        Read::Was(name) => nullable(pool.values_of_type(&life.field(name)?.fits)?),
        Read::Taken(name) => {
            let here = given.takes.iter().find(|it| it.name == *name);
            nullable(pool.values_of_type(&here.filter(|it| !it.stored)?.fits)?)
        }
        Read::Id | Read::SubjectId | Read::ActorId => pool.ids(),
        Read::PreviousState => nullable(states(life)),
        Read::Version | Read::JournalSequence => pool.whole_numbers(Some(1.0), None),
        Read::CreatedAt | Read::UpdatedAt | Read::StateEnteredAt | Read::Now => pool.times(),
        Read::TimeInState | Read::TotalTime => pool.spans(Some(0)),
        Read::Overdue | Read::Slot(_, SlotAttribute::Held) => truths(),
        Read::Reason => nullable(pool.texts()),
        Read::Fence | Read::Slot(_, SlotAttribute::Fence) => nullable(none_or_more()),
        Read::Setting(place) => setting(&pool, life, *place)?,
        Read::Counter(name) => counter(&pool, life, name)?,
        Read::Slot(_, SlotAttribute::Holder) => nullable(pool.ids()),
        Read::Slot(_, SlotAttribute::Until) => nullable(pool.times()),
        Read::Ref(name, at) => attribute_values(&pool, facts, &life.reference(name)?.to, at)?,
        Read::Me(at) => attribute_values(&pool, facts, life.me.as_ref()?, at)?,
        Read::Group(..) | Read::RankSize(_) => none_or_more(),
        Read::Rank(_) => nullable(pool.whole_numbers(Some(1.0), None)),
        Read::People => pool.lists(&FieldType::ANY, None)?,
        _ => return None,
    })
}

fn states(life: &Lifecycle) -> Vec<Value> {
    life.states.iter().map(|it| Value::from(&it.name)).collect()
}

fn nullable(mut values: Vec<Value>) -> Vec<Value> {
    values.push(Value::Null);
    values
}

fn counter(pool: &Pool<'_>, life: &Lifecycle, name: &Name) -> Option<Vec<Value>> {
    let adds = life.counter(name)?.add.is_some();
    Some(if adds { pool.numeric(None, None) } else { pool.whole_numbers(None, None) })
}

/// Any value that an override may give it; values from the entity have no bounds.
fn setting(pool: &Pool<'_>, life: &Lifecycle, place: usize) -> Option<Vec<Value>> {
    let setting = life.settings.get(place)?;
    let own = setting.from.is_empty();
    let (min, max) = if own { (setting.min, setting.max) } else { (None, None) };
    let mut all = match &setting.default {
        Value::Bool(_) => truths(),
        Value::Int(_) if own => pool.whole_numbers(min, max),
        Value::Int(_) | Value::Float(_) => pool.numeric(min, max),
        Value::Span(_) => pool.spans(own.then_some(0)),
        Value::Text(_) => pool.texts(),
        Value::List(_) => pool.lists(&FieldType::ANY, None)?,
        Value::Null | Value::Time(_) | Value::Map(_) => return None,
    };
    if !all.contains(&setting.default) {
        all.push(setting.default.clone());
    }
    Some(all)
}

fn attribute_values(
    pool: &Pool<'_>,
    facts: &Facts<'_>,
    to: &Name,
    look: &EntityAttribute,
) -> Option<Vec<Value>> {
    let other = facts.pack.lifecycles.iter().find(|it| it.name == *to)?;
    Some(nullable(match look {
        EntityAttribute::Id => pool.ids(),
        EntityAttribute::State | EntityAttribute::PreviousState => states(other),
        EntityAttribute::Version => pool.whole_numbers(Some(1.0), None),
        EntityAttribute::CreatedAt | EntityAttribute::StateEnteredAt => pool.times(),
        EntityAttribute::Final => truths(),
        EntityAttribute::Field(name) => pool.values_of_type(&other.field(name)?.fits)?,
        EntityAttribute::Counter(name) => counter(pool, other, name)?,
        EntityAttribute::Group(..) => pool.whole_numbers(Some(0.0), None),
    }))
}

/// Bounds, defaults and names that a read may yield count like constants: others may be like them.
pub fn add_constants(facts: &Facts<'_>, circle: &mut Circle) {
    let reads: Vec<&Read> =
        circle.slots.iter().filter_map(|it| facts.life.reads.get(it.0 as usize)).collect();
    let other = |to: &Name| facts.pack.lifecycles.iter().find(|it| it.name == *to);
    for read in reads {
        match read {
            Read::Setting(place) => {
                let Some(setting) = facts.life.settings.get(*place) else { continue };
                circle.add(&setting.default);
                for bound in [setting.min, setting.max].into_iter().flatten() {
                    circle.add(&Value::Float(bound));
                }
            }
            Read::Field(name) | Read::Was(name) => {
                if let Some(field) = facts.life.field(name) {
                    fixed(&field.fits, circle);
                }
                if let Some(FieldValues::Among(values)) = facts.known.get(name) {
                    values.iter().for_each(|it| circle.add(it));
                }
            }
            Read::Taken(name) => {
                let arms = facts.life.arms().flat_map(|it| &it.takes);
                let takes = arms.chain(&facts.life.create.takes);
                takes.filter(|it| it.name == *name).for_each(|it| fixed(&it.fits, circle));
            }
            Read::State | Read::PreviousState => {
                states(facts.life).iter().for_each(|it| circle.add(it));
            }
            Read::ActorKind => KINDS.iter().for_each(|it| circle.add(&Value::text(it))),
            Read::Ref(..) | Read::Me(_) => {
                let (to, look) = match read {
                    Read::Ref(name, look) => (facts.life.reference(name).map(|it| &it.to), look),
                    Read::Me(look) => (facts.life.me.as_ref(), look),
                    _ => continue,
                };
                let Some(other) = to.and_then(other) else { continue };
                match look {
                    EntityAttribute::State | EntityAttribute::PreviousState => {
                        states(other).iter().for_each(|it| circle.add(it));
                    }
                    EntityAttribute::Field(name) => {
                        other.field(name).into_iter().for_each(|it| fixed(&it.fits, circle))
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// The bounds and the choices of a type.
fn fixed(ty: &FieldType, circle: &mut Circle) {
    match &ty.fit {
        Fit::Int { min, max } | Fit::Number { min, max } => {
            for bound in [min, max].into_iter().flatten() {
                circle.add(&Value::Float(*bound));
            }
        }
        Fit::Choice(names) => names.iter().for_each(|it| circle.add(&Value::from(it))),
        Fit::List { items, .. } => fixed(items, circle),
        _ => {}
    }
}
