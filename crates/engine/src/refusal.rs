//! Refusals: why a command was not accepted, and the alternatives.

use std::collections::BTreeMap;
use std::fmt;

use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

pub use crate::code::{Code, ConditionCode};
use crate::event::Entry;

/// A refused command: every reason, the permitted targets and who may.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub stage: Stage,
    pub code: Code,
    pub detail: String,
    /// Every unmet condition of this stage, and of later stages that could already be evaluated.
    pub errors: Vec<Unmet>,
    /// The target states that the rules permit the actor from the current state.
    pub allowed: Vec<Name>,
    /// Who may make this request, as text.
    pub who: Option<String>,
    /// The command with which an admin gives the actor a role that would admit it.
    pub grant: Option<String>,
    /// The entry that records the refused request in the journal as evidence.
    pub kept: Option<Box<Entry>>,
}

/// The stages of a decision, in order. A refusal has the first stage that fails.
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

impl Stage {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::Edge => "edge",
            Self::Who => "who",
            Self::Version => "version",
            Self::Requirements => "requirements",
            Self::Follow => "follow",
            Self::Invariants => "invariants",
        }
    }
}

/// One unmet condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Unmet {
    pub field: Option<Name>,
    pub code: ConditionCode,
    pub message: String,
    /// The expression that was not true, and the values it read.
    pub rule: Option<Name>,
    pub saw: BTreeMap<Name, Value>,
}

impl Unmet {
    pub fn new(code: impl Into<ConditionCode>, message: impl Into<String>) -> Self {
        Self { field: None, code: code.into(), message: message.into(), rule: None, saw: BTreeMap::new() }
    }

    pub fn of(mut self, field: &str) -> Self {
        self.field = Some(Name::new(field));
        self
    }

    /// Whether the condition is about this field.
    pub fn is_of(&self, field: &str) -> bool {
        self.field.as_ref().is_some_and(|it| *it == *field)
    }
}

impl fmt::Display for Refusal {
    /// Text for people: the code, one line for each reason, the permitted targets, and who may.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused: {}", self.code)?;
        for unmet in &self.errors {
            let field = unmet.field.as_ref().map(|it| format!("{it}: ")).unwrap_or_default();
            write!(f, "\n- {field}{} ({})", unmet.message, unmet.code)?;
            if !unmet.saw.is_empty() {
                let saw = unmet
                    .saw
                    .iter()
                    .map(|(name, value)| format!("{name} = {}", value.to_json()))
                    .collect::<Vec<_>>();
                write!(f, "; it saw {}", saw.join(", "))?;
            }
        }
        if !self.allowed.is_empty() {
            let allowed: Vec<&str> = self.allowed.iter().map(Name::as_str).collect();
            write!(f, "\n  you can move it to: {}", allowed.join(", "))?;
        }
        if let Some(who) = self.who.as_ref().filter(|_| self.needs_who()) {
            write!(f, "\n  who may: {who}")?;
        }
        if self.kept.is_some() {
            write!(f, "\n  what was sent is kept as evidence")?;
        }
        Ok(())
    }
}

impl Refusal {
    /// Whether the text must add who may: permission is missing, and no message says who has it.
    fn needs_who(&self) -> bool {
        let mut denials =
            self.errors.iter().filter(|it| it.code == ConditionCode::from(Code::NotPermitted)).peekable();
        denials.peek().is_some() && denials.all(|it| !it.message.contains("Who may: "))
    }

    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let (stage, detail) = (code.stage(), detail.into());
        Self {
            stage,
            code,
            detail,
            errors: Vec::new(),
            allowed: Vec::new(),
            who: None,
            grant: None,
            kept: None,
        }
    }

    /// A refusal with one unmet condition, which has the code of the refusal.
    pub fn one(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        let mut refusal = Self::new(code, message.clone());
        refusal.errors.push(Unmet::new(code, message));
        refusal
    }

    /// A refusal for these conditions. The first one gives the detail.
    pub fn with(code: Code, errors: Vec<Unmet>) -> Self {
        let detail = errors.first().map(|it| it.message.clone()).unwrap_or_default();
        Self { errors, ..Self::new(code, detail) }
    }

    /// Sets a stage that is not the usual one of the code.
    pub fn at(mut self, stage: Stage) -> Self {
        debug_assert!(self.code.stages().contains(&stage), "{} at {stage:?}", self.code);
        self.stage = stage;
        self
    }

    /// The refusal for an idempotency key that was used for another request.
    pub fn key_used(key: &Name) -> Self {
        let message = format!("The key {key} was used for another request. Use a new key for a new request.");
        Self::one(Code::IdempotencyConflict, message)
    }
}
