//! Compares expressions: whether they are equivalent, and which of the two admits more.

use trackside_lifecycle::guard::{Guard, Outline};
use trackside_lifecycle::model::{Read, Setting};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::truth::{DefaultSettings, Partial};

/// An expression in comparable form: names instead of slots, without formatting.
#[derive(Clone, Debug)]
pub struct Expression {
    /// The source on one line.
    pub source: String,
    /// Equal for expressions that differ in formatting alone.
    pub text: String,
    pub term: Term,
    /// Its value, if it reads only the defaults of settings.
    pub value: Option<Value>,
}

/// The shape of a condition, as far as it can be compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    Constant(Value),
    /// True for actors with one of these roles.
    Role(String, Vec<Name>),
    All(Vec<Term>),
    Any(Vec<Term>),
    Not(Box<Term>),
    /// A comparison with a constant.
    Against(String, Op, Value),
    Other(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Equal,
    Differ,
    Less,
    AtMost,
    More,
    AtLeast,
    In,
}

impl Expression {
    pub fn new(guard: &Guard, reads: &[Read], settings: &[Setting]) -> Self {
        let outline = guard.outline();
        let text = text(&outline, guard);
        let term = term(&outline, guard, reads);
        let value = match &outline {
            Outline::Constant(_) | Outline::Read(..) => {
                Partial::new(reads, DefaultSettings { settings, state: None }).part_value(&outline)
            }
            _ => None,
        };
        let source = guard.source().split_whitespace().collect::<Vec<_>>().join(" ");
        Self { source, text, term, value }
    }
}

/// The written form of a name, without its members.
fn name_of(guard: &Guard, slot: trackside_lifecycle::guard::VarSlot, members: &[Name]) -> String {
    let tail: String = members.iter().map(|it| format!(".{it}")).collect();
    let found = guard.reads().iter().find(|it| it.slot == slot && it.path.ends_with(&tail));
    let found = found.or_else(|| guard.reads().iter().find(|it| it.slot == slot));
    found.map_or_else(
        || format!("#{}", slot.0),
        |it| it.path.strip_suffix(&*tail).unwrap_or(&it.path).to_owned(),
    )
}

