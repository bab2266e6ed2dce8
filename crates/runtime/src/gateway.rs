//! The way in: a bounded queue, and a promise of an answer.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

use tokio::sync::oneshot;
use trackside_engine::command::Command;
use trackside_engine::{Decision, Law, View, decide};
use trackside_lifecycle::time::Timestamp;

use crate::answer::{Answer, Batch, Failure, Pending};
use crate::figures::Figures;
use crate::pipeline::{Depth, SweepReport};
use crate::shared::Shared;
use crate::stages::Stages;
use crate::work::{Wish, Work};

/// Hands commands in. Clone it as often as there are callers.
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

    /// Asks for something. The answer comes when it is on disk.
    pub fn submit(&self, command: Command) -> Result<Pending, Failure> {
        let (ticket, pending) = oneshot::channel();
        self.submit_then(command, |outcome| {
            ticket.send(outcome).ok();
        })?;
        Ok(Pending(pending))
    }

    /// The same for whoever would rather be called. It is called on the thread that commits: be brief.
    pub fn submit_then(
        &self,
        command: Command,
        then: impl FnOnce(Result<Answer, Failure>) + Send + 'static,
    ) -> Result<(), Failure> {
        self.hand_in(Work::Command(Box::new(command), Box::new(then), Wish::default()))
    }

    /// Asks for something on behalf of somebody who is shown the entity: what the rules say of it is told with the
    /// answer. Notes how far it is, if somebody wants to know.
    pub fn submit_shown(&self, command: Command, stages: Option<Arc<Stages>>) -> Result<Pending, Failure> {
        let (ticket, pending) = oneshot::channel();
        let watched = stages.clone();
        let then = move |outcome| {
            if let Some(stages) = watched {
                stages.is_answered();
            }
            ticket.send(outcome).ok();
        };
        self.hand_in(Work::Command(Box::new(command), Box::new(then), Wish { stages, shown: true }))?;
        Ok(Pending(pending))
    }

    /// The same on a thread that may wait.
    pub fn ask(&self, command: Command) -> Result<Answer, Failure> {
        self.submit(command)?.wait()
    }

    /// Several commands in one commit: all of them, or, where one is refused, none.
    pub fn submit_atomic(&self, commands: Vec<Command>) -> Result<Pending<Batch>, Failure> {
        self.submit_atomic_noted(commands, Vec::new())
    }

    /// The same, noting how far each of them is: `stages` has one for every command, or none at all.
    pub fn submit_atomic_noted(
        &self,
        commands: Vec<Command>,
        stages: Vec<Arc<Stages>>,
    ) -> Result<Pending<Batch>, Failure> {
        let (ticket, pending) = oneshot::channel();
        let watched = stages.clone();
        let then = move |outcome| {
            watched.iter().for_each(|it| it.is_answered());
            ticket.send(outcome).ok();
        };
        self.hand_in(Work::Atomic(commands, Box::new(then), stages))?;
        Ok(Pending(pending))
    }

    /// Looks at everything as it is after all that was asked before. What the question sees is on disk when it is answered.
    pub fn look<T: Send + 'static>(
        &self,
        mut question: impl FnMut(&Law, &View, Timestamp) -> T + Send + 'static,
    ) -> Result<Pending<T>, Failure> {
        let (ticket, pending) = oneshot::channel();
        let seen = Arc::new(std::sync::Mutex::new(None));
        let told = seen.clone();
        let put = move |law: &Law, view: &View, now: Timestamp| {
            let found = question(law, view, now);
            *seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(found);
        };
        let done = move |outcome: Result<(), Failure>| {
            let found = told.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            ticket.send(outcome.and(found.ok_or(Failure::Stopped))).ok();
        };
        self.hand_in(Work::Look(Box::new(put), Box::new(done)))?;
        Ok(Pending(pending))
    }

    /// What would become of a command after all that was asked before. It changes nothing.
    pub fn dry_run(&self, command: Command) -> Result<Pending<Decision>, Failure> {
        self.look(move |law, view, now| {
            let mut decision = decide(law, view, &command, now);
            match &mut decision {
                // What it lacks is loaded, and it is asked again.
                Decision::Needs(needs) => needs.iter().cloned().for_each(|it| view.want(it)),
                Decision::Refused(refusal) => refusal.kept = None,
                Decision::Accepted(_) | Decision::Replayed { .. } => {}
            }
            decision
        })
    }

    /// Moves the manual clock; what becomes due on the way is done, each at its moment.
    pub fn advance(&self, to: Timestamp) -> Result<Pending<Timestamp>, Failure> {
        let (ticket, pending) = oneshot::channel();
        self.hand_in(Work::Advance(to, ticket))?;
        Ok(Pending(pending))
    }

    /// Looks at every entity for what is broken, and repairs what its definition says how to. What is kept of each is
    /// held against the journal, and made anew where it is something else.
    pub fn sweep(&self) -> Result<Pending<SweepReport>, Failure> {
        self.sweep_to(Depth::Entities)
    }

    /// The same, as deep as is wanted.
    pub fn sweep_to(&self, depth: Depth) -> Result<Pending<SweepReport>, Failure> {
        let (ticket, pending) = oneshot::channel();
        self.hand_in(Work::Sweep(ticket, depth))?;
        Ok(Pending(pending))
    }

    /// Says that nothing more will come; waits for room if it must.
    pub(crate) fn stop(self) {
        Figures::add(&self.shared.figures.handed_in, 1);
        self.work.send(Work::Stop).ok();
    }

    pub(crate) fn hand_in(&self, work: Work) -> Result<(), Failure> {
        if self.shared.lag() > self.most_behind {
            Figures::add(&self.shared.figures.overloaded, 1);
            return Err(Failure::Overloaded("what is written behind the journal has fallen too far back"));
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
