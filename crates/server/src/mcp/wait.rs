//! Waits until an entity leaves its state, or until something can be claimed.
//!
//! A client that supports MCP tasks gets a [task](super::wait_task). Any other client waits in its call, for a
//! bounded time, with progress notifications if it asked for them.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use tokio::time::Instant;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Code;
use trackside_lifecycle::guard::did_you_mean_or_all;
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_protocol::{ClaimableEntity, WaitReply};
use trackside_runtime::Failure;
use trackside_runtime::read::ListQuery;

use super::args::WaitInput;
use super::tool_answer::ToolAnswer;
use super::work;
use crate::app::App;
use crate::auth::{Caller, TokenLiveness};
use crate::events::StreamSlot;
use crate::problem::Refused;
use crate::rest::{entity_bodies, entity_body};

/// The longest and default time of a call, in seconds.
const LONGEST: u64 = 300;
const USUAL: u64 = 30;
/// The interval of progress notifications.
const BREATH: Duration = Duration::from_secs(5);
/// The shortest interval between two checks for something to claim.
const PAUSE: Duration = Duration::from_millis(250);

/// The condition of a wait.
#[derive(Clone, Debug)]
pub(super) enum Awaited {
    /// The entity leaves this state, which it entered at this time.
    Leaves { key: EntityKey, state: Name, since: Timestamp },
    /// The caller can claim one.
    ClaimableEntity(Arc<Lifecycle>),
}

impl Awaited {
    pub async fn of(app: &App, caller: &Caller, asked: &WaitInput) -> Result<Self, Refused> {
        let lifecycle = Name::new(&asked.lifecycle);
        let Some(id) = &asked.id else {
            return Self::claimable(app, caller, &lifecycle, asked).await;
        };
        let (key, actor) = (EntityKey { lifecycle, id: Name::new(id) }, caller.actor().clone());
        let wanted = key.clone();
        let entity = app.read(move |reads| reads.readable(&wanted, &actor)).await?;
        let state = match &asked.state {
            Some(state) => find_state(app, &key.lifecycle, entity.definition, state)?,
            None => entity.state.clone(),
        };
        Ok(Self::Leaves { key, state, since: entity.state_entered_at })
    }

    async fn claimable(app: &App, caller: &Caller, name: &Name, asked: &WaitInput) -> Result<Self, Refused> {
        if asked.state.is_some() {
            return Err(Refused::parameter(
                "state",
                "`state` needs an `id`: it is the state that this entity is to leave",
            ));
        }
        let Some(life) = app.runtime.law().newest(name).cloned() else {
            let query = ListQuery::of(name.clone(), caller.actor().clone());
            app.read(move |reads| reads.list(&query)).await?;
            return Err(Refused::broken("a lifecycle came while it was looked for"));
        };
        if life.rankings.iter().all(|it| it.claims.is_none()) {
            let detail = format!("Entities of {name} cannot be claimed: name the id of one to wait for");
            return Err(Refused::new(Code::NothingClaimable, detail));
        }
        Ok(Self::ClaimableEntity(life))
    }

    /// The result, if the condition holds.
    pub async fn check(&self, app: &App, caller: &Caller) -> Result<Option<WaitReply>, Refused> {
        match self {
            Self::Leaves { key, state, since } => {
                let (key, actor) = (key.clone(), caller.actor().clone());
                let (state, since) = (state.clone(), *since);
                let looked = app.read(move |reads| {
                    let entity = reads.readable(&key, &actor)?;
                    if entity.state == state && entity.state_entered_at == since {
                        return Ok(None);
                    }
                    Ok(entity_bodies(reads, &[entity], &actor)?.pop())
                });
                let left = looked.await?;
                Ok(left.map(|it| WaitReply { happened: true, entity: Some(it), claimable: Vec::new() }))
            }
            Self::ClaimableEntity(life) => {
                let claimable = work::claims(app, caller, life).await?;
                Ok((!claimable.is_empty()).then_some(WaitReply { happened: true, entity: None, claimable }))
            }
        }
    }

    /// The result at the end of the time.
    pub async fn in_vain(&self, app: &App, caller: &Caller) -> Result<WaitReply, Refused> {
        let mut waited = WaitReply { happened: false, entity: None, claimable: Vec::new() };
        if let Self::Leaves { key, .. } = self {
            let (key, actor) = (key.clone(), caller.actor().clone());
            waited.entity = Some(app.read(move |reads| entity_body(reads, &key, &actor)).await?);
        }
        Ok(waited)
    }

