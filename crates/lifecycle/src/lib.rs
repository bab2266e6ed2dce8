//! The definition language: lifecycles as data, read, checked and compiled.
//!
//! Pure: no IO, no clock, no async, no randomness.

pub mod compile;
#[cfg(test)]
mod cpu_time;
pub mod format;
pub mod guard;
pub mod hex;
pub mod model;
pub mod name;
pub mod printable;
pub mod source;
pub mod syntax;
pub mod time;
pub mod value;
