//! The target lifecycle of an import, as far as a mapping needs it.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use trackside_protocol::UnmetBody;

use super::{WORDS, plain};
use crate::time_format::{list, text, texts};

/// A lifecycle with its states and fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetLifecycle {
    pub(crate) lifecycle: String,
    pub(crate) states: Vec<String>,
    /// Their names in other tools, as the pack declares them.
    known_as: BTreeMap<String, String>,
    fields: Vec<TargetField>,
}

/// A field and its type.
#[derive(Clone, Debug, Default)]
pub(super) struct TargetField {
    pub(super) name: String,
    /// Whether callers write it, not the engine.
    ours: bool,
    shape: Shape,
}

/// The type of a field.
#[derive(Clone, Debug, Default)]
struct Shape {
    kind: String,
    /// One of these, where only some texts are allowed.
    values: Vec<String>,
    items: Option<Box<Shape>>,
}

impl TargetLifecycle {
    /// Reads the answer of `GET /v1/lifecycles/{lifecycle}`.
    pub(crate) fn of(answer: &Json) -> Self {
        let fields =
            list(answer, "fields").iter().filter(|it| text(it, "by") != "nobody").map(|it| TargetField {
                name: text(it, "name").to_owned(),
                ours: text(it, "by") == "caller",
                shape: Shape::of(it),
            });
        let known = answer.get("knownAs").and_then(Json::as_object).into_iter().flatten();
        let known = known.filter_map(|(word, it)| Some((word.clone(), it.as_str()?.to_owned())));
        Self {
            lifecycle: text(answer, "lifecycle").to_owned(),
            states: texts(answer, "states").into_iter().map(str::to_owned).collect(),
            known_as: known.collect(),
            fields: fields.collect(),
        }
    }

    pub(super) fn field(&self, name: &str) -> Option<&TargetField> {
        self.fields.iter().find(|it| it.name == name)
    }

    pub(super) fn field_names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(|it| it.ours).map(|it| it.name.as_str())
    }

    /// The option to type when a state requires fields without a source: the rule found them empty.
    pub(crate) fn to_set(&self, state: &str, unmet: &UnmetBody) -> Option<String> {
        let empty = unmet.saw.iter().filter(|(_, value)| value.is_null()).map(|(name, _)| name.as_str());
        let empty: Vec<&str> = empty.filter(|it| self.field(it).is_some()).collect();
        if empty.is_empty() {
            return None;
        }
        let options: Vec<String> = empty.iter().map(|it| format!("--set '{state}:{it}=…'")).collect();
        Some(format!("{state} requires {}: add {}", empty.join(", "), options.join(" ")))
    }

    /// The field with this name or an equivalent one. Only fields that callers write.
    pub(super) fn alike(&self, key: &str) -> Option<&TargetField> {
        let key = plain(key);
        let called = |name: &str| self.fields.iter().find(|it| it.ours && plain(&it.name) == name);
        let groups = WORDS.alike.iter().filter(|it| it.contains(&key));
        called(&key).or_else(|| groups.flatten().find_map(|it| called(it)))
    }

    /// The state whose `known_as` contains this status, or whose name is equivalent.
    pub(super) fn state_alike(&self, status: &str) -> Option<&str> {
        let called = || self.states.iter().find(|it| plain(it) == plain(status));
        self.known_as.get(status).or_else(called).map(String::as_str)
    }
}

impl TargetField {
    pub(super) fn is_text(&self) -> bool {
        self.shape.kind == "string" && self.shape.values.is_empty()
    }

    /// Converts a value to the type of the field. A value that does not fit is unchanged; the server reports it.
    pub(super) fn fitted(&self, value: &Json) -> Json {
        self.shape.fitted(value)
    }
}

impl Shape {
    fn of(answer: &Json) -> Self {
        Self {
            kind: text(answer, "type").to_owned(),
            values: texts(answer, "enum").into_iter().map(str::to_owned).collect(),
            items: answer.get("items").map(|it| Box::new(Self::of(it))),
        }
    }

