//! Representative values for reads that are compared with each other.
//!
//! Only the comparisons of a value with the constants and with the other reads matter. So it is enough to
//! try every constant, and between neighbouring constants, below the least and above the greatest as many
//! different values as there are reads.

use std::collections::BTreeSet;

use trackside_engine::actor::ENGINE;
use trackside_lifecycle::model::{FieldType, Fit};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use super::kinds::{self, ValueKind};
use super::profile::Circle;
use crate::check::facts::Facts;

/// Longest list tried.
const LONGEST: i64 = 64;
/// Most elements of which every selection is tried.
const ELEMENTS: usize = 5;

pub struct Pool<'a> {
    circle: &'a Circle,
    kinds: Vec<ValueKind>,
    /// Whether the engine may be the caller.
    engine: bool,
}

impl<'a> Pool<'a> {
    pub fn new(facts: &Facts<'_>, circle: &'a Circle, engine: bool) -> Self {
        let reads = circle.slots.iter().filter_map(|it| facts.life.reads.get(it.0 as usize));
        Self { circle, kinds: reads.map(|it| kinds::of_read(facts, it)).collect(), engine }
    }

    /// The number of reads of a kind, at least one.
    fn many(&self, wanted: impl Fn(ValueKind) -> bool) -> i64 {
        let count = self.kinds.iter().filter(|it| wanted(**it)).count();
        i64::try_from(count.max(1)).unwrap_or(i64::MAX)
    }

    fn constants(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self.circle.constants.iter().filter_map(Value::as_float).collect();
        all.extend([0.0, 1.0]);
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    }

    fn numbers(&self) -> i64 {
        self.many(|it| it.is_number() || it == ValueKind::List)
    }

    fn wholes(&self) -> BTreeSet<i64> {
        let floors = self.constants().into_iter().map(|it| it.floor() as i64);
        steps(floors, self.numbers())
    }

    pub fn whole_numbers(&self, min: Option<f64>, max: Option<f64>) -> Vec<Value> {
        let mut all = self.wholes();
        all.extend(min.map(|it| it.ceil() as i64));
        all.extend(max.map(|it| it.floor() as i64));
        let fits =
            |it: &i64| min.is_none_or(|min| *it as f64 >= min) && max.is_none_or(|max| *it as f64 <= max);
        all.into_iter().filter(fits).map(Value::Int).collect()
    }

    pub fn numeric(&self, min: Option<f64>, max: Option<f64>) -> Vec<Value> {
        let mut marks = self.constants();
        if self.kinds.iter().any(|it| matches!(it, ValueKind::Whole | ValueKind::List)) {
            marks.extend(self.wholes().into_iter().map(|it| it as f64));
        }
        marks.extend(min.into_iter().chain(max));
        marks.sort_by(f64::total_cmp);
        marks.dedup();
        let many = self.numbers();
        let mut all = marks.clone();
        for (low, high) in marks.iter().zip(marks.iter().skip(1)) {
            all.extend((1..=many).map(|n| low + (high - low) * n as f64 / (many + 1) as f64));
        }
        all.extend(marks.first().into_iter().flat_map(|it| (1..=many).map(move |n| it - n as f64)));
        all.extend(marks.last().into_iter().flat_map(|it| (1..=many).map(move |n| it + n as f64)));
        all.sort_by(f64::total_cmp);
        all.dedup();
        all.retain(|it| min.is_none_or(|min| *it >= min) && max.is_none_or(|max| *it <= max));
        all.into_iter().map(Value::Float).collect()
    }

    pub fn texts(&self) -> Vec<Value> {
        let mut all: Vec<Value> =
            self.circle.constants.iter().filter(|it| matches!(it, Value::Text(_))).cloned().collect();
        for word in std::iter::once("").chain(self.engine.then_some(ENGINE)) {
            let word = Value::text(word);
            if !all.contains(&word) {
                all.push(word);
            }
        }
        for n in 1..=self.many(|it| it == ValueKind::Text) {
            let mut word = format!("~{n}");
            while all.contains(&Value::text(&word)) {
                word.push('~');
            }
            all.push(Value::text(&word));
        }
        all
    }

