//! Decides who gets a message about what. The source is the inbox: a person gets a message about an entity only if it is an item of
//! this person's inbox, so a message never shows a person something hidden.
//!
//! A plan depends only on stored data, and a message has one id per item and address. So planning again, after a
//! restart for instance, sends nothing twice.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use trackside_engine::Law;
use trackside_engine::actor::Actor;
use trackside_engine::command::Command;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::{InboxItemBody, InboxKind};
use trackside_runtime::read::{ListQuery, MOST};
use trackside_runtime::{ReadError, Reads, Viewer};

use super::audience::{AudienceMember, DeliveryAudience, list_all};
use super::record::{DELIVERY, DeliveryRecord, SubjectKind};
use crate::app::App;
use crate::auth::PACK;
use crate::rest::inbox;

/// Entries of one entity that a plan has to look at: alerts and notifications.
pub(super) type NewEntries = BTreeSet<(SubjectKind, u64)>;

/// A person as a reader.
#[derive(Clone, Debug)]
struct PersonView {
    actor: Actor,
    viewer: Viewer,
}

/// Plans messages, for one state of the project.
pub(super) struct DeliveryPlanner<'a> {
    app: &'a App,
    reads: &'a Reads,
    law: Arc<Law>,
    audiences: Arc<Vec<DeliveryAudience>>,
    people: HashMap<Name, Option<PersonView>, RandomState>,
}

impl<'a> DeliveryPlanner<'a> {
    pub fn new(app: &'a App, audiences: Arc<Vec<DeliveryAudience>>) -> Self {
        Self { app, reads: &app.reads, law: app.runtime.law(), audiences, people: HashMap::default() }
    }

    /// What these entries may change: entities, and those of their entries that are looked at. The server's own records
    /// wait for no person, and an alert about a delivery is not sent: it could fail in turn.
    pub fn changed(&self, entries: &[Entry]) -> Result<BTreeMap<EntityKey, NewEntries>, ReadError> {
        let mut changed: BTreeMap<EntityKey, NewEntries> = BTreeMap::new();
        for entry in entries {
            let lifecycle = &entry.entity.lifecycle;
            if **lifecycle == *DELIVERY {
                if let Event::Transitioned { .. } = &entry.event
                    && let Some(entity) = self.reads.entity(&entry.entity)?
                    && let Some(record) = DeliveryRecord::of(&self.law, &entity)
                    && !record.is_open
                {
                    changed.entry(record.subject).or_default().insert((record.kind, record.number));
                }
                continue;
            }
            if lifecycle.split_once('.').is_some_and(|(pack, _)| *pack == *PACK) {
                continue;
            }
            let news = changed.entry(entry.entity.clone()).or_default();
            match &entry.event {
                Event::AlertRaised { .. } => news.insert((SubjectKind::Alert, entry.seq)),
                Event::Notified { .. } => news.insert((SubjectKind::Notification, entry.seq)),
                _ => false,
            };
        }
        Ok(changed)
    }

    /// Everything that may wait for a member of an audience, or of which a message is open.
    pub fn everything(&mut self) -> Result<BTreeMap<EntityKey, NewEntries>, ReadError> {
        let mut all: BTreeMap<EntityKey, NewEntries> = BTreeMap::new();
        let law = self.law.clone();
        // As each person sees it: an entity that the server's own actor may not read can wait for a person.
        for actor in self.members()? {
            for life in law.lifecycle_names().iter().filter_map(|it| law.newest(it)) {
                let mut query = ListQuery::of(life.name.clone(), actor.clone());
                query.states = inbox::waiting_states(life);
                if query.states.is_empty() {
                    continue;
                }
                for entity in list_all(self.reads, query)? {
                    all.entry(entity.key.clone()).or_default();
                }
            }
        }
        let mut after = 0;
        loop {
            let (alerts, next) = self.reads.alerts(after, MOST, false)?;
            for it in alerts.iter().filter(|it| *it.raised.entity.lifecycle != *DELIVERY) {
                let news = all.entry(it.raised.entity.clone()).or_default();
                news.insert((SubjectKind::Alert, it.raised.seq));
            }
            match next {
                Some(next) => after = next,
                None => break,
            }
        }
        for record in DeliveryRecord::all_open(self.reads, &self.law)? {
            all.entry(record.subject).or_default().insert((record.kind, record.number));
        }
        Ok(all)
    }

