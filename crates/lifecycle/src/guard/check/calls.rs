//! Calls of functions, built-in and of the host.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, operators as sign};
use regex::RegexBuilder;

use super::{Checker, Typed, loops};
use crate::guard::functions::{self, ArgumentMismatch, Builtin, signature};
use crate::guard::ir::Ir;
use crate::guard::{Fault, GuardError, HostFunction, Type, limits, nearest};
use crate::value::Value;

impl<'c> Checker<'c, '_> {
    pub(super) fn call(&mut self, node: &'c IdedExpr, call: &'c CallExpr) -> Typed {
        let name = call.func_name.as_str();
        if loops::NAMES.contains(&name) {
            return self.comprehension(node, call);
        }
        // `x.f(y)` is `f(x, y)`.
        let arguments: Vec<&IdedExpr> = call.target.as_deref().into_iter().chain(&call.args).collect();
        match (name, arguments.as_slice()) {
            ("has", [it]) => self.has(it),
            ("matches", [it, pattern]) => self.matches(it, pattern),
            _ => match (functions::find(name), self.names.function(name)) {
                (Some(entry), _) => self.builtin(node, entry, &arguments),
                (None, Some(function)) => self.host(node, name, &function, &arguments),
                (None, None) => {
                    self.unknown_function(node, name);
                    // Its arguments may have mistakes of their own.
                    for it in arguments {
                        self.node(it);
                    }
                    Typed::unknown()
                }
            },
        }
    }

    fn unknown_function(&mut self, node: &IdedExpr, name: &str) {
        let known = functions::names().chain(loops::NAMES).chain(["has", "matches"]);
        let at = self.parsed.function(node);
        let error = match name {
            "has" => GuardError::new("`has` takes one name", at).hint("as in `has(a.b)`"),
            "matches" => GuardError::new("`matches` takes a text and a pattern", at)
                .hint("as in `text.matches(\"^a\")`"),
            _ => GuardError::new(format!("unknown function `{name}`"), at).did_you_mean(nearest(name, known)),
        };
        self.errors.push(error);
    }

    fn has(&mut self, node: &'c IdedExpr) -> Typed {
        let is_name = match &node.expr {
            Expr::Ident(_) | Expr::Select(_) => true,
            Expr::Call(call) => call.func_name == sign::INDEX,
            _ => false,
        };
        if !is_name {
            let error = GuardError::new("`has` takes a name", self.parsed.range(node));
            return self.report(error.hint("as in `has(a.b)`"));
        }
        let it = self.node(node);
        let constant = it.ir.constant().is_some();
        Self::fold_constant(Ir::Has(Box::new(it.ir)), Type::Bool, constant)
    }

    /// The pattern is a literal: compiling one during a decision would delay the caller.
    fn matches(&mut self, node: &'c IdedExpr, pattern_node: &'c IdedExpr) -> Typed {
        let (it, pattern) = (self.node(node), self.node(pattern_node));
        if !it.ty.is_text() {
            let error = format!("`matches` needs text, this gives {}", it.ty);
            self.errors.push(GuardError::new(error, self.parsed.range(node)));
        }
        let at = self.parsed.range(pattern_node);
        let Some(pattern) = pattern.ir.constant().and_then(Value::as_str) else {
            let error = GuardError::new("the pattern of `matches` must be a literal text", at);
            return self.report(error);
        };
        let compiled = RegexBuilder::new(pattern)
            .size_limit(limits::PATTERN)
            .dfa_size_limit(limits::PATTERN)
            .nest_limit(16)
            .build();
        match compiled {
            Ok(pattern) => {
                let constant = it.ir.constant().is_some();
                Self::fold_constant(Ir::Matches(Box::new(it.ir), Box::new(pattern)), Type::Bool, constant)
            }
            Err(regex::Error::CompiledTooBig(_)) => {
                let error = GuardError::new("the pattern is too large", at);
                self.report(
                    error.hint("`\\w` and `\\d` cover all scripts; `[a-z]` and `[0-9]` are much smaller"),
                )
            }
            Err(_) => self.report(GuardError::new("the pattern is not a regular expression", at)),
        }
    }

    fn builtin(
        &mut self,
        node: &IdedExpr,
        entry: &functions::FunctionEntry,
        arguments: &[&'c IdedExpr],
    ) -> Typed {
        let given: Vec<Typed> = arguments.iter().map(|it| self.node(it)).collect();
        let name = entry.name;
        if !(entry.least..=entry.most).contains(&given.len()) {
            let error = format!("`{name}` does not take {}", values(given.len()));
            return self.report(GuardError::new(error, self.parsed.function(node)).hint(entry.usage));
        }
        let types: Vec<Type> = given.iter().map(|it| it.ty.clone()).collect();
        let ty = match signature(entry.builtin, &types) {
            Ok(ty) => ty,
            Err(ArgumentMismatch { argument, needs }) => {
                let found = types.get(argument).unwrap_or(&Type::Any);
                let at = arguments
                    .get(argument)
                    .map_or_else(|| self.parsed.range(node), |it| self.parsed.range(it));
                let error = GuardError::new(format!("`{name}` needs {needs}, this gives {found}"), at);
                let searches = entry.builtin == Builtin::Contains && matches!(found, Type::List(_));
                return self.report(error.hint(if searches { "write `item in list`" } else { entry.usage }));
            }
        };
        let arguments: Box<[Ir]> = given.into_iter().map(|it| it.ir).collect();
        let constant = arguments.iter().all(|it| it.constant().is_some());
        let (builtin, ty) = refine_result(entry.builtin, ty, &types, &arguments);
        let typed = Self::fold_constant(Ir::Call(builtin, arguments), ty, constant);
        self.literal_is_readable(node, builtin, &typed, constant);
        typed
    }

    /// Reports a literal span, moment or number that cannot be parsed, wherever it occurs.
    fn literal_is_readable(&mut self, node: &IdedExpr, builtin: Builtin, typed: &Typed, constant: bool) {
        let reads =
            matches!(builtin, Builtin::Duration | Builtin::Timestamp | Builtin::Int | Builtin::Double);
        if reads && constant && typed.ir.constant().is_none() {
            let run = crate::guard::eval::Evaluator::new(&super::Nothing, limits::FOLDING);
            if let Err(Fault::Failed(message)) = run.value(&typed.ir) {
                self.errors.push(GuardError::new(message, self.parsed.range(node)));
            }
        }
    }

    fn host(
        &mut self,
        node: &IdedExpr,
        name: &str,
        function: &HostFunction,
        arguments: &[&'c IdedExpr],
    ) -> Typed {
        let given: Vec<Typed> = arguments.iter().map(|it| self.node(it)).collect();
        if given.len() != function.params.len() {
            let error = format!("`{name}` takes {}, not {}", values(function.params.len()), given.len());
            return self.report(GuardError::new(error, self.parsed.function(node)));
        }
        for ((it, expected), node) in given.iter().zip(&function.params).zip(arguments) {
            self.expect(node, &it.ir, &it.ty, expected);
        }
        let arguments = given.into_iter().map(|it| it.ir).collect();
        Typed::new(Ir::Host(function.id, arguments), function.result.clone())
    }
}

/// Refines the result type beyond the types of the arguments.
fn refine_result(builtin: Builtin, ty: Type, types: &[Type], arguments: &[Ir]) -> (Builtin, Type) {
    match (builtin, types, arguments) {
        (Builtin::Sum, _, _) if ty == Type::Span => (Builtin::SumSpans, ty),
        // With an exponent below zero, a power of whole numbers is not a whole number.
        (Builtin::Pow, [Type::Int, _], [_, Ir::Constant(Value::Int(0..))]) => (builtin, Type::Int),
        _ => (builtin, ty),
    }
}

fn values(count: usize) -> String {
    match count {
        0 => "no values".to_owned(),
        1 => "1 value".to_owned(),
        _ => format!("{count} values"),
    }
}
