//! Names and their members: `a.b.c`, `x[key]`.

use std::ops::Range;

use cel::IdedExpr;
use cel::common::ast::Expr;

use super::{Checker, Typed};
use crate::guard::ir::Ir;
use crate::guard::{GuardError, Resolved, Type, VarSlot, VariableUse, nearest};
use crate::name::Name;
use crate::value::Value;

impl<'c> Checker<'c, '_> {
    /// A name with members, or members of another expression.
    pub(super) fn path(&mut self, node: &'c IdedExpr) -> Typed {
        // Gathered from the end, in a loop: a long path is a deep tree.
        let mut nodes = vec![node];
        while let Some(IdedExpr { expr: Expr::Select(select), .. }) = nodes.last() {
            nodes.push(&*select.operand);
        }
        nodes.reverse();
        let Some((root, members)) = nodes.split_first() else { return Typed::unknown() };
        let Expr::Ident(name) = &root.expr else {
            let of = self.node(root);
            return self.members(of, members);
        };
        if let Some(local) = self.local(name) {
            return self.members(local, members);
        }
        if name.starts_with('.') {
            return self
                .report(GuardError::new("a name does not begin with a dot", self.parsed.member(root)));
        }
        let segments: Vec<&str> = nodes.iter().filter_map(|it| segment(it)).collect();
        match self.names.resolve(&segments) {
            Ok(Resolved { slot, ty, used }) => {
                self.read(&segments.join("."), slot);
                let rest = nodes.get(used.max(1)..).unwrap_or_default();
                self.members(Typed::new(Ir::Slot(slot), ty), rest)
            }
            Err(unknown) => {
                let at = self.segment_range(&nodes, &unknown.name);
                let meant = nearest(&unknown.name, unknown.known.iter().map(String::as_str));
                self.report(GuardError::unknown_name(&unknown.name, at).did_you_mean(meant))
            }
        }
    }

    /// Records a read of the expression, once.
    pub(super) fn read(&mut self, path: &str, slot: VarSlot) {
        if !self.reads.iter().any(|it| it.slot == slot && it.path == *path) {
            self.reads.push(VariableUse { path: Name::new(path), slot });
        }
    }

    fn local(&self, name: &str) -> Option<Typed> {
        let outwards = self.locals.iter().rev().position(|(it, _)| *it == name)?;
        let (_, ty) = self.locals.iter().rev().nth(outwards)?;
        Some(Typed::new(Ir::Local(outwards), ty.clone()))
    }

    /// The range of the unknown segment; the whole path if it does not contain the name.
    fn segment_range(&self, nodes: &[&IdedExpr], name: &str) -> Range<usize> {
        let found = nodes.iter().find(|it| segment(it) == Some(name));
        match (found, nodes.last()) {
            (Some(node), _) => self.parsed.member(node),
            (None, Some(node)) => self.parsed.range(node),
            (None, None) => 0..0,
        }
    }

    fn members(&mut self, of: Typed, members: &[&'c IdedExpr]) -> Typed {
        let Typed { mut ir, mut ty } = of;
        let mut names = Vec::with_capacity(members.len());
        for node in members {
            let Some(name) = segment(node) else { continue };
            ty = match self.member_type(&ty, name, self.parsed.member(node)) {
                Ok(ty) => ty,
                Err(error) => return self.report(error),
            };
            names.push(Name::new(name));
        }
        match ir {
            Ir::Slot(slot) if !names.is_empty() => ir = Ir::Path(slot, names.into()),
            _ => {
                let constant = ir.constant().is_some();
                ir = names.into_iter().fold(ir, |of, name| Ir::Member(Box::new(of), name));
                return Self::fold_constant(ir, ty, constant);
            }
        }
        Typed::new(ir, ty)
    }

    fn member_type(&self, of: &Type, name: &str, at: Range<usize>) -> Result<Type, GuardError> {
        match of {
            Type::Any | Type::Null => Ok(Type::Any),
            Type::Map(of) => Ok(Type::clone(of).known()),
            Type::Record(members) => members.get(name).cloned().ok_or_else(|| {
                let meant = nearest(name, members.keys().map(Name::as_str));
                GuardError::new(format!("unknown member `{name}`"), at).did_you_mean(meant)
            }),
            _ => Err(GuardError::new(format!("{of} has no member `{name}`"), at)),
        }
    }

    pub(super) fn index(&mut self, container: &'c IdedExpr, key: &'c IdedExpr) -> Typed {
        let of = match self.indexed(container) {
            Some(of) => of,
            None => self.node(container),
        };
        let with = self.node(key);
        let at = self.parsed.range(key);
        let ty = match &of.ty {
            Type::Any | Type::Null => Type::Any,
            Type::List(item) if with.ty.is_number() => Type::clone(item).known(),
            Type::Map(item) if with.ty.is_text() => Type::clone(item).known(),
            Type::Record(members) if with.ty.is_text() => match with.ir.constant().and_then(Value::as_str) {
                Some(name) => match self.member_type(&of.ty, name, at) {
                    Ok(ty) => ty,
                    Err(error) => return self.report(error),
                },
                None => members.values().cloned().fold(Type::Null, Type::or).known(),
            },
            Type::List(_) => {
                return self.report(GuardError::new(
                    format!("a list index must be a whole number, this is {}", with.ty),
                    at,
                ));
            }
            Type::Map(_) | Type::Record(_) => {
                return self
                    .report(GuardError::new(format!("a key of a map is text, this is {}", with.ty), at));
            }
            _ => {
                let at = self.parsed.range(container);
                return self.report(GuardError::new(format!("{} cannot be indexed", of.ty), at));
            }
        };
        let constant = of.ir.constant().is_some() && with.ir.constant().is_some();
        Self::fold_constant(Ir::Index(Box::new([of.ir, with.ir])), ty, constant)
    }

    /// `name[key]`, where `name` alone means one entry.
    fn indexed(&mut self, container: &IdedExpr) -> Option<Typed> {
        let Expr::Ident(name) = &container.expr else { return None };
        if self.local(name).is_some() {
            return None;
        }
        let Resolved { slot, ty, .. } = self.names.indexed(name)?;
        self.read(name, slot);
        Some(Typed::new(Ir::Slot(slot), ty))
    }
}

fn segment(node: &IdedExpr) -> Option<&str> {
    match &node.expr {
        Expr::Ident(name) => Some(name),
        Expr::Select(select) => Some(&select.field),
        _ => None,
    }
}
