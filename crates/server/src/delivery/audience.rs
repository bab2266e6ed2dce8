//! Audiences: who gets messages, where, and when.

use std::sync::Arc;

use trackside_engine::actor::Actor;
use trackside_engine::entity::Entity;
use trackside_lifecycle::model::Severity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;
use trackside_runtime::read::{ListQuery, MOST};
use trackside_runtime::{ReadError, Reads};

use super::quiet_hours::{QuietHours, due_at};

/// The lifecycle of audiences.
pub(crate) const AUDIENCE: &str = "access.audience";
/// The start of a member that is a rule: everybody with a role.
pub(crate) const ROLE: &str = "role:";

/// An audience, as its record describes it.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryAudience {
    pub name: Name,
    pub members: Vec<AudienceMember>,
    pub addresses: Vec<AudienceAddress>,
    /// Lifecycles or packs; empty means all.
    pub lifecycles: Vec<Name>,
    pub alerts: AlertChoice,
    /// Whether it gets the notifications of packs to an audience of its name.
    pub notifications: bool,
    pub escalate_after: Option<Span>,
    pub digest: Option<Span>,
    pub quiet: Option<QuietHours>,
    /// What waited before this entry is not sent.
    pub since: u64,
}

/// A member of an audience.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AudienceMember {
    Person(Name),
    /// Everybody with this role, as `pack:role`.
    Role(Name),
}

/// Where a message goes. Its values are stored elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AudienceAddress {
    pub name: String,
    pub channel: String,
    /// The person who reads it; none if several do.
    pub person: Option<Name>,
}

/// Which alerts an audience gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AlertChoice {
    None,
    /// Those of severity error and critical.
    #[default]
    Error,
    All,
}

impl AlertChoice {
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "none" => Some(Self::None),
            "error" => Some(Self::Error),
            "all" => Some(Self::All),
            _ => None,
        }
    }

    pub fn includes(self, severity: Severity) -> bool {
        match self {
            Self::None => false,
            Self::Error => matches!(severity, Severity::Error | Severity::Critical),
            Self::All => true,
        }
    }
}

impl AudienceMember {
    pub fn parse(text: &str) -> Self {
        match text.strip_prefix(ROLE) {
            Some(role) => Self::Role(Name::new(role)),
            None => Self::Person(Name::new(text)),
        }
    }
}

impl DeliveryAudience {
    pub fn of(entity: &Entity, project_zone: &str) -> Self {
        let fields = &entity.fields;
        let text = |it: &Value, name: &str| it.as_map()?.get(name)?.as_str().map(str::to_owned);
        let addresses = fields.get("addresses").and_then(Value::as_list).unwrap_or_default().iter();
        let addresses = addresses.filter_map(|it| {
            let person = text(it, "person").map(|it| Name::new(&it));
            Some(AudienceAddress { name: text(it, "name")?, channel: text(it, "channel")?, person })
        });
        let zone = fields.text("zone").unwrap_or(project_zone);
        let quiet = fields.text("quietFrom").zip(fields.text("quietTo"));
        let span = |name: &str| fields.get(name).and_then(Value::as_span);
        Self {
            name: entity.key.id.clone(),
            members: fields.texts("members").map(AudienceMember::parse).collect(),
            addresses: addresses.collect(),
            lifecycles: fields.texts("lifecycles").map(Name::new).collect(),
            alerts: fields.text("alerts").and_then(AlertChoice::parse).unwrap_or_default(),
            notifications: fields.get("notifications") == Some(&Value::Bool(true)),
            escalate_after: span("escalateAfter"),
            digest: span("digest"),
            // A zone that this release does not know makes no message late.
            quiet: quiet.and_then(|(from, to)| QuietHours::parse(from, to, zone).ok()),
            since: fields
                .get("since")
                .and_then(Value::as_int)
                .and_then(|it| u64::try_from(it).ok())
                .unwrap_or(0),
        }
    }

    /// Every audience.
    pub fn all(reads: &Reads) -> Result<Vec<Self>, ReadError> {
        let zone = reads.project().zone.clone();
        let found = list_all(reads, ListQuery::of(AUDIENCE, Actor::engine()))?;
        Ok(found.iter().map(|it| Self::of(it, &zone)).collect())
    }

    /// Whether it gets messages about entities of a lifecycle.
    pub fn covers(&self, lifecycle: &Name) -> bool {
        let pack = lifecycle.split_once('.').map(|(pack, _)| pack);
        self.lifecycles.is_empty()
            || self.lifecycles.iter().any(|it| it == lifecycle || pack.is_some_and(|pack| **it == *pack))
    }

    /// When a message may be sent. Critical messages are sent at once.
    pub fn due_at(&self, now: Timestamp, severity: &str) -> Timestamp {
        match severity {
            "critical" => now,
            _ => due_at(now, self.digest, self.quiet.as_ref()),
        }
    }

    /// The addresses that only this person reads.
    pub fn addresses_of(&self, person: &Name) -> impl Iterator<Item = &AudienceAddress> {
        self.addresses.iter().filter(move |it| it.person.as_ref() == Some(person))
    }

    /// The addresses that several people read.
    pub fn shared_addresses(&self) -> impl Iterator<Item = &AudienceAddress> {
        self.addresses.iter().filter(|it| it.person.is_none())
    }
}

/// Every entity of a query.
pub(super) fn list_all(reads: &Reads, mut query: ListQuery) -> Result<Vec<Arc<Entity>>, ReadError> {
    query.limit = MOST;
    let mut all = Vec::new();
    loop {
        let listed = reads.list(&query)?;
        all.extend(listed.items);
        query.cursor = listed.next_cursor;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}
