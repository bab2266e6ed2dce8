//! Properties proved within a bound, by running the law.
//!
//! Pure: definitions in, what was found out. The only thing it uses of the machine is its cores.

pub mod search;
