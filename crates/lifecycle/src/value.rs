//! The values that fields hold and expressions yield.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::name::Name;
use crate::time::{Span, Timestamp};

/// A value. Cloning one copies no more of its contents than a short text.
///
/// Stored form (serde) keeps moments and spans apart from text, as `{"$time": ms}` and `{"$span": ms}`, so
/// that reading restores the written value. [`Value::to_json`] gives the JSON for clients, where both are
/// text.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Name),
    Time(Timestamp),
    Span(Span),
    List(Arc<Vec<Value>>),
    Map(Arc<BTreeMap<Name, Value>>),
}

impl Value {
    pub fn text(text: &str) -> Self {
        Self::Text(Name::new(text))
    }

    pub fn list(items: Vec<Value>) -> Self {
        Self::List(Arc::new(items))
    }

    pub fn map(entries: BTreeMap<Name, Value>) -> Self {
        Self::Map(Arc::new(entries))
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Null, blank text, and empty lists and maps: values that a requirement counts as not given.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Text(it) => it.trim().is_empty(),
            Self::List(it) => it.is_empty(),
            Self::Map(it) => it.is_empty(),
            Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::Time(_) | Self::Span(_) => false,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(it) = self { Some(*it) } else { None }
    }

    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(it) = self { Some(it) } else { None }
    }

    pub fn as_int(&self) -> Option<i64> {
        if let Self::Int(it) = self { Some(*it) } else { None }
    }

    pub fn as_float(&self) -> Option<f64> {
        match self {
            Self::Int(it) => Some(*it as f64),
            Self::Float(it) => Some(*it),
            _ => None,
        }
    }

    pub fn as_span(&self) -> Option<Span> {
        if let Self::Span(it) = self { Some(*it) } else { None }
    }

    pub fn as_time(&self) -> Option<Timestamp> {
        if let Self::Time(it) = self { Some(*it) } else { None }
    }

    pub fn as_list(&self) -> Option<&[Value]> {
        if let Self::List(it) = self { Some(it) } else { None }
    }

    pub fn as_map(&self) -> Option<&BTreeMap<Name, Value>> {
        if let Self::Map(it) = self { Some(it) } else { None }
    }

    /// The memory that it takes, about.
    pub fn bytes(&self) -> usize {
        let beside = match self {
            Self::Text(it) => it.bytes_beside(),
            Self::List(it) => it.iter().map(Self::bytes).sum(),
            Self::Map(it) => it.iter().map(|(name, value)| name.bytes() + value.bytes()).sum(),
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::Time(_) | Self::Span(_) => 0,
        };
        size_of::<Self>() + beside
    }

    /// The name of its type in messages to people.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Int(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Text(_) => "text",
            Self::Time(_) => "a moment",
            Self::Span(_) => "a length of time",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    /// The outward form. A number that JSON cannot hold becomes null.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Self::Null => Json::Null,
            Self::Bool(it) => Json::Bool(*it),
            Self::Int(it) => Json::from(*it),
            Self::Float(it) => serde_json::Number::from_f64(*it).map_or(Json::Null, Json::Number),
            Self::Text(it) => Json::String(it.to_string()),
            Self::Time(it) => Json::String(it.to_string()),
            Self::Span(it) => Json::String(it.to_string()),
            Self::List(it) => Json::Array(it.iter().map(Self::to_json).collect()),
            Self::Map(it) => Json::Object(it.iter().map(|(k, v)| (k.to_string(), v.to_json())).collect()),
        }
    }

    /// Reads outward JSON without knowing its type: moments and spans stay text.
    pub fn from_json(json: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match json {
            Json::Null => Self::Null,
            Json::Bool(it) => Self::Bool(*it),
            Json::Number(it) => match it.as_i64() {
                Some(int) => Self::Int(int),
                None => Self::Float(it.as_f64().unwrap_or(0.0)),
            },
            Json::String(it) => Self::text(it),
            Json::Array(it) => Self::list(it.iter().map(Self::from_json).collect()),
            Json::Object(it) => {
                Self::map(it.iter().map(|(k, v)| (Name::new(k), Self::from_json(v))).collect())
            }
        }
    }
}

impl From<Name> for Value {
    fn from(name: Name) -> Self {
        Self::Text(name)
    }
}

