//! The structure of an expression: for analysis and export, not for evaluation.

use super::ir::{Arithmetic, Comparison, Ir, Loop, LoopKind};
use super::{Guard, VarSlot};
use crate::name::Name;
use crate::value::Value;

/// The parts of a checked expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Outline {
    Constant(Value),
    /// The variable that a name reads, and its members: the slot is an index into the lifecycle's `reads`.
    Read(VarSlot, Vec<Name>),
    /// The variable of a loop: 0 is the innermost.
    Local(usize),
    /// A member of a computed value.
    Member(Box<Outline>, Name),
    Index(Box<[Outline; 2]>),
    /// Whether a value is set.
    Has(Box<Outline>),
    Not(Box<Outline>),
    Negate(Box<Outline>),
    All(Vec<Outline>),
    Any(Vec<Outline>),
    If(Box<[Outline; 3]>),
    Equal(Box<[Outline; 2]>),
    Differ(Box<[Outline; 2]>),
    Less(Box<[Outline; 2]>),
    AtMost(Box<[Outline; 2]>),
    More(Box<[Outline; 2]>),
    AtLeast(Box<[Outline; 2]>),
    Plus(Box<[Outline; 2]>),
    Minus(Box<[Outline; 2]>),
    Times(Box<[Outline; 2]>),
    Over(Box<[Outline; 2]>),
    Remainder(Box<[Outline; 2]>),
    In(Box<[Outline; 2]>),
    List(Vec<Outline>),
    Map(Vec<(Outline, Outline)>),
    /// `all`, `exists`, `exists_one`, `filter` or `map`: the list, and the condition on each element.
    Loop(&'static str, Box<Outline>, Vec<Outline>),
    /// Whether a text matches a pattern.
    Matches(Box<Outline>, String),
    /// A function by name.
    Call(String, Vec<Outline>),
    /// A function that the host provides, by number.
    Host(u16, Vec<Outline>),
}

impl Guard {
    pub fn outline(&self) -> Outline {
        of(self.ir())
    }
}

fn of(ir: &Ir) -> Outline {
    let one = |it: &Ir| Box::new(of(it));
    let two = |[a, b]: &[Ir; 2]| Box::new([of(a), of(b)]);
    let many = |all: &[Ir]| all.iter().map(of).collect::<Vec<_>>();
    match ir {
        Ir::Constant(value) => Outline::Constant(value.clone()),
        Ir::Slot(slot) => Outline::Read(*slot, Vec::new()),
        Ir::Path(slot, members) => Outline::Read(*slot, members.to_vec()),
        Ir::Local(depth) => Outline::Local(*depth),
        Ir::Member(of, name) => Outline::Member(one(of), name.clone()),
        Ir::Index(both) => Outline::Index(two(both)),
        Ir::Has(of) => Outline::Has(one(of)),
        Ir::Not(of) => Outline::Not(one(of)),
        Ir::Negate(of) => Outline::Negate(one(of)),
        Ir::Junction(false, parts) => Outline::All(many(parts)),
        Ir::Junction(true, parts) => Outline::Any(many(parts)),
        Ir::If(parts) => {
            let [when, yes, no] = &**parts;
            Outline::If(Box::new([of(when), of(yes), of(no)]))
        }
        Ir::Equal(true, both) => Outline::Equal(two(both)),
        Ir::Equal(false, both) => Outline::Differ(two(both)),
        Ir::Comparison(order, both) => match order {
            Comparison::Less => Outline::Less(two(both)),
            Comparison::AtMost => Outline::AtMost(two(both)),
            Comparison::More => Outline::More(two(both)),
            Comparison::AtLeast => Outline::AtLeast(two(both)),
        },
        Ir::Arithmetic(how, both) => match how {
            Arithmetic::Add => Outline::Plus(two(both)),
            Arithmetic::Subtract => Outline::Minus(two(both)),
            Arithmetic::Multiply => Outline::Times(two(both)),
            Arithmetic::Divide => Outline::Over(two(both)),
            Arithmetic::Remainder => Outline::Remainder(two(both)),
        },
        Ir::In(both) => Outline::In(two(both)),
        Ir::List(items) => Outline::List(many(items)),
        Ir::Map(members) => Outline::Map(members.iter().map(|(key, it)| (of(key), of(it))).collect()),
        Ir::Loop(it) => loop_of(it),
        Ir::Matches(text, pattern) => Outline::Matches(one(text), pattern.as_str().to_owned()),
        Ir::Call(builtin, arguments) => Outline::Call(format!("{builtin:?}"), many(arguments)),
        Ir::Host(function, arguments) => Outline::Host(*function, many(arguments)),
    }
}