    pub fn ids(&self) -> Vec<Value> {
        let mut all = self.texts();
        all.retain(|it| it.as_str() != Some(""));
        all
    }

    pub fn times(&self) -> Vec<Value> {
        let constants = self.circle.constants.iter().filter_map(|it| match it {
            Value::Time(Timestamp(it)) => Some(*it),
            _ => None,
        });
        let all = steps(constants.chain([0]), self.many(|it| it == ValueKind::Time));
        all.into_iter().map(|it| Value::Time(Timestamp(it))).collect()
    }

    pub fn spans(&self, min: Option<i64>) -> Vec<Value> {
        let constants = self.circle.constants.iter().filter_map(Value::as_span).map(|it| it.0);
        let all = steps(constants.chain([0]), self.many(|it| it == ValueKind::Span));
        let fits = |it: &i64| min.is_none_or(|min| *it >= min);
        all.into_iter().filter(fits).map(|it| Value::Span(Span(it))).collect()
    }

    /// None if there would be too many.
    pub fn lists(&self, items: &FieldType, most: Option<usize>) -> Option<Vec<Value>> {
        let some: Vec<Value> = match &items.fit {
            Fit::Any | Fit::Text { .. } => {
                let blank = Value::text("");
                let mut all = self.texts();
                all.retain(|it| *it != blank || self.circle.constants.contains(&blank));
                all
            }
            _ => self.values_of_type(items)?,
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
        if self.circle.sized {
            let lengths = self.wholes();
            if lengths.last().is_some_and(|it| *it > LONGEST) {
                return None;
            }
            let lengths: Vec<usize> = lengths.into_iter().filter_map(|it| usize::try_from(it).ok()).collect();
            let longer: Vec<Vec<Value>> = all
                .iter()
                .flat_map(|it| {
                    let others = |length: usize| (it.len()..length).map(|n| Value::text(&format!("={n}")));
                    let longer = lengths.iter().filter(|length| **length > it.len());
                    longer.map(move |length| it.iter().cloned().chain(others(*length)).collect())
                })
                .collect();
            all.extend(longer);
        }
        all.retain(|it| most.is_none_or(|most| it.len() <= most));
        Some(all.into_iter().map(Value::list).collect())
    }

    /// More than may be is tried, never less.
    pub fn values_of_type(&self, ty: &FieldType) -> Option<Vec<Value>> {
        Some(match &ty.fit {
            Fit::Bool => truths(),
            Fit::Int { min, max } => self.whole_numbers(*min, *max),
            Fit::Number { min, max } => self.numeric(*min, *max),
            Fit::Text { .. } => self.texts(),
            Fit::Choice(names) => names.iter().map(Value::from).collect(),
            Fit::Time => self.times(),
            Fit::Span => self.spans(None),
            Fit::List { items, max, .. } => self.lists(items, max.map(|it| it as usize))?,
            Fit::Object { .. } | Fit::Map(_) => {
                let full = [(Name::new("a"), Value::text("a"))].into_iter().collect();
                vec![Value::map(Default::default()), Value::map(full)]
            }
            Fit::Any => return None,
        })
    }
}

pub fn truths() -> Vec<Value> {
    vec![Value::Bool(true), Value::Bool(false)]
}

/// Each of these and the next few above it, and as many below the least.
fn steps(marks: impl Iterator<Item = i64>, many: i64) -> BTreeSet<i64> {
    let marks: BTreeSet<i64> = marks.collect();
    let below = marks.first().into_iter().flat_map(|it| (1..=many).map(|n| it.saturating_sub(n)));
    let above = marks.iter().flat_map(|it| (0..=many).map(|n| it.saturating_add(n)));
    below.chain(above).collect()
}
