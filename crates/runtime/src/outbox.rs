//! Effects: work for programs outside, handed out until it is answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trackside_engine::Decision;
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command};
use trackside_engine::event::{Entry, Event};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_store::store::OpenEffectRow;

use crate::answer::{CommandAnswer, Failure};
use crate::failpoints::{Failpoint, is_enabled};
use crate::read::{ReadError, Reads};

/// Effects read at a time.
const CHUNK: usize = 500;

/// Hands out effects, each to one taker at a time, and submits their results.
///
/// Takers are not stored: after a restart every open effect is handed out again, and a taker takes it again
/// before it answers. So a taker must be able to repeat its work. An answered effect is never handed out
/// again.
#[derive(Clone, Debug)]
pub struct OutboxCourier {
    reads: Reads,
    /// The request id for submitted results.
    request: Option<Name>,
    /// The name under which a result counts once.
    key: Option<Name>,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    by_effect: BTreeMap<u64, Hold>,
}

impl Taken {
    /// The current hold on an effect, unless it has expired.
    fn current_hold(&self, id: u64, now: Timestamp) -> Option<&Hold> {
        self.by_effect.get(&id).filter(|it| it.is_current(now))
    }

    /// Why a result under this fence does not count, if it does not. A late answer counts if no other taker has taken
    /// the effect meanwhile.
    fn stale(&self, id: u64, fence: u64, actor: &Name, now: Timestamp) -> Option<OutboxError> {
        match self.by_effect.get(&id) {
            Some(hold) if hold.fence == fence && hold.taker == *actor => None,
            Some(hold) if hold.is_current(now) => {
                Some(OutboxError::Stale { id, taker: hold.taker.clone(), until: hold.until })
            }
            _ => Some(OutboxError::NotTaken { id, fence }),
        }
    }
}

#[derive(Clone, Debug)]
struct Hold {
    taker: Name,
    since: Timestamp,
    until: Timestamp,
    fence: u64,
}

impl Hold {
    /// Project time may have been moved back since.
    fn is_current(&self, now: Timestamp) -> bool {
        self.since <= now && now < self.until
    }
}

/// An open effect.
#[derive(Clone, Debug, PartialEq)]
pub struct OutboxEffect {
    pub id: u64,
    pub effect: Name,
    pub entity: EntityKey,
    /// Its arguments.
    pub with: Fields,
    /// The current taker.
    pub taken_by: Option<Name>,
    /// The fence of the current taker.
    pub fence: Option<u64>,
}

/// An effect that was handed out.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenEffect {
    pub id: u64,
    pub effect: Name,
    pub entity: EntityKey,
    /// Its arguments.
    pub with: Fields,
    /// Returned with the result. It grows with every hand-out, over restarts too, so that a late result is
    /// recognised.
    pub fence: u64,
    /// The time at which the effect is handed out again if there is no result.
    pub until: Timestamp,
}

