//! A stage as a model to explore: every request of every actor, every result of an effect, time, the sweep.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::quality::FixedState;
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command};
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event};
use trackside_engine::{Decision, Law, apply, decide, decide_briefly};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;

use super::clock::{wait, wait_until};
use super::key::{complete_key, key, render};
use super::requests::{Callers, all_requests, results, stale_requests};
use super::restart;
use super::state::{MoveKind, MoveName, Surprise, WorldMove, WorldState};
use super::{Cone, Mirrors};
use crate::explore::promise::Promises;
use crate::explore::search::Model;
use crate::explore::stage::ExploreStage;
use trackside_engine::refusal::Code;

/// One of so many steps is stored, read again and sent a second time.
const RESTARTS: u64 = 32;

/// The worlds that count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// Only worlds that are equal in all parts.
    Nothing,
    /// Worlds that no rule and no promise can tell apart.
    Cone,
    /// Mirror images, too.
    Mirrors,
}

/// A stage being explored.
#[derive(Debug)]
pub struct StageModel<'a> {
    pub stage: &'a ExploreStage,
    pub(crate) promises: Arc<Promises>,
    /// Only moves of these kinds are made; none: all.
    only: Option<BTreeSet<MoveName>>,
    callers: Arc<Callers>,
    reduce: Reduce,
    cone: Cone,
    mirrors: Mirrors,
    /// Whether the sweep has an invariant to repair.
    sweeps: bool,
    restarts: AtomicU64,
}

impl<'a> StageModel<'a> {
    pub fn new(stage: &'a ExploreStage, promises: Arc<Promises>, reduce: Reduce) -> Self {
        let cone = Cone::of(&stage.pack);
        let sweeps =
            stage.lives().any(|it| it.invariants.iter().any(|it| it.needs_now || it.repair.is_some()));
        let mut play = Self {
            stage,
            promises,
            only: None,
            callers: Arc::new(Callers::of(stage)),
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

    /// The same stage with only the kinds of moves of a run.
    pub fn with_moves_of<'m>(&self, run: impl IntoIterator<Item = &'m WorldMove>) -> Self {
        Self {
            stage: self.stage,
            promises: self.promises.clone(),
            only: Some(run.into_iter().map(MoveName::of).collect()),
            callers: self.callers.clone(),
            reduce: self.reduce,
            cone: self.cone.clone(),
            mirrors: self.mirrors.clone(),
            sweeps: self.sweeps,
            restarts: AtomicU64::new(0),
        }
    }

    fn makes(&self, name: impl FnOnce() -> MoveName) -> bool {
        self.only.as_ref().is_none_or(|it| it.contains(&name()))
    }

    /// Ids that are exchanged with each other.
    pub fn mirrors(&self) -> &[Vec<Name>] {
        &self.mirrors.groups
    }

    /// Selects one of so many steps, by its entries.
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

    /// The number of steps that were stored, read again and sent a second time.
    pub fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }

    fn attempt(&self, scene: &WorldState, command: Command, into: &mut Vec<(WorldMove, WorldState)>) {
        if !self.makes(|| MoveName::of_command(&command)) {
            return;
        }
        let decision = decide_briefly(&self.stage.law, &scene.view, &command, scene.now);
        debug_assert!(
            is_same_outcome(&decision, &decide(&self.stage.law, &scene.view, &command, scene.now)),
            "{command:?} is decided otherwise in brief"
        );
        match decision {
            Ok(Decision::Accepted(accepted)) => {
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
                // An effect result counts for no actor.
                let settled = matches!(command.ask, Ask::EffectResult { .. });
                let actor = (!settled).then(|| command.actor.clone());
                let by = WorldMove { what: MoveKind::Ask(command), entries: accepted.entries };
                self.finish(after, actor.as_ref(), by, into);
            }
            Ok(Decision::Refused(refusal)) => {
                let kind = match refusal.code {
                    Code::EvaluationFailed => Surprise::NoAnswer,
                    Code::TooManyMoves => Surprise::Endless,
                    Code::AlwaysRefused => Surprise::Stuck,
                    _ => return,
                };
                // With its texts.
                let why = match decide(&self.stage.law, &scene.view, &command, scene.now) {
                    Ok(Decision::Refused(refusal)) => refusal.to_string(),
                    _ => refusal.to_string(),
                };
                into.push(surprise(scene, kind, command, why));
            }
            Ok(Decision::Replayed { .. }) | Err(_) => {}
        }
    }

