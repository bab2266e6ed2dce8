//! Effects: work for programs outside, handed out until it is answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command};
use trackside_engine::event::{Entry, Event};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::{Decision, Law};
use trackside_lifecycle::model::Effect;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;
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
    /// When the current taker loses it.
    pub until: Option<Timestamp>,
    /// When it was requested.
    pub since: Option<Timestamp>,
    /// The effect of its queue that has to be answered first, and its entity.
    pub behind: Option<(u64, EntityKey)>,
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
        let mut queues = Queues::default();
        if after > 0 && self.has_queues(kind) {
            // Those before the page can be ahead of those in it.
            let before = self.find(kind, 0, usize::MAX, |it| it.id <= after)?;
            before.iter().try_for_each(|it| queues.place(self, it).map(drop))?;
        }
        let found = self.find(kind, after, most, |_| true)?;
        found.into_iter().map(|it| self.show(it, &mut queues)).collect()
    }

    /// Effects of an entity that are not answered, the oldest first.
    pub fn open_of(&self, entity: &EntityKey) -> Result<Vec<OutboxEffect>, ReadError> {
        let queued = self.has_queues(None);
        let found = self.find(None, 0, usize::MAX, |it| queued || it.entity == *entity)?;
        let mut queues = Queues::default();
        let mut shown = Vec::new();
        for it in found {
            if it.entity == *entity {
                shown.push(self.show(it, &mut queues)?);
            } else {
                queues.place(self, &it)?;
            }
        }
        Ok(shown)
    }

    fn show(&self, it: OpenEffectRow, queues: &mut Queues) -> Result<OutboxEffect, ReadError> {
        let behind = queues.place(self, &it)?;
        let requested = self.requested(it.id)?;
        let hold = self.holds().current_hold(it.id, self.reads.now()).cloned();
        let (since, with) = match requested {
            Some((since, with)) => (Some(since), with),
            None => (None, Fields::default()),
        };
        Ok(OutboxEffect {
            id: it.id,
            effect: it.effect,
            entity: it.entity,
            with,
            fence: hold.as_ref().map(|it| it.fence),
            until: hold.as_ref().map(|it| it.until),
            taken_by: hold.map(|it| it.taker),
            since,
            behind,
        })
    }

    /// When an effect was requested, and its arguments.
    fn requested(&self, id: u64) -> Result<Option<(Timestamp, Fields)>, ReadError> {
        Ok(self.reads.entry(id)?.and_then(|it| match it.event {
            Event::EffectRequested { with, .. } => Some((it.at, with)),
            _ => None,
        }))
    }

    /// Whether effects of a kind are handed out one at a time.
    fn has_queues(&self, kind: Option<&Name>) -> bool {
        let is_queued = |it: &Effect| !it.queue.is_empty() && kind.is_none_or(|kind| it.name == *kind);
        newest_effects(&self.reads.law()).any(is_queued)
    }

    /// Fails untaken effects whose `while` is false.
    fn withdraw_unwanted(&self, kind: Option<&Name>) -> Result<(), ReadError> {
        let law = self.reads.law();
        let conditional: BTreeSet<Name> = newest_effects(&law)
            .filter(|it| it.while_true.is_some() && kind.is_none_or(|kind| it.name == *kind))
            .map(|it| it.name.clone())
            .collect();
        for name in conditional {
            for it in self.find(Some(&name), 0, CHUNK, |_| true)? {
                let Some((_, with)) = self.requested(it.id)? else { continue };
                if self.holds().current_hold(it.id, self.reads.now()).is_none()
                    && !self.reads.is_effect_wanted(&it.entity, &name, &with)?
                {
                    // With its arguments, so that the rules know which request it was.
                    let mut fields = with;
                    fields.put(&Name::new("detail"), Value::text("It is not wanted any more"));
                    let ask = Ask::EffectResult { entity: it.entity, effect: it.id, ok: false, fields };
                    // Refused if it was answered meanwhile.
                    self.reads.gateway().ask(Command::new(Actor::engine(), ask)).map_err(ReadError::from)?;
                }
            }
        }
        Ok(())
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
        self.withdraw_unwanted(kind)?;
        let now = self.reads.now();
        let until = now.plus(lasts);
        // Held until they are given away, or two takers would find the same.
        let mut taken = self.holds();
        let queued = self.has_queues(kind);
        let is_free =
            |taken: &Taken, it: &OpenEffectRow| taken.current_hold(it.id, now).is_none() && may(&it.entity);
        // Those that are taken or hidden hold back the others of their queue.
        let mut found = match queued {
            true => self.find(kind, 0, usize::MAX, |_| true)?,
            false => self.find(kind, 0, most, |it| is_free(&taken, it))?,
        };
        if queued {
            let mut queues = Queues::default();
            let mut heads = Vec::new();
            for it in found {
                if heads.len() < most && queues.place(self, &it)?.is_none() && is_free(&taken, &it) {
                    heads.push(it);
                }
            }
            found = heads;
        }
        let mut handed = Vec::new();
        for OpenEffectRow { id, effect, entity } in found {
            let Some((_, with)) = self.requested(id)? else { continue };
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

/// The effects of every lifecycle, as its newest version declares them.
fn newest_effects(law: &Law) -> impl Iterator<Item = &Effect> {
    law.lifecycle_names().iter().filter_map(|it| law.newest(it)).flat_map(|it| &it.effects)
}

/// The first open effect of each queue. Effects are placed in their order.
#[derive(Default)]
struct Queues {
    heads: BTreeMap<(Name, String), (u64, EntityKey)>,
}

impl Queues {
    /// Places an effect in its queue. Returns the one at its head, if that is another.
    fn place(
        &mut self,
        courier: &OutboxCourier,
        it: &OpenEffectRow,
    ) -> Result<Option<(u64, EntityKey)>, ReadError> {
        let law = courier.reads.law();
        let declared = law.newest(&it.entity.lifecycle).and_then(|life| life.effect(&it.effect));
        let Some(members) = declared.map(|it| &it.queue).filter(|it| !it.is_empty()) else { return Ok(None) };
        let Some((_, with)) = courier.requested(it.id)? else { return Ok(None) };
        let values: Vec<_> = members.iter().map(|it| with.value(it).to_json()).collect();
        let key = (it.effect.clone(), serde_json::Value::from(values).to_string());
        match self.heads.get(&key) {
            Some(head) => Ok(Some(head.clone())),
            None => {
                self.heads.insert(key, (it.id, it.entity.clone()));
                Ok(None)
            }
        }
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
