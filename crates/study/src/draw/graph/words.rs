//! Expressions in short plain words.

use trackside_lifecycle::guard::{Guard, Outline, VarSlot};
use trackside_lifecycle::model::{Every, Lifecycle, TimerKind};
use trackside_lifecycle::value::Value;

use super::defaults::possible_values;
use crate::truth::{Partial, StateAndCaller};

/// An evaluator that knows the state and whether the engine is the caller.
pub(super) fn in_state<'a>(
    life: &'a Lifecycle,
    state: Option<&'a str>,
    engine: Option<bool>,
) -> Partial<'a, StateAndCaller<'a>> {
    Partial::new(&life.reads, StateAndCaller { state, engine })
}

/// The callers as text, without the parts that concern only the engine.
pub(super) fn callers(guard: &Guard, life: &Lifecycle, state: Option<&str>) -> String {
    let words = Words { guard, known: in_state(life, state, Some(false)) };
    match words.known.truth(guard) {
        Some(true) => "anyone".to_owned(),
        Some(false) => "engine".to_owned(),
        None => words.of(&guard.outline(), Tight::Loose),
    }
}

/// A condition as text, without the parts that the state decides.
pub(super) fn condition(guard: &Guard, life: &Lifecycle, state: Option<&str>) -> String {
    Words { guard, known: in_state(life, state, None) }.of(&guard.outline(), Tight::Loose)
}

/// A span in a state, with settings at their defaults.
pub(super) fn span(guard: &Guard, life: &Lifecycle, state: Option<&str>) -> String {
    let possible = possible_values(life, state, &guard.outline());
    let spans: Vec<String> = possible.iter().map(constant).collect();
    if spans.is_empty() { condition(guard, life, state) } else { spans.join(" or ") }
}

/// The time at which a timer is due.
pub(super) fn due(kind: &TimerKind, life: &Lifecycle, state: Option<&str>) -> String {
    match kind {
        TimerKind::After(guard) => span(guard, life, state),
        TimerKind::At(field) => format!("at {field}"),
        TimerKind::Every(Every::Daily { hour, minute }) => format!("daily {hour:02}:{minute:02}"),
        TimerKind::Every(Every::Span(it)) => format!("every {it}"),
    }
}

/// The precedence of the surrounding expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tight {
    Loose,
    Or,
    And,
    Compare,
    Sum,
    Product,
    Whole,
}

struct Words<'a> {
    guard: &'a Guard,
    /// Parts that are decided by this are left out.
    known: Partial<'a, StateAndCaller<'a>>,
}

