//! The actor and the request behind a job of many commands.

use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command};
use trackside_lifecycle::name::Name;

/// The actor and the request behind a job of many commands.
#[derive(Clone, Debug)]
pub struct Requester {
    pub actor: Actor,
    /// On whose behalf, where the actor may act for others.
    pub on_behalf_of: Option<Name>,
    /// The request id, recorded in the journal.
    pub request_id: Option<Name>,
}

impl Requester {
    /// The engine itself.
    pub(crate) fn engine() -> Self {
        Actor::engine().into()
    }

    pub(crate) fn command(&self, ask: Ask) -> Command {
        let Self { actor, on_behalf_of, request_id } = self.clone();
        Command { on_behalf_of, request_id, ..Command::new(actor, ask) }
    }
}

impl From<Actor> for Requester {
    fn from(actor: Actor) -> Self {
        Self { actor, on_behalf_of: None, request_id: None }
    }
}

impl From<&Actor> for Requester {
    fn from(actor: &Actor) -> Self {
        actor.clone().into()
    }
}
