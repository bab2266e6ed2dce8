//! Every place of a lifecycle from which something follows, with its way.

use trackside_lifecycle::model::{Aim, Arm, Choice, Consequences, Lifecycle, Target, Timer};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Way;

/// Where consequences are written.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    Create,
    Arm(&'a Arm),
    Choice(&'a Arm, &'a Choice),
    Always(&'a Name, &'a Choice),
    Enter(&'a Name),
    Exit(&'a Name),
    /// A step of a timer's `warn`.
    Timer(&'a Timer),
    /// A step of a counter's `warn`.
    Counter(&'a Name),
}

/// One place with its consequences.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    pub origin: Origin<'a>,
    pub way: Way,
    pub then: &'a Consequences,
}

/// All of them, in the order of the definition.
pub fn parts(life: &Lifecycle) -> Vec<Part<'_>> {
    let mut all = vec![Part { origin: Origin::Create, way: Way::of(["create"]), then: &life.create.then }];
    for state in &life.states {
        let way = || Way::of(["states", &state.name]);
        all.push(Part { origin: Origin::Enter(&state.name), way: way().key("enter"), then: &state.enter });
        all.push(Part { origin: Origin::Exit(&state.name), way: way().key("exit"), then: &state.exit });
        for (n, choice) in state.always.iter().enumerate() {
            let origin = Origin::Always(&state.name, choice);
            all.push(Part { origin, way: way().key("always").item(n), then: &choice.then });
        }
    }
    for arm in life.arms() {
        all.push(Part { origin: Origin::Arm(arm), way: arm_way(arm), then: &arm.then });
        for (n, choice) in arm.target.choices().iter().enumerate() {
            let origin = Origin::Choice(arm, choice);
            all.push(Part { origin, way: arm_way(arm).key("to").item(n), then: &choice.then });
        }
    }
    for timer in &life.timers {
        for warn in &timer.warn {
            let way = timer_way(life, timer).key("warn").key(&format!("{}%", warn.percent));
            all.push(Part { origin: Origin::Timer(timer), way, then: &warn.then });
        }
    }
    for counter in &life.counters {
        for warn in &counter.warn {
            let way = Way::of(["counters", &counter.name, "warn"]).key(&format!("{}%", warn.percent));
            all.push(Part { origin: Origin::Counter(&counter.name), way, then: &warn.then });
        }
    }
    all
}

/// Every aim of an arm, with the place of its choice.
pub fn aims(arm: &Arm) -> Vec<(Option<usize>, &Aim)> {
    match &arm.target {
        Target::One(aim) => vec![(None, aim)],
        Target::Choices(all) => all.iter().enumerate().map(|(n, it)| (Some(n), &it.aim)).collect(),
    }
}

pub fn arm_way(arm: &Arm) -> Way {
    Way::of(["transitions", &arm.transition]).item(arm.index)
}

/// A deadline and a retention are timers of their state; the others have a name of their own.
pub fn timer_way(life: &Lifecycle, timer: &Timer) -> Way {
    if life.state(&timer.name).is_some() {
        return Way::of(["states", &timer.name, "deadline"]);
    }
    match timer.name.strip_suffix(".retain").filter(|it| life.state(it).is_some()) {
        Some(state) => Way::of(["states", state, "retain"]),
        None => Way::of(["timers", &timer.name]),
    }
}

/// How a timer is called in a sentence.
pub fn timer_word(life: &Lifecycle, timer: &Timer) -> String {
    if life.state(&timer.name).is_some() {
        return format!("the deadline of {}", timer.name);
    }
    match timer.name.strip_suffix(".retain").filter(|it| life.state(it).is_some()) {
        Some(state) => format!("the end of `retain` of {state}"),
        None => format!("timer `{}`", timer.name),
    }
}
