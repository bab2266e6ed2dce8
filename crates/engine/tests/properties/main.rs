//! What holds for every definition and every sequence of commands.
//!
//! Definitions are made up as YAML and go the whole way: read, compiled, decided, applied.

mod definition;
mod promises;
mod walk;
