//! Decides whether a rule may be taken, and lists every unmet condition at once.

use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::model::{
    Aim, AssignTarget, Check, Choice, Consequences, Lifecycle, State, StateSet,
};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::allowed::targets_of;
use super::plan::{Aims, Rule, RulePlan};
use super::request::{Request, names};
use super::scope::{EntityScope, NO_FIELDS, SINGLE};
use super::{DecisionBuilder, Stop};
use crate::entity::{Entity, Tally};
use crate::event::TallyChange;
use crate::fields::Fields;
use crate::refusal::{Code, ConditionCode, Unmet};
use crate::trace::PointKind;

/// The choice and the target state, or the reason why there is no target.
type Aimed = Result<(Option<usize>, Option<Name>), Unmet>;

/// The changes that a rule would make to its own entity, and the problems with them.
pub(super) struct RuleOutcome {
    pub fields: Vec<(Name, Value)>,
    tallies: Vec<TallyChange>,
    grants: Vec<(Name, Name)>,
    /// Values that could not be computed, and slots that could not be granted.
    faults: Vec<Unmet>,
    /// Frozen fields that the rule would change.
    frozen: Vec<Unmet>,
}

impl DecisionBuilder<'_> {
    /// The plan of a rule for this entity and request, or every unmet condition.
    pub fn assess<'l>(
        &self,
        life: &'l Lifecycle,
        entity: &Entity,
        rule: &Rule<'_>,
        request: &Request,
    ) -> Result<Result<RulePlan<'l>, Vec<Unmet>>, Stop> {
        let mut unmet = Vec::new();
        let mut plan = self.accept(life, rule, request, &mut unmet);
        self.holding(life, entity, rule, request, &mut unmet);
        if let (Some(message), None) =
            (rule.reason, request.reason.as_ref().filter(|it| !it.trim().is_empty()))
        {
            self.record_point(life, PointKind::Refusal, || format!("{}.reason", rule.label));
            unmet.push(Unmet::new(ConditionCode::Missing, message).of("reason"));
        }
        let around = self.surroundings();
        let mut scope = EntityScope {
            around: &around,
            life,
            entity,
            taken: &plan.taken,
            base: &plan.sent,
            changed: &[],
            counted: &[],
            was: if rule.creating { NO_FIELDS.get() } else { &entity.fields },
            request,
            ask: None,
            it: None,
        };
        self.checks(&scope, rule.checks, &rule.label, &mut unmet)?;
        let clear = unmet.is_empty();
        let counts = match self.count(life, &scope, rule.count) {
            Ok(it) => it,
            Err(Stop::Refused(refusal)) => {
                unmet.extend(refusal.errors.into_iter().filter(|_| clear));
                return Ok(Err(unmet));
            }
            Err(stop) => return Err(stop),
        };
        let counted: Vec<TallyChange> = counts.iter().map(|it| it.change.clone()).collect();
        scope.counted = &counted;
        let (choice, to) = match self.aim(&scope, rule)? {
            Ok(it) => it,
            Err(reason) => {
                if clear || reason.field.is_some() {
                    unmet.push(reason);
                }
                return Ok(Err(unmet));
            }
        };
        if let Some(reason) = another_choice(&scope, rule, to.as_ref()) {
            unmet.push(reason);
            return Ok(Err(unmet));
        }
        let RuleOutcome { fields, tallies, grants, faults, frozen } =
            self.outcome(&scope, rule, choice, to.as_ref())?;
        // Evaluation faults are reported only if nothing else is wrong: a missing field also breaks the
        // expressions that read it.
        if clear {
            unmet.extend(faults);
        }
        unmet.extend(frozen);
        let after = EntityScope { changed: &fields, ..scope };
        self.check_required(&after, rule.require, rule.label.as_str(), &mut unmet);
        if let Some(state) = entered_state(life, entity, rule, to.as_ref()) {
            let label = if self.is_traced() { format!("states.{}", state.name) } else { String::new() };
            self.check_required(&after, &state.require, &label, &mut unmet);
            self.checks(&after, &state.checks, &label, &mut unmet)?;
        }
        if !unmet.is_empty() {
            return Ok(Err(unmet));
        }
        plan.counted = counts;
        plan.to = to;
        plan.choice = choice;
        plan.fields = fields;
        plan.tallies = tallies;
        plan.grants = grants;
        Ok(Ok(plan))
    }

    /// Computes the changes of a rule: those of the arm, its choice, and the states it leaves and enters.
    pub fn outcome(
        &self,
        scope: &EntityScope<'_>,
        rule: &Rule<'_>,
        choice: Option<usize>,
        to: Option<&Name>,
    ) -> Result<RuleOutcome, Stop> {
        let (life, entity) = (scope.life, scope.entity);
        let differs = |name: &Name, value: &Value| rule.creating || entity.fields.value(name) != *value;
        let mut fields: Vec<(Name, Value)> =
            scope.base.iter().filter(|(name, it)| differs(name, it)).cloned().collect();
        let mut tallies = Vec::new();
        let chosen = match rule.aims {
            Aims::Choices(choices) => choice.and_then(|it| choices.get(it)).map(|it| &it.then),
            Aims::One(_) => None,
        };
        let mut grants = Vec::new();
        let mut faults = Vec::new();
        let leaving = life.state(&entity.state).filter(|_| to.is_some() && !rule.creating).map(|it| &it.exit);
        for consequences in [Some(rule.then), chosen, leaving].into_iter().flatten() {
            self.sets(scope, consequences, &mut fields, &mut tallies, &mut faults)?;
        }
        // A lease that leaving releases can be granted again by the same move.
        let mut released: Vec<Name> = Vec::new();
        for consequences in [Some(rule.then), chosen, leaving].into_iter().flatten() {
            self.releases(life, consequences, &mut fields, &mut released);
        }
        for consequences in [Some(rule.then), chosen].into_iter().flatten() {
            self.grants(scope, consequences, &released, &mut fields, &mut grants, &mut faults)?;
        }
        let state = entered_state(life, entity, rule, to);
        if let Some(state) = state
            && changes_anything(&state.enter)
        {
            let mut there = entity.clone();
            if !rule.creating {
                there.previous_state = Some(entity.state.clone());
                there.state = state.name.clone();
            }
            let before = fields.clone();
            let inside = EntityScope { entity: &there, changed: &before, ..*scope };
            self.sets(&inside, &state.enter, &mut fields, &mut tallies, &mut faults)?;
            self.releases(life, &state.enter, &mut fields, &mut released);
            grants.retain(|(slot, _)| !state.enter.release.contains(slot));
            self.grants(&inside, &state.enter, &released, &mut fields, &mut grants, &mut faults)?;
        }
        let mut frozen = Vec::new();
        self.check_frozen(life, entity, rule, &fields, &mut frozen);
        if let Some(kept) = state.and_then(|it| it.erase.as_ref()) {
            for (name, _) in entity.fields.iter().filter(|(name, _)| !kept.contains(name)) {
                put(&mut fields, name, Value::Null);
            }
            fields.retain(|(name, value)| value.is_null() || kept.contains(name));
        }
        Ok(RuleOutcome { fields, tallies, grants, faults, frozen })
    }

    /// Sorts the sent fields into taken, ignored and unexpected ones.
    fn accept<'l>(
        &self,
        life: &'l Lifecycle,
        rule: &Rule<'_>,
        request: &Request,
        unmet: &mut Vec<Unmet>,
    ) -> RulePlan<'l> {
        let mut taken = Fields::default();
        let mut sent: Vec<(Name, Value)> = Vec::new();
        let mut ignored = Vec::new();
        let bound = || life.gates.iter().filter(|it| it.binds(&rule.trigger)).flat_map(|it| &it.takes);
        for (name, value) in request.fields.iter() {
            let take = rule.takes.iter().chain(bound()).find(|it| it.name == *name);
            let owned = life.field(name).filter(|it| it.engine && it.is.is_none());
            // At creation, the engine may also set the fields that only it writes.
            let furnished = if take.is_none() && request.engine && rule.creating { owned } else { None };
            if take.is_some() || furnished.is_some() {
                let fits = take.map(|it| &it.fits).or(furnished.map(|it| &it.fits));
                let stored = take.is_none_or(|it| it.stored);
                let ids = (request.engine && stored).then(|| self.reference_ids(life, name, value.clone()));
                match fits.map(|it| it.accept(name, ids.as_ref().unwrap_or(value))) {
                    Some(Ok(value)) if take.is_some_and(|it| !it.stored) => taken.put(name, value),
                    // Null sent at creation keeps the default.
                    Some(Ok(value)) if rule.creating && value.is_null() => {}
                    Some(Ok(value)) => sent.push((name.clone(), value)),
                    Some(Err(misfits)) => {
                        for misfit in misfits {
                            unmet.push(Unmet::new(misfit.code, misfit.message).of(&misfit.path));
                        }
                    }
                    None => {}
                }
            } else if *name == *"to" && rule.asks() {
                taken.put(name, value.clone());
            } else if life.field(name).is_some_and(|it| it.engine) {
                ignored.push(name.clone());
            } else {
                unmet.push(Unmet::new(Code::UnexpectedField, unexpected(name, rule)).of(name));
            }
        }
        if let Some(state) = &request.asked
            && rule.asks()
            && taken.get("to").is_none()
        {
            taken.put(&Name::new("to"), Value::from(state));
        }
        for take in rule.takes {
            let Some(message) = &take.required else { continue };
            let value = match take.stored {
                true => sent.iter().find(|(it, _)| *it == take.name).map(|(_, value)| value),
                false => taken.get(&take.name),
            };
            if value.is_none_or(Value::is_blank) && !has_error_for(unmet, &take.name) {
                self.record_point(life, PointKind::Refusal, || format!("{}.takes.{}", rule.label, take.name));
                let reason = blank(&take.name, value, message);
                unmet.push(reason);
            }
        }
        RulePlan {
            to: None,
            choice: None,
            taken,
            sent,
            fields: Vec::new(),
            counted: Vec::new(),
            tallies: Vec::new(),
            grants: Vec::new(),
            ignored,
        }
    }

    pub fn checks(
        &self,
        scope: &EntityScope<'_>,
        checks: &[Check],
        label: &str,
        unmet: &mut Vec<Unmet>,
    ) -> Result<(), Stop> {
        let clear = unmet.is_empty();
        for (n, check) in checks.iter().enumerate() {
            let mut reason = match self.test(scope, &check.guard)? {
                Ok(true) => continue,
                // A failure of the engine itself raises an alert.
                Ok(false) if self.brief && !scope.request.engine => {
                    let mut reason = Unmet::new(Code::GuardFailed, String::new());
                    reason.field.clone_from(&check.field);
                    unmet.push(reason);
                    continue;
                }
                Ok(false) => {
                    let message = check.says.render(scope).unwrap_or_else(|_| check.says.source().to_owned());
                    Unmet::new(Code::GuardFailed, message)
                }
                Err(_) if !clear => continue,
                Err(fault) => Unmet::new(
                    Code::EvaluationFailed,
                    format!("`{}` could not be answered: {fault}", check.guard.source()),
                ),
            };
            self.record_point(scope.life, PointKind::Refusal, || format!("{label}.when[{n}]"));
            reason.field.clone_from(&check.field);
            reason.rule = Some(Name::new(check.guard.source()));
            reason.saw = scope.values_read(&check.guard);
            unmet.push(reason);
        }
        Ok(())
    }

    pub fn check_required(
        &self,
        scope: &EntityScope<'_>,
        required: &[(Name, String)],
        label: &str,
        unmet: &mut Vec<Unmet>,
    ) {
        for (name, message) in required {
            let value = scope.field(name);
            if !value.is_blank() {
                continue;
            }
            self.record_point(scope.life, PointKind::Refusal, || format!("{label}.require.{name}"));
            if !has_error_for(unmet, name) {
                unmet.push(blank(name, Some(&value), message));
            }
        }
    }

    /// The choice and the target state, or the reason why there is no target.
    pub fn aim(&self, scope: &EntityScope<'_>, rule: &Rule<'_>) -> Result<Aimed, Stop> {
        let (choice, aim) = match rule.aims {
            Aims::One(aim) => (None, aim),
            Aims::Choices(choices) => {
                let mut found = None;
                for (n, choice) in choices.iter().enumerate() {
                    match choice.when.as_ref().map_or(Ok(Ok(true)), |it| self.test(scope, it))? {
                        Ok(true) => {
                            found = Some((n, &choice.aim));
                            break;
                        }
                        Ok(false) => {}
                        Err(fault) => {
                            let source = choice.when.as_ref().map(|it| it.source()).unwrap_or_default();
                            let message = format!("`{source}` could not be answered: {fault}");
                            return Ok(Err(Unmet::new(Code::EvaluationFailed, message)));
                        }
                    }
                }
                match found {
                    Some((n, aim)) => (Some(n), aim),
                    None => return Ok(Err(Unmet::new(ConditionCode::NoTarget, "none of its choices fits"))),
                }
            }
        };
        Ok(target(scope, aim).map(|to| (choice, to)))
    }

    fn sets(
        &self,
        scope: &EntityScope<'_>,
        from: &Consequences,
        fields: &mut Vec<(Name, Value)>,
        tallies: &mut Vec<TallyChange>,
        faults: &mut Vec<Unmet>,
    ) -> Result<(), Stop> {
        for assign in &from.set {
            let value = match self.eval(scope, &assign.value)? {
                Ok(value) => value,
                Err(fault) => {
                    let message = format!("`{}` could not be computed: {fault}", assign.value.source());
                    faults.push(Unmet::new(Code::EvaluationFailed, message));
                    continue;
                }
            };
            match &assign.target {
                AssignTarget::Field(name) => {
                    let value = self.reference_ids(scope.life, name, value);
                    let fits = scope.life.field(name).map(|it| it.fits.accept(name, &value));
                    match fits {
                        Some(Ok(value)) => put(fields, name, value),
                        Some(Err(misfits)) => {
                            for misfit in misfits {
                                faults.push(Unmet::new(misfit.code, misfit.message).of(&misfit.path));
                            }
                        }
                        None => put(fields, name, value),
                    }
                }
                AssignTarget::Counter(name) => {
                    let per_state = scope.life.counter(name).map(|it| &it.tally);
                    let key = match per_state {
                        Some(trackside_lifecycle::model::TallyBy::PerState) => scope.entity.state.clone(),
                        _ => Name::new(SINGLE),
                    };
                    tallies.push(set_tally(scope, name, key, &value));
                }
                AssignTarget::CounterAt(name, key) => match self.eval(scope, key)? {
                    Ok(Value::Text(key)) => tallies.push(set_tally(scope, name, key, &value)),
                    _ => faults
                        .push(Unmet::new(Code::EvaluationFailed, format!("`{}` gives no key", key.source()))),
                },
            }
        }
        for name in &from.clear {
            put(fields, name, Value::Null);
        }
        for name in &from.reset {
            tallies.push(TallyChange { counter: name.clone(), key: Name::new(""), tally: None });
        }
        Ok(())
    }

    fn check_frozen(
        &self,
        life: &Lifecycle,
        entity: &Entity,
        rule: &Rule<'_>,
        fields: &[(Name, Value)],
        unmet: &mut Vec<Unmet>,
    ) {
        if rule.creating {
            return;
        }
        let Some(state) = life.state(&entity.state) else { return };
        for name in &state.frozen {
            if fields.iter().any(|(it, value)| it == name && *value != entity.fields.value(name)) {
                self.record_point(life, PointKind::Refusal, || {
                    format!("states.{}.frozen.{name}", state.name)
                });
                unmet.push(
                    Unmet::new(Code::Frozen, format!("{name} cannot change while {}", state.name)).of(name),
                );
            }
        }
    }
}

