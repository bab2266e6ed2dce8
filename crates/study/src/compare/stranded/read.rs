//! Entities from a text: as the engine stores them, or as it shows them to the outside.

use serde_json::Value as Json;
use trackside_engine::Law;
use trackside_engine::entity::{Entity, Lease, TimerState};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

/// Reads a JSON array, or one JSON object per line.
pub fn read_entities(text: &str, law: &Law) -> Result<Vec<Entity>, String> {
    let items: Vec<Json> = match serde_json::from_str::<Json>(text) {
        Ok(Json::Array(items)) => items,
        Ok(one @ Json::Object(_)) => vec![one],
        _ => {
            let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
            let read = lines.map(|(n, line)| {
                serde_json::from_str(line).map_err(|error| {
                    format!("line {}: {error}; give a JSON array or one JSON object per line", n + 1)
                })
            });
            read.collect::<Result<_, _>>()?
        }
    };
    let read =
        |(n, item): (usize, &Json)| entity(item, law).map_err(|why| format!("entity {}: {why}", n + 1));
    items.iter().enumerate().map(read).collect()
}

fn entity(json: &Json, law: &Law) -> Result<Entity, String> {
    if json.get("key").is_some() {
        return serde_json::from_value(json.clone()).map_err(|error| error.to_string());
    }
    let text = |name: &str| json.get(name).and_then(Json::as_str);
    let (Some(lifecycle), Some(id), Some(state)) = (text("lifecycle"), text("id"), text("state")) else {
        return Err("it has no `lifecycle`, `id` and `state`".to_owned());
    };
    let moment = |name: &str| text(name).and_then(Timestamp::parse);
    let created = moment("createdAt").unwrap_or_default();
    let number = |name: &str| json.get(name).and_then(Json::as_u64);
    let definition = number("definition").and_then(|it| u32::try_from(it).ok()).unwrap_or(1);
    let mut entity = Entity::new(EntityKey::new(lifecycle, id), definition, Name::new(state), created);
    entity.previous_state = text("previousState").map(Name::new);
    entity.version = number("version").unwrap_or(1);
    entity.updated_at = moment("updatedAt").unwrap_or(created);
    entity.state_entered_at = moment("stateEnteredAt").unwrap_or(created);
    let life = law.definition(&entity.key.lifecycle, definition);
    for (name, value) in json.get("fields").and_then(Json::as_object).into_iter().flatten() {
        let field = life.and_then(|it| it.field(name));
        if field.is_some_and(|it| it.is.is_some()) {
            continue;
        }
        let value = Value::from_json(value);
        let kept = field.and_then(|it| it.fits.accept(name, &value).ok());
        entity.fields.set(&Name::new(name), kept.unwrap_or(value));
    }
    for timer in json.get("timers").and_then(Json::as_array).into_iter().flatten() {
        let due = timer.get("dueAt").and_then(Json::as_str).and_then(Timestamp::parse);
        let (Some(name), Some(due)) = (timer.get("name").and_then(Json::as_str), due) else { continue };
        let since = entity.state_entered_at;
        let state = TimerState {
            started_at: since,
            length: due.since(since),
            spent: Span(0),
            running_since: Some(since),
            step: 0,
            due: Some(due),
        };
        entity.timers.push((Name::new(name), state));
    }
    for lease in json.get("leases").and_then(Json::as_array).into_iter().flatten() {
        let member = |name: &str| lease.get(name).and_then(Json::as_str);
        let Some(slot) = member("slot") else { continue };
        let expires_at = member("expiresAt").and_then(Timestamp::parse).unwrap_or_default();
        let fence = lease.get("fence").and_then(Json::as_u64).unwrap_or(1);
        let granted_at = member("grantedAt").and_then(Timestamp::parse);
        let lease = Lease { holder: member("holder").map(Name::new), fence, expires_at, granted_at };
        entity.leases.push((Name::new(slot), lease));
    }
    Ok(entity)
}
