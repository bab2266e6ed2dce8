//! Why not: RFC 9457, and what the engine has to say.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use trackside_engine::refusal::{ConditionCode, Refusal, Unmet};
use trackside_lifecycle::name::Name;
use utoipa::ToSchema;

use crate::ProblemCode;

/// A request that was turned down, in a way that teaches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    pub detail: String,
    pub code: String,
    /// Always false.
    pub success: bool,
    /// Every unmet condition, never only the first.
    pub errors: Vec<UnmetBody>,
    /// Targets that the rules permit this caller from here.
    pub allowed_transitions: Vec<String>,
    /// Who may do what was asked, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// Whether what was sent is kept in the journal all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

/// One unmet condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Unmet)]
pub struct UnmetBody {
    pub field: Option<String>,
    pub message: String,
    pub code: String,
    /// The expression that was not true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The values it saw.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Object)]
    pub saw: BTreeMap<String, Json>,
}

impl From<&Unmet> for UnmetBody {
    fn from(it: &Unmet) -> Self {
        Self {
            field: it.field.as_ref().map(Name::to_string),
            message: it.message.clone(),
            code: it.code.to_string(),
            rule: it.rule.as_ref().map(Name::to_string),
            saw: it.saw.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect(),
        }
    }
}

impl From<&Refusal> for Problem {
    fn from(refusal: &Refusal) -> Self {
        Self {
            errors: refusal.errors.iter().map(UnmetBody::from).collect(),
            allowed_transitions: refusal.allowed.iter().map(Name::to_string).collect(),
            who: refusal.who.clone(),
            kept: refusal.kept.is_some(),
            ..Self::new(refusal.code, refusal.detail.clone())
        }
    }
}

impl UnmetBody {
    pub fn has_code(&self, code: impl Into<ConditionCode>) -> bool {
        self.code == code.into().as_str()
    }
}

impl Problem {
    /// A problem with one unmet condition, which has the problem's own code.
    pub fn new(code: impl Into<ProblemCode>, detail: impl Into<String>) -> Self {
        let (code, detail) = (code.into(), detail.into());
        let message = detail.clone();
        Self {
            kind: format!("https://trackside.dev/problems/{code}"),
            title: title(code.as_str()),
            status: code.http_status(),
            detail,
            code: code.to_string(),
            success: false,
            errors: vec![UnmetBody {
                field: None,
                message,
                code: code.to_string(),
                rule: None,
                saw: BTreeMap::new(),
            }],
            allowed_transitions: Vec::new(),
            who: None,
            kept: false,
        }
    }

    pub fn has_code(&self, code: impl Into<ProblemCode>) -> bool {
        self.code == code.into().as_str()
    }
}

/// `requirement-missing` as people write it.
pub fn title(code: &str) -> String {
    let words = code.replace('-', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
