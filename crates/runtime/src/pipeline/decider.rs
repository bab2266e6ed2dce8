//! The worker that decides commands.

use std::sync::Arc;

use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command, Install, Seed};
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_engine::present::EntityFacts;
use trackside_engine::refusal::{Code, Refusal};
use trackside_engine::view::{Need, Project};
use trackside_engine::{Decision, Law, View, decide};
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_store::projection_builder::StateBefore;
use trackside_store::{Definition, Reader, Store, StoreError};

use super::committer::ChangedEntity;
use super::damage::Damage;
use super::decided_batch::{DecidedBatch, PriorState};
use super::project_alerts::ProjectAlerts;
use super::sweep::Sweep;
use super::time::{DecisionTime, LoopGap};
use super::timers::Timers;
use crate::answer::{AcceptedCommand, BatchAnswer, BatchVerdict, CommandAnswer, Failure, SubmitResult};
use crate::clock::ProjectClock;
use crate::failpoints::{Failpoint, is_enabled};
use crate::memory::{CacheSizes, DeciderMemory, Limits, LoadError, ROUNDS};
use crate::requester::Requester;
use crate::space::SpacePressure;
use crate::steering::ClockAlarm;
use crate::work::{ClockTarget, Responder, Work};

/// Most timers that one step fires, so that callers are served in between.
const DUE: usize = 512;
/// The number of commands that justify a commit of their own while the committer is idle.
const WORTH_IT: usize = 32;
/// Decides commands one after the other, and fires timers that become due between them.
pub(crate) struct Decider {
    pub(super) memory: DeciderMemory,
    pub(super) timers: Timers,
    pub(super) sweep: Sweep,
    pub(super) damage: Damage,
    pub(super) time: DecisionTime,
    /// The open alerts of the project.
    pub(super) alerts: ProjectAlerts,
    /// Why there is an alert about space, if there has to be one.
    pub(super) pressure: Option<SpacePressure>,
    /// Decided and not handed to the committer yet.
    pub(super) batch: DecidedBatch,
    stopped: bool,
}

impl std::fmt::Debug for Decider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Decider at {}", self.memory.view.seq)
    }
}

impl Decider {
    pub fn new(
        law: Arc<Law>,
        view: View,
        store: Arc<dyn Store>,
        reader: Box<dyn Reader>,
        clock: ProjectClock,
        limits: Limits,
        last: Timestamp,
    ) -> Self {
        Self {
            memory: DeciderMemory::new(law, view, reader, limits),
            timers: Timers::new(limits.timers),
            sweep: Sweep::new(store),
            damage: Damage::default(),
            time: DecisionTime::new(clock, last),
            alerts: ProjectAlerts::default(),
            pressure: None,
            batch: DecidedBatch::default(),
            stopped: false,
        }
    }

    /// Takes over from a decider whose decisions were not committed: its time, and the callers that wait
    /// for a move of the clock or for a sweep.
    pub fn succeed(&mut self, failed: &mut Self) {
        self.memory.view.resumed_at = failed.memory.view.resumed_at;
        self.memory.view.pauses = failed.memory.view.pauses.clone();
        self.damage = std::mem::take(&mut failed.damage);
        self.time.succeed(&mut failed.time);
        self.sweep.succeed(&mut failed.sweep);
    }

    /// Says whether there has to be an alert about space.
    pub fn set_pressure(&mut self, pressure: Option<SpacePressure>) {
        self.pressure = pressure;
    }

    /// Sweeps this often, from now on.
    pub fn sweep_every(&mut self, every: Option<Span>) {
        self.sweep.set_interval(every, self.time.now());
    }

    pub fn law(&self) -> &Arc<Law> {
        &self.memory.law
    }

    /// The time of the last decision.
    pub fn now(&self) -> Timestamp {
        self.time.now()
    }

    /// The entry up to which it takes projections for written.
    #[cfg(feature = "simulation")]
    pub fn knows_written(&self) -> u64 {
        self.memory.source.flushed
    }

    pub fn project(&self) -> &Project {
        &self.memory.view.project
    }

    /// The number of items in memory.
    pub fn sizes(&self) -> CacheSizes {
        self.memory.sizes()
    }

    /// The number of timers in memory.
    pub fn near_timers(&self) -> usize {
        self.timers.count_in_memory()
    }

