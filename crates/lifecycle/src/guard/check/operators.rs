//! `&& || !`, comparisons, arithmetic, `in`, `? :`.

use cel::IdedExpr;
use cel::common::ast::{Expr, operators as sign};

use super::{Checker, Typed};
use crate::guard::ir::{Arithmetic, Comparison, Ir};
use crate::guard::{GuardError, Type};

pub(super) fn order(operator: &str) -> Option<Comparison> {
    match operator {
        sign::LESS => Some(Comparison::Less),
        sign::LESS_EQUALS => Some(Comparison::AtMost),
        sign::GREATER => Some(Comparison::More),
        sign::GREATER_EQUALS => Some(Comparison::AtLeast),
        _ => None,
    }
}

pub(super) fn arithmetic(operator: &str) -> Option<Arithmetic> {
    match operator {
        sign::ADD => Some(Arithmetic::Add),
        sign::SUBSTRACT => Some(Arithmetic::Subtract),
        sign::MULTIPLY => Some(Arithmetic::Multiply),
        sign::DIVIDE => Some(Arithmetic::Divide),
        sign::MODULO => Some(Arithmetic::Remainder),
        _ => None,
    }
}

impl<'c> Checker<'c, '_> {
    /// Checks an expression that must be true or false.
    pub(super) fn condition(&mut self, node: &'c IdedExpr) -> Ir {
        let it = self.node(node);
        if it.ty == Type::Null {
            let error =
                GuardError::new("expected true or false, this gives nothing", self.parsed.range(node));
            self.errors.push(error);
        } else {
            self.expect(node, &it.ir, &it.ty, &Type::Bool);
        }
        it.ir
    }

    /// A row of the same operator becomes one node, however the parser has nested it.
    pub(super) fn junction(&mut self, node: &'c IdedExpr, decisive: bool) -> Typed {
        let operator = if decisive { sign::LOGICAL_OR } else { sign::LOGICAL_AND };
        let mut parts = Vec::new();
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            match &node.expr {
                Expr::Call(call) if call.func_name == operator && call.target.is_none() => {
                    waiting.extend(call.args.iter().rev());
                }
                _ => parts.push(self.condition(node)),
            }
        }
        let constant = parts.iter().all(|it| it.constant().is_some());
        Self::fold_constant(Ir::Junction(decisive, parts.into()), Type::Bool, constant)
    }

    pub(super) fn not(&mut self, node: &'c IdedExpr) -> Typed {
        let it = self.condition(node);
        let constant = it.constant().is_some();
        Self::fold_constant(Ir::Not(Box::new(it)), Type::Bool, constant)
    }

    pub(super) fn negate(&mut self, node: &'c IdedExpr) -> Typed {
        let it = self.node(node);
        if !it.ty.is_number() && it.ty != Type::Span {
            let error = GuardError::new(format!("cannot negate {}", it.ty), self.parsed.range(node));
            return self.report(error);
        }
        let constant = it.ir.constant().is_some();
        Self::fold_constant(Ir::Negate(Box::new(it.ir)), it.ty, constant)
    }

    pub(super) fn ternary(
        &mut self,
        condition: &'c IdedExpr,
        then: &'c IdedExpr,
        otherwise: &'c IdedExpr,
    ) -> Typed {
        let condition = self.condition(condition);
        let (then, otherwise) = (self.node(then), self.node(otherwise));
        let ty = then.ty.or(otherwise.ty);
        let parts = [condition, then.ir, otherwise.ir];
        let constant = parts.iter().all(|it| it.constant().is_some());
        Self::fold_constant(Ir::If(Box::new(parts)), ty, constant)
    }

    fn pair(&mut self, left: &'c IdedExpr, right: &'c IdedExpr) -> (Typed, Typed, bool) {
        let (left, right) = (self.node(left), self.node(right));
        let constant = left.ir.constant().is_some() && right.ir.constant().is_some();
        (left, right, constant)
    }

    pub(super) fn equality(
        &mut self,
        node: &'c IdedExpr,
        wanted: bool,
        left: &'c IdedExpr,
        right: &'c IdedExpr,
    ) -> Typed {
        let (a, b, constant) = self.pair(left, right);
        if !a.ty.may_equal(&b.ty) {
            let error = format!("{} is never equal to {}", a.ty, b.ty);
            return self.report(GuardError::new(error, self.parsed.range(node)));
        }
        self.choices(right, &b.ir, &a.ty);
        self.choices(left, &a.ir, &b.ty);
        Self::fold_constant(Ir::Equal(wanted, Box::new([a.ir, b.ir])), Type::Bool, constant)
    }

    pub(super) fn order(
        &mut self,
        node: &'c IdedExpr,
        operator: &str,
        left: &'c IdedExpr,
        right: &'c IdedExpr,
    ) -> Typed {
        let (a, b, constant) = self.pair(left, right);
        let comparable = match (&a.ty, &b.ty) {
            (Type::Null, _) | (_, Type::Null) => false,
            (Type::Any, it) | (it, Type::Any) => {
                !matches!(it, Type::List(_) | Type::Map(_) | Type::Record(_))
            }
            (a, b) if a.is_number() && b.is_number() => true,
            (a, b) if a.is_text() && b.is_text() => true,
            (a, b) => a == b && matches!(a, Type::Time | Type::Span | Type::Bool),
        };
        let Some(order) = order(operator).filter(|_| comparable) else {
            let error = format!("cannot compare {} with {}", a.ty, b.ty);
            return self.report(GuardError::new(error, self.parsed.range(node)));
        };
        Self::fold_constant(Ir::Comparison(order, Box::new([a.ir, b.ir])), Type::Bool, constant)
    }

    pub(super) fn arithmetic(
        &mut self,
        node: &'c IdedExpr,
        operator: &str,
        left: &'c IdedExpr,
        right: &'c IdedExpr,
    ) -> Typed {
        let (a, b, constant) = self.pair(left, right);
        let Some(operation) = arithmetic(operator) else { return Typed::unknown() };
        let Some(ty) = result(operation, &a.ty, &b.ty) else {
            let operands = operation.operands(&a.ty.to_string(), &b.ty.to_string());
            let error =
                GuardError::new(format!("cannot {} {operands}", operation.verb()), self.parsed.range(node));
            let joins_text = operation == Arithmetic::Add && (a.ty.is_text() || b.ty.is_text());
            return self.report(if joins_text {
                error.hint("`string(x)` turns a value into text")
            } else {
                error
            });
        };
        Self::fold_constant(Ir::Arithmetic(operation, Box::new([a.ir, b.ir])), ty, constant)
    }

    pub(super) fn is_in(&mut self, item_node: &'c IdedExpr, container_node: &'c IdedExpr) -> Typed {
        let (item, container, constant) = self.pair(item_node, container_node);
        match &container.ty {
            Type::Any => {}
            Type::List(of) => {
                if !item.ty.may_equal(of) {
                    let error = format!("{} is never in {}", item.ty, container.ty);
                    let range = self.parsed.range(item_node).start..self.parsed.range(container_node).end;
                    return self.report(GuardError::new(error, range));
                }
                self.choices(container_node, &container.ir, &Type::list(item.ty));
                self.choices(item_node, &item.ir, of);
            }
            Type::Map(_) | Type::Record(_) => {
                if !item.ty.is_text() {
                    let error = format!("a key of a map is text, this is {}", item.ty);
                    return self.report(GuardError::new(error, self.parsed.range(item_node)));
                }
            }
            it => {
                let error = format!("`in` cannot search {it}");
                let error = GuardError::new(error, self.parsed.range(container_node));
                return self.report(if it.is_text() {
                    error.hint("write `text.contains(part)`")
                } else {
                    error
                });
            }
        }
        Self::fold_constant(Ir::In(Box::new([item.ir, container.ir])), Type::Bool, constant)
    }
}

