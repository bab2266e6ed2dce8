//! Waiting: until an entity leaves its state, or until there is something to claim.
//!
//! A client that knows the protocol's tasks gets a [ticket](super::ticket). Any other client waits in its call, for
//! a bounded time, and hears of progress if it asked for that.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use tokio::time::Instant;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_runtime::Failure;
use trackside_runtime::read::ListQuery;

use super::args::Wait;
use super::told::{Claimable, Told, Waited};
use super::work;
use crate::app::App;
use crate::auth::{Caller, Standing};
use crate::events::Place;
use crate::problem::Refused;

/// Seconds that a call may take, and takes if nothing is said.
const LONGEST: u64 = 300;
const USUAL: u64 = 30;
/// How often whoever waits hears that it is still so.
const BREATH: Duration = Duration::from_secs(5);
/// What can be claimed is looked at no more often than this.
const PAUSE: Duration = Duration::from_millis(250);

/// What is waited for.
#[derive(Clone, Debug)]
pub(super) enum Awaited {
    /// That it is not in this state any more, in which it is since then.
    Leaves { key: EntityKey, state: Name, since: Timestamp },
    /// That the caller can claim one.
    Claimable(Arc<Lifecycle>),
}

impl Awaited {
    pub async fn of(app: &App, caller: &Caller, asked: &Wait) -> Result<Self, Refused> {
        let lifecycle = Name::new(&asked.lifecycle);
        let Some(id) = &asked.id else {
            return Self::claimable(app, caller, &lifecycle, asked).await;
        };
        let (key, actor) = (EntityKey { lifecycle, id: Name::new(id) }, caller.actor().clone());
        let wanted = key.clone();
        let entity = app.read(move |reads| reads.readable(&wanted, &actor)).await?;
        let state = match &asked.state {
            Some(state) => known(app, &key.lifecycle, entity.definition, state)?,
            None => entity.state.clone(),
        };
        Ok(Self::Leaves { key, state, since: entity.state_entered_at })
    }

    async fn claimable(app: &App, caller: &Caller, name: &Name, asked: &Wait) -> Result<Self, Refused> {
        if asked.state.is_some() {
            return Err(Refused::parameter(
                "state",
                "state goes with an id: it is what that entity is to leave",
            ));
        }
        let Some(life) = app.runtime.law().newest(name).cloned() else {
            let query = ListQuery::of(name.clone(), caller.actor().clone());
            app.read(move |reads| reads.list(&query)).await?;
            return Err(Refused::broken("a lifecycle came while it was looked for"));
        };
        if life.rankings.iter().all(|it| it.claims.is_none()) {
            let detail = format!("Nothing of {name} can be claimed: name the id of the one to wait for");
            return Err(Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "nothing-claimable", detail));
        }
        Ok(Self::Claimable(life))
    }

    /// Whether it has happened.
    pub async fn looked(&self, app: &App, caller: &Caller) -> Result<Option<Waited>, Refused> {
        match self {
            Self::Leaves { key, state, since } => {
                let (key, actor) = (key.clone(), caller.actor().clone());
                let (state, since) = (state.clone(), *since);
                let looked = app.read(move |reads| {
                    let entity = reads.readable(&key, &actor)?;
                    if entity.state == state && entity.state_entered_at == since {
                        return Ok(None);
                    }
                    Ok(reads.present_all(&[entity], &actor)?.pop())
                });
                let left = looked.await?;
                Ok(left.map(|it| Waited { happened: true, entity: Some(it), claimable: Vec::new() }))
            }
            Self::Claimable(life) => {
                let claimable = work::claims(app, caller, life).await?;
                Ok((!claimable.is_empty()).then_some(Waited { happened: true, entity: None, claimable }))
            }
        }
    }

    /// Nothing has happened, and the time is up.
    pub async fn in_vain(&self, app: &App, caller: &Caller) -> Result<Waited, Refused> {
        let mut waited = Waited { happened: false, entity: None, claimable: Vec::new() };
        if let Self::Leaves { key, .. } = self {
            let (key, actor) = (key.clone(), caller.actor().clone());
            waited.entity = Some(app.read(move |reads| reads.present(&key, &actor)).await?);
        }
        Ok(waited)
    }

    /// Whether it may have happened by one of these.
    fn concerns(&self, entries: &[Entry]) -> bool {
        let moves = |it: &&Entry| !matches!(it.event, Event::LeaseRenewed { .. });
        entries.iter().filter(moves).any(|it| match self {
            Self::Leaves { key, .. } => it.entity == *key,
            // Whether somebody may claim can hang on other things.
            Self::Claimable(_) => true,
        })
    }

    /// What it is, for people.
    pub fn in_words(&self) -> String {
        match self {
            Self::Leaves { key, state, .. } => format!("{key} is {state}"),
            Self::Claimable(life) => format!("there is no {} for you to claim", life.name),
        }
    }
}

