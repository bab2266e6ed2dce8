//! The callers, and the fates of their requests.

use std::sync::Arc;

use trackside_engine::actor::ActorKind;
use trackside_engine::command::Command;
use trackside_engine::entity::Entity;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{RankingIndex, RankingKey};
use trackside_engine::view::{Group, Lookup};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_runtime::simulation::{Packs, Stepper};
use trackside_runtime::{BatchAnswer, CommandAnswer, Failure, Pending, SweepReport};

use crate::describe;

/// A caller's request.
#[derive(Clone, Debug)]
pub(crate) enum CallerRequest {
    Command(Command),
    All(Vec<Command>),
    Look(StateQuery),
    Install(Packs),
    Advance(Timestamp),
    /// A sweep.
    Sweep,
}

/// A question about how things are.
#[derive(Clone, Debug)]
pub(crate) struct StateQuery {
    pub entity: EntityKey,
    pub group: Option<GroupKey>,
    pub members: bool,
    pub ranking: Option<RankingKey>,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StateReading {
    entity: Option<Entity>,
    group: Group,
    ranking: RankingIndex,
}

impl StateQuery {
    pub fn ask(&self, view: &Lookup<'_>) -> StateReading {
        let mut group = match &self.group {
            Some(key) if self.members => view.group_with_members(key).here().cloned().unwrap_or_default(),
            Some(key) => view.group(key).here().cloned().unwrap_or_default(),
            None => Group::default(),
        };
        if !self.members {
            group.members = Default::default();
        }
        group.listed = false;
        let ranking = self.ranking.as_ref().and_then(|it| view.ranking(it).here().cloned());
        StateReading {
            entity: view.entity(&self.entity).here().cloned(),
            group,
            ranking: ranking.unwrap_or_default(),
        }
    }
}

impl CallerRequest {
    /// Whether sending it twice has one effect.
    pub fn can_be_repeated(&self) -> bool {
        match self {
            Self::Command(command) => command.idempotency_key.is_some(),
            Self::All(commands) => commands.iter().all(|it| it.idempotency_key.is_some()),
            Self::Look(_) | Self::Install(_) | Self::Advance(_) | Self::Sweep => true,
        }
    }

    /// Whether it may take many steps before there is an answer.
    pub fn takes_long(&self) -> bool {
        matches!(self, Self::Advance(_) | Self::Sweep)
    }

    /// The actor whose requests it is decided in order with; none for the server's own.
    pub fn sender(&self) -> Option<(ActorKind, Name)> {
        let of = |it: &Command| (it.actor.kind, it.actor.id.clone());
        match self {
            Self::Command(command) => Some(of(command)),
            Self::All(commands) => commands.first().map(of),
            Self::Look(_) | Self::Install(_) | Self::Advance(_) | Self::Sweep => None,
        }
    }

    pub fn describe(&self) -> String {
        match self {
            Self::Command(command) => describe::describe_command(command),
            Self::All(commands) => {
                commands.iter().map(describe::describe_command).collect::<Vec<_>>().join("; together with ")
            }
            Self::Look(question) => format!("how is {}?", question.entity),
            Self::Install(_) => "install the pack".to_owned(),
            Self::Advance(to) => format!("move the clock to {to}"),
            Self::Sweep => "look at everything".to_owned(),
        }
    }

    /// Hands it in.
    pub fn submit(&self, stepper: &Stepper) -> Result<PendingResponse, Failure> {
        let gateway = stepper.gateway();
        Ok(match self {
            Self::Command(command) => PendingResponse::One(gateway.submit(command.clone())?),
            Self::All(commands) => PendingResponse::All(gateway.submit_atomic(commands.clone(), Vec::new())?),
            Self::Look(question) => {
                let question = question.clone();
                PendingResponse::Seen(gateway.evaluate(move |_, view, _| view.read(|it| question.ask(it)))?)
            }
            Self::Install(packs) => PendingResponse::Done(stepper.install(packs)?),
            Self::Advance(to) => PendingResponse::Time(gateway.advance(*to)?),
            Self::Sweep => PendingResponse::Swept(gateway.sweep()?),
        })
    }
}

/// An answer that is on its way.
#[derive(Debug)]
pub(crate) enum PendingResponse {
    One(Pending),
    All(Pending<BatchAnswer>),
    Seen(Pending<StateReading>),
    Done(Pending<()>),
    Time(Pending<Timestamp>),
    Swept(Pending<SweepReport>),
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) enum CallerResponse {
    One(CommandAnswer),
    All(BatchAnswer),
    Seen(Box<StateReading>),
    Done,
    Time(Timestamp),
    Swept(SweepReport),
    /// Never shown to a caller.
    Unsure,
}

impl PendingResponse {
    pub fn take(&mut self) -> Option<Result<CallerResponse, Failure>> {
        Some(match self {
            Self::One(it) => it.try_take()?.map(CallerResponse::One),
            Self::All(it) => it.try_take()?.map(CallerResponse::All),
            Self::Seen(it) => it.try_take()?.map(|it| CallerResponse::Seen(Box::new(it))),
            Self::Done(it) => it.try_take()?.map(|()| CallerResponse::Done),
            Self::Time(it) => it.try_take()?.map(CallerResponse::Time),
            Self::Swept(it) => it.try_take()?.map(CallerResponse::Swept),
        })
    }
}

/// A request that was handed in, and is in the queue or decided.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// The index of the request.
    pub request: usize,
    /// Its number in the queue.
    pub ticket: u64,
    pub promise: PendingResponse,
    /// Whether the caller will not receive the answer.
    pub deaf: bool,
    /// The least number of entities when a sweep began.
    pub known: usize,
}

/// One request through all its attempts.
#[derive(Debug)]
pub(crate) struct TrackedRequest {
    pub content: Arc<CallerRequest>,
    pub attempts: usize,
    /// Whether it was answered, or its caller has given up.
    pub over: bool,
    pub answered: bool,
}

pub(crate) fn alike(one: &CommandAnswer, other: &CommandAnswer) -> bool {
    match (one, other) {
        (CommandAnswer::Accepted(a), CommandAnswer::Accepted(b)) => {
            (&a.entries, a.root, &a.ignored, &a.entity) == (&b.entries, b.root, &b.ignored, &b.entity)
        }
        (CommandAnswer::Refused(a), CommandAnswer::Refused(b)) => a == b,
        (
            CommandAnswer::Replayed { first: a, entries: b, root: c },
            CommandAnswer::Replayed { first, entries, root },
        ) => (a, b, c) == (first, entries, root),
        _ => false,
    }
}

pub(crate) fn all_alike(one: &BatchAnswer, other: &BatchAnswer) -> bool {
    match (one, other) {
        (BatchAnswer::Done(a), BatchAnswer::Done(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (BatchAnswer::Refused(a), BatchAnswer::Refused(b)) => a == b,
        _ => false,
    }
}
