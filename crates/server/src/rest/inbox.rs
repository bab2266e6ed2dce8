//! The inbox: everything that waits for the caller, of every lifecycle.
//!
//! Requests to people, entities in states that wait for people, and open alerts. An entity is listed only if the
//! caller can move it on, so every inbox is its caller's own, without the entities that are hidden from the caller.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use trackside_engine::Law;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::decide::TransitionOption;
use trackside_engine::event::Event;
use trackside_engine::key::EntityKey;
use trackside_engine::project::project_key;
use trackside_lifecycle::model::{Lifecycle, State as DeclaredState, StateDecision, StateMeaning};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::{
    EntityBody, InboxAction, InboxBody, InboxItemBody, InboxKind, InboxOtherwise, Problem,
};
use trackside_runtime::read::{Alert, Explanation, ListQuery, MOST};
use trackside_runtime::{ReadError, Reads};
use utoipa::IntoParams;

use super::explain::{PendingTimer, pending_timers};
use super::{Cursors, Parameters, entity_bodies};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Visibility;
use crate::problem::Refused;

/// Most entities and alerts that are examined for one inbox.
const BUDGET: usize = 2_000;
/// The longest headline, in characters.
const LONGEST: usize = 200;

/// Parameters of the inbox.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct InboxQuery {
    /// Only this kind: `approval`, `decision`, `escalation` or `alert`.
    pub kind: Option<String>,
    /// Only the item with this number.
    #[param(minimum = 0)]
    pub number: Option<i64>,
    /// Page size: 50 by default, 200 at most.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    pub cursor: Option<String>,
}

