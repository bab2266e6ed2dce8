//! A handful of values that stand for all a read may yield.

use std::collections::BTreeSet;

use trackside_lifecycle::model::{FieldType, Fit, Lifecycle, Look, Pack, Read, SlotLook};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use super::profile::Profile;
use super::{ENGINE, Given, Who};
use crate::facts::Facts;
use crate::values::Known;

/// Longest list tried.
const LONGEST: i64 = 64;
/// Most elements of which every selection is tried.
const ELEMENTS: usize = 5;

/// The values to try for a read, or none if nothing can be assumed about it.
pub fn candidates(
    facts: &Facts<'_>,
    read: &Read,
    profile: &Profile,
    given: &Given<'_>,
) -> Option<Vec<Value>> {
    let life = facts.life;
    let engine = given.who.is_none_or(|it| it == Who::Engine);
    let pool = Pool { constants: profile.constants.as_slice(), engine };
    Some(match read {
        Read::Field(name) => {
            let may_be_sent = given.takes.iter().any(|it| it.stored && it.name == *name);
            match facts.known.get(name) {
                Some(Known::Among(values)) if !may_be_sent => values.clone(),
                Some(Known::AtMost(most)) if !may_be_sent => {
                    nullable(pool.lists(&FieldType::ANY, Some(*most))?)
                }
                _ => nullable(pool.fitting(&life.field(name)?.fits)?),
            }
        }
        Read::Was(name) => nullable(pool.fitting(&life.field(name)?.fits)?),
        Read::Taken(name) => {
            let here = given.takes.iter().find(|it| it.name == *name);
            nullable(pool.fitting(&here.filter(|it| !it.stored)?.fits)?)
        }
        Read::Id | Read::SubjectId | Read::ActorId => pool.ids(),
        Read::PreviousState => nullable(states(life)),
        Read::Version => pool.whole(1.0, None),
        Read::CreatedAt | Read::UpdatedAt | Read::StateEnteredAt | Read::Now => pool.times(),
        Read::TimeInState | Read::TotalTime => pool.spans(),
        Read::Overdue => truths(),
        Read::Reason => nullable(pool.texts()),
        Read::Fence => nullable(pool.whole(0.0, None)),
        Read::Setting(place) => pool.setting(life, *place)?,
        Read::Counter(name) => pool.counter(life, name)?,
        Read::Slot(_, SlotLook::Held) => truths(),
        Read::Slot(_, SlotLook::Holder) => nullable(pool.ids()),
        Read::Slot(_, SlotLook::Fence) => nullable(pool.whole(0.0, None)),
        Read::Slot(_, SlotLook::Until) => nullable(pool.times()),
        Read::Ref(name, look) => {
            let to = life.reference(name).map(|it| &it.to)?;
            pool.look(facts.pack, to, look)?
        }
        Read::Me(look) => pool.look(facts.pack, life.me.as_ref()?, look)?,
        Read::Group(..) | Read::RankSize(_) => pool.whole(0.0, None),
        Read::Rank(_) => nullable(pool.whole(1.0, None)),
        Read::People => pool.lists(&FieldType::ANY, None)?,
        _ => return None,
    })
}

fn truths() -> Vec<Value> {
    vec![Value::Bool(true), Value::Bool(false)]
}

fn states(life: &Lifecycle) -> Vec<Value> {
    life.states.iter().map(|it| Value::from(&it.name)).collect()
}

fn nullable(mut values: Vec<Value>) -> Vec<Value> {
    values.push(Value::Null);
    values
}

/// What the conditions compare with: the values around those are the ones that matter.
struct Pool<'a> {
    constants: &'a [Value],
    /// The engine may be the one who asks.
    engine: bool,
}

