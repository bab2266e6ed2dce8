//! Evaluates expressions when only some of the values they read are known.
//!
//! The answer is three-valued: a value if the known values decide it, otherwise none.

use std::cell::Cell;

use super::Read;
use crate::guard::{Fault, Guard, Outline, Scope, VarSlot};
use crate::time::Span;
use crate::value::Value;

/// The values that are known.
pub trait KnownReads {
    /// The value of a read, if it is known.
    fn value(&self, slot: VarSlot, read: &Read) -> Option<Value>;
}

/// An evaluator that knows some of the reads. Relations and computed fields are evaluated from their own
/// reads.
#[derive(Debug)]
pub struct Partial<'a, K> {
    reads: &'a [Read],
    known: K,
    /// An unknown value was read during the current evaluation.
    missed: Cell<bool>,
}

impl<'a, K: KnownReads> Partial<'a, K> {
    pub fn new(reads: &'a [Read], known: K) -> Self {
        Self { reads, known, missed: Cell::new(false) }
    }

    /// Whether a condition holds; none if that depends on an unknown value. A condition that fails refuses.
    pub fn truth(&self, guard: &Guard) -> Option<bool> {
        self.missed.set(false);
        match guard.test(self) {
            Ok(answer) => Some(answer),
            Err(_) if self.missed.get() => None,
            Err(_) => Some(false),
        }
    }

    /// The value of an expression; none if it depends on an unknown value.
    pub fn value(&self, guard: &Guard) -> Option<Value> {
        guard.eval(self).ok()
    }

    /// The value of a part of an expression, for the operators that conditions and durations are made of.
    pub fn part_value(&self, outline: &Outline) -> Option<Value> {
        let pair = |both: &[Outline; 2]| Some((self.part_value(&both[0])?, self.part_value(&both[1])?));
        match outline {
            Outline::Constant(value) => Some(value.clone()),
            Outline::Read(slot, members) => {
                let start = self.read(*slot).ok()?;
                members.iter().try_fold(start, |it, name| it.as_map()?.get(name).cloned())
            }
            Outline::Member(of, name) => self.part_value(of)?.as_map()?.get(name).cloned(),
            Outline::Index(both) => match pair(both)? {
                (Value::Map(map), Value::Text(key)) => map.get(&*key).cloned(),
                (Value::List(list), Value::Int(at)) => list.get(usize::try_from(at).ok()?).cloned(),
                _ => None,
            },
            Outline::Not(of) => self.part_value(of)?.as_bool().map(|it| Value::Bool(!it)),
            Outline::All(parts) => self.junction(parts, false),
            Outline::Any(parts) => self.junction(parts, true),
            Outline::Equal(both) => pair(both).map(|(a, b)| Value::Bool(a == b)),
            Outline::Differ(both) => pair(both).map(|(a, b)| Value::Bool(a != b)),
            Outline::In(both) => match pair(both)? {
                (one, Value::List(items)) => Some(Value::Bool(items.contains(&one))),
                _ => None,
            },
            Outline::List(items) => {
                items.iter().map(|it| self.part_value(it)).collect::<Option<Vec<_>>>().map(Value::list)
            }
            Outline::Plus(both) => match pair(both)? {
                (Value::Text(a), Value::Text(b)) => Some(Value::text(&format!("{a}{b}"))),
                (Value::Span(a), Value::Span(b)) => Some(Value::Span(Span(a.0.checked_add(b.0)?))),
                _ => None,
            },
            Outline::Call(name, arguments) => match (name.as_str(), arguments.as_slice()) {
                ("String", [it]) => match self.part_value(it)? {
                    Value::Text(text) => Some(Value::Text(text)),
                    Value::Int(number) => Some(Value::text(&number.to_string())),
                    _ => None,
                },
                ("Duration", [it]) => Span::parse(self.part_value(it)?.as_str()?).map(Value::Span),
                _ => None,
            },
            _ => None,
        }
    }

    /// A single part that is `decisive` decides.
    fn junction(&self, parts: &[Outline], decisive: bool) -> Option<Value> {
        let all: Vec<Option<bool>> = parts.iter().map(|it| self.part_value(it)?.as_bool()).collect();
        if all.contains(&Some(decisive)) {
            return Some(Value::Bool(decisive));
        }
        all.iter().all(Option::is_some).then_some(Value::Bool(!decisive))
    }

    fn unknown(&self) -> Fault {
        self.missed.set(true);
        Fault::Failed("the value is not known".to_owned())
    }
}

impl<K: KnownReads> Scope for Partial<'_, K> {
    fn read(&self, slot: VarSlot) -> Result<Value, Fault> {
        let Some(read) = self.reads.get(slot.0 as usize) else { return Err(self.unknown()) };
        match (self.known.value(slot, read), read) {
            (Some(value), _) => Ok(value),
            (None, Read::Relation(guard) | Read::Computed(guard)) => guard.eval(self),
            (None, _) => Err(self.unknown()),
        }
    }

    fn call(&self, _: u16, _: &[Value]) -> Result<Value, Fault> {
        Err(self.unknown())
    }
}
