//! The steps of the workers, for threads and for the simulation: each does one thing and returns.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use trackside_lifecycle::model::Pack;
use trackside_store::archive::PayloadDrops;
use trackside_store::store::RowHealing;
use trackside_store::{Chain, StoreError};

use super::committer::Committer;
use super::decided_batch::DecidedBatch;
use super::decider::Decider;
use super::flusher::{Dropping, Flusher};
use super::recovery::{Source, catch_up, flush_until, recover};
use super::threads::Wiring;
use crate::answer::Failure;
use crate::failpoints::{Failpoint, is_enabled};
use crate::figures::Figures;
use crate::memory::CacheSizes;
use crate::shared::{ProblemSource, Shared};
use crate::work::Work;

/// The workers as a store is opened.
#[derive(Debug)]
pub(crate) struct Workers {
    /// A decider that is up to date with the journal.
    pub decider: Decider,
    /// Entries that are not published yet.
    pub unpublished: DecidedBatch,
    pub committer: Committer,
    pub flusher: Flusher,
}

impl Workers {
    /// Opens them; `progress` gets the progress of catching up. Damaged projections are rebuilt.
    pub fn open(
        shared: &Shared,
        wiring: &Wiring,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, StoreError> {
        let error = match Self::open_as_stored(shared, wiring, progress) {
            Err(error) if error.is_state_damage() || matches!(error, StoreError::DamagedRow { .. }) => error,
            opened => return opened,
        };
        let base = shared.store().reader()?.base()?;
        if shared.store().archive()?.check_complete(base).is_err() {
            return Err(error);
        }
        shared.store().projector()?.clear()?;
        Self::open_as_stored(shared, wiring, progress)
    }

    fn open_as_stored(
        shared: &Shared,
        wiring: &Wiring,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, StoreError> {
        let mut journal = shared.store().journal()?;
        let begun = journal.begin();
        let mut committer = Committer::new(journal, shared.salts.clone())?;
        let mut flusher = Flusher::new(shared.store().projector()?, wiring.keys_last)?;
        catch_up(shared, &mut committer, &mut flusher, wiring.limits, progress)?;
        let mut reader = shared.store().reader()?;
        let head = reader.head()?;
        let (clock, written, end) = (wiring.clock.clone(), flusher.last_flushed(), committer.end());
        let source = &mut Source::of(shared.store())?;
        let (mut decider, unpublished) =
            recover(shared.law(), reader, source, clock, wiring.limits, written, end)?;
        decider.grant_lease_grace(wiring.clock.now());
        decider.sweep_every(wiring.sweep);
        shared.begin(head.chain.seq, written);
        // If it cannot be recorded, no effect is handed out; everything else works.
        if let Ok(begun) = begun {
            shared.fences.begin(begun);
        }
        shared.begin_with(decider.project().clone(), head.at);
        Ok(Self { decider, unpublished, committer, flusher })
    }
}

/// Writes the projections up to the end of the journal, and decides nothing: no timer fires.
pub(crate) fn write_projections(
    shared: &Shared,
    wiring: &Wiring,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), StoreError> {
    let mut committer = Committer::new(shared.store().journal()?, shared.salts.clone())?;
    let mut flusher = Flusher::new(shared.store().projector()?, wiring.keys_last)?;
    flush_until(shared, &mut committer, &mut flusher, wiring.limits, 0, progress)
}

/// Decides the waiting requests. `callers_wait` returns whether more of them wait: then background work stops early.
pub(crate) fn decide(
    shared: &Shared,
    decider: &mut Decider,
    work: &mut dyn Iterator<Item = Work>,
    callers_wait: &dyn Fn() -> bool,
) -> DecidedBatch {
    decider.flushed(shared.last_flushed());
    for error in shared.take_damage() {
        decider.meet_damage(&error);
    }
    decider.set_pressure(shared.space.pressure());
    decider.damage.healed(shared.heals());
    let mut work = work.inspect(|_| Figures::add(&shared.figures.taken, 1));
    let batch = decider.step(&mut work, &|| shared.is_idle(), callers_wait);
    if let Some(healing) = decider.damage.take_healing()
        && !is_enabled(Failpoint::RowNotHealed)
    {
        shared.request_healing(healing);
    }
    shared.set_problem(ProblemSource::Timers, decider.problem());
    shared.set_clock_alarm(decider.clock_alarm());
    shared.set_problem(ProblemSource::Damage, decider.damage());
    shared.figures.forged.store(u64::from(decider.is_forged()), Ordering::Relaxed);
    let CacheSizes { entities, groups, values, keys, places, bytes } = decider.sizes();
    let figures = &shared.figures;
    let sizes = [
        (&figures.cached, entities),
        (&figures.cached_values, values),
        (&figures.cached_keys, keys),
        (&figures.cached_groups, groups),
        (&figures.cached_timers, decider.near_timers()),
        (&figures.cached_places, places),
        (&figures.cached_bytes, bytes),
    ];
    sizes.into_iter().for_each(|(figure, size)| figure.store(size as u64, Ordering::Relaxed));
    batch
}

/// A decider to replace one whose decisions were not committed, after the journal was opened again.
pub(crate) fn reload(
    shared: &Shared,
    wiring: &Wiring,
    failed: &mut Decider,
    end: Chain,
) -> Result<(Decider, DecidedBatch), StoreError> {
    let mut reader = shared.store().reader()?;
    let kept = reader.definitions()?;
    let is_kept = |it: &Arc<Pack>| kept.iter().any(|row| row.pack == it.name && row.version == it.version);
    // A pack whose installation was not committed is not in force. If it was committed after all, the law
    // is published again.
    let installed = failed.law().packs().all(is_kept);
    let law = if installed { failed.law().clone() } else { shared.law() };
    let (clock, known) = (wiring.clock.clone(), shared.last_committed());
    let (mut decider, mut batch) =
        recover(law.clone(), reader, &mut Source::of(shared.store())?, clock, wiring.limits, known, end)?;
    batch.content.law = Some(law);
    decider.sweep_every(wiring.sweep);
    decider.succeed(failed);
    Ok((decider, batch))
}

/// Flushes the waiting entries, after the journal has dropped the payloads of erased entities.
pub(crate) fn write_behind(
    shared: &Shared,
    flusher: &mut Flusher,
    drop_payloads: &mut dyn FnMut(Vec<u64>) -> Result<u64, StoreError>,
) -> Result<(), StoreError> {
    if !flusher.to_drop().is_empty() {
        if !is_enabled(Failpoint::ErasedKept) {
            drop_everywhere(shared, flusher.to_drop(), drop_payloads)?;
        }
        flusher.mark_dropped();
    }
    let upto = match flusher.flush() {
        // A row that an index does not have.
        Err(error) if error.is_state_damage() => {
            flusher.heal_rows(&RowHealing { indexes: true, ..RowHealing::default() })?;
            flusher.flush()?
        }
        flushed => flushed?,
    };
    // The scrub error is returned after the flushed position is published.
    let scrubbed = flusher.scrub();
    shared.caught_up(upto);
    scrubbed?;
    shared.set_problem(ProblemSource::Projections, None);
    Figures::add(&shared.figures.flushes, 1);
    Ok(())
}

/// Drops payloads from the journal and from its archive files.
fn drop_everywhere(
    shared: &Shared,
    dropping: &[Dropping],
    drop_payloads: &mut dyn FnMut(Vec<u64>) -> Result<u64, StoreError>,
) -> Result<(), StoreError> {
    let mut unwanted = PayloadDrops::default();
    for one in dropping {
        match one {
            Dropping::AllBefore(entity, erased) => {
                let before =
                    shared.read(|it| crate::entity_records::payload_seqs_before(it, entity, *erased))?;
                unwanted.seqs.extend(before.seqs);
                if before.archived {
                    unwanted.entities.insert(entity.clone(), *erased);
                }
                let file = unwanted.files.entry(entity.clone()).or_default();
                file.before = file.before.max(*erased);
            }
            Dropping::These(..) if is_enabled(Failpoint::RedactedKept) => {}
            Dropping::These(entity, seqs) => {
                unwanted.seqs.extend(seqs);
                unwanted.files.entry(entity.clone()).or_default().seqs.extend(seqs);
            }
        }
    }
    // A file that is being written cannot be found yet and would keep the payload.
    let _alone = shared.archiving.lock().unwrap_or_else(PoisonError::into_inner);
    let _still = shared.storing.lock().unwrap_or_else(PoisonError::into_inner);
    // After an interrupted archiving, an entry is in both the journal and the archive.
    drop_payloads(unwanted.seqs.iter().copied().collect())?;
    shared.store().drop_archived(&unwanted)?;
    Ok(())
}

/// Rejects work that cannot be done now.
pub(crate) fn turn_away(shared: &Shared, work: Work, why: &Failure) {
    Figures::add(&shared.figures.taken, 1);
    match work {
        Work::Command(_, reply, _) => reply(Err(why.clone())),
        Work::Atomic(_, reply, _) => reply(Err(why.clone())),
        Work::Trial(_, reply) => reply(Err(why.clone())),
        Work::Look(_, done) => done(Err(why.clone())),
        Work::Advance(_, responder) => drop(responder.send(Err(why.clone()))),
        Work::Law(_, _, _, responder) => drop(responder.send(Err(why.clone()))),
        Work::CorrectClock(_, _, _, responder) => drop(responder.send(Err(why.clone()))),
        Work::Sweep(responder, _) => drop(responder.send(Err(why.clone()))),
        Work::Stop => {}
    }
}
