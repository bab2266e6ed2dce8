//! Fields and states of a lifecycle as plain data, for whoever fills them from outside.

use serde_json::{Value as Json, json};

use super::{Field, FieldType, Fit, Lifecycle};

impl Lifecycle {
    /// Every field: its name, its type, what it is about, and who writes it.
    pub fn fields_told(&self) -> Json {
        self.fields.values().map(told).collect()
    }

    /// What other tools call its states: their word, and the state.
    pub fn known_as_told(&self) -> Json {
        let words = self.states.iter().flat_map(|it| it.known_as.iter().map(|word| (word, &it.name)));
        words.map(|(word, state)| (word.to_string(), json!(state))).collect::<serde_json::Map<_, _>>().into()
    }
}

fn told(it: &Field) -> Json {
    let by = match (&it.is, it.engine) {
        (Some(_), _) => "nobody",
        (None, true) => "engine",
        (None, false) => "caller",
    };
    let mut json = shape(&it.fits);
    if let Json::Object(map) = &mut json {
        map.insert("name".to_owned(), json!(it.name));
        map.insert("about".to_owned(), json!(it.about));
        map.insert("by".to_owned(), json!(by));
    }
    json
}

fn shape(it: &FieldType) -> Json {
    match &it.fit {
        Fit::Any => json!({ "type": "any" }),
        Fit::Bool => json!({ "type": "boolean" }),
        Fit::Int { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Fit::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Fit::Text { .. } => json!({ "type": "string" }),
        Fit::Choice(values) => json!({ "type": "string", "enum": values.as_slice() }),
        Fit::Time => json!({ "type": "time" }),
        Fit::Span => json!({ "type": "span" }),
        Fit::List { items, .. } => json!({ "type": "array", "items": shape(items) }),
        Fit::Object { .. } | Fit::Map(_) => json!({ "type": "object" }),
    }
}
