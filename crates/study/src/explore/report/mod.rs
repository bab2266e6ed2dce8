//! The result of an exploration, and the parts that it did not cover.

mod example_run;

use serde::Serialize;
use trackside_lifecycle::model::PropertyKind;
use trackside_lifecycle::name::Name;

pub use example_run::{EntityChange, ExampleRun, RunStep, RunStepKind};

use crate::explore::promise::{Mark, PromiseWatcher, Promises};
use crate::explore::search::{Progress, SearchBound, SearchResult, Stopped, search};
use crate::explore::stage::ExploreStage;
use crate::explore::world::{Reduce, StageModel, Surprise};

/// The end of a story in which a promise cannot be evaluated.
const NO_ANSWER: &str = "the promise itself cannot be evaluated here";

/// One stage explored.
#[derive(Clone, Debug, Serialize)]
pub struct ExplorationReport {
    pub stage: Name,
    pub about: String,
    pub progress: Progress,
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
    /// It can be broken.
    Broken { story: ExampleRun },
    /// Its expression has no answer in some world.
    NoAnswer { story: ExampleRun },
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

/// Explores a stage and checks every promise of its pack.
pub fn explore(stage: &ExploreStage, how: &ExploreOptions<'_>) -> ExplorationReport {
    let promises = Promises::of(&stage.law, &stage.pack);
    let play = StageModel::new(stage, &promises, how.reduce);
    let watcher = PromiseWatcher { promises: &promises, go_on: how.go_on };
    let found = search(&play, &watcher, &how.bound, how.threads);
    let seen =
        |mark: &Mark| promises.marks.number(mark).is_some_and(|it| found.marks().any(|that| that == it));
    let covered: Vec<LifecycleCoverage> = stage.lives().map(|life| covered(life, &seen)).collect();
    let story = |mark: &Mark, ending: String| {
        let number = promises.marks.number(mark)?;
        let (start, steps) = found.path(&play, number)?;
        Some(example_run::describe_run(&start, &steps, ending))
    };
    let verdicts = promises.list.iter().enumerate().map(|(number, promise)| {
        let played = covered.iter().any(|it| it.lifecycle == promise.lifecycle && it.states > 0);
        let outcome = outcome(&promises, &found, number, played, &story, &play);
        PromiseVerdict {
            lifecycle: promise.lifecycle.clone(),
            index: promise.index,
            says: promise.property.says.clone(),
            kind: promise.property.kind.word(),
            outcome,
        }
    });
    let verdicts: Vec<PromiseVerdict> = verdicts.collect();
    let surprises = promises.marks.all().iter().filter(|it| seen(it)).filter_map(|mark| match mark {
        Mark::Surprise(lifecycle, kind) => Some(unexpected(lifecycle, *kind, story(mark, String::new())?)),
        _ => None,
    });
    let surprises: Vec<Unexpected> = surprises.collect();
    ExplorationReport {
        stage: stage.name.clone(),
        about: stage.about.clone(),
        progress: found.progress,
        stopped: found.stopped,
        worlds: how.bound.worlds,
        depth: how.bound.depth,
        mirrors: play.mirrors().to_vec(),
        verdicts,
        surprises,
        covered,
        cut: stage.cut.iter().map(|(life, event)| format!("{life}.{event}")).collect(),
        restarts: play.restarts(),
        left_out: stage.left_out(),
        unasked: stage.unasked.iter().map(|(life, event)| format!("{life}.{event}")).collect(),
    }
}

fn unexpected(lifecycle: &Name, kind: Surprise, mut story: ExampleRun) -> Unexpected {
    story.ending = kind.says().to_owned();
    Unexpected { lifecycle: lifecycle.clone(), code: kind.code(), says: kind.says(), story }
}

fn outcome(
    promises: &Promises,
    found: &SearchResult,
    number: usize,
    played: bool,
    story: &dyn Fn(&Mark, String) -> Option<ExampleRun>,
    play: &StageModel<'_>,
) -> PromiseOutcome {
    let Some(promise) = promises.list.get(number) else { return PromiseOutcome::NotPlayed };
    let mark = Mark::Promise(number);
    let shown = promises.marks.number(&mark).filter(|it| found.marks().any(|that| that == *it));
    if matches!(promise.property.kind, PropertyKind::Reachable(_)) {
        return match shown.and_then(|it| found.path(play, it)) {
            Some((_, steps)) => PromiseOutcome::Reached { steps: steps.len() },
            None => match story(&Mark::NoAnswer(number), NO_ANSWER.to_owned()) {
                Some(story) => PromiseOutcome::NoAnswer { story },
                None if played => PromiseOutcome::NotReached,
                None => PromiseOutcome::NotPlayed,
            },
        };
    }
    if let Some(number) = shown {
        let last =
            found.path(play, number).map(|(start, steps)| steps.last().map_or(start, |it| it.world.clone()));
        let ending = last.map(|it| promises.ending(promise, &it)).unwrap_or_default();
        if let Some(story) = story(&mark, ending) {
            return PromiseOutcome::Broken { story };
        }
    }
    if let Some(story) = story(&Mark::NoAnswer(number), NO_ANSWER.to_owned()) {
        return PromiseOutcome::NoAnswer { story };
    }
    let looked = promises.marks.number(&Mark::ObservedReads(number));
    match looked.is_some_and(|it| found.marks().any(|that| that == it)) {
        true => PromiseOutcome::Held,
        false if played => PromiseOutcome::NotLooked,
        false => PromiseOutcome::NotPlayed,
    }
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
