//! A lifecycle as a small finite model that two programs can explore: our search, and `spin`.
//!
//! `docs/internals/spin.md` lists the parts that are kept, weakened and left out. The model allows every
//! move that the law allows. So a state that the model cannot reach, the law cannot reach either; the
//! converse is not promised.

mod aims;
mod build;
mod callers;
mod carry;
mod claims;
mod condition;
mod condition_reads;
mod domain;
mod draft;
mod eval;
mod explore;
mod frame;
mod mapping;
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

pub use condition::ModelCondition;
pub use explore::{SearchFault, SearchModel, Verdicts, verdicts};
pub use model::{AbstractModel, Assignment, ModelClaim, ModelMove, Variable, VariableKind};
pub use promela::promela;
pub use shrink::{ModelSize, abstractions, coarsest};
