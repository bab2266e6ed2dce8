//! Work for the decider.

use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;
use trackside_engine::command::Command;
use trackside_engine::view::Needs;
use trackside_engine::{Decision, Law, View};
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_store::Definition;

use crate::answer::{BatchAnswer, CommandAnswer, Failure};
use crate::pipeline::{ClockCorrection, Depth, SweepReport};
use crate::requester::Requester;
use crate::stages::Stages;
use crate::steering::ClockDirection;

pub(crate) type Responder<T> = oneshot::Sender<Result<T, Failure>>;

/// Called with the answer to a command.
pub(crate) type Reply<T = CommandAnswer> = Box<dyn FnOnce(Result<T, Failure>) + Send>;

/// A question about the view, repeated until all data it needs is loaded.
pub(crate) type ViewQuestion = Box<dyn FnMut(&Law, &View, Timestamp) -> Result<(), Needs> + Send>;

/// Options of a submission.
#[derive(Debug, Default)]
pub struct SubmitOptions {
    /// Records when the command is taken, decided and answered.
    pub stages: Option<Arc<Stages>>,
    /// The entity as the caller sees it, with computed fields and allowed transitions.
    pub with_entity_view: bool,
    /// Whether it may use the space that is reserved for recovery, as the revocation of a token does.
    pub from_reserve: bool,
}

/// Where to move the manual clock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClockTarget {
    To(Timestamp),
    /// From where it is when the move begins, so that concurrent moves add up.
    By(Span),
}

pub(crate) enum Work {
    Command(Box<Command>, Reply, SubmitOptions),
    /// Several commands that are committed together or not at all.
    Atomic(Vec<Command>, Reply<BatchAnswer>, Vec<Arc<Stages>>),
    /// Several commands to decide in order, each on top of those before it. Nothing is committed.
    Trial(Vec<Command>, Reply<Vec<Decision>>),
    /// A question about the view; answered once everything it read is committed.
    Look(ViewQuestion, Box<dyn FnOnce(Result<(), Failure>) + Send>),
    /// Moves the manual clock; answered when all timers that became due have fired.
    Advance(ClockTarget, Responder<Timestamp>),
    /// Moves project time to the machine's clock, for a person and with their reason.
    CorrectClock(ClockDirection, Requester, Option<String>, Responder<ClockCorrection>),
    /// Runs one sweep.
    Sweep(Responder<SweepReport>, Depth),
    /// The last message: no more work follows.
    Stop,
    /// Definitions to put into force, and the requester.
    Law(Arc<Law>, Vec<Definition>, Requester, Responder<()>),
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command, ..) => write!(f, "{command:?}"),
            Self::Atomic(commands, ..) => write!(f, "{commands:?}"),
            Self::Trial(commands, ..) => write!(f, "trial of {commands:?}"),
            Self::Look(..) => f.write_str("a look"),
            Self::Advance(target, _) => write!(f, "advance {target:?}"),
            Self::CorrectClock(direction, ..) => write!(f, "correct the clock {direction:?}"),
            Self::Law(..) => f.write_str("definitions"),
            Self::Sweep(..) => f.write_str("sweep"),
            Self::Stop => f.write_str("stop"),
        }
    }
}

/// Called once the commit is on disk, or has failed.
pub(crate) type CommitReply = Box<dyn FnOnce(Result<(), Failure>) + Send>;
