//! Verifies the journal: every entry, and every link between entries.

mod auditor;
mod finding;
mod missing;
#[cfg(test)]
mod tests;

use crate::archive::Archive;
use crate::store::Reader;
use crate::{Chain, StoreError};
pub use auditor::Auditor;
pub use finding::{AuditFinding, AuditProblem};
pub use missing::missing;

/// Records read per query.
const PIECE: usize = 1_000;

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// The number of audited entries.
    pub entries: u64,
    /// The number of entries without their payload.
    pub redacted: u64,
    /// The entries that explain why, in order; at most as many as problems are listed.
    pub dropped: Vec<Dropped>,
    /// The chain before the first audited entry.
    pub from: Chain,
    /// The last of them. Note it elsewhere to prove later that the journal was not rewritten as a whole.
    pub to: Chain,
    /// In the order of entries.
    pub problems: Vec<AuditProblem>,
    /// Findings beyond the listed ones.
    pub more: u64,
}

/// Payloads that were dropped by an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The entry that records the drop.
    pub by: u64,
    /// True if the whole entity was erased; false if some of its entries were redacted.
    pub erased: bool,
    pub payloads: u64,
}

impl Audit {
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Verifies the whole journal, without archive files. `known` are ends of it that were noted earlier and elsewhere; `progress` gets the
/// number of entries done and in total.
pub fn verify(
    reader: &mut dyn Reader,
    known: &[Chain],
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Audit, StoreError> {
    Archive::default().verify(reader, known, progress)
}

/// Checks all records of a journal up to `head`.
pub(crate) fn check_records(
    reader: &mut dyn Reader,
    auditor: &mut Auditor,
    head: Chain,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), StoreError> {
    let base = reader.base()?.seq;
    let all = head.seq.saturating_sub(base);
    let mut after = base;
    loop {
        let mut records = reader.unverified_as_written(after, PIECE)?;
        records.retain(|it| it.record.seq <= head.seq);
        let Some(last) = records.last() else { return Ok(()) };
        after = last.record.seq;
        for written in records {
            match reader.with_payload(written.clone()) {
                Ok(record) => auditor.check(&record),
                Err(error @ StoreError::ArchiveFile { .. }) => {
                    auditor.check_header(&written.record, &error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        progress(after.saturating_sub(base).min(all), all);
    }
}
