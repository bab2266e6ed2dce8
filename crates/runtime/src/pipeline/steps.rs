//! The steps of the workers, whoever drives them: each does one thing and returns.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use trackside_lifecycle::model::Pack;
use trackside_store::archive::Unwanted;
use trackside_store::{Chain, StoreError};

use super::committer::Committer;
use super::decider::Decider;
use super::flusher::{Dropping, Flusher};
use super::recovery::{Source, catch_up, recover};
use super::threads::Wiring;
use super::turn::Turn;
use crate::answer::Failure;
use crate::figures::Figures;
use crate::planted::{Bug, is_planted};
use crate::shared::{Part, Shared};
use crate::work::Work;

/// The workers as a store is opened.
#[derive(Debug)]
pub(crate) struct Workers {
    /// Knows everything that the journal holds.
    pub decider: Decider,
    /// What nobody has been told of yet.
    pub unpublished: Turn,
    pub committer: Committer,
    pub flusher: Flusher,
}

impl Workers {
    /// Opens them; `told` hears how far they have come with what must be caught up.
    pub fn open(
        shared: &Shared,
        wiring: &Wiring,
        told: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, StoreError> {
        let mut journal = shared.store().journal()?;
        let begun = journal.begin();
        let mut committer = Committer::new(journal)?;
        let mut flusher = Flusher::new(shared.store().projector()?, wiring.keys_last)?;
        catch_up(shared, &mut committer, &mut flusher, wiring.limits, told)?;
        let mut reader = shared.store().reader()?;
        let head = reader.head()?;
        let (clock, written, end) = (wiring.clock.clone(), flusher.written(), committer.end());
        let source = &mut Source::of(shared.store())?;
        let (mut decider, unpublished) =
            recover(shared.law(), reader, source, clock, wiring.limits, written, end)?;
        decider.resumed(wiring.clock.now());
        decider.sweep_every(wiring.sweep);
        shared.begin(head.chain.seq, written);
        // Where it cannot be noted nothing is handed out; all else goes on.
        if let Ok(begun) = begun {
            shared.fences.begin(begun);
        }
        shared.begin_with(decider.project().clone(), head.at);
        Ok(Self { decider, unpublished, committer, flusher })
    }
}

/// Decides what waits.
pub(crate) fn decide(shared: &Shared, decider: &mut Decider, work: &mut dyn Iterator<Item = Work>) -> Turn {
    decider.written(shared.written());
    let mut work = work.inspect(|_| Figures::add(&shared.figures.taken, 1));
    let turn = decider.turn(&mut work, &|| shared.is_idle());
    shared.set_trouble(Part::Timers, decider.trouble());
    shared.figures.forged.store(u64::from(decider.is_forged()), Ordering::Relaxed);
    shared.figures.cached.store(decider.cached() as u64, Ordering::Relaxed);
    let (values, keys) = decider.remembered();
    shared.figures.cached_values.store(values as u64, Ordering::Relaxed);
    shared.figures.cached_keys.store(keys as u64, Ordering::Relaxed);
    let (groups, timers, places) = decider.held_beside();
    shared.figures.cached_groups.store(groups as u64, Ordering::Relaxed);
    shared.figures.cached_timers.store(timers as u64, Ordering::Relaxed);
    shared.figures.cached_places.store(places as u64, Ordering::Relaxed);
    turn
}

/// A decider in place of one whose decisions were not committed, once the journal is open again and ends here.
pub(crate) fn reload(
    shared: &Shared,
    wiring: &Wiring,
    failed: &mut Decider,
    end: Chain,
) -> Result<(Decider, Turn), StoreError> {
    let mut reader = shared.store().reader()?;
    let kept = reader.definitions()?;
    let is_kept = |it: &Arc<Pack>| kept.iter().any(|row| row.pack == it.name && row.version == it.version);
    // A pack whose installation was not committed is not in force; where it was after all, everybody is told.
    let installed = failed.law().packs().all(is_kept);
    let law = if installed { failed.law().clone() } else { shared.law() };
    let (clock, known) = (wiring.clock.clone(), shared.committed());
    let (mut decider, mut turn) =
        recover(law.clone(), reader, &mut Source::of(shared.store())?, clock, wiring.limits, known, end)?;
    turn.law = Some(law);
    decider.sweep_every(wiring.sweep);
    decider.succeed(failed);
    Ok((decider, turn))
}

/// Writes what waits, after the journal has dropped what it holds of entities that were erased.
pub(crate) fn write_behind(
    shared: &Shared,
    flusher: &mut Flusher,
    drop_payloads: &mut dyn FnMut(Vec<u64>) -> Result<u64, StoreError>,
) -> Result<(), StoreError> {
    if !flusher.to_drop().is_empty() {
        if !is_planted(Bug::ErasedKept) {
            drop_everywhere(shared, flusher.to_drop(), drop_payloads)?;
        }
        flusher.dropped();
    }
    let upto = flusher.flush()?;
    // Whoever waits for something to be gone is told when it is; what is written counts all the same.
    let scrubbed = flusher.scrub();
    shared.caught_up(upto);
    scrubbed?;
    shared.set_trouble(Part::Projections, None);
    Figures::add(&shared.figures.flushes, 1);
    Ok(())
}

/// Drops payloads from the journal and from what was archived of it.
fn drop_everywhere(
    shared: &Shared,
    dropping: &[Dropping],
    drop_payloads: &mut dyn FnMut(Vec<u64>) -> Result<u64, StoreError>,
) -> Result<(), StoreError> {
    let mut unwanted = Unwanted::default();
    for one in dropping {
        match one {
            Dropping::AllBefore(entity, erased) => {
                let before = shared.read(|it| crate::trail::before(it, entity, *erased))?;
                unwanted.seqs.extend(before.seqs);
                if before.archived {
                    unwanted.entities.insert(entity.clone(), *erased);
                }
            }
            Dropping::These(_) if is_planted(Bug::RedactedKept) => {}
            Dropping::These(seqs) => unwanted.seqs.extend(seqs),
        }
    }
    // What is being archived is in no file that could be found, and would keep what it should not.
    let _alone = shared.archiving.lock().unwrap_or_else(PoisonError::into_inner);
    // Where archiving was broken off, an entry is in both.
    drop_payloads(unwanted.seqs.iter().copied().collect())?;
    shared.store().drop_archived(&unwanted)?;
    Ok(())
}

/// Tells somebody that it cannot be done now.
pub(crate) fn turn_away(shared: &Shared, work: Work, why: &Failure) {
    Figures::add(&shared.figures.taken, 1);
    match work {
        Work::Command(_, reply, _) => reply(Err(why.clone())),
        Work::Atomic(_, reply, _) => reply(Err(why.clone())),
        Work::Look(_, done) => done(Err(why.clone())),
        Work::Advance(_, ticket) => {
            ticket.send(Err(why.clone())).ok();
        }
        Work::Law(_, _, _, ticket) => {
            ticket.send(Err(why.clone())).ok();
        }
        Work::Sweep(ticket, _) => {
            ticket.send(Err(why.clone())).ok();
        }
        Work::Stop => {}
    }
}
