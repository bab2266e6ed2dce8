//! Memory as it was: the projections, and what the journal has beyond them. At start, and after a commit that failed.

use std::sync::Arc;

use trackside_engine::event::Entry;
use trackside_engine::{Law, View};
use trackside_lifecycle::time::Timestamp;
use trackside_store::{Reader, StoreError};

use super::decider::{Decider, Limits, Turn};
use crate::clock::Clock;

/// Records read at a time.
const CHUNK: usize = 2_000;

/// A decider that knows everything the journal holds, and a turn with the entries after `published`, which nobody has been told of.
pub(crate) fn recover(
    law: Arc<Law>,
    mut reader: Box<dyn Reader>,
    clock: Clock,
    limits: Limits,
    published: u64,
) -> Result<(Decider, Turn), StoreError> {
    let head = reader.head()?;
    let position = reader.position()?;
    let mut view = View::partial(position);
    view.project = reader.project()?.unwrap_or_default();
    let last = head.at.unwrap_or(Timestamp(i64::MIN));
    let mut decider = Decider::new(law, view, reader, clock, limits, last);
    let mut after = position;
    while after < head.chain.seq {
        let entries = entries_after(decider.reader.as_mut(), after)?;
        let Some(end) = entries.last().map(|it| it.seq) else {
            return Err(StoreError::Chain { seq: after + 1, what: "is missing".to_owned() });
        };
        for entry in entries {
            decider.take_over(entry)?;
        }
        after = end;
    }
    let mut turn = decider.finish();
    turn.forget_until(published);
    Ok((decider, turn))
}

fn entries_after(reader: &mut dyn Reader, after: u64) -> Result<Vec<Entry>, StoreError> {
    reader.records(after, CHUNK)?.iter().map(trackside_store::Record::entry).collect()
}

impl Turn {
    /// Leaves out the entries up to one that everybody knows.
    fn forget_until(&mut self, published: u64) {
        let known =
            self.entries.iter().take_while(|it| it.last().is_none_or(|it| it.seq <= published)).count();
        let entries: usize = self.entries.iter().take(known).map(|it| it.len()).sum();
        self.entries.drain(..known);
        self.befores.drain(..entries.min(self.befores.len()));
        self.touched.retain(|it| it.entity.seq > published);
    }
}
