//! Worlds made by the real `decide` and `apply`, and what can happen in them.

mod asking;
mod clock;
mod cone;
mod constants;
mod key;
pub(crate) mod mirror;
mod model;
mod restart;
pub(crate) mod rules;
mod scene;
mod values;

pub use model::{Play, Reduce};
pub use scene::{Move, Scene, Surprise, What};

pub(crate) use clock::wait;
pub(crate) use cone::Cone;
pub(crate) use key::key as world_key;
pub(crate) use mirror::Mirrors;
pub(crate) use model::dropped;
pub(crate) use scene::Acted;
pub(crate) use values::{Samples, named};
