//! The entries of an entity, and the time it spent in each state.

use std::collections::VecDeque;

use trackside_engine::View;
use trackside_engine::actor::Actor;
use trackside_engine::decide::{history_line, log_line, passes_history};
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_engine::query::find_query;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;
use trackside_store::{Record, StoreError};

use super::pack_query::HistorySelection;
use super::read_view::ReadView;
use super::{ReadError, Reads, page};
use crate::entity_records;

/// The members of a line, in order.
type LineMembers = Vec<(Name, Value)>;

/// Entries of one entity, the oldest first.
#[derive(Clone, Debug)]
pub struct History {
    pub records: Vec<Record>,
    /// The cursor of the next page; none if this is the last.
    pub next_cursor: Option<u64>,
    /// Entries before this one were archived, and their file is missing or they are too far back.
    pub archived_before: Option<u64>,
}

/// The number of an entity's visits to a state and their length, up to now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeIn {
    pub state: Name,
    pub visits: u32,
    pub spent: Span,
    /// Whether it is in that state now.
    pub present: bool,
}

impl Reads {
    /// The entries of an entity after `after`, the oldest first; with `all`, renewals of leases too.
    pub fn history(
        &self,
        key: &EntityKey,
        after: u64,
        limit: usize,
        all: bool,
    ) -> Result<History, ReadError> {
        self.history_of(key, after, limit, &|it| Ok(all || !is_renewal(it)?))
    }

    /// The entries that a history query selects, the oldest first. `as_value` gives an entry as expressions read it.
    pub fn selected_history(
        &self,
        selection: &HistorySelection,
        after: u64,
        limit: usize,
        as_value: &dyn Fn(&Entry) -> Value,
    ) -> Result<History, ReadError> {
        let HistorySelection { key, pack, query, params, actor } = selection;
        let entity = self.entity(key)?.ok_or_else(|| ReadError::UnknownEntity(key.clone()))?;
        let (law, now) = (self.shared.law(), self.now());
        let pack = law.pack(pack).ok_or_else(|| ReadError::unknown_pack(&law, pack))?;
        let query = find_query(pack, query)?;
        // The condition reads no other entity.
        let mut view = View::partial(self.seq());
        view.project = (*self.shared.project()).clone();
        view.load(entity.clone());
        self.history_of(key, after, limit, &|it| {
            if is_renewal(it)? {
                return Ok(false);
            }
            let entry = as_value(&it.entry()?);
            Ok(passes_history(&law, &view, query, params, &entity, &entry, actor, now).unwrap_or(false))
        })
    }

    /// The log lines of entries, in the form that their packs declare. Each entry comes with its entity, and as
    /// expressions read it. Entries without a line are left out. Fields that the reader may
    /// not see are null; without a reader, all fields that are not for everybody.
    pub fn log_lines(
        &self,
        entries: impl IntoIterator<Item = (EntityKey, Value)>,
        reader: Option<&Actor>,
    ) -> Result<Vec<Vec<(Name, Value)>>, ReadError> {
        let mut view = ReadView::new(self);
        let mut lines = Vec::new();
        for (key, entry) in entries {
            if view.law().newest(&key.lifecycle).is_none_or(|it| it.log.is_none()) {
                continue;
            }
            let Some(entity) = self.entity(&key)? else { continue };
            lines.extend(view.ask(|law, view, now| log_line(law, view, &entity, &entry, reader, now))?);
        }
        Ok(lines)
    }

