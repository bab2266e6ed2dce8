//! A command turned down, in a way that teaches.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use trackside_lifecycle::name::Name;

/// Why not, what would be allowed instead, and who may.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub stage: Stage,
    pub code: &'static str,
    pub detail: String,
    /// Every unmet condition, of this stage and of those after it that could already be seen.
    pub errors: Vec<Unmet>,
    /// Targets the rules permit this actor from here.
    pub allowed: Vec<Name>,
    /// Who may do what was asked, in words.
    pub who: Option<String>,
}

/// The steps of a decision, in order. The first that fails names the refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Replay,
    Edge,
    Who,
    Version,
    Requirements,
    Follow,
    Invariants,
}

/// One unmet condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Unmet {
    pub field: Option<Name>,
    pub code: &'static str,
    pub message: String,
    /// The expression that was not true, and the values it saw.
    pub rule: Option<Name>,
    pub saw: BTreeMap<Name, Json>,
}

impl Unmet {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { field: None, code, message: message.into(), rule: None, saw: BTreeMap::new() }
    }

    pub fn of(mut self, field: &str) -> Self {
        self.field = Some(Name::new(field));
        self
    }

    pub fn to_json(&self) -> Json {
        let mut json = json!({ "field": self.field, "message": self.message, "code": self.code });
        if let Json::Object(map) = &mut json {
            if let Some(rule) = &self.rule {
                map.insert("rule".to_owned(), json!(rule));
            }
            if !self.saw.is_empty() {
                map.insert("saw".to_owned(), json!(self.saw));
            }
        }
        json
    }
}

impl Refusal {
    pub fn new(stage: Stage, code: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { stage, code, detail, errors: Vec::new(), allowed: Vec::new(), who: None }
    }

    /// A refusal that is its one unmet condition.
    pub fn one(stage: Stage, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        let mut refusal = Self::new(stage, code, message.clone());
        refusal.errors.push(Unmet::new(code, message));
        refusal
    }

    pub fn to_json(&self) -> Json {
        json!({
            "success": false,
            "code": self.code,
            "detail": self.detail,
            "errors": self.errors.iter().map(Unmet::to_json).collect::<Vec<_>>(),
            "allowedTransitions": self.allowed,
            "who": self.who,
        })
    }
}
