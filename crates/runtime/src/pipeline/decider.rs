//! Decides commands against what is in memory, and brings into memory what they need.

use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Install, Plant};
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::present::Seen;
use trackside_engine::refusal::{Refusal, Stage};
use trackside_engine::view::{Need, Project};
use trackside_engine::{Decision, Law, View, apply, decide};
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_store::project::Was;
use trackside_store::{Definition, Reader, Store, StoreError};

use super::committer::Touched;
use super::sweep::Sweep;
use super::tail::Tail;
use super::timers::Timers;
use super::turn::{Before, Turn};
use crate::answer::{Accepted, Answer, Batch, Failure, Outcome, Verdict};
use crate::by::By;
use crate::clock::Clock;
use crate::planted::{Bug, is_planted};
use crate::work::{Ticket, Work};

/// How often a decision may ask for more before it is turned down.
pub(super) const ROUNDS: u32 = 512;
/// Most timers that one turn fires, so that callers are heard in between.
const DUE: usize = 512;
/// So many commands are worth a commit of their own, if nothing else is being committed.
const WORTH_IT: usize = 32;
/// A server that was away for longer than this was away for its callers too.
const GAP: Span = Span(10_000);

/// What is kept in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Most entities.
    pub entities: usize,
    /// Most groups.
    pub groups: usize,
    /// Most timers.
    pub timers: usize,
    /// Most values that no two may share.
    pub sames: usize,
    /// Most idempotency keys.
    pub keys: usize,
    /// Most entries that are decided and not in the projections, before timers and the sweep wait.
    pub behind: u64,
}

/// A move of the manual clock that is under way.
struct Advance {
    to: Timestamp,
    ticket: Ticket<Timestamp>,
}

pub(crate) struct Decider {
    pub(super) law: Arc<Law>,
    pub(super) view: View,
    pub(super) reader: Box<dyn Reader>,
    /// For what was archived.
    pub(super) store: Arc<dyn Store>,
    pub(super) tail: Tail,
    pub(super) timers: Timers,
    clock: Clock,
    pub(super) limits: Limits,
    /// The time of the last decision; it never goes back.
    pub(super) now: Timestamp,
    /// When it last looked at the clock.
    looked: Timestamp,
    pub(super) written: u64,
    /// How much was left in memory when something was last let go of.
    pub(super) kept: [usize; 5],
    advance: Option<Advance>,
    pub(super) sweep: Sweep,
    /// Groups that were kept wrongly: they are loaded again once an entry is written.
    pub(super) stale: Vec<(u64, GroupKey)>,
    /// Why timers wait, if the store could not be read for them.
    unread: Option<String>,
    /// The sweep met entries that are not what was written.
    pub(super) forged: bool,
    stopped: bool,
    pub(super) turn: Turn,
}

impl std::fmt::Debug for Decider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Decider at {}", self.view.seq)
    }
}

impl Decider {
    pub fn new(
        law: Arc<Law>,
        view: View,
        store: Arc<dyn Store>,
        reader: Box<dyn Reader>,
        clock: Clock,
        limits: Limits,
        last: Timestamp,
    ) -> Self {
        let now = clock.now().max(last);
        let written = view.seq;
        Self {
            law,
            view,
            reader,
            store,
            tail: Tail::default(),
            timers: Timers::new(limits.timers),
            clock,
            limits,
            now,
            looked: now,
            written,
            kept: [0; 5],
            advance: None,
            sweep: Sweep::default(),
            stale: Vec::new(),
            unread: None,
            forged: false,
            stopped: false,
            turn: Turn::default(),
        }
    }

    /// Goes on in place of one whose decisions were not committed: with its sense of time, and with what somebody waits
    /// for, a move of the clock or a sweep.
    pub fn succeed(&mut self, failed: &mut Self) {
        self.looked = failed.looked;
        self.view.resumed_at = failed.view.resumed_at;
        self.forged |= failed.forged;
        self.advance = failed.advance.take();
        for (ticket, depth) in failed.sweep.take_asked() {
            self.sweep.ask(ticket, depth);
        }
    }

