//! Problem documents (RFC 9457), with the details of a refusal.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use trackside_engine::refusal::{Code, ConditionCode, Refusal, Unmet};
use trackside_lifecycle::name::Name;
use utoipa::ToSchema;

use crate::ProblemCode;

/// A request that was refused or failed: the reasons, the permitted targets and who may.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// A URI that identifies the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The code as a title, such as `Requirement missing`.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The main reason, as a sentence.
    pub detail: String,
    /// The code, such as `requirement-missing`.
    pub code: String,
    /// Always false.
    pub success: bool,
    /// All unmet conditions.
    pub errors: Vec<UnmetBody>,
    /// The target states that the rules permit the caller from the current state.
    pub allowed_transitions: Vec<String>,
    /// Who may make this request, as text. Absent if the refusal does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// The command with which an admin gives you a role that would admit you. Absent if no role would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// True if the refused request was recorded in the journal as evidence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

/// One unmet condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Unmet)]
pub struct UnmetBody {
    /// The field that the condition is about; null if there is none.
    pub field: Option<String>,
    pub message: String,
    pub code: String,
    /// The expression that was not true. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The values that the expression read.
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
            grant: refusal.grant.clone(),
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
            grant: None,
            kept: false,
        }
    }

    /// Who may do it, if permission is missing and no message names them.
    pub fn who_to_ask(&self) -> Option<&str> {
        let who = self.who.as_deref()?;
        let is_denied = self.errors.iter().any(|it| it.has_code(Code::NotPermitted));
        let is_named = self.errors.iter().any(|it| it.message.contains(who));
        (is_denied && !is_named).then_some(who)
    }

    pub fn has_code(&self, code: impl Into<ProblemCode>) -> bool {
        self.code == code.into().as_str()
    }
}

/// The title of a code: `Requirement missing` for `requirement-missing`.
pub fn title(code: &str) -> String {
    let words = code.replace('-', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
