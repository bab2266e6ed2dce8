//! The expected behaviour: one world in memory that gets the same requests in the same order.

use std::collections::BTreeSet;
use std::sync::Arc;

use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, ClockNews, Command, Install, Seed};
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_engine::view::{Found, Lookup, Needs, Pauses, Project};
use trackside_engine::world::World;
use trackside_engine::{Decision, apply, decide};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;
use trackside_runtime::simulation::Packs;
use trackside_runtime::{AcceptedCommand, BatchAnswer, BatchVerdict, CommandAnswer};
use trackside_store::projection_builder::RECORD;
use trackside_store::{Chain, Definition, Record};

use crate::broken::BrokenPromise;
use crate::callers::{CallerRequest, CallerResponse};
use crate::effects::Effects;
use crate::leases::Leases;

/// Most timers that one step fires.
const DUE: usize = 512;

/// A step as it looks from outside.
#[derive(Clone, Debug)]
pub(crate) struct ObservedStep {
    /// The time of the clock.
    pub clock: Timestamp,
    /// The time at which the server last came back.
    pub resumed_at: Option<Timestamp>,
    /// Shorter pauses of its loop since then.
    pub pauses: Pauses,
    /// The time of day of a machine whose clock jumped.
    pub jumped_to: Option<Timestamp>,
    /// Whether the machine's clock agrees long enough to end the alert.
    pub agreed: bool,
    pub requests: Vec<Arc<CallerRequest>>,
    /// A read failed: work that needed it may have been left undone.
    pub read_failed: bool,
    pub entries: usize,
    /// Whether each caller got a failure; empty if none was answered.
    pub failed: Vec<bool>,
    /// The time after it, and whether the manual clock is still moving.
    pub now: Timestamp,
    pub advancing: bool,
    /// A caller waits for a sweep: the clock arrives when it is done.
    pub sweeping: bool,
    /// Beyond this entry, the projections are so far behind that timers wait.
    pub most: u64,
}

/// The expected state, and the progress of the comparison.
#[derive(Debug)]
pub(crate) struct ReferenceModel {
    pub world: World,
    chain: Chain,
    /// Timers that had no effect and do not come up again.
    dropped: BTreeSet<(Timestamp, EntityKey, Name)>,
    advance: Option<Timestamp>,
    keys_last: Span,
    leases: Leases,
    effects: Effects,
    pub timers: usize,
    /// The open alert about the clock, and the number of such alerts so far.
    clock_alert: Option<u64>,
    pub clock_alerts: usize,
    /// The answer to the present wish may be one or another.
    unsure: bool,
    /// Whether the sweep runs, by schedule or on request.
    sweeps: bool,
    /// Entities whose stored rows were damaged and rebuilt.
    pub repairs: usize,
    /// Whether rows may be damaged now.
    pub rotten: bool,
}

/// The entries of a step that are not explained yet.
struct StepEntries<'a> {
    left: &'a [Entry],
    read_failed: bool,
    /// Whether a read failed in the step at all: then rows may have been rebuilt.
    read_failed_ever: bool,
    /// Whether entities were rebuilt in this step.
    has_repairs: bool,
    advancing: bool,
    sweeping: bool,
    most: u64,
}

impl StepEntries<'_> {
    /// Takes the expected entries if they come next. Returns whether they do.
    fn takes(&mut self, expected: &[Entry]) -> bool {
        match self.left.split_at_checked(expected.len()) {
            Some((first, rest)) if first == expected => {
                self.left = rest;
                true
            }
            _ => false,
        }
    }
}

impl ReferenceModel {
    pub fn new(now: Timestamp, keys_last: Span, sweeps: bool) -> Self {
        // A world without definitions creates no entities.
        let world = World::new(Arc::default(), Project::default(), now);
        Self {
            world,
            chain: Chain::default(),
            dropped: BTreeSet::new(),
            advance: None,
            keys_last,
            leases: Leases::default(),
            effects: Effects::default(),
            timers: 0,
            clock_alert: None,
            clock_alerts: 0,
            unsure: false,
            sweeps,
            repairs: 0,
            rotten: false,
        }
    }

    /// The last entry that is committed.
    pub fn seq(&self) -> u64 {
        self.chain.seq
    }

