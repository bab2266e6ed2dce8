//! The declared types of a lifecycle's fields, for hints on how to type a value.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use trackside_engine::refusal::ConditionCode;

use crate::args::ReachArgs;
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{list, text};
use crate::url::ApiPath;

/// The types of fields, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldTypes(BTreeMap<String, Json>);

impl FieldTypes {
    /// Fetches the types if the command was refused for the value of a field; else, or if the server does not answer,
    /// there are none.
    pub(crate) fn for_hints(outcome: &Result<u8, RequestError>, reach: &ReachArgs, lifecycle: &str) -> Self {
        let about_values = match outcome {
            Err(RequestError::Refused(problem)) => problem.errors.iter().any(|it| {
                let of_value = [ConditionCode::Missing, ConditionCode::TooFew, ConditionCode::WrongType];
                it.field.is_some() && of_value.into_iter().any(|code| it.has_code(code))
            }),
            _ => false,
        };
        if !about_values {
            return Self::default();
        }
        let route = ApiPath::new(&["lifecycles", lifecycle]);
        let described = ServerConnection::find(reach).ok().and_then(|it| it.get(&route).ok());
        described.map(|it| Self::read(&it)).unwrap_or_default()
    }

    /// Reads the server's description of a lifecycle.
    pub(crate) fn read(lifecycle: &Json) -> Self {
        let fields = list(lifecycle, "fields").iter();
        Self(fields.map(|it| (text(it, "name").to_owned(), it.clone())).collect())
    }

    /// An argument with a placeholder of the field's type: `names:='["…"]'`. None if the type is not known.
    pub(crate) fn placeholder(&self, field: &str) -> Option<String> {
        let name = field.split(['.', '[']).next()?;
        let declared = self.0.get(name)?;
        Some(match text(declared, "type") {
            "string" if declared.get("enum").is_some() => {
                let values = list(declared, "enum").iter().filter_map(Json::as_str).collect::<Vec<_>>();
                format!("{name}={}", values.join("|"))
            }
            "string" => format!("{name}=…"),
            "time" => format!("{name}=2026-01-31T12:00:00Z"),
            "span" => format!("{name}=15m"),
            "boolean" => format!("{name}:=true"),
            "integer" => format!("{name}:=1"),
            "number" => format!("{name}:=1.5"),
            "array" if declared.pointer("/items/type").and_then(Json::as_str) == Some("string") => {
                format!("{name}:='[\"…\"]'")
            }
            "array" => format!("{name}:='[…]'"),
            "object" => format!("{name}:='{{…}}'"),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_placeholder_has_the_declared_type() {
        let types = FieldTypes::read(&json!({ "fields": [
            { "name": "title", "type": "string" },
            { "name": "size", "type": "string", "enum": ["S", "L"] },
            { "name": "count", "type": "integer" },
            { "name": "names", "type": "array", "items": { "type": "string" } },
            { "name": "runs", "type": "array", "items": { "type": "object" } },
            { "name": "plan", "type": "object" },
            { "name": "thing", "type": "any" },
        ] }));
        for (field, expected) in [
            ("title", Some("title=…")),
            ("size", Some("size=S|L")),
            ("count", Some("count:=1")),
            ("names", Some("names:='[\"…\"]'")),
            ("runs", Some("runs:='[…]'")),
            ("plan.bullets[2]", Some("plan:='{…}'")),
            ("thing", None),
            ("unknown", None),
        ] {
            assert_eq!(types.placeholder(field).as_deref(), expected);
        }
    }
}
