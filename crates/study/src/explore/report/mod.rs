//! The result of an exploration, and the parts that it did not cover.

mod check;
mod example_run;
mod exploration;

use serde::Serialize;
use trackside_lifecycle::name::Name;

pub use check::{CheckBound, CheckOptions, check_stages};
pub use example_run::{EntityChange, ExampleRun, RunStep, RunStepKind};
pub use exploration::Exploration;

use crate::explore::promise::Mark;
use crate::explore::search::{Progress, SearchBound, Stopped};
use crate::explore::stage::ExploreStage;
use crate::explore::world::{Reduce, Surprise};

/// One stage explored.
#[derive(Clone, Debug, Serialize)]
pub struct ExplorationReport {
    pub stage: Name,
    pub about: String,
    /// The exploration by breadth: the bound of every verdict.
    pub progress: Progress,
    /// The exploration towards the promises, beyond that.
    pub directed: Progress,
    pub stopped: Stopped,
    /// Most worlds and moves that were allowed.
    pub worlds: usize,
    pub depth: u32,
    /// Ids that count as one another's mirror images.
    pub mirrors: Vec<Vec<Name>>,
    pub verdicts: Vec<PromiseVerdict>,
    pub surprises: Vec<Unexpected>,
    pub covered: Vec<LifecycleCoverage>,
    /// Transitions without a sample request: `asks` can give one.
    pub unasked: Vec<String>,
    /// Transitions with which only some of the values are sent that could be.
    pub cut: Vec<String>,
    /// The number of steps that were stored, read again and sent a second time.
    pub restarts: u64,
    /// Transitions that the stage leaves out with `only` and `without`.
    pub left_out: Vec<String>,
}

/// The verdict on one promise.
#[derive(Clone, Debug, Serialize)]
pub struct PromiseVerdict {
    pub lifecycle: Name,
    /// Its place in `prove`.
    pub index: usize,
    pub says: String,
    pub kind: &'static str,
    #[serde(flatten)]
    pub outcome: PromiseOutcome,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum PromiseOutcome {
    /// No explored sequence breaks it.
    Held,
    /// The target is reachable, in so many steps.
    Reached { steps: usize },
    /// It was not found within the bound.
    NotReached,
    /// It can be broken. `shortest`: every shorter sequence was explored.
    Broken { story: ExampleRun, shortest: bool },
    /// Its expression has no answer in some world.
    NoAnswer { story: ExampleRun, shortest: bool },
    /// There never was an entity of its lifecycle.
    NotPlayed,
    /// Its subject never occurred within the bound: the state, the transition or the condition.
    NotLooked,
}

/// A result that no definition should lead to.
#[derive(Clone, Debug, Serialize)]
pub struct Unexpected {
    pub lifecycle: Name,
    pub code: &'static str,
    pub says: &'static str,
    pub story: ExampleRun,
    /// Every shorter sequence was explored.
    pub shortest: bool,
}

/// The explored part of a lifecycle.
#[derive(Clone, Debug, Serialize)]
pub struct LifecycleCoverage {
    pub lifecycle: Name,
    pub states: usize,
    pub of_states: usize,
    pub transitions: usize,
    pub of_transitions: usize,
    pub states_missed: Vec<Name>,
    pub transitions_missed: Vec<Name>,
}

/// The options of an exploration.
pub struct ExploreOptions<'a> {
    pub bound: SearchBound,
    pub threads: usize,
    pub reduce: Reduce,
    /// Called regularly; returns whether to continue.
    pub go_on: &'a (dyn Fn(&Progress) -> bool + Sync),
}

impl std::fmt::Debug for ExploreOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("How")
            .field("bound", &self.bound)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// Explores a stage by breadth and checks every promise of its pack.
pub fn explore(stage: &ExploreStage, how: &ExploreOptions<'_>) -> ExplorationReport {
    let mut exploration = Exploration::new(stage, how.reduce, how.threads);
    exploration.advance_breadth(&how.bound, how.go_on);
    exploration.report(how.bound)
}

fn unexpected(lifecycle: &Name, kind: Surprise, mut story: ExampleRun, shortest: bool) -> Unexpected {
    story.ending = kind.says().to_owned();
    Unexpected { lifecycle: lifecycle.clone(), code: kind.code(), says: kind.says(), story, shortest }
}

fn covered(life: &trackside_lifecycle::model::Lifecycle, seen: &dyn Fn(&Mark) -> bool) -> LifecycleCoverage {
    let states: Vec<&Name> = life.states.iter().map(|it| &it.name).collect();
    let transitions: Vec<&Name> = life.transitions.iter().map(|it| &it.name).collect();
    let missed = |all: &[&Name], mark: fn(Name, Name) -> Mark| -> Vec<Name> {
        all.iter()
            .filter(|it| !seen(&mark(life.name.clone(), (**it).clone())))
            .map(|it| (*it).clone())
            .collect()
    };
    let states_missed = missed(&states, Mark::State);
    let transitions_missed = missed(&transitions, Mark::Taken);
    LifecycleCoverage {
        lifecycle: life.name.clone(),
        states: states.len() - states_missed.len(),
        of_states: states.len(),
        transitions: transitions.len() - transitions_missed.len(),
        of_transitions: transitions.len(),
        states_missed,
        transitions_missed,
    }
}
