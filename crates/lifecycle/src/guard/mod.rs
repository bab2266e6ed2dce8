//! Expressions: CEL, compiled once against declared names and types, cheap to run.
//!
//! [`Guard`] is one expression, [`Template`] a text with expressions in it. The `cel` crate reads
//! the grammar; everything after that is ours, so that a misspelt field is an error when the file is
//! loaded, and no expression can run away when a command is decided.
//!
//! Where it differs from CEL, on purpose:
//! * a missing map key is null, and so is any member or entry of null; `has(x)` asks for "not null"
//!   and takes any name;
//! * whole numbers and numbers mix in arithmetic, since a field of type number may hold either;
//! * a number is always finite: an infinite result or NaN is a fault;
//! * map keys are text; there are no unsigned numbers and no bytes;
//! * every function may be called as `f(x, y)` and as `x.f(y)`, and those over lists that are ours
//!   (`add`, `first`, `sum`, …) take null for an empty list.

mod check;
#[cfg(test)]
mod differential;
mod error;
mod eval;
mod expression;
mod functions;
#[cfg(test)]
mod hostile_tests;
mod ir;
mod limits;
pub mod nearest;
mod outline;
mod parse;
mod scope;
mod template;
#[cfg(test)]
mod test_scope;
mod tokens;
mod ty;

pub use error::GuardError;
pub use expression::{Guard, VariableUse};
pub use nearest::{did_you_mean, did_you_mean_or_all, nearest};
pub use outline::Outline;
pub use scope::{Fault, HostFunction, Names, Resolved, Scope, Unknown, VarSlot};
pub use template::Template;
pub use ty::Type;