    /// Entries as rows of a history query, in the form that the query declares; none if it declares none. Each entry
    /// comes as expressions read it.
    pub fn history_lines(
        &self,
        selection: &HistorySelection,
        entries: impl IntoIterator<Item = Value>,
    ) -> Result<Option<Vec<LineMembers>>, ReadError> {
        let HistorySelection { key, pack, query, params, actor } = selection;
        let mut view = ReadView::new(self);
        let law = view.law().clone();
        let pack = law.pack(pack).ok_or_else(|| ReadError::unknown_pack(&law, pack))?;
        let query = find_query(pack, query)?;
        if query.line.is_empty() {
            return Ok(None);
        }
        let entity = self.entity(key)?.ok_or_else(|| ReadError::UnknownEntity(key.clone()))?;
        let lines = entries.into_iter().map(|entry| {
            view.ask(|law, view, now| history_line(law, view, query, params, &entity, &entry, actor, now))
        });
        Ok(Some(lines.collect::<Result<_, _>>()?))
    }

    /// The entries of an entity that `wanted` selects, after one of them, the oldest first.
    pub(super) fn history_of(
        &self,
        key: &EntityKey,
        after: u64,
        limit: usize,
        wanted: &dyn Fn(&Record) -> Result<bool, StoreError>,
    ) -> Result<History, ReadError> {
        let head = self.entity(key)?.ok_or_else(|| ReadError::UnknownEntity(key.clone()))?.seq;
        let limit = page(limit);
        self.look_back(|whole| {
            // From the newest back, keeping only the oldest: memory is bounded by the page.
            let mut kept: VecDeque<Record> = VecDeque::new();
            let mut earliest = head;
            let went = entity_records::walk_back(whole, head, after, &mut |record| {
                earliest = record.seq;
                if wanted(&record)? {
                    kept.push_front(record);
                    kept.truncate(limit + 1);
                }
                Ok(true)
            });
            let archived_before = match went {
                Ok(()) => None,
                Err(StoreError::NotArchived { .. } | StoreError::TooFar { .. }) => Some(earliest),
                Err(error) => return Err(error),
            };
            let more = kept.len() > limit;
            kept.truncate(limit);
            let next_cursor = kept.back().filter(|_| more).map(|it| it.seq);
            Ok(History { records: kept.into(), next_cursor, archived_before })
        })
    }

    /// The time that an entity spent in each state, the present one included.
    pub fn stays(&self, key: &EntityKey) -> Result<Vec<TimeIn>, ReadError> {
        let entity = self.entity(key)?.ok_or_else(|| ReadError::UnknownEntity(key.clone()))?;
        let running = self.now().since(entity.state_entered_at).0;
        let stays = entity.stays.iter().map(|it| {
            let present = it.state == entity.state;
            let more = if present { running } else { 0 };
            let spent = Span(it.spent.0.saturating_add(more));
            TimeIn { state: it.state.clone(), visits: it.visits, spent, present }
        });
        Ok(stays.collect())
    }

    /// The journal after an entry, in order, archived or not.
    pub fn journal(&self, after: u64, limit: usize) -> Result<Vec<Record>, ReadError> {
        Ok(self.journal_page(after, limit)?.0)
    }

    /// A page of the journal, and the cursor of the next one.
    pub fn journal_page(&self, after: u64, limit: usize) -> Result<(Vec<Record>, Option<u64>), ReadError> {
        let (upto, limit) = (self.seq(), page(limit));
        let mut found = self.look_back(|it| it.records(after, limit))?;
        // Entries that are not published yet do not exist for readers.
        found.retain(|it| it.seq <= upto);
        // A page may end before a missing entry; the next page returns the error.
        let next = found.last().map(|it| it.seq).filter(|it| found.len() == limit || *it < upto);
        Ok((found, next))
    }
}

pub(super) fn is_message(record: &Record) -> Result<bool, StoreError> {
    let is_one = |event: &Event| matches!(event, Event::MessagePosted { .. });
    Ok(record.header.contains("MessagePosted") && is_one(&record.entry()?.event))
}

fn is_renewal(record: &Record) -> Result<bool, StoreError> {
    // Most entries are of other kinds; the header shows that without parsing the whole.
    Ok(record.header.contains("LeaseRenewed") && matches!(record.entry()?.event, Event::LeaseRenewed { .. }))
}
