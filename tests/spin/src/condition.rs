//! Conditions over small whole numbers.

use std::collections::BTreeSet;

/// A condition on the variables of one entity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelCondition {
    Always,
    Never,
    /// The variable has this value.
    Is(usize, u8),
    All(Vec<ModelCondition>),
    Any(Vec<ModelCondition>),
    Not(Box<ModelCondition>),
}

impl ModelCondition {
    /// All of them, without those that are always true.
    pub fn all(parts: impl IntoIterator<Item = ModelCondition>) -> Self {
        let nested = |part| match part {
            Self::All(inner) => Ok(inner),
            other => Err(other),
        };
        Self::joined(parts, Self::Always, Self::Never, nested, Self::All)
    }

    /// At least one of them.
    pub fn any(parts: impl IntoIterator<Item = ModelCondition>) -> Self {
        let nested = |part| match part {
            Self::Any(inner) => Ok(inner),
            other => Err(other),
        };
        Self::joined(parts, Self::Never, Self::Always, nested, Self::Any)
    }

    /// Joins conditions: `neutral` changes nothing, `deciding` decides the whole.
    fn joined(
        parts: impl IntoIterator<Item = ModelCondition>,
        neutral: Self,
        deciding: Self,
        nested: impl Fn(Self) -> Result<Vec<Self>, Self>,
        join: impl Fn(Vec<Self>) -> Self,
    ) -> Self {
        let mut kept = Vec::new();
        for part in parts {
            if part == deciding {
                return deciding;
            }
            match nested(part) {
                Ok(inner) => kept.extend(inner),
                Err(part) if part != neutral => kept.push(part),
                Err(_) => {}
            }
        }
        kept.sort();
        kept.dedup();
        match kept.len() {
            0 => neutral,
            1 => kept.remove(0),
            _ => join(kept),
        }
    }

    /// The variable has one of these values, out of `of`.
    pub fn among(variable: usize, values: &[u8], of: usize) -> Self {
        if values.len() >= of {
            return Self::Always;
        }
        if values.len() * 2 <= of || values.is_empty() {
            return Self::any(values.iter().map(|it| Self::Is(variable, *it)));
        }
        let others = (0..of).filter_map(|it| u8::try_from(it).ok()).filter(|it| !values.contains(it));
        Self::Not(Box::new(Self::any(others.map(|it| Self::Is(variable, it)))))
    }

    /// The variables it reads.
    pub(super) fn reads(&self, into: &mut BTreeSet<usize>) {
        match self {
            Self::Always | Self::Never => {}
            Self::Is(variable, _) => {
                into.insert(*variable);
            }
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|it| it.reads(into)),
            Self::Not(of) => of.reads(into),
        }
    }

    /// Whether it is true of these values.
    pub fn holds(&self, values: &[u8]) -> bool {
        self.holds_with(values, false)
    }

    /// Evaluates it; `careless` takes every "not" for true, which is a fault planted by tests.
    pub(super) fn holds_with(&self, values: &[u8], careless: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Is(variable, value) => values.get(*variable) == Some(value),
            Self::All(parts) => parts.iter().all(|it| it.holds_with(values, careless)),
            Self::Any(parts) => parts.iter().any(|it| it.holds_with(values, careless)),
            Self::Not(of) => careless || !of.holds_with(values, careless),
        }
    }
}