/// Why an effect is not settled.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    #[error("there is no effect {0}")]
    Unknown(u64),
    #[error("effect {id} was handed to {taker} since, until {until}: take it again if it is still open then")]
    Stale { id: u64, taker: Name, until: Timestamp },
    #[error(
        "effect {id} was not handed out under {fence}: take it, and send the result with the fence that comes with it"
    )]
    NotTaken { id: u64, fence: u64 },
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl OutboxCourier {
    pub(crate) fn new(reads: Reads) -> Self {
        Self { reads, request: None, key: None, taken: Arc::default() }
    }

    /// This courier, for one request and its idempotency key.
    pub fn for_request(mut self, id: Option<Name>, key: Option<Name>) -> Self {
        (self.request, self.key) = (id, key);
        self
    }

    /// Effects that are not answered, the oldest first, of one kind or of all.
    pub fn open(&self, kind: Option<&Name>, after: u64, most: usize) -> Result<Vec<OutboxEffect>, ReadError> {
        let found = self.find(kind, after, most, |_| true)?;
        let mut shown = Vec::new();
        for OpenEffectRow { id, effect, entity } in found {
            let with = self.with(id)?.unwrap_or_default();
            let (taken_by, fence) = match self.holds().current_hold(id, self.reads.now()) {
                Some(hold) => (Some(hold.taker.clone()), Some(hold.fence)),
                None => (None, None),
            };
            shown.push(OutboxEffect { id, effect, entity, with, taken_by, fence });
        }
        Ok(shown)
    }

    /// The input of an effect.
    fn with(&self, id: u64) -> Result<Option<Fields>, ReadError> {
        Ok(match self.reads.entry(id)?.map(|it| it.event) {
            Some(Event::EffectRequested { with, .. }) => Some(with),
            _ => None,
        })
    }

    /// Hands out effects without a taker, the oldest first. A taker that does not answer in time loses them.
    pub fn take(
        &self,
        kind: Option<&Name>,
        taker: &Name,
        lasts: Span,
        most: usize,
    ) -> Result<Vec<TakenEffect>, ReadError> {
        self.take_of(kind, taker, lasts, most, &|_| true)
    }

    /// Like `take`, only for entities that the taker may access.
    pub fn take_of(
        &self,
        kind: Option<&Name>,
        taker: &Name,
        lasts: Span,
        most: usize,
        may: &dyn Fn(&EntityKey) -> bool,
    ) -> Result<Vec<TakenEffect>, ReadError> {
        let now = self.reads.now();
        let until = now.plus(lasts);
        // Held until they are given away, or two takers would find the same.
        let mut taken = self.holds();
        let found =
            self.find(kind, 0, most, |it| taken.current_hold(it.id, now).is_none() && may(&it.entity))?;
        let mut handed = Vec::new();
        for OpenEffectRow { id, effect, entity } in found {
            let Some(with) = self.with(id)? else { continue };
            let Some(fence) = self.reads.next_fence() else { return Err(uncounted().into()) };
            taken.by_effect.insert(id, Hold { taker: taker.clone(), since: now, until, fence });
            handed.push(TakenEffect { id, effect, entity, with, fence, until });
        }
        Ok(handed)
    }

    /// Submits a result. Only the last taker may answer, in time or late; an unknown fence is rejected.
    pub fn settle(
        &self,
        actor: Actor,
        id: u64,
        fence: u64,
        ok: bool,
        fields: Fields,
    ) -> Result<CommandAnswer, OutboxError> {
        let Some(Entry { entity, event: Event::EffectRequested { .. }, .. }) = self.reads.entry(id)? else {
            return Err(OutboxError::Unknown(id));
        };
        let stale = self.holds().stale(id, fence, &actor.id, self.reads.now());
        let mut command = Command::new(actor, Ask::EffectResult { entity, effect: id, ok, fields });
        command.request_id.clone_from(&self.request);
        command.idempotency_key.clone_from(&self.key);
        if let Some(stale) = stale {
            // An effect that is answered already is reported as answered.
            return match self
                .reads
                .gateway()
                .dry_run(command)
                .and_then(|it| it.wait())
                .map_err(ReadError::from)?
            {
                Decision::Replayed { first, entries, root } => {
                    Ok(CommandAnswer::Replayed { first, entries, root })
                }
                Decision::Refused(refusal) => Ok(CommandAnswer::Refused(refusal)),
                Decision::Accepted(_) => Err(stale),
            };
        }
        let answer = self.reads.gateway().ask(command).map_err(ReadError::from)?;
        self.holds().by_effect.remove(&id);
        Ok(answer)
    }

    fn holds(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Open effects in order: stored ones, overlaid with unflushed entries.
    fn find(
        &self,
        kind: Option<&Name>,
        mut after: u64,
        most: usize,
        wanted: impl Fn(&OpenEffectRow) -> bool,
    ) -> Result<Vec<OpenEffectRow>, ReadError> {
        let late = Late::of(&self.reads);
        let fits = |it: &OpenEffectRow| {
            kind.is_none_or(|kind| it.effect == *kind) && !late.is_closed(it) && wanted(it)
        };
        let mut opened: Vec<OpenEffectRow> =
            late.opened.iter().filter(|it| it.id > after && fits(it)).cloned().collect();
        let mut found: Vec<OpenEffectRow> = Vec::new();
        while found.len() < most {
            let page = self.reads.stored_effects(after, CHUNK)?;
            let Some(last) = page.last().map(|it| it.id) else { break };
            let all = page.len() < CHUNK;
            found.extend(page.into_iter().filter(&fits));
            after = last;
            if all {
                break;
            }
        }
        // Entries flushed meanwhile are in both.
        let known: BTreeSet<u64> = found.iter().map(|it| it.id).collect();
        opened.retain(|it| !known.contains(&it.id));
        found.extend(opened);
        found.sort_by_key(|it| it.id);
        found.truncate(most);
        Ok(found)
    }
}

/// The failure when fences are not known, so that no effect is handed out.
fn uncounted() -> Failure {
    Failure::Unavailable(
        "when the server started the journal could not be written, so it is not known which fences were given before: see to the disk, and start it again"
            .to_owned(),
    )
}

/// Recent answers to effects that the projections may not have.
#[derive(Default)]
struct Late {
    opened: Vec<OpenEffectRow>,
    settled: BTreeSet<u64>,
    /// Entities that were erased, and when.
    erased: BTreeMap<EntityKey, u64>,
}

impl Late {
    fn of(reads: &Reads) -> Self {
        let mut late = Self::default();
        reads.for_unwritten(|entry| match &entry.event {
            Event::EffectRequested { id, effect, .. } => {
                let (id, effect, entity) = (*id, effect.clone(), entry.entity.clone());
                late.opened.push(OpenEffectRow { id, effect, entity });
            }
            Event::EffectSettled { id, .. } => {
                late.settled.insert(*id);
            }
            Event::Erased { .. } => {
                late.erased.insert(entry.entity.clone(), entry.seq);
            }
            _ => {}
        });
        late
    }

    fn is_closed(&self, it: &OpenEffectRow) -> bool {
        if is_enabled(Failpoint::AnsweredEffectRepeated) {
            return false;
        }
        self.settled.contains(&it.id) || self.erased.get(&it.entity).is_some_and(|seq| *seq > it.id)
    }
}
