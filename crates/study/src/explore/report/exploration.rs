//! One stage being explored: by breadth, and towards the promises that are not broken yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackside_lifecycle::model::PropertyKind;

use super::{ExampleRun, ExplorationReport, LifecycleCoverage, PromiseOutcome, PromiseVerdict, Unexpected};
use super::{covered, example_run, unexpected};
use crate::explore::promise::{Mark, PromiseGuide, PromiseWatcher, Promises};
use crate::explore::search::{
    BreadthSearch, DirectedSearch, Guide as _, Progress, SearchBound, SearchStep, Stopped, search,
};
use crate::explore::stage::ExploreStage;
use crate::explore::world::{Reduce, StageModel, WorldState};

/// The end of a story in which a promise cannot be evaluated.
const NO_ANSWER: &str = "the promise itself cannot be evaluated here";

/// Most worlds that are explored to shorten one story.
const SHORTEN: usize = 2_000;

/// The start of a run, and its steps.
type Run<'a> = (WorldState, Vec<SearchStep<StageModel<'a>>>);

/// A story and its end; none: the mark was not seen.
struct Found {
    run: ExampleRun,
    shortest: bool,
}

/// The exploration of a stage. It can be continued.
///
/// The search by breadth gives the bound of a verdict: every sequence up to a length was explored. The search towards the
/// promises finds longer stories early, and [`Exploration::report`] shortens them.
#[derive(Debug)]
pub struct Exploration<'a> {
    stage: &'a ExploreStage,
    promises: Arc<Promises>,
    model: StageModel<'a>,
    guide: PromiseGuide,
    breadth: BreadthSearch<StageModel<'a>>,
    directed: Option<DirectedSearch<StageModel<'a>>>,
    threads: usize,
}

impl<'a> Exploration<'a> {
    pub fn new(stage: &'a ExploreStage, reduce: Reduce, threads: usize) -> Self {
        let promises = Arc::new(Promises::of(&stage.law, &stage.pack));
        let model = StageModel::new(stage, promises.clone(), reduce);
        let watcher = PromiseWatcher { promises: &promises, go_on: &|_| true };
        let breadth = BreadthSearch::new(&model, &watcher);
        let guide = PromiseGuide::of(&promises, &stage.pack);
        Self { stage, promises, model, guide, breadth, directed: None, threads }
    }

    /// Continues by breadth.
    pub fn advance_breadth(
        &mut self,
        bound: &SearchBound,
        go_on: &(dyn Fn(&Progress) -> bool + Sync),
    ) -> Stopped {
        let watcher = PromiseWatcher { promises: &self.promises, go_on };
        self.breadth.advance(&self.model, &watcher, bound, self.threads)
    }

    /// Continues towards the promises, until so many worlds are known.
    pub fn advance_directed(&mut self, worlds: usize, go_on: &(dyn Fn(&Progress) -> bool + Sync)) -> Stopped {
        let watcher = PromiseWatcher { promises: &self.promises, go_on };
        let directed = match &mut self.directed {
            Some(it) => it,
            None => {
                let found = self.breadth.result();
                self.directed.insert(DirectedSearch::new(&self.model, &watcher, &self.guide, found))
            }
        };
        for (goal, mark) in self.guide.goals().iter().enumerate() {
            if self.breadth.result().has(*mark) {
                directed.close(goal);
            }
        }
        directed.advance(&self.model, &watcher, &self.guide, worlds, self.threads)
    }

    /// Whether nothing is left to explore.
    pub fn is_done(&self) -> bool {
        self.breadth.is_done() || self.directed.as_ref().is_some_and(DirectedSearch::is_exhausted)
    }

    /// The number of worlds whose moves were all explored.
    pub fn followed(&self) -> usize {
        let directed = self.directed.as_ref().map_or(0, |it| it.result().progress.followed);
        self.breadth.result().progress.followed + directed
    }

    /// Whether a promise with a sentence that contains this is broken, or a surprise with this code was found.
    pub fn has_broken(&self, what: &str) -> bool {
        self.promises.marks.all().iter().any(|mark| {
            let meant = match mark {
                Mark::Promise(number) | Mark::NoAnswer(number) => {
                    self.promises.list.get(*number).is_some_and(|it| it.property.says.contains(what))
                }
                Mark::Surprise(_, kind) => kind.code() == what,
                _ => false,
            };
            meant && self.has(mark)
        })
    }

    fn has(&self, mark: &Mark) -> bool {
        let number = self.promises.marks.number(mark);
        number.is_some_and(|it| {
            self.breadth.result().has(it) || self.directed.as_ref().is_some_and(|of| of.result().has(it))
        })
    }

    /// The shortest known run to a mark, and whether every shorter one was explored.
    fn run_to(&self, mark: &Mark) -> Option<(Run<'a>, bool)> {
        let number = self.promises.marks.number(mark)?;
        let breadth = self.breadth.result();
        if breadth.has(number) {
            return Some((breadth.path(&self.model, number)?, true));
        }
        let mut run = self.directed.as_ref()?.result().path(&self.model, number)?;
        while let Some(shorter) = self.shorter(&run, number) {
            run = shorter;
        }
        let explored = breadth.progress.depth as usize;
        let shortest = self.breadth.is_done() || explored >= run.1.len().saturating_sub(1);
        Some((run, shortest))
    }

