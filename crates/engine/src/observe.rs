//! What a reader may see of an entity: its journal entries, its messages and its restricted fields.
//!
//! The server, its feed and webhooks, and scenarios decide with the same code.

use std::borrow::Cow;

use trackside_lifecycle::guard::Scope;
use trackside_lifecycle::model::{Lifecycle, Observe};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use crate::actor::{Actor, ActorKind};
use crate::decide::{describe_guard, sample_scope};
use crate::entity::Entity;
use crate::event::{Entry, Event};
use crate::law::Law;
use crate::view::{Needs, View};

/// What one reader may see of one entity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryAccess {
    /// Why the reader may not see its entries; none if it may.
    pub closed: Option<ClosedEntries>,
    /// The reader sees entries after this version of the entity; none means all.
    since: Option<u64>,
    /// The number of messages up to that version which the reader sees too.
    before: u64,
    /// Whether the reader sees only its own refused requests.
    hides_evidence: bool,
    /// Fields that the reader may not see.
    pub hidden: Vec<Name>,
}

/// The refusal for a reader who may not see the entries of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedEntries {
    pub says: String,
    pub who: String,
}

impl EntryAccess {
    /// A condition that cannot be evaluated hides what it protects.
    pub fn of(
        law: &Law,
        view: &View,
        entity: &Entity,
        reader: &Actor,
        now: Timestamp,
    ) -> Result<Self, Needs> {
        let Some(life) = law.definition(&entity.key.lifecycle, entity.definition) else {
            return Ok(Self::default());
        };
        if life.is_open_to_all() {
            return Ok(Self::default());
        }
        sample_scope(law, view, life, entity, reader, now, None, |scope| Self::in_scope(life, entity, scope))
    }

    fn in_scope(life: &Lifecycle, entity: &Entity, scope: &dyn Scope) -> Self {
        let restricted = life.restricted_fields().filter(|(_, read)| !read.test(scope).unwrap_or(false));
        let hidden = restricted.map(|(field, _)| field.name.clone()).collect();
        let Some(observe) = &life.observe else { return Self { hidden, ..Self::default() } };
        let window = match observe.by.test(scope) {
            Ok(true) => window(observe, scope),
            _ => None,
        };
        let sees_evidence = observe.evidence.as_ref().is_none_or(|it| it.test(scope).unwrap_or(false));
        match window {
            Some((since, before)) => {
                Self { closed: None, since, before, hides_evidence: !sees_evidence, hidden }
            }
            None => Self { closed: Some(closed(observe, entity, scope)), hidden, ..Self::default() },
        }
    }

    /// Whether an entry is old for the reader: it sees only the last messages among such entries.
    pub fn is_old(&self, entry: &Entry) -> bool {
        self.since.is_some_and(|it| entry.version <= it)
    }

    /// Whether the reader sees messages from before its time.
    pub fn has_backlog(&self) -> bool {
        self.since.is_some() && self.before > 0
    }

    /// The search for the oldest message that the reader sees.
    pub fn backlog<'a>(&self, reader: &'a Actor) -> Backlog<'a> {
        Backlog { reader, since: self.since.unwrap_or(0), left: self.before, oldest: u64::MAX }
    }

    /// The entry as the reader sees it; none if it may not. `oldest` is the number of the oldest message that the
    /// reader sees, asked only for old messages.
    pub fn show<'e, E>(
        &self,
        entry: &'e Entry,
        reader: &Actor,
        oldest: impl FnOnce() -> Result<u64, E>,
    ) -> Result<Option<Cow<'e, Entry>>, E> {
        if self.closed.is_some() || !is_recipient(entry, reader) {
            return Ok(None);
        }
        if self.hides_evidence && matches!(entry.event, Event::EvidenceKept { .. }) && !is_own(entry, reader)
        {
            return Ok(None);
        }
        if self.is_old(entry) {
            let is_message = matches!(entry.event, Event::MessagePosted { .. });
            if !is_message || entry.seq < oldest()? {
                return Ok(None);
            }
        }
        Ok(without_fields(entry, &self.hidden))
    }
}

/// The version after which entries are seen, and the number of earlier messages. None if it cannot be evaluated.
fn window(observe: &Observe, scope: &dyn Scope) -> Option<(Option<u64>, u64)> {
    let number = |value: Value| match value {
        Value::Null => Some(None),
        Value::Int(it) => Some(Some(u64::try_from(it).unwrap_or(0))),
        _ => None,
    };
    let since = match &observe.since {
        Some(since) => number(since.eval(scope).ok()?)?,
        None => None,
    };
    let before = match &observe.before {
        Some(before) => number(before.eval(scope).ok()?)?.unwrap_or(0),
        None => 0,
    };
    Some((since, before))
}

