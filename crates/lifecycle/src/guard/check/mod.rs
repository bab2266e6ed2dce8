//! From the parser's tree to a checked expression: names found, types known, all mistakes collected.

mod calls;
mod literals;
mod loops;
mod operators;
mod paths;
#[cfg(test)]
mod tests;

use cel::IdedExpr;
use cel::common::ast::{Expr, operators as sign};

use super::eval::Evaluator;
use super::ir::Ir;
use super::parse::Parsed;
use super::{Fault, GuardError, Names, Scope, Type, VarSlot, VariableUse, limits};
use crate::value::Value;

/// A checked expression and its reads.
pub(super) struct CheckedExpression {
    pub(super) ir: Ir,
    pub(super) ty: Type,
    pub(super) reads: Vec<VariableUse>,
}

pub(super) fn check(
    parsed: &Parsed<'_>,
    names: &mut dyn Names,
    expected: Option<&Type>,
) -> Result<CheckedExpression, Vec<GuardError>> {
    let mut checker =
        Checker { parsed, names, errors: Vec::new(), reads: Vec::new(), locals: Vec::new(), depth: 0 };
    let Typed { ir, ty } = checker.node(&parsed.tree);
    if let Some(expected) = expected {
        checker.expect(&parsed.tree, &ir, &ty, expected);
    }
    if checker.errors.is_empty() {
        Ok(CheckedExpression { ir, ty, reads: checker.reads })
    } else {
        // In the order in which a reader meets them.
        checker.errors.sort_by_key(|it| it.at.start);
        Err(checker.errors)
    }
}

/// A part of the expression and its type.
struct Typed {
    ir: Ir,
    ty: Type,
}

impl Typed {
    fn new(ir: Ir, ty: Type) -> Self {
        Self { ir, ty }
    }

    /// Replaces an expression that was already reported: fits everywhere, so that it causes no further
    /// errors.
    fn unknown() -> Self {
        Self { ir: Ir::Constant(Value::Null), ty: Type::Any }
    }
}

struct Checker<'c, 's> {
    parsed: &'c Parsed<'s>,
    names: &'c mut dyn Names,
    errors: Vec<GuardError>,
    reads: Vec<VariableUse>,
    /// The variables of the loops around, innermost last.
    locals: Vec<(&'c str, Type)>,
    depth: usize,
}

impl<'c> Checker<'c, '_> {
    fn node(&mut self, node: &'c IdedExpr) -> Typed {
        if self.depth >= limits::DEPTH {
            return self.too_deep();
        }
        self.depth += 1;
        let typed = match &node.expr {
            Expr::Literal(literal) => self.literal(node, literal),
            Expr::Ident(_) | Expr::Select(_) => self.path(node),
            Expr::List(list) => self.list(&list.elements),
            Expr::Map(map) => self.map(map),
            Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
                (sign::LOGICAL_AND, [..]) => self.junction(node, false),
                (sign::LOGICAL_OR, [..]) => self.junction(node, true),
                (sign::LOGICAL_NOT, [it]) => self.not(it),
                (sign::NEGATE, [it]) => self.negate(it),
                (sign::CONDITIONAL, [condition, then, otherwise]) => self.ternary(condition, then, otherwise),
                (sign::INDEX, [container, key]) => self.index(container, key),
                (sign::IN, [item, container]) => self.is_in(item, container),
                (sign::EQUALS, [left, right]) => self.equality(node, true, left, right),
                (sign::NOT_EQUALS, [left, right]) => self.equality(node, false, left, right),
                (operator, [left, right]) if operators::order(operator).is_some() => {
                    self.order(node, operator, left, right)
                }
                (operator, [left, right]) if operators::arithmetic(operator).is_some() => {
                    self.arithmetic(node, operator, left, right)
                }
                _ => self.call(node, call),
            },
            Expr::Struct(_) | Expr::Comprehension(_) | Expr::Unspecified => {
                self.report(GuardError::new("this form is not supported", self.parsed.range(node)))
            }
        };
        self.depth -= 1;
        typed
    }

    fn report(&mut self, error: GuardError) -> Typed {
        self.errors.push(error);
        Typed::unknown()
    }

    /// Reports it once, even if many branches are too deep.
    fn too_deep(&mut self) -> Typed {
        let message = format!("the expression is nested deeper than {} levels", limits::DEPTH);
        if !self.errors.iter().any(|it| it.message == message) {
            let range = self.parsed.range(&self.parsed.tree);
            self.errors.push(GuardError::new(message, range));
        }
        Typed::unknown()
    }

    /// Evaluates constant expressions. One that fails is kept to fail at run time, because it may never be
    /// reached.
    fn fold_constant(ir: Ir, ty: Type, parts_are_constant: bool) -> Typed {
        if parts_are_constant && let Ok(value) = Evaluator::new(&Nothing, limits::FOLDING).value(&ir) {
            return Typed::new(Ir::Constant(value), ty);
        }
        Typed::new(ir, ty)
    }

    /// Reports a type that is not the expected one.
    fn expect(&mut self, node: &IdedExpr, ir: &Ir, ty: &Type, expected: &Type) {
        let at = self.parsed.range(node);
        if !ty.fits(expected) {
            let hint = match (expected, ty) {
                (Type::Int, Type::Float) => Some("`round`, `floor` and `ceil` give whole numbers"),
                (Type::Bool, Type::Text | Type::Choice(_)) => Some("compare it, as in `x == \"…\"`"),
                (Type::Bool, Type::List(_)) => Some("ask for its size, as in `size(x) > 0`"),
                (Type::Bool, Type::Int | Type::Float) => Some("compare it, as in `x > 0`"),
                _ => None,
            };
            let error = GuardError::new(format!("expected {expected}, this gives {ty}"), at);
            self.errors.push(match hint {
                Some(hint) => error.hint(hint),
                None => error,
            });
        } else {
            self.choices(node, ir, expected);
        }
    }
}

/// The empty scope in which constants are evaluated.
struct Nothing;

impl Scope for Nothing {
    fn read(&self, _: VarSlot) -> Result<Value, Fault> {
        Err(Fault::NotLoaded)
    }

    fn call(&self, _: u16, _: &[Value]) -> Result<Value, Fault> {
        Err(Fault::NotLoaded)
    }
}