    /// The number of moves to a mark, not shortened.
    fn moves_to(&self, mark: &Mark) -> Option<usize> {
        let number = self.promises.marks.number(mark)?;
        let directed = || self.directed.as_ref()?.result().moves_to(number);
        self.breadth.result().moves_to(number).or_else(directed)
    }

    /// A shorter run to a mark, made of the same kinds of moves.
    fn shorter(&self, run: &Run<'a>, mark: u32) -> Option<Run<'a>> {
        let depth = u32::try_from(run.1.len().checked_sub(1)?).ok()?;
        let model = self.model.with_moves_of(run.1.iter().map(|it| &it.by));
        let watcher = PromiseWatcher { promises: &self.promises, go_on: &|_| true };
        let bound = SearchBound { worlds: SHORTEN, depth };
        let found = search(&model, &watcher, &bound, self.threads);
        found.path(&model, mark)
    }

    fn story(&self, mark: &Mark, ending: &dyn Fn(&WorldState) -> String) -> Option<Found> {
        let ((start, steps), shortest) = self.run_to(mark)?;
        let ending = ending(steps.last().map_or(&start, |it| &it.world));
        Some(Found { run: example_run::describe_run(&start, &steps, ending), shortest })
    }

    /// The findings so far.
    pub fn report(&self, bound: SearchBound) -> ExplorationReport {
        let stage = self.stage;
        let seen = |mark: &Mark| self.has(mark);
        let covered: Vec<LifecycleCoverage> = stage.lives().map(|life| covered(life, &seen)).collect();
        let by_lifecycle: BTreeMap<_, bool> =
            covered.iter().map(|it| (it.lifecycle.clone(), it.states > 0)).collect();
        let verdicts = self.promises.list.iter().enumerate().map(|(number, promise)| PromiseVerdict {
            lifecycle: promise.lifecycle.clone(),
            index: promise.index,
            says: promise.property.says.clone(),
            kind: promise.property.kind.word(),
            outcome: self.outcome(number, by_lifecycle.get(&promise.lifecycle).copied().unwrap_or_default()),
        });
        let verdicts: Vec<PromiseVerdict> = verdicts.collect();
        let surprises = self.promises.marks.all().iter().filter_map(|mark| match mark {
            Mark::Surprise(lifecycle, kind) if self.has(mark) => {
                let found = self.story(mark, &|_| String::new())?;
                Some(unexpected(lifecycle, *kind, found.run, found.shortest))
            }
            _ => None,
        });
        let surprises: Vec<Unexpected> = surprises.collect();
        let breadth = self.breadth.result();
        let stopped = match breadth.stopped {
            _ if self.is_done() => Stopped::Exhausted,
            // A round ended, not the exploration.
            Stopped::Worlds if bound.worlds == usize::MAX => Stopped::Asked,
            other => other,
        };
        ExplorationReport {
            stage: stage.name.clone(),
            about: stage.about.clone(),
            progress: breadth.progress,
            directed: self.directed.as_ref().map(|it| it.result().progress).unwrap_or_default(),
            stopped,
            worlds: bound.worlds,
            depth: bound.depth,
            mirrors: self.model.mirrors().to_vec(),
            verdicts,
            surprises,
            covered,
            cut: stage.cut.iter().map(|(life, event)| format!("{life}.{event}")).collect(),
            restarts: self.model.restarts(),
            left_out: stage.left_out(),
            unasked: stage.unasked.iter().map(|(life, event)| format!("{life}.{event}")).collect(),
        }
    }

    fn outcome(&self, number: usize, played: bool) -> PromiseOutcome {
        let Some(promise) = self.promises.list.get(number) else { return PromiseOutcome::NotPlayed };
        let no_answer = || {
            let found = self.story(&Mark::NoAnswer(number), &|_| NO_ANSWER.to_owned())?;
            Some(PromiseOutcome::NoAnswer { story: found.run, shortest: found.shortest })
        };
        let mark = Mark::Promise(number);
        if matches!(promise.property.kind, PropertyKind::Reachable(_)) {
            return match self.moves_to(&mark) {
                Some(steps) => PromiseOutcome::Reached { steps },
                None => no_answer().unwrap_or(match played {
                    true => PromiseOutcome::NotReached,
                    false => PromiseOutcome::NotPlayed,
                }),
            };
        }
        if let Some(found) = self.story(&mark, &|last| self.promises.ending(promise, last)) {
            return PromiseOutcome::Broken { story: found.run, shortest: found.shortest };
        }
        no_answer().unwrap_or(match (self.has(&Mark::ObservedReads(number)), played) {
            (true, _) => PromiseOutcome::Held,
            (false, true) => PromiseOutcome::NotLooked,
            (false, false) => PromiseOutcome::NotPlayed,
        })
    }
}
