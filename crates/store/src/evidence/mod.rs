//! Evidence: a file about an entity that can be verified without a server or a store.
//!
//! The file is JSON lines: a header, the entities as computed from their entries, the chain from their first entry to
//! the end of the journal, and the artifacts they refer to. Entries of covered entities are included as stored. Every
//! other entry is given only by the digest of its body, which is enough to compute the next hash and reveals nothing.
//! Entries of format 1 have no such digest; their header is included.

mod flaw;
mod line;
mod references;
mod replay;
#[cfg(test)]
mod tests;
mod verify;
mod write;

pub use flaw::Flaw;
pub use line::{ArtifactPiece, EntitySummary, EvidenceEnd, EvidenceHeader, EvidenceLine, Links};
pub(crate) use references::collect_digests;
pub use verify::{EvidenceJudgement, EvidenceVerdict, NoEvidence, verify};
pub use write::{Bundle, EvidenceRequest};