fn closed(observe: &Observe, entity: &Entity, scope: &dyn Scope) -> ClosedEntries {
    let who = describe_guard(observe.by.source());
    let own = observe.says.as_ref().and_then(|it| it.render(scope).ok());
    let says = own.unwrap_or_else(|| format!("You may not read the messages and entries of {}", entity.key));
    ClosedEntries { says, who }
}

/// Finds the oldest message that a reader sees, among the messages from before its time. Look at the entries of the
/// entity from the newest back.
#[derive(Debug)]
pub struct Backlog<'a> {
    reader: &'a Actor,
    since: u64,
    left: u64,
    oldest: u64,
}

impl Backlog<'_> {
    /// Looks at one entry. Returns whether older ones are needed.
    pub fn look(&mut self, entry: &Entry) -> bool {
        let is_message = matches!(entry.event, Event::MessagePosted { .. });
        if self.left > 0 && is_message && entry.version <= self.since && is_recipient(entry, self.reader) {
            self.left -= 1;
            self.oldest = entry.seq;
        }
        self.left > 0
    }

    /// The number of the oldest message.
    pub fn oldest(&self) -> u64 {
        self.oldest
    }
}

/// Whether an entry was caused by the reader, or by the actor on whose behalf it reads.
fn is_own(entry: &Entry, reader: &Actor) -> bool {
    let own = [Some(&reader.id), reader.subject.as_ref()];
    let authors = [Some(&entry.actor), entry.on_behalf_of.as_ref()];
    own.into_iter().flatten().any(|it| authors.contains(&Some(it)))
}

/// Whether an entry may be shown to its reader. A message: to its recipients, its author, and people with role admin.
/// A notification: to its recipients, to its audience if it names none, to people with role admin, and to systems.
/// Other entries have no recipients.
pub fn is_recipient(entry: &Entry, reader: &Actor) -> bool {
    let any_own = |is_theirs: &dyn Fn(&Name) -> bool| {
        is_theirs(&reader.id) || reader.subject.as_ref().is_some_and(is_theirs)
    };
    let is_admin = reader.kind == ActorKind::Human && reader.has_role("admin");
    match &entry.event {
        Event::MessagePosted { visible: Some(visible), from, .. } => {
            is_admin
                || any_own(&|own| visible.contains(own) || from.as_ref() == Some(own) || entry.actor == *own)
        }
        Event::Notified { audience, to, .. } => {
            is_admin
                || reader.kind == ActorKind::System
                || any_own(&|own| to.contains(own))
                || (to.is_empty() && is_in_audience(reader, audience, &entry.entity.lifecycle))
        }
        _ => true,
    }
}

/// Whether a reader belongs to an audience of a lifecycle's pack: every person does, and agents with a role of the same
/// name.
fn is_in_audience(reader: &Actor, audience: &Name, lifecycle: &Name) -> bool {
    let pack = lifecycle.split_once('.').map_or(lifecycle.as_str(), |(pack, _)| pack);
    reader.kind == ActorKind::Human
        || reader.has_role(audience)
        || reader.has_role(&format!("{pack}:{audience}"))
}

/// An entry without some fields of its entity; none if it contains nothing else.
fn without_fields<'e>(entry: &'e Entry, hidden: &[Name]) -> Option<Cow<'e, Entry>> {
    let is_hidden = |name: &Name| hidden.contains(name);
    let has_nothing_else = match &entry.event {
        Event::Assigned { field, .. } => is_hidden(field),
        Event::FieldsChanged { changes } => {
            !changes.fields.is_empty() && changes.fields.iter().all(|(name, _)| is_hidden(name))
        }
        _ => false,
    };
    (!has_nothing_else).then(|| strip_fields(entry, hidden))
}

/// An entry without the values of some fields of its entity.
pub fn strip_fields<'e>(entry: &'e Entry, hidden: &[Name]) -> Cow<'e, Entry> {
    if hidden.is_empty() {
        return Cow::Borrowed(entry);
    }
    let mut shown = entry.clone();
    if let Some(changes) = shown.event.changes_mut() {
        changes.fields.retain(|(name, _)| !hidden.contains(name));
    }
    match &mut shown.event {
        Event::Erased { kept: fields } | Event::ViolationFound { evidence: fields, .. } => {
            let seen = fields.iter().filter(|(name, _)| !hidden.contains(name));
            *fields = seen.map(|(name, value)| (name.clone(), value.clone())).collect();
        }
        Event::Assigned { field, before, after } if hidden.contains(field) => {
            (*before, *after) = (Value::Null, Value::Null);
        }
        _ => {}
    }
    Cow::Owned(shown)
}