    /// Memory was dropped: data that is only there starts over.
    pub fn began_again(&mut self, clock: Timestamp, advance: Option<Timestamp>) {
        self.dropped.clear();
        let last = self.world.journal.last().map_or(Timestamp(i64::MIN), |it| it.at);
        self.world.now = clock.max(last);
        self.advance = advance;
    }

    /// A step was committed. Returns the expected answers; none if it could not be done.
    pub fn follow(
        &mut self,
        decider_step: &ObservedStep,
        records: &[Record],
    ) -> Result<Vec<Option<CallerResponse>>, BrokenPromise> {
        let entries = self.read_chain(decider_step, records)?;
        let ObservedStep { read_failed, advancing, sweeping, most, .. } = *decider_step;
        let read_failed_ever = read_failed;
        let is_repair =
            |it: &Entry| matches!(&it.event, Event::ViolationFound { rule, .. } if *rule == *RECORD);
        let has_repairs = entries.iter().any(is_repair);
        let left = entries.as_slice();
        let mut written =
            StepEntries { left, read_failed, read_failed_ever, has_repairs, advancing, sweeping, most };
        self.world.now = self.world.now.max(decider_step.clock);
        self.world.view.resumed_at = decider_step.resumed_at;
        self.world.view.pauses = decider_step.pauses.clone();
        self.take_repairs(&mut written);
        self.take_clock_news(decider_step, &mut written)?;
        if self.advance.is_some() && !decider_step.requests.is_empty() {
            // No request is taken while the clock moves, so the clock has arrived.
            (written.read_failed, written.advancing) = (self.rotten, false);
        }
        self.fire_due(&mut written)?;
        if self.rotten
            && !decider_step.requests.is_empty()
            && let Some(to) = self.advance.take()
        {
            // Without the timers that were set aside.
            self.world.now = self.world.now.max(to);
        }
        (written.read_failed, written.advancing) = (read_failed, advancing);
        let fired = written.left.len() < entries.len();
        let mut said = Vec::new();
        for (n, content) in decider_step.requests.iter().enumerate() {
            let failed = decider_step.failed.get(n).copied();
            if failed == Some(true) && !decider_step.read_failed {
                return Err(BrokenPromise::new("what can be done is done", content.describe()));
            }
            // A pack is in force even if its single entities could not be founded.
            if failed == Some(true) && !matches!(**content, CallerRequest::Install(_)) {
                said.push(None);
                continue;
            }
            // Timers that could not be read may have fired only when the clock was moved, later in this
            // step: commands without entries may have been answered before them.
            let moves = |it: &Arc<CallerRequest>| matches!(**it, CallerRequest::Advance(_));
            let early =
                decider_step.read_failed && fired && decider_step.requests.iter().skip(n + 1).any(moves);
            let left = written.left.len();
            written.read_failed = decider_step.read_failed && (early || failed != Some(false));
            let answer = self.expect(content, &mut written)?;
            let untold = early && written.left.len() == left;
            said.push(match std::mem::take(&mut self.unsure) || untold {
                true => Some(CallerResponse::Unsure),
                false => answer,
            });
            written.read_failed = decider_step.read_failed;
            if self.advance.is_some() {
                self.fire_due(&mut written)?;
            }
            if self.rotten
                && n + 1 < decider_step.requests.len()
                && let Some(to) = self.advance.take()
            {
                self.world.now = self.world.now.max(to);
            }
        }
        if decider_step.read_failed {
            // The exact time of the clock is not known here: it stopped at a timer that could not be read,
            // or at its target.
            self.world.now = self.world.now.max(decider_step.now);
        }
        // The sweep comes last, so its findings are of that time.
        loop {
            self.take_repairs(&mut written);
            if self.take_place(&mut written) {
                continue;
            }
            if !self.sweeps || written.left.is_empty() || !self.take_sweep(&mut written) {
                break;
            }
        }
        if let Some(entry) = written.left.first() {
            return Err(BrokenPromise::new(
                "everything in the journal was asked for, or due",
                format!("{entry:?}"),
            ));
        }
        if self.rotten && !decider_step.advancing {
            // Timers that need damaged rows were set aside.
            self.advance = None;
            self.world.now = self.world.now.max(decider_step.now);
        }
        if decider_step.advancing != self.advance.is_some() {
            return Err(BrokenPromise::new("the clock arrives", format!("{decider_step:?}")));
        }
        if self.world.now != decider_step.now {
            let what = format!("it is {}, and should be {}", decider_step.now, self.world.now);
            return Err(BrokenPromise::new("project time follows elapsed time", what));
        }
        Ok(said)
    }

