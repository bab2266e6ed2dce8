//! Open approval requests about an entity, and the move that led to its state, for `explain`.

use std::sync::Arc;

use serde_json::{Value, json};
use trackside_engine::Law;
use trackside_engine::actor::Actor;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_protocol::{EntityBody, FieldMap};
use trackside_runtime::read::Arrival;
use trackside_runtime::{ReadError, Reads};

use super::approvals;
use super::entity_bodies;
use super::explain::{PendingTimer, coming};

/// Most open requests that are shown per entity.
const FEW: usize = 20;

/// An open approval request.
pub(super) struct OpenRequest {
    pub told: Value,
    /// Who must decide, and what happens otherwise.
    pub in_words: String,
}

/// Open requests about an entity that the actor may see, with deciders and timers.
pub(super) fn asked(
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

fn request(reads: &Reads, law: &Law, key: &EntityKey, actor: &Actor) -> Result<OpenRequest, ReadError> {
    let it = reads.explain(key, actor)?;
    let entity = entity_bodies(reads, std::slice::from_ref(&it.entity), actor)?.pop();
    let life = law.definition(&key.lifecycle, it.entity.definition).map(|it| &**it);
    let face = life.and_then(|it| it.face.as_ref());
    let decisions: Vec<&Name> = face.iter().flat_map(|it| [&it.approve, &it.deny]).flatten().collect();
    let ways = it.transitions.iter().filter(|it| decisions.contains(&&it.event));
    let deciders: Vec<Value> = ways
        .clone()
        .map(|it| json!({ "event": it.event, "who": it.who, "permitted": it.permitted && it.gates_open }))
        .collect();
    let clocks = coming(&it, life);
    let first = clocks.iter().min_by_key(|it| it.at);
    let who: Vec<String> = ways.map(|it| format!("{}: {}", it.event, it.who)).collect();
    let in_words = format!(
        "People must decide {key} ({}){}.",
        who.join("; "),
        first.map(|it| format!("; otherwise: {}", it.in_words())).unwrap_or_default()
    );
    let told = json!({
        "lifecycle": key.lifecycle, "id": key.id, "state": it.entity.state,
        "since": it.entity.state_entered_at.to_string(), "fields": entity.map(|it| it.fields),
        "deciders": deciders, "timers": clocks.iter().map(PendingTimer::to_json).collect::<Vec<_>>(),
    });
    Ok(OpenRequest { told, in_words })
}

/// The move that led to the current state, with the current values of the fields it changed.
pub(super) fn arrived(it: &Arrival, entity: Option<&EntityBody>) -> Value {
    let entry = &it.entry;
    let now = |name: &Name| entity?.fields.get(name).filter(|it| !it.is_null());
    let changed = it.changed.iter().filter_map(|name| Some((name, now(name)?)));
    let after = it.cause.as_ref();
    json!({
        "event": entry.trigger, "from": entry.edge().0, "at": entry.at.to_string(), "actor": entry.actor,
        "actorKind": entry.actor_kind.as_str(), "onBehalfOf": entry.on_behalf_of, "reason": entry.reason,
        "after": after.map(|it| json!({ "event": it.trigger, "actor": it.actor, "onBehalfOf": it.on_behalf_of })),
        "fields": changed.collect::<FieldMap>(),
    })
}