/// The reason why a rule does not lead to the requested state, if only one of its conditional choices would.
fn another_choice(scope: &EntityScope<'_>, rule: &Rule<'_>, to: Option<&Name>) -> Option<Unmet> {
    let (Some(asked), Aims::Choices(choices)) = (&scope.request.asked, rule.aims) else { return None };
    let leads = |it: &Choice| targets_of(scope, &it.aim).contains(asked);
    if rule.trigger == *names::ALWAYS || to == Some(asked) || choices.last().is_some_and(leads) {
        return None;
    }
    let when = choices.iter().find(|it| leads(it))?.when.as_ref()?;
    let instead = to.map_or("it stays as it is".to_owned(), |it| format!("it leads to {it}"));
    let message = format!("{} leads to {asked} only if `{}`; now {instead}", rule.trigger, when.source());
    let mut reason = Unmet::new(Code::GuardFailed, message);
    reason.rule = Some(Name::new(when.source()));
    reason.saw = scope.values_read(when);
    Some(reason)
}

/// The state that a rule enters, if it enters any.
fn entered_state<'l>(
    life: &'l Lifecycle,
    entity: &Entity,
    rule: &Rule<'_>,
    to: Option<&Name>,
) -> Option<&'l State> {
    let target = if rule.creating { Some(&entity.state) } else { to };
    target.and_then(|it| life.state(it))
}