    /// Projections are written up to an entry.
    pub fn flushed(&mut self, upto: u64) {
        self.memory.flushed(upto);
    }

    /// Whether it is moving the manual clock and needs another step.
    pub fn is_advancing(&self) -> bool {
        self.time.advancing_to().is_some()
    }

    /// The target time of the manual clock.
    #[cfg(feature = "simulation")]
    pub fn advancing_to(&self) -> Option<Timestamp> {
        self.time.advancing_to()
    }

    /// Whether no more work will come.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The time at which it must run again even without new work.
    pub fn next_due(&self) -> Option<Timestamp> {
        match (self.timers.next(), self.sweep.next()) {
            (Some(timer), Some(sweep)) => Some(timer.min(sweep)),
            (timer, sweep) => timer.or(sweep),
        }
    }

    /// Why timers wait, or which were set aside.
    pub fn problem(&self) -> Option<String> {
        self.timers.problem()
    }

    /// Why project time does not follow the machine's clock, if it does not.
    pub fn clock_alarm(&self) -> Option<ClockAlarm> {
        self.time.alarm()
    }

    /// Damaged rows that could not be rebuilt yet.
    pub fn damage(&self) -> Option<String> {
        self.damage.problem()
    }

    /// Repairs what a read found damaged.
    pub fn meet_damage(&mut self, error: &StoreError) {
        match error {
            StoreError::DamagedRow { entity, .. } => {
                self.mend_unreadable(entity, error);
            }
            other => self.damage.meet(other),
        }
    }

    /// Whether the sweep found journal entries that were altered.
    pub fn is_forged(&self) -> bool {
        self.sweep.is_forged()
    }

    /// Whether work is blocked now and must be retried after a while.
    pub fn is_waiting(&self) -> bool {
        self.timers.is_waiting() || self.memory.is_behind()
    }

    /// Whether background work is left.
    pub fn is_sweeping(&self) -> bool {
        self.sweep.is_under_way()
    }

    /// Fires due timers, then decides commands. `work` is only taken while the clock is not being moved. It ends
    /// early when there is enough for a commit and `is_awaited` says that the committer has nothing to do. The sweep ends
    /// early when `callers_wait`.
    pub fn step(
        &mut self,
        work: &mut dyn Iterator<Item = Work>,
        is_awaited: &dyn Fn() -> bool,
        callers_wait: &dyn Fn() -> bool,
    ) -> DecidedBatch {
        // Nothing is evicted during a batch, so one snapshot of the store serves all of it.
        self.memory.reader().begin_snapshot();
        match self.time.read() {
            Some(LoopGap::Away(now)) => self.grant_lease_grace(now),
            Some(LoopGap::Paused(now, length)) if !is_enabled(Failpoint::PauseCounted) => {
                self.memory.view.pauses.add(now, length);
            }
            _ => {}
        }
        self.record_project_news();
        self.fire_due();
        if !self.is_advancing() {
            for work in work {
                self.take(work);
                if self.is_advancing() || self.stopped {
                    self.fire_due();
                    break;
                }
                if self.batch.content.commands >= WORTH_IT && is_awaited() {
                    break;
                }
            }
        }
        if self.damage.takes_comparison() {
            self.sweep.compare_all();
        }
        self.damage.request_rebuild(self.sweep.store.as_ref());
        if !self.memory.is_behind() {
            self.sweep.begin(self.time.now());
            self.sweep_on(callers_wait);
        }
        self.memory.reader().end_snapshot();
        self.finish()
    }

    /// The server was away until now: lease holders get a full period to come back.
    pub fn grant_lease_grace(&mut self, now: Timestamp) {
        if is_enabled(Failpoint::NoGrace) {
            return;
        }
        self.memory.view.resumed_at = Some(now);
        self.memory.view.pauses.clear();
    }

