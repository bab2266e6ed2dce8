//! A small world for the tests of this room: names with types and values.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::{Fault, Guard, HostFunction, Names, Resolved, Scope, Type, Unknown, VarSlot};
use crate::name::Name;
use crate::value::Value;

#[derive(Default)]
pub(super) struct TestScope {
    known: Vec<(String, Type, Result<Value, Fault>)>,
    pub(super) reads: Cell<u32>,
}

impl TestScope {
    pub(super) fn with(mut self, name: &str, ty: Type, value: impl Into<Value>) -> Self {
        self.known.push((name.to_owned(), ty, Ok(value.into())));
        self
    }

    pub(super) fn faulty(mut self, name: &str, ty: Type, fault: Fault) -> Self {
        self.known.push((name.to_owned(), ty, Err(fault)));
        self
    }

    pub(super) fn compile(&mut self, source: &str) -> Guard {
        Guard::compile(source, self).unwrap_or_else(|errors| panic!("{source}: {errors:?}"))
    }

    pub(super) fn eval(&mut self, source: &str) -> Result<Value, Fault> {
        let guard = self.compile(source);
        guard.eval(self)
    }

    /// Each mistake as `message @ text it points at (hint)`.
    pub(super) fn mistakes(&mut self, source: &str) -> Vec<String> {
        let errors = match Guard::compile(source, self) {
            Ok(_) => Vec::new(),
            Err(errors) => errors,
        };
        told(source, &errors)
    }
}

pub(super) fn told(source: &str, errors: &[super::GuardError]) -> Vec<String> {
    let tell = |it: &super::GuardError| {
        let at = source.get(it.at.clone()).unwrap_or_else(|| panic!("{:?} in {source}", it.at));
        let hint = it.hint.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
        format!("{} @ {at}{hint}", it.message)
    };
    errors.iter().map(tell).collect()
}

/// `counter[state]` means an entry of the map in the slot called `counter[]`.
impl Names for TestScope {
    fn resolve(&mut self, path: &[&str]) -> Result<Resolved, Unknown> {
        for used in (1..=path.len()).rev() {
            let joined = path[..used].join(".");
            if let Some(at) = self.known.iter().position(|it| it.0 == joined) {
                return Ok(Resolved { slot: VarSlot(at as u32), ty: self.known[at].1.clone(), used });
            }
        }
        let known = self.known.iter().map(|it| it.0.clone()).collect();
        Err(Unknown { name: path[0].to_owned(), known })
    }

    fn indexed(&mut self, name: &str) -> Option<Resolved> {
        self.resolve(&[&format!("{name}[]")]).ok()
    }

    fn function(&self, name: &str) -> Option<HostFunction> {
        let text = || vec![Type::Text];
        match name {
            "shout" => Some(HostFunction { id: 1, params: text(), result: Type::Text }),
            "absent" => Some(HostFunction { id: 2, params: text(), result: Type::Bool }),
            _ => None,
        }
    }
}

impl Scope for TestScope {
    fn read(&self, slot: VarSlot) -> Result<Value, Fault> {
        self.reads.set(self.reads.get() + 1);
        self.known[slot.0 as usize].2.clone()
    }

    fn call(&self, function: u16, arguments: &[Value]) -> Result<Value, Fault> {
        match (function, arguments) {
            (1, [Value::Text(it)]) => Ok(Value::text(&it.to_uppercase())),
            _ => Err(Fault::NotLoaded),
        }
    }
}

pub(super) fn texts(items: &[&str]) -> Value {
    Value::list(items.iter().map(|it| Value::text(it)).collect())
}

pub(super) fn ints(items: &[i64]) -> Value {
    Value::list(items.iter().map(|it| Value::Int(*it)).collect())
}

pub(super) fn entries(items: &[(&str, Value)]) -> Value {
    Value::map(items.iter().map(|(name, it)| (Name::new(name), it.clone())).collect::<BTreeMap<_, _>>())
}

/// A task as the packs have them.
pub(super) fn task() -> TestScope {
    let plan = Type::record([("bullets", Type::list(Type::Text)), ("note", Type::Text)]);
    TestScope::default()
        .with("actor.id", Type::Text, "coder-1")
        .with("title", Type::Text, "Fix it")
        .with("assigneeIds", Type::list(Type::Text), texts(&["coder-1", "coder-2"]))
        .with("plan", plan.clone(), entries(&[("bullets", texts(&["a", "b", "c"]))]))
        .with("oldPlan", plan, Value::Null)
        .with("reviewCycles", Type::Int, 2)
        .with("score", Type::Float, Value::Float(1.5))
        .with("open", Type::Bool, true)
        .with("reviewer", Type::Text, Value::Null)
        .with("state", Type::choice(["INBOX", "REVIEW", "DONE"]), "REVIEW")
        .with("failures", Type::Int, 1)
        .with("failures[]", Type::map(Type::Int), entries(&[("REVIEW", Value::Int(7))]))
        .with("labels", Type::map(Type::Text), entries(&[("team", Value::text("core"))]))
        .with("extra", Type::Any, entries(&[("deep", entries(&[("er", Value::Int(5))]))]))
        .with("since", Type::Time, Value::Time(crate::time::Timestamp(1_000_000)))
        .with("now", Type::Time, Value::Time(crate::time::Timestamp(1_090_000)))
        .with("lease", Type::Span, Value::Span(crate::time::Span::seconds(60)))
        .with("numbers", Type::list(Type::Int), ints(&[3, 1, 2]))
        .with("nothing", Type::list(Type::Text), Value::Null)
        .faulty("broken", Type::Bool, Fault::Failed("broken".into()))
        .faulty("later", Type::Bool, Fault::NotLoaded)
}
