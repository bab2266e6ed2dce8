//! Verifies the rows of all tables at the end of a full pass, and has the damaged ones removed.
//!
//! What such rows held for entities was repaired before, entity by entity. Idempotency keys belong to entries: those
//! that cannot be looked up any more are read from the journal.

use std::collections::BTreeSet;

use trackside_engine::event::KeyRecord;
use trackside_engine::key::GroupKey;
use trackside_lifecycle::time::Timestamp;
use trackside_store::StoreError;
use trackside_store::archive::FullJournal;
use trackside_store::store::{RowCursor, RowHealing};

use super::{MOST_SKIPPED, PATIENCE, SweepBudget, SweepPass};
use crate::pipeline::decider::Decider;

/// Rows verified at a time.
const ROWS: usize = 256;
/// Rows cost less than records of the journal.
const PER_RECORD: usize = 8;

/// The progress of the check.
#[derive(Debug, Default)]
pub(super) struct RowScan {
    stage: Stage,
    damaged: BTreeSet<&'static str>,
    /// The last moves that were found.
    groups: Vec<(GroupKey, Timestamp)>,
    /// Whether damaged rows were removed already.
    healed: bool,
    waited: u32,
}

#[derive(Debug)]
enum Stage {
    Rows(RowCursor),
    Groups(GroupSearch),
    Keys(KeySearch),
    Healing,
}

impl Default for Stage {
    fn default() -> Self {
        Self::Rows(RowCursor::default())
    }
}

/// The search for the last move of a member of groups whose row cannot be read.
#[derive(Debug, Default)]
struct GroupSearch {
    /// The last row of a group that was looked at, while there are more.
    listed: Option<u64>,
    /// Rows that could not be read.
    skipped: u32,
    wanted: BTreeSet<GroupKey>,
    /// The entries before this one are still to be read.
    before: u64,
}

/// The search for keys whose row cannot be read.
#[derive(Debug)]
struct KeySearch {
    after: u64,
    /// Later keys are not written yet.
    upto: u64,
    lost: Vec<(u64, Timestamp, KeyRecord)>,
}

impl Decider {
    /// Continues; true when it is over.
    pub(super) fn continue_row_scan(
        &mut self,
        scan: &mut RowScan,
        pass: &mut SweepPass,
        left: &mut SweepBudget,
    ) -> Result<bool, StoreError> {
        scan.stage = match std::mem::take(&mut scan.stage) {
            Stage::Rows(from) => {
                let checked = self.memory.reader().check_rows(from, ROWS)?;
                left.records = left.records.saturating_sub((checked.read / PER_RECORD).max(1));
                scan.damaged.extend(checked.damaged);
                match checked.next {
                    // The damaged rows of such an entity are refused, as they must be.
                    None if pass.is_incomplete && pass.depth.is_some() && !scan.damaged.contains("key") => {
                        pass.is_whole = scan.damaged.is_empty();
                        return Ok(true);
                    }
                    Some(next) => Stage::Rows(next),
                    None if (scan.damaged.is_empty() && pass.ghosts.is_empty()) || scan.healed => {
                        pass.is_whole = scan.damaged.is_empty();
                        return Ok(true);
                    }
                    None if pass.depth.is_none() => {
                        self.sweep.compare_all();
                        return Ok(true);
                    }
                    None if scan.damaged.contains("group") => {
                        let before = self.memory.reader().position()?.saturating_add(1);
                        Stage::Groups(GroupSearch { listed: Some(0), before, ..GroupSearch::default() })
                    }
                    None => self.after_groups(scan, pass)?,
                }
            }
            Stage::Groups(mut search) => match self.find_last_moves(&mut search, scan, left) {
                Ok(true) => self.after_groups(scan, pass)?,
                Ok(false) => Stage::Groups(search),
                // The last move may be in the damaged or missing entry.
                Err(error) if error.is_journal_damage() || error.is_out_of_reach() => {
                    scan.damaged.remove("group");
                    self.after_groups(scan, pass)?
                }
                Err(error) => return Err(error),
            },
            Stage::Keys(mut search) => match self.find_lost_keys(&mut search, left) {
                Ok(true) => self.remove_damaged(scan, pass, search.lost),
                Ok(false) => Stage::Keys(search),
                // A damaged or missing entry may hold a key: the damaged rows stay, so that such a key is refused.
                Err(error) if error.is_journal_damage() || error.is_out_of_reach() => {
                    scan.damaged.remove("key");
                    self.remove_damaged(scan, pass, Vec::new())
                }
                Err(error) => return Err(error),
            },
            Stage::Healing if self.damage.is_healed() => {
                scan.damaged.clear();
                Stage::default()
            }
            Stage::Healing if scan.waited >= PATIENCE => return Ok(true),
            Stage::Healing => {
                scan.waited += 1;
                // The rest of this step is for others.
                left.records = 0;
                Stage::Healing
            }
        };
        Ok(false)
    }