fn text(of: &Outline, guard: &Guard) -> String {
    let t = |it: &Outline| text(it, guard);
    let two = |op: &str, both: &[Outline; 2]| format!("({} {op} {})", t(&both[0]), t(&both[1]));
    let list = |all: &[Outline]| all.iter().map(t).collect::<Vec<_>>().join(", ");
    match of {
        Outline::Constant(value) => constant(value),
        Outline::Read(slot, members) => {
            let members: String = members.iter().map(|it| format!(".{it}")).collect();
            let bare: Vec<Name> = members.split('.').filter(|it| !it.is_empty()).map(Name::new).collect();
            format!("{}{members}", name_of(guard, *slot, &bare))
        }
        Outline::Local(depth) => format!("it{depth}"),
        Outline::Member(of, name) => format!("{}.{name}", t(of)),
        Outline::Index(both) => {
            let [of, at] = &**both;
            format!("{}[{}]", t(of), t(at))
        }
        Outline::Has(of) => format!("has({})", t(of)),
        Outline::Not(of) => format!("!{}", t(of)),
        Outline::Negate(of) => format!("-{}", t(of)),
        Outline::All(parts) => format!("({})", parts.iter().map(t).collect::<Vec<_>>().join(" && ")),
        Outline::Any(parts) => format!("({})", parts.iter().map(t).collect::<Vec<_>>().join(" || ")),
        Outline::If(parts) => {
            let [when, yes, no] = &**parts;
            format!("({} ? {} : {})", t(when), t(yes), t(no))
        }
        Outline::Equal(both) => two("==", both),
        Outline::Differ(both) => two("!=", both),
        Outline::Less(both) => two("<", both),
        Outline::AtMost(both) => two("<=", both),
        Outline::More(both) => two(">", both),
        Outline::AtLeast(both) => two(">=", both),
        Outline::Plus(both) => two("+", both),
        Outline::Minus(both) => two("-", both),
        Outline::Times(both) => two("*", both),
        Outline::Over(both) => two("/", both),
        Outline::Remainder(both) => two("%", both),
        Outline::In(both) => two("in", both),
        Outline::List(items) => format!("[{}]", list(items)),
        Outline::Map(members) => {
            let members = members.iter().map(|(key, it)| format!("{}: {}", t(key), t(it)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Outline::Loop(kind, range, asked) => format!("{}.{kind}({})", t(range), list(asked)),
        Outline::Matches(of, pattern) => format!("{}.matches({pattern:?})", t(of)),
        Outline::Call(name, arguments) => format!("{name}({})", list(arguments)),
        Outline::Host(number, arguments) => format!("host{number}({})", list(arguments)),
    }
}

/// A value as an expression would write it; a span as a span.
pub fn constant(value: &Value) -> String {
    match value {
        Value::Span(_) | Value::Time(_) => value.to_json().as_str().unwrap_or_default().to_owned(),
        _ => value.to_json().to_string(),
    }
}

fn term(of: &Outline, guard: &Guard, reads: &[Read]) -> Term {
    let t = |it: &Outline| term(it, guard, reads);
    let other = || Term::Other(text(of, guard));
    let against = |both: &[Outline; 2], op: Op, flipped: Option<Op>| match (both, flipped) {
        ([left, Outline::Constant(value)], _) => Term::Against(text(left, guard), op, value.clone()),
        ([left, Outline::List(items)], None) => {
            let values: Option<Vec<Value>> = items
                .iter()
                .map(|it| if let Outline::Constant(value) = it { Some(value.clone()) } else { None })
                .collect();
            values.map_or_else(other, |it| Term::Against(text(left, guard), op, Value::list(it)))
        }
        ([Outline::Constant(value), right], Some(op)) => Term::Against(text(right, guard), op, value.clone()),
        _ => other(),
    };
    match of {
        Outline::Constant(value) => Term::Constant(value.clone()),
        Outline::Read(slot, members) if members.is_empty() => match reads.get(slot.0 as usize) {
            Some(Read::Role(holders)) => Term::Role(text(of, guard), holders.clone()),
            _ => other(),
        },
        Outline::All(parts) => Term::All(parts.iter().map(t).collect()),
        Outline::Any(parts) => Term::Any(parts.iter().map(t).collect()),
        Outline::Not(of) => Term::Not(Box::new(t(of))),
        Outline::Equal(both) => against(both, Op::Equal, Some(Op::Equal)),
        Outline::Differ(both) => against(both, Op::Differ, Some(Op::Differ)),
        Outline::Less(both) => against(both, Op::Less, Some(Op::More)),
        Outline::AtMost(both) => against(both, Op::AtMost, Some(Op::AtLeast)),
        Outline::More(both) => against(both, Op::More, Some(Op::Less)),
        Outline::AtLeast(both) => against(both, Op::AtLeast, Some(Op::AtMost)),
        Outline::In(both) => against(both, Op::In, None),
        _ => other(),
    }
}

impl Term {
    /// Whether this implies the other; false also if unknown.
    pub fn implies(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        match (self, other) {
            (Self::Constant(Value::Bool(false)), _) | (_, Self::Constant(Value::Bool(true))) => true,
            (Self::Any(parts), _) => parts.iter().all(|it| it.implies(other)),
            (_, Self::All(parts)) => parts.iter().all(|it| self.implies(it)),
            (Self::All(parts), _) if parts.iter().any(|it| it.implies(other)) => true,
            (_, Self::Any(parts)) => parts.iter().any(|it| self.implies(it)),
            (Self::Not(a), Self::Not(b)) => b.implies(a),
            (Self::Role(_, narrow), Self::Role(_, wide)) => narrow.iter().all(|it| wide.contains(it)),
            (Self::Against(a, op, value), Self::Against(b, wider, limit)) if a == b => {
                stays_within(*op, value, *wider, limit)
            }
            _ => false,
        }
    }

    /// The alternatives it consists of.
    pub fn alternatives(&self) -> &[Term] {
        if let Self::Any(parts) = self { parts } else { std::slice::from_ref(self) }
    }

    /// The conditions that must all be true.
    pub fn demands(&self) -> &[Term] {
        if let Self::All(parts) = self { parts } else { std::slice::from_ref(self) }
    }
}

/// Whether `op value` implies `wider limit`.
fn stays_within(op: Op, value: &Value, wider: Op, limit: &Value) -> bool {
    let among = |list: &Value, it: &Value| list.as_list().is_some_and(|all| all.contains(it));
    match (op, wider) {
        (Op::Equal, Op::In) => return among(limit, value),
        (Op::In, Op::In) => return value.as_list().is_some_and(|all| all.iter().all(|it| among(limit, it))),
        (Op::In, Op::Differ) => return value.as_list().is_some() && !among(value, limit),
        (Op::Equal, Op::Differ) => return value != limit,
        _ => {}
    }
    let number = |it: &Value| it.as_float().or_else(|| it.as_span().map(|it| it.0 as f64));
    let (Some(a), Some(b)) = (number(value), number(limit)) else { return false };
    match (op, wider) {
        (Op::Less, Op::Less | Op::AtMost) | (Op::AtMost, Op::AtMost) => a <= b,
        (Op::AtMost | Op::Equal, Op::Less) => a < b,
        (Op::More, Op::More | Op::AtLeast) | (Op::AtLeast, Op::AtLeast) => a >= b,
        (Op::AtLeast | Op::Equal, Op::More) => a > b,
        (Op::Equal, Op::AtMost) => a <= b,
        (Op::Equal, Op::AtLeast) => a >= b,
        _ => false,
    }
}

impl std::fmt::Display for Term {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let joined = |parts: &[Term], op: &str| {
            let parts = parts.iter().map(|it| match it {
                Term::All(_) | Term::Any(_) => format!("({it})"),
                _ => it.to_string(),
            });
            parts.collect::<Vec<_>>().join(op)
        };
        match self {
            Self::Constant(value) => f.write_str(&constant(value)),
            Self::Role(name, _) => f.write_str(name),
            Self::All(parts) => f.write_str(&joined(parts, " && ")),
            Self::Any(parts) => f.write_str(&joined(parts, " || ")),
            Self::Not(of) if matches!(**of, Self::All(_) | Self::Any(_) | Self::Against(..)) => {
                write!(f, "!({of})")
            }
            Self::Not(of) => write!(f, "!{of}"),
            Self::Against(left, op, value) => {
                let op = match op {
                    Op::Equal => "==",
                    Op::Differ => "!=",
                    Op::Less => "<",
                    Op::AtMost => "<=",
                    Op::More => ">",
                    Op::AtLeast => ">=",
                    Op::In => "in",
                };
                write!(f, "{left} {op} {}", constant(value))
            }
            Self::Other(text) => f.write_str(bare(text)),
        }
    }
}

/// Without the brackets around the whole.
fn bare(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|it| it.strip_suffix(')')) else { return text };
    let mut depth = 0_i32;
    for letter in inner.chars() {
        depth += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth < 0 {
            return text;
        }
    }
    inner
}
