//! The effects of one rule on an entity, case by case.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Aim, Check, Choice, Consequences, Counter, Take};
use trackside_lifecycle::name::Name;

use super::cond::Cond;
use super::domain::Abs;
use super::frame::{Frame, Source};
use super::shape::Shape;
use super::tallies::counted;
use super::tree::{may, may_if};

/// Most cases of one rule. Beyond that, a variable becomes unconstrained: it may take any value in the
/// target state.
pub(super) const CASES: usize = 150;

/// The caller.
#[derive(Clone, Debug)]
pub(super) struct Who {
    pub actor: Abs,
    pub subject: Abs,
    pub engine: bool,
}

/// The common parts of an arm, a creation and a state's `always`.
pub(super) struct Rule<'r> {
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
pub(super) struct Case<'a> {
    pub when: Vec<Cond>,
    /// The scope of its expressions.
    pub frame: Frame<'a>,
    /// The variables as they will be.
    pub next: Vec<Source>,
    /// None: it stays in its state.
    pub to: Option<Name>,
}

pub(super) struct Work<'a, 'r> {
    pub shape: &'a Shape<'a>,
    pub rule: &'r Rule<'r>,
    pub from: &'r Name,
    pub who: &'r Who,
}

impl<'a> Work<'a, '_> {
    /// Every case of the rule.
    pub fn cases(&self) -> Vec<Case<'a>> {
        let mut all = vec![self.begin()];
        if !self.rule.creating {
            self.permitted(&mut all);
        }
        self.sent(&mut all);
        if self.rule.creating {
            self.permitted(&mut all);
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
        for (mut cases, choice) in self.aimed(all) {
            for case in &mut cases {
                case.next.clone_from(&case.frame.now);
            }
            self.carry(&mut cases, choice);
            done.append(&mut cases);
        }
        done.retain(|it| Cond::all(it.when.iter().cloned()) != Cond::Never);
        done
    }

    fn begin(&self) -> Case<'a> {
        let mut frame = Frame::still(self.shape, Abs::Known(self.from.into()));
        frame.actor = self.who.actor.clone();
        frame.subject = self.who.subject.clone();
        frame.engine = Some(self.who.engine);
        frame.first = !self.rule.late;
        if self.rule.creating {
            frame.previous = Abs::NULL;
            for (name, variable) in &self.shape.fields {
                let default = self.shape.life.field(name).map(|it| it.default.clone()).unwrap_or_default();
                let value = self.shape.encode(*variable, &Abs::Known(default)).first().copied();
                frame.put(*variable, Source::Value(value.unwrap_or_default()));
            }
            let others =
                self.shape.tallies.values().chain(self.shape.slots.values()).chain(&self.shape.previous);
            for variable in others {
                frame.put(*variable, Source::Value(0));
            }
        }
        let next = frame.now.clone();
        Case { when: Vec::new(), frame, next, to: None }
    }

    fn permitted(&self, all: &mut Vec<Case<'a>>) {
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
    fn sent(&self, all: &mut Vec<Case<'a>>) {
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
                all.iter_mut().for_each(|it| it.frame.put(variable, Source::Any));
                continue;
            }
            *all = all
                .iter()
                .flat_map(|case| {
                    values.iter().map(|value| {
                        let mut case = case.clone();
                        case.frame.put(variable, Source::Value(*value));
                        case
                    })
                })
                .collect();
        }
    }

    pub(super) fn count(&self, all: &mut Vec<Case<'a>>, counter: &Counter) {
        let mut done = Vec::new();
        for case in all.drain(..) {
            let counts = may_if(&case.frame, counter.only_if.as_ref(), true);
            let passes = may_if(&case.frame, counter.only_if.as_ref(), false);
            if counts != Cond::Never {
                let mut case = case.clone();
                case.when.push(counts);
                done.extend(counted(self.shape, case, counter));
            }
            if passes != Cond::Never {
                let mut case = case;
                case.when.push(passes);
                done.push(case);
            }
        }
        *all = done;
    }
}

pub(super) fn put(next: &mut [Source], variable: usize, source: Source) {
    if let Some(place) = next.get_mut(variable) {
        *place = source;
    }
}

pub(super) fn narrow(all: &mut Vec<Case<'_>>, when: impl Fn(&Case<'_>) -> Cond) {
    for case in all.iter_mut() {
        let cond = when(case);
        case.when.push(cond);
    }
    all.retain(|it| it.when.last() != Some(&Cond::Never));
}