    /// Updates the promises that watch actors, and reports dropped moves.
    fn finish(
        &self,
        mut after: WorldState,
        actor: Option<&Actor>,
        by: WorldMove,
        into: &mut Vec<(WorldMove, WorldState)>,
    ) {
        self.promises.record_move(&mut after, actor, &by.entries);
        into.push((by, after));
    }

    fn sweep(&self, scene: &WorldState, into: &mut Vec<(WorldMove, WorldState)>) {
        let mut after = scene.clone();
        let mut entries: Vec<Entry> = Vec::new();
        for entity in scene.entities() {
            let ask = Ask::Inspect { entity: entity.key.clone() };
            let command = Command::new(Actor::engine(), ask);
            if let Ok(Decision::Accepted(accepted)) =
                decide(&self.stage.law, &after.view, &command, after.now)
            {
                accepted.entries.iter().for_each(|it| {
                    apply(&mut after.view, it);
                });
                entries.extend(accepted.entries);
            }
        }
        if !entries.is_empty() {
            self.finish(after, None, WorldMove { what: MoveKind::Sweep, entries }, into);
        }
    }
}

/// Whether two decisions write the same entries, or refuse with the same code.
fn is_same_outcome<E>(one: &Result<Decision, E>, other: &Result<Decision, E>) -> bool {
    match (one, other) {
        (Ok(Decision::Accepted(one)), Ok(Decision::Accepted(other))) => one.entries == other.entries,
        (Ok(Decision::Refused(one)), Ok(Decision::Refused(other))) => one.code == other.code,
        (Ok(Decision::Replayed { .. }), Ok(Decision::Replayed { .. })) | (Err(_), Err(_)) => true,
        _ => false,
    }
}

fn surprise(scene: &WorldState, kind: Surprise, command: Command, why: String) -> (WorldMove, WorldState) {
    (WorldMove { what: MoveKind::Surprise(kind, Box::new(command), why), entries: Vec::new() }, scene.clone())
}

/// The entry that records a dropped move of the engine, if there is one.
///
/// A `soft` move may be dropped: its cause is a transition, not a clock, a reaction, a lease, an effect or
/// a repair.
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

impl Model for StageModel<'_> {
    type World = WorldState;
    type Move = WorldMove;

    fn starts(&self) -> Vec<WorldState> {
        let mut start = self.stage.start.clone();
        self.promises.begin(&mut start);
        vec![start]
    }

    fn key(&self, scene: &WorldState) -> u128 {
        match self.reduce {
            Reduce::Nothing => complete_key(scene),
            Reduce::Cone | Reduce::Mirrors => key(&self.cone, scene, &self.mirrors),
        }
    }

    fn moves(&self, scene: &WorldState, into: &mut Vec<(WorldMove, WorldState)>) {
        let entities = scene.entities();
        let requests = all_requests(self.stage, &self.callers, scene, &entities);
        for command in requests.into_iter().chain(results(self.stage, &entities)) {
            self.attempt(scene, command, into);
        }
        for command in stale_requests(self.stage, &entities) {
            if !self.makes(|| MoveName::of_command(&command)) {
                continue;
            }
            if let Ok(Decision::Accepted(_)) =
                decide_briefly(&self.stage.law, &scene.view, &command, scene.now)
            {
                let why = "the lease has since been granted to another actor".to_owned();
                into.push(surprise(scene, Surprise::LateWrite, command, why));
            }
        }
        let is_lease = |entity: &Entity, timer: &Name| {
            self.stage.life(&entity.key.lifecycle).is_some_and(|it| it.slot(timer).is_some())
        };
        if self.makes(|| MoveName::Wait)
            && let Some(moment) = scene.last_moment(is_lease)
        {
            let after = wait_until(scene, moment);
            let passed = Span(after.now.0 - scene.now.0);
            self.finish(after, None, WorldMove { what: MoveKind::Wait(passed), entries: Vec::new() }, into);
        }
        if self.makes(|| MoveName::Wait)
            && let Some((after, entries)) = wait(&self.stage.law, scene)
        {
            let passed = Span(after.now.0 - scene.now.0);
            self.finish(after, None, WorldMove { what: MoveKind::Wait(passed), entries }, into);
        }
        if self.sweeps && self.makes(|| MoveName::Sweep) {
            self.sweep(scene, into);
        }
    }
}