/// Whether consequences touch the entity itself.
fn changes_anything(it: &Consequences) -> bool {
    !(it.set.is_empty()
        && it.clear.is_empty()
        && it.reset.is_empty()
        && it.lease.is_none()
        && it.release.is_empty())
}

fn set_tally(scope: &EntityScope<'_>, counter: &Name, key: Name, value: &Value) -> TallyChange {
    let value = value.as_float().unwrap_or_default();
    let window = scope.life.counter(counter).is_some_and(|it| it.within.is_some() || it.last.is_some());
    let marks = if window { vec![(scope.around.now, value)] } else { Vec::new() };
    TallyChange { counter: counter.clone(), key, tally: Some(Tally { value, marks, warned: 0 }) }
}

pub(super) fn put(fields: &mut Vec<(Name, Value)>, name: &Name, value: Value) {
    match fields.iter_mut().find(|(it, _)| it == name) {
        Some((_, old)) => *old = value,
        None => fields.push((name.clone(), value)),
    }
}

fn has_error_for(unmet: &[Unmet], field: &Name) -> bool {
    unmet.iter().filter_map(|it| it.field.as_ref()).any(|it| {
        it == field || it.strip_prefix(field.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']))
    })
}

fn blank(name: &Name, value: Option<&Value>, message: &str) -> Unmet {
    let code =
        if matches!(value, Some(Value::List(_))) { ConditionCode::TooFew } else { ConditionCode::Missing };
    Unmet::new(code, message).of(name)
}

fn unexpected(name: &Name, rule: &Rule<'_>) -> String {
    let known: Vec<&str> = rule.takes.iter().map(|it| it.name.as_str()).collect();
    if known.is_empty() {
        return format!("{} takes no fields; leave {name} out", rule.trigger);
    }
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("{} does not take {name}; did you mean {near}?", rule.trigger),
        None => format!("{} does not take {name}; it takes {}", rule.trigger, known.join(", ")),
    }
}

