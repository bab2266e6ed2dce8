//! The two interfaces of a host: the meaning of names at load time, and their values at run time.

use super::Type;
use crate::value::Value;

/// The slot of a name's value at run time. The [`Names`] that assigned the number defines its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VarSlot(pub u32);

/// A name found: its slot, its type, and how many segments of the dotted path it used up.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub slot: VarSlot,
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

/// The meaning of names, at load time.
pub trait Names {
    /// Finds the longest meaningful prefix of a dotted path (`agent.state.x` arrives as three segments).
    fn resolve(&mut self, path: &[&str]) -> Result<Resolved, Unknown>;
    /// The map behind `name[index]`, where a bare `name` means one entry of it (a counter kept per state).
    fn indexed(&mut self, name: &str) -> Option<Resolved>;
    fn function(&self, name: &str) -> Option<HostFunction>;
}

/// The values of names, at run time.
pub trait Scope {
    fn read(&self, slot: VarSlot) -> Result<Value, Fault>;
    fn call(&self, function: u16, arguments: &[Value]) -> Result<Value, Fault>;
}

/// Why an evaluation has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    #[error("{0}")]
    Failed(String),
    #[error("the expression took too many steps")]
    TooExpensive,
    /// The scope must load data first; it has recorded which.
    #[error("something it needs is not loaded")]
    NotLoaded,
}

impl Fault {
    #[cold]
    pub(super) fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }
}
