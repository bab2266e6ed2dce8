//! `all`, `exists`, `exists_one`, `map`, `filter`.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::{Evaluator, Frame, Outcome, Verdict};
use crate::guard::Fault;
use crate::guard::ir::{Ir, Loop, LoopKind};
use crate::value::Value;

impl Evaluator<'_> {
    pub(super) fn run_loop<'e>(&self, it: &'e Loop, outer: Option<&'e Frame<'e>>) -> Outcome<Value> {
        let range = self.eval(&it.range, outer)?;
        match &it.kind {
            LoopKind::All(test) => self.decide(&range, false, test, outer),
            LoopKind::Exists(test) => self.decide(&range, true, test, outer),
            LoopKind::ExistsOne(test) => {
                let mut count = 0_usize;
                self.for_each_item(&range, |item| {
                    count += usize::from(self.condition(test, Some(&Frame { value: item, outer }))?);
                    Ok(ControlFlow::Continue(()))
                })?;
                Ok(Value::Bool(count == 1))
            }
            LoopKind::Collect { when, yields } => self.collect(&range, when.as_ref(), yields.as_ref(), outer),
        }
    }

    fn decide(&self, range: &Value, decisive: bool, test: &Ir, outer: Option<&Frame<'_>>) -> Outcome<Value> {
        let mut verdict = Verdict::new(decisive);
        let mut decided = false;
        self.for_each_item(range, |item| {
            decided = verdict.decided_by(self.condition(test, Some(&Frame { value: item, outer })))?;
            Ok(if decided { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        if decided { Ok(Value::Bool(decisive)) } else { verdict.undecided().map(Value::Bool) }
    }

    fn collect(
        &self,
        range: &Value,
        when: Option<&Ir>,
        yields: Option<&Ir>,
        outer: Option<&Frame<'_>>,
    ) -> Outcome<Value> {
        let mut collected = Vec::new();
        self.for_each_item(range, |item| {
            let frame = Frame { value: item, outer };
            let wanted = match when {
                Some(when) => self.condition(when, Some(&frame))?,
                None => true,
            };
            if wanted {
                collected.push(match yields {
                    Some(yields) => self.eval(yields, Some(&frame)).map(Cow::into_owned)?,
                    None => item.clone(),
                });
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Value::list(collected))
    }

    /// Hands out the items of a list, or the keys of a map.
    fn for_each_item(
        &self,
        range: &Value,
        mut visit: impl FnMut(&Value) -> Outcome<ControlFlow<()>>,
    ) -> Outcome<()> {
        match range {
            Value::List(items) => {
                for item in items.iter() {
                    self.budget.step()?;
                    if visit(item)?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
            Value::Map(entries) => {
                for key in entries.keys() {
                    self.budget.step()?;
                    if visit(&Value::from(key))?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
            _ => Err(Fault::failed(format!("cannot iterate over {}", range.kind())).into()),
        }
    }
}
