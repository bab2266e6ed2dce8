//! Checks promises within a bound by running the law.
//!
//! [`search`] is a breadth-first search over any [`search::Model`]. [`world`] is a project as such a model: every request
//! of every actor, decided by the real `decide` and `apply`. [`stage`] describes the actors and entities at the start,
//! [`promise`] checks every world against the promises of the definition.
//!
//! Pure, except that the search uses several cores.

pub mod promise;
pub mod report;
pub mod search;
pub mod stage;
pub mod world;