    fn fitted(&self, value: &Json) -> Json {
        match (self.kind.as_str(), value) {
            ("string", value) => self.text(value),
            ("integer", Json::String(text)) => {
                number(text).filter(Json::is_i64).unwrap_or_else(|| value.clone())
            }
            ("number", Json::String(text)) => number(text).unwrap_or_else(|| value.clone()),
            ("boolean", Json::String(text)) => match plain(text).as_str() {
                "true" | "yes" => json!(true),
                "false" | "no" => json!(false),
                _ => value.clone(),
            },
            ("time", Json::String(text)) => json!(moment(text)),
            ("array", value) => {
                let one = [value.clone()];
                let all = value.as_array().map_or(one.as_slice(), Vec::as_slice);
                let item =
                    |it: &Json| self.items.as_ref().map_or_else(|| it.clone(), |shape| shape.fitted(it));
                all.iter().map(item).collect()
            }
            _ => value.clone(),
        }
    }

    fn text(&self, value: &Json) -> Json {
        let said = match value {
            Json::String(text) => text.clone(),
            Json::Array(all) if all.iter().all(Json::is_string) => {
                all.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        };
        let same = self.values.iter().find(|it| plain(it) == plain(&said));
        Json::String(same.cloned().unwrap_or(said))
    }
}

fn number(text: &str) -> Option<Json> {
    let text = text.trim();
    text.parse::<i64>().map(|it| json!(it)).ok().or_else(|| text.parse::<f64>().map(|it| json!(it)).ok())
}

/// Converts a moment from SQLite's format to RFC 3339.
fn moment(text: &str) -> String {
    match text.split_once(' ') {
        Some((day, time)) if day.len() == 10 && time.contains(':') && !time.contains(['Z', '+']) => {
            format!("{day}T{time}Z")
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> TargetLifecycle {
        TargetLifecycle::of(&json!({
            "lifecycle": "t.job", "states": ["TO_DO", "DONE"],
            "knownAs": { "[ ]": "TO_DO", "[+]": "DONE", "closed": "DONE", "to-do": "DONE" },
            "fields": [
                { "name": "name", "type": "string", "by": "caller" },
                { "name": "size", "type": "string", "enum": ["small", "large"], "by": "caller" },
                { "name": "rank", "type": "integer", "by": "caller" },
                { "name": "when", "type": "time", "by": "caller" },
                { "name": "dependsOn", "type": "array", "items": { "type": "string" }, "by": "caller" },
                { "name": "title", "type": "string", "by": "engine" },
                { "name": "age", "type": "integer", "by": "nobody" },
            ],
        }))
    }

    #[test]
    fn fields_and_states_are_found_by_their_names() {
        let target = target();
        assert_eq!(target.alike("title").unwrap().name, "name", "not the engine's");
        assert_eq!(target.alike("dependencies").unwrap().name, "dependsOn");
        assert!(target.alike("notes").is_none());
        assert!(target.field("title").is_some(), "only on request");
        assert!(target.field("age").is_none(), "callers do not write it");
        assert_eq!(target.state_alike("todo"), Some("TO_DO"));
        assert_eq!(target.state_alike("to-do"), Some("DONE"), "what the pack says goes first");
        assert_eq!(target.state_alike("closed"), Some("DONE"));
        assert_eq!((target.state_alike("[ ]"), target.state_alike("[+]")), (Some("TO_DO"), Some("DONE")));
        assert_eq!((target.state_alike("Closed"), target.state_alike("[~]")), (None, None));
    }

    #[test]
    fn values_are_converted_to_the_type_of_the_field() {
        let target = target();
        let fitted = |name: &str, value: Json| target.field(name).unwrap().fitted(&value);
        assert_eq!(fitted("name", json!(3)), json!("3"));
        assert_eq!(fitted("name", json!(["a", "b"])), json!("a, b"));
        assert_eq!(fitted("size", json!("LARGE")), json!("large"));
        assert_eq!(fitted("size", json!("huge")), json!("huge"), "for the server to refuse");
        assert_eq!(fitted("rank", json!("2")), json!(2));
        assert_eq!(fitted("rank", json!("two")), json!("two"));
        assert_eq!(fitted("dependsOn", json!("a")), json!(["a"]));
        assert_eq!(fitted("when", json!("2026-01-02 03:04:05.678")), json!("2026-01-02T03:04:05.678Z"));
        assert_eq!(fitted("when", json!("2026-01-02T03:04:05+11:00")), json!("2026-01-02T03:04:05+11:00"));
    }
}
