//! Running a checked expression: lazily, without copying, within a budget.

mod arithmetic;
mod compare;
mod loops;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub(super) use arithmetic::{arithmetic, finite, negate};
pub(super) use compare::{equal, order};

use super::functions;
use super::ir::Ir;
use super::limits::Budget;
use super::{Fault, Scope};
use crate::name::Name;
use crate::value::Value;

/// One evaluation under way.
pub(super) struct Evaluator<'a> {
    scope: &'a dyn Scope,
    budget: Budget,
}

/// The variable of a loop, within those of the loops around it.
pub(super) struct Frame<'a> {
    value: &'a Value,
    outer: Option<&'a Frame<'a>>,
}

/// Boxed, so that the rare error does not enlarge the common result.
type Outcome<T> = Result<T, Box<Fault>>;
type Yield<'e> = Outcome<Cow<'e, Value>>;

static NULL: Value = Value::Null;

impl<'a> Evaluator<'a> {
    pub(super) fn new(scope: &'a dyn Scope, steps: u32) -> Self {
        Self { scope, budget: Budget::new(steps) }
    }

    pub(super) fn value(&self, ir: &Ir) -> Result<Value, Fault> {
        self.eval(ir, None).map(Cow::into_owned).map_err(|it| *it)
    }

    pub(super) fn truth(&self, ir: &Ir) -> Result<bool, Fault> {
        self.condition(ir, None).map_err(|it| *it)
    }