    /// A jump of the machine's clock is journalled, and its end.
    fn take_clock_news(
        &mut self,
        decider_step: &ObservedStep,
        written: &mut StepEntries<'_>,
    ) -> Result<(), BrokenPromise> {
        let news = match (decider_step.jumped_to, self.clock_alert) {
            (Some(machine), None) => ClockNews::Alarm { machine },
            (None, Some(alert)) if decider_step.agreed => ClockNews::Agrees { alert },
            _ => return Ok(()),
        };
        let command = Command::new(Actor::engine(), Ask::Clock(news));
        let Ok(Decision::Accepted(expected)) =
            decide(&self.world.law, &self.world.view, &command, self.world.now)
        else {
            return Err(BrokenPromise::new("a jump of the clock is journalled", format!("{news:?}")));
        };
        // A partial view leaves rankings as they are.
        let mut entries = expected.entries;
        entries.iter_mut().for_each(|it| it.reranked.clear());
        if !written.takes(&entries) {
            let what = format!("{entries:?}; the journal has {:?}", written.left.first());
            return Err(BrokenPromise::new("a jump of the clock is journalled", what));
        }
        self.take(&entries);
        self.clock_alert = match news {
            ClockNews::Alarm { .. } => entries.first().map(|it| it.seq),
            _ => None,
        };
        self.clock_alerts += usize::from(self.clock_alert.is_some());
        Ok(())
    }

    /// Whether the next entries are the sweep's findings for an entity.
    fn take_sweep(&mut self, written: &mut StepEntries<'_>) -> bool {
        // Usually the first entry is about that entity.
        let first = written.left.first().map(|it| it.entity.clone());
        let all = self.world.view.entities().into_iter().map(|it| it.key.clone()).collect::<Vec<_>>();
        for entity in first.into_iter().chain(all) {
            let command = Command::new(Actor::engine(), Ask::Inspect { entity });
            if let Ok(Decision::Accepted(found)) =
                decide(&self.world.law, &self.world.view, &command, self.world.now)
                && !found.entries.is_empty()
                && written.takes(&found.entries)
            {
                self.take(&found.entries);
                return true;
            }
        }
        false
    }

    /// Checks that the records of a step continue the chain.
    fn read_chain(
        &mut self,
        decider_step: &ObservedStep,
        records: &[Record],
    ) -> Result<Vec<Entry>, BrokenPromise> {
        let broken = |what| Err(BrokenPromise::new("a commit is there as a whole, in its place", what));
        if records.len() != decider_step.entries {
            return broken(format!("{} of {} entries", records.len(), decider_step.entries));
        }
        let mut last: std::collections::BTreeMap<EntityKey, u64> = Default::default();
        let mut entries = Vec::new();
        for record in records {
            if let Err(why) = self.chain.follow(record) {
                return broken(why.to_string());
            }
            let entry = match record.entry() {
                Ok(entry) => entry,
                Err(why) => return broken(why.to_string()),
            };
            let known = self.world.view.get(&entry.entity).map_or(0, |it| it.seq);
            let prev = last.get(&entry.entity).copied().unwrap_or(known);
            if record.prev != prev {
                return broken(format!("entry {} leads back to {}, not to {prev}", record.seq, record.prev));
            }
            if entry.entity != *trackside_engine::project::project_key() {
                last.insert(entry.entity.clone(), entry.seq);
            }
            // After a gap a lease may be in its grace already when it is renewed.
            match self.leases.follow(&entry) {
                Err(_) if entry.condition.as_deref() == Some("resumed") => {}
                outcome => outcome?,
            }
            self.effects.follow(&entry)?;
            entries.push(entry);
        }
        Ok(entries)
    }

