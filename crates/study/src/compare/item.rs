//! A definition taken apart: things with facets, so that any two can be laid side by side.

use trackside_lifecycle::model::FieldType;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::compare::expression::{Expression, constant};
use crate::compare::fits;

/// A part of a definition: a state, an arm, a consequence.
#[derive(Clone, Debug)]
pub struct DefinitionItem {
    /// Only things of one group are compared with each other.
    pub group: &'static str,
    /// Items with the same id are the same item; several with one id are matched by similarity.
    pub id: String,
    /// Its name; for a consequence, a verb phrase: `alerts "stuck"`.
    pub title: String,
    /// The meaning of its presence.
    pub sense: Sense,
    /// Whether it concerns the states or moves of entities.
    pub path: bool,
    pub facets: Vec<Facet>,
    pub parts: Vec<DefinitionItem>,
}

/// One side of a thing.
#[derive(Clone, Debug)]
pub struct Facet {
    pub key: String,
    /// A noun if it has a value (`who may`), a verb if not (`needs a reason`).
    pub words: String,
    pub leaf: Leaf,
    pub sense: Sense,
}

#[derive(Clone, Debug)]
pub enum Leaf {
    /// It is only present or absent.
    Flag,
    Expression(Box<Expression>),
    /// Words for people.
    Wording(String),
    Text(String),
    Value(Value),
    Number(f64),
    /// A name with its place in an order.
    Level(Name, usize),
    Names(Vec<Name>),
    /// Names whose order matters.
    Order(Vec<Name>),
    Type(FieldType),
    /// The states that an arm leaves, its targets, and its actors.
    Edges {
        from: Vec<Name>,
        to: String,
        who: String,
    },
}

/// The meaning of an increase for running entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    Plain,
    /// A condition: the more it lets through, the looser.
    Admits,
    /// A restriction: the more it applies to, the tighter.
    Binds,
    /// The more, the looser.
    Allows,
    /// The more, the tighter.
    Demands,
    /// A length of time.
    Lasts,
    /// A ceiling: the lower, the tighter.
    Limits,
}

impl DefinitionItem {
    pub fn new(group: &'static str, id: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            group,
            id: id.into(),
            title: title.into(),
            sense: Sense::Plain,
            path: false,
            facets: Vec::new(),
            parts: Vec::new(),
        }
    }

    pub fn sense(mut self, sense: Sense) -> Self {
        self.sense = sense;
        self
    }

    pub fn on_path(mut self) -> Self {
        self.path = true;
        self
    }

    pub fn put(&mut self, key: impl Into<String>, words: impl Into<String>, sense: Sense, leaf: Leaf) {
        self.facets.push(Facet { key: key.into(), words: words.into(), leaf, sense });
    }

    pub fn put_some(&mut self, words: &str, sense: Sense, leaf: Option<Leaf>) {
        if let Some(leaf) = leaf {
            self.put(words, words, sense, leaf);
        }
    }

    pub fn flag(&mut self, words: impl Into<String>, sense: Sense, is: bool) {
        if is {
            let words = words.into();
            self.put(words.clone(), words, sense, Leaf::Flag);
        }
    }

    pub fn wording(&mut self, words: &str, text: &str) {
        if !text.is_empty() {
            self.put(words, words, Sense::Plain, Leaf::Wording(text.to_owned()));
        }
    }

    pub fn names(&mut self, words: &str, sense: Sense, names: &[Name]) {
        if !names.is_empty() {
            self.put(words, words, sense, Leaf::Names(names.to_vec()));
        }
    }

    pub fn name(&mut self, words: &str, sense: Sense, name: Option<&Name>) {
        self.put_some(words, sense, name.map(|it| Leaf::Text(it.to_string())));
    }

    pub fn facet(&self, key: &str) -> Option<&Facet> {
        self.facets.iter().find(|it| it.key == key)
    }
}

impl Leaf {
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Flag, Self::Flag) => true,
            (Self::Expression(a), Self::Expression(b)) => a.text == b.text,
            (Self::Wording(a), Self::Wording(b)) | (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Value(a), Self::Value(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Level(a, _), Self::Level(b, _)) => a == b,
            (Self::Names(a), Self::Names(b)) => a.len() == b.len() && a.iter().all(|it| b.contains(it)),
            (Self::Order(a), Self::Order(b)) => a == b,
            // Types have no equality; their debug output is complete.
            (Self::Type(a), Self::Type(b)) => format!("{a:?}") == format!("{b:?}"),
            (Self::Edges { from: a, to: b, .. }, Self::Edges { from: c, to: d, .. }) => {
                b == d && a.len() == c.len() && a.iter().all(|it| c.contains(it))
            }
            _ => false,
        }
    }

    /// The similarity of two items, from 0 to 1.
    pub fn likeness(&self, other: &Self) -> f64 {
        let (a, b) = match (self, other) {
            (Self::Names(a), Self::Names(b)) => (a, b),
            (Self::Edges { from: a, to, .. }, Self::Edges { from: b, to: there, .. }) => {
                let target = if to == there { 0.5 } else { 0.0 };
                return target + overlap(a, b) / 2.0;
            }
            _ => return if self.same(other) { 1.0 } else { 0.0 },
        };
        overlap(a, b)
    }

    /// For people.
    pub fn shown(&self) -> String {
        let joined = |names: &[Name]| {
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")
            }
        };
        match self {
            Self::Flag => String::new(),
            Self::Expression(it) => match &it.value {
                Some(Value::Text(_) | Value::Bool(_)) | None => format!("`{}`", it.source),
                Some(value) if constant(value) == it.text => it.source.clone(),
                Some(value @ (Value::Span(_) | Value::Int(_) | Value::Float(_))) => {
                    format!("`{}` ({})", it.source, constant(value))
                }
                Some(_) => format!("`{}`", it.source),
            },
            Self::Wording(it) => format!("\"{it}\""),
            Self::Text(it) => it.clone(),
            Self::Value(it) => constant(it),
            Self::Number(it) => it.to_string(),
            Self::Level(name, _) => name.to_string(),
            Self::Names(names) | Self::Order(names) => joined(names),
            Self::Type(it) => fits::type_text(it),
            Self::Edges { from, to, .. } => format!("{} → {to}", joined(from)),
        }
    }

    /// Its value as a number, if it is one.
    pub fn amount(&self) -> Option<f64> {
        let number = |it: &Value| it.as_span().map(|it| it.0 as f64).or_else(|| it.as_float());
        match self {
            Self::Expression(it) => it.value.as_ref().and_then(number),
            Self::Value(it) => number(it),
            Self::Number(it) => Some(*it),
            Self::Level(_, place) => Some(*place as f64),
            _ => None,
        }
    }
}

fn overlap(a: &[Name], b: &[Name]) -> f64 {
    let both = a.iter().filter(|it| b.contains(it)).count();
    let all = a.len() + b.len() - both;
    if all == 0 { 1.0 } else { both as f64 / all as f64 }
}