    /// The leaves of the tree, which are most of it, without a call.
    #[inline(always)]
    fn eval<'e>(&self, ir: &'e Ir, frame: Option<&'e Frame<'e>>) -> Yield<'e> {
        self.budget.step()?;
        match ir {
            Ir::Constant(it) => Ok(Cow::Borrowed(it)),
            Ir::Slot(slot) => Ok(Cow::Owned(self.scope.read(*slot)?)),
            Ir::Local(outwards) => Ok(Cow::Borrowed(local(frame, *outwards))),
            _ => self.branch(ir, frame),
        }
    }

    fn branch<'e>(&self, ir: &'e Ir, frame: Option<&'e Frame<'e>>) -> Yield<'e> {
        match ir {
            Ir::Path(slot, members) => {
                let root = self.scope.read(*slot)?;
                Ok(Cow::Owned(walk(&root, members)?.clone()))
            }
            Ir::Member(of, name) => Ok(match self.eval(of, frame)? {
                Cow::Borrowed(it) => Cow::Borrowed(member(it, name)?),
                Cow::Owned(it) => Cow::Owned(member(&it, name)?.clone()),
            }),
            Ir::Index(pair) => self.index(pair, frame),
            Ir::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let chosen = if self.condition(condition, frame)? { then } else { otherwise };
                self.eval(chosen, frame)
            }
            Ir::Negate(it) => Ok(Cow::Owned(negate(&*self.eval(it, frame)?)?)),
            Ir::Arithmetic(operation, pair) => {
                let [left, right] = &**pair;
                let (left, right) = (self.eval(left, frame)?, self.eval(right, frame)?);
                Ok(Cow::Owned(arithmetic(*operation, &left, &right, &self.budget)?))
            }
            Ir::List(items) => self.list(items, frame).map(Cow::Owned),
            Ir::Map(entries) => self.map(entries, frame).map(Cow::Owned),
            Ir::Loop(it) => self.run_loop(it, frame).map(Cow::Owned),
            Ir::Call(builtin, arguments) => self.call(*builtin, arguments, frame).map(Cow::Owned),
            Ir::Host(function, arguments) => {
                let arguments = arguments
                    .iter()
                    .map(|it| self.eval(it, frame).map(Cow::into_owned))
                    .collect::<Result<Vec<_>, _>>()?;
                Ok(Cow::Owned(self.scope.call(*function, &arguments)?))
            }
            Ir::Constant(_) | Ir::Slot(_) | Ir::Local(_) => self.eval(ir, frame),
            Ir::Has(_)
            | Ir::Not(_)
            | Ir::Junction(..)
            | Ir::Equal(..)
            | Ir::Comparison(..)
            | Ir::In(_)
            | Ir::Matches(..) => Ok(Cow::Owned(Value::Bool(self.condition(ir, frame)?))),
        }
    }

    /// Conditions are evaluated as plain `bool`s.
    fn condition<'e>(&self, ir: &'e Ir, frame: Option<&'e Frame<'e>>) -> Outcome<bool> {
        self.budget.step()?;
        match ir {
            Ir::Junction(decisive, parts) => self.junction(*decisive, parts, frame),
            Ir::Not(it) => self.condition(it, frame).map(|it| !it),
            Ir::Has(it) => self.eval(it, frame).map(|it| !it.is_null()),
            Ir::Equal(wanted, pair) => {
                let [left, right] = &**pair;
                let (left, right) = (self.eval(left, frame)?, self.eval(right, frame)?);
                Ok(equal(&left, &right, &self.budget)? == *wanted)
            }
            Ir::Comparison(asked, pair) => {
                let [left, right] = &**pair;
                let (left, right) = (self.eval(left, frame)?, self.eval(right, frame)?);
                Ok(asked.holds(order(&left, &right, &self.budget)?))
            }
            Ir::In(pair) => {
                let [item, container] = &**pair;
                let (item, container) = (self.eval(item, frame)?, self.eval(container, frame)?);
                self.contains(&container, &item)
            }
            Ir::Matches(it, pattern) => self.matches(&*self.eval(it, frame)?, pattern),
            _ => {
                let it = self.eval(ir, frame)?;
                Ok(it.as_bool().ok_or_else(|| not_a_truth(&it))?)
            }
        }
    }

    /// `&&` and `||`: an operand that decides the result overrides a failed operand, regardless of the
    /// order.
    fn junction<'e>(&self, decisive: bool, parts: &'e [Ir], frame: Option<&'e Frame<'e>>) -> Outcome<bool> {
        let mut verdict = Verdict::new(decisive);
        for part in parts {
            if verdict.decided_by(self.condition(part, frame))? {
                return Ok(decisive);
            }
        }
        verdict.undecided()
    }

    fn index<'e>(&self, pair: &'e [Ir; 2], frame: Option<&'e Frame<'e>>) -> Yield<'e> {
        let [container, key] = pair;
        let container = self.eval(container, frame)?;
        let key = self.eval(key, frame)?;
        Ok(match container {
            Cow::Borrowed(it) => Cow::Borrowed(entry(it, &key)?),
            Cow::Owned(it) => Cow::Owned(entry(&it, &key)?.clone()),
        })
    }

    fn contains(&self, container: &Value, item: &Value) -> Outcome<bool> {
        match (container, item) {
            (Value::List(items), _) => Ok(functions::position(items, item, &self.budget)?.is_some()),
            (Value::Map(entries), Value::Text(key)) => {
                self.budget.text(key.len())?;
                Ok(entries.contains_key(&**key))
            }
            (Value::Map(_), _) => Ok(false),
            _ => Err(Fault::failed(format!("`in` cannot search {}", container.kind())).into()),
        }
    }

    fn list<'e>(&self, items: &'e [Ir], frame: Option<&'e Frame<'e>>) -> Outcome<Value> {
        let items = items.iter().map(|it| self.eval(it, frame).map(Cow::into_owned));
        items.collect::<Result<Vec<_>, _>>().map(Value::list)
    }

    fn map<'e>(&self, entries: &'e [(Ir, Ir)], frame: Option<&'e Frame<'e>>) -> Outcome<Value> {
        let mut map = BTreeMap::new();
        for (key, value) in entries {
            let key = self.eval(key, frame)?;
            let Some(name) = key.as_str().map(Name::new) else {
                return Err(Fault::failed(format!("a key of a map is text, not {}", key.kind())).into());
            };
            let value = self.eval(value, frame)?.into_owned();
            if let Some(twice) = map.insert(name, value).and(key.as_str()) {
                return Err(Fault::failed(format!("the map has the key `{twice}` twice")).into());
            }
        }
        Ok(Value::map(map))
    }

    fn matches(&self, it: &Value, pattern: &regex::Regex) -> Outcome<bool> {
        let Some(text) = it.as_str() else {
            return Err(Fault::failed(format!("`matches` needs text, not {}", it.kind())).into());
        };
        // A pattern may cost much more per byte than other functions.
        self.budget.items(text.len())?;
        Ok(pattern.is_match(text))
    }

    /// One or two arguments are kept on the stack; more are rare.
    fn call<'e>(
        &self,
        builtin: functions::Builtin,
        arguments: &'e [Ir],
        frame: Option<&'e Frame<'e>>,
    ) -> Outcome<Value> {
        Ok(match arguments {
            [a] => functions::call(builtin, &[self.eval(a, frame)?], &self.budget)?,
            [a, b] => functions::call(builtin, &[self.eval(a, frame)?, self.eval(b, frame)?], &self.budget)?,
            _ => {
                let all = arguments.iter().map(|it| self.eval(it, frame)).collect::<Result<Vec<_>, _>>()?;
                functions::call(builtin, &all, &self.budget)?
            }
        })
    }
}

#[cold]
fn not_a_truth(it: &Value) -> Fault {
    Fault::failed(format!("the condition gives {}, not true or false", it.kind()))
}

fn local<'e>(frame: Option<&'e Frame<'e>>, outwards: usize) -> &'e Value {
    let mut frame = frame;
    for _ in 0..outwards {
        frame = frame.and_then(|it| it.outer);
    }
    frame.map_or(&NULL, |it| it.value)
}

