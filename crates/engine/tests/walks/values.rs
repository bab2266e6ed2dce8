//! Values that fit a declared type.

use std::collections::BTreeMap;

use trackside_engine::entity::Entity;
use trackside_engine::view::View;
use trackside_lifecycle::model::{FieldType, Fit, Lifecycle};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;
use trackside_random::Random;

use crate::cast::WalkActors;
use crate::hints::TextMeaning;
use crate::ids;
use crate::packs::WalkPack;

/// Texts, one of which matches a frequent pattern.
const TEXTS: &[&str] =
    &["alpha", "beta", "gamma", "a few words", "src/lib.rs:12", "fix: close the file", "T-1", "0"];

/// The source of values.
#[derive(Debug)]
pub(crate) struct ValueGenerator<'a> {
    pub(crate) ground: &'a WalkPack,
    pub(crate) view: &'a View,
    pub(crate) cast: &'a WalkActors,
    pub(crate) now: Timestamp,
    pub(crate) life: &'a Lifecycle,
    /// The entity it is for; none before its creation.
    pub(crate) entity: Option<&'a Entity>,
}

impl ValueGenerator<'_> {
    /// A value of a field that is sent.
    pub(crate) fn field(&self, name: &Name, fits: &FieldType, dice: &mut Random) -> Value {
        let random = self.meant(name, fits, dice).or_else(|| self.reference(name, fits, dice));
        match random.filter(|it| fits.accept(name, it).is_ok()) {
            Some(value) => value,
            None => self.fitting(name, fits, dice),
        }
    }

    /// A value by the hints.
    fn meant(&self, name: &Name, fits: &FieldType, dice: &mut Random) -> Option<Value> {
        let (_, meaning) = self.ground.hints.meanings.iter().find(|(it, _)| name == it)?;
        match meaning {
            TextMeaning::Actor => Some(one_or_many(fits, dice, |dice| text_of(dice, &self.cast.everybody()))),
            TextMeaning::Agent => Some(one_or_many(fits, dice, |dice| text_of(dice, &self.cast.agents()))),
            TextMeaning::Of(lifecycle) => Some(self.ids_of(lifecycle, fits, dice)),
            TextMeaning::One(values) => {
                let json = dice.pick(values)?;
                Some(Value::from_json(&serde_json::from_str(json).expect("hints are JSON")))
            }
            TextMeaning::Shuffled(field) => {
                let listed = self.entity?.fields.value(field);
                Some(Value::list(dice.shuffle(listed.as_list().unwrap_or_default().to_vec())))
            }
        }
    }

    /// Ids of entities that a ref can name.
    fn reference(&self, name: &Name, fits: &FieldType, dice: &mut Random) -> Option<Value> {
        let reference = self.life.refs.iter().find(|it| it.by.as_ref() == Some(name))?;
        Some(self.ids_of(&reference.to, fits, dice))
    }

    fn ids_of(&self, lifecycle: &str, fits: &FieldType, dice: &mut Random) -> Value {
        one_or_many(fits, dice, |dice| {
            Value::from(ids::likely_actor(self.ground, self.view, self.cast, lifecycle, dice))
        })
    }

    fn fitting(&self, name: &Name, fits: &FieldType, dice: &mut Random) -> Value {
        match &fits.fit {
            Fit::Any => match dice.below(4) {
                0 => Value::Bool(true),
                1 => Value::Int(dice.between(0, 9)),
                2 => Value::map(BTreeMap::from([(Name::new("what"), word(dice))])),
                _ => word(dice),
            },
            Fit::Bool => Value::Bool(dice.percent(60)),
            Fit::Int { min, max } => Value::Int(number(*min, *max, dice) as i64),
            Fit::Number { min, max } => {
                let whole = number(*min, *max, dice);
                let part = dice.below(100) as f64 / 100.0;
                Value::Float(if max.is_none_or(|it| whole + part <= it) { whole + part } else { whole })
            }
            Fit::Text { min, max, pattern } => {
                let fitting = |it: &&&str| pattern.as_ref().is_none_or(|pattern| pattern.is_match(it));
                let texts: Vec<&&str> = TEXTS.iter().filter(fitting).collect();
                let mut text = dice.pick(&texts).map_or_else(String::new, |it| (**it).to_owned());
                while text.chars().count() < min.unwrap_or(0) as usize {
                    text.push('x');
                }
                Value::text(&text.chars().take(max.unwrap_or(200) as usize).collect::<String>())
            }
            Fit::Choice(names) => dice.pick(names).map(Value::from).unwrap_or_default(),
            Fit::Time => Value::Time(self.now.plus(Span::seconds(dice.between(-3_600, 200_000)))),
            Fit::Span => Value::Span(Span::seconds(dice.between(1, 90_000))),
            Fit::List { items, min, max, unique } => {
                let low = min.unwrap_or(0).max(1) as usize;
                let high = (max.unwrap_or(4) as usize).max(low).min(low + 3);
                let many = low + dice.below(high - low + 1);
                let mut list: Vec<Value> = Vec::new();
                for _ in 0..many {
                    let one = self.field(name, items, dice);
                    if !*unique || !list.contains(&one) {
                        list.push(one);
                    }
                }
                Value::list(list)
            }
            Fit::Object { properties, required } => {
                let mut members = BTreeMap::new();
                for (name, fits) in properties {
                    if required.contains(name) || dice.percent(50) {
                        members.insert(name.clone(), self.field(name, fits, dice));
                    }
                }
                Value::map(members)
            }
            Fit::Map(values) => {
                let names = [Name::new("one"), Name::new("two")];
                Value::map(names.into_iter().map(|it| (it, self.fitting(name, values, dice))).collect())
            }
        }
    }
}

/// One id, or a list of some where lists are wanted.
fn one_or_many(fits: &FieldType, dice: &mut Random, mut one: impl FnMut(&mut Random) -> Value) -> Value {
    if !matches!(fits.fit, Fit::List { .. }) {
        return one(dice);
    }
    let mut list: Vec<Value> = Vec::new();
    for _ in 0..1 + dice.below(2) {
        let next = one(dice);
        if !list.contains(&next) {
            list.push(next);
        }
    }
    Value::list(list)
}

fn text_of(dice: &mut Random, names: &[Name]) -> Value {
    dice.pick(names).map(Value::from).unwrap_or_default()
}

fn word(dice: &mut Random) -> Value {
    dice.pick(TEXTS).map(|it| Value::text(it)).unwrap_or_default()
}

/// A whole number within bounds, more often a small one, sometimes at a bound.
fn number(min: Option<f64>, max: Option<f64>, dice: &mut Random) -> f64 {
    let low = min.unwrap_or(0.0);
    let high = max.unwrap_or(low + 1_000.0).max(low);
    match dice.below(8) {
        0 => low.ceil(),
        1 => high.floor(),
        _ => (low.ceil() + dice.below(6) as f64).min(high),
    }
}