    /// Takes the rebuilds of damaged rows that come next. A rebuild changes no entity.
    fn take_repairs(&mut self, written: &mut StepEntries<'_>) {
        while written.read_failed_ever
            && let Some(first) = written.left.first()
            && let Event::ViolationFound { rule, evidence, .. } = &first.event
            && *rule == *RECORD
            && let Some(found) = evidence.get("found").and_then(Value::as_str)
        {
            // What a reader met is repaired before the step reads the clock.
            let last = self.world.journal.last().map_or(Timestamp(i64::MIN), |it| it.at);
            let at = first.at;
            if at < last || at > self.world.now {
                return;
            }
            let (entity, ghost_places) = (first.entity.clone(), Vec::new());
            let ask = Ask::Repair { entity, found: Arc::from(found), ghost_places };
            let command = Command::new(Actor::engine(), ask);
            match decide(&self.world.law, &self.world.view, &command, at) {
                Ok(Decision::Accepted(expected)) if written.takes(&expected.entries) => {
                    self.repairs += 1;
                    self.take(&expected.entries);
                }
                _ => return,
            }
        }
    }

    /// Takes an entry that gives a lost place again: it changes nothing.
    fn take_place(&mut self, written: &mut StepEntries<'_>) -> bool {
        let Some(first) = written.left.first().filter(|_| self.rotten).cloned() else { return false };
        if !matches!(&first.event, Event::FieldsChanged { .. })
            || first.condition.as_deref() != Some("rankings")
        {
            return false;
        }
        let before = self.world.view.rankings.clone();
        let mut after = self.world.view.clone();
        apply(&mut after, &first);
        let is_same =
            first.reranked.iter().all(|it| after.rankings.get(&it.ranking()) == before.get(&it.ranking()));
        if is_same && written.takes(std::slice::from_ref(&first)) {
            self.repairs += 1;
            self.take(&[first]);
            return true;
        }
        false
    }

    fn take(&mut self, entries: &[Entry]) {
        for entry in entries {
            self.world.take(entry.clone());
        }
    }

    /// Timers in due order, each once.
    fn fire_due(&mut self, written: &mut StepEntries<'_>) -> Result<(), BrokenPromise> {
        let target = self.advance.unwrap_or(self.world.now);
        for _ in 0..DUE {
            if self.world.journal.len() as u64 > written.most {
                return Ok(());
            }
            let Some(next) = self.next_due(target) else {
                if written.read_failed && written.advancing {
                    return Ok(());
                }
                if let Some(to) = self.advance {
                    self.world.now = self.world.now.max(to);
                }
                if !(written.sweeping && written.advancing) {
                    self.advance = None;
                }
                return Ok(());
            };
            let (due, entity, timer) = next.clone();
            let before = self.world.now;
            self.world.now = self.world.now.max(due);
            self.take_repairs(written);
            match self.due(&entity, &timer) {
                Ok(Decision::Accepted(accepted)) => {
                    if written.takes(&accepted.entries) {
                        self.timers += 1;
                        self.take(&accepted.entries);
                    } else if written.read_failed {
                        self.world.now = before;
                        if !self.take_later_timer(written, target) {
                            return Ok(());
                        }
                    } else {
                        let what = format!(
                            "{timer} of {entity} was due at {due}, which gives {:?}; the journal has {:?}",
                            accepted.entries,
                            written.left.first()
                        );
                        return Err(BrokenPromise::new(
                            "a due timer fires once, in due order, none is lost",
                            what,
                        ));
                    }
                }
                _ => {
                    self.dropped.insert(next);
                }
            }
        }
        Ok(())
    }

    fn due(&self, entity: &EntityKey, timer: &Name) -> Result<Decision, Needs> {
        let ask = Ask::Due { entity: entity.clone(), timer: timer.clone() };
        decide(&self.world.law, &self.world.view, &Command::new(Actor::timer(), ask), self.world.now)
    }

    /// While rows are damaged, a timer that needs them does not hold up the others. Whether one of those comes next.
    fn take_later_timer(&mut self, written: &mut StepEntries<'_>, target: Timestamp) -> bool {
        let Some(first) = written.left.first().filter(|_| self.rotten) else { return false };
        let Event::TimerFired { timer, .. } = &first.event else {
            return self.take_other_timer(written, target);
        };
        let (entity, timer, at) = (first.entity.clone(), timer.clone(), first.at);
        self.take_timer(&entity, &timer, at, written)
    }

    /// Whether one of the due timers gives what comes next.
    fn take_other_timer(&mut self, written: &mut StepEntries<'_>, target: Timestamp) -> bool {
        let Some(at) = written.left.first().map(|it| it.at) else { return false };
        let mut all = Vec::new();
        for entity in self.world.view.entities() {
            for (name, timer) in &entity.timers {
                if timer.due.is_some_and(|it| it <= target) {
                    all.push((entity.key.clone(), name.clone()));
                }
            }
        }
        all.iter().any(|(entity, timer)| self.take_timer(entity, timer, at, written))
    }