    /// Looks at every entity this often, from now on.
    pub fn sweep_every(&mut self, every: Option<Span>) {
        self.sweep = Sweep::every(every, self.now);
    }

    pub fn law(&self) -> &Arc<Law> {
        &self.law
    }

    /// The time of the last decision.
    #[cfg(feature = "simulation")]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The entry up to which it takes projections for written.
    #[cfg(feature = "simulation")]
    pub fn knows_written(&self) -> u64 {
        self.written
    }

    pub fn project(&self) -> &Project {
        &self.view.project
    }

    pub fn cached(&self) -> usize {
        self.view.len()
    }

    /// How many groups are in memory, how many timers, and how many stand in orders.
    pub fn held_beside(&self) -> (usize, usize, usize) {
        (self.view.groups(), self.timers.near(), self.view.rankings.places())
    }

    /// How many values that no two may share are in memory, and how many keys.
    pub fn remembered(&self) -> (usize, usize) {
        self.view.remembered()
    }

    /// Whether it is moving the manual clock and must be turned again.
    pub fn is_advancing(&self) -> bool {
        self.advance.is_some()
    }

    /// Where the manual clock is going.
    #[cfg(feature = "simulation")]
    pub fn advancing_to(&self) -> Option<Timestamp> {
        self.advance.as_ref().map(|it| it.to)
    }

    /// Whether it was told that nothing more will come.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// When it must be turned again, whatever else comes.
    pub fn next_due(&self) -> Option<Timestamp> {
        match (self.timers.next(), self.sweep.next()) {
            (Some(timer), Some(sweep)) => Some(timer.min(sweep)),
            (timer, sweep) => timer.or(sweep),
        }
    }

    /// What goes wrong with timers: why they wait, or which were set aside.
    pub fn trouble(&self) -> Option<String> {
        match &self.unread {
            Some(why) => Some(format!("timers wait: {why}")),
            None => self.timers.trouble(),
        }
    }

    /// Whether the sweep met entries of the journal that are not what was written.
    pub fn is_forged(&self) -> bool {
        self.forged
    }

    /// Whether there is work that cannot be gone on with now: it is tried again after a while.
    pub fn is_waiting(&self) -> bool {
        self.unread.is_some() || self.is_behind()
    }

    /// Whether so much is not in the projections that nothing is added to it but what callers ask for, who are sent away
    /// in time.
    fn is_behind(&self) -> bool {
        self.view.seq.saturating_sub(self.written) > self.limits.behind
    }

    /// Whether there is work left that nobody waits for.
    pub fn is_sweeping(&self) -> bool {
        self.sweep.is_under_way()
    }

    /// Fires what is due, then decides what is asked. `work` is only taken while the clock is not being moved.
    /// It ends early when there is enough for a commit and `is_awaited` says that the committer has nothing to do.
    pub fn turn(&mut self, work: &mut dyn Iterator<Item = Work>, is_awaited: &dyn Fn() -> bool) -> Turn {
        // Nothing is let go of during a turn, so all of it may see the store as it is now.
        self.reader.hold();
        self.look_at_the_clock();
        self.fire_due();
        if self.advance.is_none() {
            for work in work {
                self.take(work);
                if self.advance.is_some() || self.stopped {
                    self.fire_due();
                    break;
                }
                if self.turn.commands >= WORTH_IT && is_awaited() {
                    break;
                }
            }
        }
        if !self.is_behind() {
            self.sweep.begin(self.now);
            self.sweep_on();
        }
        self.reader.release();
        self.finish()
    }

    fn look_at_the_clock(&mut self) {
        let now = self.clock.now();
        if !self.clock.is_manual() && now.since(self.looked) > GAP {
            self.resumed(now);
        }
        self.looked = now;
        self.now = if is_planted(Bug::TimeGoesBack) { now } else { self.now.max(now) };
    }

    /// The server was away until now: whoever held something gets a full period to come back.
    pub fn resumed(&mut self, now: Timestamp) {
        if is_planted(Bug::NoGrace) {
            return;
        }
        self.view.resumed_at = Some(now);
    }

