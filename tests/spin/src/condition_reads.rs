//! The reads of a lifecycle's conditions.

use std::collections::BTreeMap;

use trackside_lifecycle::guard::{Guard, Outline};
use trackside_lifecycle::model::{Aim, Consequences, Fit, Lifecycle, Read, Target};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::claims::entity_promises;
use super::domain::AbstractValue;
use super::eval::{eval, slot_place};
use super::frame::MoveFrame;
use super::shape::EntityShape;

/// A field that names a target counts as this many conditions.
const AIMS: usize = 10;

/// The name of the variable that holds the state before the present one.
pub(super) const PREVIOUS: &str = "previousState";

/// The uses of a field or a counter in conditions.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadSummary {
    /// The number of conditions that use it.
    pub times: usize,
    /// A property does.
    pub proved: bool,
    /// The whole numbers that it is compared with.
    pub compared: Vec<i64>,
    /// Whether it is compared with an actor's id.
    pub person: bool,
    /// Whether its presence matters.
    pub presence: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ConditionReads {
    pub fields: BTreeMap<Name, ReadSummary>,
    pub counters: BTreeMap<Name, ReadSummary>,
    pub slots: BTreeMap<Name, ReadSummary>,
    /// The state before the present one, under its own name.
    pub previous: BTreeMap<Name, ReadSummary>,
}

/// All reads of the conditions.
pub(super) fn condition_reads(shape: &EntityShape<'_>) -> ConditionReads {
    let life = shape.life;
    let mut asked = ConditionReads::default();
    for (guard, proved) in conditions(life) {
        let mut one = ConditionReads::default();
        one.look(shape, &guard.outline());
        asked.add(one, proved);
    }
    let required = life.states.iter().flat_map(|it| &it.require).chain(&life.create.require);
    for (field, _) in required {
        let about = asked.fields.entry(field.clone()).or_default();
        about.times += 1;
        about.presence = true;
    }
    for slot in life.arms().filter_map(|it| it.holding.as_ref()) {
        asked.slots.entry(slot.clone()).or_default().times += 1;
    }
    for aim in aims(life) {
        if let Aim::Field(field) | Aim::Ask { of: Some(field), .. } | Aim::Next { of: Some(field) } = aim {
            asked.fields.entry(field.clone()).or_default().times += AIMS;
        }
    }
    asked
}

/// Every condition that decides about moves, and every promise; the latter marked.
fn conditions(life: &Lifecycle) -> Vec<(&Guard, bool)> {
    let mut all: Vec<&Guard> = Vec::new();
    let arms = || life.arms();
    for arm in arms() {
        all.push(&arm.by);
        all.extend(arm.checks.iter().map(|it| &it.guard));
        all.extend(consequence_guards(&arm.then));
        if let Target::Choices(choices) = &arm.target {
            for choice in choices {
                all.extend(&choice.when);
                all.extend(consequence_guards(&choice.then));
            }
        }
    }
    all.push(&life.create.by);
    all.extend(life.create.checks.iter().map(|it| &it.guard));
    all.extend(consequence_guards(&life.create.then));
    for state in &life.states {
        all.extend(state.checks.iter().map(|it| &it.guard));
        all.extend(state.always.iter().filter_map(|it| it.when.as_ref()));
        all.extend(consequence_guards(&state.enter));
        all.extend(consequence_guards(&state.exit));
    }
    all.extend(life.reactions.iter().map(|it| &it.when));
    all.extend(life.timers.iter().filter_map(|it| it.then.as_ref()?.when.as_ref()));
    all.extend(life.counters.iter().filter_map(|it| it.then.as_ref()?.when.as_ref()));
    let promised = entity_promises(life).into_iter().map(|it| (it.guard, it.proved));
    all.into_iter().map(|it| (it, false)).chain(promised).collect()
}

fn consequence_guards(from: &Consequences) -> impl Iterator<Item = &Guard> {
    from.then.iter().filter_map(|it| it.when.as_ref())
}

fn aims(life: &Lifecycle) -> Vec<&Aim> {
    let on = life.states.iter().flat_map(|it| &it.always).map(|it| &it.aim);
    life.arms().flat_map(|it| it.target.aims()).chain(on).collect()
}

impl ConditionReads {
    /// Repeated reads of one condition count once.
    fn add(&mut self, one: ConditionReads, proved: bool) {
        let merge = |into: &mut BTreeMap<Name, ReadSummary>, from: BTreeMap<Name, ReadSummary>| {
            for (name, about) in from {
                let all = into.entry(name).or_default();
                all.times += usize::from(about.times > 0);
                all.proved |= proved;
                all.compared.extend(about.compared);
                all.person |= about.person;
                all.presence |= about.presence;
            }
        };
        merge(&mut self.fields, one.fields);
        merge(&mut self.counters, one.counters);
        merge(&mut self.slots, one.slots);
        merge(&mut self.previous, one.previous);
    }

