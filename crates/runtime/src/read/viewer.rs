//! What one caller may see. Every interface that returns journal entries asks here: messages, history, the journal,
//! the feed, notifications, alerts, webhooks, exports and MCP.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;
use trackside_engine::actor::Actor;
use trackside_engine::entity::Entity;
use trackside_engine::event::Entry;
use trackside_engine::key::EntityKey;
use trackside_engine::observe::{EntryAccess, is_recipient};
use trackside_engine::query::QueryReader;
use trackside_store::{Record, StoreError};

use super::history::{History, is_message};
use super::read_view::ReadView;
use super::{ReadError, Reads};
use crate::entity_records;

/// Most backlogs that are remembered.
const BACKLOGS: usize = 256;

/// The oldest message that the caller sees of an entity, under these rights.
type Backlogs = HashMap<EntityKey, (EntryAccess, u64), RandomState>;

/// One caller, and what it may see.
#[derive(Clone, Debug)]
pub struct Viewer {
    actor: Actor,
    backlogs: Arc<Mutex<Backlogs>>,
}

impl Viewer {
    pub fn new(actor: Actor) -> Self {
        Self { actor, backlogs: Arc::default() }
    }

    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Whether an entity may be shown.
    pub fn sees_entity(&self, reads: &Reads, key: &EntityKey) -> Result<bool, ReadError> {
        let law = reads.shared.law();
        // The entity may use any version of the definition. If none restricts reading, no lookup is needed.
        if law.definitions(&key.lifecycle).iter().all(|it| it.read.is_none()) {
            return Ok(true);
        }
        match reads.readable(key, &self.actor) {
            Ok(_) => Ok(true),
            Err(ReadError::UnknownEntity(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// An entry as the caller sees it, without fields that it may not read; none if it may not see the entry.
    pub fn entry<'e>(&self, reads: &Reads, entry: &'e Entry) -> Result<Option<Cow<'e, Entry>>, ReadError> {
        let law = reads.shared.law();
        if law.definitions(&entry.entity.lifecycle).iter().all(|it| it.is_open_to_all()) {
            return Ok(is_recipient(entry, &self.actor).then_some(Cow::Borrowed(entry)));
        }
        let Some((entity, access)) = self.access(reads, &entry.entity)? else { return Ok(None) };
        access.show(entry, &self.actor, || self.oldest_message(reads, &entity, &access))
    }

    /// Refuses a caller who may not see the entries of an entity.
    pub fn observed(&self, reads: &Reads, key: &EntityKey) -> Result<Arc<Entity>, ReadError> {
        Ok(self.observed_with_access(reads, key)?.0)
    }

    /// The messages on an entity after an entry that the caller may see, the oldest first.
    pub fn messages(
        &self,
        reads: &Reads,
        key: &EntityKey,
        after: u64,
        limit: usize,
    ) -> Result<History, ReadError> {
        let (entity, access) = self.observed_with_access(reads, key)?;
        let oldest = self.oldest_message(reads, &entity, &access)?;
        let is_shown = |record: &Record| -> Result<bool, StoreError> {
            if !is_message(record)? {
                return Ok(false);
            }
            Ok(access.show(&record.entry()?, &self.actor, || Ok::<_, StoreError>(oldest))?.is_some())
        };
        reads.history_of(key, after, limit, &is_shown)
    }

    fn observed_with_access(
        &self,
        reads: &Reads,
        key: &EntityKey,
    ) -> Result<(Arc<Entity>, EntryAccess), ReadError> {
        let (entity, access) = self.access(reads, key)?.ok_or_else(|| reads.unknown(key))?;
        match access.closed {
            Some(closed) => Err(ReadError::NotObserver { says: closed.says, who: closed.who }),
            None => Ok((entity, access)),
        }
    }

    /// The rights of the caller on an entity; none if it may not see it at all.
    fn access(
        &self,
        reads: &Reads,
        key: &EntityKey,
    ) -> Result<Option<(Arc<Entity>, EntryAccess)>, ReadError> {
        let Some(entity) = reads.entity(key)? else { return Ok(None) };
        let access = ReadView::new(reads).ask(|law, view, now| {
            let asking = QueryReader { law, view, actor: &self.actor, shown: true, now };
            let is_readable = asking.may_read(&entity)?;
            let access = EntryAccess::of(law, view, &entity, &self.actor, now)?;
            Ok(is_readable.then_some(access))
        })?;
        Ok(access.map(|it| (entity, it)))
    }

    /// The oldest message that the caller sees. Older entries that are not here count as not visible.
    fn oldest_message(&self, reads: &Reads, entity: &Entity, access: &EntryAccess) -> Result<u64, ReadError> {
        if !access.has_backlog() {
            return Ok(u64::MAX);
        }
        let backlogs = || self.backlogs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, oldest)) = backlogs().get(&entity.key).filter(|(it, _)| it == access) {
            return Ok(*oldest);
        }
        let mut backlog = access.backlog(&self.actor);
        reads.look_back(|whole| {
            let went = entity_records::walk_back(whole, entity.seq, 0, &mut |record| {
                Ok(!is_message(&record)? || backlog.look(&record.entry()?))
            });
            match went {
                Err(error) if error.is_out_of_reach() => Ok(()),
                went => went,
            }
        })?;
        let mut known = backlogs();
        if known.len() >= BACKLOGS {
            known.clear();
        }
        known.insert(entity.key.clone(), (access.clone(), backlog.oldest()));
        Ok(backlog.oldest())
    }
}
