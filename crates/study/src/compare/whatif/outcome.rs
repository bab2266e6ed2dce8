//! The result of a run against a changed definition.

use std::collections::BTreeMap;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
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
#[derive(Clone, Debug, Serialize)]
pub struct NotRun {
    #[serde(rename = "what", serialize_with = "head")]
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
#[derive(Clone, Debug, Serialize)]
pub struct End {
    #[serde(serialize_with = "as_text")]
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
                let change = match (was, is) {
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
                format!("{} timer {} of {}: {change}", moment(self.at), self.did, self.entity)
            }
        }
    }
}

impl Serialize for Difference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let at = |it: &Option<(Timestamp, Option<Name>)>| it.as_ref().map(|it| it.0.to_string());
        let mut report = serializer.serialize_map(None)?;
        report.serialize_entry("at", &self.at.to_string())?;
        report.serialize_entry("actor", &self.actor)?;
        report.serialize_entry("did", &self.did)?;
        report.serialize_entry("entity", &self.entity.to_string())?;
        report.serialize_entry("followUp", &self.follow_up)?;
        report.serialize_entry("line", &self.line())?;
        match &self.what {
            DifferenceKind::Accepted => report.serialize_entry("what", "accepted")?,
            DifferenceKind::Refused { code, reasons, .. } => {
                report.serialize_entry("what", "refused")?;
                report.serialize_entry("code", code)?;
                report.serialize_entry("reasons", reasons)?;
            }
            DifferenceKind::Elsewhere { was, is } => {
                report.serialize_entry("what", "elsewhere")?;
                report.serialize_entry("was", was)?;
                report.serialize_entry("is", is)?;
            }
            DifferenceKind::Timer { was, is } => {
                report.serialize_entry("what", "timer")?;
                report.serialize_entry("was", &at(was))?;
                report.serialize_entry("is", &at(is))?;
            }
        }
        report.end()
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
}

impl Serialize for WhatIf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut report = serializer.serialize_map(None)?;
        report.serialize_entry("commands", &self.commands)?;
        report.serialize_entry("inexact", &self.inexact)?;
        let inferred: BTreeMap<_, _> = self.inferred.iter().map(|(id, roles)| (id, roles)).collect();
        report.serialize_entry("rolesInferred", &inferred)?;
        report.serialize_entry("notRun", &self.not_run)?;
        report.serialize_entry("differences", &self.differences)?;
        report.serialize_entry("followUps", &self.follow_ups())?;
        report.serialize_entry("ends", &self.ends)?;
        report.end()
    }
}

fn head<S: Serializer>(of: &Difference, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&of.head())
}

fn as_text<S: Serializer>(entity: &EntityKey, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(entity)
}
