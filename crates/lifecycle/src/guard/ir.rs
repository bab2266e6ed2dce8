//! A checked expression: names are slots, constants are worked out, patterns are compiled.

use regex::Regex;

use super::VarSlot;
use super::functions::Builtin;
use crate::name::Name;
use crate::value::Value;

#[derive(Debug)]
pub(super) enum Ir {
    Constant(Value),
    Slot(VarSlot),
    /// A slot and members of it; read in one go, so that only the last is cloned.
    Path(VarSlot, Box<[Name]>),
    /// The variable of a loop: 0 is the innermost.
    Local(usize),
    Member(Box<Ir>, Name),
    Index(Box<[Ir; 2]>),
    Has(Box<Ir>),
    Not(Box<Ir>),
    Negate(Box<Ir>),
    /// `&&` and `||`, any number of them in a row. Holds the value that decides: false, or true.
    Junction(bool, Box<[Ir]>),
    If(Box<[Ir; 3]>),
    /// Tests for equality, or for inequality.
    Equal(bool, Box<[Ir; 2]>),
    Comparison(Comparison, Box<[Ir; 2]>),
    Arithmetic(Arithmetic, Box<[Ir; 2]>),
    In(Box<[Ir; 2]>),
    List(Box<[Ir]>),
    Map(Box<[(Ir, Ir)]>),
    Loop(Box<Loop>),
    Matches(Box<Ir>, Box<Regex>),
    Call(Builtin, Box<[Ir]>),
    Host(u16, Box<[Ir]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// A comprehension over the items of a list or the keys of a map.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) range: Ir,
    pub(super) kind: LoopKind,
}

#[derive(Debug)]
pub(super) enum LoopKind {
    All(Ir),
    Exists(Ir),
    ExistsOne(Ir),
    /// `filter` keeps the item; `map` yields a value for it, for all items or for some.
    Collect {
        when: Option<Ir>,
        yields: Option<Ir>,
    },
}

impl Ir {
    pub(super) fn constant(&self) -> Option<&Value> {
        if let Self::Constant(it) = self { Some(it) } else { None }
    }
}
