//! Memory as it was: the projections, and what the journal has beyond them. At start, and after a commit that failed.

use std::sync::Arc;

use trackside_engine::event::Entry;
use trackside_engine::{Law, View};
use trackside_lifecycle::time::Timestamp;
use trackside_store::{Reader, StoreError};

use super::committer::Committer;
use super::decider::{Decider, Limits};
use super::flusher::Flusher;
use super::steps::write_behind;
use super::turn::Turn;
use crate::clock::Clock;
use crate::planted::{Bug, is_planted};
use crate::shared::Shared;

/// Records read at a time.
const CHUNK: usize = 2_000;

/// Entries that are written behind at a time while there are many to catch up with.
const STRETCH: usize = 50_000;

/// Writes what the journal has beyond the projections, but for a last stretch that memory can hold: after a crash
/// little, after projections were thrown away everything. `told` is called with how far it has come, and how far it must.
pub(crate) fn catch_up(
    shared: &Shared,
    committer: &mut Committer,
    flusher: &mut Flusher,
    limits: Limits,
    told: &mut dyn FnMut(u64, u64),
) -> Result<(), StoreError> {
    let (store, law) = (shared.store(), shared.law());
    let head = store.reader()?.head()?.chain.seq;
    while head.saturating_sub(flusher.written()) > STRETCH as u64 {
        told(flusher.written(), head);
        let upto = flusher.written() + STRETCH as u64;
        let clock = Clock::manual(Timestamp(0));
        let reader = store.reader()?;
        let (decider, turn) = replay(law.clone(), reader, clock, limits, upto)?;
        let project = decider.view.project.clone();
        let (committed, _) = turn.published();
        flusher.take(&committed);
        flusher.project(project);
        write_behind(shared, flusher, &mut |seqs| committer.drop_payloads(&seqs))?;
    }
    Ok(())
}

/// A decider that knows everything the journal holds, and a turn with the entries after `published`, which nobody has been told of.
pub(crate) fn recover(
    law: Arc<Law>,
    mut reader: Box<dyn Reader>,
    clock: Clock,
    limits: Limits,
    published: u64,
) -> Result<(Decider, Turn), StoreError> {
    loop {
        let position = reader.position()?;
        let (mut decider, mut turn) = replay(law.clone(), reader, clock.clone(), limits, u64::MAX)?;
        // The flusher may have written meanwhile: what was read must be of one moment, or entries count twice.
        if decider.reader.position()? == position {
            turn.forget_until(published);
            return Ok((decider, turn));
        }
        reader = decider.reader;
    }
}

/// The projections, and the entries after them up to one.
fn replay(
    law: Arc<Law>,
    mut reader: Box<dyn Reader>,
    clock: Clock,
    limits: Limits,
    upto: u64,
) -> Result<(Decider, Turn), StoreError> {
    let head = reader.head()?;
    let upto = upto.min(head.chain.seq);
    let position = reader.position()?;
    let mut view = View::partial(position);
    view.project = reader.project()?.unwrap_or_default();
    let last = head.at.unwrap_or(Timestamp(i64::MIN));
    let mut decider = Decider::new(law, view, reader, clock, limits, last);
    let mut after = position;
    while after < upto {
        let mut entries = entries_after(decider.reader.as_mut(), after)?;
        entries.retain(|it| it.seq <= upto);
        let Some(end) = entries.last().map(|it| it.seq) else {
            return Err(StoreError::Chain { seq: after + 1, what: "is missing".to_owned() });
        };
        for entry in entries {
            if is_planted(Bug::TailForgotten) && entry.seq == head.chain.seq {
                decider.view.seq = entry.seq;
                continue;
            }
            decider.take_over(entry)?;
        }
        after = end;
    }
    let turn = decider.finish();
    Ok((decider, turn))
}

fn entries_after(reader: &mut dyn Reader, after: u64) -> Result<Vec<Entry>, StoreError> {
    reader.records(after, CHUNK)?.iter().map(trackside_store::Record::entry).collect()
}
