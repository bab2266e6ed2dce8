//! A journal as text: JSON lines, one entry each, after a line about its origin.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use crate::actor::{Actor, ActorKind};
use crate::event::Entry;
use crate::view::Project;

/// Entries, and the facts that they do not contain.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    pub about: JournalHeader,
    pub entries: Vec<Entry>,
}

/// Facts about a journal beside its entries. Missing ones have the values of a new project.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JournalHeader {
    /// The scenario that wrote it.
    pub scenario: Option<String>,
    /// The time of the project when the journal was written.
    pub until: Option<Timestamp>,
    /// Overrides of settings, by pack.
    pub settings: BTreeMap<Name, BTreeMap<Name, Value>>,
    pub zone: String,
    pub people: Vec<Name>,
    /// Id to kind to roles, as in scenario files.
    pub actors: BTreeMap<Name, BTreeMap<ActorKind, Vec<Name>>>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    journal: JournalHeader,
}

impl JournalHeader {
    pub fn new(project: &Project, actors: &[(String, Actor)], until: Timestamp) -> Self {
        let roles = |it: &Actor| BTreeMap::from([(it.kind, it.roles.to_vec())]);
        Self {
            scenario: None,
            until: Some(until),
            settings: project.settings.clone(),
            zone: project.zone.clone(),
            people: project.people.clone(),
            actors: actors.iter().map(|(_, it)| (it.id.clone(), roles(it))).collect(),
        }
    }

    pub fn project(&self) -> Project {
        Project { settings: self.settings.clone(), zone: self.zone.clone(), people: self.people.clone() }
    }
}

impl Journal {
    /// The text that [`Journal::read`] reads.
    pub fn to_lines(&self) -> String {
        let head = serde_json::to_string(&Head { journal: self.about.clone() });
        let entries = self.entries.iter().map(serde_json::to_string);
        let mut text = String::new();
        for line in std::iter::once(head).chain(entries).filter_map(Result::ok) {
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    /// Reads JSON lines; the line about the journal may be missing.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut journal = Self::default();
        for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            if n == 0
                && line.trim_start().starts_with('{')
                && let Ok(head) = serde_json::from_str::<Head>(line)
            {
                journal.about = head.journal;
                continue;
            }
            let entry = serde_json::from_str(line).map_err(|error| {
                format!(
                    "line {}: this is no journal entry ({error}); `trackside test PATH --only TEXT --journal FILE` writes such files",
                    n + 1
                )
            })?;
            journal.entries.push(entry);
        }
        Ok(journal)
    }
}
