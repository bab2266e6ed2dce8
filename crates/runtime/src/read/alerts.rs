//! Alerts: open, acknowledged and resolved.

use std::collections::BTreeMap;

use trackside_engine::event::{Entry, Event, EventKind};
use trackside_engine::key::EntityKey;
use trackside_engine::project::project_key;
use trackside_store::projection_builder::OPEN_ALERT;

use super::notices::Noticed;
use super::{ReadError, Reads};
use crate::entity_records;

/// An alert, and people's answers to it.
#[derive(Clone, Debug)]
pub struct Alert {
    /// The entry that raised it: its number is the alert's.
    pub raised: Entry,
    /// Whether it is open.
    pub is_open: bool,
    /// The entry that acknowledged it first.
    pub acknowledged: Option<Entry>,
    /// The entry by which it was resolved.
    pub resolved: Option<Entry>,
}

impl Reads {
    /// Alerts after `after`, the oldest first, and the cursor of the next page: the open ones, or all.
    pub fn alerts(
        &self,
        after: u64,
        limit: usize,
        all: bool,
    ) -> Result<(Vec<Alert>, Option<u64>), ReadError> {
        let kind = if all { EventKind::AlertRaised.as_str() } else { OPEN_ALERT };
        let Noticed { records, next_cursor } = self.noticed(&[kind], after, limit)?;
        let raised = records.iter().map(|it| it.entry()).collect::<Result<Vec<_>, _>>()?;
        let mut alerts = self.with_answers(raised)?;
        // One may have been resolved since.
        alerts.retain(|it| all || it.is_open);
        Ok((alerts, next_cursor))
    }

    /// One alert, if there is one of this number.
    pub fn alert(&self, number: u64) -> Result<Alert, ReadError> {
        let record = self.look_back(|it| it.record(number))?.ok_or(ReadError::UnknownEntry(number))?;
        let found = self.with_answers(vec![record.entry()?])?.pop();
        found.ok_or(ReadError::UnknownEntry(number))
    }

    /// Adds people's answers to alerts, each given by the entry that raised it; other entries are left out.
    fn with_answers(&self, mut raised: Vec<Entry>) -> Result<Vec<Alert>, ReadError> {
        raised.retain(|it| matches!(it.event, Event::AlertRaised { .. }));
        let mut oldest: BTreeMap<EntityKey, u64> = BTreeMap::new();
        let mut said: BTreeMap<u64, (Option<Entry>, Option<Entry>)> = BTreeMap::new();
        let mut open = Vec::with_capacity(raised.len());
        for it in &raised {
            if it.entity == *project_key() {
                let (open_seqs, _) = self.noticed_numbers(&[OPEN_ALERT], it.seq.saturating_sub(1), 1)?;
                open.push(open_seqs.first() == Some(&it.seq));
                continue;
            }
            let entity = self.entity(&it.entity)?;
            let alert = entity.as_ref().and_then(|entity| entity.alert(it.seq));
            open.push(alert.is_some());
            // An unacknowledged alert has no such entry.
            if alert.is_none_or(|it| it.acknowledged.is_some()) {
                let first = oldest.entry(it.entity.clone()).or_insert(it.seq);
                *first = it.seq.min(*first);
            }
        }
        for (key, first) in oldest {
            let Some(entity) = self.entity(&key)? else { continue };
            self.look_back(|whole| {
                // The newest first: the first acknowledgement comes last.
                entity_records::walk_back(whole, entity.seq, first, &mut |record| {
                    if !record.header.contains("\"Alert") {
                        return Ok(true);
                    }
                    let entry = record.entry()?;
                    match entry.event {
                        Event::AlertAcknowledged { alert } => said.entry(alert).or_default().0 = Some(entry),
                        Event::AlertResolved { alert } => {
                            said.entry(alert).or_default().1.get_or_insert(entry);
                        }
                        _ => {}
                    }
                    Ok(true)
                })
            })?;
        }
        let alerts = raised.into_iter().zip(open).map(|(raised, is_open)| {
            let (acknowledged, resolved) = said.remove(&raised.seq).unwrap_or_default();
            // Changes made during this look-up count the next time.
            let resolved = resolved.filter(|_| !is_open);
            Alert { raised, is_open, acknowledged, resolved }
        });
        Ok(alerts.collect())
    }
}