    /// Fires timers in due order: by the machine's clock as late as it is, by the manual one each at its moment.
    fn fire_due(&mut self) {
        self.unread = None;
        let target = self.advance.as_ref().map_or(self.now, |it| it.to);
        for _ in 0..DUE {
            if self.is_behind() {
                return;
            }
            let due = match self.timers.due(target, &self.view, &self.tail, self.reader.as_mut()) {
                Ok(Some(due)) => due,
                Ok(None) => {
                    self.arrive();
                    return;
                }
                // The store cannot be read now: timers wait, none is lost.
                Err(error) => {
                    self.unread = Some(error.to_string());
                    return;
                }
            };
            self.now = self.now.max(due.due);
            let late = self.now.since(due.due);
            let actor = Actor::new("trackside", ActorKind::Timeout);
            let ask = Ask::Due { entity: due.entity.clone(), timer: due.timer.clone() };
            match self.decide(&Command::new(actor, ask)) {
                Ok(Decision::Accepted(accepted)) => {
                    self.record(accepted.entries);
                    self.turn.commands += 1;
                    self.turn.told.fired.push(late);
                }
                Ok(_) => self.timers.drop(&due),
                // One whose record makes no sense keeps nobody else waiting.
                Err(error @ (StoreError::Damaged { .. } | StoreError::Unreadable { .. })) => {
                    if !self.mend_unreadable(&due.entity, &error) {
                        self.timers.set_aside(due, error.to_string());
                    }
                }
                Err(error) => {
                    self.unread = Some(error.to_string());
                    return;
                }
            }
        }
    }

    /// The manual clock is where it was to go, if it was going anywhere.
    fn arrive(&mut self) {
        let Some(to) = self.advance.as_ref().map(|it| it.to) else { return };
        self.now = self.now.max(to);
        self.sweep.begin(to);
        if self.sweep.is_under_way() {
            return;
        }
        let Some(Advance { ticket, .. }) = self.advance.take() else { return };
        self.clock.set(to);
        self.turn.sayings.push(Box::new(move |committed| {
            ticket.send(committed.map(|()| to)).ok();
        }));
    }

    fn take(&mut self, work: Work) {
        match work {
            Work::Command(command, reply, wish) => {
                if let Some(stages) = &wish.stages {
                    stages.is_taken();
                }
                let mut outcome = self.answer(&command);
                if let Some(stages) = &wish.stages {
                    stages.is_decided();
                }
                match &mut outcome {
                    Ok(Answer::Refused(refusal)) => self.refused(&command, refusal.code),
                    Ok(answer) => {
                        self.turn.told.outcomes.note(answer);
                        if let (true, Answer::Accepted(accepted)) = (wish.shown, answer) {
                            accepted.seen = self.seen(accepted.entity.as_deref(), &command.actor);
                        }
                    }
                    Err(_) => self.turn.told.outcomes.failed += 1,
                }
                self.turn.sayings.push(Box::new(move |committed| reply(committed.and(outcome))));
            }
            Work::Atomic(commands, reply, stages) => {
                let outcome = self.all_or_none(&commands, &stages);
                match &outcome {
                    Ok(Batch::Refused(verdicts)) => {
                        for (command, verdict) in commands.iter().zip(verdicts) {
                            if let Verdict::Refused(refusal) = verdict {
                                self.refused(command, refusal.code);
                            }
                        }
                    }
                    Ok(Batch::Done(answers)) => {
                        answers.iter().for_each(|it| self.turn.told.outcomes.note(it))
                    }
                    Err(_) => self.turn.told.outcomes.failed += commands.len(),
                }
                self.turn.sayings.push(Box::new(move |committed| reply(committed.and(outcome))));
            }
            Work::Look(mut question, done) => {
                let seen = self.ask_until_answered(&mut question);
                self.turn.sayings.push(Box::new(move |committed| done(seen.and(committed))));
            }
            Work::Advance(to, ticket) => {
                if to <= self.now {
                    let now = self.now;
                    self.say(ticket, Ok(now));
                } else {
                    self.advance = Some(Advance { to, ticket });
                }
            }
            Work::Stop => self.stopped = true,
            Work::Sweep(ticket, depth) => self.sweep.ask(ticket, depth),
            Work::Law(law, definitions, by, ticket) => {
                if !is_planted(Bug::OldVersionStays) || self.law.packs().next().is_none() {
                    self.law = law.clone();
                }
                self.turn.law = Some(law);
                let outcome = self.install(&definitions, &by);
                self.turn.definitions.extend(definitions);
                self.say(ticket, outcome);
            }
        }
    }

