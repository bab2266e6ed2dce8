//! Old journal in files of its own: verified before anything is deleted, and readable without a database.
//!
//! A file holds a stretch of the chain as JSON lines, before them a line that tells which. Files and journal
//! together are the whole chain.

mod copy;
mod file;
mod moving;
mod past;
mod shelf;
#[cfg(test)]
mod tests;
mod unwanted;
mod whole;
mod write;

pub use file::{About, Lines};
pub use moving::{movable, move_out, staying, write_out};
pub use past::{Past, folder_of};
pub use shelf::Archive;
pub use unwanted::Unwanted;
pub use whole::Whole;
pub use write::write;
