//! Our evaluator against the one of the `cel` crate, over random well-typed expressions.
//!
//! Left out, as we differ there on purpose: missing keys, members of null, mixed arithmetic, and
//! numbers that are not finite.

use std::sync::Arc;

use cel::{Context, Env, Program};
use proptest::prelude::*;

use super::test_scope::{TestScope, entries, ints, texts};
use super::{Fault, Guard, Type};
use crate::value::Value;

#[derive(Clone, Copy, PartialEq)]
enum ExprTokenKind {
    Bool,
    Int,
    Float,
    Text,
    Ints,
    Texts,
    Map,
}

/// Turns random bytes into an expression. When they run out, the simplest form is chosen, so that
/// fewer bytes make a smaller expression, and a failure shrinks.
struct Author<'b> {
    bytes: std::slice::Iter<'b, u8>,
    locals: Vec<(&'static str, ExprTokenKind)>,
}

impl Author<'_> {
    fn pick(&mut self, choices: usize) -> usize {
        usize::from(self.bytes.next().copied().unwrap_or_default()) % choices
    }

    fn one_of<'s>(&mut self, choices: &[&'s str]) -> &'s str {
        choices[self.pick(choices.len())]
    }

    fn kind(&mut self) -> ExprTokenKind {
        [
            ExprTokenKind::Bool,
            ExprTokenKind::Int,
            ExprTokenKind::Float,
            ExprTokenKind::Text,
            ExprTokenKind::Ints,
            ExprTokenKind::Texts,
            ExprTokenKind::Map,
        ][self.pick(7)]
    }

    fn write(&mut self, kind: ExprTokenKind, depth: usize) -> String {
        let variable = self.locals.iter().rev().find(|it| it.1 == kind).map(|it| it.0);
        if depth == 0 || self.pick(5) == 0 {
            return match variable {
                // If an inner loop over another list hides it, it would have another type.
                Some(name)
                    if self.locals.iter().rev().find(|it| it.0 == name).is_some_and(|it| it.1 == kind) =>
                {
                    name.to_owned()
                }
                _ => self.leaf(kind),
            };
        }
        let depth = depth - 1;
        match (kind, self.pick(8)) {
            (_, 0) => {
                let condition = self.write(ExprTokenKind::Bool, depth);
                format!("({condition} ? {} : {})", self.write(kind, depth), self.write(kind, depth))
            }
            (ExprTokenKind::Bool, 1) => self.binary(&["&&", "||"], ExprTokenKind::Bool, depth),
            (ExprTokenKind::Bool, 2) => format!("!{}", self.write(ExprTokenKind::Bool, depth)),
            (ExprTokenKind::Bool, 3) => {
                let kind = self.kind();
                self.binary(&["==", "!="], kind, depth)
            }
            (ExprTokenKind::Bool, 4) => {
                let kind =
                    [ExprTokenKind::Int, ExprTokenKind::Float, ExprTokenKind::Text, ExprTokenKind::Bool]
                        [self.pick(4)];
                self.binary(&["<", "<=", ">", ">="], kind, depth)
            }
            (ExprTokenKind::Bool, 5) => {
                let (item, container) = [
                    (ExprTokenKind::Int, ExprTokenKind::Ints),
                    (ExprTokenKind::Text, ExprTokenKind::Texts),
                    (ExprTokenKind::Text, ExprTokenKind::Map),
                ][self.pick(3)];
                format!("({} in {})", self.write(item, depth), self.write(container, depth))
            }
            (ExprTokenKind::Bool, 6) => {
                let name = self.one_of(&["contains", "startsWith", "endsWith"]);
                format!(
                    "{}.{name}({})",
                    self.write(ExprTokenKind::Text, depth),
                    self.write(ExprTokenKind::Text, depth)
                )
            }
            (ExprTokenKind::Bool, _) => {
                let name = self.one_of(&["all", "exists", "exists_one"]);
                self.comprehension(name, None, ExprTokenKind::Bool, depth)
            }
            (ExprTokenKind::Int, 1) => format!("-({})", self.write(ExprTokenKind::Int, depth)),
            (ExprTokenKind::Int, 2) => {
                let of = [ExprTokenKind::Text, ExprTokenKind::Ints, ExprTokenKind::Texts, ExprTokenKind::Map]
                    [self.pick(4)];
                format!("size({})", self.write(of, depth))
            }
            (ExprTokenKind::Int, 3) => format!(
                "{}[{}]",
                self.write(ExprTokenKind::Ints, depth),
                self.write(ExprTokenKind::Int, depth)
            ),
            (ExprTokenKind::Int, 4) => {
                let key = self.one_of(&[".a", "['b']", "[\"a\"]"]);
                format!("{}{key}", self.write(ExprTokenKind::Map, depth))
            }
            (ExprTokenKind::Int, _) => self.binary(&["+", "-", "*", "/", "%"], ExprTokenKind::Int, depth),
            // Never by zero, which is where we differ.
            (ExprTokenKind::Float, 1 | 2) => {
                format!("({} / {})", self.write(kind, depth), self.one_of(&["2.0", "-0.5"]))
            }
            (ExprTokenKind::Float, _) => self.binary(&["+", "-", "*"], ExprTokenKind::Float, depth),
            (ExprTokenKind::Text, 1 | 2) => {
                format!(
                    "{}[{}]",
                    self.write(ExprTokenKind::Texts, depth),
                    self.write(ExprTokenKind::Int, depth)
                )
            }
            (ExprTokenKind::Text, _) => self.binary(&["+"], ExprTokenKind::Text, depth),
            (ExprTokenKind::Ints | ExprTokenKind::Texts, 1) => {
                let item = if kind == ExprTokenKind::Ints { ExprTokenKind::Int } else { ExprTokenKind::Text };
                format!("[{}, {}]", self.write(item, depth), self.write(item, depth))
            }
            (ExprTokenKind::Ints | ExprTokenKind::Texts, 2 | 3) => {
                self.comprehension("filter", Some(kind), ExprTokenKind::Bool, depth)
            }
            (ExprTokenKind::Ints, 4 | 5) => self.comprehension("map", None, ExprTokenKind::Int, depth),
            (ExprTokenKind::Texts, 4 | 5) => self.comprehension("map", None, ExprTokenKind::Text, depth),
            (ExprTokenKind::Ints | ExprTokenKind::Texts, _) => self.binary(&["+"], kind, depth),
            (ExprTokenKind::Map, _) => {
                format!(
                    "{{'a': {}, 'b': {}}}",
                    self.write(ExprTokenKind::Int, depth),
                    self.write(ExprTokenKind::Int, depth)
                )
            }
        }
    }

    fn binary(&mut self, operators: &[&str], kind: ExprTokenKind, depth: usize) -> String {
        let left = self.write(kind, depth);
        let operator = self.one_of(operators);
        format!("({left} {operator} {})", self.write(kind, depth))
    }

    fn comprehension(
        &mut self,
        name: &str,
        over: Option<ExprTokenKind>,
        body: ExprTokenKind,
        depth: usize,
    ) -> String {
        if self.locals.len() >= super::limits::LOOPS {
            return self.leaf(match (over, body) {
                (Some(kind), _) => kind,
                (None, ExprTokenKind::Int) => ExprTokenKind::Ints,
                (None, ExprTokenKind::Text) => ExprTokenKind::Texts,
                (None, kind) => kind,
            });
        }
        let over = over.unwrap_or([ExprTokenKind::Ints, ExprTokenKind::Texts][self.pick(2)]);
        let range = self.write(over, depth);
        // One of them hides a variable of another type.
        let variable = ["x", "y", "t"][self.pick(3)];
        self.locals.push((
            variable,
            if over == ExprTokenKind::Ints { ExprTokenKind::Int } else { ExprTokenKind::Text },
        ));
        let test = if name == "map" && self.pick(3) == 0 {
            format!("{}, ", self.write(ExprTokenKind::Bool, depth))
        } else {
            String::new()
        };
        let body = self.write(body, depth);
        self.locals.pop();
        format!("{range}.{name}({variable}, {test}{body})")
    }

    fn leaf(&mut self, kind: ExprTokenKind) -> String {
        let hidden = self.locals.iter().any(|it| it.0 == "t");
        match kind {
            ExprTokenKind::Bool => {
                self.one_of(&["true", "false", "b", "has(m.a)", "has(m.zzz)", "(i == 2.0)", "(1.5 < i)"])
            }
            ExprTokenKind::Int => self.one_of(&[
                "0",
                "1",
                "i",
                "j",
                "2",
                "-3",
                "7",
                "9223372036854775807",
                "-9223372036854775808",
                "0x1F",
                "m.a",
                "m['b']",
            ]),
            ExprTokenKind::Float => self.one_of(&["0.5", "f", "1.0", "-2.25", "1e2", ".5", "0.1"]),
            ExprTokenKind::Text if hidden => self.one_of(&["''", "'a'", "\"ab\"", "'\\u00e9'"]),
            ExprTokenKind::Text => {
                self.one_of(&["''", "t", "'a'", "\"ab\"", "'é'", "r'\\n'", "'\\n'", "'''it's'''"])
            }
            ExprTokenKind::Ints => self.one_of(&["l", "[]", "[1, 2]", "[3]"]),
            ExprTokenKind::Texts => self.one_of(&["k", "[]", "['a', 'b']"]),
            ExprTokenKind::Map => self.one_of(&["m", "{'a': 1, 'b': 2}", "{'b': 0, \"a\": 1, 'c': 3}"]),
        }
        .to_owned()
    }
}

