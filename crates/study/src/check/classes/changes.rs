//! Findings about changes: frozen fields, invalid values, leases that are never granted.

use trackside_lifecycle::guard::{Guard, Outline};
use trackside_lifecycle::model::{AssignTarget, Consequences, FieldType, Lifecycle, Read, With};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;

use crate::check::class::Class;
use crate::check::finding::Finding;
use crate::check::survey::{Study, Survey};
use crate::graph::{arm_way, sites, timer_way};

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        check_frozen_fields(study, found);
        holding(study, found);
        check_fired_values(survey, study, found);
        for part in sites(study.life()) {
            misfits(survey, study, part.then, &part.way, found);
        }
    }
}

/// Constants that do not fit where they are put.
fn misfits(
    survey: &Survey<'_>,
    study: &Study<'_>,
    then: &Consequences,
    way: &DefinitionPath,
    found: &mut Vec<Finding>,
) {
    let life = study.life();
    for assign in &then.set {
        if let AssignTarget::Field(name) = &assign.target
            && let Some(field) = life.field(name)
        {
            let way = way.clone().key("set").key(name);
            misfit(study, name, &field.fits, &assign.value, way, found);
        }
    }
    for (n, it) in then.then.iter().enumerate() {
        check_sent_values(
            survey,
            study,
            (&life.name, &it.fire),
            &it.with,
            &way.clone().key("then").item(n),
            found,
        );
    }
    for (n, it) in then.also.iter().enumerate() {
        check_sent_values(
            survey,
            study,
            (&it.to, &it.fire),
            &it.with,
            &way.clone().key("also").item(n),
            found,
        );
    }
}

/// Checks the values that timers, counters and reactions send.
fn check_fired_values(survey: &Survey<'_>, study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    let timers = life.timers.iter().map(|it| (timer_way(life, it).key("then"), it.then.as_ref()));
    let counters =
        life.counters.iter().map(|it| (DefinitionPath::of(["counters", &it.name, "then"]), it.then.as_ref()));
    for (way, then) in timers.chain(counters) {
        if let Some(then) = then {
            check_sent_values(survey, study, (&life.name, &then.fire), &then.with, &way, found);
        }
    }
    for it in &life.reactions {
        let way = DefinitionPath::of(["reactions", &it.name]);
        check_sent_values(survey, study, (&life.name, &it.fire), &it.with, &way, found);
    }
}

fn check_sent_values(
    survey: &Survey<'_>,
    study: &Study<'_>,
    (lifecycle, fire): (&Name, &Name),
    with: &With,
    way: &DefinitionPath,
    found: &mut Vec<Finding>,
) {
    let arms = survey.study(lifecycle).and_then(|it| it.life().transition(fire)).map(|it| it.arms.as_slice());
    for (name, value) in with {
        let takes = arms.into_iter().flatten().flat_map(|it| &it.takes).filter(|it| it.name == *name);
        let takes: Vec<&FieldType> = takes.map(|it| &it.fits).collect();
        // One of several arms that takes it is enough.
        if let [fits] = takes.as_slice() {
            misfit(study, name, fits, value, way.clone().key("with").key(name), found);
        }
    }
}

fn misfit(
    study: &Study<'_>,
    name: &Name,
    fits: &FieldType,
    value: &Guard,
    way: DefinitionPath,
    found: &mut Vec<Finding>,
) {
    let Some(constant) = value.constant() else { return };
    if let Some(why) = fits.accept(name, constant).err().and_then(|it| it.into_iter().next()) {
        let message = format!("`{}` is never valid for `{name}`: {}", value.source(), why.message);
        let advice = "use a valid value, or widen the field's type";
        found.push(Finding::new(Class::UnmeetableRequirement, study.name(), way, message, advice));
    }
}

/// Transitions that change frozen fields.
fn check_frozen_fields(study: &Study<'_>, found: &mut Vec<Finding>) {
    let (life, graph) = (study.life(), &study.graph);
    for it in graph.moves.iter().filter(|it| graph.is_reached(it.from)) {
        if !study.facts.work.step() {
            return;
        }
        let (Some(from), Some(to)) = (life.states.get(it.from), life.states.get(it.to)) else { continue };
        for field in &from.frozen {
            let asked = it.arm.is_some_and(|arm| {
                arm.takes.iter().any(|it| it.stored && it.required.is_some() && it.name == *field)
            });
            let parts =
                [it.arm.map(|it| &it.then), it.choice.map(|it| &it.then), Some(&from.exit), Some(&to.enter)];
            let set = parts.into_iter().flatten().flat_map(|it| &it.set).any(|assign| {
                matches!(&assign.target, AssignTarget::Field(name) if name == field)
                    && !keeps(life, field, &assign.value.outline())
            });
            if asked || set {
                let how = if asked { "requires a new" } else { "sets" };
                let message = format!(
                    "`{}` {how} `{field}`, which is frozen in {}: a changed value is refused",
                    it.by, from.name
                );
                let advice = format!(
                    "remove `{field}` from `frozen`, or change it before the entity enters {}",
                    from.name
                );
                let way =
                    it.arm.map_or_else(|| DefinitionPath::of(["states", &from.name, "frozen"]), arm_way);
                found.push(
                    Finding::new(Class::FrozenChange, study.name(), way, message, advice)
                        .by_way_of(graph.route(it.from)),
                );
            }
        }
    }
}

fn keeps(life: &Lifecycle, field: &Name, value: &Outline) -> bool {
    match value {
        Outline::Read(slot, members) if members.is_empty() => {
            matches!(life.reads.get(slot.0 as usize), Some(Read::Field(it) | Read::Was(it)) if it == field)
        }
        // The field keeps its value under some condition.
        Outline::If(parts) => parts.iter().skip(1).any(|it| keeps(life, field, it)),
        _ => false,
    }
}

/// Leases that a rule requires but none grants.
fn holding(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    let granted =
        |slot: &Name| sites(life).iter().any(|it| it.then.lease.as_ref().is_some_and(|it| it.slot == *slot));
    for arm in life.arms() {
        if let Some(slot) = arm.holding.as_ref().filter(|it| !granted(it)) {
            let message = format!("`{}` needs the lease `{slot}`, which nothing grants", arm.transition);
            let advice = format!("grant it where the work starts: `lease: {slot}`");
            found.push(Finding::new(
                Class::NeverGranted,
                study.name(),
                arm_way(arm).key("holding"),
                message,
                advice,
            ));
        }
    }
}
