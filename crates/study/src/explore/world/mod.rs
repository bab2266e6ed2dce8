//! A project as a state space, moved by the real `decide` and `apply`.

mod clock;
mod cone;
mod constants;
mod key;
mod model;
mod requests;
mod restart;
pub(crate) mod rules;
mod state;
pub(crate) mod symmetry;
mod values;

pub use model::{Reduce, StageModel};
pub use state::{MoveKind, Surprise, WorldMove, WorldState};

pub(crate) use clock::wait;
pub(crate) use cone::Cone;
pub(crate) use key::{key as world_key, values_read};
pub(crate) use model::dropped;
pub(crate) use state::Acted;
pub(crate) use symmetry::Mirrors;
pub(crate) use values::{Samples, actor_fields};