/// The state that an aim currently names.
pub(super) fn target(scope: &EntityScope<'_>, aim: &Aim) -> Result<Option<Name>, Unmet> {
    let life = scope.life;
    let state = |name: Name| match life.state(&name) {
        Some(state) => Ok(Some(state.name.clone())),
        None => Err(Unmet::new(ConditionCode::NoTarget, format!("{} has no state {name}", life.name))),
    };
    match aim {
        Aim::Stay => Ok(None),
        Aim::State(name) => Ok(Some(name.clone())),
        Aim::Field(field) => {
            match scope.field(field) {
                Value::Text(name) => state(name),
                _ => Err(Unmet::new(ConditionCode::NoTarget, format!("{field} does not say where to go"))
                    .of(field)),
            }
        }
        Aim::Table(table) => match table.get(&scope.entity.state) {
            Some(name) => Ok(Some(name.clone())),
            None => Err(Unmet::new(
                ConditionCode::NoTarget,
                format!("there is no way on from {}", scope.entity.state),
            )),
        },
        Aim::Next { of } => {
            let from = base(scope, of.as_ref());
            let next = life.rank(&from).and_then(|it| life.path.get(it + 1));
            match next {
                Some(name) => Ok(Some(name.clone())),
                None => Err(Unmet::new(ConditionCode::NoTarget, format!("nothing comes after {from}"))),
            }
        }
        Aim::Ask { among, earlier, of } => {
            let legal = askable(scope, among, *earlier, of.as_ref());
            let list = legal.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
            match scope.taken.get("to") {
                Some(Value::Text(name)) if legal.iter().any(|it| **it == **name) => Ok(Some(name.clone())),
                Some(Value::Text(name)) => {
                    let near = nearest(name, legal.iter().map(Name::as_str));
                    let near = near.map(|it| format!("; did you mean {it}?")).unwrap_or_default();
                    let message = format!("{name} is no place to go from here; choose one of {list}{near}");
                    Err(Unmet::new(ConditionCode::NotOneOf, message).of("to"))
                }
                _ => Err(Unmet::new(ConditionCode::Missing, format!("Say where to: one of {list}")).of("to")),
            }
        }
    }
}

/// The states a caller may name.
pub(super) fn askable(
    scope: &EntityScope<'_>,
    among: &StateSet,
    earlier: bool,
    of: Option<&Name>,
) -> Vec<Name> {
    let life = scope.life;
    let limit = earlier.then(|| life.rank(&base(scope, of)).unwrap_or(0));
    let fits = |name: &Name| limit.is_none_or(|limit| life.rank(name).is_some_and(|it| it < limit));
    among.0.iter().filter(|it| fits(it)).cloned().collect()
}

fn base(scope: &EntityScope<'_>, of: Option<&Name>) -> Name {
    match of.map(|it| scope.field(it)) {
        Some(Value::Text(state)) => state,
        _ => scope.entity.state.clone(),
    }
}
