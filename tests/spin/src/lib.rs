//! A lifecycle as a small finite model that two programs can explore: our search, and `spin`.
//!
//! What is kept, what is weakened and what is left out is said in `docs/internals/spin.md`. The rule behind it: whatever
//! the law allows, the model allows too. So what the model cannot reach, the law cannot reach; the other way round is not promised.

mod aims;
mod alpha;
mod asked;
mod build;
mod carry;
mod claims;
mod cond;
mod domain;
mod draft;
mod eval;
mod explore;
mod frame;
mod model;
mod promela;
mod sets;
mod shape;
mod shrink;
mod sources;
mod tallies;
#[cfg(test)]
mod tests;
mod tree;
mod values;
mod who;

pub use cond::Cond;
pub use explore::{Abstract, Fault, Verdicts, verdicts};
pub use model::{AbstractModel, Claim, Holds, Move, To, Variable};
pub use promela::promela;
pub use shrink::{Size, abstractions, coarsest};
