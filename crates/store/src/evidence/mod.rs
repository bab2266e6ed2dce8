//! Evidence: one file about an entity that can be checked far from here, without a server and without the store.
//!
//! It is JSON lines. The first says what it is about; then come the entities as their entries made them, the chain
//! from the first of their entries to the end of the journal, and the artifacts that they refer to. Entries of these
//! entities are shown as they are kept. Every other entry is shown by the digest of its body alone: enough to
//! compute the hash of the next one, and nothing of it is told. Only entries of the first format cannot be hidden
//! so: of those the header is shown.

mod flaw;
mod line;
mod refer;
mod replay;
#[cfg(test)]
mod tests;
mod verify;
mod write;

pub use flaw::Flaw;
pub use line::{About, End, EntityTold, Line, Links, Piece};
pub use verify::{Judged, NoEvidence, Verdict, verify};
pub use write::{Bundle, Wanted};
