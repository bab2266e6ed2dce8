//! Open approval requests about an entity, and the move that led to its state, for `explain`.

use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::actor::Actor;
use trackside_engine::decide::TransitionOption;
use trackside_engine::event::Entry;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_protocol::{ArrivalBody, ArrivalCause, EntityBody, EventOption, OpenRequestBody};
use trackside_runtime::read::Arrival;
use trackside_runtime::{ReadError, Reads};

use super::approvals;
use super::entity_bodies;
use super::explain::{PendingTimer, pending_timers};

/// Most open requests that are shown per entity.
const FEW: usize = 20;

/// An open approval request.
pub(super) struct OpenRequest {
    pub body: OpenRequestBody,
    /// Who must decide, and what happens otherwise.
    pub in_words: String,
}

/// Open requests about an entity that the actor may see, with deciders and timers.
pub(super) fn open_requests(
    reads: &Reads,
    law: &Law,
    inboxes: &[Arc<Lifecycle>],
    key: &EntityKey,
    actor: &Actor,
) -> Result<Vec<OpenRequest>, ReadError> {
    let mut found: Vec<EntityKey> = Vec::new();
    for life in inboxes {
        for mut query in approvals::referring(reads, life, key, actor)? {
            query.states = life.states.iter().filter(|it| !it.last).map(|it| it.name.clone()).collect();
            query.limit = FEW;
            match reads.list(&query) {
                Ok(listed) => found.extend(listed.items.iter().map(|it| it.key.clone())),
                // A partial answer is better than none.
                Err(ReadError::TooExpensive { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    found.sort();
    found.dedup();
    found.truncate(FEW);
    let mut all = Vec::new();
    for key in found {
        match request(reads, law, &key, actor) {
            // It may have been decided meanwhile and be no longer visible.
            Err(ReadError::UnknownEntity(_)) => {}
            request => all.push(request?),
        }
    }
    Ok(all)
}

/// One open request, with its deciders and timers.
pub(super) fn request(
    reads: &Reads,
    law: &Law,
    key: &EntityKey,
    actor: &Actor,
) -> Result<OpenRequest, ReadError> {
    let it = reads.explain(key, actor)?;
    let entity = entity_bodies(reads, std::slice::from_ref(&it.entity), actor)?.pop();
    let life = law.definition(&key.lifecycle, it.entity.definition).map(|it| &**it);
    let face = life.and_then(|it| it.face.as_ref());
    let decisions: Vec<&Name> = face.iter().flat_map(|it| [&it.approve, &it.deny]).flatten().collect();
    let ways = it.transitions.iter().filter(|it| decisions.contains(&&it.event));
    let decider = |it: &TransitionOption| EventOption {
        event: it.event.clone(),
        who: it.who.clone(),
        permitted: it.permitted && it.gates_open,
    };
    let deciders = ways.clone().map(decider).collect();
    let timers = pending_timers(&it, life);
    let first = timers.iter().min_by_key(|it| it.at);
    let who: Vec<String> = ways.map(|it| format!("{}: {}", it.event, it.who)).collect();
    let in_words = format!(
        "People must decide {key} ({}){}.",
        who.join("; "),
        first.map(|it| format!("; otherwise: {}", it.in_words())).unwrap_or_default()
    );
    let body = OpenRequestBody {
        lifecycle: key.lifecycle.clone(),
        id: key.id.clone(),
        state: it.entity.state.clone(),
        since: it.entity.state_entered_at.to_string(),
        fields: entity.map(|it| it.fields),
        deciders,
        timers: timers.iter().map(PendingTimer::body).collect(),
    };
    Ok(OpenRequest { body, in_words })
}

/// The move that led to the current state, with the current values of the fields it changed.
pub(super) fn arrival_body(it: &Arrival, entity: Option<&EntityBody>) -> ArrivalBody {
    let entry = &it.entry;
    let now = |name: &Name| entity?.fields.get(name).filter(|it| !it.is_null());
    let changed = it.changed.iter().filter_map(|name| Some((name, now(name)?)));
    let cause = |it: &Entry| ArrivalCause {
        event: it.trigger.clone(),
        actor: it.actor.clone(),
        on_behalf_of: it.on_behalf_of.clone(),
    };
    ArrivalBody {
        event: entry.trigger.clone(),
        from: entry.edge().0.cloned(),
        at: entry.at.to_string(),
        actor: entry.actor.clone(),
        actor_kind: entry.actor_kind.as_str().to_owned(),
        on_behalf_of: entry.on_behalf_of.clone(),
        reason: entry.reason.as_ref().map(|it| it.to_string()),
        after: it.cause.as_ref().map(cause),
        fields: changed.collect(),
    }
}
