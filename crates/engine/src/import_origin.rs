//! Where an imported entity comes from.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::Entry;

/// The name of an entity where it comes from. An import recognises by it what an earlier import brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportOrigin {
    pub name: Arc<str>,
    /// The file that was imported. Another file may bring the same entity again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Arc<str>>,
}

impl ImportOrigin {
    /// The origin that an entry of an import records; none if it was redacted.
    pub fn of(entry: &Entry) -> Option<Self> {
        match (&entry.origin, &entry.reason) {
            (Some(origin), _) => Some(Self::clone(origin)),
            (None, Some(reason)) => {
                let name = in_old_reason(reason).unwrap_or(reason);
                Some(Self { name: Arc::from(name), file: None })
            }
            (None, None) => None,
        }
    }

    /// Whether an entry imported an entity from this origin, from whichever file. A redacted origin may be any.
    pub fn is_of(&self, entry: &Entry) -> bool {
        entry.trigger == *"import"
            && match (&entry.origin, &entry.reason) {
                (Some(origin), _) => origin.name == self.name,
                (None, Some(reason)) => {
                    let rest = in_old_reason(reason).and_then(|it| it.strip_prefix(&*self.name));
                    rest.is_some_and(|it| it.is_empty() || it.starts_with(" in "))
                }
                (None, None) => true,
            }
    }

    /// The reason of the entry, for people.
    pub fn reason(&self) -> String {
        match &self.file {
            Some(file) => format!("imported from {} in {file}", self.name),
            None => format!("imported from {}", self.name),
        }
    }
}

/// The fallback for old journals, whose entries name the origin only in the reason: `ORIGIN` or `ORIGIN in FILE`.
fn in_old_reason(reason: &str) -> Option<&str> {
    reason.strip_prefix("imported from ")
}
