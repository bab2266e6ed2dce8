//! Bodies of requests.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};

use crate::number::{needed, whole};

/// A new entity.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Create)]
pub struct CreateBody {
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
#[schema(as = Transition)]
pub struct TransitionBody {
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
#[schema(as = Claim)]
pub struct ClaimBody {
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
#[schema(as = Heartbeat)]
pub struct HeartbeatBody {
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
#[schema(as = Batch)]
pub struct BatchBody {
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

/// Work for the outside that somebody wants to do.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeEffects {
    /// Only of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How long until it is handed to somebody else, if there is no result by then: `5m` if nothing is said, `24h` at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9]{1,6}[smhd]$")]
    pub lease: Option<String>,
    /// How many at most: 1 if nothing is said; of more than 200, 200.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schema(minimum = 1)]
    pub limit: Option<u64>,
}

/// What somebody decides on a request to people.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// `approve` or `deny`.
    #[schema(pattern = "^(approve|deny)$")]
    pub decision: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where it is to lead, where the request lets people choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The lifecycle, where several have a request with this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<String>,
}

/// An action of which somebody wants to know how risky it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Evaluate {
    pub action: String,
    #[serde(default)]
    pub arguments: Json,
    /// For whom; the caller's own roles if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Whose policy; needed where several packs have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack: Option<String>,
}

/// What became of work for the outside.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectResult {
    pub ok: bool,
    /// What there is to tell: members by their names, or a text, which is the member `detail`.
    #[serde(default, skip_serializing_if = "Map::is_empty", deserialize_with = "members_or_text")]
    #[schema(schema_with = members_or_text_schema)]
    pub detail: Map<String, Json>,
    /// The number under which it was taken.
    #[serde(deserialize_with = "needed")]
    pub fence: u64,
}

/// Members by their names, or a text.
fn members_or_text<'de, D: Deserializer<'de>>(from: D) -> Result<Map<String, Json>, D::Error> {
    match Json::deserialize(from)? {
        Json::Object(members) => Ok(members),
        Json::String(text) => Ok(Map::from_iter([("detail".to_owned(), Json::String(text))])),
        _ => Err(serde::de::Error::custom("`detail` is an object or a text")),
    }
}

fn members_or_text_schema() -> Schema {
    let kind = |it: Type| ObjectBuilder::new().schema_type(it);
    OneOfBuilder::new().item(kind(Type::Object)).item(kind(Type::String)).into()
}