    /// One condition, with the expressions behind its names.
    fn look(&mut self, shape: &EntityShape<'_>, outline: &Outline) {
        match outline {
            Outline::Equal(both) | Outline::Differ(both) => self.compare(shape, both, true),
            Outline::Less(both) | Outline::AtMost(both) | Outline::More(both) | Outline::AtLeast(both) => {
                self.compare(shape, both, false);
            }
            Outline::In(both) => {
                let [item, range] = &**both;
                if is_id(shape, item) && is_ids(shape, range) {
                    for side in [item, range] {
                        if let Some(about) = self.field(shape, side) {
                            about.person = true;
                        }
                    }
                }
            }
            Outline::Has(of) => self.there(shape, of),
            Outline::Call(name, arguments) if name == "Size" => {
                if let [of] = arguments.as_slice() {
                    self.there(shape, of);
                }
            }
            Outline::Index(both) => {
                if let Some(name) = both.first().and_then(|it| counter(shape, it)) {
                    self.counters.entry(name).or_default().times += 1;
                }
            }
            Outline::Read(slot, members) if members.is_empty() => {
                let place = slot_place(*slot);
                if let Some(inner) = shape.outlines.get(&place) {
                    self.look(shape, inner);
                }
                match shape.life.reads.get(place) {
                    Some(Read::Field(name) | Read::Was(name)) => {
                        self.fields.entry(name.clone()).or_default().times += 1;
                    }
                    Some(Read::Counter(name) | Read::Counters(name)) => {
                        self.counters.entry(name.clone()).or_default().times += 1;
                    }
                    Some(Read::PreviousState) => {
                        self.previous.entry(Name::new(PREVIOUS)).or_default().times += 1;
                    }
                    Some(Read::Slot(name, _)) => self.slots.entry(name.clone()).or_default().times += 1,
                    _ => {}
                }
            }
            _ => {}
        }
        for part in outline.parts() {
            self.look(shape, part);
        }
    }

    fn compare(&mut self, shape: &EntityShape<'_>, both: &[Outline; 2], equality: bool) {
        let [a, b] = both;
        for (side, other) in [(a, b), (b, a)] {
            let is_null = matches!(other, Outline::Constant(Value::Null));
            let number = constant(shape, other);
            let person = equality && is_id(shape, side) && is_id(shape, other);
            if let Some(about) = self.field(shape, side) {
                about.presence |= equality && is_null;
                about.compared.extend(number);
                about.person |= person;
            }
            let tally = match side {
                Outline::Index(of) => of.first().and_then(|it| counter(shape, it)),
                side => counter(shape, side),
            };
            if let Some(name) = tally {
                self.counters.entry(name).or_default().compared.extend(number);
            }
        }
    }

    fn there(&mut self, shape: &EntityShape<'_>, of: &Outline) {
        if let Some(about) = self.field(shape, of) {
            about.presence = true;
        }
    }

    fn field(&mut self, shape: &EntityShape<'_>, of: &Outline) -> Option<&mut ReadSummary> {
        let Outline::Read(slot, members) = of else { return None };
        match shape.life.reads.get(slot_place(*slot)) {
            Some(Read::Field(name) | Read::Was(name)) if members.is_empty() => {
                Some(self.fields.entry(name.clone()).or_default())
            }
            _ => None,
        }
    }
}

fn counter(shape: &EntityShape<'_>, of: &Outline) -> Option<Name> {
    let Outline::Read(slot, _) = of else { return None };
    match shape.life.reads.get(slot_place(*slot)) {
        Some(Read::Counter(name) | Read::Counters(name)) => Some(name.clone()),
        _ => None,
    }
}

/// A whole number that reads only settings.
pub(super) fn constant(shape: &EntityShape<'_>, of: &Outline) -> Option<i64> {
    let frame = MoveFrame::still(shape, AbstractValue::Unknown);
    match eval(&frame, &[], of, &mut Vec::new()) {
        Ok(AbstractValue::Known(Value::Int(it))) => Some(it),
        _ => None,
    }
}

/// Whether it is an actor's id: the caller's, or a field of plain text.
fn is_id(shape: &EntityShape<'_>, of: &Outline) -> bool {
    let Outline::Read(slot, members) = of else { return false };
    match shape.life.reads.get(slot_place(*slot)) {
        Some(
            Read::ActorId
            | Read::SubjectId
            | Read::Slot(_, trackside_lifecycle::model::SlotAttribute::Holder),
        ) => true,
        Some(Read::Field(name) | Read::Was(name)) if members.is_empty() => {
            shape.life.field(name).is_some_and(|it| matches!(it.fits.fit, Fit::Text { .. }))
        }
        _ => false,
    }
}

/// Whether it is a field that lists ids.
fn is_ids(shape: &EntityShape<'_>, of: &Outline) -> bool {
    let Outline::Read(slot, members) = of else { return false };
    match shape.life.reads.get(slot_place(*slot)) {
        Some(Read::Field(name) | Read::Was(name)) if members.is_empty() => {
            shape.life.field(name).is_some_and(|it| matches!(it.fits.fit, Fit::List { .. }))
        }
        _ => false,
    }
}
