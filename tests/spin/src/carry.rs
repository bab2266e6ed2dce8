//! The results of a move: sets, resets, leases, and the requirements and entry steps of the target.

use std::collections::BTreeSet;

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Choice, Consequences, Grant};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::condition::ModelCondition;
use super::domain::{AbstractValue, Domain};
use super::draft::{MoveCase, MoveDraft, narrow, put};
use super::frame::VariableSource;
use super::tallies::forget;
use super::tree::{may, tree};

impl<'a> MoveDraft<'a, '_> {
    fn forward(&self, to: Option<&Name>) -> bool {
        let life = self.shape.life;
        to.and_then(|it| life.rank(it)).zip(life.rank(self.from)).is_some_and(|(to, from)| to > from)
    }

    /// Sets, resets, leases, and the requirements and entry steps of the target.
    pub(super) fn carry(&self, all: &mut Vec<MoveCase<'a>>, choice: Option<&Choice>) {
        let life = self.shape.life;
        let leaving = life.state(self.from).map(|it| &it.exit);
        let targets: BTreeSet<Option<Name>> = all.iter().map(|it| it.to.clone()).collect();
        let mut done = Vec::new();
        for to in targets {
            let mut cases: Vec<MoveCase<'a>> = all.iter().filter(|it| it.to == to).cloned().collect();
            let moves = to.is_some() && !self.rule.creating;
            let parts = [Some(self.rule.then), choice.map(|it| &it.then), leaving.filter(|_| moves)];
            let parts: Vec<&Consequences> = parts.into_iter().flatten().collect();
            let entered = if self.rule.creating { Some(self.from) } else { to.as_ref() };
            let state = entered.and_then(|it| life.state(it));
            for counter in &life.counters {
                if counter.reset_on.contains(self.rule.trigger) {
                    forget(self.shape, &mut cases, counter, None);
                }
                if counter.reset_forward
                    && self.forward(to.as_ref())
                    && !self.rule.count.contains(&counter.name)
                {
                    forget(self.shape, &mut cases, counter, Some(self.from));
                }
            }
            for part in &parts {
                self.sets(&mut cases, part);
            }
            for part in &parts {
                self.releases(&mut cases, part);
            }
            for part in parts.iter().take(1 + usize::from(choice.is_some())) {
                self.grants(&mut cases, part.lease.as_ref());
            }
            if let Some(state) = state {
                for case in &mut cases {
                    case.frame.now.clone_from(&case.next);
                    if !self.rule.creating {
                        case.frame.previous = AbstractValue::Known(self.from.into());
                    }
                    case.frame.state = AbstractValue::Known((&state.name).into());
                }
                self.sets(&mut cases, &state.enter);
                self.releases(&mut cases, &state.enter);
                self.grants(&mut cases, state.enter.lease.as_ref());
                if let Some(kept) = &state.erase {
                    let fields =
                        self.shape.fields.iter().filter(|(name, _)| !kept.contains(name)).map(|(_, it)| it);
                    for variable in fields.chain(self.shape.slots.values()) {
                        cases
                            .iter_mut()
                            .for_each(|it| put(&mut it.next, *variable, VariableSource::Value(0)));
                    }
                }
            }
            // Requirements are judged on the result, but still from the state that is left.
            for case in &mut cases {
                case.frame.now.clone_from(&case.next);
                case.frame.state = AbstractValue::Known(self.from.into());
                case.frame.previous = AbstractValue::Unknown;
            }
            let required = self.rule.require.iter().chain(state.into_iter().flat_map(|it| &it.require));
            for (field, _) in required {
                let Some(variable) = self.shape.fields.get(field) else { continue };
                let present = self.shape.domain(*variable).map(Domain::present).unwrap_or_default();
                narrow(&mut cases, |it| it.frame.when(*variable, &present));
            }
            for check in state.into_iter().flat_map(|it| &it.checks) {
                narrow(&mut cases, |it| may(&it.frame, &check.guard, true));
            }
            if moves {
                for case in &mut cases {
                    case.frame.previous = AbstractValue::Known(self.from.into());
                    case.frame.state =
                        to.as_ref().map_or(AbstractValue::Unknown, |it| AbstractValue::Known(it.into()));
                }
                for counter in life.counters.iter().filter(|it| it.on_moves) {
                    self.count(&mut cases, counter);
                }
                for case in &mut cases {
                    case.next.clone_from(&case.frame.now);
                }
            }
            if let (true, Some(variable), Some(left)) =
                (moves, self.shape.previous, self.shape.state(self.from))
            {
                cases.iter_mut().for_each(|it| put(&mut it.next, variable, VariableSource::Value(left)));
            }
            if let Some(number) = entered.and_then(|it| self.shape.state(it)) {
                cases.iter_mut().for_each(|it| put(&mut it.next, 0, VariableSource::Value(number)));
            }
            done.append(&mut cases);
        }
        *all = done;
    }

    fn releases(&self, all: &mut [MoveCase<'a>], from: &Consequences) {
        for name in &from.release {
            let slot = self.shape.life.slot(name);
            let shown = slot.into_iter().flat_map(|it| [&it.holder, &it.until]).flatten();
            let shown = shown.filter_map(|it| self.shape.fields.get(it));
            for variable in shown.chain(self.shape.slots.get(name)) {
                all.iter_mut().for_each(|it| put(&mut it.next, *variable, VariableSource::Value(0)));
            }
        }
    }

    fn grants(&self, all: &mut Vec<MoveCase<'a>>, grant: Option<&Grant>) {
        let Some(slot) = grant.and_then(|it| self.shape.life.slot(&it.slot)) else { return };
        let lease = self.shape.slots.get(&slot.name).copied();
        let holder = slot.holder.as_ref().and_then(|it| self.shape.fields.get(it)).copied();
        let until = slot.until.as_ref().and_then(|it| self.shape.fields.get(it)).copied();
        let to = grant.and_then(|it| it.to.as_ref()).map(Guard::outline);
        let mut done = Vec::new();
        for mut case in all.drain(..) {
            if let Some(until) = until {
                let there = self.shape.encode(until, &AbstractValue::There).first().copied();
                put(&mut case.next, until, VariableSource::Value(there.unwrap_or_default()));
            }
            let whom = match &to {
                None => vec![(case.frame.subject.clone(), ModelCondition::Always)],
                Some(to) => {
                    let tree = tree(&case.frame, to);
                    let people = [AbstractValue::Person(1), AbstractValue::Person(2), AbstractValue::Someone];
                    let is = |who: &AbstractValue, it: &AbstractValue| match it {
                        AbstractValue::Known(Value::Null) => false,
                        AbstractValue::Known(_) => *who == AbstractValue::Someone,
                        AbstractValue::Person(_) | AbstractValue::Someone => it == who,
                        _ => true,
                    };
                    people
                        .into_iter()
                        .map(|who| {
                            let cond = tree.when(&|it| is(&who, it));
                            (who, cond)
                        })
                        .collect()
                }
            };
            for (who, cond) in whom {
                let mut case = case.clone();
                case.when.push(cond);
                for variable in [lease, holder].into_iter().flatten() {
                    let value = self.shape.encode(variable, &who).first().copied();
                    put(&mut case.next, variable, VariableSource::Value(value.unwrap_or_default()));
                }
                done.push(case);
            }
        }
        done.retain(|it| ModelCondition::all(it.when.iter().cloned()) != ModelCondition::Never);
        *all = done;
    }
}
