//! Explains why an entity does not move: every transition, missing conditions, who may act, and what happens next and
//! when.

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};
use trackside_engine::apply::lease_timer;
use trackside_engine::decide::{BlockingEntity, Checked, TransitionOption};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_protocol::{EntityBody, FieldMap, Problem, UnmetBody};
use trackside_runtime::read::{Explanation, Trial};

use super::approvals;
use super::entity_bodies;
use super::open_requests::{self, OpenRequest};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Explains the state of an entity.
#[utoipa::path(
    get, path = "/v1/entities/{lifecycle}/{id}/explain", tag = "entities", operation_id = "explain",
    params(("lifecycle" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn explain(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
) -> Result<Json<Value>, Refused> {
    let (key, actor) = (EntityKey::new(lifecycle.as_str(), id.as_str()), caller.actor().clone());
    let law = app.runtime.law();
    let inboxes = approvals::inboxes(&app);
    let told = app.read(move |reads| {
        let explanation = reads.explain(&key, &actor)?;
        let entity = entity_bodies(reads, std::slice::from_ref(&explanation.entity), &actor)?.pop();
        let life = law.definition(&key.lifecycle, explanation.entity.definition);
        let asked = open_requests::asked(reads, &law, &inboxes, &key, &actor)?;
        let arrival = reads.arrival(&key)?.map(|it| open_requests::arrived(&it, entity.as_ref()));
        Ok(told(&explanation, entity, life.map(|it| &**it), arrival, &asked))
    });
    Ok(Json(told.await?))
}

fn told(
    it: &Explanation,
    entity: Option<EntityBody>,
    life: Option<&Lifecycle>,
    arrival: Option<Value>,
    asked: &[OpenRequest],
) -> Value {
    let open = |trial: &Trial| matches!(trial, Trial::Accepted { .. });
    let ready: Vec<&str> =
        it.trials.iter().filter(|(_, trial)| open(trial)).map(|(event, _)| event.as_str()).collect();
    let coming = coming(it, life);
    let next = coming.iter().min_by_key(|it| it.at);
    let effects: Vec<Value> =
        it.entity.effects.iter().map(|it| json!({ "id": it.id, "effect": it.effect })).collect();
    let trials: Vec<Value> = it.trials.iter().map(|(event, trial)| tried(event, trial)).collect();
    json!({
        "entity": entity,
        "now": it.now.to_string(),
        "since": it.entity.state_entered_at.to_string(),
        "about": life.and_then(|life| life.state(&it.entity.state)).map(|it| &it.about),
        "summary": summary(it, &ready, asked, next.map(PendingTimer::in_words)),
        "arrival": arrival,
        "requests": asked.iter().map(|it| &it.told).collect::<Vec<_>>(),
        "givenTo": it.given_to,
        "ableToAct": it.able,
        "claimable": it.claimable.iter().map(|(event, who)| json!({ "event": event, "who": who })).collect::<Vec<_>>(),
        "keptBackBy": it.blocked_by.iter().map(keeper).collect::<Vec<_>>(),
        "ready": ready,
        "transitions": it.transitions.iter().map(way).collect::<Vec<_>>(),
        "attempts": trials,
        "waitingFor": waiting(it),
        "timers": coming.iter().map(PendingTimer::to_json).collect::<Vec<_>>(),
        "next": next.map(PendingTimer::to_json),
        "openEffects": effects,
        "broken": it.entity.broken,
    })
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

pub(super) fn coming<'a>(it: &'a Explanation, life: Option<&'a Lifecycle>) -> Vec<PendingTimer<'a>> {
    let running = it.entity.timers.iter();
    let told = running.filter_map(|(name, timer)| {
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
    told.collect()
}

impl PendingTimer<'_> {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "timer": self.name, "name": self.name, "at": self.at.to_string(), "nextStepAt": self.at.to_string(),
            "step": if self.at < self.ends_at { "warning" } else { "end" }, "dueAt": self.ends_at.to_string(),
            "then": self.then, "to": self.to,
        })
    }

    pub(super) fn in_words(&self) -> String {
        match (self.at < self.ends_at, self.then) {
            (true, _) => format!("{} warns at {}", self.name, self.at),
            (false, Some(then)) => format!("{then} at {}, when {} ends", self.at, self.name),
            (false, None) => format!("{} ends at {}", self.name, self.at),
        }
    }
}

fn way(way: &TransitionOption) -> Value {
    let checks: Vec<Value> = way.checks.iter().map(checked).collect();
    let takes: Vec<Value> =
        way.takes.iter().map(|(name, required)| json!({ "field": name, "required": required })).collect();
    json!({
        "event": way.event, "about": way.about, "to": way.to, "who": way.who, "permitted": way.permitted,
        "heard": way.gates_open,
        "takes": takes, "needsReason": way.needs_reason, "needsTarget": way.needs_target, "checks": checks,
        "open": way.is_open(), "openToOthers": way.is_open_to_others(),
    })
}

fn keeper(it: &BlockingEntity) -> Value {
    let openers = it.unblock_options.iter();
    let openers = openers.map(|it| json!({ "event": it.event, "who": it.who, "permitted": it.permitted }));
    json!({
        "lifecycle": it.entity.lifecycle, "id": it.entity.id, "says": it.says, "openers": openers.collect::<Vec<_>>(),
    })
}

fn checked(it: &Checked) -> Value {
    json!({
        "rule": it.rule, "passed": it.passed, "ofCaller": it.of_caller, "message": it.message,
        "saw": it.saw.iter().collect::<FieldMap>(),
    })
}

fn tried(event: &str, trial: &Trial) -> Value {
    match trial {
        Trial::Accepted { to } => json!({ "event": event, "accepted": true, "to": to }),
        Trial::Refused(refusal) => json!({
            "event": event, "accepted": false, "code": refusal.code, "detail": refusal.detail,
            "errors": refusal.errors.iter().map(UnmetBody::from).collect::<Vec<_>>(), "who": refusal.who,
        }),
    }
}

/// The reasons why the entity is blocked, without duplicates: who must act, and which conditions fail.
fn waiting(it: &Explanation) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for way in &it.transitions {
        let unmet: Vec<&str> = way
            .checks
            .iter()
            .filter(|it| !it.passed)
            .map(|it| it.message.as_deref().unwrap_or(it.rule.as_str()))
            .collect();
        let line = json!({ "event": way.event, "to": way.to, "who": way.who, "unmet": unmet });
        if !all.contains(&line) {
            all.push(line);
        }
    }
    all
}

/// A summary for people.
fn summary(it: &Explanation, ready: &[&str], asked: &[OpenRequest], next: Option<String>) -> String {
    let entity = &it.entity;
    let since = &entity.state_entered_at;
    let mut text = format!("{} is {} since {since}.", entity.key, entity.state);
    for it in asked {
        text.push_str(&format!(" {}", it.in_words));
    }
    if it.transitions.is_empty() {
        text.push_str(" It has ended: nothing moves it any more.");
    } else if ready.is_empty() {
        text.push_str(" Nothing that you could ask for now would move it.");
    } else {
        text.push_str(&format!(" You could ask for: {}.", ready.join(", ")));
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
    if !entity.effects.is_empty() {
        let names: Vec<&str> = entity.effects.iter().map(|it| it.effect.as_str()).collect();
        text.push_str(&format!(" It waits for the outside: {}.", names.join(", ")));
    }
    match next {
        Some(next) => text.push_str(&format!(" Next by itself: {next}.")),
        None => text.push_str(" Nothing will happen by itself."),
    }
    text
}
