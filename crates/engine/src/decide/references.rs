//! The ids that rules write into the fields of refs.

use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::DecisionBuilder;
use crate::key::{id_from_text, is_valid_id};

impl DecisionBuilder<'_> {
    /// The id of an entity of a lifecycle, from the text that a rule computes.
    pub fn id_of(&self, lifecycle: &Name, text: &str) -> String {
        id_from_text(text, self.law.newest(lifecycle).is_some_and(|it| it.joins_ids()))
    }

    /// A value that a rule writes. In the field of a ref, every id gets the form that `create` gives it.
    pub fn reference_ids(&self, life: &Lifecycle, field: &Name, value: Value) -> Value {
        let Some(reference) = life.refs.iter().find(|it| it.by.as_ref() == Some(field)) else { return value };
        let id = |it: &Value| match it {
            Value::Text(text) if !is_plain(text) => Value::text(&self.id_of(&reference.to, text)),
            other => other.clone(),
        };
        match &value {
            Value::List(ids) => Value::list(ids.iter().map(id).collect()),
            one => id(one),
        }
    }
}

/// Whether a text is an id of every lifecycle.
fn is_plain(text: &str) -> bool {
    is_valid_id(text) && !text.contains(':')
}