fn loop_of(it: &Loop) -> Outline {
    let range = Box::new(of(&it.range));
    match &it.kind {
        LoopKind::All(test) => Outline::Loop("all", range, vec![of(test)]),
        LoopKind::Exists(test) => Outline::Loop("exists", range, vec![of(test)]),
        LoopKind::ExistsOne(test) => Outline::Loop("exists_one", range, vec![of(test)]),
        LoopKind::Collect { when, yields } => {
            let kind = if yields.is_some() { "map" } else { "filter" };
            Outline::Loop(kind, range, when.iter().chain(yields).map(of).collect())
        }
    }
}

impl Outline {
    /// Whether it has the form of a condition: a comparison, or a combination of them.
    pub fn asks(&self) -> bool {
        matches!(
            self,
            Self::All(_)
                | Self::Any(_)
                | Self::Not(_)
                | Self::Has(_)
                | Self::Equal(_)
                | Self::Differ(_)
                | Self::Less(_)
                | Self::AtMost(_)
                | Self::More(_)
                | Self::AtLeast(_)
                | Self::In(_)
        )
    }

    /// Its operands, from left to right.
    pub fn parts(&self) -> Vec<&Outline> {
        match self {
            Self::Constant(_) | Self::Read(..) | Self::Local(_) => Vec::new(),
            Self::Member(of, _) | Self::Has(of) | Self::Not(of) | Self::Negate(of) | Self::Matches(of, _) => {
                vec![of]
            }
            Self::All(parts) | Self::Any(parts) | Self::List(parts) => parts.iter().collect(),
            Self::If(parts) => parts.iter().collect(),
            Self::Index(both)
            | Self::Equal(both)
            | Self::Differ(both)
            | Self::Less(both)
            | Self::AtMost(both)
            | Self::More(both)
            | Self::AtLeast(both)
            | Self::Plus(both)
            | Self::Minus(both)
            | Self::Times(both)
            | Self::Over(both)
            | Self::Remainder(both)
            | Self::In(both) => both.iter().collect(),
            Self::Map(members) => members.iter().flat_map(|(key, it)| [key, it]).collect(),
            Self::Loop(_, range, asked) => std::iter::once(&**range).chain(asked).collect(),
            Self::Call(_, arguments) | Self::Host(_, arguments) => arguments.iter().collect(),
        }
    }

    /// Visits it and all its parts, outermost first.
    pub fn walk<'a>(&'a self, look: &mut dyn FnMut(&'a Outline)) {
        look(self);
        for part in self.parts() {
            part.walk(look);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::test_scope::task;

    #[test]
    fn an_outline_keeps_the_shape() {
        let guard = task().compile("reviewCycles < 3 && !(title == 'x')");
        let Outline::All(parts) = guard.outline() else { panic!("{:?}", guard.outline()) };
        assert!(matches!(&parts[0], Outline::Less(both) if both[1] == Outline::Constant(Value::Int(3))));
        let mut reads = 0;
        guard.outline().walk(&mut |it| reads += usize::from(matches!(it, Outline::Read(..))));
        assert_eq!(reads, 2);
    }
}