    /// How somebody sees an entity, if all that takes is in memory: nobody waits here for what is only shown.
    fn seen(&self, entity: Option<&Entity>, actor: &Actor) -> Option<Seen> {
        self.view.missed();
        let seen = Seen::by(&self.law, &self.view, entity?, actor, self.now);
        self.view.missed().is_empty().then_some(seen)
    }

    /// Notes what somebody was refused.
    fn refused(&mut self, command: &Command, code: &'static str) {
        let known = command.lifecycle().filter(|it| self.law.newest(it).is_some());
        self.turn.told.refused.push((known.cloned(), code));
    }

    pub(super) fn say<T: Send + 'static>(&mut self, ticket: Ticket<T>, outcome: Result<T, Failure>) {
        self.turn.sayings.push(Box::new(move |committed| {
            ticket.send(committed.and(outcome)).ok();
        }));
    }

    pub(super) fn answer(&mut self, command: &Command) -> Outcome {
        self.turn.commands += 1;
        match self.decide(command).map_err(unavailable)? {
            Decision::Accepted(accepted) => Ok(self.carry_out(accepted)),
            Decision::Refused(refusal) => {
                if let Some(kept) = &refusal.kept {
                    self.record(vec![Entry::clone(kept)]);
                }
                Ok(Answer::Refused(refusal))
            }
            Decision::Replayed { first, entries, root } => Ok(Answer::Replayed { first, entries, root }),
            Decision::Needs(_) => Ok(Answer::Refused(Box::new(too_wide()))),
        }
    }

    /// Records what was decided, for whoever asked for it.
    pub(super) fn carry_out(&mut self, decided: trackside_engine::Accepted) -> Answer {
        let trackside_engine::Accepted { entries, root, ignored } = decided;
        let entries = self.record(entries);
        let entity = entries.get(root).and_then(|it| self.view.image(&it.entity));
        Answer::Accepted(Accepted {
            entries,
            root,
            ignored,
            entity,
            seen: None,
            seals: self.turn.seals.clone(),
        })
    }

    fn ask_until_answered(&mut self, question: &mut crate::work::Question) -> Result<(), Failure> {
        for _ in 0..ROUNDS {
            self.view.missed();
            question(&self.law, &self.view, self.now);
            let needs = self.view.missed();
            if needs.is_empty() {
                return Ok(());
            }
            for need in needs {
                self.load(need).map_err(unavailable)?;
            }
        }
        Err(Failure::Overloaded("the question needs too much"))
    }

    /// Notes which packs are in force, and lets their single entities be.
    fn install(&mut self, definitions: &[Definition], by: &By) -> Result<(), Failure> {
        for Definition { pack, version, digest, .. } in definitions {
            let install =
                Install { pack: pack.clone(), version: *version, digest: Arc::from(digest.as_str()) };
            self.answer(&by.command(Ask::Install(install)))?;
        }
        self.found()
    }

    /// Creates the single entity of every lifecycle that has one.
    pub fn found(&mut self) -> Result<(), Failure> {
        for name in self.law.lifecycle_names().to_vec() {
            let Some(life) = self.law.newest(&name).filter(|it| it.one) else { continue };
            let key = EntityKey { lifecycle: name.clone(), id: life.kind.clone() };
            self.load(Need::Entity(key.clone())).map_err(unavailable)?;
            if self.view.get(&key).is_none() {
                let actor = Actor::new("trackside", ActorKind::System);
                self.answer(&Command::new(actor, Ask::Plant(Plant::new(key))))?;
            }
        }
        Ok(())
    }

    /// What the turn has come to, once.
    pub fn finish(&mut self) -> Turn {
        let mut turn = std::mem::take(&mut self.turn);
        let mut seen: std::collections::HashSet<&EntityKey, foldhash::fast::FixedState> = Default::default();
        for entry in turn.entries.iter().flat_map(|it| it.iter()) {
            match entry.event {
                Event::ProjectChanged { .. } => {
                    turn.project = Some(self.view.project.clone());
                    self.sweep.begin_soon();
                }
                Event::PackInstalled { .. } => self.sweep.begin_soon(),
                _ => {}
            }
            if seen.insert(&entry.entity)
                && let Some(entity) = self.view.image(&entry.entity)
            {
                let life = self.law.definition(&entry.entity.lifecycle, entity.definition).cloned();
                turn.touched.push(Touched { entity, life });
            }
        }
        self.view.forget_absent();
        turn
    }

    /// Decides, loading what is missing.
    pub(super) fn decide(&mut self, command: &Command) -> Result<Decision, StoreError> {
        self.fetch(command)?;
        for _ in 0..ROUNDS {
            match decide(&self.law, &self.view, command, self.now) {
                Decision::Needs(needs) if !needs.is_empty() => {
                    for need in needs {
                        self.load(need)?;
                    }
                }
                decision => return Ok(decision),
            }
        }
        Ok(Decision::Needs(Vec::new()))
    }

    /// Makes what was decided part of the view and of the turn.
    pub(super) fn record(&mut self, entries: Vec<Entry>) -> Arc<Vec<Entry>> {
        let entries = Arc::new(entries);
        // First, so that whoever is born by one of them knows whom the others have made refer to it.
        self.tail.push(entries.clone());
        for entry in entries.iter() {
            self.follow(entry);
        }
        if is_planted(Bug::KeyLetGo) {
            let keys = entries.iter().filter_map(|it| it.key.as_ref());
            keys.for_each(|it| self.view.forget_key(&it.by, &it.key));
        }
        self.turn.entries.push(entries.clone());
        entries
    }

    /// Applies one entry, with what is kept beside the view.
    fn follow(&mut self, entry: &Entry) {
        let before = self.view.get(&entry.entity);
        let was = before.filter(|_| entry.event.changes().is_some()).map(Was::of);
        self.turn.befores.push(Before {
            prev: if is_planted(Bug::NoTrail) { 0 } else { before.map_or(0, |it| it.seq) },
            was,
        });
        if let Some(same) = entry.event.changes().and_then(|it| it.same.as_ref()) {
            let freed = before.and_then(|it| it.same.as_ref());
            for value in freed.into_iter().chain(same.value()) {
                self.tail.same(entry.seq, &entry.entity.lifecycle, value);
            }
        }
        let born = before.is_none();
        self.timers.before(before, entry);
        if !is_planted(Bug::MigrationUnseen) || !matches!(entry.event, Event::Migrated { .. }) {
            apply(&mut self.view, entry);
        } else {
            self.view.seq = entry.seq;
        }
        self.timers.after(self.view.get(&entry.entity), entry);
        if born {
            self.welcome(&entry.entity);
        }
    }

    /// Takes over an entry that is in the journal already.
    pub(super) fn take_over(&mut self, entry: Entry) -> Result<(), StoreError> {
        self.load(Need::Entity(entry.entity.clone()))?;
        self.record(vec![entry]);
        Ok(())
    }
}

pub(super) fn unavailable(error: StoreError) -> Failure {
    Failure::Unavailable(error.to_string())
}

/// A command that would need most of the store.
pub(super) fn too_wide() -> Refusal {
    let message = format!("The command needs more than {ROUNDS} rounds of look-ups. Ask for less at once.");
    Refusal::one(Stage::Follow, "too-many-moves", message)
}