/// A state that there is.
fn known(app: &App, lifecycle: &Name, version: u32, state: &str) -> Result<Name, Refused> {
    let law = app.runtime.law();
    let life = law
        .definition(lifecycle, version)
        .ok_or_else(|| Refused::broken("an entity without its definition"))?;
    if let Some(found) = life.state(state) {
        return Ok(found.name.clone());
    }
    let near = nearest(state, life.states.iter().map(|it| it.name.as_str()));
    let hint = near.map(|it| format!(". Did you mean {it}?")).unwrap_or_default();
    let detail = format!("{lifecycle} has no state {state}{hint}");
    Err(Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown-state", detail))
}

/// What became of it, in a sentence.
pub(super) fn told(awaited: &Awaited, waited: &Waited) -> Told {
    let says = match (waited.happened, &waited.entity, waited.claimable.as_slice()) {
        (true, Some(entity), _) => {
            let text =
                |name: &str| entity.get(name).and_then(|it| it.as_str()).unwrap_or_default().to_owned();
            format!("{}/{} is {} now.", text("lifecycle"), text("id"), text("state"))
        }
        (true, None, [Claimable { lifecycle, event, .. }, ..]) => {
            format!("There is something to claim: claim {lifecycle} with event {event}.")
        }
        _ => format!("The time is up and {}. Call wait again to go on waiting.", awaited.in_words()),
    };
    Told::new(says, waited)
}

/// Waits in the call itself.
pub(super) async fn in_call(
    app: &App,
    caller: &Caller,
    awaited: &Awaited,
    seconds: Option<u64>,
    context: &RequestContext<RoleServer>,
) -> Result<Told, Refused> {
    let limit = Duration::from_secs(seconds.unwrap_or(USUAL).clamp(1, LONGEST));
    let _place = Place::take(app)?;
    let mut feed = app.runtime.follow(app.reads.seq());
    let mut stopping = app.stopping.subscribe();
    let begun = Instant::now();
    let breath = Breath { token: context.meta.get_progress_token(), begun, limit };
    let mut next_breath = begun;
    let mut standing = Standing::of(caller);
    let gone = || {
        Refused::unauthorized("The token was revoked or has expired meanwhile: ask an admin for a new one")
    };
    loop {
        if let Some(waited) = awaited.looked(app, caller).await? {
            return Ok(told(awaited, &waited));
        }
        loop {
            if begun.elapsed() >= limit {
                return Ok(told(awaited, &awaited.in_vain(app, caller).await?));
            }
            if Instant::now() >= next_breath {
                if !standing.is_good(app, &[])? {
                    return Err(gone());
                }
                breath.taken(context, awaited).await;
                next_breath = Instant::now() + BREATH;
            }
            tokio::select! {
                found = feed.next() => match found {
                    Ok(entries) if !standing.is_good(app, &entries)? => return Err(gone()),
                    Ok(entries) if awaited.concerns(&entries) => break,
                    Ok(_) => {}
                    Err(failure) => return Err(failure.into()),
                },
                () = tokio::time::sleep_until(next_breath.min(begun + limit)) => {}
                _ = stopping.wait_for(|it| *it) => return Err(Failure::Stopped.into()),
                () = context.ct.cancelled() => return Err(Failure::Stopped.into()),
            }
        }
        if matches!(awaited, Awaited::Claimable(_)) {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Says that it is still waited.
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
