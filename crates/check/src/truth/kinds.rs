//! What kind of value an expression yields, as far as a comparison must know.

use trackside_lifecycle::guard::Outline;
use trackside_lifecycle::model::{FieldType, Fit, Lifecycle, Look, Read, SlotLook};
use trackside_lifecycle::value::Value;

use crate::facts::Facts;

/// How far computed fields are followed.
const DEEPEST: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Truth,
    Whole,
    Number,
    Text,
    Time,
    Span,
    /// A list of any of these.
    List,
    Null,
    /// Anything else, or it cannot be told.
    Other,
}

impl Kind {
    pub const fn is_number(self) -> bool {
        matches!(self, Self::Whole | Self::Number)
    }

    /// One value, of which equality says all.
    pub const fn is_single(self) -> bool {
        !matches!(self, Self::List | Self::Null | Self::Other)
    }

    pub const fn is_ordered(self) -> bool {
        matches!(self, Self::Whole | Self::Number | Self::Time | Self::Span)
    }
}

pub fn of(facts: &Facts<'_>, outline: &Outline) -> Kind {
    deep(facts, outline, DEEPEST)
}

fn deep(facts: &Facts<'_>, outline: &Outline, left: usize) -> Kind {
    match outline {
        Outline::Constant(value) => of_value(value),
        Outline::Read(slot, members) if members.is_empty() => {
            facts.life.reads.get(slot.0 as usize).map_or(Kind::Other, |it| read(facts, it, left))
        }
        Outline::If(parts) => {
            let [_, yes, no] = &**parts;
            match (deep(facts, yes, left), deep(facts, no, left)) {
                (Kind::Null, it) | (it, Kind::Null) => it,
                (a, b) if a == b => a,
                (a, b) if a.is_number() && b.is_number() => Kind::Number,
                _ => Kind::Other,
            }
        }
        Outline::List(items) => {
            let single = |it: &Outline| {
                matches!(deep(facts, it, left), Kind::Null) || deep(facts, it, left).is_single()
            };
            if items.iter().all(single) { Kind::List } else { Kind::Other }
        }
        Outline::Call(name, _) if name == "Size" => Kind::Whole,
        asking if asking.asks() => Kind::Truth,
        _ => Kind::Other,
    }
}

fn of_value(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Truth,
        Value::Int(_) => Kind::Whole,
        Value::Float(_) => Kind::Number,
        Value::Text(_) => Kind::Text,
        Value::Time(_) => Kind::Time,
        Value::Span(_) => Kind::Span,
        Value::List(items) if items.iter().all(|it| of_value(it).is_single()) => Kind::List,
        Value::List(_) | Value::Map(_) => Kind::Other,
    }
}

pub fn of_type(ty: &FieldType) -> Kind {
    match &ty.fit {
        Fit::Bool => Kind::Truth,
        Fit::Int { .. } => Kind::Whole,
        Fit::Number { .. } => Kind::Number,
        Fit::Text { .. } | Fit::Choice(_) => Kind::Text,
        Fit::Time => Kind::Time,
        Fit::Span => Kind::Span,
        Fit::List { items, .. } if of_type(items).is_single() => Kind::List,
        Fit::List { .. } | Fit::Object { .. } | Fit::Map(_) | Fit::Any => Kind::Other,
    }
}

pub fn of_read(facts: &Facts<'_>, it: &Read) -> Kind {
    read(facts, it, DEEPEST)
}

fn read(facts: &Facts<'_>, read: &Read, left: usize) -> Kind {
    let life = facts.life;
    match read {
        Read::Field(name) | Read::Was(name) => life.field(name).map_or(Kind::Other, |it| of_type(&it.fits)),
        Read::Taken(name) => taken(life, name),
        Read::Computed(guard) if left > 0 => deep(facts, &guard.outline(), left - 1),
        Read::Id
        | Read::SubjectId
        | Read::ActorId
        | Read::ActorKind
        | Read::State
        | Read::PreviousState
        | Read::Reason
        | Read::Slot(_, SlotLook::Holder) => Kind::Text,
        Read::Version
        | Read::Fence
        | Read::Slot(_, SlotLook::Fence)
        | Read::Group(..)
        | Read::Rank(_)
        | Read::RankSize(_) => Kind::Whole,
        Read::CreatedAt
        | Read::UpdatedAt
        | Read::StateEnteredAt
        | Read::Now
        | Read::Slot(_, SlotLook::Until) => Kind::Time,
        Read::TimeInState | Read::TotalTime => Kind::Span,
        Read::Overdue
        | Read::Human
        | Read::Agent
        | Read::System
        | Read::Engine
        | Read::Admin
        | Read::Role(_)
        | Read::Relation(_)
        | Read::Slot(_, SlotLook::Held) => Kind::Truth,
        Read::Setting(place) => life.settings.get(*place).map_or(Kind::Other, |it| {
            let kind = of_value(&it.default);
            if kind == Kind::Whole && !it.from.is_empty() { Kind::Number } else { kind }
        }),
        Read::Counter(name) => counter(life, name),
        Read::Ref(name, at) => {
            life.reference(name).and_then(|it| look(facts, &it.to, at)).unwrap_or(Kind::Other)
        }
        Read::Me(at) => life.me.as_ref().and_then(|it| look(facts, it, at)).unwrap_or(Kind::Other),
        Read::People => Kind::List,
        _ => Kind::Other,
    }
}

/// What requests bring under a name, if all mean the same by it.
fn taken(life: &Lifecycle, name: &str) -> Kind {
    let arms = life.arms().flat_map(|it| &it.takes);
    let all = arms.chain(&life.create.takes).chain(life.gates.iter().flat_map(|it| &it.takes));
    let mut kinds = all.filter(|it| it.name == *name).map(|it| of_type(&it.fits));
    let Some(first) = kinds.next() else { return Kind::Other };
    if kinds.all(|it| it == first) { first } else { Kind::Other }
}

fn counter(life: &Lifecycle, name: &str) -> Kind {
    let adds = life.counter(name).is_some_and(|it| it.add.is_some());
    if adds { Kind::Number } else { Kind::Whole }
}

fn look(facts: &Facts<'_>, to: &str, look: &Look) -> Option<Kind> {
    let other = facts.pack.lifecycles.iter().find(|it| it.name == *to)?;
    Some(match look {
        Look::Id | Look::State | Look::PreviousState => Kind::Text,
        Look::Version | Look::Group(..) => Kind::Whole,
        Look::CreatedAt | Look::StateEnteredAt => Kind::Time,
        Look::Final => Kind::Truth,
        Look::Field(name) => of_type(&other.field(name)?.fits),
        Look::Counter(name) => counter(other, name),
    })
}
