//! The model of a lifecycle, put together.

use std::collections::{BTreeMap, BTreeSet};

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Aim, Arm, Consequences, Lifecycle, Pack, State, Target, Warn};
use trackside_lifecycle::name::Name;

use super::callers::{assigned_guards, callers, mentions, people};
use super::claims::{claims, not_claimed};
use super::condition::ModelCondition;
use super::domain::AbstractValue;
use super::draft::{AbstractCaller, Choices, MoveCase, MoveDraft, MoveRule};
use super::frame::VariableSource;
use super::mapping::variable_mappings;
use super::model::{AbstractModel, Assignment, ModelMove, Variable};
use super::shape::EntityShape;
use super::sources::{FireReason, created_field_sets, fire_reasons};

const STAY: &Aim = &Aim::Stay;

/// The model of a lifecycle with these variables.
pub(super) fn build(
    pack: &Pack,
    life: &Lifecycle,
    left_out: &BTreeSet<String>,
    entities: usize,
) -> AbstractModel {
    let shape = EntityShape::new(life, left_out);
    let mut builder = Builder::new(&shape);
    builder.creations(pack);
    for arm in life.arms() {
        for who in callers(&shape, arm) {
            builder.arm(arm, &who, None, None);
        }
    }
    for fired in fire_reasons(pack, life) {
        let arms = life.transition(fired.fire).into_iter().flat_map(|it| &it.arms);
        for arm in arms {
            builder.arm(arm, &ENGINE, fired.given.as_deref(), Some(&fired));
        }
    }
    for state in &life.states {
        builder.always(state);
    }
    builder.warnings();
    builder.time();
    let claims = claims(&shape);
    let variables = shape.parts.iter().map(|it| Variable {
        name: it.name.clone(),
        values: it.domain.labels(),
        holds: it.domain.holds(),
    });
    AbstractModel {
        lifecycle: life.name.clone(),
        entities,
        variables: variables.collect(),
        claims,
        not_claimed: not_claimed(life),
        left_out: left_out.iter().cloned().collect(),
        follows: variable_mappings(&shape),
        steps: builder.steps,
        moves: builder
            .moves
            .into_iter()
            .map(|((when, changes), name)| ModelMove { name, when, changes })
            .collect(),
    }
}

const ENGINE: AbstractCaller =
    AbstractCaller { actor: AbstractValue::Someone, subject: AbstractValue::Someone, engine: true };

struct Builder<'a> {
    shape: &'a EntityShape<'a>,
    /// Moves by condition and changes, so that equal ones exist once.
    moves: BTreeMap<(ModelCondition, Vec<(usize, Assignment)>), String>,
    steps: BTreeSet<(Option<Name>, Name, Name)>,
    /// Variables that may have any value in a state.
    loose: BTreeSet<(u8, usize)>,
}

impl<'a> Builder<'a> {
    fn new(shape: &'a EntityShape<'a>) -> Self {
        Self { shape, moves: BTreeMap::new(), steps: BTreeSet::new(), loose: BTreeSet::new() }
    }

    fn creations(&mut self, pack: &Pack) {
        let shape = self.shape;
        let life = shape.life;
        let trigger = Name::new("create");
        let create = &life.create;
        let births = created_field_sets(pack, life);
        let rule = |given| MoveRule {
            trigger: &trigger,
            by: Some(&create.by),
            takes: &create.takes,
            given,
            checks: &create.checks,
            require: &create.require,
            count: &create.count,
            choices: Choices::One(STAY),
            then: &create.then,
            holding: None,
            late: false,
            creating: true,
        };
        let enter = life.state(&life.initial).map(|it| &it.enter);
        let mut guards: Vec<&Guard> = vec![&create.by];
        guards.extend(create.checks.iter().map(|it| &it.guard));
        guards.extend(assigned_guards(&create.then).chain(enter.into_iter().flat_map(assigned_guards)));
        let subject = create.then.lease.is_some() || enter.is_some_and(|it| it.lease.is_some());
        for who in people(mentions(shape, &guards), subject) {
            self.creation(&rule(None), &who);
        }
        for given in &births {
            let mut rule = rule(Some(given.as_slice()));
            if life.one {
                rule.by = None;
            }
            self.creation(&rule, &ENGINE);
        }
    }

    fn creation(&mut self, rule: &MoveRule<'_>, who: &AbstractCaller) {
        let initial = &self.shape.life.initial;
        let cases = MoveDraft { shape: self.shape, rule, from: initial, who }.cases();
        for case in cases {
            self.add(None, rule.trigger, case, who, ModelCondition::Always);
        }
    }

    fn arm(
        &mut self,
        arm: &Arm,
        who: &AbstractCaller,
        given: Option<&[Name]>,
        fired: Option<&FireReason<'_>>,
    ) {
        let rule = MoveRule {
            trigger: &arm.transition,
            by: Some(&arm.by),
            takes: &arm.takes,
            given,
            checks: &arm.checks,
            require: &[],
            count: &arm.count,
            choices: match &arm.target {
                Target::One(aim) => Choices::One(aim),
                Target::Choices(choices) => Choices::First(choices),
            },
            then: &arm.then,
            holding: arm.holding.as_ref(),
            late: false,
            creating: false,
        };
        for from in &arm.from.0 {
            let may_come = fired.map_or(ModelCondition::Always, |it| it.may_come(self.shape, from));
            if may_come == ModelCondition::Never {
                continue;
            }
            for case in (MoveDraft { shape: self.shape, rule: &rule, from, who }).cases() {
                self.add(Some(from), &arm.transition, case, who, may_come.clone());
            }
        }
    }

