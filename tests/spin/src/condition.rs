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
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Self::Always => {}
                Self::Never => return Self::Never,
                Self::All(inner) => kept.extend(inner),
                part => kept.push(part),
            }
        }
        kept.sort();
        kept.dedup();
        match (kept.pop(), kept.is_empty()) {
            (None, _) => Self::Always,
            (Some(only), true) => only,
            (Some(last), false) => {
                kept.push(last);
                Self::All(kept)
            }
        }
    }

    /// At least one of them.
    pub fn any(parts: impl IntoIterator<Item = ModelCondition>) -> Self {
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Self::Never => {}
                Self::Always => return Self::Always,
                Self::Any(inner) => kept.extend(inner),
                part => kept.push(part),
            }
        }
        kept.sort();
        kept.dedup();
        match (kept.pop(), kept.is_empty()) {
            (None, _) => Self::Never,
            (Some(only), true) => only,
            (Some(last), false) => {
                kept.push(last);
                Self::Any(kept)
            }
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