#[derive(Clone, Debug)]
struct Given {
    b: bool,
    i: i64,
    j: i64,
    f: f64,
    t: &'static str,
    l: Vec<i64>,
    k: Vec<&'static str>,
    m: (i64, i64, bool),
}

fn given() -> impl Strategy<Value = Given> {
    let int = || prop_oneof![-3_i64..10, Just(i64::MAX), Just(i64::MIN), any::<i64>()];
    let text = || prop::sample::select(vec!["", "a", "ab", "é", "b", "abc"]);
    let float = prop_oneof![-10.0..10.0_f64, Just(0.0)];
    let lists = (prop::collection::vec(-3_i64..5, 0..4), prop::collection::vec(text(), 0..4));
    (any::<bool>(), int(), int(), float, text(), lists, (int(), int(), any::<bool>()))
        .prop_map(|(b, i, j, f, t, (l, k), m)| Given { b, i, j, f, t, l, k, m })
}

impl Given {
    fn entries(&self) -> Vec<(&'static str, Value)> {
        let mut all = vec![("a", Value::Int(self.m.0)), ("b", Value::Int(self.m.1))];
        if self.m.2 {
            all.push(("ab", Value::Int(1)));
        }
        all
    }

    fn world(&self) -> TestScope {
        TestScope::default()
            .with("b", Type::Bool, self.b)
            .with("i", Type::Int, self.i)
            .with("j", Type::Int, self.j)
            .with("f", Type::Float, Value::Float(self.f))
            .with("t", Type::Text, self.t)
            .with("l", Type::list(Type::Int), ints(&self.l))
            .with("k", Type::list(Type::Text), texts(&self.k))
            .with("m", Type::map(Type::Int), entries(&self.entries()))
    }

