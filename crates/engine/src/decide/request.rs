//! One requested move, by an actor or by the engine.

use std::sync::Arc;

use trackside_lifecycle::name::Name;

use crate::actor::{Actor, ActorKind, ENGINE};
use crate::fields::Fields;
use crate::import_origin::ImportOrigin;

#[derive(Clone, Debug)]
pub(super) struct Request {
    pub actor: Actor,
    pub subject: Option<Name>,
    /// Whether the engine itself is the caller: for a further move, a reaction or a timer.
    pub engine: bool,
    pub fields: Fields,
    pub reason: Option<Arc<str>>,
    /// Where the entity comes from, where it is imported.
    pub origin: Option<Arc<ImportOrigin>>,
    pub fence: Option<u64>,
    pub if_version: Option<u64>,
    /// The rule it follows from.
    pub condition: Option<Name>,
    /// The entry it follows from.
    pub cause: Option<u64>,
    /// The requested target, if the request names one.
    pub asked: Option<Name>,
    /// Set by a create of an existing id: the only way out of a final state.
    pub again: bool,
}

/// Names the engine uses over and over.
pub(super) mod names {
    use std::sync::LazyLock;

    use trackside_lifecycle::name::Name;

    pub(in crate::decide) static CREATE: LazyLock<Name> = LazyLock::new(|| Name::new("create"));
    pub(in crate::decide) static ALWAYS: LazyLock<Name> = LazyLock::new(|| Name::new("always"));
    pub(in crate::decide) static NONE: LazyLock<Name> = LazyLock::new(|| Name::new(""));
}

impl Request {
    pub fn by(actor: Actor, subject: Option<Name>, fields: Fields, reason: Option<Arc<str>>) -> Self {
        Self {
            actor,
            subject,
            engine: false,
            fields,
            reason,
            origin: None,
            fence: None,
            if_version: None,
            condition: None,
            cause: None,
            asked: None,
            again: false,
        }
    }

    /// A request of the engine, caused by a rule.
    pub fn engine(kind: ActorKind, fields: Fields, condition: Name, cause: Option<u64>) -> Self {
        Self {
            actor: Actor::new(ENGINE, kind),
            subject: None,
            engine: true,
            fields,
            reason: None,
            origin: None,
            fence: None,
            if_version: None,
            condition: Some(condition),
            cause,
            asked: None,
            again: false,
        }
    }

    /// Whether the caller is a person with role admin.
    pub fn is_admin(&self) -> bool {
        self.actor.kind == ActorKind::Human && self.actor.has_role("admin")
    }

    /// Whether the caller is the engine, by itself or through the program around it.
    pub fn is_own(&self) -> bool {
        self.engine || (self.actor.kind == ActorKind::System && self.actor.id == *ENGINE)
    }

    pub fn subject_id(&self) -> &Name {
        self.subject.as_ref().unwrap_or(&self.actor.id)
    }
}
