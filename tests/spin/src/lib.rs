//! A lifecycle as a small finite model that two programs can explore: our search, and `spin`.
//!
//! `docs/internals/spin.md` lists the parts that are kept, weakened and left out. The model allows every
//! move that the law allows. So a state that the model cannot reach, the law cannot reach either; the
//! converse is not promised.

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
