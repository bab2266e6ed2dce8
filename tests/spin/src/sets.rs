//! Assignments, case by case.

use trackside_lifecycle::guard::Outline;
use trackside_lifecycle::model::{AssignTarget, Consequences, Read, TallyBy};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::condition::ModelCondition;
use super::domain::AbstractValue;
use super::draft::{CASES, MoveCase, MoveDraft, put};
use super::eval::slot_place;
use super::frame::VariableSource;
use super::tallies::forget;
use super::tree::tree;

impl<'a> MoveDraft<'a, '_> {
    pub(super) fn sets(&self, all: &mut Vec<MoveCase<'a>>, from: &Consequences) {
        let shape = self.shape;
        for assign in &from.set {
            let value = assign.value.outline();
            match &assign.target {
                AssignTarget::Field(name) => {
                    if let Some(variable) = shape.fields.get(name) {
                        self.assign(all, *variable, &value);
                    }
                }
                AssignTarget::Counter(name) => {
                    let per_state =
                        shape.life.counter(name).is_some_and(|it| matches!(it.tally, TallyBy::PerState));
                    let key = per_state.then(|| self.from.clone());
                    if let Some(variable) = shape.tallies.get(&(name.clone(), key)) {
                        self.assign(all, *variable, &value);
                    }
                }
                AssignTarget::CounterAt(name, key) => self.assign_at(all, name, &key.outline(), &value),
            }
        }
        for name in &from.clear {
            if let Some(variable) = shape.fields.get(name) {
                all.iter_mut().for_each(|it| put(&mut it.next, *variable, VariableSource::Value(0)));
            }
        }
        for name in &from.reset {
            if let Some(counter) = shape.life.counter(name) {
                forget(shape, all, counter, None);
            }
        }
    }

    /// One tally by its key: every key that it may be.
    fn assign_at(&self, all: &mut Vec<MoveCase<'a>>, counter: &Name, key: &Outline, value: &Outline) {
        let keys: Vec<(Option<Name>, usize)> = self
            .shape
            .tallies
            .iter()
            .filter(|((it, _), _)| it == counter)
            .map(|((_, key), variable)| (key.clone(), *variable))
            .collect();
        let mut done = Vec::new();
        for case in all.drain(..) {
            let tree = tree(&case.frame, key);
            for (key, variable) in &keys {
                let is_key = |it: &AbstractValue| match (it, key) {
                    (AbstractValue::Known(Value::Text(text)), Some(key)) => **key == **text,
                    (it, _) => !matches!(it, AbstractValue::Known(_)) || key.is_none(),
                };
                let mut case = case.clone();
                case.when.push(tree.when(&is_key));
                let mut cases = vec![case];
                self.assign(&mut cases, *variable, value);
                done.append(&mut cases);
            }
            let is_none = |it: &AbstractValue| match it {
                AbstractValue::Known(Value::Text(text)) => {
                    keys.iter().all(|(it, _)| it.as_ref().is_none_or(|it| **it != **text))
                }
                AbstractValue::Known(_) => false,
                _ => true,
            };
            let mut case = case;
            case.when.push(tree.when(&is_none));
            done.push(case);
        }
        done.retain(|it| ModelCondition::all(it.when.iter().cloned()) != ModelCondition::Never);
        *all = done;
    }

    /// Assigns the value of an expression to a variable, case by case.
    fn assign(&self, all: &mut Vec<MoveCase<'a>>, variable: usize, value: &Outline) {
        let shape = self.shape;
        let copied = match value {
            Outline::Read(slot, members) if members.is_empty() => {
                match shape.life.reads.get(slot_place(*slot)) {
                    Some(Read::Field(name)) => shape.fields.get(name).copied(),
                    _ => None,
                }
            }
            _ => None,
        };
        if let Some(from) = copied.filter(|it| shape.domain(*it) == shape.domain(variable)) {
            all.iter_mut().for_each(|it| {
                let source = it.frame.source(from);
                put(&mut it.next, variable, source);
            });
            return;
        }
        let room = all.len() * shape.size(variable) <= CASES;
        let mut done = Vec::new();
        for mut case in all.drain(..) {
            let tree = tree(&case.frame, value);
            let results: Vec<(u8, ModelCondition)> = (0..=u8::MAX)
                .take(shape.size(variable))
                .map(|it| (it, tree.when(&|value| shape.encode(variable, value).contains(&it))))
                .filter(|(_, cond)| *cond != ModelCondition::Never)
                .collect();
            if results.len() > 1 && !room {
                put(&mut case.next, variable, VariableSource::Any);
                done.push(case);
                continue;
            }
            for (value, cond) in results {
                let mut case = case.clone();
                case.when.push(cond);
                put(&mut case.next, variable, VariableSource::Value(value));
                done.push(case);
            }
        }
        *all = done;
    }
}
