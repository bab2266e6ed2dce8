//! The kind of value that an expression yields, as far as a comparison needs it.

use trackside_lifecycle::guard::Outline;
use trackside_lifecycle::model::{EntityAttribute, FieldType, Fit, Lifecycle, Read, SlotAttribute};
use trackside_lifecycle::value::Value;

use crate::check::facts::Facts;

/// The depth to which computed fields are followed.
const DEEPEST: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    Truth,
    Whole,
    Number,
    Text,
    Time,
    Span,
    /// A list of any of these.
    List,
    Null,
    /// Anything else, or unknown.
    Other,
}

impl ValueKind {
    pub const fn is_number(self) -> bool {
        matches!(self, Self::Whole | Self::Number)
    }

    /// Whether values of this kind matter only by equality.
    pub const fn is_single(self) -> bool {
        !matches!(self, Self::List | Self::Null | Self::Other)
    }

    pub const fn is_ordered(self) -> bool {
        matches!(self, Self::Whole | Self::Number | Self::Time | Self::Span)
    }
}

pub fn of(facts: &Facts<'_>, outline: &Outline) -> ValueKind {
    deep(facts, outline, DEEPEST)
}

fn deep(facts: &Facts<'_>, outline: &Outline, left: usize) -> ValueKind {
    match outline {
        Outline::Constant(value) => of_value(value),
        Outline::Read(slot, members) if members.is_empty() => {
            facts.life.reads.get(slot.0 as usize).map_or(ValueKind::Other, |it| read(facts, it, left))
        }
        Outline::If(parts) => {
            let [_, yes, no] = &**parts;
            match (deep(facts, yes, left), deep(facts, no, left)) {
                (ValueKind::Null, it) | (it, ValueKind::Null) => it,
                (a, b) if a == b => a,
                (a, b) if a.is_number() && b.is_number() => ValueKind::Number,
                _ => ValueKind::Other,
            }
        }
        Outline::List(items) => {
            let single = |it: &Outline| {
                matches!(deep(facts, it, left), ValueKind::Null) || deep(facts, it, left).is_single()
            };
            if items.iter().all(single) { ValueKind::List } else { ValueKind::Other }
        }
        Outline::Call(name, _) if name == "Size" => ValueKind::Whole,
        asking if asking.asks() => ValueKind::Truth,
        _ => ValueKind::Other,
    }
}

fn of_value(value: &Value) -> ValueKind {
    match value {
        Value::Null => ValueKind::Null,
        Value::Bool(_) => ValueKind::Truth,
        Value::Int(_) => ValueKind::Whole,
        Value::Float(_) => ValueKind::Number,
        Value::Text(_) => ValueKind::Text,
        Value::Time(_) => ValueKind::Time,
        Value::Span(_) => ValueKind::Span,
        Value::List(items) if items.iter().all(|it| of_value(it).is_single()) => ValueKind::List,
        Value::List(_) | Value::Map(_) => ValueKind::Other,
    }
}

pub fn of_type(ty: &FieldType) -> ValueKind {
    match &ty.fit {
        Fit::Bool => ValueKind::Truth,
        Fit::Int { .. } => ValueKind::Whole,
        Fit::Number { .. } => ValueKind::Number,
        Fit::Text { .. } | Fit::Choice(_) => ValueKind::Text,
        Fit::Time => ValueKind::Time,
        Fit::Span => ValueKind::Span,
        Fit::List { items, .. } if of_type(items).is_single() => ValueKind::List,
        Fit::List { .. } | Fit::Object { .. } | Fit::Map(_) | Fit::Any => ValueKind::Other,
    }
}

pub fn of_read(facts: &Facts<'_>, it: &Read) -> ValueKind {
    read(facts, it, DEEPEST)
}

fn read(facts: &Facts<'_>, read: &Read, left: usize) -> ValueKind {
    let life = facts.life;
    match read {
        Read::Field(name) | Read::Was(name) => {
            life.field(name).map_or(ValueKind::Other, |it| of_type(&it.fits))
        }
        Read::Taken(name) => sent_kind(life, name),
        Read::Computed(guard) if left > 0 => deep(facts, &guard.outline(), left - 1),
        Read::Id
        | Read::SubjectId
        | Read::ActorId
        | Read::ActorKind
        | Read::State
        | Read::PreviousState
        | Read::Reason
        | Read::Slot(_, SlotAttribute::Holder) => ValueKind::Text,
        Read::Version
        | Read::JournalSequence
        | Read::Fence
        | Read::Slot(_, SlotAttribute::Fence)
        | Read::Group(..)
        | Read::Rank(_)
        | Read::RankSize(_) => ValueKind::Whole,
        Read::CreatedAt
        | Read::UpdatedAt
        | Read::StateEnteredAt
        | Read::Now
        | Read::Slot(_, SlotAttribute::Until) => ValueKind::Time,
        Read::TimeInState | Read::TotalTime => ValueKind::Span,
        Read::Overdue
        | Read::Human
        | Read::Agent
        | Read::System
        | Read::Engine
        | Read::Admin
        | Read::Role(_)
        | Read::Relation(_)
        | Read::Slot(_, SlotAttribute::Held) => ValueKind::Truth,
        Read::Setting(place) => life.settings.get(*place).map_or(ValueKind::Other, |it| {
            let kind = of_value(&it.default);
            if kind == ValueKind::Whole && !it.from.is_empty() { ValueKind::Number } else { kind }
        }),
        Read::Counter(name) => counter(life, name),
        Read::Ref(name, at) => {
            life.reference(name).and_then(|it| attribute_kind(facts, &it.to, at)).unwrap_or(ValueKind::Other)
        }
        Read::Me(at) => {
            life.me.as_ref().and_then(|it| attribute_kind(facts, it, at)).unwrap_or(ValueKind::Other)
        }
        Read::People => ValueKind::List,
        _ => ValueKind::Other,
    }
}

/// The kind of a value that requests send under a name, if all transitions agree on it.
fn sent_kind(life: &Lifecycle, name: &str) -> ValueKind {
    let arms = life.arms().flat_map(|it| &it.takes);
    let all = arms.chain(&life.create.takes).chain(life.gates.iter().flat_map(|it| &it.takes));
    let mut kinds = all.filter(|it| it.name == *name).map(|it| of_type(&it.fits));
    let Some(first) = kinds.next() else { return ValueKind::Other };
    if kinds.all(|it| it == first) { first } else { ValueKind::Other }
}

fn counter(life: &Lifecycle, name: &str) -> ValueKind {
    let adds = life.counter(name).is_some_and(|it| it.add.is_some());
    if adds { ValueKind::Number } else { ValueKind::Whole }
}

fn attribute_kind(facts: &Facts<'_>, to: &str, look: &EntityAttribute) -> Option<ValueKind> {
    let other = facts.pack.lifecycles.iter().find(|it| it.name == *to)?;
    Some(match look {
        EntityAttribute::Id | EntityAttribute::State | EntityAttribute::PreviousState => ValueKind::Text,
        EntityAttribute::Version | EntityAttribute::Group(..) => ValueKind::Whole,
        EntityAttribute::CreatedAt | EntityAttribute::StateEnteredAt => ValueKind::Time,
        EntityAttribute::Final => ValueKind::Truth,
        EntityAttribute::Field(name) => of_type(&other.field(name)?.fits),
        EntityAttribute::Counter(name) => counter(other, name),
    })
}
