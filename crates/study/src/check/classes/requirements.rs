//! Required fields that no rule can set.

use std::collections::BTreeSet;

use trackside_lifecycle::guard::Outline;
use trackside_lifecycle::model::{AssignTarget, Consequences, Lifecycle, Take};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;

use crate::check::class::Class;
use crate::check::finding::Finding;
use crate::check::firing::EngineMove;
use crate::check::graph::PossibleMove;
use crate::check::satisfy::CallerKind;
use crate::check::survey::{Study, Survey};
use crate::graph::{Origin, arm_way, sites};
use crate::graph::{after, targets};

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        let furnished = fields_set_at_creation(survey, study.name());
        let have = fields_by_state(study, &survey.firings, &furnished);
        check_required(study, &survey.firings, &have, &furnished, found);
    }
}

/// Fields that rules set on entities they create.
fn fields_set_at_creation(survey: &Survey<'_>, lifecycle: &Name) -> BTreeSet<Name> {
    let mut all = BTreeSet::new();
    for other in &survey.pack.lifecycles {
        for birth in
            sites(other).iter().flat_map(|it| &it.then.create).filter(|it| it.lifecycle == *lifecycle)
        {
            all.extend(birth.fields.iter().map(|(name, _)| name.clone()));
        }
    }
    all
}

