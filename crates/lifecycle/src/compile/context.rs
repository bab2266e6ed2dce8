//! The state shared by all compile steps: shapes, names and problems.

use std::collections::{BTreeMap, BTreeSet};

use super::dependencies::depends;
use super::names::{ReadTable, Vocabulary};
use super::shape::{LifecycleShape, PackShape};
use crate::guard::nearest::nearest;
use crate::guard::{Guard, GuardError, Template, Type};
use crate::model::{Read, Setting, StateSet};
use crate::name::Name;
use crate::source::{At, OneOrMany, Place, Problems, SourceProblem};
use crate::syntax::Expr;
use crate::value::Value;

/// One lifecycle being compiled.
pub(super) struct CompileContext<'a> {
    pub pack: &'a PackShape,
    pub shape: &'a LifecycleShape,
    pub table: ReadTable,
    pub settings: Vec<Setting>,
    pub relations: Vec<(Name, Guard)>,
    pub computed: Vec<(Name, Guard)>,
    pub taken: BTreeMap<Name, Type>,
    pub ask: Option<BTreeMap<Name, Type>>,
    /// The type of the current list element.
    pub it: Option<Type>,
    /// Whether members of inverses may be listed.
    pub listing: bool,
    /// The states that each transition leaves, once they are compiled.
    pub leaving: Vec<(Name, StateSet)>,
    pub problems: &'a mut Problems,
}

