//! The way in: a bounded queue, and a promise of an answer.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

use tokio::sync::oneshot;
use trackside_engine::command::Command;
use trackside_engine::view::Needs;
use trackside_engine::{Decision, Law, View, decide};
use trackside_lifecycle::time::{Span, Timestamp};

use crate::answer::{BatchAnswer, CommandAnswer, Failure, Pending};
use crate::figures::Figures;
use crate::pipeline::{Depth, SweepReport};
use crate::shared::Shared;
use crate::stages::Stages;
use crate::work::{ClockTarget, SubmitOptions, Work};

/// Submits commands. Clone it for every caller.
#[derive(Clone, Debug)]
pub struct Gateway {
    work: SyncSender<Work>,
    shared: Arc<Shared>,
    most_behind: u64,
}

impl Gateway {
    pub(crate) fn new(work: SyncSender<Work>, shared: Arc<Shared>, most_behind: u64) -> Self {
        Self { work, shared, most_behind }
    }

    /// Submits a command. The answer arrives when its entries are on disk.
    pub fn submit(&self, command: Command) -> Result<Pending, Failure> {
        self.submit_with(command, SubmitOptions::default())
    }

    pub fn submit_with(&self, command: Command, options: SubmitOptions) -> Result<Pending, Failure> {
        let (responder, pending) = oneshot::channel();
        let stages = options.stages.clone();
        let reply = move |outcome| {
            stages.inspect(|it| it.mark_answered());
            responder.send(outcome).ok();
        };
        self.enqueue(Work::Command(Box::new(command), Box::new(reply), options))?;
        Ok(Pending(pending))
    }

    /// Submits a command and calls `then` with the answer, on the thread that commits: be brief.
    pub fn submit_then(
        &self,
        command: Command,
        then: impl FnOnce(Result<CommandAnswer, Failure>) + Send + 'static,
    ) -> Result<(), Failure> {
        self.enqueue(Work::Command(Box::new(command), Box::new(then), SubmitOptions::default()))
    }

    /// Submits a command and waits for the answer.
    pub fn ask(&self, command: Command) -> Result<CommandAnswer, Failure> {
        self.submit(command)?.wait()
    }

    /// Submits several commands that are committed together, or, if one is refused, not at all. `stages` has one for
    /// every command, or none.
    pub fn submit_atomic(
        &self,
        commands: Vec<Command>,
        stages: Vec<Arc<Stages>>,
    ) -> Result<Pending<BatchAnswer>, Failure> {
        let (responder, pending) = oneshot::channel();
        let watched = stages.clone();
        let reply = move |outcome| {
            watched.iter().for_each(|it| it.mark_answered());
            responder.send(outcome).ok();
        };
        self.enqueue(Work::Atomic(commands, Box::new(reply), stages))?;
        Ok(Pending(pending))
    }

    /// Evaluates a question after all earlier requests. The data it reads is on disk when it is answered.
    pub fn evaluate<T: Send + 'static>(
        &self,
        mut question: impl FnMut(&Law, &View, Timestamp) -> Result<T, Needs> + Send + 'static,
    ) -> Result<Pending<T>, Failure> {
        let (responder, pending) = oneshot::channel();
        let seen = Arc::new(std::sync::Mutex::new(None));
        let told = seen.clone();
        let put = move |law: &Law, view: &View, now: Timestamp| {
            let found = question(law, view, now)?;
            *seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(found);
            Ok(())
        };
        let done = move |outcome: Result<(), Failure>| {
            let found = told.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            responder.send(outcome.and(found.ok_or(Failure::Stopped))).ok();
        };
        self.enqueue(Work::Look(Box::new(put), Box::new(done)))?;
        Ok(Pending(pending))
    }

    /// Decides a command after all earlier ones and changes nothing.
    pub fn dry_run(&self, command: Command) -> Result<Pending<Decision>, Failure> {
        self.evaluate(move |law, view, now| {
            let mut decision = decide(law, view, &command, now)?;
            if let Decision::Refused(refusal) = &mut decision {
                refusal.kept = None;
            }
            Ok(decision)
        })
    }

    /// Moves the manual clock. Each timer on the way fires at its moment.
    pub fn advance(&self, to: Timestamp) -> Result<Pending<Timestamp>, Failure> {
        self.move_clock(ClockTarget::To(to))
    }

    /// Moves the manual clock on from where it is then. Concurrent calls add up.
    pub fn advance_by(&self, span: Span) -> Result<Pending<Timestamp>, Failure> {
        self.move_clock(ClockTarget::By(span))
    }

    fn move_clock(&self, target: ClockTarget) -> Result<Pending<Timestamp>, Failure> {
        let (responder, pending) = oneshot::channel();
        self.enqueue(Work::Advance(target, responder))?;
        Ok(Pending(pending))
    }

    /// Sweeps every entity: finds violations, and repairs those whose definition says how. Compares the stored rows
    /// of each with the journal and rebuilds those that differ.
    pub fn sweep(&self) -> Result<Pending<SweepReport>, Failure> {
        self.sweep_to(Depth::Entities)
    }

    /// Sweeps to the given depth.
    pub fn sweep_to(&self, depth: Depth) -> Result<Pending<SweepReport>, Failure> {
        let (responder, pending) = oneshot::channel();
        self.enqueue(Work::Sweep(responder, depth))?;
        Ok(Pending(pending))
    }

    /// Signals the end of the work; waits for room in the queue if necessary.
    pub(crate) fn stop(self) {
        Figures::add(&self.shared.figures.handed_in, 1);
        self.work.send(Work::Stop).ok();
    }

    /// Fails while there is no space for new data, such as artifacts.
    pub fn check_space(&self) -> Result<(), Failure> {
        self.shared.space.check_space()
    }

    pub(crate) fn enqueue(&self, work: Work) -> Result<(), Failure> {
        self.shared.space.check(&work)?;
        if self.shared.lag() > self.most_behind {
            Figures::add(&self.shared.figures.overloaded, 1);
            return Err(Failure::Overloaded("the projections are too far behind the journal"));
        }
        self.work.try_send(work).map_err(|error| match error {
            TrySendError::Full(_) => {
                Figures::add(&self.shared.figures.overloaded, 1);
                Failure::Overloaded("too many commands wait")
            }
            TrySendError::Disconnected(_) => Failure::Stopped,
        })?;
        Figures::add(&self.shared.figures.handed_in, 1);
        Ok(())
    }
}
