//! A lifecycle's fields and state aliases in the form that clients read.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Field, FieldType, Fit, Lifecycle};
use crate::name::Name;

/// A field as clients see it.
#[derive(Debug, Serialize)]
pub struct FieldSummary<'a> {
    pub name: &'a Name,
    pub about: &'a str,
    pub by: FieldWriter,
    #[serde(flatten)]
    pub ty: TypeSummary<'a>,
}

/// The writer of a field.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldWriter {
    Caller,
    Engine,
    /// The field is computed when it is read.
    Nobody,
}

/// A field's type, without the limits that only the engine checks.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum TypeSummary<'a> {
    Any,
    Boolean,
    Integer {
        minimum: Option<f64>,
        maximum: Option<f64>,
    },
    Number {
        minimum: Option<f64>,
        maximum: Option<f64>,
    },
    String {
        #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
        values: Option<&'a [Name]>,
    },
    Time,
    Span,
    Array {
        items: Box<TypeSummary<'a>>,
    },
    Object,
}

impl Lifecycle {
    pub fn field_summaries(&self) -> Vec<FieldSummary<'_>> {
        self.fields.values().map(summarize).collect()
    }

    /// Each `known_as` word of a state, and that state.
    pub fn states_by_alias(&self) -> BTreeMap<&Name, &Name> {
        self.states.iter().flat_map(|it| it.known_as.iter().map(|word| (word, &it.name))).collect()
    }
}

fn summarize(it: &Field) -> FieldSummary<'_> {
    let by = match (&it.is, it.engine) {
        (Some(_), _) => FieldWriter::Nobody,
        (None, true) => FieldWriter::Engine,
        (None, false) => FieldWriter::Caller,
    };
    FieldSummary { name: &it.name, about: &it.about, by, ty: type_summary(&it.fits) }
}

fn type_summary(it: &FieldType) -> TypeSummary<'_> {
    match &it.fit {
        Fit::Any => TypeSummary::Any,
        Fit::Bool => TypeSummary::Boolean,
        Fit::Int { min, max } => TypeSummary::Integer { minimum: *min, maximum: *max },
        Fit::Number { min, max } => TypeSummary::Number { minimum: *min, maximum: *max },
        Fit::Text { .. } => TypeSummary::String { values: None },
        Fit::Choice(values) => TypeSummary::String { values: Some(values.as_slice()) },
        Fit::Time => TypeSummary::Time,
        Fit::Span => TypeSummary::Span,
        Fit::List { items, .. } => TypeSummary::Array { items: Box::new(type_summary(items)) },
        Fit::Object { .. } | Fit::Map(_) => TypeSummary::Object,
    }
}
