//! What can be wrong with the file beside its chain.

use std::fmt;

/// Something that the file says and cannot prove, or does not say and should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A line that is none of ours.
    Line {
        number: u64,
        why: String,
    },
    /// An entry of an entity that is not shown, though a later one of it is.
    Missing {
        entity: String,
        seq: u64,
    },
    /// An entry of an entity that the file is not about.
    Stranger {
        entity: String,
        seq: u64,
    },
    /// Entries after the one that the file says is the last.
    Beyond {
        head: u64,
        last: u64,
    },
    /// What is said of an entity is not what its entries come to.
    Entity {
        entity: String,
    },
    /// There is no entry of an entity that the file is about.
    NoEntries {
        entity: String,
    },
    ArtifactChanged {
        sha256: String,
    },
    /// An entry refers to it, and the file does not tell what became of it.
    ArtifactGone {
        sha256: String,
    },
    /// No entry refers to it.
    ArtifactStranger {
        sha256: String,
    },
}

impl Flaw {
    /// A word for machines.
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
            Self::Missing { entity, seq } => write!(f, "entry {seq} of {entity} is not shown"),
            Self::Stranger { entity, seq } => {
                write!(f, "entry {seq} is of {entity}, which the file is not about")
            }
            Self::Beyond { head, last } => {
                write!(f, "it ends at entry {head}, it says, and goes on to {last}")
            }
            Self::Entity { entity } => {
                write!(f, "what is said of {entity} is not what its entries come to")
            }
            Self::NoEntries { entity } => write!(f, "there is no entry of {entity}"),
            Self::ArtifactChanged { sha256 } => write!(f, "the artifact {sha256} was changed"),
            Self::ArtifactGone { sha256 } => {
                write!(f, "the artifact {sha256} was removed: an entry refers to it")
            }
            Self::ArtifactStranger { sha256 } => {
                write!(f, "no entry refers to the artifact {sha256}")
            }
        }
    }
}