    /// Fires timers in due order: by the machine's clock as late as it is, by the manual one each at its moment.
    fn fire_due(&mut self) {
        self.timers.set_waiting(None);
        let target = self.time.advancing_to().unwrap_or(self.time.now());
        for _ in 0..DUE {
            if self.memory.is_behind() {
                return;
            }
            let due = match self.timers.due(target, &mut self.memory) {
                Ok(Some(due)) => due,
                Ok(None) => {
                    self.arrive();
                    return;
                }
                // The store cannot be read now: timers wait, and none is lost.
                Err(error) => {
                    self.damage.meet(&error);
                    self.timers.set_waiting(Some(error.to_string()));
                    return;
                }
            };
            self.time.move_to(due.due);
            let late = self.time.now().since(due.due);
            let actor = Actor::timer();
            let ask = Ask::Due { entity: due.entity.clone(), timer: due.timer.clone() };
            match self.decide(&Command::new(actor, ask)) {
                Ok(Decision::Accepted(accepted)) => {
                    self.record(accepted.entries);
                    self.batch.content.commands += 1;
                    self.batch.content.counts.fired.push(late);
                }
                Ok(_) => self.timers.drop(&due),
                // A damaged record must not block other timers.
                Err(
                    error @ (StoreError::Damaged { .. }
                    | StoreError::DamagedRow { .. }
                    | StoreError::Chain { .. }
                    | StoreError::Unreadable { .. }),
                ) => {
                    if !self.mend_unreadable(&due.entity, &error) {
                        self.timers.set_aside(due, error.to_string());
                    }
                }
                Err(error) => {
                    self.timers.set_waiting(Some(error.to_string()));
                    return;
                }
            }
        }
    }

    /// The manual clock is where it was to go, if it was going anywhere.
    fn arrive(&mut self) {
        let Some(to) = self.time.advancing_to() else { return };
        self.time.move_to(to);
        self.sweep.begin(to);
        if self.sweep.is_under_way() {
            return;
        }
        let Some(responder) = self.time.arrive() else { return };
        self.batch.replies.push(Box::new(move |committed| {
            responder.send(committed.map(|()| to)).ok();
        }));
    }

    fn take(&mut self, work: Work) {
        match work {
            Work::Command(command, reply, options) => {
                if let Some(stages) = &options.stages {
                    stages.mark_taken();
                }
                let mut outcome = self.answer(&command);
                if let Some(stages) = &options.stages {
                    stages.mark_decided();
                }
                match &mut outcome {
                    Ok(CommandAnswer::Refused(refusal)) => self.count_refusal(&command, refusal.code),
                    Ok(answer) => {
                        self.batch.content.counts.outcomes.note(answer);
                        if let (true, CommandAnswer::Accepted(accepted)) = (options.with_entity_view, answer)
                        {
                            accepted.facts = self.facts(accepted.entity.as_deref(), &command.actor);
                        }
                    }
                    Err(_) => self.batch.content.counts.outcomes.failed += 1,
                }
                self.batch.replies.push(Box::new(move |committed| reply(committed.and(outcome))));
            }
            Work::Atomic(commands, reply, stages) => {
                let outcome = self.all_or_none(&commands, &stages);
                match &outcome {
                    Ok(BatchAnswer::Refused(verdicts)) => {
                        for (command, verdict) in commands.iter().zip(verdicts) {
                            if let BatchVerdict::Refused(refusal) = verdict {
                                self.count_refusal(command, refusal.code);
                            }
                        }
                    }
                    Ok(BatchAnswer::Done(answers)) => {
                        answers.iter().for_each(|it| self.batch.content.counts.outcomes.note(it))
                    }
                    Err(_) => self.batch.content.counts.outcomes.failed += commands.len(),
                }
                self.batch.replies.push(Box::new(move |committed| reply(committed.and(outcome))));
            }
            Work::Trial(commands, reply) => {
                let outcome = self.try_commands(&commands, &[]);
                self.batch.replies.push(Box::new(move |committed| reply(committed.and(outcome))));
            }
            Work::Look(mut question, done) => {
                let now = self.time.now();
                let seen = loop {
                    match self.memory.answer(|law, view| question(law, view, now)) {
                        Err(LoadError::Store(error)) if self.heals(&error) => {}
                        Err(LoadError::Store(error)) => break Err(unavailable(error)),
                        Err(LoadError::TooManyRounds) => {
                            break Err(Failure::Overloaded("the question needs too much"));
                        }
                        Ok(()) => break Ok(()),
                    }
                };
                self.batch.replies.push(Box::new(move |committed| done(seen.and(committed))));
            }
            Work::Advance(target, responder) => {
                let now = self.time.now();
                let to = match target {
                    ClockTarget::To(to) => to,
                    ClockTarget::By(span) => now.plus(span),
                };
                if to <= now {
                    self.say(responder, Ok(now));
                } else {
                    self.time.advance(to, responder);
                }
            }
            Work::CorrectClock(direction, by, reason, responder) => {
                let outcome = self.correct_clock(direction, &by, reason.as_deref());
                self.say(responder, outcome);
            }
            Work::Stop => self.stopped = true,
            Work::Sweep(responder, depth) => self.sweep.ask(responder, depth),
            Work::Law(law, definitions, by, responder) => {
                if !is_enabled(Failpoint::OldVersionStays) || self.memory.law.packs().next().is_none() {
                    self.memory.law = law.clone();
                }
                self.batch.content.law = Some(law);
                let outcome = self.install(&definitions, &by);
                self.batch.definitions.extend(definitions);
                self.say(responder, outcome);
            }
        }
    }