/// A member that is missing is null, and so is every member of null.
fn member<'v>(of: &'v Value, name: &Name) -> Result<&'v Value, Fault> {
    match of {
        Value::Map(entries) => Ok(entries.get(name).unwrap_or(&NULL)),
        Value::Null => Ok(&NULL),
        _ => Err(Fault::failed(format!("{} has no member `{name}`", of.kind()))),
    }
}

fn walk<'v>(root: &'v Value, members: &[Name]) -> Result<&'v Value, Fault> {
    members.iter().try_fold(root, member)
}

fn entry<'v>(of: &'v Value, key: &Value) -> Result<&'v Value, Fault> {
    match (of, key) {
        (Value::Map(entries), Value::Text(key)) => Ok(entries.get(&**key).unwrap_or(&NULL)),
        (Value::List(items), key) => {
            let Some(at) = whole_number(key) else {
                return Err(Fault::failed(format!(
                    "a list index must be a whole number, not {}",
                    key.kind()
                )));
            };
            let found = usize::try_from(at).ok().and_then(|at| items.get(at));
            found.ok_or_else(|| {
                Fault::failed(format!("index {at} is out of range for a list of length {}", items.len()))
            })
        }
        (Value::Null, _) => Ok(&NULL),
        // Null is no key.
        (Value::Map(_), Value::Null) => Ok(&NULL),
        (Value::Map(_), _) => Err(Fault::failed(format!("a key of a map is text, not {}", key.kind()))),
        _ => Err(Fault::failed(format!("{} cannot be indexed", of.kind()))),
    }
}

/// A whole number, also where it is held as a float.
pub(super) fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(it) => Some(*it),
        Value::Float(it) if it.fract() == 0.0 && it.abs() < 9e15 => Some(*it as i64),
        _ => None,
    }
}

/// The running result of `&&`, `||`, `all` and `exists`.
struct Verdict {
    decisive: bool,
    trouble: Option<Box<Fault>>,
}

impl Verdict {
    fn new(decisive: bool) -> Self {
        Self { decisive, trouble: None }
    }

    fn decided_by(&mut self, part: Outcome<bool>) -> Outcome<bool> {
        match part {
            Ok(it) => Ok(it == self.decisive),
            Err(fault) if *fault == Fault::TooExpensive => Err(fault),
            Err(fault) => {
                // A value that is not loaded may still decide the result, so it takes precedence over other
                // faults.
                if self.trouble.is_none() || *fault == Fault::NotLoaded {
                    self.trouble = Some(fault);
                }
                Ok(false)
            }
        }
    }

    fn undecided(self) -> Outcome<bool> {
        self.trouble.map_or(Ok(!self.decisive), Err)
    }
}

#[cfg(test)]
mod tests {
    use crate::guard::Fault;
    use crate::guard::test_scope::{entries, ints, task, texts};
    use crate::time::{Span, Timestamp};
    use crate::value::Value;

    fn yields(source: &str, expected: impl Into<Value>) {
        assert_eq!(task().eval(source), Ok(expected.into()), "{source}");
    }

    fn fails(source: &str, expected: &str) {
        assert_eq!(task().eval(source), Err(Fault::Failed(expected.into())), "{source}");
    }

    #[test]
    fn conditions_of_a_task() {
        yields("actor.id in assigneeIds && size(plan.bullets) >= 3 && reviewCycles < 3", true);
        yields("state == 'REVIEW' ? 'yes' : 'no'", "yes");
        yields("state in ['INBOX', 'DONE']", false);
        yields("'team' in labels && !('x' in labels)", true);
        yields("reviewCycles + 1", 3);
        yields("score * 2 + reviewCycles", Value::Float(5.0));
        yields("reviewCycles == 2.0 && 1.5 == score", true);
        yields("'.worktrees/' + title", ".worktrees/Fix it");
        yields("shout(title) + title.shout()", "FIX ITFIX IT");
        yields("extra.deep.er + 1", 6);
    }

    #[test]
    fn missing_values_are_null() {
        yields("oldPlan.bullets == null", true);
        yields("oldPlan.bullets", Value::Null);
        yields("labels.nope == null && labels['nope'] == null", true);
        yields("extra.no.such.thing", Value::Null);
        yields("nothing[0]", Value::Null);
        yields("has(plan.bullets) && !has(plan.note) && !has(oldPlan.note) && !has(reviewer)", true);
        yields("has(labels['team']) && has(labels.team) && !has(extra.x)", true);
        fails("reviewer < 'x'", "cannot compare nothing with text");
        fails("oldPlan.bullets.exists(it, it == 'x')", "cannot iterate over nothing");
        fails("size(nothing) > 0", "`size` needs text, a list or a map, not nothing");
        fails("extra.deep.er.more", "a whole number has no member `more`");
    }