impl Pool<'_> {
    fn numbers(&self) -> Vec<f64> {
        let mut numbers = vec![0.0, 1.0, 2.0];
        for it in self.constants.iter().filter_map(Value::as_float) {
            numbers.extend([it - 1.0, it, it + 1.0]);
        }
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        numbers
    }

    fn whole(&self, min: f64, max: Option<f64>) -> Vec<Value> {
        let mut all: BTreeSet<i64> = self.numbers().into_iter().map(|it| it.floor() as i64).collect();
        all.insert(min.ceil() as i64);
        all.extend(max.map(|it| it.floor() as i64));
        let fits = |it: &i64| *it as f64 >= min && max.is_none_or(|max| *it as f64 <= max);
        all.into_iter().filter(fits).map(Value::Int).collect()
    }

    fn numeric(&self, min: Option<f64>, max: Option<f64>) -> Vec<Value> {
        let mut all = self.numbers();
        all.extend(min);
        all.extend(max);
        all.extend(self.constants.iter().filter_map(Value::as_float).flat_map(|it| [it - 0.5, it + 0.5]));
        all.sort_by(f64::total_cmp);
        all.dedup();
        all.retain(|it| min.is_none_or(|min| *it >= min) && max.is_none_or(|max| *it <= max));
        all.into_iter().map(Value::Float).collect()
    }

    fn texts(&self) -> Vec<Value> {
        let mut all: Vec<Value> =
            self.constants.iter().filter(|it| matches!(it, Value::Text(_))).cloned().collect();
        for word in ["", "a", "b"].into_iter().chain(self.engine.then_some(ENGINE)) {
            let word = Value::text(word);
            if !all.contains(&word) {
                all.push(word);
            }
        }
        all
    }

    fn ids(&self) -> Vec<Value> {
        let mut all = self.texts();
        all.retain(|it| it.as_str() != Some(""));
        all
    }

    fn times(&self) -> Vec<Value> {
        [1, 2, 3].into_iter().map(|it| Value::Time(Timestamp(it))).collect()
    }

    fn spans(&self) -> Vec<Value> {
        let mut all = BTreeSet::from([0, 1]);
        for Span(it) in self.constants.iter().filter_map(Value::as_span) {
            all.extend([it - 1, it, it + 1]);
        }
        all.into_iter().filter(|it| *it >= 0).map(|it| Value::Span(Span(it))).collect()
    }

    /// None if there would be too many.
    fn lists(&self, items: &FieldType, most: Option<usize>) -> Option<Vec<Value>> {
        let some: Vec<Value> = match &items.fit {
            Fit::Any | Fit::Text { .. } => self.ids(),
            _ => self.fitting(items)?,
        };
        if some.len() > ELEMENTS {
            return None;
        }
        let mut all: Vec<Vec<Value>> = vec![Vec::new()];
        for one in &some {
            let more: Vec<Vec<Value>> =
                all.iter().map(|it| it.iter().cloned().chain([one.clone()]).collect()).collect();
            all.extend(more);
        }
        for length in self.numbers().into_iter().map(|it| it as i64).filter(|it| *it > some.len() as i64) {
            if length > LONGEST {
                return None;
            }
            all.push((0..length).map(|n| Value::text(&format!("x{n}"))).collect());
        }
        all.retain(|it| most.is_none_or(|most| it.len() <= most));
        Some(all.into_iter().map(Value::list).collect())
    }

    fn fitting(&self, ty: &FieldType) -> Option<Vec<Value>> {
        Some(match &ty.fit {
            Fit::Bool => truths(),
            Fit::Int { min, max } => self.whole_between(*min, *max),
            Fit::Number { min, max } => self.numeric(*min, *max),
            // More than may be is tried, never less.
            Fit::Text { .. } => self.texts(),
            Fit::Choice(names) => names.iter().map(Value::from).collect(),
            Fit::Time => self.times(),
            Fit::Span => self.spans(),
            Fit::List { items, max, .. } => self.lists(items, max.map(|it| it as usize))?,
            Fit::Object { .. } | Fit::Map(_) => {
                let full = [(Name::new("a"), Value::text("a"))].into_iter().collect();
                vec![Value::map(Default::default()), Value::map(full)]
            }
            Fit::Any => return None,
        })
    }

    fn whole_between(&self, min: Option<f64>, max: Option<f64>) -> Vec<Value> {
        let least = self.numbers().into_iter().fold(0.0, f64::min) - 1.0;
        self.whole(min.unwrap_or(least), max)
    }

    fn counter(&self, life: &Lifecycle, name: &Name) -> Option<Vec<Value>> {
        let counter = life.counter(name)?;
        Some(if counter.add.is_some() { self.numeric(None, None) } else { self.whole(0.0, None) })
    }

    /// Any value that an override may give it.
    fn setting(&self, life: &Lifecycle, place: usize) -> Option<Vec<Value>> {
        let setting = life.settings.get(place)?;
        let mut all = match &setting.default {
            Value::Bool(_) => truths(),
            Value::Int(_) => self.whole_between(setting.min, setting.max),
            Value::Float(_) => self.numeric(setting.min, setting.max),
            Value::Span(_) => self.spans(),
            Value::Text(_) => self.texts(),
            Value::List(_) => self.lists(&FieldType::ANY, None)?,
            Value::Null | Value::Time(_) | Value::Map(_) => return None,
        };
        if !all.contains(&setting.default) {
            all.push(setting.default.clone());
        }
        Some(all)
    }

    fn look(&self, pack: &Pack, to: &Name, look: &Look) -> Option<Vec<Value>> {
        let other = pack.lifecycles.iter().find(|it| it.name == *to)?;
        Some(nullable(match look {
            Look::Id => self.ids(),
            Look::State | Look::PreviousState => states(other),
            Look::Version => self.whole(1.0, None),
            Look::CreatedAt | Look::StateEnteredAt => self.times(),
            Look::Final => truths(),
            Look::Field(name) => self.fitting(&other.field(name)?.fits)?,
            Look::Counter(name) => self.counter(other, name)?,
            Look::Group(..) => self.whole(0.0, None),
        }))
    }
}

/// Bounds and defaults count like constants: what lies around them must be tried too.
pub fn around(facts: &Facts<'_>, read: &Read, constants: &mut Vec<Value>) {
    let mut add = |value: Value| {
        if !constants.contains(&value) {
            constants.push(value);
        }
    };
    match read {
        Read::Setting(place) => {
            let Some(setting) = facts.life.settings.get(*place) else { return };
            if !matches!(setting.default, Value::List(_) | Value::Map(_) | Value::Null) {
                add(setting.default.clone());
            }
            for bound in [setting.min, setting.max].into_iter().flatten() {
                add(Value::Float(bound));
            }
        }
        Read::Field(name) | Read::Was(name) => {
            if let Some(Fit::Int { min, max } | Fit::Number { min, max }) =
                facts.life.field(name).map(|it| &it.fits.fit)
            {
                for bound in [min, max].into_iter().flatten() {
                    add(Value::Float(*bound));
                }
            }
            if let Some(Known::Among(values)) = facts.known.get(name) {
                values.iter().filter(|it| it.as_float().is_some()).cloned().for_each(add);
            }
        }
        _ => {}
    }
}
