//! Names in expressions without an entity: queries with `answers`, supervision and the risk policy.

use std::collections::BTreeMap;

use crate::guard::{Guard, GuardError, HostFunction, Names, Resolved, Template, Type, Unknown, VarSlot};
use crate::model::{Read, Setting};
use crate::name::Name;
use crate::source::Problems;
use crate::syntax::Expr;

/// Names that an expression without an entity knows.
pub(super) struct ValueNames<'a> {
    pub settings: &'a [Setting],
    pub ask: &'a BTreeMap<Name, Type>,
    pub counts: &'a [Name],
    /// Values that the caller passes.
    pub given: &'a [(&'a str, Type)],
    pub reads: &'a mut Vec<Read>,
}

impl Names for ValueNames<'_> {
    fn resolve(&mut self, path: &[&str]) -> Result<Resolved, Unknown> {
        let found = match path {
            ["settings", name, ..] => {
                let place = self.settings.iter().position(|it| it.name == **name);
                place.and_then(|it| Some((Read::Setting(it), self.settings.get(it)?.ty.clone(), 2)))
            }
            ["ask", name, ..] => self.ask.get(*name).map(|ty| (Read::Ask(Name::new(name)), ty.clone(), 2)),
            ["count", name, ..] if self.counts.iter().any(|it| it == *name) => {
                Some((Read::Rows(Name::new(name)), Type::Int, 2))
            }
            [name, ..] => {
                let given = self.given.iter().find(|(it, _)| it == name);
                given.map(|(it, ty)| (Read::Given(Name::new(it)), ty.clone(), 1))
            }
            [] => None,
        };
        let Some((read, ty, used)) = found else {
            let settings = self.settings.iter().map(|it| format!("settings.{}", it.name));
            let known = self.ask.keys().map(|it| format!("ask.{it}"));
            let known = known.chain(self.counts.iter().map(|it| format!("count.{it}")));
            let known = known.chain(self.given.iter().map(|(it, _)| (*it).to_owned())).chain(settings);
            let name = path.iter().take(2).copied().collect::<Vec<_>>().join(".");
            return Err(Unknown { name, known: known.collect() });
        };
        let slot = VarSlot(u32::try_from(self.reads.len()).unwrap_or(u32::MAX));
        self.reads.push(read);
        Ok(Resolved { slot, ty, used })
    }

    fn indexed(&mut self, _: &str) -> Option<Resolved> {
        None
    }

    fn function(&self, _: &str) -> Option<HostFunction> {
        None
    }
}

impl ValueNames<'_> {
    /// Compiles an expression; reports a problem at its column if its type is not the expected one.
    pub fn guard(&mut self, source: &Expr, expected: &Type, problems: &mut Problems) -> Option<Guard> {
        match Guard::compile_as(&source.text, self, expected) {
            Ok(guard) => Some(guard),
            Err(errors) => {
                report(source, errors, problems);
                None
            }
        }
    }

    /// Compiles a text with expressions in `{ }`.
    pub fn template(&mut self, source: &Expr, problems: &mut Problems) -> Option<Template> {
        match Template::compile(&source.text, self) {
            Ok(template) => Some(template),
            Err(errors) => {
                report(source, errors, problems);
                None
            }
        }
    }
}

/// Reports the errors of an expression at their columns.
fn report(source: &Expr, errors: Vec<GuardError>, problems: &mut Problems) {
    for error in errors {
        let problem = problems.error("expression", source.place_of(error.at), error.message);
        if let Some(hint) = error.hint {
            problem.hint(hint);
        }
    }
}
