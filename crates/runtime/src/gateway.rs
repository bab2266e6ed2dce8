//! The way in: a bounded queue with a lane per actor, and a promise of an answer.

use std::sync::Arc;

use tokio::sync::oneshot;
use trackside_engine::actor::Actor;
use trackside_engine::command::Command;
use trackside_engine::view::Needs;
use trackside_engine::{Decision, Law, View, decide};
use trackside_lifecycle::time::{Span, Timestamp};

use crate::answer::{BatchAnswer, CommandAnswer, Failure, Pending};
use crate::figures::Figures;
use crate::pipeline::{ClockCorrection, Depth, SweepReport};
use crate::queue::{LaneKey, Rejected, WorkQueue};
use crate::requester::Requester;
use crate::runtime::Options;
use crate::shared::Shared;
use crate::stages::Stages;
use crate::steering::ClockDirection;
use crate::work::{ClockTarget, SubmitOptions, Work};

/// Submits commands. Clone it for every caller.
#[derive(Clone, Debug)]
pub struct Gateway {
    work: WorkQueue,
    shared: Arc<Shared>,
    most_behind: u64,
    most_behind_bytes: u64,
}

impl Gateway {
    pub(crate) fn new(work: WorkQueue, shared: Arc<Shared>, options: &Options) -> Self {
        let (most_behind, most_behind_bytes) = (options.most_behind, options.most_behind_bytes);
        Self { work, shared, most_behind, most_behind_bytes }
    }

    /// Submits a command. The answer arrives when its entries are on disk.
    pub fn submit(&self, command: Command) -> Result<Pending, Failure> {
        self.submit_with(command, SubmitOptions::default())
    }

    pub fn submit_with(&self, command: Command, options: SubmitOptions) -> Result<Pending, Failure> {
        let key = LaneKey::of_command(&command);
        let (work, pending) = pending_command(command, options);
        self.enqueue(key, work)?;
        Ok(pending)
    }

    /// Submits commands of one actor, which are decided in order and committed each for itself: all of them, or none if
    /// too many of this actor wait. Commands of other actors may be decided in between.
    pub fn submit_all(&self, commands: Vec<(Command, SubmitOptions)>) -> Result<Vec<Pending>, Failure> {
        let Some((first, _)) = commands.first() else { return Ok(Vec::new()) };
        let key = LaneKey::of_command(first);
        let (work, pending): (Vec<Work>, Vec<Pending>) =
            commands.into_iter().map(|(command, options)| pending_command(command, options)).unzip();
        self.enqueue_all(key, work)?;
        Ok(pending)
    }

    /// Submits a command and calls `then` with the answer, on the thread that commits: be brief.
    pub fn submit_then(
        &self,
        command: Command,
        then: impl FnOnce(Result<CommandAnswer, Failure>) + Send + 'static,
    ) -> Result<(), Failure> {
        let key = LaneKey::of_command(&command);
        self.enqueue(key, Work::Command(Box::new(command), Box::new(then), SubmitOptions::default()))
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
        let key = commands.first().map_or_else(LaneKey::system, LaneKey::of_command);
        self.enqueue(key, Work::Atomic(commands, Box::new(reply), stages))?;
        Ok(Pending(pending))
    }

    /// Decides several commands in order, each on top of those before it that are accepted, and changes nothing.
    pub fn dry_run_batch(&self, commands: Vec<Command>) -> Result<Pending<Vec<Decision>>, Failure> {
        let (responder, pending) = oneshot::channel();
        let reply = move |outcome: Result<Vec<Decision>, Failure>| {
            responder.send(outcome).ok();
        };
        let key = commands.first().map_or_else(LaneKey::system, LaneKey::of_command);
        self.enqueue(key, Work::Trial(commands, Box::new(reply)))?;
        Ok(Pending(pending))
    }

    /// Evaluates a question of the server itself. The data it reads is on disk when it is answered.
    pub fn evaluate<T: Send + 'static>(
        &self,
        question: impl FnMut(&Law, &View, Timestamp) -> Result<T, Needs> + Send + 'static,
    ) -> Result<Pending<T>, Failure> {
        self.evaluate_in(LaneKey::system(), question)
    }

    /// Evaluates a question of an actor after all earlier requests of that actor. The data it reads is on disk when it
    /// is answered.
    pub fn evaluate_for<T: Send + 'static>(
        &self,
        actor: &Actor,
        question: impl FnMut(&Law, &View, Timestamp) -> Result<T, Needs> + Send + 'static,
    ) -> Result<Pending<T>, Failure> {
        self.evaluate_in(LaneKey::of_actor(actor), question)
    }

    fn evaluate_in<T: Send + 'static>(
        &self,
        key: LaneKey,
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
        self.enqueue(key, Work::Look(Box::new(put), Box::new(done)))?;
        Ok(Pending(pending))
    }

    /// Decides a command after all earlier ones of its actor and changes nothing.
    pub fn dry_run(&self, command: Command) -> Result<Pending<Decision>, Failure> {
        self.evaluate_in(LaneKey::of_command(&command), move |law, view, now| {
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
        self.enqueue(LaneKey::system(), Work::Advance(target, responder))?;
        Ok(Pending(pending))
    }

    /// Moves project time to the machine's clock, in this direction only.
    pub fn correct_clock(
        &self,
        direction: ClockDirection,
        by: Requester,
        reason: Option<String>,
    ) -> Result<Pending<ClockCorrection>, Failure> {
        let (responder, pending) = oneshot::channel();
        self.enqueue(LaneKey::system(), Work::CorrectClock(direction, by, reason, responder))?;
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
        self.enqueue(LaneKey::system(), Work::Sweep(responder, depth))?;
        Ok(Pending(pending))
    }

    /// Signals the end of the work: later requests are rejected.
    pub(crate) fn stop(self) {
        Figures::add(&self.shared.figures.handed_in, 1);
        self.work.stop();
    }

    /// Fails while there is no space for new data, such as artifacts.
    pub fn check_space(&self) -> Result<(), Failure> {
        self.shared.space.check_space()
    }

    pub(crate) fn enqueue(&self, key: LaneKey, work: Work) -> Result<(), Failure> {
        self.enqueue_all(key, vec![work])
    }

    fn enqueue_all(&self, key: LaneKey, work: Vec<Work>) -> Result<(), Failure> {
        for one in &work {
            self.shared.space.check(one)?;
        }
        let many = work.len();
        if self.shared.lag() > self.most_behind || self.shared.lag_bytes() > self.most_behind_bytes {
            Figures::add(&self.shared.figures.overloaded, many);
            return Err(Failure::Overloaded("the projections are too far behind the journal"));
        }
        // First, so that the work never counts as taken before it counts as handed in.
        Figures::add(&self.shared.figures.handed_in, many);
        self.work.push(key, work).map_err(|rejected| {
            Figures::add(&self.shared.figures.taken, many);
            match rejected {
                Rejected::LaneFull => {
                    Figures::add(&self.shared.figures.overloaded, many);
                    Failure::Overloaded("too many commands of this actor wait")
                }
                Rejected::Stopped => Failure::Stopped,
            }
        })
    }
}

/// A command as work, and its answer.
fn pending_command(command: Command, options: SubmitOptions) -> (Work, Pending) {
    let (responder, pending) = oneshot::channel();
    let stages = options.stages.clone();
    let reply = move |outcome| {
        stages.inspect(|it| it.mark_answered());
        responder.send(outcome).ok();
    };
    (Work::Command(Box::new(command), Box::new(reply), options), Pending(pending))
}
