//! The last hour before the start, read from the journal's end at the first request for throughput.

use trackside_lifecycle::time::Timestamp;
use trackside_store::{Record, StoreError};

use super::{ReadError, Reads};
use crate::tally::{EarlierMoves, first_of_the_hour, is_transition};

/// Records read at a time.
const CHUNK: u64 = 2_000;

impl Reads {
    /// Counts the last hour before the start, once. It reads no further back and no more entries than the
    /// budget of an answer; beyond that, the figures say since when they count.
    pub(super) fn load_earlier_moves(&self) -> Result<(), ReadError> {
        let now = self.now();
        let most = u64::try_from(self.budget).unwrap_or(u64::MAX).saturating_mul(10);
        self.shared.tally.load_earlier_moves(|began| self.earlier(began, now, most))
    }

    fn earlier(&self, began: u64, now: Timestamp, most: u64) -> Result<EarlierMoves, ReadError> {
        let first = first_of_the_hour(now);
        let mut found = EarlierMoves::default();
        let (mut upto, mut last) = (began, now);
        while upto > 0 {
            let left = most.saturating_sub(began - upto);
            if left == 0 {
                return Ok(cut(found, last));
            }
            let after = upto.saturating_sub(CHUNK.min(left));
            let count = usize::try_from(upto - after).unwrap_or(usize::MAX);
            let records = match self.shared.look_back(|it| it.headers(after, count)) {
                Ok(records) => records,
                // Archived entries that are missing or too far back are not counted, and the answer says so.
                Err(StoreError::NotArchived { .. } | StoreError::TooFar { .. }) => {
                    return Ok(cut(found, last));
                }
                Err(error) => return Err(error.into()),
            };
            for record in records.into_iter().filter(|it| it.seq <= upto).rev() {
                // Only the actor, the event and the time are needed.
                let entry = Record { payload: None, ..record }.entry().map_err(ReadError::from)?;
                if entry.at < first {
                    return Ok(found);
                }
                last = entry.at;
                if is_transition(&entry) {
                    found.moves.push((entry.entity.lifecycle, entry.at));
                }
            }
            upto = after;
        }
        Ok(found)
    }
}

/// Incomplete result: more moves may share the time of the last one.
fn cut(found: EarlierMoves, last: Timestamp) -> EarlierMoves {
    EarlierMoves { from: Some(Timestamp(last.0.saturating_add(1))), ..found }
}
