//! A command turned down, in a way that teaches.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value as Json, json};
use trackside_lifecycle::name::Name;

use crate::event::Entry;

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
    /// What was asked is kept in the journal all the same, by this entry.
    pub kept: Option<Box<Entry>>,
}

/// Every code of a refusal, with what it says.
pub const CODES: &[(&str, &str)] = &[
    ("already-exists", "an entity with this id exists, and creating it again is not allowed now"),
    ("always-refused", "a state that must move on by itself cannot"),
    ("archived", "what it takes was archived, and its file is not in its place"),
    ("cannot-import", "something that was to come from elsewhere does not fit, so nothing of it was taken"),
    (
        "cannot-migrate",
        "the entity does not fit the other version of its definition, or the way back is closed",
    ),
    ("cannot-redact", "what would be cleared is needed, or the entries are not named rightly"),
    ("effect-settled", "this effect was answered before, or never asked for"),
    ("evaluation-failed", "an expression of the definition could not be answered"),
    ("final-state", "the entity is in a state with no way out"),
    ("frozen", "a field cannot change here"),
    ("gate-closed", "a condition on every request is not met: the caller's own record, the operator's mode"),
    ("guard-failed", "a condition of the transition is not met"),
    ("idempotency-conflict", "the key was used for another request"),
    ("invalid-field", "a value does not fit its type"),
    ("invalid-id", "the id has characters that ids cannot have"),
    ("invalid-setting", "a setting, the zone or the people cannot become what was asked"),
    ("invariant-violated", "it would break what must always hold"),
    ("lease-held", "somebody holds the lease"),
    ("no-such-edge", "no transition of this name, or to this target, leaves the present state"),
    ("not-due", "the timer is not due"),
    ("not-permitted", "this actor may not"),
    ("nothing-claimable", "no entity of this lifecycle can be claimed by this caller now"),
    ("requirement-missing", "something that must be brought is missing"),
    ("stale-fence", "the caller does not hold the lease, or holds an earlier grant of it"),
    ("too-many-moves", "the rules would go on and on"),
    ("unexpected-field", "a field was sent that the transition does not take"),
    ("unknown-entity", "there is no such entity, or the caller may not see it"),
    ("unknown-event", "the lifecycle knows no event of this name"),
    ("unknown-lifecycle", "there is no such lifecycle"),
    ("unknown-pack", "there is no such pack, or not in this version"),
    ("unknown-slot", "the lifecycle has no such slot"),
    ("unknown-state", "the lifecycle has no such state"),
    ("unknown-version", "the lifecycle has no such version"),
    ("version-mismatch", "the entity has changed since it was read"),
];

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

    /// Whether it is about this field.
    pub fn is_of(&self, field: &str) -> bool {
        self.field.as_ref().is_some_and(|it| *it == *field)
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

impl fmt::Display for Refusal {
    /// For people: the code, every reason on a line of its own, what is allowed, who may.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused: {}", self.code)?;
        for unmet in &self.errors {
            let field = unmet.field.as_ref().map(|it| format!("{it}: ")).unwrap_or_default();
            write!(f, "\n- {field}{} ({})", unmet.message, unmet.code)?;
            if !unmet.saw.is_empty() {
                let saw =
                    unmet.saw.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>();
                write!(f, "; it saw {}", saw.join(", "))?;
            }
        }
        if !self.allowed.is_empty() {
            let allowed: Vec<&str> = self.allowed.iter().map(Name::as_str).collect();
            write!(f, "\n  allowed from here: {}", allowed.join(", "))?;
        }
        if let Some(who) = &self.who {
            write!(f, "\n  who may: {who}")?;
        }
        if self.kept.is_some() {
            write!(f, "\n  what was sent is kept as evidence")?;
        }
        Ok(())
    }
}

impl Refusal {
    pub fn new(stage: Stage, code: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { stage, code, detail, errors: Vec::new(), allowed: Vec::new(), who: None, kept: None }
    }

    /// A refusal that is its one unmet condition.
    pub fn one(stage: Stage, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        let mut refusal = Self::new(stage, code, message.clone());
        refusal.errors.push(Unmet::new(code, message));
        refusal
    }

    /// A key is for one request.
    pub fn key_used(key: &Name) -> Self {
        let message = format!("The key {key} was used for another request. Use a new key for a new request.");
        Self::one(Stage::Replay, "idempotency-conflict", message)
    }

    pub fn to_json(&self) -> Json {
        json!({
            "success": false,
            "code": self.code,
            "detail": self.detail,
            "errors": self.errors.iter().map(Unmet::to_json).collect::<Vec<_>>(),
            "allowedTransitions": self.allowed,
            "who": self.who,
            "kept": self.kept.is_some(),
        })
    }
}
