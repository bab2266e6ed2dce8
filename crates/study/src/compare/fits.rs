//! Compares types: whether one accepts all values of the other.

use trackside_lifecycle::model::{FieldType, Fit};

/// Whether every value of the first fits the second. False also if that is unknown.
pub fn is_within(narrow: &FieldType, wide: &FieldType) -> bool {
    let fits =
        |a: Option<f64>, b: Option<f64>, c: Option<f64>, d: Option<f64>| at_least(a, c) && at_most(b, d);
    let length = |it: &Option<u32>| it.map(f64::from);
    match (&narrow.fit, &wide.fit) {
        (_, Fit::Any) | (Fit::Bool, Fit::Bool) | (Fit::Time, Fit::Time) | (Fit::Span, Fit::Span) => true,
        (Fit::Int { min: a, max: b }, Fit::Int { min: c, max: d } | Fit::Number { min: c, max: d })
        | (Fit::Number { min: a, max: b }, Fit::Number { min: c, max: d }) => fits(*a, *b, *c, *d),
        (Fit::Text { min: a, max: b, pattern: p }, Fit::Text { min: c, max: d, pattern: q }) => {
            let alike = match (p, q) {
                (_, None) => true,
                (Some(p), Some(q)) => p.as_str() == q.as_str(),
                (None, Some(_)) => false,
            };
            alike && fits(length(a), length(b), length(c), length(d))
        }
        (Fit::Choice(a), Fit::Choice(b)) => a.iter().all(|it| b.contains(it)),
        (Fit::Choice(_), Fit::Text { min: None | Some(0), max: None, pattern: None }) => true,
        (
            Fit::List { items: i, min: a, max: b, unique: u },
            Fit::List { items: j, min: c, max: d, unique: v },
        ) => is_within(i, j) && (*u || !*v) && fits(length(a), length(b), length(c), length(d)),
        (Fit::Object { properties: p, required: r }, Fit::Object { properties: q, required: s }) => {
            p.iter().all(|(name, it)| q.get(name).is_some_and(|wider| is_within(it, wider)))
                && s.iter().all(|it| r.contains(it))
        }
        (Fit::Object { properties, .. }, Fit::Map(values)) => {
            properties.values().all(|it| is_within(it, values))
        }
        (Fit::Map(a), Fit::Map(b)) => is_within(a, b),
        _ => false,
    }
}

fn at_least(narrow: Option<f64>, wide: Option<f64>) -> bool {
    wide.is_none_or(|wide| narrow.is_some_and(|it| it >= wide))
}

fn at_most(narrow: Option<f64>, wide: Option<f64>) -> bool {
    wide.is_none_or(|wide| narrow.is_some_and(|it| it <= wide))
}

/// A type as text.
pub fn type_text(ty: &FieldType) -> String {
    let bounds = |min: Option<f64>, max: Option<f64>| match (min, max) {
        (None, None) => String::new(),
        (Some(min), None) => format!(" from {min}"),
        (None, Some(max)) => format!(" up to {max}"),
        (Some(min), Some(max)) => format!(" from {min} to {max}"),
    };
    let lengths = |min: &Option<u32>, max: &Option<u32>, what: &str| match (min, max) {
        (None, None) => String::new(),
        (Some(min), None) => format!(" of at least {min} {what}"),
        (None, Some(max)) => format!(" of at most {max} {what}"),
        (Some(min), Some(max)) => format!(" of {min} to {max} {what}"),
    };
    match &ty.fit {
        Fit::Any => "any value".to_owned(),
        Fit::Bool => "true or false".to_owned(),
        Fit::Int { min, max } => format!("a whole number{}", bounds(*min, *max)),
        Fit::Number { min, max } => format!("a number{}", bounds(*min, *max)),
        Fit::Text { min, max, pattern } => {
            let like = pattern.as_ref().map(|it| format!(" like `{}`", it.as_str())).unwrap_or_default();
            format!("text{}{like}", lengths(min, max, "characters"))
        }
        Fit::Choice(names) => {
            format!("one of {}", names.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", "))
        }
        Fit::Time => "a moment".to_owned(),
        Fit::Span => "a span".to_owned(),
        Fit::List { items, min, max, unique } => {
            let unique = if *unique { " without repeats" } else { "" };
            format!("a list{}{unique}, each {}", lengths(min, max, "items"), type_text(items))
        }
        Fit::Object { properties, required } => {
            let members = properties.iter().map(|(name, it)| {
                let must = if required.contains(name) { " (required)" } else { "" };
                format!("{name}: {}{must}", type_text(it))
            });
            format!("a map of {{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Fit::Map(values) => format!("a map of any names, each {}", type_text(values)),
    }
}
