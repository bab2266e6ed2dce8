//! Every place of a lifecycle where consequences are written.

use trackside_lifecycle::model::{Aim, Arm, Choice, Consequences, Lifecycle, Target, Timer};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;

/// The place of consequences in a definition.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    Create,
    Arm(&'a Arm),
    Choice(&'a Arm, &'a Choice),
    Always(&'a Name, &'a Choice),
    Enter(&'a Name),
    Exit(&'a Name),
    /// A warning of a timer, at this percentage.
    Timer(&'a Timer, u32),
    /// A warning of a counter.
    Counter(&'a Name),
}

/// A place where consequences are written.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    pub origin: Origin<'a>,
    pub way: DefinitionPath,
    pub then: &'a Consequences,
}

impl Site<'_> {
    /// The transition, state, timer or counter it belongs to.
    pub fn name(&self) -> Name {
        match self.origin {
            Origin::Create => Name::from("create"),
            Origin::Arm(arm) | Origin::Choice(arm, _) => arm.transition.clone(),
            Origin::Always(name, _) | Origin::Enter(name) | Origin::Exit(name) | Origin::Counter(name) => {
                name.clone()
            }
            Origin::Timer(timer, _) => timer.name.clone(),
        }
    }

    /// Its consequences follow a move, not a warning.
    pub fn follows_move(&self) -> bool {
        !matches!(self.origin, Origin::Timer(..) | Origin::Counter(_))
    }

    pub fn is_of_state(&self) -> bool {
        matches!(self.origin, Origin::Enter(_) | Origin::Exit(_) | Origin::Always(..))
    }
}

/// All sites, in the order of the definition.
pub fn sites(life: &Lifecycle) -> Vec<Site<'_>> {
    let mut all =
        vec![Site { origin: Origin::Create, way: DefinitionPath::of(["create"]), then: &life.create.then }];
    for state in &life.states {
        let way = || DefinitionPath::of(["states", &state.name]);
        all.push(Site { origin: Origin::Enter(&state.name), way: way().key("enter"), then: &state.enter });
        all.push(Site { origin: Origin::Exit(&state.name), way: way().key("exit"), then: &state.exit });
        for (n, choice) in state.always.iter().enumerate() {
            let origin = Origin::Always(&state.name, choice);
            all.push(Site { origin, way: way().key("always").item(n), then: &choice.then });
        }
    }
    for arm in life.arms() {
        all.push(Site { origin: Origin::Arm(arm), way: arm_way(arm), then: &arm.then });
        for (n, choice) in arm.target.choices().iter().enumerate() {
            let origin = Origin::Choice(arm, choice);
            all.push(Site { origin, way: arm_way(arm).key("to").item(n), then: &choice.then });
        }
    }
    for timer in &life.timers {
        for warn in &timer.warn {
            let way = timer_way(life, timer).key("warn").key(&format!("{}%", warn.percent));
            all.push(Site { origin: Origin::Timer(timer, warn.percent), way, then: &warn.then });
        }
    }
    for counter in &life.counters {
        for warn in &counter.warn {
            let way =
                DefinitionPath::of(["counters", &counter.name, "warn"]).key(&format!("{}%", warn.percent));
            all.push(Site { origin: Origin::Counter(&counter.name), way, then: &warn.then });
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

pub fn arm_way(arm: &Arm) -> DefinitionPath {
    DefinitionPath::of(["transitions", &arm.transition]).item(arm.index)
}

/// Deadlines and retentions are written at their state, other timers under their own name.
pub fn timer_way(life: &Lifecycle, timer: &Timer) -> DefinitionPath {
    if life.state(&timer.name).is_some() {
        return DefinitionPath::of(["states", &timer.name, "deadline"]);
    }
    match timer.name.strip_suffix(".retain").filter(|it| life.state(it).is_some()) {
        Some(state) => DefinitionPath::of(["states", state, "retain"]),
        None => DefinitionPath::of(["timers", &timer.name]),
    }
}

/// A timer in a sentence.
pub fn timer_word(life: &Lifecycle, timer: &Timer) -> String {
    if life.state(&timer.name).is_some() {
        return format!("the deadline of {}", timer.name);
    }
    match timer.name.strip_suffix(".retain").filter(|it| life.state(it).is_some()) {
        Some(state) => format!("the end of `retain` of {state}"),
        None => format!("timer `{}`", timer.name),
    }
}
