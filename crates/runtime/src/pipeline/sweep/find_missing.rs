//! Searches the whole journal for entities that have no rows.

use std::collections::BTreeMap;

use trackside_engine::key::EntityKey;
use trackside_engine::project::project_key;
use trackside_store::StoreError;
use trackside_store::archive::FullJournal;

use super::{Rebuildable, SweepBudget, SweepPass, SweepReport};
use crate::pipeline::decider::Decider;

/// The progress of the search, and the missing entities so far.
#[derive(Debug)]
pub(super) struct MissingRowSearch {
    after: u64,
    /// Every entity with an entry up to this one must have a row.
    upto: u64,
    /// With the last entry that was seen.
    missing: BTreeMap<EntityKey, u64>,
    /// A part of the journal is not here.
    cut: bool,
    /// The last damaged entry. It may be the last one of any entity whose other entries are before it.
    damaged: u64,
}

impl MissingRowSearch {
    pub fn upto(upto: u64) -> Self {
        Self { after: 0, upto, missing: BTreeMap::new(), cut: false, damaged: 0 }
    }

    /// Reads on; true when it is at the end.
    pub fn go_on(
        &mut self,
        decider: &mut Decider,
        pass: &mut SweepPass,
        left: &mut SweepBudget,
    ) -> Result<bool, StoreError> {
        if self.after == 0 {
            self.missing.extend(std::mem::take(&mut pass.lost).into_iter().map(|key| (key, 0)));
        }
        let mut whole = FullJournal::new(decider.sweep.store.as_ref(), decider.memory.reader());
        let records = match whole.headers(self.after, left.records) {
            Ok(records) => records,
            Err(StoreError::NotArchived { last, .. }) => {
                (self.after, self.cut) = (last, true);
                return Ok(self.after >= self.upto);
            }
            Err(StoreError::Chain { seq, .. } | StoreError::Unreadable { seq, .. })
                if seq > self.after.saturating_add(1) =>
            {
                // The entries before it.
                let before = usize::try_from(seq - self.after - 1).unwrap_or(usize::MAX);
                whole.records(self.after, before.min(left.records))?
            }
            Err(StoreError::Chain { .. } | StoreError::Unreadable { .. }) => {
                self.after = self.after.saturating_add(1);
                self.damaged = self.after;
                left.records = left.records.saturating_sub(1);
                return Ok(self.after >= self.upto);
            }
            Err(error) => return Err(error),
        };
        left.records = left.records.saturating_sub(records.len().max(1));
        for record in &records {
            let is_first = record.prev == 0;
            let matters = is_first || !self.missing.is_empty();
            if record.seq > self.upto || !matters {
                continue;
            }
            let Some(key) = record.entity().filter(|it| it != project_key()) else { continue };
            if let Some(newest) = self.missing.get_mut(&key) {
                *newest = record.seq;
            } else if is_first && !decider.memory.reader().is_stored(&key)? {
                self.missing.insert(key, record.seq);
            }
        }
        self.after = records.last().map_or(self.upto, |it| it.seq);
        Ok(self.after >= self.upto)
    }

    /// Whether a part of the journal is missing.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Entities that can be rebuilt, with their last entry, those whose entries are altered, and those that are in the
    /// projections only.
    pub fn into_rebuildable(
        self,
        report: &mut SweepReport,
    ) -> (Vec<Rebuildable>, Vec<EntityKey>, Vec<EntityKey>) {
        let (found, nowhere): (Vec<_>, Vec<_>) =
            self.missing.into_iter().partition(|(_, newest)| *newest > 0);
        report.unchecked += nowhere.len() as u64 + u64::from(self.cut);
        let is_whole = !self.cut && self.damaged == 0;
        let ghosts = nowhere.into_iter().filter(|_| is_whole).map(|(key, _)| key).collect();
        let (found, doubtful): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(_, newest)| *newest > self.damaged);
        let rebuildable = found.into_iter().map(|(key, newest)| (key, newest, None)).collect();
        (rebuildable, doubtful.into_iter().map(|(key, _)| key).collect(), ghosts)
    }
}
