//! The effects of one rule on an entity, case by case.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Aim, Check, Choice, Consequences, Counter, Take};
use trackside_lifecycle::name::Name;

use super::condition::ModelCondition;
use super::domain::AbstractValue;
use super::frame::{MoveFrame, VariableSource};
use super::shape::EntityShape;
use super::tallies::count_cases;
use super::tree::{may, may_if};

/// Most cases of one rule. Beyond that, a variable becomes unconstrained: it may take any value in the
/// target state.
pub(super) const CASES: usize = 150;

/// The caller.
#[derive(Clone, Debug)]
pub(super) struct AbstractCaller {
    pub actor: AbstractValue,
    pub subject: AbstractValue,
    pub engine: bool,
}

/// The common parts of an arm, a creation and a state's `always`.
pub(super) struct MoveRule<'r> {
    pub trigger: &'r Name,
    pub by: Option<&'r Guard>,
    pub takes: &'r [Take],
    /// The only fields it sends, if they are known; they need not be in `takes`.
    pub given: Option<&'r [Name]>,
    pub checks: &'r [Check],
    pub require: &'r [(Name, String)],
    pub count: &'r [Name],
    pub choices: Choices<'r>,
    pub then: &'r Consequences,
    pub holding: Option<&'r Name>,
    /// Whether it follows from an earlier move, so that `was` refers to older values.
    pub late: bool,
    pub creating: bool,
}

pub(super) enum Choices<'r> {
    One(&'r Aim),
    First(&'r [Choice]),
}

/// One case of a rule.
#[derive(Clone, Debug)]
pub(super) struct MoveCase<'a> {
    pub when: Vec<ModelCondition>,
    /// The scope of its expressions.
    pub frame: MoveFrame<'a>,
    /// The variables as they will be.
    pub next: Vec<VariableSource>,
    /// None: it stays in its state.
    pub to: Option<Name>,
}

pub(super) struct MoveDraft<'a, 'r> {
    pub shape: &'a EntityShape<'a>,
    pub rule: &'r MoveRule<'r>,
    pub from: &'r Name,
    pub who: &'r AbstractCaller,
}

impl<'a> MoveDraft<'a, '_> {
    /// Every case of the rule.
    pub fn cases(&self) -> Vec<MoveCase<'a>> {
        let mut all = vec![self.begin()];
        if !self.rule.creating {
            self.check_permission(&mut all);
        }
        self.take_fields(&mut all);
        if self.rule.creating {
            self.check_permission(&mut all);
        }
        for check in self.rule.checks {
            narrow(&mut all, |it| may(&it.frame, &check.guard, true));
        }
        for name in self.rule.count {
            if let Some(counter) = self.shape.life.counter(name) {
                self.count(&mut all, counter);
            }
        }
        let mut done = Vec::new();
        for (mut cases, choice) in self.split_by_target(all) {
            for case in &mut cases {
                case.next.clone_from(&case.frame.now);
            }
            self.carry(&mut cases, choice);
            done.append(&mut cases);
        }
        done.retain(|it| ModelCondition::all(it.when.iter().cloned()) != ModelCondition::Never);
        done
    }

    fn begin(&self) -> MoveCase<'a> {
        let mut frame = MoveFrame::still(self.shape, AbstractValue::Known(self.from.into()));
        frame.actor = self.who.actor.clone();
        frame.subject = self.who.subject.clone();
        frame.engine = Some(self.who.engine);
        frame.first = !self.rule.late;
        if self.rule.creating {
            frame.previous = AbstractValue::NULL;
            for (name, variable) in &self.shape.fields {
                let default = self.shape.life.field(name).map(|it| it.default.clone()).unwrap_or_default();
                let value = self.shape.encode(*variable, &AbstractValue::Known(default)).first().copied();
                frame.put(*variable, VariableSource::Value(value.unwrap_or_default()));
            }
            let others =
                self.shape.tallies.values().chain(self.shape.slots.values()).chain(&self.shape.previous);
            for variable in others {
                frame.put(*variable, VariableSource::Value(0));
            }
        }
        let next = frame.now.clone();
        MoveCase { when: Vec::new(), frame, next, to: None }
    }

    fn check_permission(&self, all: &mut Vec<MoveCase<'a>>) {
        if let Some(by) = self.rule.by {
            narrow(all, |it| may(&it.frame, by, true));
        }
        if let Some(slot) = self.rule.holding.filter(|_| !self.who.engine)
            && let Some(variable) = self.shape.slots.get(slot)
        {
            let holders = self.shape.encode(*variable, &self.who.subject);
            let holders: Vec<u8> = holders.into_iter().filter(|it| *it != 0).collect();
            narrow(all, |it| it.frame.when(*variable, &holders));
        }
    }

    /// The fields of the request: any value that fits.
    fn take_fields(&self, all: &mut Vec<MoveCase<'a>>) {
        let given = |name: &Name| self.rule.given.is_none_or(|it| it.contains(name));
        let mut fields: Vec<(usize, bool)> = Vec::new();
        for (name, variable) in &self.shape.fields {
            let take = self.rule.takes.iter().find(|it| it.stored && it.name == *name);
            let furnished = self.rule.creating && self.rule.given.is_some_and(|it| it.contains(name));
            if (take.is_some() && given(name)) || furnished {
                fields.push((*variable, take.is_some_and(|it| it.required.is_some())));
            }
        }
        for (variable, required) in fields {
            let values = match self.shape.domain(variable) {
                Some(domain) if required => domain.present(),
                _ => (0..=u8::MAX).take(self.shape.size(variable)).collect(),
            };
            if all.len() * values.len() > CASES {
                all.iter_mut().for_each(|it| it.frame.put(variable, VariableSource::Any));
                continue;
            }
            *all = all
                .iter()
                .flat_map(|case| {
                    values.iter().map(|value| {
                        let mut case = case.clone();
                        case.frame.put(variable, VariableSource::Value(*value));
                        case
                    })
                })
                .collect();
        }
    }

    pub(super) fn count(&self, all: &mut Vec<MoveCase<'a>>, counter: &Counter) {
        let mut done = Vec::new();
        for case in all.drain(..) {
            let counts = may_if(&case.frame, counter.only_if.as_ref(), true);
            let passes = may_if(&case.frame, counter.only_if.as_ref(), false);
            if counts != ModelCondition::Never {
                let mut case = case.clone();
                case.when.push(counts);
                done.extend(count_cases(self.shape, case, counter));
            }
            if passes != ModelCondition::Never {
                let mut case = case;
                case.when.push(passes);
                done.push(case);
            }
        }
        *all = done;
    }
}

pub(super) fn put(next: &mut [VariableSource], variable: usize, source: VariableSource) {
    if let Some(place) = next.get_mut(variable) {
        *place = source;
    }
}

pub(super) fn narrow(all: &mut Vec<MoveCase<'_>>, when: impl Fn(&MoveCase<'_>) -> ModelCondition) {
    for case in all.iter_mut() {
        let cond = when(case);
        case.when.push(cond);
    }
    all.retain(|it| it.when.last() != Some(&ModelCondition::Never));
}