    #[test]
    fn entries_by_place_and_by_key() {
        yields("numbers[0] + numbers[2]", 5);
        yields("failures + failures['REVIEW']", 8);
        yields("failures[state]", 7);
        yields("failures['DONE']", Value::Null);
        yields("{'low': 1, 'high': 2}['high']", 2);
        yields("{'low': 1, 'high': 2}[title]", Value::Null);
        fails("numbers[3]", "index 3 is out of range for a list of length 3");
        fails("numbers[-1]", "index -1 is out of range for a list of length 3");
        fails("numbers[score]", "a list index must be a whole number, not a number");
    }

    #[test]
    fn arithmetic_never_overflows_silently() {
        fails("9223372036854775807 + numbers[0]", "the result is too large");
        fails("-(-9223372036854775807 - 1)", "the result is too large");
        fails("numbers[0] / 0", "cannot divide by zero");
        fails("numbers[0] % 0", "cannot divide by zero");
        fails("score / 0.0", "the result is not a finite number");
        fails("reviewer + 'x'", "cannot add nothing and text");
        yields("-7 / 2", -3);
        yields("-7 % 2", -1);
        yields("numbers + [reviewCycles]", ints(&[3, 1, 2, 2]));
    }

    #[test]
    fn moments_and_lengths_of_time() {
        yields("now - since", Value::Span(Span(90_000)));
        yields("now - since > duration('1m') && now > since", true);
        yields("since + lease", Value::Time(Timestamp(1_060_000)));
        yields("lease + since == since + lease && since - lease < since", true);
        yields("lease * 2 == duration('2m') && 1.5 * lease == duration('90s')", true);
        yields("lease / duration('30s')", Value::Float(2.0));
        yields("lease / 2", Value::Span(Span(30_000)));
        yields("-lease + lease == duration('0s')", true);
        yields("timestamp('1970-01-01T00:16:40Z') == since", true);
        fails("since + lease * 9223372036854775807", "the result is too large");
    }

    #[test]
    fn loops() {
        yields("numbers.all(n, n > 0) && numbers.exists(n, n == 3) && numbers.exists_one(n, n > 2)", true);
        yields("numbers.map(n, n * 2)", ints(&[6, 2, 4]));
        yields("numbers.map(n, n > 1, n * 2)", ints(&[6, 4]));
        yields("numbers.filter(n, n > 1)", ints(&[3, 2]));
        yields("labels.map(k, k + '!')", texts(&["team!"]));
        yields("numbers.map(a, numbers.filter(b, b < a).size())", ints(&[2, 0, 1]));
        // The variable hides the name.
        yields("numbers.map(title, title + 1)", ints(&[4, 2, 3]));
        yields("{'a': numbers.size()}", entries(&[("a", Value::Int(3))]));
    }

    #[test]
    fn a_deciding_operand_overrules_a_failed_one() {
        for (source, expected) in [
            ("broken || open", Ok(true)),
            ("open || broken", Ok(true)),
            ("broken && !open", Ok(false)),
            ("!open && broken", Ok(false)),
            ("later || open", Ok(true)),
            ("later && !open", Ok(false)),
            ("broken && open", Err(Fault::Failed("broken".into()))),
            ("broken && later", Err(Fault::NotLoaded)),
            ("later && broken", Err(Fault::NotLoaded)),
            ("later || broken || !open", Err(Fault::NotLoaded)),
            ("numbers.exists(n, n == 1 ? broken : n == 2)", Ok(true)),
            ("numbers.all(n, n == 3 ? later : n == 1)", Ok(false)),
            ("numbers.all(n, n == 3 ? broken : n == 1 ? later : open)", Err(Fault::NotLoaded)),
            ("numbers.exists_one(n, n == 1 ? broken : n == 2)", Err(Fault::Failed("broken".into()))),
        ] {
            let mut world = task();
            assert_eq!(world.compile(source).test(&world), expected, "{source}");
        }
    }

    #[test]
    fn only_needed_values_are_read() {
        for (source, reads) in
            [("!open && title == 'x'", 1), ("open ? title : reviewer", 2), ("[1, 2][0]", 0)]
        {
            let mut world = task();
            let _ = world.eval(source);
            assert_eq!(world.reads.get(), reads, "{source}");
        }
    }

    #[test]
    fn a_condition_is_true_or_false() {
        for (source, gives) in [("reviewer", "nothing"), ("title", "text"), ("extra.no", "nothing")] {
            let mut world = task();
            let fault = world.compile(source).test(&world).unwrap_err();
            assert_eq!(fault.to_string(), format!("the condition gives {gives}, not true or false"));
        }
    }
}