    /// The commands by which the messages about an entity become right.
    pub fn plan(&mut self, subject: &EntityKey, news: &NewEntries) -> Result<Vec<Command>, ReadError> {
        let known = DeliveryRecord::about(self.reads, &self.law, subject)?;
        let mut commands = Vec::new();
        for record in known.iter().filter(|it| it.is_open && it.kind != SubjectKind::Notification) {
            if self.waiting(record)?.is_none() {
                commands.push(match record.is_sent {
                    true => record.fire("answer", []),
                    false => {
                        record.fire("drop", [("why", Value::text("It no longer waits for this person"))])
                    }
                });
            }
        }
        let mut targets: BTreeSet<(SubjectKind, u64)> = news.clone();
        // An item has the number of its arrival, which is looked up again.
        targets.retain(|(kind, _)| *kind != SubjectKind::Item);
        if let Some(number) = self.arrival(subject)? {
            targets.insert((SubjectKind::Item, number));
        }
        let audiences = self.audiences.clone();
        for (kind, number) in targets {
            for audience in audiences.iter().filter(|it| number > it.since && it.covers(&subject.lifecycle)) {
                if !self.wants(audience, kind, number)? {
                    continue;
                }
                let told: Vec<&DeliveryRecord> = known
                    .iter()
                    .filter(|it| it.number == number && it.kind == kind && it.audience == audience.name)
                    .collect();
                commands.extend(self.new_messages(audience, subject, (kind, number), &told)?);
            }
        }
        Ok(commands)
    }

    /// The number under which an entity waits for people; none if it does not, or if that is not known.
    fn arrival(&self, subject: &EntityKey) -> Result<Option<u64>, ReadError> {
        let Some(entity) = self.reads.entity(subject)? else { return Ok(None) };
        let Some(life) = self.law.definition(&subject.lifecycle, entity.definition) else { return Ok(None) };
        if !inbox::waiting_states(life).contains(&entity.state) {
            return Ok(None);
        }
        // If it came there too long ago to be found, its number would change with every entry, and each be a message.
        Ok(self.reads.arrival(subject)?.map(|it| it.entry.seq))
    }

    /// Whether an audience gets messages of this kind.
    fn wants(&self, audience: &DeliveryAudience, kind: SubjectKind, number: u64) -> Result<bool, ReadError> {
        if kind == SubjectKind::Item {
            return Ok(true);
        }
        Ok(match self.reads.entry(number)?.map(|it| it.event) {
            Some(Event::AlertRaised { severity, .. }) => audience.alerts.includes(severity),
            Some(Event::Notified { audience: name, .. }) => audience.notifications && name == audience.name,
            _ => false,
        })
    }

    /// The messages that an audience still needs.
    fn new_messages(
        &mut self,
        audience: &DeliveryAudience,
        subject: &EntityKey,
        (kind, number): (SubjectKind, u64),
        told: &[&DeliveryRecord],
    ) -> Result<Vec<Command>, ReadError> {
        let one_by_one = audience.escalate_after.is_some() && kind != SubjectKind::Notification;
        let personal = || told.iter().filter(|it| it.is_personal);
        let is_under_way = one_by_one && personal().any(|it| it.is_open);
        let shared: Vec<_> = audience
            .shared_addresses()
            .filter(|it| !told.iter().any(|known| known.address == it.name))
            .collect();
        if is_under_way && shared.is_empty() {
            return Ok(Vec::new());
        }
        let mut commands = Vec::new();
        let (mut shared, mut is_full) = (shared, is_under_way);
        for person in self.people_of(audience)? {
            let own: Vec<_> = audience
                .addresses_of(&person)
                .filter(|it| !is_full && !told.iter().any(|known| known.address == it.name))
                .collect();
            if own.is_empty() && shared.is_empty() {
                continue;
            }
            let Some(item) = self.item_for(&person, subject, kind, number)? else { continue };
            is_full |= one_by_one && !own.is_empty();
            for address in own.into_iter().chain(std::mem::take(&mut shared)) {
                let due_at = audience.due_at(self.reads.now(), &item.severity);
                let fields = [
                    ("audience", Value::from(&audience.name)),
                    ("address", Value::text(&address.name)),
                    ("channel", Value::text(&address.channel)),
                    ("person", Value::from(&person)),
                    ("personal", Value::Bool(address.person.is_some())),
                    ("concerns", Value::text(&subject.to_string())),
                    ("number", Value::Int(i64::try_from(number).unwrap_or(i64::MAX))),
                    ("kind", Value::text(kind.as_str())),
                    ("dueAt", Value::Time(due_at)),
                ];
                let id = DeliveryRecord::id(number, &audience.name, &address.name);
                commands.push(DeliveryRecord::creation(&id, fields.into_iter().collect()));
            }
            if is_full {
                break;
            }
        }
        Ok(commands)
    }

