//! A stage as something to explore: every request of everybody, every result of an effect, time, the sweep.

use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::quality::FixedState;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event};
use trackside_engine::{Decision, Law, apply, decide};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;

use super::asking::{asks, late, results};
use super::clock::{wait, wait_until};
use super::key::{key, render, whole};
use super::restart;
use super::scene::{Move, Scene, Surprise, What};
use super::{Cone, Mirrors};
use crate::promise::Promises;
use crate::search::Model;
use crate::stage::Stage;

/// Of how many steps one is stored, read again and sent a second time.
const RESTARTS: u64 = 32;

/// Which worlds count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// Only those that are equal in everything.
    Nothing,
    /// Those that no rule and no promise can tell apart.
    Cone,
    /// Mirror images, too.
    Mirrors,
}

/// A stage being explored.
#[derive(Debug)]
pub struct Play<'a> {
    pub stage: &'a Stage,
    pub(crate) promises: &'a Promises,
    reduce: Reduce,
    cone: Cone,
    mirrors: Mirrors,
    /// Something is to be repaired by the sweep.
    sweeps: bool,
    restarts: AtomicU64,
}

impl<'a> Play<'a> {
    pub fn new(stage: &'a Stage, promises: &'a Promises, reduce: Reduce) -> Self {
        let cone = Cone::of(&stage.pack);
        let sweeps =
            stage.lives().any(|it| it.invariants.iter().any(|it| it.needs_now || it.repair.is_some()));
        let mut play = Self {
            stage,
            promises,
            reduce,
            cone,
            mirrors: Mirrors::none(),
            sweeps,
            restarts: AtomicU64::new(0),
        };
        if reduce == Reduce::Mirrors {
            play.mirrors = Mirrors::of(&stage.interchangeable(), |ids, renaming| {
                let start = render(&play.cone, &stage.start, ids);
                let mut image = start.clone();
                image.iter_mut().for_each(|it| renaming.apply(it));
                image.sort();
                start == image && stage.sends_the_same(ids, renaming)
            });
        }
        play
    }

    /// Ids that are exchanged with each other.
    pub fn mirrors(&self) -> &[Vec<Name>] {
        &self.mirrors.groups
    }

    /// One step in so many, wherever it comes in a run.
    fn is_sampled(&self, entries: &[Entry]) -> bool {
        let mut hasher = FixedState::with_seed(3).build_hasher();
        for entry in entries {
            hasher.write_u64(entry.seq);
            hasher.write(entry.entity.id.as_bytes());
            hasher.write(entry.trigger.as_bytes());
        }
        let chosen = hasher.finish().is_multiple_of(RESTARTS);
        self.restarts.fetch_add(u64::from(chosen), Ordering::Relaxed);
        chosen
    }

