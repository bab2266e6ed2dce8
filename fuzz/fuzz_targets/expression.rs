//! Bytes to an expression and a template, checked and run in a small world.
//!
//! Every input is refused at a place inside the text, or evaluates to a value or a fault, twice the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trackside_lifecycle::guard::{
    Fault, Guard, HostFunction, Names, Resolved, Scope, Template, Type, Unknown, VarSlot,
};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

fuzz_target!(|bytes: &[u8]| {
    let Ok(source) = std::str::from_utf8(bytes) else { return };
    let mut world = World::new();
    match Guard::compile(source, &mut world) {
        Ok(guard) => {
            let value = guard.eval(&world);
            assert_eq!(told(&value), told(&guard.eval(&world)), "two answers to one question");
            if let (Some(constant), Ok(value)) = (guard.constant(), &value) {
                assert_eq!(constant, value, "worked out while compiling, and otherwise later");
            }
        }
        Err(mistakes) => {
            assert!(!mistakes.is_empty(), "refused and nothing was said about it");
            for mistake in mistakes {
                assert!(source.get(mistake.at.clone()).is_some(), "{mistake:?} is not in the text");
            }
        }
    }
    if let Ok(template) = Template::compile(source, &mut world) {
        std::hint::black_box(template.render(&world).ok());
    }
});

fn told(value: &Result<Value, Fault>) -> String {
    format!("{value:?}")
}

/// Every type once, the names as the packs have them.
struct World(Vec<(&'static str, Type, Value)>);

impl World {
    fn new() -> Self {
        let texts = Value::list(vec![Value::text("coder-1"), Value::text("coder-2")]);
        let plan = Type::record([("bullets", Type::list(Type::Text)), ("note", Type::Text)]);
        let map = |key: &str, value: Value| Value::map([(Name::new(key), value)].into_iter().collect());
        Self(vec![
            ("actor.id", Type::Text, Value::text("coder-1")),
            ("assigneeIds", Type::list(Type::Text), texts.clone()),
            ("state", Type::choice(["INBOX", "REVIEW", "DONE"]), Value::text("REVIEW")),
            ("title", Type::Text, Value::text("Fix it")),
            ("workPlan", plan, map("bullets", texts)),
            ("reviewCycles", Type::Int, Value::Int(2)),
            ("spent", Type::Float, Value::Float(1.5)),
            ("human", Type::Bool, Value::Bool(false)),
            ("lead", Type::Bool, Value::Bool(true)),
            ("reviewerId", Type::Text, Value::Null),
            ("failures", Type::Int, Value::Int(1)),
            ("failures[]", Type::map(Type::Int), map("REVIEW", Value::Int(7))),
            ("settings.maxReviewCycles", Type::Int, Value::Int(3)),
            ("settings.budgets", Type::map(Type::Float), map("lead", Value::Float(12.0))),
            ("extra", Type::Any, map("deep", map("er", Value::Int(5)))),
            ("now", Type::Time, Value::Time(Timestamp(1_090_000))),
            ("createdAt", Type::Time, Value::Time(Timestamp(1_000_000))),
            ("timeInState", Type::Span, Value::Span(Span::seconds(60))),
        ])
    }
}

impl Names for World {
    fn resolve(&mut self, path: &[&str]) -> Result<Resolved, Unknown> {
        for used in (1..=path.len()).rev() {
            let joined = path[..used].join(".");
            if let Some(at) = self.0.iter().position(|it| it.0 == joined) {
                return Ok(Resolved { slot: VarSlot(at as u32), ty: self.0[at].1.clone(), used });
            }
        }
        let name = path.first().copied().unwrap_or_default().to_owned();
        Err(Unknown { name, known: self.0.iter().map(|it| it.0.to_owned()).collect() })
    }

    fn indexed(&mut self, name: &str) -> Option<Resolved> {
        self.resolve(&[&format!("{name}[]")]).ok()
    }

    fn function(&self, name: &str) -> Option<HostFunction> {
        let params = vec![Type::Text, Type::Any];
        (name == "policy").then(|| HostFunction {
            id: 1,
            params,
            result: Type::record([("level", Type::Text)]),
        })
    }
}

impl Scope for World {
    fn read(&self, slot: VarSlot) -> Result<Value, Fault> {
        Ok(self.0[slot.0 as usize].2.clone())
    }

    fn call(&self, _: u16, _: &[Value]) -> Result<Value, Fault> {
        Err(Fault::NotLoaded)
    }
}
