//! Explains why an entity does not move: every transition, missing conditions, who may act, and what happens next and
//! when.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use trackside_engine::actor::Actor;
use trackside_engine::apply::lease_timer;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_protocol::{
    AccountHold, ArrivalBody, AttemptBody, AttemptOutcome, BlockingEntityBody, ClaimOption, EntityBody,
    ExplainBody, OpenEffectBody, OpenRequestBody, PendingTimerBody, Problem, RunSummary,
    TransitionOptionBody, UnmetBody, WaitingFor,
};
use trackside_runtime::read::{Explanation, Trial};
use trackside_runtime::{OutboxEffect, ReadError, Reads};

use super::approvals;
use super::entity_bodies;
use super::headline::{HeadlineFacts, headline, movable_with_more};
use super::open_requests::{OpenRequest, arrival_body, open_requests};
use super::runs::{holds_of, runs_of_entity};
use super::unfit_runners::unfit_runners;
use crate::app::App;
use crate::auth::Caller;
use crate::events::Visibility;
use crate::problem::Refused;

/// Explains the state of an entity.
#[utoipa::path(
    get, path = "/v1/entities/{lifecycle}/{id}/explain", tag = "entities", operation_id = "explain",
    params(("lifecycle" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = ExplainBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn explain(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
) -> Result<Json<ExplainBody>, Refused> {
    let (key, actor) = (EntityKey::new(lifecycle.as_str(), id.as_str()), caller.actor().clone());
    let law = app.runtime.law();
    let inboxes = approvals::inboxes(&app);
    let (courier, visibility) = (app.runtime.outbox()?, Visibility::of(&app, &caller));
    let body = app.read(move |reads| {
        let explanation = reads.explain(&key, &actor)?;
        let entity = entity_bodies(reads, std::slice::from_ref(&explanation.entity), &actor)?.pop();
        let life = law.definition(&key.lifecycle, explanation.entity.definition);
        let requests = open_requests(reads, &law, &inboxes, &key, &actor)?;
        let arrival = reads.arrival(&key)?.map(|it| arrival_body(&it, entity.as_ref()));
        let mut runs = runs_of_entity(reads, &key)?;
        let holds = holds_of(reads, &runs)?;
        runs.retain(|it| !it.ended);
        let runs = runs.into_iter().map(RunSummary::from).collect();
        let agents = AgentsAtWork {
            runs,
            holds,
            not_ready: not_ready(reads, &explanation, &actor, life.map(|it| &**it))?,
        };
        let mut effects = Vec::new();
        for it in courier.open_of(&key)? {
            let shows = match &it.behind {
                Some((_, other)) => visibility.sees_entity(reads, other)?,
                None => false,
            };
            effects.push(open_effect(&it, shows));
        }
        let (life, caller) = (life.map(|it| &**it), actor.subject.as_ref().unwrap_or(&actor.id));
        Ok(explain_body(&explanation, caller, entity, life, arrival, requests, agents, effects))
    });
    Ok(Json(body.await?))
}

/// Open runs for an entity, accounts that start no more, and why no run starts yet, by role.
struct AgentsAtWork {
    runs: Vec<RunSummary>,
    holds: Vec<AccountHold>,
    not_ready: BTreeMap<Name, Vec<String>>,
}

/// Why no agent starts to work on an entity yet, by role.
fn not_ready(
    reads: &Reads,
    it: &Explanation,
    actor: &Actor,
    life: Option<&Lifecycle>,
) -> Result<BTreeMap<Name, Vec<String>>, ReadError> {
    let mut all: BTreeMap<Name, Vec<String>> = BTreeMap::new();
    let roles = || life.into_iter().flat_map(|it| &it.work);
    for (role, _) in roles().filter(|(_, work)| !work.ready.is_empty()) {
        if let Ok((_, instructions)) = reads.instructions(&it.entity.key, role, actor)?
            && !instructions.waits.is_empty()
        {
            all.insert(role.clone(), instructions.waits);
        }
    }
    let is_claimable = |claim: &Option<Name>| {
        claim.as_ref().is_some_and(|claim| it.claimable.iter().any(|(event, _)| event == claim))
    };
    let waiting: Vec<&Name> =
        roles().filter(|(_, work)| is_claimable(&work.claim)).map(|(role, _)| role).collect();
    if !waiting.is_empty() {
        let unfit = unfit_runners(reads)?;
        for role in waiting.into_iter().filter(|_| !unfit.is_empty()) {
            all.entry(role.clone()).or_default().extend(unfit.iter().cloned());
        }
    }
    Ok(all)
}

fn open_effect(it: &OutboxEffect, shows_other: bool) -> OpenEffectBody {
    OpenEffectBody {
        id: it.id,
        effect: it.effect.clone(),
        since: it.since.map(|it| it.to_string()),
        taken_by: it.taken_by.as_ref().map(Name::to_string),
        until: it.until.map(|it| it.to_string()),
        behind: it.behind.as_ref().map(|(id, _)| *id),
        behind_entity: it.behind.as_ref().filter(|_| shows_other).map(|(_, entity)| entity.to_string()),
    }
}

/// An effect without a result: since when it is open, its worker, and the effects before it.
fn effect_in_words(it: &OpenEffectBody) -> String {
    let since = it.since.as_ref().map(|it| format!(" since {it}")).unwrap_or_default();
    let who = match (&it.taken_by, &it.until, it.behind, &it.behind_entity) {
        (Some(taker), Some(until), ..) => format!("{taker} has taken it until {until}"),
        (_, _, Some(id), Some(entity)) => format!("it comes after effect {id} of {entity}"),
        (_, _, Some(id), None) => format!("it comes after effect {id}"),
        _ => "no worker has taken it".to_owned(),
    };
    format!(" It waits for {}{since}: {who}.", it.effect)
}

impl AgentsAtWork {
    fn in_words(&self) -> String {
        let mut text = String::new();
        for run in &self.runs {
            let agent = run.agent.as_deref().unwrap_or_default();
            text.push_str(&format!(" Run {} of {agent} is {} since {}.", run.id, run.state, run.created_at));
        }
        for hold in &self.holds {
            let until = hold.until.as_ref().map(|it| format!(" until {it}"));
            let until = until.unwrap_or_else(|| " until a person releases it".to_owned());
            text.push_str(&format!(" Account {} is held{until}, so no run starts with it.", hold.account));
        }
        for (role, waits) in &self.not_ready {
            text.push_str(&format!(" No {role} starts yet: {}.", waits.join("; ").trim_end_matches('.')));
        }
        text
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of an explanation")]
fn explain_body(
    it: &Explanation,
    caller: &Name,
    entity: Option<EntityBody>,
    life: Option<&Lifecycle>,
    arrival: Option<ArrivalBody>,
    requests: Vec<OpenRequest>,
    agents: AgentsAtWork,
    effects: Vec<OpenEffectBody>,
) -> ExplainBody {
    let is_accepted = |trial: &Trial| matches!(trial, Trial::Accepted { .. });
    let ready = it.trials.iter().filter(|(_, trial)| is_accepted(trial));
    let ready: Vec<Name> = ready.map(|(event, _)| event.clone()).collect();
    let timers = pending_timers(it, life);
    let next = timers.iter().min_by_key(|it| it.at);
    let mut summary = summary(it, &ready, &requests, &effects, next.map(PendingTimer::in_words));
    summary.push_str(&agents.in_words());
    let requests: Vec<OpenRequestBody> = requests.into_iter().map(|it| it.body).collect();
    let all_timers: Vec<PendingTimerBody> = timers.iter().map(PendingTimer::body).collect();
    let state = life.and_then(|life| life.state(&it.entity.state));
    let decision = life.zip(state).map(|(life, state)| life.decision(state)).unwrap_or_default();
    let decisions: Vec<Name> = decision.approve.into_iter().chain(decision.deny).collect();
    let headline = headline(&HeadlineFacts {
        explanation: it,
        caller,
        has_ended: state.is_some_and(|it| it.last),
        waits_for_people: life
            .zip(state)
            .is_some_and(|(life, state)| life.waits_for_people(state) || life.asks_people() && !state.last),
        decisions: &decisions,
        requests: &requests,
        runs: &agents.runs,
        effects: &effects,
        timers: &all_timers,
    });
    let claim = |(event, who): &(Name, String)| ClaimOption { event: event.clone(), who: who.clone() };
    ExplainBody {
        entity,
        now: it.now.to_string(),
        since: it.entity.state_entered_at.to_string(),
        about: state.map(|it| it.about.clone()),
        headline_text: headline.in_words(),
        headline,
        summary,
        arrival,
        requests,
        given_to: it.given_to.clone(),
        able_to_act: it.able.clone(),
        claimable: it.claimable.iter().map(claim).collect(),
        kept_back_by: it.blocked_by.iter().map(BlockingEntityBody::from).collect(),
        ready,
        transitions: it.transitions.iter().map(TransitionOptionBody::from).collect(),
        attempts: it.trials.iter().map(|(event, trial)| attempt(event, trial)).collect(),
        waiting_for: waiting(it),
        next: next.map(PendingTimer::body),
        timers: all_timers,
        open_effects: effects,
        not_ready: agents.not_ready,
        broken: it.entity.broken.clone(),
        runs: agents.runs,
        holds: agents.holds,
    }
}

/// A running timer of an entity: what it will do, and when.
pub(super) struct PendingTimer<'a> {
    name: &'a Name,
    /// Its next step: a warning, or its end.
    pub at: Timestamp,
    ends_at: Timestamp,
    /// The event it fires, and where that leads.
    then: Option<&'a Name>,
    to: Vec<&'a Name>,
}

pub(super) fn pending_timers<'a>(it: &'a Explanation, life: Option<&'a Lifecycle>) -> Vec<PendingTimer<'a>> {
    let running = it.entity.timers.iter();
    let pending = running.filter_map(|(name, timer)| {
        let then = life.and_then(|life| match life.timer(name) {
            Some(declared) => declared.then.as_ref().map(|it| &it.fire),
            // The expiry of a lease is a timer of its slot.
            None => life.slots.iter().find(|slot| lease_timer(&slot.name) == *name)?.lost.as_ref(),
        });
        let led = it.transitions.iter().filter(|way| Some(&way.event) == then).flat_map(|it| &it.to);
        let mut to: Vec<&Name> = led.collect();
        to.dedup();
        Some(PendingTimer { name, at: timer.due?, ends_at: timer.ends_at()?, then, to })
    });
    pending.collect()
}

impl PendingTimer<'_> {
    pub(super) fn body(&self) -> PendingTimerBody {
        PendingTimerBody {
            timer: self.name.clone(),
            name: self.name.clone(),
            at: self.at.to_string(),
            next_step_at: self.at.to_string(),
            step: if self.at < self.ends_at { "warning" } else { "end" },
            due_at: self.ends_at.to_string(),
            then: self.then.cloned(),
            to: self.to.iter().map(|it| (*it).clone()).collect(),
        }
    }

    pub(super) fn in_words(&self) -> String {
        match (self.at < self.ends_at, self.then) {
            (true, _) => format!("{} warns at {}", self.name, self.at),
            (false, Some(then)) => format!("{then} at {}, when {} ends", self.at, self.name),
            (false, None) => format!("{} ends at {}", self.name, self.at),
        }
    }
}

fn attempt(event: &Name, trial: &Trial) -> AttemptBody {
    let outcome = match trial {
        Trial::Accepted { to } => AttemptOutcome::Accepted { to: to.clone() },
        Trial::Refused(refusal) => AttemptOutcome::Refused {
            code: refusal.code.to_string(),
            detail: refusal.detail.clone(),
            errors: refusal.errors.iter().map(UnmetBody::from).collect(),
            who: refusal.who.clone(),
        },
    };
    AttemptBody { event: event.clone(), accepted: matches!(trial, Trial::Accepted { .. }), outcome }
}

/// The reasons why the entity is blocked, without duplicates: who must act, and which conditions fail.
fn waiting(it: &Explanation) -> Vec<WaitingFor> {
    let mut all: Vec<WaitingFor> = Vec::new();
    for way in &it.transitions {
        let failed = way.checks.iter().filter(|it| !it.passed);
        let unmet = failed.map(|it| it.message.clone().unwrap_or_else(|| it.rule.to_string()));
        let line = WaitingFor {
            event: way.event.clone(),
            to: way.to.clone(),
            who: way.who.clone(),
            unmet: unmet.collect(),
        };
        if !all.contains(&line) {
            all.push(line);
        }
    }
    all
}

/// A summary for people.
fn summary(
    it: &Explanation,
    ready: &[Name],
    requests: &[OpenRequest],
    effects: &[OpenEffectBody],
    next: Option<String>,
) -> String {
    let entity = &it.entity;
    let since = &entity.state_entered_at;
    let mut text = format!("{} is {} since {since}.", entity.key, entity.state);
    for it in requests {
        text.push_str(&format!(" {}", it.in_words));
    }
    if it.transitions.is_empty() {
        text.push_str(" It has ended: nothing moves it any more.");
    } else {
        let almost = movable_with_more(it, ready);
        if ready.is_empty() && almost.is_empty() {
            text.push_str(" Nothing that you could ask for now would move it.");
        }
        if !ready.is_empty() {
            text.push_str(&format!(" You could ask for: {}.", ready.join(", ")));
        }
        if !almost.is_empty() {
            text.push_str(&format!(" You could move it by sending more: {}.", almost.join("; ")));
        }
    }
    for (event, who) in &it.claimable {
        text.push_str(&format!(" It can be claimed ({event}) by: {who}."));
    }
    for keeper in &it.blocked_by {
        text.push_str(&format!(" {} keeps it back: {}.", keeper.entity, keeper.says.trim_end_matches('.')));
        for it in &keeper.unblock_options {
            text.push_str(&format!(" {} there would help, by: {}.", it.event, it.who));
        }
    }
    effects.iter().for_each(|it| text.push_str(&effect_in_words(it)));
    match next {
        Some(next) => text.push_str(&format!(" Next by itself: {next}.")),
        None => text.push_str(" Nothing will happen by itself."),
    }
    text
}