    /// How many steps were stored, read again and sent a second time.
    pub fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }

    fn attempt(&self, scene: &Scene, command: Command, into: &mut Vec<(Move, Scene)>) {
        match decide(&self.stage.law, &scene.view, &command, scene.now) {
            Decision::Accepted(accepted) => {
                let mut after = scene.clone();
                for entry in &accepted.entries {
                    apply(&mut after.view, entry);
                }
                if accepted.entries.is_empty() {
                    return;
                }
                if self.is_sampled(&accepted.entries)
                    && let Some(why) = restart::differs(&self.stage.law, scene, &command)
                {
                    into.push(surprise(scene, Surprise::Restart, command.clone(), why));
                }
                // A result of the outside is nobody's doing.
                let settled = matches!(command.ask, Ask::Settle { .. });
                let actor = (!settled).then(|| command.actor.clone());
                let by = Move { what: What::Ask(command), entries: accepted.entries };
                self.finish(after, actor.as_ref(), by, into);
            }
            Decision::Refused(refusal) => {
                let kind = match refusal.code {
                    "evaluation-failed" => Surprise::NoAnswer,
                    "too-many-moves" => Surprise::Endless,
                    "always-refused" => Surprise::Stuck,
                    _ => return,
                };
                into.push(surprise(scene, kind, command, refusal.to_string()));
            }
            Decision::Replayed { .. } | Decision::Needs(_) => {}
        }
    }

    /// The promises that watch who acts take note, and what was dropped is told.
    fn finish(&self, mut after: Scene, actor: Option<&Actor>, by: Move, into: &mut Vec<(Move, Scene)>) {
        self.promises.note(&mut after, actor, &by.entries);
        into.push((by, after));
    }

    fn sweep(&self, scene: &Scene, into: &mut Vec<(Move, Scene)>) {
        let mut after = scene.clone();
        let mut entries: Vec<Entry> = Vec::new();
        for entity in scene.entities() {
            let ask = Ask::Inspect { entity: entity.key.clone() };
            let command = Command::new(Actor::new("trackside", ActorKind::System), ask);
            if let Decision::Accepted(accepted) = decide(&self.stage.law, &after.view, &command, after.now) {
                accepted.entries.iter().for_each(|it| {
                    apply(&mut after.view, it);
                });
                entries.extend(accepted.entries);
            }
        }
        if !entries.is_empty() {
            self.finish(after, None, Move { what: What::Sweep, entries }, into);
        }
    }
}

fn surprise(scene: &Scene, kind: Surprise, command: Command, why: String) -> (Move, Scene) {
    (Move { what: What::Surprise(kind, Box::new(command), why), entries: Vec::new() }, scene.clone())
}

/// Whether the engine could not do something that it should have done.
///
/// What a definition calls `soft` may be dropped: there the rule that led to it is a transition, not a clock, a
/// reaction, a lease, an effect or a repair.
pub(crate) fn dropped<'a>(law: &Law, entries: &'a [Entry]) -> Option<&'a Entry> {
    let declared = |entry: &Entry| {
        let life = law.newest(&entry.entity.lifecycle);
        entry.condition.as_ref().is_some_and(|condition| {
            !condition.contains('.') && life.is_none_or(|it| it.timer(condition).is_none())
        })
    };
    let mut open = entries.iter().filter(|it| !declared(it));
    open.find(|it| matches!(&it.event, Event::AlertRaised { kind, .. } if *kind == "dropped-move"))
}

impl Model for Play<'_> {
    type World = Scene;
    type Move = Move;

    fn starts(&self) -> Vec<Scene> {
        let mut start = self.stage.start.clone();
        self.promises.begin(&mut start);
        vec![start]
    }

    fn key(&self, scene: &Scene) -> u128 {
        match self.reduce {
            Reduce::Nothing => whole(scene),
            Reduce::Cone | Reduce::Mirrors => key(&self.cone, scene, &self.mirrors),
        }
    }

    fn moves(&self, scene: &Scene, into: &mut Vec<(Move, Scene)>) {
        for command in asks(self.stage, scene).into_iter().chain(results(self.stage, scene)) {
            self.attempt(scene, command, into);
        }
        for command in late(self.stage, scene) {
            if let Decision::Accepted(_) = decide(&self.stage.law, &scene.view, &command, scene.now) {
                let why = "the lease has been granted to somebody else since".to_owned();
                into.push(surprise(scene, Surprise::LateWrite, command, why));
            }
        }
        let is_lease = |entity: &Entity, timer: &Name| {
            self.stage.life(&entity.key.lifecycle).is_some_and(|it| it.slot(timer).is_some())
        };
        if let Some(moment) = scene.last_moment(is_lease) {
            let after = wait_until(scene, moment);
            let passed = Span(after.now.0 - scene.now.0);
            self.finish(after, None, Move { what: What::Wait(passed), entries: Vec::new() }, into);
        }
        if let Some((after, entries)) = wait(&self.stage.law, scene) {
            let passed = Span(after.now.0 - scene.now.0);
            self.finish(after, None, Move { what: What::Wait(passed), entries }, into);
        }
        if self.sweeps {
            self.sweep(scene, into);
        }
    }
}
