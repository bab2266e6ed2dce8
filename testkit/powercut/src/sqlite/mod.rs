//! The VFS for SQLite: two tables of C functions, one for the disk and one for an open file.
//!
//! All `unsafe` code is here. It relies on these facts: SQLite hands back the pointers it was given, uses
//! an open file from one thread at a time, and does not use it after closing it.
#![expect(unsafe_code, reason = "a VFS is an interface of C")]

mod file;
mod handle;
mod vfs;

pub use vfs::Vfs;
