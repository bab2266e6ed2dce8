//! Holds what is kept of every entity against what the journal says of it.

use std::sync::Arc;

use tokio::sync::oneshot;
use trackside_engine::entity::Entity;
use trackside_engine::{View, apply};
use trackside_store::store::Listing;
use trackside_store::{Reader, StoreError};

use crate::answer::{Failure, Pending};
use crate::runtime::Runtime;
use crate::trail;
use crate::work::Work;

/// Entities read at a time.
const PAGE: usize = 256;

/// What a look at all records came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordReport {
    pub looked_at: u64,
    /// Records that were not what the journal says, and are now.
    pub mended: u64,
}

impl Runtime {
    /// Compares every record with the journal; what differs is made anew, and that is journalled as a correction.
    /// `told` hears how many were looked at.
    pub fn check_records(&self, told: &mut dyn FnMut(u64)) -> Result<RecordReport, Failure> {
        let unavailable = |it: StoreError| Failure::Unavailable(it.to_string());
        let mut report = RecordReport::default();
        let mut after = None;
        loop {
            let listing = Listing { after: after.clone(), most: PAGE, ..Listing::default() };
            let page = self.shared().read(|it| it.list(&listing)).map_err(unavailable)?.value;
            let Some(last) = page.last() else { return Ok(report) };
            after = Some(last.key.clone());
            for kept in page {
                report.looked_at += 1;
                // What is not written yet is younger than its record, and will replace it.
                if self.shared().fresh(&kept.key).is_some() {
                    continue;
                }
                let told_by_journal = self.shared().read(|it| replayed(it, &kept)).map_err(unavailable)?;
                let Some(entity) = told_by_journal.filter(|it| *it != *kept) else { continue };
                self.mend(entity, &kept)?;
                report.mended += 1;
            }
            told(report.looked_at);
        }
    }

    fn mend(&self, entity: Entity, kept: &Entity) -> Result<(), Failure> {
        let found = serde_json::to_string(kept).unwrap_or_default();
        let (ticket, pending) = oneshot::channel();
        self.gateway()?.hand_in(Work::Mend(Arc::new(entity), Arc::from(found), ticket))?;
        Pending(pending).wait().map(|_| ())
    }
}

/// The entity as its entries tell it; none where some of them are in the archive.
fn replayed(reader: &mut dyn Reader, kept: &Entity) -> Result<Option<Entity>, StoreError> {
    let records = trail::upto(reader, kept.seq)?;
    if records.first().is_none_or(|it| it.prev != 0) {
        return Ok(None);
    }
    let mut view = View::default();
    for record in &records {
        apply(&mut view, &record.entry()?);
    }
    Ok(view.get(&kept.key).cloned())
}
