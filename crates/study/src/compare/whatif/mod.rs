//! What-if runs: an existing journal against a changed definition.
//!
//! The commands are rebuilt from the journal and tried under the old definition first, each against the
//! recorded state. Only those that are reproduced exactly are sent under the new one.

mod actors;
mod outcome;
mod rebuild;
mod steps;
mod timers;

use std::collections::BTreeSet;
use std::sync::Arc;

use trackside_engine::command::{Ask, Command};
use trackside_engine::event::{Entry, Event};
use trackside_engine::journal::Journal;
use trackside_engine::key::EntityKey;
use trackside_engine::world::{Outcome, World};
use trackside_engine::{Law, View, apply};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

pub use actors::{Actors, read_actors};
pub use outcome::{Difference, DifferenceKind, End, NotRun, WhatIf};

use rebuild::{Rebuilder, Rebuilt};
use steps::{DecisionStep, steps};

/// Runs a journal that the old definition wrote against the new one.
pub fn what_if(old: &Law, new: &Arc<Law>, journal: &Journal, actors: &Actors) -> WhatIf {
    let steps = steps(&journal.entries);
    let mut known = Actors::of(&journal.about);
    known.extend(actors);
    let mut rebuilder = Rebuilder::new(old, known);
    // Once to infer the roles of actors, once to rebuild with them.
    rebuilder.rebuild_all(journal, &steps);
    let rebuilt = rebuilder.rebuild_all(journal, &steps);
    let mut run = Run::new(new, journal);
    run.answer.inferred = rebuilder.inferred_roles();
    for (step, rebuilt) in steps.iter().zip(rebuilt) {
        run.step(step, rebuilt);
    }
    run.finish(journal)
}

/// The past as it was and as it would have been, side by side.
struct Run<'a> {
    truth: View,
    world: World,
    entries: &'a [Entry],
    /// Entities that are no longer where they were.
    apart: BTreeSet<EntityKey>,
    answer: WhatIf,
}

impl<'a> Run<'a> {
    fn new(law: &Arc<Law>, journal: &'a Journal) -> Self {
        let begin = journal.entries.first().map_or_else(Timestamp::default, |it| it.at);
        let project = journal.about.project();
        let mut truth = View::default();
        truth.project = project.clone();
        Self {
            truth,
            world: World::new(law.clone(), project, begin),
            entries: &journal.entries,
            apart: BTreeSet::new(),
            answer: WhatIf::default(),
        }
    }

    fn move_to(&mut self, at: Timestamp) {
        if at < self.world.now {
            // An entity that was put in place with an earlier time.
            self.world.now = at;
        } else if at > self.world.now {
            self.world.advance(at.since(self.world.now));
        }
    }

    fn step(&mut self, step: &DecisionStep, rebuilt: Rebuilt) {
        let group: &[Entry] = self.entries.get(step.entries.clone()).unwrap_or_default();
        let Some(root) = self.entries.get(step.root) else { return };
        self.move_to(root.at);
        let mut touched: Vec<EntityKey> = Vec::new();
        for entry in group {
            if !touched.contains(&entry.entity) {
                touched.push(entry.entity.clone());
            }
        }
        // Moves that time alone causes are reported with the timers.
        for key in &touched {
            if self.state(&self.world.view, key) != self.state(&self.truth, key) {
                self.apart.insert(key.clone());
            }
        }
        for entry in group {
            apply(&mut self.truth, entry);
        }
        let said = |what: DifferenceKind| Difference {
            at: root.at,
            actor: root.actor.clone(),
            did: root.trigger.clone(),
            entity: root.entity.clone(),
            what,
            follow_up: false,
        };
        match rebuilt {
            Rebuilt::Clock | Rebuilt::Founding => {}
            Rebuilt::Lost(why) => {
                self.answer.not_run.push(NotRun { of: said(DifferenceKind::Accepted), why });
                self.take(group);
            }
            Rebuilt::Command { command, exact } => {
                self.answer.commands += 1;
                self.answer.inexact += usize::from(!exact);
                let command = self.with_present_effect(*command, root);
                if let Outcome::Refused(refusal) = self.world.submit(&command) {
                    let reasons = refusal.errors.iter().map(|it| it.message.clone()).collect();
                    let mut it =
                        said(DifferenceKind::Refused { code: refusal.code, detail: refusal.detail, reasons });
                    it.follow_up = self.apart.contains(&root.entity);
                    self.apart.insert(root.entity.clone());
                    self.answer.differences.push(it);
                }
            }
        }
        for key in touched {
            let (is, was) = (self.state(&self.world.view, &key), self.state(&self.truth, &key));
            if is != was && self.apart.insert(key.clone()) {
                let clock = root.actor_kind == trackside_engine::actor::ActorKind::Timeout;
                let moved = said(DifferenceKind::Elsewhere { was, is });
                // A timer that did not fire is reported with the timers.
                if !clock {
                    self.answer.differences.push(Difference { entity: key, ..moved });
                }
            }
        }
    }

    fn state(&self, view: &View, key: &EntityKey) -> Option<Name> {
        view.get(key).map(|it| it.state.clone())
    }

    /// An effect has another number here than it had then.
    fn with_present_effect(&self, mut command: Command, root: &Entry) -> Command {
        if let (Ask::EffectResult { entity, effect, .. }, Event::EffectSettled { effect: name, .. }) =
            (&mut command.ask, &root.event)
        {
            let open =
                self.world.view.get(entity).and_then(|it| it.effects.iter().find(|it| it.effect == *name));
            *effect = open.map_or(*effect, |it| it.id);
        }
        command
    }

    /// Copies decisions that cannot be replayed, as they happened.
    fn take(&mut self, group: &[Entry]) {
        let base = self.world.view.seq;
        let first = group.first().map_or(0, |it| it.seq);
        for entry in group {
            let here = |seq: u64| base + 1 + seq.saturating_sub(first);
            let mut entry = entry.clone();
            entry.cause = entry.cause.filter(|it| *it >= first).map(here);
            entry.seq = here(entry.seq);
            entry.key = None;
            self.world.take(entry);
        }
    }

    fn finish(mut self, journal: &Journal) -> WhatIf {
        let end = journal.about.until.or_else(|| journal.entries.iter().map(|it| it.at).max());
        if let Some(end) = end.filter(|it| *it > self.world.now) {
            self.move_to(end);
        }
        self.answer.differences.extend(timers::timer_differences(
            &journal.entries,
            &self.world.journal,
            &self.answer,
        ));
        self.answer.differences.sort_by_key(|it| it.at);
        let mut keys: Vec<EntityKey> = self.truth.entities().iter().map(|it| it.key.clone()).collect();
        keys.extend(self.world.view.entities().iter().map(|it| it.key.clone()));
        keys.sort();
        keys.dedup();
        for key in keys {
            let (was, is) = (self.state(&self.truth, &key), self.state(&self.world.view, &key));
            if was != is {
                self.answer.ends.push(End { entity: key, was, is });
            }
        }
        self.answer
    }
}
