//! Memory as it was: the projections, and what the journal has beyond them. At start, and after a commit that failed.

use std::sync::Arc;

use trackside_engine::event::Entry;
use trackside_engine::{Law, View};
use trackside_lifecycle::time::Timestamp;
use trackside_store::archive::Past;
use trackside_store::{Chain, Reader, Record, Store, StoreError};

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
    let mut source = Source::of(store)?;
    let head = store.reader()?.head()?.chain.seq;
    while head.saturating_sub(flusher.written()) > STRETCH as u64 {
        told(flusher.written(), head);
        let upto = flusher.written() + STRETCH as u64;
        let clock = Clock::manual(Timestamp(0));
        let reader = store.reader()?;
        let (decider, turn) = replay(law.clone(), reader, &mut source, clock, limits, upto)?;
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
    source: &mut Source,
    clock: Clock,
    limits: Limits,
    published: u64,
) -> Result<(Decider, Turn), StoreError> {
    loop {
        let position = reader.position()?;
        let (mut decider, mut turn) = replay(law.clone(), reader, source, clock.clone(), limits, u64::MAX)?;
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
    source: &mut Source,
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
        let entries = source.entries(decider.reader.as_mut(), after, upto)?;
        let end = after + entries.len() as u64;
        if end == after || entries.last().is_none_or(|it| it.seq != end) {
            return Err(StoreError::Chain { seq: after + 1, what: "is missing".to_owned() });
        }
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

/// Where entries are read from that projections do not know: the archive, then the journal.
pub(crate) struct Source {
    store: Arc<dyn Store>,
    /// Up to which everything was archived.
    base: Chain,
    /// A place in the archive, kept so that what is before it is read once.
    past: Option<Past>,
}

impl Source {
    pub fn of(store: &Arc<dyn Store>) -> Result<Self, StoreError> {
        Ok(Self { store: store.clone(), base: store.reader()?.base()?, past: None })
    }

    /// Some of those after an entry, in order, and none beyond `upto`.
    fn entries(&mut self, reader: &mut dyn Reader, after: u64, upto: u64) -> Result<Vec<Entry>, StoreError> {
        let most = usize::try_from(upto - after).unwrap_or(CHUNK).min(CHUNK);
        if after >= self.base.seq {
            return reader.records(after, most)?.iter().map(Record::entry).collect();
        }
        let past = match self.past.take().filter(|it| it.at() == after) {
            Some(past) => past,
            None => self.store.archive()?.past(after, self.base)?,
        };
        self.past.insert(past).take(most).map(|it| it?.entry()).collect()
    }
}