/// The fields that may be there in each state.
fn fields_by_state(
    study: &Study<'_>,
    firings: &[EngineMove<'_>],
    furnished: &BTreeSet<Name>,
) -> Vec<BTreeSet<Name>> {
    let (life, graph) = (study.life(), &study.graph);
    let mut have: Vec<BTreeSet<Name>> = vec![BTreeSet::new(); graph.states.len()];
    if let Some(initial) = graph.place(&life.initial).and_then(|it| have.get_mut(it)) {
        *initial = fields_after_creation(life, furnished);
    }
    loop {
        let before = have.clone();
        for it in &graph.moves {
            if !study.facts.work.steps(1 + firings.len()) {
                return have;
            }
            let after = fields_after_move(life, it, before.get(it.from), firings);
            if let Some(there) = have.get_mut(it.to) {
                there.extend(after);
            }
        }
        for part in sites(life) {
            let here: Vec<Name> = match part.origin {
                Origin::Arm(arm) => {
                    arm.from.0.iter().filter(|it| after(life, arm, it).contains(it)).cloned().collect()
                }
                Origin::Choice(arm, choice) => arm
                    .from
                    .0
                    .iter()
                    .filter(|it| targets(life, &choice.aim, it).contains(it))
                    .cloned()
                    .collect(),
                Origin::Always(state, ..) => vec![state.clone()],
                Origin::Timer(timer, _) => timer.runs.0.clone(),
                Origin::Counter(_) => graph.states.clone(),
                Origin::Create | Origin::Enter(_) | Origin::Exit(_) => Vec::new(),
            };
            let takes: &[Take] = match part.origin {
                Origin::Arm(arm) | Origin::Choice(arm, ..) => &arm.takes,
                _ => &[],
            };
            for state in here.iter().filter_map(|it| graph.place(it)) {
                if let Some(there) = have.get_mut(state) {
                    there.extend(takes.iter().filter(|it| it.stored).map(|it| it.name.clone()));
                    apply_assignments(life, there, part.then, false);
                }
            }
        }
        if have == before {
            return have;
        }
    }
}

fn fields_after_creation(life: &Lifecycle, furnished: &BTreeSet<Name>) -> BTreeSet<Name> {
    let mut fields: BTreeSet<Name> =
        life.fields.values().filter(|it| !it.default.is_blank()).map(|it| it.name.clone()).collect();
    fields.extend(furnished.iter().cloned());
    fields.extend(life.create.takes.iter().filter(|it| it.stored).map(|it| it.name.clone()));
    apply_assignments(life, &mut fields, &life.create.then, true);
    if let Some(state) = life.state(&life.initial) {
        apply_assignments(life, &mut fields, &state.enter, true);
    }
    fields
}

/// The fields that may be there after a move.
fn fields_after_move(
    life: &Lifecycle,
    it: &PossibleMove<'_>,
    before: Option<&BTreeSet<Name>>,
    firings: &[EngineMove<'_>],
) -> BTreeSet<Name> {
    let mut fields = before.cloned().unwrap_or_default();
    if let Some(arm) = it.arm {
        let stored = arm.takes.iter().filter(|it| it.stored).map(|it| &it.name);
        fields.extend(stored.filter(|name| is_brought(life, it, name, firings)).cloned());
    }
    let exit = life.states.get(it.from).map(|it| &it.exit);
    let enter = life.states.get(it.to).map(|it| &it.enter);
    for then in [it.arm.map(|it| &it.then), it.choice.map(|it| &it.then), exit, enter].into_iter().flatten() {
        apply_assignments(life, &mut fields, then, true);
    }
    fields
}

/// Whether a caller may send the field. If only the engine moves the entity, a rule must send it.
fn is_brought(life: &Lifecycle, it: &PossibleMove<'_>, field: &Name, firings: &[EngineMove<'_>]) -> bool {
    let fires = |firing: &&EngineMove<'_>| firing.rule.lifecycle == life.name && firing.rule.fire == it.by;
    it.who.iter().any(|it| *it != CallerKind::Engine)
        || firings.iter().filter(fires).any(|it| it.brings.as_ref().is_none_or(|it| it.contains(field)))
}

fn apply_assignments(life: &Lifecycle, fields: &mut BTreeSet<Name>, then: &Consequences, clears: bool) {
    if clears {
        fields.retain(|it| !then.clear.contains(it));
    }
    for assign in &then.set {
        if let AssignTarget::Field(name) = &assign.target
            && !is_nothing(&assign.value.outline())
        {
            fields.insert(name.clone());
        }
    }
    if let Some(slot) = then.lease.as_ref().and_then(|it| life.slot(&it.slot)) {
        fields.extend([&slot.holder, &slot.until].into_iter().flatten().cloned());
    }
}

fn is_nothing(value: &Outline) -> bool {
    matches!(value, Outline::Constant(it) if it.is_blank())
}

fn check_required(
    study: &Study<'_>,
    firings: &[EngineMove<'_>],
    have: &[BTreeSet<Name>],
    furnished: &BTreeSet<Name>,
    found: &mut Vec<Finding>,
) {
    let (life, graph) = (study.life(), &study.graph);
    for it in graph.moves.iter().filter(|it| graph.is_reached(it.from)) {
        if !study.facts.work.steps(1 + firings.len()) {
            return;
        }
        let Some(state) = life.states.get(it.to) else { continue };
        let there = fields_after_move(life, it, have.get(it.from), firings);
        for (field, _) in state.require.iter().filter(|(field, _)| !there.contains(field)) {
            let message = format!(
                "`{}` leads to {}, which requires `{field}`: neither it nor an earlier transition sets it",
                it.by, state.name
            );
            let advice = format!("take or set `{field}` in it, or in an earlier transition");
            let way =
                it.arm.map_or_else(|| DefinitionPath::of(["states", graph.name(it.from), "always"]), arm_way);
            found.push(
                Finding::new(Class::UnmeetableRequirement, study.name(), way, message, advice)
                    .by_way_of(graph.route(it.from)),
            );
        }
    }
    let there = fields_after_creation(life, furnished);
    let first = life.state(&life.initial).map(|it| it.require.as_slice()).unwrap_or_default();
    for (field, _) in life.create.require.iter().chain(first).filter(|(field, _)| !there.contains(field)) {
        let message = format!("`create` requires `{field}`, but neither takes nor sets it");
        let advice = format!("add `{field}` to `takes` of `create`, or set it there");
        found.push(Finding::new(
            Class::UnmeetableRequirement,
            study.name(),
            DefinitionPath::of(["create", "require"]),
            message,
            advice,
        ));
    }
}
