//! An entity as the outside sees it.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::{Outward, Value};

use crate::actor::Actor;
use crate::decide::{allowed, computed};
use crate::entity::Entity;
use crate::law::Law;
use crate::view::{Needs, View};

/// The envelope of the contract around the pack's own fields.
pub fn entity(
    law: &Law,
    view: &View,
    entity: &Entity,
    reader: &Actor,
    now: Timestamp,
) -> Result<Json, Needs> {
    let seen = Seen::by(law, view, entity, reader, now)?;
    Ok(serde_json::to_value(Shown { entity, seen: &seen, now }).unwrap_or_default())
}

/// What only the rules can tell of an entity: computed fields, and where a reader may move it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    computed: Vec<(Name, Value)>,
    last: bool,
    allowed: Vec<Name>,
}

impl Seen {
    pub fn by(
        law: &Law,
        view: &View,
        entity: &Entity,
        reader: &Actor,
        now: Timestamp,
    ) -> Result<Self, Needs> {
        let life = law.definition(&entity.key.lifecycle, entity.definition);
        let last = life.and_then(|it| it.state(&entity.state)).is_some_and(|it| it.last);
        let computed = computed(law, view, entity, reader, now)?;
        Ok(Self { computed, last, allowed: allowed(law, view, entity, reader, now)? })
    }
}

/// An entity that is written in its outward form. Its names come in order.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    pub entity: &'a Entity,
    pub seen: &'a Seen,
    pub now: Timestamp,
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { entity, seen, now } = self;
        // Of what has ended, only clocks that will still do something.
        let running = entity.timers.iter().filter(|(_, timer)| !seen.last || timer.due.is_some());
        let timers = running.filter_map(|(name, timer)| {
            timer.ends_at().map(|due| json!({ "name": name, "dueAt": due.to_string() }))
        });
        let leases = entity.leases.iter().filter_map(|(slot, lease)| {
            let holder = lease.holder.as_ref()?;
            let expires = lease.expires_at.to_string();
            Some(json!({ "slot": slot, "holder": holder, "fence": lease.fence, "expiresAt": expires }))
        });
        let mut map = serializer.serialize_map(Some(15))?;
        map.serialize_entry("allowedTransitions", &seen.allowed)?;
        map.serialize_entry("createdAt", &entity.created_at.to_string())?;
        map.serialize_entry("definition", &entity.definition)?;
        map.serialize_entry("fields", &Pairs(self))?;
        map.serialize_entry("final", &seen.last)?;
        map.serialize_entry("id", &entity.key.id)?;
        map.serialize_entry("leases", &leases.collect::<Vec<_>>())?;
        map.serialize_entry("lifecycle", &entity.key.lifecycle)?;
        map.serialize_entry("previousState", &entity.previous_state)?;
        map.serialize_entry("state", &entity.state)?;
        map.serialize_entry("stateEnteredAt", &entity.state_entered_at.to_string())?;
        map.serialize_entry("timeInState", &(now.since(entity.state_entered_at).0 as f64 / 1_000.0))?;
        map.serialize_entry("timers", &timers.collect::<Vec<_>>())?;
        map.serialize_entry("updatedAt", &entity.updated_at.to_string())?;
        map.serialize_entry("version", &entity.version)?;
        map.end()
    }
}

/// Its own fields and the computed ones.
struct Pairs<'a>(&'a Shown<'a>);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let computed = self.0.seen.computed.iter().map(|(name, value)| (name, value));
        // One that is computed now may have been kept by an earlier definition.
        let mut pairs: Vec<(&Name, &Value)> = computed.chain(self.0.entity.fields.iter()).collect();
        pairs.sort_by(|a, b| a.0.cmp(b.0));
        pairs.dedup_by(|a, b| a.0 == b.0);
        serializer.collect_map(pairs.into_iter().map(|(name, value)| (name, Outward(value))))
    }
}
