//! Answers to batches of commands.

use serde::Serialize;
use utoipa::ToSchema;

use crate::answers::HeartbeatReply;
use crate::moved::Moved;
use crate::problem::Problem;

/// The outcome of every command of a batch, in the order of the commands.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BatchReply {
    pub results: Vec<BatchResult>,
}

/// The refusal of an atomic batch: at least one command was refused and nothing changed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BatchRefusal {
    #[serde(flatten)]
    pub problem: Problem,
    pub results: Vec<BatchResult>,
}

/// The outcome of one command of a batch.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum BatchResult {
    Done {
        /// 201 if the command created an entity, else 200.
        status: u16,
        #[serde(flatten)]
        moved: Box<Moved>,
    },
    Renewed {
        status: u16,
        #[serde(flatten)]
        reply: Box<HeartbeatReply>,
    },
    Refused(Box<Problem>),
}