/// Lists everything that waits for the caller: the most severe first, then the oldest. If very much waits, the list is
/// cut, and `more` is true.
#[utoipa::path(
    get, path = "/v1/inbox", tag = "approvals", operation_id = "inbox", params(InboxQuery),
    responses((status = 200, body = InboxBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Parameters(which): Parameters<InboxQuery>,
) -> Result<Json<InboxBody>, Refused> {
    let most = super::page_size(which.limit)?;
    let kinds = [InboxKind::Approval, InboxKind::Decision, InboxKind::Escalation, InboxKind::Alert];
    let only = match which.kind.as_deref() {
        None => None,
        Some(word) => Some(kinds.into_iter().find(|it| it.as_str() == word).ok_or_else(|| {
            let known = kinds.map(InboxKind::as_str).join(", ");
            Refused::parameter("kind", format!("There is no kind {word}: use one of {known}"))
        })?),
    };
    let cursors = Cursors::of(&["inbox", which.kind.as_deref().unwrap_or_default()]);
    let after = cursors.place(which.cursor.as_deref())?;
    let number = super::number("number", which.number)?;
    let law = app.runtime.law();
    let (visibility, actor) = (Visibility::of(&app, &caller), caller.actor().clone());
    let page = app.read(move |reads| {
        let (mut all, mut more) = (Vec::new(), false);
        if let Some(number) = number {
            all.extend(numbered(reads, &law, &visibility, number)?);
        } else {
            if only != Some(InboxKind::Alert) {
                more |= waiting_entities(reads, &law, &actor, &mut all)?;
            }
            if only.is_none_or(|it| it == InboxKind::Alert) && actor.kind == ActorKind::Human {
                more |= open_alerts(reads, &visibility, &mut all)?;
            }
        }
        all.retain(|it| only.is_none_or(|kind| it.kind == kind));
        let mut placed: Vec<(String, InboxItemBody)> = all.into_iter().map(|it| (place(&it), it)).collect();
        placed.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(after) = &after {
            placed.retain(|(place, _)| place > after);
        }
        let last = placed.get(most.saturating_sub(1)).filter(|_| placed.len() > most);
        let next_cursor = last.map(|(place, _)| cursors.give(place));
        placed.truncate(most);
        Ok(InboxBody { items: placed.into_iter().map(|(_, it)| it).collect(), next_cursor, more })
    });
    Ok(Json(page.await?))
}

/// The position of an item: the most severe first, then the oldest.
fn place(it: &InboxItemBody) -> String {
    let rank = match it.severity.as_str() {
        "critical" => 0,
        "error" => 1,
        "warning" => 2,
        _ => 3,
    };
    format!("{rank}~{}~{:020}", it.since, it.number)
}

/// The states of a lifecycle whose entities wait for people: all open ones of requests to people.
pub(crate) fn waiting_states(life: &Lifecycle) -> Vec<Name> {
    let waits = |it: &&DeclaredState| match life.asks_people() {
        true => !it.last,
        false => life.waits_for_people(it),
    };
    life.states.iter().filter(waits).map(|it| it.name.clone()).collect()
}

/// The item with this number, if it waits for the caller.
pub(crate) fn numbered(
    reads: &Reads,
    law: &Law,
    visibility: &Visibility,
    number: u64,
) -> Result<Option<InboxItemBody>, ReadError> {
    let Some(entry) = reads.entry(number)? else { return Ok(None) };
    if let Event::AlertRaised { .. } = entry.event {
        let alert = reads.alert(number)?;
        let shown = alert.is_open && visibility.reader().kind == ActorKind::Human;
        return Ok((shown && visibility.sees(reads, &alert.raised)?).then(|| alert_item(&alert)));
    }
    let item = item_of(reads, law, &entry.entity, visibility.reader())?;
    Ok(item.filter(|it| it.number == number))
}

/// An entity as an item, if it waits for the actor.
pub(crate) fn item_of(
    reads: &Reads,
    law: &Law,
    key: &EntityKey,
    actor: &Actor,
) -> Result<Option<InboxItemBody>, ReadError> {
    let Some(entity) = reads.entity(key)? else { return Ok(None) };
    let Some(life) = law.definition(&key.lifecycle, entity.definition) else { return Ok(None) };
    if !waiting_states(life).contains(&entity.state) {
        return Ok(None);
    }
    match item(reads, life, key, actor) {
        // It is hidden from the actor.
        Err(ReadError::UnknownEntity(_)) => Ok(None),
        item => item,
    }
}

/// Adds entities that wait for the actor. True if there are more than are examined.
fn waiting_entities(
    reads: &Reads,
    law: &Law,
    actor: &Actor,
    all: &mut Vec<InboxItemBody>,
) -> Result<bool, ReadError> {
    let mut looked = 0;
    for newest in law.lifecycle_names().iter().filter_map(|it| law.newest(it)) {
        let mut query = ListQuery::of(newest.name.clone(), actor.clone());
        query.states = waiting_states(newest);
        query.limit = MOST;
        if query.states.is_empty() {
            continue;
        }
        loop {
            let listed = reads.list(&query)?;
            looked += listed.items.len();
            for entity in &listed.items {
                let life = law.definition(&newest.name, entity.definition).unwrap_or(newest);
                match item(reads, life, &entity.key, actor) {
                    Ok(item) => all.extend(item),
                    // It has moved on meanwhile, out of the actor's sight.
                    Err(ReadError::UnknownEntity(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            if listed.next_cursor.is_none() {
                break;
            }
            if looked >= BUDGET {
                return Ok(true);
            }
            query.cursor = listed.next_cursor;
        }
    }
    Ok(false)
}

/// An entity as an item, if the actor can do something about it.
fn item(
    reads: &Reads,
    life: &Arc<Lifecycle>,
    key: &EntityKey,
    actor: &Actor,
) -> Result<Option<InboxItemBody>, ReadError> {
    let explained = reads.explain(key, actor)?;
    let Some(state) = life.state(&explained.entity.state) else { return Ok(None) };
    let decision = life.decision(state);
    // The number is that of the entry by which it came to its state, or of its last entry if that is far back.
    let number = reads.arrival(key)?.map_or(explained.entity.seq, |it| it.entry.seq);
    let actions = actions(life, &explained, &decision, number);
    // Who has approved a request of several, or made it, may still deny or withdraw it; it waits for others.
    let approves = actions.iter().any(|it| it.event.is_some() && it.event == decision.approve);
    if actions.is_empty() || (life.asks_people() && decision.approve.is_some() && !approves) {
        return Ok(None);
    }
    let entities = entity_bodies(reads, std::slice::from_ref(&explained.entity), actor)?;
    let Some(entity) = entities.first() else { return Ok(None) };
    let timers: Vec<_> = pending_timers(&explained, Some(&**life)).iter().map(PendingTimer::body).collect();
    let next = timers.into_iter().filter(|it| it.then.is_some()).min_by(|a, b| a.due_at.cmp(&b.due_at));
    let urgent = life.face.as_ref().and_then(|it| it.urgent.as_ref());
    let urgent = urgent.is_some_and(|it| entity.fields.get(it) == Some(&Value::Bool(true)));
    let stuck = matches!(life.meaning(state), StateMeaning::Stuck | StateMeaning::Failed);
    let kind = match (life.asks_people(), stuck) {
        (true, _) => InboxKind::Approval,
        (false, true) => InboxKind::Escalation,
        (false, false) => InboxKind::Decision,
    };
    let severity = match (urgent, stuck) {
        (true, _) => "critical",
        (false, true) => "warning",
        (false, false) => "info",
    };
    Ok(Some(InboxItemBody {
        number,
        kind,
        lifecycle: key.lifecycle.clone(),
        id: key.id.clone(),
        state: Some(state.name.clone()),
        headline: headline(life, state, entity),
        since: explained.entity.state_entered_at.to_string(),
        until: next.as_ref().map(|it| it.due_at.clone()),
        otherwise: next.and_then(|it| Some(InboxOtherwise { event: it.then?, at: it.due_at, to: it.to })),
        severity: severity.to_owned(),
        may_act: true,
        actions,
    }))
}

/// The title of an entity, and what its state says.
fn headline(life: &Lifecycle, state: &DeclaredState, entity: &EntityBody) -> String {
    let title = life.title.as_ref().and_then(|it| entity.fields.get(it)).and_then(Value::as_str);
    let title = title.map(one_line).filter(|it| !it.is_empty());
    let says = match state.about.trim_end_matches('.') {
        "" => in_words(&state.name),
        about => about.to_owned(),
    };
    cut(&format!("{}: {says}", title.unwrap_or_else(|| entity.id.to_string())))
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> String {
    match text.chars().count() > LONGEST {
        true => text.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// A declared name in words: `send_back` is "Send back".
fn in_words(name: &Name) -> String {
    let words = name.replace(['_', '-'], " ");
    let lower = if words.chars().any(char::is_lowercase) { words } else { words.to_lowercase() };
    let mut letters = lower.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// What the actor can do to move it on: the decision first.
fn actions(
    life: &Lifecycle,
    explained: &Explanation,
    decision: &StateDecision,
    number: u64,
) -> Vec<InboxAction> {
    let key = &explained.entity.key;
    let mut all: Vec<InboxAction> = Vec::new();
    let options =
        explained.transitions.iter().filter(|it| life.leads_out(&it.event, &explained.entity.state));
    for (option, missing) in options.filter_map(|it| Some((it, it.missing()?))) {
        if all.iter().any(|it| it.event.as_ref() == Some(&option.event)) {
            continue;
        }
        let word = match Some(&option.event) {
            event if event == decision.approve.as_ref() => Some("approve"),
            event if event == decision.deny.as_ref() => Some("deny"),
            _ => None,
        };
        all.push(action(key, option, missing, word, number));
    }
    all.sort_by_key(|it| match it.decision {
        Some("approve") => 0,
        Some(_) => 1,
        None => 2,
    });
    all
}

fn action(
    key: &EntityKey,
    option: &TransitionOption,
    missing: Vec<Name>,
    decision: Option<&'static str>,
    number: u64,
) -> InboxAction {
    let mut command = match decision {
        Some(word) => format!("trackside inbox {word} {number}"),
        None => format!("trackside fire {key} {}", option.event),
    };
    for name in &missing {
        command.push_str(&match (name.as_str(), decision) {
            ("reason", Some(_)) => " --note TEXT".to_owned(),
            ("reason", None) => " --reason TEXT".to_owned(),
            ("to", Some(_)) => " --to STATE".to_owned(),
            (name, _) => format!(" {name}=VALUE"),
        });
    }
    InboxAction {
        event: Some(option.event.clone()),
        decision,
        label: in_words(&option.event),
        to: option.to.clone(),
        fields: missing,
        command,
    }
}

/// Adds open alerts that the caller may see. True if there are more than are examined.
fn open_alerts(
    reads: &Reads,
    visibility: &Visibility,
    all: &mut Vec<InboxItemBody>,
) -> Result<bool, ReadError> {
    let (mut after, mut looked) = (0, 0);
    loop {
        let (found, next) = reads.alerts(after, MOST, false)?;
        looked += found.len();
        for alert in &found {
            if visibility.sees(reads, &alert.raised)? {
                all.push(alert_item(alert));
            }
        }
        match next {
            Some(_) if looked >= BUDGET => return Ok(true),
            Some(next) => after = next,
            None => return Ok(false),
        }
    }
}

pub(crate) fn alert_item(alert: &Alert) -> InboxItemBody {
    let raised = &alert.raised;
    let (message, severity) = match &raised.event {
        Event::AlertRaised { severity, message, .. } => (one_line(message), severity.as_str()),
        _ => Default::default(),
    };
    let number = raised.seq;
    let act = |decision, command: &str| InboxAction {
        event: None,
        decision: Some(decision),
        label: in_words(&Name::new(decision)),
        to: Vec::new(),
        fields: Vec::new(),
        command: format!("trackside {command} {number}"),
    };
    let acknowledge = alert.acknowledged.is_none().then(|| act("acknowledge", "inbox ack"));
    // The alerts about the clock and the disk end by themselves: people cannot.
    let of_project = raised.entity == *project_key();
    let mut actions: Vec<InboxAction> =
        acknowledge.into_iter().chain([act("resolve", "alerts resolve")]).collect();
    if of_project {
        actions.clear();
    }
    InboxItemBody {
        number,
        kind: InboxKind::Alert,
        lifecycle: raised.entity.lifecycle.clone(),
        id: raised.entity.id.clone(),
        state: None,
        headline: cut(&message),
        since: raised.at.to_string(),
        until: None,
        otherwise: None,
        severity: severity.to_owned(),
        may_act: !of_project,
        actions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_names_are_put_in_words() {
        assert_eq!(in_words(&Name::new("send_back")), "Send back");
        assert_eq!(in_words(&Name::new("READY_FOR_REVIEW")), "Ready for review");
        assert_eq!(in_words(&Name::new("inProgress")), "InProgress");
    }

    #[test]
    fn a_headline_is_one_line_of_limited_length() {
        assert_eq!(one_line("a\n\tb  c"), "a b c");
        assert_eq!(cut(&"x".repeat(300)).chars().count(), LONGEST);
    }
}