    fn context(&self, env: Arc<Env>) -> Context<'static, 'static> {
        let mut context = Context::with_env(env);
        context.add_variable_from_value("b", self.b);
        context.add_variable_from_value("i", self.i);
        context.add_variable_from_value("j", self.j);
        context.add_variable_from_value("f", self.f);
        context.add_variable_from_value("t", self.t);
        context.add_variable_from_value("l", self.l.clone());
        context.add_variable_from_value("k", self.k.clone());
        let map: std::collections::HashMap<&str, i64> =
            self.entries().into_iter().map(|(key, it)| (key, it.as_int().unwrap())).collect();
        context.add_variable_from_value("m", map);
        context
    }
}

fn ours(value: &cel::Value) -> Value {
    match value {
        cel::Value::Null => Value::Null,
        cel::Value::Bool(it) => Value::Bool(*it),
        cel::Value::Int(it) => Value::Int(*it),
        cel::Value::Float(it) => Value::Float(*it),
        cel::Value::String(it) => Value::text(it),
        cel::Value::List(it) => Value::list(it.iter().map(ours).collect()),
        cel::Value::Map(it) => {
            let all: Vec<(String, Value)> =
                it.map.iter().map(|(key, it)| (key.to_string(), ours(it))).collect();
            entries(&all.iter().map(|(key, it)| (key.as_str(), it.clone())).collect::<Vec<_>>())
        }
        _ => panic!("{value:?}"),
    }
}

/// Compiled once by each side, run against several worlds.
fn agree(source: &str, worlds: &[Given]) -> Result<(), TestCaseError> {
    let Some(first) = worlds.first() else { return Ok(()) };
    let guard = match Guard::compile(source, &mut first.world()) {
        Ok(guard) => guard,
        // Random expressions may well be too large.
        Err(errors) if errors.iter().all(|it| it.message.starts_with("the expression")) => return Ok(()),
        Err(errors) => return Err(TestCaseError::fail(format!("{source}: {errors:?}"))),
    };
    let program = Program::compile(source).unwrap();
    let env = Arc::new(Env::stdlib());
    for given in worlds {
        let mine = guard.eval(&given.world());
        let theirs = program.execute(&given.context(env.clone()));
        match (&mine, &theirs) {
            (Ok(mine), Ok(theirs)) => prop_assert_eq!(mine, &ours(theirs), "{}", source),
            (Err(Fault::Failed(_)), Err(_)) => {}
            _ => prop_assert!(false, "{source}: ours {mine:?}, theirs {theirs:?}"),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn results_agree_with_cel(
        bytes in prop::collection::vec(any::<u8>(), 10..120),
        worlds in prop::collection::vec(given(), 1..10),
    ) {
        let mut author = Author { bytes: bytes.iter(), locals: Vec::new() };
        let kind = author.kind();
        let source = author.write(kind, 5);
        agree(&source, &worlds)?;
    }
}