impl From<&Name> for Value {
    fn from(name: &Name) -> Self {
        Self::Text(name.clone())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<bool> for Value {
    fn from(it: bool) -> Self {
        Self::Bool(it)
    }
}

impl From<i64> for Value {
    fn from(it: i64) -> Self {
        Self::Int(it)
    }
}

const TIME_TAG: &str = "$time";
const SPAN_TAG: &str = "$span";

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tagged = |serializer: S, tag: &str, ms: i64| {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry(tag, &ms)?;
            map.end()
        };
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(it) => serializer.serialize_bool(*it),
            Self::Int(it) => serializer.serialize_i64(*it),
            Self::Float(it) => serializer.serialize_f64(*it),
            Self::Text(it) => serializer.serialize_str(it),
            Self::Time(it) => tagged(serializer, TIME_TAG, it.0),
            Self::Span(it) => tagged(serializer, SPAN_TAG, it.0),
            Self::List(it) => {
                let mut seq = serializer.serialize_seq(Some(it.len()))?;
                for item in it.iter() {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Self::Map(it) => {
                let mut map = serializer.serialize_map(Some(it.len()))?;
                for (key, value) in it.iter() {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

/// A value that is written in its outward form, as [`Value::to_json`] gives it.
#[derive(Clone, Copy, Debug)]
pub struct Outward<'a>(pub &'a Value);

impl Serialize for Outward<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(it) => serializer.serialize_bool(*it),
            Value::Int(it) => serializer.serialize_i64(*it),
            Value::Float(it) if it.is_finite() => serializer.serialize_f64(*it),
            Value::Float(_) => serializer.serialize_unit(),
            Value::Text(it) => serializer.serialize_str(it),
            Value::Time(it) => serializer.collect_str(it),
            Value::Span(it) => serializer.collect_str(it),
            Value::List(it) => serializer.collect_seq(it.iter().map(Outward)),
            Value::Map(it) => serializer.collect_map(it.iter().map(|(name, value)| (name, Outward(value)))),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StoredForm)
    }
}

struct StoredForm;

impl<'de> Visitor<'de> for StoredForm {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, it: bool) -> Result<Value, E> {
        Ok(Value::Bool(it))
    }

    fn visit_i64<E>(self, it: i64) -> Result<Value, E> {
        Ok(Value::Int(it))
    }

    fn visit_u64<E: serde::de::Error>(self, it: u64) -> Result<Value, E> {
        i64::try_from(it).map(Value::Int).map_err(|_| E::custom("number too large"))
    }

    fn visit_f64<E>(self, it: f64) -> Result<Value, E> {
        Ok(Value::Float(it))
    }

    fn visit_str<E>(self, it: &str) -> Result<Value, E> {
        Ok(Value::text(it))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::list(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut entries: BTreeMap<Name, Value> = BTreeMap::new();
        while let Some((key, value)) = access.next_entry::<Name, Value>()? {
            if let (TIME_TAG | SPAN_TAG, Value::Int(ms)) = (key.as_str(), &value) {
                if access.next_key::<Name>()?.is_some() {
                    return Err(A::Error::custom("a tagged value has one key"));
                }
                let ms = *ms;
                return Ok(if &*key == TIME_TAG {
                    Value::Time(Timestamp(ms))
                } else {
                    Value::Span(Span(ms))
                });
            }
            entries.insert(key, value);
        }
        Ok(Value::map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_every_kind() -> Value {
        Value::map(BTreeMap::from([
            (Name::new("at"), Value::Time(Timestamp(12))),
            (Name::new("for"), Value::Span(Span(7))),
            (Name::new("open"), Value::Bool(true)),
            (Name::new("text"), Value::text("2026-01-01T00:00:00Z")),
            (Name::new("list"), Value::list(vec![Value::Int(1), Value::Float(1.0), Value::Null])),
        ]))
    }

    #[test]
    fn equal_values_have_the_same_json() {
        let value = Value::list(vec![of_every_kind(), Value::Float(f64::NAN), Value::Float(0.1)]);
        assert_eq!(serde_json::to_string(&Outward(&value)).unwrap(), value.to_json().to_string());
    }

    #[test]
    fn stored_form_reads_back_equal() {
        let value = of_every_kind();
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
