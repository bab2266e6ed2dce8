//! Expressions: CEL, compiled once against declared names and types, cheap to run.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::name::Name;
use crate::value::Value;

/// What an expression may yield, known when the file is loaded.
///
/// Every type admits null: a missing optional field is null.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Not known before it runs.
    Any,
    Null,
    Bool,
    Int,
    Float,
    Text,
    /// Text out of a closed list, as a state or an enumeration.
    Choice(Arc<Vec<Name>>),
    Time,
    Span,
    List(Box<Type>),
    /// Text keys, values of one type.
    Map(Box<Type>),
    /// Known members only.
    Record(Arc<BTreeMap<Name, Type>>),
}

/// Where the runtime finds a name's value. Its number means something to the [`Names`] that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// A name found: its slot, its type, and how many segments of the dotted path it used up.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub slot: Slot,
    pub ty: Type,
    pub used: usize,
}

/// A name not found, with the names that would have been.
#[derive(Clone, Debug)]
pub struct Unknown {
    pub name: String,
    pub known: Vec<String>,
}

/// A function the host provides beyond the built-in ones.
#[derive(Clone, Debug)]
pub struct HostFunction {
    pub id: u16,
    pub params: Vec<Type>,
    pub result: Type,
}

/// What names mean, at load time.
pub trait Names {
    /// Finds the longest meaningful prefix of a dotted path (`agent.state.x` arrives as three segments).
    fn resolve(&mut self, path: &[&str]) -> Result<Resolved, Unknown>;
    /// The map behind `name[index]`, where a bare `name` means one entry of it (a counter kept per state).
    fn indexed(&mut self, name: &str) -> Option<Resolved>;
    fn function(&self, name: &str) -> Option<HostFunction>;
}

/// What names hold, at run time.
pub trait Scope {
    fn read(&self, slot: Slot) -> Result<Value, Fault>;
    fn call(&self, function: u16, arguments: &[Value]) -> Result<Value, Fault>;
}

/// Why an evaluation has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    #[error("{0}")]
    Failed(String),
    #[error("the expression took too many steps")]
    TooExpensive,
    /// The scope must load something first; what, it has noted itself.
    #[error("something it needs is not loaded")]
    NotLoaded,
}
