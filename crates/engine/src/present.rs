//! An entity as the outside sees it.

use serde_json::{Value as Json, json};
use trackside_lifecycle::time::Timestamp;

use crate::actor::Actor;
use crate::decide::{allowed, fields_of};
use crate::entity::Entity;
use crate::law::Law;
use crate::view::View;

/// The envelope of the contract around the pack's own fields.
pub fn entity(law: &Law, view: &View, entity: &Entity, reader: &Actor, now: Timestamp) -> Json {
    let life = law.definition(&entity.key.lifecycle, entity.definition);
    let last = life.and_then(|it| it.state(&entity.state)).is_some_and(|it| it.last);
    let fields = fields_of(law, view, entity, reader, now);
    let fields: serde_json::Map<String, Json> =
        fields.into_iter().map(|(name, value)| (name.to_string(), value.to_json())).collect();
    let timers = entity.timers.iter().filter_map(|(name, timer)| {
        timer.ends_at().map(|due| json!({ "name": name, "dueAt": due.to_string() }))
    });
    let leases = entity.leases.iter().filter_map(|(slot, lease)| {
        let holder = lease.holder.as_ref()?;
        let expires = lease.expires_at.to_string();
        Some(json!({ "slot": slot, "holder": holder, "fence": lease.fence, "expiresAt": expires }))
    });
    json!({
        "lifecycle": entity.key.lifecycle,
        "id": entity.key.id,
        "state": entity.state,
        "previousState": entity.previous_state,
        "final": last,
        "version": entity.version,
        "definition": entity.definition,
        "fields": fields,
        "createdAt": entity.created_at.to_string(),
        "updatedAt": entity.updated_at.to_string(),
        "stateEnteredAt": entity.state_entered_at.to_string(),
        "timeInState": now.since(entity.state_entered_at).0 as f64 / 1_000.0,
        "timers": timers.collect::<Vec<_>>(),
        "leases": leases.collect::<Vec<_>>(),
        "allowedTransitions": allowed(law, view, entity, reader, now),
    })
}
