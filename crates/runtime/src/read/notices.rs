//! Notices for people: alerts, violations, notifications and messages, in the order of the journal.

use std::collections::BTreeSet;

use trackside_engine::event::{Entry, Event, EventKind};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_store::Record;
use trackside_store::projection_builder::OPEN_ALERT;

use super::{ReadError, Reads, page};
use crate::answer::Failure;
use crate::entity_records;
use crate::memory::UnflushedCommits;

/// Entries of some kinds.
#[derive(Clone, Debug)]
pub struct Noticed {
    pub records: Vec<Record>,
    /// The cursor of the next page; none if this is the last.
    pub next_cursor: Option<u64>,
}

/// An invariant that was found broken.
#[derive(Clone, Debug)]
pub struct Violation {
    pub record: Record,
    pub entity: EntityKey,
    pub rule: Name,
    /// The entry that records its end.
    pub cleared_by: Option<u64>,
}

impl Reads {
    pub fn notifications(&self, after: u64, limit: usize) -> Result<Noticed, ReadError> {
        self.noticed(&[EventKind::Notified.as_str()], after, limit)
    }

    /// Messages on all entities; those on one are in its history.
    pub fn messages(&self, after: u64, limit: usize) -> Result<Noticed, ReadError> {
        self.noticed(&[EventKind::MessagePosted.as_str()], after, limit)
    }

    /// Violations, open and cleared, and where the next page begins.
    pub fn violations(&self, after: u64, limit: usize) -> Result<(Vec<Violation>, Option<u64>), ReadError> {
        let Noticed { records, next_cursor } =
            self.noticed(&[EventKind::ViolationFound.as_str()], after, limit)?;
        let mut found = Vec::new();
        for record in records {
            let Entry { entity, event: Event::ViolationFound { rule, .. }, seq, .. } = record.entry()? else {
                continue;
            };
            let cleared_by = self.clearing_entry(&entity, &rule, seq)?;
            found.push(Violation { record, entity, rule, cleared_by });
        }
        Ok((found, next_cursor))
    }

    /// Entries of these kinds after one, in order, archived or not. The kinds are those of
    /// [`EventKind::is_indexed`] and [`OPEN_ALERT`].
    pub fn noticed(&self, kinds: &[&str], after: u64, limit: usize) -> Result<Noticed, ReadError> {
        let (seqs, next_cursor) = self.noticed_numbers(kinds, after, limit)?;
        let records =
            self.look_back(|it| seqs.iter().map(|seq| it.record(*seq)).collect::<Result<Vec<_>, _>>())?;
        Ok(Noticed { records: records.into_iter().flatten().collect(), next_cursor })
    }

    /// Their numbers, and where the next page begins.
    pub(super) fn noticed_numbers(
        &self,
        kinds: &[&str],
        after: u64,
        limit: usize,
    ) -> Result<(Vec<u64>, Option<u64>), ReadError> {
        let limit = page(limit);
        let unwritten = UnflushedCommits::of(&self.shared);
        let is_open_wanted = kinds.contains(&OPEN_ALERT);
        let settled: BTreeSet<u64> = match is_open_wanted {
            true => unwritten.after(0).filter_map(|(entry, _)| resolved_alert(&entry.event)).collect(),
            false => BTreeSet::new(),
        };
        let stored = self.store(|it| it.notices(kinds, after, limit + 1 + settled.len()))?;
        let late = unwritten.after(after).map(|(entry, _)| entry);
        let wanted = |it: &Event| {
            kinds.contains(&it.kind().as_str()) || (is_open_wanted && matches!(it, Event::AlertRaised { .. }))
        };
        let late = late.filter(|it| wanted(&it.event)).map(|it| it.seq);
        // Entries flushed meanwhile are in both.
        let seqs: BTreeSet<u64> = stored.into_iter().chain(late).filter(|it| !settled.contains(it)).collect();
        let more = seqs.len() > limit;
        let wanted: Vec<u64> = seqs.into_iter().take(limit).collect();
        let next_cursor = wanted.last().filter(|_| more).copied();
        Ok((wanted, next_cursor))
    }

    /// Messages to an actor between the lease renewal before `seq` and `seq`: at most a page.
    pub fn told_since_renewal(&self, seq: u64, slot: &Name, to: &Name) -> Result<Vec<Entry>, ReadError> {
        let since = self.renewed_before(seq, slot)?;
        let found = self.noticed(&[EventKind::Notified.as_str()], since, super::MOST)?;
        let mut told = Vec::new();
        // Later ones come with the next renewal.
        for record in found.records.into_iter().filter(|it| it.seq <= seq) {
            let entry = record.entry()?;
            if matches!(&entry.event, Event::Notified { to: those, .. } if those.contains(to)) {
                told.push(entry);
            }
        }
        Ok(told)
    }

    /// The entry that granted or renewed a lease, last before `seq`.
    fn renewed_before(&self, seq: u64, slot: &Name) -> Result<u64, ReadError> {
        let mut since = seq;
        let found = self.look_back(|whole| {
            entity_records::walk_back(whole, seq, 0, &mut |record| {
                let is_it = |it: &Event| {
                    matches!(it, Event::LeaseRenewed { slot: it, .. } | Event::LeaseGranted { slot: it, .. } if it == slot)
                };
                let found = record.seq < seq && is_it(&record.entry()?.event);
                since = record.seq;
                Ok(!found)
            })
        });
        match found {
            // A missing archive file must not cost a lease: the rest is returned.
            Ok(())
            | Err(
                ReadError::Failure(Failure::Archived { .. } | Failure::ArchiveFile(_)) | ReadError::TooFar(_),
            ) => Ok(since),
            Err(error) => Err(error),
        }
    }

    /// The entry by which a violation that was found at `seq` was cleared.
    fn clearing_entry(&self, key: &EntityKey, rule: &Name, seq: u64) -> Result<Option<u64>, ReadError> {
        let Some(entity) = self.entity(key)? else { return Ok(None) };
        let mut cleared = None;
        let clears = |it: &Event| matches!(it, Event::ViolationCleared { rule: it } if it == rule);
        self.look_back(|whole| {
            entity_records::walk_back(whole, entity.seq, seq, &mut |record| {
                if record.header.contains("ViolationCleared") && clears(&record.entry()?.event) {
                    cleared = Some(record.seq);
                }
                Ok(true)
            })
        })?;
        Ok(cleared)
    }
}

/// The alert that an event resolves.
fn resolved_alert(event: &Event) -> Option<u64> {
    match event {
        Event::AlertResolved { alert } => Some(*alert),
        _ => None,
    }
}
