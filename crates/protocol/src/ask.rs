//! Bodies of requests.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

/// A whole number, also where it is written as `3.0`, within what every language can hold.
fn whole<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let wrong = |it: &dyn std::fmt::Display| {
        serde::de::Error::custom(format!("{it} is not a whole number from 0 to {}", i64::MAX))
    };
    match Json::deserialize(from)? {
        Json::Null => Ok(None),
        Json::Number(it) => {
            let float = it.as_f64().filter(|it| it.fract() == 0.0 && (0.0..9.0e15).contains(it));
            let found = it.as_i64().or(float.map(|it| it as i64)).and_then(|it| u64::try_from(it).ok());
            found.map(Some).ok_or_else(|| wrong(&it))
        }
        other => Err(wrong(&other)),
    }
}

/// A new entity.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// 1 to 128 of letters, digits, `.`, `_`, `@`, `-`; made by the server if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
}

/// A change of state by target or by name, or an event that changes fields only. One of `to` and `event` is named.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Transition {
    /// The state it is to go to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The event of the lifecycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of the lease under which the caller works.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    pub fence: Option<u64>,
}

/// The next one that can be claimed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The transition that takes it, where several could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Only one for which this is true.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A sign of life from the holder of a lease.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// Which lease; needed where the lifecycle has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// The number of the lease, as it was granted.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    pub fence: Option<u64>,
}

/// The loud override.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Correct {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Many commands in one request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    pub commands: Vec<BatchCommand>,
    /// All of them, or none.
    #[serde(default)]
    pub atomic: bool,
}

/// A command of a batch: with `to` or `event` it moves, without it creates.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchCommand {
    pub lifecycle: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    pub fence: Option<u64>,
}

/// Where the manual clock is to go: by a span, or to a time.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Advance {
    /// `90s`, `15m`, `24h`, `7d`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9]{1,6}[smhd]$")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub to: Option<String>,
}

/// What became of work for the outside.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectResult {
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub detail: Map<String, Json>,
    /// The number under which it was taken.
    pub fence: u64,
}