/// The result type of an operation on two types, if it supports them.
fn result(operation: Arithmetic, a: &Type, b: &Type) -> Option<Type> {
    use Arithmetic::{Add, Divide, Multiply, Remainder, Subtract};
    Some(match (operation, a, b) {
        (Remainder, Type::Int | Type::Any, Type::Int | Type::Any) => Type::Int,
        (Remainder, _, _) => return None,
        (_, Type::Int, Type::Int) => Type::Int,
        (_, Type::Int | Type::Float, Type::Int | Type::Float) => Type::Float,
        (Add, a, b) if a.is_text() && b.is_text() && (*a != Type::Any || *b != Type::Any) => Type::Text,
        (Add, Type::List(a), Type::List(b)) => Type::list(Type::clone(a).or(Type::clone(b))),
        (Add, Type::List(_), Type::Any) | (Add, Type::Any, Type::List(_)) => Type::list(Type::Any),
        (Subtract, Type::Time, Type::Time) => Type::Span,
        (Add | Subtract, Type::Time, Type::Span) | (Add, Type::Span, Type::Time) => Type::Time,
        (Add | Subtract, Type::Span, Type::Span) => Type::Span,
        (Divide, Type::Span, Type::Span) => Type::Float,
        (Multiply | Divide, Type::Span, Type::Int | Type::Float) => Type::Span,
        (Multiply, Type::Int | Type::Float, Type::Span) => Type::Span,
        (_, Type::Any, it) | (_, it, Type::Any) => match it {
            Type::Any | Type::Int | Type::Float | Type::Time | Type::Span => Type::Any,
            _ => return None,
        },
        _ => return None,
    })
}
