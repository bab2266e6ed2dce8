//! Finds values in an event.

use std::collections::BTreeMap;

use std::borrow::Cow;

use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

/// A dotted path into a JSON value. `*` stands for the first key or element, a number for an element.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValuePath(Vec<String>);

impl ValuePath {
    pub fn parse(text: &str) -> Self {
        Self(text.split('.').map(str::to_owned).collect())
    }

    pub fn find<'a>(&self, mut value: &'a Value) -> Option<&'a Value> {
        for step in &self.0 {
            value = match (value, step.as_str()) {
                (Value::Object(map), "*") => map.values().next()?,
                (Value::Array(list), "*") => list.first()?,
                (Value::Object(map), key) => map.get(key)?,
                (Value::Array(list), number) => list.get(number.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        (!value.is_null()).then_some(value)
    }

    fn is_below(&self, first: &str) -> bool {
        self.0.first().is_some_and(|it| it == first)
    }

    fn without_first(&self) -> Self {
        Self(self.0.iter().skip(1).cloned().collect())
    }
}

impl<'de> Deserialize<'de> for ValuePath {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self::parse(&String::deserialize(from)?))
    }
}

/// A regular expression for text.
#[derive(Clone, Debug)]
pub struct TextPattern(Regex);

impl TextPattern {
    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The first group of the first match.
    pub fn group<'a>(&self, text: &'a str) -> Option<&'a str> {
        Some(self.0.captures(text)?.get(1)?.as_str())
    }
}

impl<'de> Deserialize<'de> for TextPattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Regex::new(&text)
            .map(Self)
            .map_err(|it| D::Error::custom(format!("`{text}` is no regular expression: {it}")))
    }
}

#[derive(Clone, Debug)]
enum Wanted {
    Value(Value),
    Text(TextPattern),
}

impl Wanted {
    fn matches(&self, found: Option<&Value>) -> bool {
        match (self, found) {
            (Self::Value(Value::Null), None) => true,
            (Self::Value(wanted), Some(found)) => wanted == found,
            (Self::Text(pattern), Some(Value::String(text))) => pattern.matches(text),
            (Self::Text(pattern), Some(Value::Number(number))) => pattern.matches(&number.to_string()),
            _ => false,
        }
    }
}

impl<'de> Deserialize<'de> for Wanted {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        match value.as_str().and_then(|it| it.strip_prefix('~')) {
            Some(pattern) => {
                let pattern = Regex::new(pattern)
                    .map_err(|it| D::Error::custom(format!("`{pattern}` is no regular expression: {it}")))?;
                Ok(Self::Text(TextPattern(pattern)))
            }
            None => Ok(Self::Value(value)),
        }
    }
}

/// Paths with the values that they must have. A text that begins with `~` is a regular expression, `null` means absent.
#[derive(Clone, Debug, Default)]
pub struct EventPattern(Vec<(ValuePath, Wanted)>);

impl EventPattern {
    pub fn matches(&self, event: &Value) -> bool {
        self.0.iter().all(|(path, wanted)| wanted.matches(path.find(event)))
    }

    /// Like `matches`; paths that begin with `detail` look into another value.
    pub fn matches_with_detail(&self, event: &Value, detail: &Value) -> bool {
        self.0.iter().all(|(path, wanted)| match path.is_below("detail") {
            true => wanted.matches(path.without_first().find(detail)),
            false => wanted.matches(path.find(event)),
        })
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for EventPattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let entries = BTreeMap::<String, Wanted>::deserialize(from)?;
        Ok(Self(entries.into_iter().map(|(path, wanted)| (ValuePath::parse(&path), wanted)).collect()))
    }
}

impl JsonSchema for ValuePath {
    fn schema_name() -> Cow<'static, str> {
        "ValuePath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "A dotted path: a number is a list element, `*` the first one." })
    }
}

impl JsonSchema for TextPattern {
    fn schema_name() -> Cow<'static, str> {
        "TextPattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "A regular expression in the syntax of the Rust crate regex." })
    }
}

impl JsonSchema for EventPattern {
    fn schema_name() -> Cow<'static, str> {
        "EventPattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "Paths and their values. A value that begins with `~` is a regular expression; null means absent.",
        })
    }
}
