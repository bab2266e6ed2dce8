//! Archive files for old journal entries. They are verified before anything is deleted, and readable without a
//! database.
//!
//! A file contains a range of the chain as JSON lines; the first line declares the range. The files and the journal
//! together are the whole chain. Entities in long-term storage have files of their own, which contain their payloads.

mod archive_entity;
mod archived_records;
mod copy;
mod entity_file;
mod file;
mod folder;
mod full_journal;
mod move_out;
mod payload_drops;
#[cfg(test)]
mod tests;
mod write;

pub use archive_entity::{ArchiveStep, ArchivedSlice, archive_entity};
pub use archived_records::{ArchivedRecords, folder_of};
pub use entity_file::EntityFile;
pub use file::{ArchiveHeader, ArchiveLines};
pub use folder::Archive;
pub use full_journal::FullJournal;
pub use move_out::{movable, move_out, still_needed, write_out};
pub use payload_drops::{FileDrops, PayloadDrops};
pub use write::write;
pub(crate) use write::{put, sync_folder, verify_file};
