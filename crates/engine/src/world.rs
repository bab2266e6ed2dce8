//! A whole project in memory, in virtual time: a view, its journal, and its clocks.

use std::collections::BTreeSet;
use std::sync::Arc;

use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};

use crate::actor::Actor;
use crate::apply::apply;
use crate::command::{Ask, Command, Seed};
use crate::decide::{Decision, decide_traced};
use crate::event::{Entry, Event};
use crate::key::EntityKey;
use crate::law::Law;
use crate::refusal::{Code, Refusal};
use crate::trace::Trace;
use crate::view::{Project, View};

/// Runs commands one after the other and fires timers as time is moved.
#[derive(Clone, Debug)]
pub struct World {
    pub law: Arc<Law>,
    pub view: View,
    pub journal: Vec<Entry>,
    pub now: Timestamp,
    due: BTreeSet<(Timestamp, EntityKey, Name)>,
    trace: Option<Arc<Trace>>,
}

/// Most timers that one advance fires; beyond it, a definition makes ever more of them.
const FIRINGS: u32 = 1_000_000;

/// The outcome of a command.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The numbers of the entries it wrote, and which of them answers it.
    Accepted {
        entries: std::ops::Range<usize>,
        root: usize,
        ignored: Vec<Name>,
    },
    Refused(Box<Refusal>),
    Replayed {
        entries: std::ops::Range<usize>,
        root: usize,
    },
}

impl World {
    pub fn new(law: Arc<Law>, project: Project, now: Timestamp) -> Self {
        let mut view = View::default();
        view.project = project;
        let mut world = Self { law, view, journal: Vec::new(), now, due: BTreeSet::new(), trace: None };
        world.create_singletons();
        world
    }

    /// Notes which rules are exercised from here on.
    pub fn traced(mut self, trace: Arc<Trace>) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Creates the single entity of every lifecycle that has one.
    fn create_singletons(&mut self) {
        for name in self.law.lifecycle_names().to_vec() {
            let Some(life) = self.law.newest(&name).filter(|it| it.one) else { continue };
            let entity = EntityKey { lifecycle: name.clone(), id: life.kind.clone() };
            let actor = Actor::engine();
            let ask = Ask::Seed(Seed::new(entity));
            self.submit(&Command::new(actor, ask));
        }
    }

    pub fn submit(&mut self, command: &Command) -> Outcome {
        match self.decide(command) {
            Decision::Accepted(accepted) => {
                let first = self.journal.len();
                for entry in accepted.entries {
                    self.write(entry);
                }
                let entries = first..self.journal.len();
                if self.journal.get(entries.clone()).unwrap_or_default().iter().any(changes_zone) {
                    self.follow_zone();
                }
                Outcome::Accepted { root: first + accepted.root, entries, ignored: accepted.ignored }
            }
            Decision::Refused(refusal) => {
                if let Some(entry) = &refusal.kept {
                    self.write(Entry::clone(entry));
                }
                Outcome::Refused(refusal)
            }
            Decision::Replayed { first, entries, root } => {
                let first = usize::try_from(first).unwrap_or(1).saturating_sub(1);
                let entries = first..first + entries as usize;
                Outcome::Replayed { root: first + root as usize, entries }
            }
        }
    }

    /// Inspects the entities with timers at an hour of the day, as the server does after the time zone changed.
    fn follow_zone(&mut self) {
        let timed = self.view.entities().into_iter().filter(|it| !it.timers.is_empty());
        for entity in timed.map(|it| it.key.clone()).collect::<Vec<_>>() {
            self.submit(&Command::new(Actor::engine(), Ask::Inspect { entity }));
        }
    }

    /// A world's view is never partial, so nothing is missing.
    fn decide(&self, command: &Command) -> Decision {
        decide_traced(&self.law, &self.view, command, self.now, self.trace.as_deref()).unwrap_or_else(
            |needs| {
                let refusal = Refusal::one(Code::EvaluationFailed, needs.to_string());
                Decision::Refused(Box::new(refusal))
            },
        )
    }

    /// Decides without changing anything.
    pub fn dry_run(&self, command: &Command) -> Decision {
        let mut decision = self.decide(command);
        if let Decision::Refused(refusal) = &mut decision {
            refusal.kept = None;
        }
        decision
    }

    /// Writes an entry as it was, without a decision: history that is taken over.
    pub fn take(&mut self, entry: Entry) {
        self.write(entry);
    }

    fn write(&mut self, entry: Entry) {
        let key = entry.entity.clone();
        self.unschedule(&key);
        apply(&mut self.view, &entry);
        self.schedule(&key);
        let erased = matches!(entry.event, Event::Erased { .. });
        if let Event::Redacted { entries, .. } = &entry.event {
            for entry in self.journal.iter_mut().filter(|it| entries.contains(&it.seq)) {
                entry.part();
            }
        }
        self.journal.push(entry);
        if erased {
            let earlier = self.journal.len().saturating_sub(1);
            for entry in self.journal.iter_mut().take(earlier) {
                entry.forget(&key);
            }
        }
    }

    fn unschedule(&mut self, key: &EntityKey) {
        for (name, timer) in self.view.get(key).map(|it| it.timers.clone()).unwrap_or_default() {
            if let Some(due) = timer.due {
                self.due.remove(&(due, key.clone(), name));
            }
        }
    }

    fn schedule(&mut self, key: &EntityKey) {
        for (name, timer) in self.view.get(key).map(|it| it.timers.clone()).unwrap_or_default() {
            if let Some(due) = timer.due {
                self.due.insert((due, key.clone(), name));
            }
        }
    }

    /// Moves time; timers that become due fire at their moment, in order.
    pub fn advance(&mut self, span: Span) {
        let target = self.now.plus(span);
        let mut fired = 0_u32;
        while fired < FIRINGS
            && let Some((due, key, timer)) = self.due.first().cloned().filter(|(due, _, _)| *due <= target)
        {
            fired += 1;
            self.now = self.now.max(due);
            let actor = Actor::timer();
            let ask = Ask::Due { entity: key.clone(), timer: timer.clone() };
            if let Outcome::Refused(_) = self.submit(&Command::new(actor, ask)) {
                // A refused timer is still pending in the journal; here it must not come up again.
                self.due.remove(&(due, key, timer));
            }
        }
        self.now = target;
    }

    /// Simulates a stopped server: time passes and no timer fires. After the restart, due timers fire late, in order.
    pub fn restart(&mut self, away: Span) {
        self.now = self.now.plus(away);
        self.view.resumed_at = Some(self.now);
        self.advance(Span(0));
    }

    /// Inspects every entity for violations.
    pub fn sweep(&mut self) {
        let keys: Vec<EntityKey> = self.view.entities().into_iter().map(|it| it.key.clone()).collect();
        for entity in keys {
            let actor = Actor::engine();
            self.submit(&Command::new(actor, Ask::Inspect { entity }));
        }
    }
}

fn changes_zone(entry: &Entry) -> bool {
    matches!(&entry.event, Event::ProjectChanged { change } if change.zone.is_some())
}
