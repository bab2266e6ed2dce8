//! What is handed to the decider.

use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;
use trackside_engine::command::Command;
use trackside_engine::{Law, View};
use trackside_lifecycle::time::Timestamp;
use trackside_store::Definition;

use crate::answer::{Answer, Batch, Failure};
use crate::by::By;
use crate::pipeline::{Depth, SweepReport};
use crate::stages::Stages;

pub(crate) type Ticket<T> = oneshot::Sender<Result<T, Failure>>;

/// Whoever waits for an answer, called with it.
pub(crate) type Reply<T = Answer> = Box<dyn FnOnce(Result<T, Failure>) + Send>;

/// A question put to the view; it is asked again until it has all it needs.
pub(crate) type Question = Box<dyn FnMut(&Law, &View, Timestamp) + Send>;

/// What somebody wishes beside an answer.
#[derive(Debug, Default)]
pub(crate) struct Wish {
    /// To know how far it is.
    pub stages: Option<Arc<Stages>>,
    /// To see the entity.
    pub shown: bool,
}

pub(crate) enum Work {
    /// A command, for whoever waits, and what they wish beside the answer.
    Command(Box<Command>, Reply, Wish),
    /// Several that are decided together, all or none; with how far each is, if somebody wants to know.
    Atomic(Vec<Command>, Reply<Batch>, Vec<Arc<Stages>>),
    /// A question about how things are; answered once everything it saw is committed.
    Look(Question, Box<dyn FnOnce(Result<(), Failure>) + Send>),
    /// Moves the manual clock; answered when all that became due has been done.
    Advance(Timestamp, Ticket<Timestamp>),
    /// Looks at everything once.
    Sweep(Ticket<SweepReport>, Depth),
    /// Nothing more will be asked.
    Stop,
    /// Definitions that are in force from here on, and who has them installed.
    Law(Arc<Law>, Vec<Definition>, By, Ticket<()>),
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command, ..) => write!(f, "{command:?}"),
            Self::Atomic(commands, ..) => write!(f, "{commands:?}"),
            Self::Look(..) => f.write_str("a look"),
            Self::Advance(to, _) => write!(f, "advance to {to}"),
            Self::Law(..) => f.write_str("definitions"),
            Self::Sweep(..) => f.write_str("sweep"),
            Self::Stop => f.write_str("stop"),
        }
    }
}

/// Something to be said once the commit is there.
pub(crate) type Saying = Box<dyn FnOnce(Result<(), Failure>) + Send>;
