//! YAML text to positioned nodes to typed syntax, with every mistake named and placed.
//!
//! Three steps. [`read()`] turns one text into a [`Node`] tree. [`FromNode`] turns a node into a syntax type,
//! most of which are declared with [`keys!`], [`shapes!`] and [`words!`], so that one declaration gives the
//! struct, its reader and its JSON Schema. [`Problems`] collects problems and renders them with an excerpt.
//!
//! No files are opened here: texts are handed in through [`Sources`].

mod collections;
mod excerpt;
mod from_node;
mod keys;
mod layout;
mod locate;
mod node;
mod place;
mod plain_scalar;
mod problem;
mod read;
mod render;
mod scalars;
mod schema;
mod shapes;
mod syntax;
mod words;

#[cfg(test)]
#[expect(dead_code, reason = "declared to be read, not used")]
mod robustness_tests;

pub use collections::{Named, OneOrMany};
pub use from_node::FromNode;
pub use keys::Keys;
pub use locate::{DefinitionPath, Locator, PathStep};
pub use node::{At, Node, NodeValue};
pub use place::{FileId, Place, Sources};
pub use problem::{ProblemSeverity, Problems, SourceProblem, quote};
pub use read::read;
pub use scalars::{Json, Percent, Scalar, SpanText};

pub use crate::{keys, shapes, words};

/// The expansions of the macros in this module; not for use by hand.
#[doc(hidden)]
pub mod declared {
    pub use schemars::{JsonSchema, Schema, SchemaGenerator};

    pub use super::keys::{Keys, key_name};
    pub use super::schema::{MapSchema, any_of, one_word};
    pub use super::shapes::{NodeShape, pick};
    pub use super::words::word;
}
