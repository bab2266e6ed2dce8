//! Problems of an evidence file, other than those of its chain.

use std::fmt;

/// A claim that the file does not prove, or a part that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A line that cannot be parsed.
    Line {
        number: u64,
        why: String,
    },
    /// An entry of a covered entity is missing.
    Missing {
        entity: String,
        seq: u64,
    },
    /// An entry of an entity that the file does not cover.
    Stranger {
        entity: String,
        seq: u64,
    },
    /// Entries after the declared last one.
    Beyond {
        head: u64,
        last: u64,
    },
    /// The given state of an entity does not match its entries.
    Entity {
        entity: String,
    },
    /// A covered entity has no entry.
    NoEntries {
        entity: String,
    },
    ArtifactChanged {
        sha256: String,
    },
    /// An entry refers to it, but the file does not contain it.
    ArtifactGone {
        sha256: String,
    },
    /// No entry refers to it.
    ArtifactStranger {
        sha256: String,
    },
}

impl Flaw {
    /// A stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Line { .. } => "unreadable-line",
            Self::Missing { .. } => "missing",
            Self::Stranger { .. } => "stranger",
            Self::Beyond { .. } => "beyond-the-head",
            Self::Entity { .. } => "entity-changed",
            Self::NoEntries { .. } => "no-entries",
            Self::ArtifactChanged { .. } => "artifact-changed",
            Self::ArtifactGone { .. } => "artifact-gone",
            Self::ArtifactStranger { .. } => "artifact-stranger",
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { number, why } => write!(f, "line {number} cannot be read: {why}"),
            Self::Missing { entity, seq } => write!(f, "entry {seq} of {entity} is missing"),
            Self::Stranger { entity, seq } => {
                write!(f, "entry {seq} belongs to {entity}, which this file does not cover")
            }
            Self::Beyond { head, last } => {
                write!(f, "the file says that it ends at entry {head}, but it continues to {last}")
            }
            Self::Entity { entity } => {
                write!(f, "the state given for {entity} does not match its entries")
            }
            Self::NoEntries { entity } => write!(f, "the file has no entry of {entity}"),
            Self::ArtifactChanged { sha256 } => write!(f, "the artifact {sha256} was changed"),
            Self::ArtifactGone { sha256 } => {
                write!(f, "the artifact {sha256} is missing, but an entry refers to it")
            }
            Self::ArtifactStranger { sha256 } => {
                write!(f, "no entry refers to the artifact {sha256}")
            }
        }
    }
}