    /// The entity as an actor sees it, if all of its data is in memory: showing it must not block the
    /// decider.
    fn facts(&self, entity: Option<&Entity>, actor: &Actor) -> Option<EntityFacts> {
        EntityFacts::derive(&self.memory.law, &self.memory.view, entity?, actor, self.time.now()).ok()
    }

    /// Counts a refusal.
    fn count_refusal(&mut self, command: &Command, code: Code) {
        let known = command.lifecycle().filter(|it| self.memory.law.newest(it).is_some());
        self.batch.content.counts.refused.push((known.cloned(), code));
    }

    pub(super) fn say<T: Send + 'static>(&mut self, responder: Responder<T>, outcome: Result<T, Failure>) {
        self.batch.replies.push(Box::new(move |committed| {
            responder.send(committed.and(outcome)).ok();
        }));
    }

    pub(super) fn answer(&mut self, command: &Command) -> SubmitResult {
        self.batch.content.commands += 1;
        match self.decide(command).map_err(unavailable)? {
            Decision::Accepted(accepted) => Ok(self.carry_out(accepted)),
            Decision::Refused(refusal) => {
                if let Some(kept) = &refusal.kept {
                    self.record(vec![Entry::clone(kept)]);
                }
                Ok(CommandAnswer::Refused(refusal))
            }
            Decision::Replayed { first, entries, root } => {
                Ok(CommandAnswer::Replayed { first, entries, root })
            }
        }
    }

    /// Records decided entries and returns the answer for the caller.
    pub(super) fn carry_out(&mut self, decided: trackside_engine::Accepted) -> CommandAnswer {
        let trackside_engine::Accepted { entries, root, ignored } = decided;
        let entries = self.record(entries);
        let entity = entries.get(root).and_then(|it| self.memory.view.image(&it.entity));
        CommandAnswer::Accepted(AcceptedCommand {
            entries,
            root,
            ignored,
            entity,
            facts: None,
            seals: self.batch.content.seals.clone(),
        })
    }

    /// Notes which packs are in force, and lets their single entities be.
    fn install(&mut self, definitions: &[Definition], by: &Requester) -> Result<(), Failure> {
        for Definition { pack, version, digest, .. } in definitions {
            let install =
                Install { pack: pack.clone(), version: *version, digest: Arc::from(digest.as_str()) };
            self.answer(&by.command(Ask::Install(install)))?;
        }
        self.create_singletons()
    }

    /// Creates the single entity of every lifecycle that has one.
    pub fn create_singletons(&mut self) -> Result<(), Failure> {
        for name in self.memory.law.lifecycle_names().to_vec() {
            let Some(life) = self.memory.law.newest(&name).filter(|it| it.one) else { continue };
            let key = EntityKey { lifecycle: name.clone(), id: life.kind.clone() };
            while let Err(error) = self.memory.load(Need::Entity(key.clone())) {
                if !self.heals(&error) {
                    return Err(unavailable(error));
                }
            }
            if self.memory.view.get(&key).is_none() {
                let actor = Actor::engine();
                self.answer(&Command::new(actor, Ask::Seed(Seed::new(key))))?;
            }
        }
        Ok(())
    }

    /// Takes the batch that this step decided.
    pub fn finish(&mut self) -> DecidedBatch {
        let mut batch = std::mem::take(&mut self.batch);
        let mut seen: std::collections::HashSet<&EntityKey, foldhash::fast::FixedState> = Default::default();
        for entry in batch.content.entries.iter().flat_map(|it| it.iter()) {
            match entry.event {
                Event::ProjectChanged { .. } => {
                    batch.content.project = Some(self.memory.view.project.clone());
                    self.sweep.begin_soon();
                }
                Event::PackInstalled { .. } => self.sweep.begin_soon(),
                _ => {}
            }
            if seen.insert(&entry.entity)
                && let Some(entity) = self.memory.view.image(&entry.entity)
            {
                let life = self.memory.law.definition(&entry.entity.lifecycle, entity.definition).cloned();
                batch.content.changed_entities.push(ChangedEntity { entity, life });
            }
        }
        self.memory.view.forget_absent();
        batch
    }

    /// Decides, loading missing data.
    pub(super) fn decide(&mut self, command: &Command) -> Result<Decision, StoreError> {
        let now = self.time.now();
        loop {
            let loaded = self.memory.prefetch(command);
            let decided = loaded.and_then(|()| {
                refuse_too_large(self.memory.answer(|law, view| decide(law, view, command, now)))
            });
            match decided {
                Err(error) if self.heals(&error) => {}
                decided => return decided,
            }
        }
    }

    /// Rebuilds a damaged row before anything is decided on it. False if the error is another one, or the row cannot
    /// be rebuilt.
    pub(super) fn heals(&mut self, error: &StoreError) -> bool {
        match error {
            StoreError::DamagedRow { entity, .. } => self.mend_unreadable(entity, error),
            other => {
                self.damage.meet(other);
                false
            }
        }
    }

    /// Adds decided entries to the view and to the batch.
    pub(super) fn record(&mut self, entries: Vec<Entry>) -> Arc<Vec<Entry>> {
        let entries = Arc::new(entries);
        // First, so that an entity created by one of them knows which others refer to it.
        self.memory.source.unflushed.push(entries.clone());
        for entry in entries.iter() {
            self.follow(entry);
        }
        if is_enabled(Failpoint::KeyEvictedEarly) {
            let keys = entries.iter().filter_map(|it| it.key.as_ref());
            keys.for_each(|it| self.memory.view.forget_key(&it.by, &it.key));
        }
        self.batch.content.entries.push(entries.clone());
        entries
    }

    /// Applies one entry to the memory and the timers.
    fn follow(&mut self, entry: &Entry) {
        let before = self.memory.view.get(&entry.entity);
        let was = before.filter(|_| entry.event.changes().is_some()).map(StateBefore::of);
        self.batch.content.prior_states.push(PriorState {
            prev: if is_enabled(Failpoint::PreviousRecordMissing) {
                0
            } else {
                before.map_or(0, |it| it.seq)
            },
            was,
        });
        self.timers.remove_changed(before, entry);
        self.alerts.follow(entry);
        self.memory.apply(entry);
        self.timers.after(self.memory.view.get(&entry.entity), entry);
    }

    /// Takes over an entry that is in the journal already.
    pub(super) fn take_over(&mut self, entry: Entry, prev: u64) -> Result<(), StoreError> {
        match self.memory.load(Need::Entity(entry.entity.clone())) {
            // Its rows are written again with this entry.
            Err(StoreError::DamagedRow { entity, what }) => {
                let found = if entity == entry.entity { self.as_journalled_at(&entity, prev)? } else { None };
                match found {
                    Some(rebuilt) => self.memory.view.load(rebuilt),
                    None => return Err(StoreError::DamagedRow { entity, what }),
                }
            }
            loaded => loaded?,
        }
        self.record(vec![entry]);
        Ok(())
    }
}

pub(super) fn unavailable(error: StoreError) -> Failure {
    Failure::Unavailable(error.to_string())
}

/// A command that needs most of the store is refused.
pub(super) fn refuse_too_large(answer: Result<Decision, LoadError>) -> Result<Decision, StoreError> {
    match answer {
        Ok(decision) => Ok(decision),
        Err(LoadError::Store(error)) => Err(error),
        Err(LoadError::TooManyRounds) => {
            let message =
                format!("The command needs more than {ROUNDS} rounds of look-ups. Ask for less at once.");
            Ok(Decision::Refused(Box::new(Refusal::one(Code::TooManyMoves, message))))
        }
    }
}
