//! `all`, `exists`, `exists_one`, `map`, `filter`: calls that bind a variable.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr};

use super::{Checker, Typed};
use crate::guard::ir::{Ir, Loop, LoopKind};
use crate::guard::{GuardError, Type, limits};

pub(super) const NAMES: [&str; 6] = ["all", "exists", "exists_one", "existsOne", "map", "filter"];

impl<'c> Checker<'c, '_> {
    pub(super) fn comprehension(&mut self, node: &'c IdedExpr, call: &'c CallExpr) -> Typed {
        let name = call.func_name.as_str();
        let (Some(range), Some((variable, bodies))) = (&call.target, call.args.split_first()) else {
            return self.misused(node, name);
        };
        let Expr::Ident(variable_name) = &variable.expr else {
            let error =
                GuardError::new("the variable of a loop is a simple name", self.parsed.range(variable));
            return self.report(error.hint(format!("as in `list.{name}(it, …)`")));
        };
        if self.locals.len() >= limits::LOOPS {
            let error = format!("more than {} loops inside each other", limits::LOOPS);
            return self.report(GuardError::new(error, self.parsed.function(node)));
        }
        let over = self.node(range);
        let item = match over.ty {
            Type::Any => Type::Any,
            Type::List(of) => of.known(),
            Type::Map(_) | Type::Record(_) => Type::Text,
            it => {
                let error = GuardError::new(format!("cannot iterate over {it}"), self.parsed.range(range));
                return self.report(error);
            }
        };
        self.locals.push((variable_name, item.clone()));
        let made = match (name, bodies) {
            ("all", [test]) => Some((LoopKind::All(self.condition(test)), Type::Bool)),
            ("exists", [test]) => Some((LoopKind::Exists(self.condition(test)), Type::Bool)),
            ("exists_one" | "existsOne", [test]) => {
                Some((LoopKind::ExistsOne(self.condition(test)), Type::Bool))
            }
            ("filter", [test]) => {
                let when = Some(self.condition(test));
                Some((LoopKind::Collect { when, yields: None }, Type::list(item)))
            }
            ("map", [body]) => {
                let body = self.node(body);
                Some((LoopKind::Collect { when: None, yields: Some(body.ir) }, Type::list(body.ty)))
            }
            ("map", [test, body]) => {
                let when = Some(self.condition(test));
                let body = self.node(body);
                Some((LoopKind::Collect { when, yields: Some(body.ir) }, Type::list(body.ty)))
            }
            _ => None,
        };
        self.locals.pop();
        match made {
            Some((kind, ty)) => Typed::new(Ir::Loop(Box::new(Loop { range: over.ir, kind })), ty),
            None => self.misused(node, name),
        }
    }

    fn misused(&mut self, node: &IdedExpr, name: &str) -> Typed {
        let error = GuardError::new(
            format!("`{name}` is called on a list, with a variable"),
            self.parsed.function(node),
        );
        self.report(error.hint(format!("as in `list.{name}(it, …)`")))
    }
}
