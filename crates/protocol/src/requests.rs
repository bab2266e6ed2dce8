//! Bodies of requests.

#![expect(unused_qualifications, reason = "what describes a schema writes them")]

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};

use crate::number::{optional_whole_number, whole_number};

/// An entity to create.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Create)]
pub struct CreateBody {
    /// The id: 1 to 128 letters, digits, `.`, `_`, `@` or `-`. By default the server generates one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Initial values of fields, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
}

/// A requested transition, by target state (`to`) or by name (`event`). Send exactly one of the two.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Transition)]
pub struct TransitionBody {
    /// The target state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The name of the transition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The fields of the request, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// The reason, for the journal. Some transitions require one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The fence of the lease that the caller holds.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole_number")]
    pub fence: Option<u64>,
}

/// A claim of the next available entity.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Claim)]
pub struct ClaimBody {
    /// The transition that claims the entity. Needed if several can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// An expression: only an entity for which it is true is claimed.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// The fields of the request, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// The reason, for the journal. Some transitions require one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A heartbeat of the holder of a lease.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Heartbeat)]
pub struct HeartbeatBody {
    /// The slot of the lease. By default the only slot of the lifecycle, or the one that the caller holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// The fence of the lease, as it was granted.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole_number")]
    pub fence: Option<u64>,
}

/// A correction: an admin override of state or fields outside the declared transitions. It is journalled and raises an alert.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Correct {
    /// The new state; unchanged by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// New values of fields, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// The reason, for the journal. Required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Several commands in one request; at most 1,000 by default.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Batch)]
pub struct BatchBody {
    pub commands: Vec<BatchCommand>,
    /// True: either all commands are accepted, or nothing changes. False, the default: each command has its own outcome.
    #[serde(default)]
    pub atomic: bool,
}

/// A command of a batch. With `to` or `event` it requests a transition, with `heartbeat` it extends a lease; without
/// them it creates an entity.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchCommand {
    pub lifecycle: String,
    /// The id of the entity. Optional for a new entity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The target state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The name of the transition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The fields of the request, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Json>,
    /// The reason, for the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The fence of the lease that the caller holds.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole_number")]
    pub fence: Option<u64>,
    /// Extends a lease instead of a transition.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_object")]
    pub heartbeat: Option<HeartbeatBody>,
    /// The id that the command acts for, instead of that in the header `Trackside-For`. An empty id: the caller acts for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#for: Option<String>,
}

/// An advance of the manual clock: `by` a span, or `to` a time.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Advance {
    /// A span such as `90s`, `15m`, `24h` or `7d`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9]{1,6}[smhd]$")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub to: Option<String>,
}

/// A request to move project time to the machine's clock.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CorrectClock {
    pub direction: CorrectionDirection,
    /// The reason, recorded in the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000)]
    pub reason: Option<String>,
}

/// The direction in which project time moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CorrectionDirection {
    /// The machine's clock is ahead.
    Forward,
    /// The machine's clock is behind.
    Back,
}

/// A request to take effects.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeEffects {
    /// Only effects of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Only effects of this entity, as `LIFECYCLE/ID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[^/]+/[^/]+$")]
    pub entity: Option<String>,
    /// How long the effects are reserved for the caller: `5m` by default, at most `24h`. After that, another worker can take those without a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9]{1,6}[smhd]$")]
    pub lease: Option<String>,
    /// The largest number of effects: 1 by default. A number above 200 counts as 200.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole_number")]
    #[schema(minimum = 1)]
    pub limit: Option<u64>,
}

/// A decision on an approval request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// `approve` or `deny`.
    #[schema(pattern = "^(approve|deny)$")]
    pub decision: String,
    /// A note of the person who decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The target state, if the request lets people choose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The lifecycle. Needed if several lifecycles have a request with this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<String>,
}

/// An action for the risk policy to evaluate.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Evaluate {
    pub action: String,
    #[serde(default)]
    pub arguments: Json,
    /// The role that would perform the action; the caller's own roles by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The pack with the policy. By default the pack of the run's entity, of `entity`, of `role`, or of the caller's roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack: Option<String>,
    /// The entity that the caller works on, as LIFECYCLE/ID: its state may limit the actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
}

/// A call of an action that may need an approval.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestAction {
    pub action: String,
    #[serde(default)]
    pub arguments: Json,
    /// The role that would perform the action; the caller's own roles by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The pack with the policy. By default the pack of the run's entity, of `entity`, of `role`, or of the caller's roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack: Option<String>,
    /// The entity that the caller works on, as LIFECYCLE/ID, or the id of the entity that the request is about. By
    /// default the first one of the query that the policy names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// No person is at the agent. An action for which no request can be filed raises an alert.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
}

/// The result of an effect.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectResult {
    /// True if the effect succeeded.
    pub ok: bool,
    /// Details of the result: an object, or a text, which becomes the member `detail`.
    #[serde(default, skip_serializing_if = "Map::is_empty", deserialize_with = "members_or_text")]
    #[schema(schema_with = members_or_text_schema)]
    pub detail: Map<String, Json>,
    /// The fence under which the caller took the effect.
    #[serde(deserialize_with = "whole_number")]
    pub fence: u64,
}

/// Reads an object or null. A struct alone would also accept a list of its members.
fn optional_object<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let Some(members) = Option::<Map<String, Json>>::deserialize(from)? else { return Ok(None) };
    serde_json::from_value(Json::Object(members)).map(Some).map_err(serde::de::Error::custom)
}

/// Reads an object, or a text as its member `detail`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_of_a_batch_is_an_object() {
        let read = |heartbeat: &str| {
            let text = format!(r#"{{"lifecycle":"a.b","id":"x","heartbeat":{heartbeat}}}"#);
            serde_json::from_str::<BatchCommand>(&text)
        };
        assert_eq!(read(r#"{"fence":3}"#).unwrap().heartbeat.unwrap().fence, Some(3));
        assert!(read("null").unwrap().heartbeat.is_none());
        assert!(read("[null,null]").is_err());
    }
}