    fn always(&mut self, state: &State) {
        if state.always.is_empty() {
            return;
        }
        let trigger = Name::new("always");
        let nothing = Consequences::default();
        let rule = consequence_rule(&trigger, &nothing, Choices::First(&state.always));
        for case in (MoveDraft { shape: self.shape, rule: &rule, from: &state.name, who: &ENGINE }).cases() {
            self.add(Some(&state.name), &trigger, case, &ENGINE, ModelCondition::Always);
        }
    }

    /// The changes of a clock or a limit before it is due.
    fn warnings(&mut self) {
        let life = self.shape.life;
        let open: Vec<&Name> = life.states.iter().filter(|it| !it.last).map(|it| &it.name).collect();
        for timer in &life.timers {
            let runs: Vec<&Name> = timer.runs.0.iter().collect();
            self.warn(&timer.name, &timer.warn, &runs);
        }
        for counter in &life.counters {
            self.warn(&counter.name, &counter.warn, &open);
        }
    }

    fn warn(&mut self, trigger: &Name, warn: &[Warn], states: &[&Name]) {
        for (warn, state) in warn.iter().flat_map(|warn| states.iter().map(move |state| (warn, *state))) {
            let mut rule = consequence_rule(trigger, &warn.then, Choices::One(STAY));
            rule.late = true;
            for case in (MoveDraft { shape: self.shape, rule: &rule, from: state, who: &ENGINE }).cases() {
                self.add(Some(state), trigger, case, &ENGINE, ModelCondition::Always);
            }
        }
    }

    /// Changes by time: leases are lost, windows move on, days begin; unconstrained variables change.
    fn time(&mut self) {
        let shape = self.shape;
        let held = shape.slots.iter().map(|(name, variable)| (format!("{name} is lost"), *variable));
        for (name, variable) in held {
            let when = ModelCondition::Not(Box::new(ModelCondition::Is(variable, 0)));
            self.moves.entry((when, vec![(variable, Assignment::Value(0))])).or_insert(name);
        }
        for counter in &shape.life.counters {
            let shrinks = counter.within.is_some();
            let starts_anew = counter.reset_every.is_some();
            for variable in shape.tallies_of(&counter.name) {
                let values = (0..=u8::MAX).take(shape.size(variable));
                for (from, to) in values.clone().flat_map(|from| values.clone().map(move |to| (from, to))) {
                    if to < from && (shrinks || (starts_anew && to == 0)) {
                        let name = format!("time passes for {}", counter.name);
                        let key =
                            (ModelCondition::Is(variable, from), vec![(variable, Assignment::Value(to))]);
                        self.moves.entry(key).or_insert(name);
                    }
                }
            }
        }
        for (state, variable) in std::mem::take(&mut self.loose) {
            for value in (0..=u8::MAX).take(shape.size(variable)) {
                let name = shape.parts.get(variable).map(|it| it.name.clone()).unwrap_or_default();
                let key = (ModelCondition::Is(0, state), vec![(variable, Assignment::Value(value))]);
                self.moves.entry(key).or_insert(format!("{name} is anything"));
            }
        }
    }

    fn add(
        &mut self,
        from: Option<&Name>,
        trigger: &Name,
        case: MoveCase<'_>,
        who: &AbstractCaller,
        may_come: ModelCondition,
    ) {
        let here = from.map_or(Some(0), |it| self.shape.state(it));
        let Some(here) = here else { return };
        let when = ModelCondition::all(case.when.into_iter().chain([ModelCondition::Is(0, here), may_come]));
        if when == ModelCondition::Never {
            return;
        }
        let there = match case.next.first() {
            Some(VariableSource::Value(it)) => *it,
            _ => here,
        };
        let mut changes = Vec::new();
        for (variable, source) in case.next.iter().enumerate() {
            match source {
                VariableSource::Of(it) if *it == variable => {}
                VariableSource::Of(it) => changes.push((variable, Assignment::Of(*it))),
                VariableSource::More(_, most) => changes.push((variable, Assignment::More(*most))),
                VariableSource::Value(0) if from.is_none() => {}
                VariableSource::Value(it) if variable == 0 && *it == here => {}
                VariableSource::Value(it) => changes.push((variable, Assignment::Value(*it))),
                VariableSource::Any => {
                    self.loose.insert((there, variable));
                }
            }
        }
        let states = &self.shape.life.states;
        let to = usize::from(there).checked_sub(1).and_then(|it| states.get(it)).map(|it| it.name.clone());
        let Some(to) = to else { return };
        let by = match (&who.actor, who.engine) {
            (_, true) => " by the engine",
            (AbstractValue::Person(1), _) => " by a1",
            (AbstractValue::Person(_), _) => " by a2",
            _ => "",
        };
        let name = format!("{trigger}: {} -> {to}{by}", from.map_or("absent", Name::as_str));
        self.steps.insert((from.cloned(), trigger.clone(), to));
        if !changes.is_empty() {
            self.moves.entry((when, changes)).or_insert(name);
        }
    }
}

fn consequence_rule<'r>(trigger: &'r Name, then: &'r Consequences, choices: Choices<'r>) -> MoveRule<'r> {
    MoveRule {
        trigger,
        by: None,
        takes: &[],
        given: None,
        checks: &[],
        require: &[],
        count: &[],
        choices,
        then,
        holding: None,
        late: false,
        creating: false,
    }
}
