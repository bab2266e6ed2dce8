//! What is asked.

use std::sync::Arc;

use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::actor::Actor;
use crate::fields::Fields;
use crate::key::EntityKey;

/// A request to change something, by somebody.
#[derive(Clone, Debug)]
pub struct Command {
    pub actor: Actor,
    /// On whose behalf, where the actor may act for others.
    pub on_behalf_of: Option<Name>,
    /// The name under which it counts once.
    pub idempotency_key: Option<Name>,
    pub reason: Option<Arc<str>>,
    pub ask: Ask,
}

#[derive(Clone, Debug)]
pub enum Ask {
    Create { entity: EntityKey, fields: Fields },
    Fire(Fire),
    Heartbeat { entity: EntityKey, slot: Name, fence: Option<u64> },
    /// A timer of this entity is due.
    Due { entity: EntityKey, timer: Name },
    /// The result of an effect comes home.
    Settle { entity: EntityKey, effect: u64, ok: bool, fields: Fields },
    /// The loud override.
    Correct { entity: EntityKey, to: Option<Name>, fields: Fields },
    /// The sweep looks at one entity.
    Inspect { entity: EntityKey },
    /// Puts an entity into a state as it is: imports and tests.
    Plant { entity: EntityKey, state: Option<Name>, fields: Fields, tallies: Vec<(Name, Name, f64)> },
}

#[derive(Clone, Debug)]
pub struct Fire {
    pub entity: EntityKey,
    pub what: What,
    pub fields: Fields,
    pub fence: Option<u64>,
    /// Only if the entity is still at this version.
    pub if_version: Option<u64>,
}

/// By name, or by target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Event(Name),
    To(Name),
}

impl Command {
    pub fn new(actor: Actor, ask: Ask) -> Self {
        Self { actor, on_behalf_of: None, idempotency_key: None, reason: None, ask }
    }

    pub fn fire(actor: Actor, entity: EntityKey, event: &str, fields: Fields) -> Self {
        let what = What::Event(Name::new(event));
        Self::new(actor, Ask::Fire(Fire { entity, what, fields, fence: None, if_version: None }))
    }

    pub fn because(mut self, reason: &str) -> Self {
        self.reason = Some(Arc::from(reason));
        self
    }

    /// The entity it speaks of.
    pub fn entity(&self) -> &EntityKey {
        match &self.ask {
            Ask::Create { entity, .. }
            | Ask::Heartbeat { entity, .. }
            | Ask::Due { entity, .. }
            | Ask::Settle { entity, .. }
            | Ask::Correct { entity, .. }
            | Ask::Inspect { entity }
            | Ask::Plant { entity, .. } => entity,
            Ask::Fire(fire) => &fire.entity,
        }
    }

    /// What it says, as a number: equal commands have equal ones.
    pub(crate) fn fingerprint(&self) -> u64 {
        use std::hash::{Hash, Hasher};
        // A fixed hash: the same everywhere, and across restarts.
        let mut hasher = std::collections::hash_map::DefaultHasher::new();
        self.actor.id.hash(&mut hasher);
        self.on_behalf_of.hash(&mut hasher);
        self.reason.hash(&mut hasher);
        self.entity().hash(&mut hasher);
        let fields = match &self.ask {
            Ask::Create { fields, .. } => {
                "create".hash(&mut hasher);
                Some(fields)
            }
            Ask::Fire(fire) => {
                match &fire.what {
                    What::Event(name) => ("event", name).hash(&mut hasher),
                    What::To(name) => ("to", name).hash(&mut hasher),
                }
                (fire.fence, fire.if_version).hash(&mut hasher);
                Some(&fire.fields)
            }
            Ask::Heartbeat { slot, fence, .. } => {
                ("heartbeat", slot, fence).hash(&mut hasher);
                None
            }
            Ask::Due { timer, .. } => {
                ("due", timer).hash(&mut hasher);
                None
            }
            Ask::Settle { effect, ok, fields, .. } => {
                ("settle", effect, ok).hash(&mut hasher);
                Some(fields)
            }
            Ask::Correct { to, fields, .. } => {
                ("correct", to).hash(&mut hasher);
                Some(fields)
            }
            Ask::Inspect { .. } => {
                "inspect".hash(&mut hasher);
                None
            }
            Ask::Plant { state, fields, .. } => {
                ("plant", state).hash(&mut hasher);
                Some(fields)
            }
        };
        for (name, value) in fields.into_iter().flat_map(Fields::iter) {
            name.hash(&mut hasher);
            hash_value(value, &mut hasher);
        }
        hasher.finish()
    }
}

fn hash_value(value: &Value, hasher: &mut impl std::hash::Hasher) {
    use std::hash::Hash;
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Null => {}
        Value::Bool(it) => it.hash(hasher),
        Value::Int(it) => it.hash(hasher),
        Value::Float(it) => it.to_bits().hash(hasher),
        Value::Text(it) => it.hash(hasher),
        Value::Time(it) => it.hash(hasher),
        Value::Span(it) => it.hash(hasher),
        Value::List(it) => {
            it.len().hash(hasher);
            it.iter().for_each(|item| hash_value(item, hasher));
        }
        Value::Map(it) => {
            it.len().hash(hasher);
            for (name, item) in it.iter() {
                name.hash(hasher);
                hash_value(item, hasher);
            }
        }
    }
}