    fn take_timer(
        &mut self,
        entity: &EntityKey,
        timer: &Name,
        at: Timestamp,
        written: &mut StepEntries<'_>,
    ) -> bool {
        let before = std::mem::replace(&mut self.world.now, at);
        match self.due(entity, timer) {
            Ok(Decision::Accepted(accepted))
                if at >= before && !accepted.entries.is_empty() && written.takes(&accepted.entries) =>
            {
                self.timers += 1;
                self.take(&accepted.entries);
                true
            }
            _ => {
                self.world.now = before;
                false
            }
        }
    }

    fn next_due(&self, target: Timestamp) -> Option<(Timestamp, EntityKey, Name)> {
        let mut next: Option<(Timestamp, &EntityKey, &Name)> = None;
        for entity in self.world.view.entities() {
            for (name, timer) in &entity.timers {
                let Some(due) = timer.due.filter(|it| *it <= target) else { continue };
                let this = (due, &entity.key, name);
                if next.is_none_or(|it| this < it)
                    && !self.dropped.contains(&(due, entity.key.clone(), name.clone()))
                {
                    next = Some(this);
                }
            }
        }
        next.map(|(due, entity, timer)| (due, entity.clone(), timer.clone()))
    }

    fn expect(
        &mut self,
        content: &CallerRequest,
        written: &mut StepEntries<'_>,
    ) -> Result<Option<CallerResponse>, BrokenPromise> {
        Ok(match content {
            CallerRequest::Command(command) => self.answer(command, written)?.map(CallerResponse::One),
            CallerRequest::All(commands) => self.all_or_none(commands, written)?.map(CallerResponse::All),
            // The entity may have been rebuilt before or after the answer.
            CallerRequest::Look(_) if self.rotten && written.has_repairs => Some(CallerResponse::Unsure),
            CallerRequest::Look(question) => {
                Some(CallerResponse::Seen(Box::new(question.ask(&Lookup::new(&self.world.view)))))
            }
            CallerRequest::Install(packs) => {
                self.world.law = packs.law();
                self.install(packs, written)?
            }
            CallerRequest::Advance(to) => {
                if *to > self.world.now {
                    self.advance = Some(*to);
                }
                Some(CallerResponse::Time(self.world.now.max(*to)))
            }
            // Its findings come at the end of the step, or later.
            CallerRequest::Sweep => Some(CallerResponse::Unsure),
        })
    }

    fn install(
        &mut self,
        packs: &Packs,
        written: &mut StepEntries<'_>,
    ) -> Result<Option<CallerResponse>, BrokenPromise> {
        for Definition { pack, version, digest, .. } in packs.definitions() {
            let install = Install { pack, version, digest: Arc::from(digest.as_str()) };
            let actor = Actor::engine();
            if self.answer(&Command::new(actor, Ask::Install(install)), written)?.is_none() {
                return Ok(None);
            }
        }
        self.take_sweep_findings(written)
    }

    fn take_sweep_findings(
        &mut self,
        written: &mut StepEntries<'_>,
    ) -> Result<Option<CallerResponse>, BrokenPromise> {
        for name in self.world.law.lifecycle_names().to_vec() {
            let Some(life) = self.world.law.newest(&name).filter(|it| it.one) else { continue };
            let key = EntityKey { lifecycle: name.clone(), id: life.kind.clone() };
            if self.world.view.get(&key).is_none() {
                let actor = Actor::engine();
                let command = Command::new(actor, Ask::Seed(Seed::new(key)));
                if self.answer(&command, written)?.is_none() {
                    return Ok(None);
                }
            }
        }
        Ok(Some(CallerResponse::Done))
    }