impl Words<'_> {
    fn of(&self, outline: &Outline, around: Tight) -> String {
        match outline {
            Outline::Constant(value) => constant(value),
            Outline::Read(slot, members) => self.read(*slot, members),
            Outline::Local(_) => "it".to_owned(),
            Outline::Member(of, name) => format!("{}.{name}", self.of(of, Tight::Whole)),
            Outline::Index(both) => {
                let [of, key] = &**both;
                format!("{}[{}]", self.of(of, Tight::Whole), self.of(key, Tight::Loose))
            }
            Outline::Has(of) => format!("has {}", self.of(of, Tight::Whole)),
            Outline::Not(of) => match &**of {
                Outline::Equal(both) => self.pair(both, "≠", Tight::Compare, around),
                Outline::In(both) => self.pair(both, "not in", Tight::Compare, around),
                of => format!("not {}", self.of(of, Tight::Compare)),
            },
            Outline::Negate(of) => format!("-{}", self.of(of, Tight::Whole)),
            Outline::All(parts) => self.junction(parts, " and ", Tight::And, around),
            Outline::Any(parts) => self.junction(parts, " or ", Tight::Or, around),
            Outline::If(parts) => {
                let [when, yes, no] = &**parts;
                let text = format!(
                    "if {} {} else {}",
                    self.of(when, Tight::Or),
                    self.of(yes, Tight::Compare),
                    self.of(no, Tight::Compare)
                );
                bracketed(text, Tight::Loose < around)
            }
            Outline::Equal(both) => self.pair(both, "=", Tight::Compare, around),
            Outline::Differ(both) => self.pair(both, "≠", Tight::Compare, around),
            Outline::Less(both) => self.pair(both, "<", Tight::Compare, around),
            Outline::AtMost(both) => self.pair(both, "≤", Tight::Compare, around),
            Outline::More(both) => self.pair(both, ">", Tight::Compare, around),
            Outline::AtLeast(both) => self.pair(both, "≥", Tight::Compare, around),
            Outline::In(both) => self.pair(both, "in", Tight::Compare, around),
            Outline::Plus(both) => self.pair(both, "+", Tight::Sum, around),
            Outline::Minus(both) => self.pair(both, "-", Tight::Sum, around),
            Outline::Times(both) => self.pair(both, "·", Tight::Product, around),
            Outline::Over(both) => self.pair(both, "/", Tight::Product, around),
            Outline::Remainder(both) => self.pair(both, "mod", Tight::Product, around),
            Outline::List(items) => format!("[{}]", self.list(items)),
            Outline::Map(_) => "{…}".to_owned(),
            Outline::Loop(kind, range, asked) => {
                let how = match *kind {
                    "all" => "all of ",
                    "exists" => "one of ",
                    "exists_one" => "exactly one of ",
                    _ => "those of ",
                };
                format!("{how}{}: {}", self.of(range, Tight::Whole), self.list(asked))
            }
            Outline::Matches(of, pattern) => format!("{} like {pattern}", self.of(of, Tight::Whole)),
            Outline::Call(name, arguments) => format!("{}({})", decapitalised(name), self.list(arguments)),
            Outline::Host(_, arguments) => format!("policy({})", self.list(arguments)),
        }
    }

    fn list(&self, items: &[Outline]) -> String {
        items.iter().map(|it| self.of(it, Tight::Loose)).collect::<Vec<_>>().join(", ")
    }

    fn junction(&self, parts: &[Outline], word: &str, mine: Tight, around: Tight) -> String {
        let matters = |it: &&Outline| self.known.part_value(it).and_then(|it| it.as_bool()).is_none();
        let left: Vec<&Outline> = parts.iter().filter(matters).collect();
        match left.as_slice() {
            [only] => self.of(only, around),
            // An `and` inside an `or` is bracketed too: not every reader knows the precedence.
            left => {
                let inner = |it: &Outline| self.of(it, if mine == Tight::Or { Tight::Compare } else { mine });
                let mut parts: Vec<String> = left.iter().map(|it| inner(it)).collect();
                let last = parts.pop().unwrap_or_default();
                let comma = if mine == Tight::Or { ", " } else { word };
                let text = if parts.is_empty() { last } else { format!("{}{word}{last}", parts.join(comma)) };
                bracketed(text, mine < around)
            }
        }
    }

    fn pair(&self, both: &[Outline; 2], sign: &str, mine: Tight, around: Tight) -> String {
        let [a, b] = both;
        let inner = if mine == Tight::Compare { Tight::Sum } else { mine };
        bracketed(format!("{} {sign} {}", self.of(a, inner), self.of(b, inner)), mine < around)
    }

    /// The name as it was written.
    fn read(&self, slot: VarSlot, members: &[trackside_lifecycle::name::Name]) -> String {
        let reads = || self.guard.reads().iter().filter(|it| it.slot == slot);
        let tail: String = members.iter().map(|it| format!(".{it}")).collect();
        let exact = reads().find(|it| it.path.ends_with(&tail));
        match (exact, reads().next()) {
            (Some(it), _) | (None, Some(it)) => it.path.to_string(),
            (None, None) => "it".to_owned(),
        }
    }
}

fn bracketed(text: String, needed: bool) -> String {
    if needed { format!("({text})") } else { text }
}

fn decapitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

fn constant(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Text(text) => text.to_string(),
        Value::Span(it) => it.to_string(),
        Value::Time(it) => it.to_string(),
        Value::List(items) => format!("[{}]", items.iter().map(constant).collect::<Vec<_>>().join(", ")),
        other => other.to_json().to_string(),
    }
}