    /// Has the flusher remove damaged rows.
    fn remove_damaged(
        &mut self,
        scan: &mut RowScan,
        pass: &mut SweepPass,
        keys: Vec<(u64, Timestamp, KeyRecord)>,
    ) -> Stage {
        scan.healed = true;
        if pass.is_incomplete {
            scan.damaged.retain(|it| *it == "key");
            pass.ghosts.clear();
        }
        let entities = std::mem::take(&mut pass.ghosts);
        let (tables, groups) = (scan.damaged.clone(), std::mem::take(&mut scan.groups));
        self.damage.heal(RowHealing { tables, entities, groups, keys, indexes: false });
        Stage::Healing
    }

    fn after_groups(&mut self, scan: &mut RowScan, pass: &mut SweepPass) -> Result<Stage, StoreError> {
        Ok(match scan.damaged.contains("key") {
            true => Stage::Keys(self.search_keys()?),
            false => self.remove_damaged(scan, pass, Vec::new()),
        })
    }

    /// Lists the groups whose row cannot be read, then looks for the last move of each; true when it is over.
    fn find_last_moves(
        &mut self,
        search: &mut GroupSearch,
        scan: &mut RowScan,
        left: &mut SweepBudget,
    ) -> Result<bool, StoreError> {
        if let Some(after) = search.listed {
            left.records = left.records.saturating_sub(1);
            search.listed = match self.memory.reader().groups_after(after, 1) {
                Ok(found) => match found.value.into_iter().next() {
                    Some((row, key)) => {
                        if self.memory.reader().counts(&key).is_err_and(|it| it.is_state_damage()) {
                            search.wanted.insert(key);
                        }
                        Some(row)
                    }
                    None => None,
                },
                // Its name cannot be read: no request reaches this row. Numbers can be large.
                Err(error) if error.is_state_damage() => {
                    search.skipped += 1;
                    (search.skipped < MOST_SKIPPED).then(|| after.saturating_add(1))
                }
                Err(error) => return Err(error),
            };
            return Ok(false);
        }
        if search.wanted.is_empty() || search.before <= 1 {
            return Ok(true);
        }
        let most = u64::try_from(left.records).unwrap_or(u64::MAX).clamp(1, search.before - 1);
        let after = search.before - 1 - most;
        let mut whole = FullJournal::new(self.sweep.store.as_ref(), self.memory.reader());
        let records = whole.records(after, usize::try_from(most).unwrap_or(usize::MAX))?;
        left.records = left.records.saturating_sub(records.len().max(1));
        for record in records.iter().rev() {
            let entry = record.entry()?;
            for shift in entry.event.changes().into_iter().flat_map(|it| &it.shifts) {
                if search.wanted.remove(&shift.group) {
                    scan.groups.push((shift.group.clone(), entry.at));
                }
            }
        }
        search.before = after.saturating_add(1);
        Ok(false)
    }

    /// From the first entry whose key has not expired.
    fn search_keys(&mut self) -> Result<KeySearch, StoreError> {
        let since = Timestamp(self.time.now().0.saturating_sub(self.memory.keys_last().0));
        let (mut low, mut high) = (0, self.memory.reader().position()?);
        let upto = high;
        // Project time decreases only where the clock was reset: then more entries are read.
        while low < high {
            let middle = low + (high - low) / 2;
            let mut whole = FullJournal::new(self.sweep.store.as_ref(), self.memory.reader());
            let found = match whole.record(middle + 1) {
                Ok(found) => found.and_then(|it| it.entry().ok()),
                Err(error) if error.is_journal_damage() || error.is_out_of_reach() => None,
                Err(error) => return Err(error),
            };
            match found {
                Some(entry) if entry.at >= since => high = middle,
                _ => low = middle + 1,
            }
        }
        Ok(KeySearch { after: low, upto, lost: Vec::new() })
    }

    /// Looks for keys without a readable row; true when it is over.
    fn find_lost_keys(&mut self, search: &mut KeySearch, left: &mut SweepBudget) -> Result<bool, StoreError> {
        let mut whole = FullJournal::new(self.sweep.store.as_ref(), self.memory.reader());
        let records = whole.headers(search.after, left.records)?;
        left.records = left.records.saturating_sub(records.len().max(1));
        let Some(last) = records.last().map(|it| it.seq) else { return Ok(true) };
        for record in records.iter().filter(|it| it.seq <= search.upto) {
            let entry = record.entry()?;
            let Some(key) = entry.key else { continue };
            match self.memory.reader().key(&key.by, &key.key) {
                Ok(Some((seq, _))) if seq >= entry.seq => {}
                Err(error) if !error.is_state_damage() => return Err(error),
                _ => {
                    // The key was used again after it had expired.
                    search.lost.retain(|(_, _, it)| (&it.by, &it.key) != (&key.by, &key.key));
                    search.lost.push((entry.seq, entry.at, key));
                }
            }
        }
        search.after = last;
        Ok(last >= search.upto)
    }
}