    /// Whether these entries may have changed the result.
    fn concerns(&self, entries: &[Entry]) -> bool {
        let moves = |it: &&Entry| !matches!(it.event, Event::LeaseRenewed { .. });
        entries.iter().filter(moves).any(|it| match self {
            Self::Leaves { key, .. } => it.entity == *key,
            // A claim may also depend on other entities.
            Self::ClaimableEntity(_) => true,
        })
    }

    /// The condition for people.
    pub fn in_words(&self) -> String {
        match self {
            Self::Leaves { key, state, .. } => format!("{key} is {state}"),
            Self::ClaimableEntity(life) => format!("there is no {} for you to claim", life.name),
        }
    }
}

/// Checks that a state exists.
fn find_state(app: &App, lifecycle: &Name, version: u32, state: &str) -> Result<Name, Refused> {
    let law = app.runtime.law();
    let life = law
        .definition(lifecycle, version)
        .ok_or_else(|| Refused::broken("an entity without its definition"))?;
    if let Some(found) = life.state(state) {
        return Ok(found.name.clone());
    }
    let hint = did_you_mean_or_all(state, "Its states", life.states.iter().map(|it| it.name.as_str()));
    let detail = format!("{lifecycle} has no state {state}{hint}");
    Err(Refused::new(Code::UnknownState, detail))
}

/// The result as a sentence.
pub(super) fn told(awaited: &Awaited, waited: &WaitReply) -> ToolAnswer {
    let says = match (waited.happened, &waited.entity, waited.claimable.as_slice()) {
        (true, Some(entity), _) => {
            format!("{}/{} is {} now.", entity.lifecycle, entity.id, entity.state)
        }
        (true, None, [ClaimableEntity { lifecycle, event, .. }, ..]) => {
            format!("There is something to claim: claim {lifecycle} with event {event}.")
        }
        _ => format!("Timed out: {}. Call wait again to continue.", awaited.in_words()),
    };
    ToolAnswer::new(says, waited)
}

/// Waits in the call.
pub(super) async fn in_call(
    app: &App,
    caller: &Caller,
    awaited: &Awaited,
    seconds: Option<u64>,
    context: &RequestContext<RoleServer>,
) -> Result<ToolAnswer, Refused> {
    let limit = Duration::from_secs(seconds.unwrap_or(USUAL).clamp(1, LONGEST));
    let _place = StreamSlot::take(app, caller)?;
    let mut feed = app.runtime.follow(app.reads.seq());
    let mut stopping = app.stopping.subscribe();
    let begun = Instant::now();
    let breath = Breath { token: context.meta.get_progress_token(), begun, limit };
    let mut next_breath = begun;
    let mut liveness = TokenLiveness::of(caller);
    let gone = || Refused::unauthorized("The token was revoked or has expired. Ask an admin for a new one");
    loop {
        if let Some(waited) = awaited.check(app, caller).await? {
            return Ok(told(awaited, &waited));
        }
        loop {
            if begun.elapsed() >= limit {
                return Ok(told(awaited, &awaited.in_vain(app, caller).await?));
            }
            if Instant::now() >= next_breath {
                if !liveness.is_good(app, &[])? {
                    return Err(gone());
                }
                breath.taken(context, awaited).await;
                next_breath = Instant::now() + BREATH;
            }
            tokio::select! {
                found = feed.next() => match found {
                    Ok(entries) if !liveness.is_good(app, &entries)? => return Err(gone()),
                    Ok(entries) if awaited.concerns(&entries) => break,
                    Ok(_) => {}
                    Err(failure) => return Err(failure.into()),
                },
                () = tokio::time::sleep_until(next_breath.min(begun + limit)) => {}
                _ = stopping.wait_for(|it| *it) => return Err(Failure::Stopped.into()),
                () = context.ct.cancelled() => return Err(Failure::Stopped.into()),
            }
        }
        if matches!(awaited, Awaited::ClaimableEntity(_)) {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Sends a progress notification.
struct Breath {
    token: Option<ProgressToken>,
    begun: Instant,
    limit: Duration,
}

impl Breath {
    async fn taken(&self, context: &RequestContext<RoleServer>, awaited: &Awaited) {
        let Some(token) = self.token.clone() else { return };
        let progress = ProgressNotificationParam::new(token, self.begun.elapsed().as_secs_f64())
            .with_total(self.limit.as_secs_f64())
            .with_message(format!("Still waiting: {}", awaited.in_words()));
        context.peer.notify_progress(progress).await.ok();
    }
}
