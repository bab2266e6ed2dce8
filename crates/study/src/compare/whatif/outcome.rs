//! The result of a run against a changed definition.

use serde_json::{Value as Json, json};
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Code;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

/// The answer.
#[derive(Clone, Debug, Default)]
pub struct WhatIf {
    /// Replayed commands.
    pub commands: usize,
    /// The number that is reproduced only roughly: a value that was not stored is missing.
    pub inexact: usize,
    /// Roles inferred from the old rules because they were not given.
    pub inferred: Vec<(Name, Vec<Name>)>,
    pub not_run: Vec<NotRun>,
    pub differences: Vec<Difference>,
    pub ends: Vec<End>,
}

/// A decision that could not be replayed; it is taken over as recorded.
#[derive(Clone, Debug)]
pub struct NotRun {
    pub of: Difference,
    pub why: String,
}

/// A decision with another result.
#[derive(Clone, Debug)]
pub struct Difference {
    pub at: Timestamp,
    pub actor: Name,
    /// The transition, or the timer.
    pub did: Name,
    pub entity: EntityKey,
    pub what: DifferenceKind,
    /// Whether the entity had already differed before.
    pub follow_up: bool,
}

#[derive(Clone, Debug)]
pub enum DifferenceKind {
    /// Accepted as before.
    Accepted,
    Refused {
        code: Code,
        detail: String,
        reasons: Vec<String>,
    },
    Elsewhere {
        was: Option<Name>,
        is: Option<Name>,
    },
    /// The time at which it fired and its target, in the journal and now.
    Timer {
        was: Option<(Timestamp, Option<Name>)>,
        is: Option<(Timestamp, Option<Name>)>,
    },
}

/// An entity that ends in another state.
#[derive(Clone, Debug)]
pub struct End {
    pub entity: EntityKey,
    pub was: Option<Name>,
    pub is: Option<Name>,
}

/// A moment as people write it.
fn moment(at: Timestamp) -> String {
    let text = at.to_string().replace('T', " ");
    let text = text.trim_end_matches('Z');
    text.strip_suffix(":00").unwrap_or(text).to_owned()
}

fn place(state: Option<&Name>) -> &str {
    state.map_or("nowhere", Name::as_str)
}

impl Difference {
    /// `2026-01-01 10:04 ada approve mission.task/T-1`.
    pub fn head(&self) -> String {
        format!("{} {} {} {}", moment(self.at), self.actor, self.did, self.entity)
    }

    /// One line of the story.
    pub fn line(&self) -> String {
        let head = self.head();
        match &self.what {
            DifferenceKind::Accepted => head,
            DifferenceKind::Refused { code, detail, reasons } => {
                let why = if reasons.is_empty() { detail.clone() } else { reasons.join("; ") };
                format!("{head}: would be refused: {why} ({code})")
            }
            DifferenceKind::Elsewhere { was, is } => {
                format!("{head}: would be {} instead of {}", place(is.as_ref()), place(was.as_ref()))
            }
            DifferenceKind::Timer { was, is } => {
                let led = |to: &Option<Name>| to.as_ref().map(|it| format!(", to {it}")).unwrap_or_default();
                let told = match (was, is) {
                    (Some((old, _)), Some((new, to))) => {
                        let how = if new < old { "earlier" } else { "later" };
                        format!(
                            "would fire {how}, at {}{} (it fired at {})",
                            moment(*new),
                            led(to),
                            moment(*old)
                        )
                    }
                    (Some((_, to)), None) => format!("would not fire (it did{})", led(to)),
                    (None, Some((_, to))) => format!("would fire (it did not{})", led(to)),
                    (None, None) => String::new(),
                };
                format!("{} timer {} of {}: {told}", moment(self.at), self.did, self.entity)
            }
        }
    }

    fn kind(&self) -> &'static str {
        match &self.what {
            DifferenceKind::Accepted => "accepted",
            DifferenceKind::Refused { .. } => "refused",
            DifferenceKind::Elsewhere { .. } => "elsewhere",
            DifferenceKind::Timer { .. } => "timer",
        }
    }

    pub fn to_json(&self) -> Json {
        let mut json = json!({
            "at": self.at.to_string(),
            "actor": self.actor,
            "did": self.did,
            "entity": self.entity.to_string(),
            "what": self.kind(),
            "followUp": self.follow_up,
            "line": self.line(),
        });
        let Json::Object(map) = &mut json else { return json };
        match &self.what {
            DifferenceKind::Accepted => {}
            DifferenceKind::Refused { code, reasons, .. } => {
                map.insert("code".to_owned(), json!(code));
                map.insert("reasons".to_owned(), json!(reasons));
            }
            DifferenceKind::Elsewhere { was, is } => {
                map.insert("was".to_owned(), json!(was));
                map.insert("is".to_owned(), json!(is));
            }
            DifferenceKind::Timer { was, is } => {
                let at = |it: &Option<(Timestamp, Option<Name>)>| it.as_ref().map(|it| it.0.to_string());
                map.insert("was".to_owned(), json!(at(was)));
                map.insert("is".to_owned(), json!(at(is)));
            }
        }
        json
    }
}

impl End {
    pub fn line(&self) -> String {
        format!(
            "{}: ends in {} instead of {}",
            self.entity,
            place(self.is.as_ref()),
            place(self.was.as_ref())
        )
    }
}

impl WhatIf {
    /// Differences that do not merely follow from an earlier one of the same entity.
    pub fn first_hand(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|it| !it.follow_up)
    }

    pub fn follow_ups(&self) -> usize {
        self.differences.iter().filter(|it| it.follow_up).count()
    }

    pub fn to_json(&self) -> Json {
        let not_run = self.not_run.iter().map(|it| json!({ "what": it.of.head(), "why": it.why }));
        let ends =
            self.ends.iter().map(|it| json!({ "entity": it.entity.to_string(), "was": it.was, "is": it.is }));
        let inferred: serde_json::Map<String, Json> =
            self.inferred.iter().map(|(id, roles)| (id.to_string(), json!(roles))).collect();
        json!({
            "commands": self.commands,
            "inexact": self.inexact,
            "rolesInferred": inferred,
            "notRun": not_run.collect::<Vec<_>>(),
            "differences": self.differences.iter().map(Difference::to_json).collect::<Vec<_>>(),
            "followUps": self.follow_ups(),
            "ends": ends.collect::<Vec<_>>(),
        })
    }
}
