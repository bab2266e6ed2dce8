//! Properties proved within a bound, by running the law.
//!
//! [`search`] goes through everything that can happen, whatever it is. [`world`] is what can happen in a project: every
//! request of everybody, decided by the real `decide` and `apply`. [`stage`] says who plays and what there is at the
//! start, [`promise`] holds every world against what a definition promises. [`abstraction`] is the small finite model that
//! `spin` explores too, for a second opinion.
//!
//! Pure: definitions in, what was found out. The only thing it uses of the machine is its cores.

pub mod abstraction;
pub mod promise;
pub mod report;
pub mod search;
pub mod stage;
pub mod world;