impl CompileContext<'_> {
    /// Names as expressions see them here and now.
    fn names(&mut self) -> Vocabulary<'_> {
        Vocabulary {
            pack: self.pack,
            shape: self.shape,
            table: &mut self.table,
            settings: &self.settings,
            relations: &self.relations,
            computed: &self.computed,
            taken: &self.taken,
            ask: self.ask.as_ref(),
            it: self.it.as_ref(),
            listing: self.listing,
        }
    }

    /// Compiles an expression that must give `expected`; a problem at its column if it does not.
    pub fn guard(&mut self, source: &Expr, expected: &Type) -> Option<Guard> {
        match Guard::compile_as(&source.text, &mut self.names(), expected) {
            Ok(guard) => Some(guard),
            Err(errors) => {
                self.report(source, errors);
                None
            }
        }
    }

    /// Like `guard`, but members of inverses may be listed.
    pub fn listing_guard(&mut self, source: &Expr, expected: &Type) -> Option<Guard> {
        self.listing = true;
        let guard = self.guard(source, expected);
        self.listing = false;
        guard
    }

    /// Like `guard`, but without reporting problems.
    pub fn try_guard(&mut self, source: &Expr) -> Result<Guard, Vec<GuardError>> {
        Guard::compile(&source.text, &mut self.names())
    }

    pub fn template(&mut self, source: &Expr) -> Option<Template> {
        match Template::compile(&source.text, &mut self.names()) {
            Ok(it) => Some(it),
            Err(errors) => {
                self.report(source, errors);
                None
            }
        }
    }

    /// A span written plainly (`15m`) or an expression that gives one.
    pub fn span(&mut self, source: &Expr) -> Option<Guard> {
        match crate::time::Span::parse(&source.text) {
            Some(span) => Some(Guard::literal(&source.text, Value::Span(span))),
            None => {
                let counts = source.text.trim().starts_with(|it: char| it.is_ascii_digit());
                if counts && source.text.trim().chars().all(|it| it.is_ascii_alphanumeric() || it == ' ') {
                    self.error("not-a-span", source.at, format!("`{}` is not a length of time", source.text))
                        .hint("write it as 500ms, 90s, 15m, 24h, 7d, or together as 1h30m");
                    return None;
                }
                self.guard(source, &Type::Span)
            }
        }
    }

    /// Like `span`, but zero is a problem.
    pub fn some_span(&mut self, source: &Expr) -> Option<Guard> {
        let guard = self.span(source)?;
        if let Some(Value::Span(span)) = guard.constant()
            && span.0 <= 0
        {
            self.error(
                "no-time",
                source.at,
                format!("`{}` is zero, but the time must be longer", source.text),
            )
            .hint("give it a length, such as 15m");
        }
        Some(guard)
    }

    pub fn report(&mut self, source: &Expr, errors: Vec<GuardError>) {
        // Several words in a row are most likely text without quotes of its own.
        let words = source.text.split_whitespace().count() > 1
            && source.text.chars().all(|it| it.is_alphanumeric() || " .,!?'-".contains(it))
            && !source.text.split_whitespace().any(|it| it == "in");
        if words {
            self.error("expression", source.at, "this is not an expression").hint(format!(
                "text in an expression needs quotes of its own: \"'{}'\"",
                source.text.replace('\'', "")
            ));
            return;
        }
        for error in errors {
            let problem = self.error("expression", source.place_of(error.at), error.message);
            if let Some(hint) = error.hint {
                problem.hint(hint);
            }
        }
    }

    /// Refuses an expression that depends on the time.
    pub fn timeless(&mut self, guard: &Guard, source: &Expr, what: &str) {
        if needs_now(guard, &self.table.reads) {
            self.error("now", source.at, format!("{what} cannot depend on the time"))
                .hint("let a timer fire a transition; the move is then in the journal");
        }
    }

    /// States, sets and `any`, in declared order.
    pub fn states(&mut self, names: &OneOrMany<At<Name>>) -> StateSet {
        let mut chosen: BTreeSet<Name> = BTreeSet::new();
        for name in names.iter() {
            if self.shape.is_state(name) {
                chosen.insert(name.it.clone());
            } else if let Some(set) = self.shape.sets.get(&name.it) {
                chosen.extend(set.iter().cloned());
            } else if name.it == "any" {
                chosen.extend(self.shape.states.iter().filter(|it| !self.shape.finals.contains(it)).cloned());
            } else {
                self.unknown_state(name);
            }
        }
        StateSet(self.shape.states.iter().filter(|it| chosen.contains(it.as_str())).cloned().collect())
    }

    pub fn state(&mut self, name: &At<Name>) -> Name {
        if !self.shape.is_state(name) {
            self.unknown_state(name);
        }
        name.it.clone()
    }

    fn unknown_state(&mut self, name: &At<Name>) {
        let known: Vec<&str> =
            self.shape.states.iter().chain(self.shape.sets.keys()).map(Name::as_str).chain(["any"]).collect();
        self.unknown("unknown-state", "state or set of states", name, &known);
    }

    pub fn unknown(&mut self, code: &'static str, what: &str, name: &At<Name>, known: &[&str]) {
        self.unknown_in(None, code, what, name, known);
    }

    /// Reports an unknown name, and the key under which such names are declared.
    pub fn unknown_in(
        &mut self,
        declared_under: Option<&str>,
        code: &'static str,
        what: &str,
        name: &At<Name>,
        known: &[&str],
    ) {
        let problem = self.error(code, name.at, format!("there is no {what} `{}`", name.it));
        if let Some(near) = nearest(&name.it, known.iter().copied()) {
            problem.hint(format!("did you mean `{near}`?"));
        } else if !known.is_empty() && known.len() <= 12 {
            problem.hint(format!("there is {}", known.join(", ")));
        } else if let Some(key) = declared_under.filter(|_| known.is_empty()) {
            problem.hint(format!("there is none yet: declare it under {key}"));
        }
    }

    /// A stored field of this lifecycle.
    pub fn field(&mut self, name: &At<Name>) -> Name {
        if !self.shape.fields.contains_key(&name.it) {
            let known: Vec<&str> = self.shape.fields.keys().map(Name::as_str).collect();
            let known = known.as_slice();
            self.unknown_in(Some("`fields`"), "unknown-field", "field", name, known);
        }
        name.it.clone()
    }

    /// A stored field whose type is one of those that `what` can use.
    pub fn field_of(&mut self, name: &At<Name>, fits: fn(&Type) -> bool, what: &str, hint: &str) -> Name {
        if let Some(ty) = self.shape.fields.get(&name.it).map(|it| it.ty()).filter(|it| !fits(it)) {
            self.error("wrong-field", name.at, format!("field `{}` holds {ty}, not {what}", name.it))
                .hint(hint);
        }
        self.field(name)
    }

    pub fn counter(&mut self, name: &At<Name>) -> Name {
        if !self.shape.counters.contains_key(&name.it) {
            let known: Vec<&str> = self.shape.counters.keys().map(Name::as_str).collect();
            self.unknown_in(Some("`counters`"), "unknown-counter", "counter", name, &known);
        }
        name.it.clone()
    }

    pub fn slot(&mut self, name: &At<Name>) -> Name {
        if !self.shape.slots.contains(&name.it) {
            let known: Vec<&str> = self.shape.slots.iter().map(Name::as_str).collect();
            self.unknown_in(Some("`slots`"), "unknown-slot", "slot", name, &known);
        }
        name.it.clone()
    }

    /// A transition of this lifecycle, or of another.
    pub fn transition_of(&mut self, lifecycle: &Name, name: &At<Name>) -> Name {
        let pack = self.pack;
        if let Some(shape) = pack.lifecycles.get(lifecycle)
            && !shape.transitions.contains_key(&name.it)
        {
            let known: Vec<&str> = shape.transitions.keys().map(Name::as_str).collect();
            self.unknown_in(
                Some("`transitions`"),
                "unknown-transition",
                &format!("transition of {lifecycle} called"),
                name,
                &known,
            );
        }
        name.it.clone()
    }

    pub fn transition(&mut self, name: &At<Name>) -> Name {
        let own = self.shape.name.clone();
        self.transition_of(&own, name)
    }

    pub fn error(&mut self, code: &'static str, at: Place, message: impl Into<String>) -> &mut SourceProblem {
        self.problems.error(code, at, message)
    }
}

/// Whether an expression's value can change without any event.
pub(super) fn needs_now(guard: &Guard, reads: &[Read]) -> bool {
    // Settings cannot depend on the time.
    depends(guard, reads, &[], |it| {
        matches!(
            it,
            Read::Now
                | Read::JournalSequence
                | Read::TimeInState
                | Read::TimeByState
                | Read::TotalTime
                | Read::Overdue
        )
    })
}

/// An id, or text that could be one.
pub(super) fn is_id(ty: &Type) -> bool {
    matches!(ty, Type::Text | Type::Choice(_))
}

pub(super) fn is_ids(ty: &Type) -> bool {
    matches!(ty, Type::List(of) if is_id(of))
}
