//! Requests of the demo, independent of the interface, and their answers.

use serde_json::{Map, Value as Json, json};
use trackside_protocol::{ClaimBody, Correct, CreateBody, Decide, HeartbeatBody, Problem, TransitionBody};

/// An entity by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EntityRef {
    pub lifecycle: String,
    pub id: String,
}

impl EntityRef {
    /// Reads `LIFECYCLE/ID`.
    pub fn parse(text: &str) -> Option<Self> {
        let (lifecycle, id) = text.split_once('/').filter(|(a, b)| !a.is_empty() && !b.is_empty())?;
        Some(Self { lifecycle: lifecycle.to_owned(), id: id.to_owned() })
    }
}

impl std::fmt::Display for EntityRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.lifecycle, self.id)
    }
}

/// A request.
#[derive(Clone, Debug)]
pub(super) enum DemoRequest {
    Create {
        entity: EntityRef,
        fields: Map<String, Json>,
    },
    Fire {
        entity: EntityRef,
        what: TransitionBody,
    },
    Claim {
        lifecycle: String,
        what: ClaimBody,
    },
    Heartbeat {
        entity: EntityRef,
        what: HeartbeatBody,
    },
    Correct {
        entity: EntityRef,
        what: Correct,
    },
    /// A person's answer to a request.
    Decide {
        id: String,
        what: Decide,
    },
    /// Takes an effect and sends its result.
    AnswerEffect {
        effect: String,
        ok: bool,
        detail: Map<String, Json>,
    },
    /// Time passes.
    Advance {
        by: String,
    },
    /// A sweep.
    Sweep,
    /// Why it is not moving, as people read it.
    Explain {
        entity: EntityRef,
    },
}

impl DemoRequest {
    /// The entity it is about, where one is named.
    pub fn entity(&self) -> Option<&EntityRef> {
        match self {
            Self::Create { entity, .. }
            | Self::Fire { entity, .. }
            | Self::Heartbeat { entity, .. }
            | Self::Correct { entity, .. }
            | Self::Explain { entity } => Some(entity),
            Self::Claim { .. }
            | Self::Decide { .. }
            | Self::AnswerEffect { .. }
            | Self::Advance { .. }
            | Self::Sweep => None,
        }
    }

    pub fn lifecycle(&self) -> Option<&str> {
        match self {
            Self::Claim { lifecycle, .. } => Some(lifecycle),
            other => other.entity().map(|it| it.lifecycle.as_str()),
        }
    }

    /// Works under a lease.
    pub fn under(&mut self, fence: u64) {
        match self {
            Self::Fire { what, .. } => what.fence = Some(fence),
            Self::Heartbeat { what, .. } => what.fence = Some(fence),
            _ => {}
        }
    }

    /// The HTTP body, with keys in the order a person would write them.
    pub fn text(&self) -> String {
        let text = match self {
            Self::Create { entity, fields } => {
                serde_json::to_string(&CreateBody { id: Some(entity.id.clone()), fields: fields.clone() })
            }
            Self::Fire { what, .. } => serde_json::to_string(what),
            Self::Claim { what, .. } => serde_json::to_string(what),
            Self::Heartbeat { what, .. } => serde_json::to_string(what),
            Self::Correct { what, .. } => serde_json::to_string(what),
            Self::Decide { what, .. } => serde_json::to_string(what),
            Self::AnswerEffect { ok, detail, .. } => Ok(json!({ "ok": ok, "detail": detail }).to_string()),
            Self::Advance { by } => Ok(json!({ "by": by }).to_string()),
            Self::Sweep | Self::Explain { .. } => Ok("{}".to_owned()),
        };
        text.unwrap_or_default()
    }

    pub fn body(&self) -> Json {
        serde_json::from_str(&self.text()).unwrap_or_default()
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) enum DemoAnswer {
    Done(Json),
    /// There is nothing to claim.
    Nothing,
    Refused(Box<Problem>),
}
