//! The definition language: lifecycles as data, read, checked and compiled.
//!
//! Pure: no IO, no clock, no async, no randomness.

pub mod guard;
pub mod name;
pub mod source;
pub mod time;
pub mod value;
