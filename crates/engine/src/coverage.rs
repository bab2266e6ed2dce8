//! The parts of a lifecycle that scenarios must exercise, and those that they did.

use std::collections::BTreeSet;

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Check, Lifecycle, Pack, Take, Target, TimerKind};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::decide::arm_label;
use crate::trace::{Point, PointKind};

/// Every rule of a pack that a scenario can exercise.
pub fn points_of(pack: &Pack) -> BTreeSet<Point> {
    let mut points: BTreeSet<Point> = pack.lifecycles.iter().flat_map(|it| points(it)).collect();
    points.extend(pack.lifecycles.iter().flat_map(|it| crate::work::points(it)));
    points.extend(crate::supervise::points(pack));
    points
}

/// Every rule of a lifecycle that a scenario can exercise.
pub fn points(life: &Lifecycle) -> BTreeSet<Point> {
    let mut all = Collector { life, points: BTreeSet::new() };
    if !life.one {
        all.add(PointKind::Transition, "create".to_owned());
        all.by("create", &life.create.by);
        all.takes("create", &life.create.takes);
        all.require("create", &life.create.require);
        all.checks("create", &life.create.checks);
        if life.create.reason.is_some() {
            all.add(PointKind::Refusal, "create.reason".to_owned());
        }
    }
    for arm in life.transitions.iter().flat_map(|it| &it.arms) {
        let label = arm_label(&arm.transition, arm.index);
        for from in &arm.from.0 {
            all.add(PointKind::Transition, format!("{label} from {from}"));
        }
        if let Target::Choices(choices) = &arm.target {
            for n in 0..choices.len() {
                all.add(PointKind::Transition, format!("{label}.to[{n}]"));
            }
        }
        all.by(&label, &arm.by);
        all.takes(&label, &arm.takes);
        all.checks(&label, &arm.checks);
        if arm.reason.is_some() {
            all.add(PointKind::Refusal, format!("{label}.reason"));
        }
        if arm.holding.is_some() {
            all.add(PointKind::Refusal, format!("{label}.holding"));
        }
    }
    for state in &life.states {
        let label = format!("states.{}", state.name);
        all.require(&label, &state.require);
        all.checks(&label, &state.checks);
        for name in &state.frozen {
            all.add(PointKind::Refusal, format!("{label}.frozen.{name}"));
        }
        for n in 0..state.always.len() {
            all.add(PointKind::Transition, format!("{label}.always.to[{n}]"));
        }
    }
    for ranking in life.rankings.iter().filter(|it| it.claims.is_some()) {
        all.add(PointKind::Transition, format!("rankings.{}.claims", ranking.name));
    }
    for reference in life.refs.iter().filter(|it| it.acyclic) {
        all.add(PointKind::Refusal, format!("refs.{}.acyclic", reference.name));
    }
    for name in &life.evidence {
        all.add(PointKind::Refusal, format!("evidence.{name}"));
    }
    for gate in &life.gates {
        all.add(PointKind::Refusal, format!("gates.{}", gate.name));
    }
    for timer in &life.timers {
        for warn in &timer.warn {
            all.add(PointKind::Deadline, format!("timers.{}.warn.{}%", timer.name, warn.percent));
        }
        if timer.then.is_some() || !matches!(timer.kind, TimerKind::After(_)) {
            all.add(PointKind::Deadline, format!("timers.{}.then", timer.name));
        }
    }
    for slot in &life.slots {
        all.add(PointKind::Deadline, format!("slots.{}.lost", slot.name));
    }
    for counter in life.counters.iter().filter(|it| it.limit.is_some()) {
        for warn in &counter.warn {
            all.add(PointKind::Counter, format!("counters.{}.warn.{}%", counter.name, warn.percent));
        }
        all.add(PointKind::Counter, format!("counters.{}.limit", counter.name));
    }
    for reaction in &life.reactions {
        all.add(PointKind::Reaction, format!("reactions.{}", reaction.name));
    }
    for invariant in &life.invariants {
        all.add(PointKind::Invariant, format!("invariants.{}", invariant.name));
        if invariant.repair.is_some() {
            all.add(PointKind::Invariant, format!("invariants.{}.repair", invariant.name));
        }
    }
    all.points
}

struct Collector<'a> {
    life: &'a Lifecycle,
    points: BTreeSet<Point>,
}

impl Collector<'_> {
    fn add(&mut self, kind: PointKind, what: String) {
        self.points.insert(Point { lifecycle: self.life.name.clone(), kind, what });
    }

    /// An arm open to every actor has no refusal to cover.
    fn by(&mut self, label: &str, by: &Guard) {
        if by.constant() != Some(&Value::Bool(true)) {
            self.add(PointKind::Refusal, format!("{label}.by"));
        }
    }

    fn takes(&mut self, label: &str, takes: &[Take]) {
        for take in takes.iter().filter(|it| it.required.is_some()) {
            self.add(PointKind::Refusal, format!("{label}.takes.{}", take.name));
        }
    }

    fn require(&mut self, label: &str, require: &[(Name, String)]) {
        for (name, _) in require {
            self.add(PointKind::Refusal, format!("{label}.require.{name}"));
        }
    }

    fn checks(&mut self, label: &str, checks: &[Check]) {
        for n in 0..checks.len() {
            self.add(PointKind::Refusal, format!("{label}.when[{n}]"));
        }
    }
}