    fn answer(
        &mut self,
        command: &Command,
        written: &mut StepEntries<'_>,
    ) -> Result<Option<CommandAnswer>, BrokenPromise> {
        self.take_repairs(written);
        let expired = command.idempotency_key.as_ref().filter(|it| self.has_expired(&command.actor.id, it));
        if let Some(key) = expired {
            // The store may have forgotten the key by now: then the request is a new one.
            let mut without = self.world.view.clone();
            without.forget_key(&command.actor.id, key);
            match decide(&self.world.law, &without, command, self.world.now) {
                // An empty result does not show whether it was done again.
                Ok(Decision::Accepted(it)) if it.entries.is_empty() => self.unsure = true,
                Ok(Decision::Accepted(it)) if written.left.starts_with(&it.entries) => {
                    self.world.view.forget_key(&command.actor.id, key);
                }
                Ok(Decision::Accepted(_)) => {}
                // The refused request was stored as evidence, so its key had been forgotten.
                Ok(Decision::Refused(it))
                    if it.kept.is_some() && it.kept.as_deref() == written.left.first() =>
                {
                    self.world.view.forget_key(&command.actor.id, key);
                }
                // Refused for one reason or for the other.
                _ => self.unsure = true,
            }
        }
        let decision = decide(&self.world.law, &self.world.view, command, self.world.now);
        Ok(match decision {
            Ok(Decision::Accepted(accepted)) => {
                if !written.takes(&accepted.entries) {
                    if written.read_failed {
                        return Ok(None);
                    }
                    let what = format!(
                        "{command:?} gives {:?}; the journal has {:?}",
                        accepted.entries, written.left
                    );
                    return Err(BrokenPromise::new("what was asked for is decided by the law", what));
                }
                self.take(&accepted.entries);
                let root = accepted.entries.get(accepted.root);
                let entity = root.and_then(|it| self.world.view.image(&it.entity));
                let (entries, root) = (Arc::new(accepted.entries), accepted.root);
                Some(CommandAnswer::Accepted(AcceptedCommand {
                    entries,
                    root,
                    ignored: accepted.ignored,
                    entity,
                    facts: None,
                    seals: Default::default(),
                }))
            }
            Ok(Decision::Refused(refusal)) => {
                if let Some(kept) = &refusal.kept {
                    let kept = [Entry::clone(kept)];
                    if written.takes(&kept) {
                        self.take(&kept);
                    } else if written.read_failed {
                        return Ok(None);
                    } else {
                        let what = format!("{kept:?}; the journal has {:?}", written.left.first());
                        return Err(BrokenPromise::new("evidence is kept", what));
                    }
                }
                Some(CommandAnswer::Refused(refusal))
            }
            Ok(Decision::Replayed { first, entries, root }) => {
                Some(CommandAnswer::Replayed { first, entries, root })
            }
            Err(needs) => {
                return Err(BrokenPromise::new(
                    "a whole view needs nothing",
                    format!("{command:?}: {needs:?}"),
                ));
            }
        })
    }

    /// Whether a key was last used so long ago that it may have expired.
    fn has_expired(&self, actor: &Name, key: &Name) -> bool {
        let Found::Here((first, _)) = self.world.view.key(actor, key) else { return false };
        let entry = self.world.journal.get(*first as usize - 1);
        entry.is_some_and(|it| it.at.plus(self.keys_last) < self.world.now)
    }

    fn all_or_none(
        &mut self,
        commands: &[Command],
        written: &mut StepEntries<'_>,
    ) -> Result<Option<BatchAnswer>, BrokenPromise> {
        let mut trial = self.world.view.clone();
        let mut verdicts = Vec::new();
        for command in commands {
            verdicts.push(match decide(&self.world.law, &trial, command, self.world.now) {
                Ok(Decision::Accepted(accepted)) => {
                    accepted.entries.iter().for_each(|it| apply(&mut trial, it));
                    BatchVerdict::Passed
                }
                Ok(Decision::Refused(mut refusal)) => {
                    refusal.kept = None;
                    BatchVerdict::Refused(refusal)
                }
                _ => BatchVerdict::Passed,
            });
        }
        if verdicts.iter().any(|it| matches!(it, BatchVerdict::Refused(_))) {
            return Ok(Some(BatchAnswer::Refused(verdicts)));
        }
        let mut answers = Vec::new();
        for (n, command) in commands.iter().enumerate() {
            match self.answer(command, written)? {
                Some(answer) => answers.push(answer),
                None if n == 0 => return Ok(None),
                None => {
                    let what = format!("{} of {}", n, commands.len());
                    return Err(BrokenPromise::new("several commands are done together or not at all", what));
                }
            }
        }
        Ok(Some(BatchAnswer::Done(answers)))
    }
}