    /// The people that are members of an audience, in order.
    pub fn people_of(&mut self, audience: &DeliveryAudience) -> Result<Vec<Name>, ReadError> {
        let mut people: Vec<Name> = Vec::new();
        for member in &audience.members {
            match member {
                AudienceMember::Person(person) => people.push(person.clone()),
                AudienceMember::Role(role) => {
                    for person in self.reads.people() {
                        if self.person(&person)?.is_some_and(|it| it.actor.has_role(role)) {
                            people.push(person);
                        }
                    }
                }
            }
        }
        let mut seen = BTreeSet::new();
        people.retain(|it| seen.insert(it.clone()));
        Ok(people)
    }

    /// The members of all audiences as actors, each once.
    fn members(&mut self) -> Result<Vec<Actor>, ReadError> {
        let audiences = self.audiences.clone();
        let mut people: BTreeSet<Name> = BTreeSet::new();
        for audience in audiences.iter() {
            people.extend(self.people_of(audience)?);
        }
        let mut actors = Vec::new();
        for person in &people {
            actors.extend(self.person(person)?.map(|it| it.actor));
        }
        Ok(actors)
    }

    /// Whether a person has a valid token.
    pub fn is_known(&mut self, person: &Name) -> Result<bool, ReadError> {
        Ok(self.person(person)?.is_some())
    }

    fn person(&mut self, person: &Name) -> Result<Option<PersonView>, ReadError> {
        if let Some(known) = self.people.get(person) {
            return Ok(known.clone());
        }
        let actor = self.app.access.person(person, self.reads.now())?;
        let view = actor.map(|actor| PersonView { viewer: Viewer::new(actor.clone()), actor });
        self.people.insert(person.clone(), view.clone());
        Ok(view)
    }

    /// What a message is about, as its person sees it; none if it does not wait for that person any more.
    pub fn waiting(&mut self, record: &DeliveryRecord) -> Result<Option<InboxItemBody>, ReadError> {
        self.item_for(&record.person, &record.subject, record.kind, record.number)
    }

    fn item_for(
        &mut self,
        person: &Name,
        subject: &EntityKey,
        kind: SubjectKind,
        number: u64,
    ) -> Result<Option<InboxItemBody>, ReadError> {
        let Some(PersonView { actor, viewer }) = self.person(person)? else { return Ok(None) };
        match kind {
            SubjectKind::Item => {
                if self.arrival(subject)? != Some(number) {
                    return Ok(None);
                }
                inbox::item_of(self.reads, &self.law, subject, &actor)
            }
            SubjectKind::Alert => {
                let alert = match self.reads.alert(number) {
                    Ok(alert) => alert,
                    Err(ReadError::UnknownEntry(_)) => return Ok(None),
                    Err(error) => return Err(error),
                };
                let waits = alert.is_open && alert.acknowledged.is_none();
                Ok((waits && viewer.entry(self.reads, &alert.raised)?.is_some())
                    .then(|| inbox::alert_item(&alert)))
            }
            SubjectKind::Notification => {
                let Some(entry) = self.reads.entry(number)? else { return Ok(None) };
                let seen = viewer.entry(self.reads, &entry)?;
                Ok(seen.and_then(|it| notification_item(&it)))
            }
        }
    }
}

/// A notification in the form of an item.
fn notification_item(entry: &Entry) -> Option<InboxItemBody> {
    let Event::Notified { message, .. } = &entry.event else { return None };
    Some(InboxItemBody {
        number: entry.seq,
        kind: InboxKind::Decision,
        lifecycle: entry.entity.lifecycle.clone(),
        id: entry.entity.id.clone(),
        state: None,
        headline: inbox::one_line(message),
        since: entry.at.to_string(),
        until: None,
        otherwise: None,
        severity: "info".to_owned(),
        may_act: false,
        actions: Vec::new(),
    })
}
