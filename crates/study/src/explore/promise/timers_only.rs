//! The future without further requests: only timers run.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::sync::Mutex;

use foldhash::quality::FixedState;
use trackside_engine::index::Index;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::guard::{Fault, Guard};
use trackside_lifecycle::model::PropertyKind;
use trackside_lifecycle::time::Span;

use super::Promises;
use crate::explore::world::{WorldState, wait, world_key};

/// Most clocks that are waited for.
const CLOCKS: usize = 1_000;

/// The end of a world without further requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// The condition becomes true.
    True,
    /// No clock runs any more, and it is not true.
    Silence(Span),
    /// It is not true within the time limit.
    Late(Span),
    /// Clocks go round and round without it.
    Rounds,
    /// There were too many timers to wait for.
    Unknown,
}

/// What time alone leads to, for one entity and one promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The condition becomes true after this time.
    After(Span),
    /// It never becomes true.
    Never,
    Unknown,
}

/// Most fates that are remembered.
const REMEMBERED: usize = 1_000_000;

/// The fates of worlds, by the key of the world, the promise and the entity. Many worlds lead to the same ones by time alone.
#[derive(Debug, Default)]
pub(super) struct Fates(Mutex<Index<(u128, u64), Fate>>);

impl Fates {
    fn get(&self, of: (u128, u64)) -> Option<Fate> {
        self.0.lock().ok()?.get(&of).copied()
    }

    fn remember(&self, all: impl Iterator<Item = ((u128, u64), Fate)>) {
        if let Ok(mut known) = self.0.lock() {
            for (of, fate) in all {
                if known.len() < REMEMBERED {
                    known.insert(of, fate);
                }
            }
        }
    }
}

/// A world and those that follow it by time alone, as far as they were needed.
pub(super) struct TimeAlone {
    worlds: Vec<(WorldState, u128)>,
    /// Whether the last one has no successor.
    ended: bool,
}

impl TimeAlone {
    pub(super) fn new() -> Self {
        Self { worlds: Vec::new(), ended: false }
    }
}

impl Promises {
    /// Whether an `eventually` is broken in a world, or looked at. Answers as [`Promises::never_comes`].
    pub(super) fn is_late(
        &self,
        number: usize,
        scene: &WorldState,
        alone: &mut TimeAlone,
    ) -> Result<(bool, bool), Fault> {
        let Some(promise) = self.list.get(number) else { return Ok((false, false)) };
        let PropertyKind::Eventually { goal, when, within } = &promise.property.kind else {
            return Ok((false, false));
        };
        let mut looked = false;
        for entity in scene.entities().into_iter().filter(|it| promise.concerns(it)) {
            let asked = match when {
                Some(when) => self.test(when, scene, entity, None, None)?,
                None => true,
            };
            if !asked {
                continue;
            }
            looked = true;
            if self.test(goal, scene, entity, None, None)? {
                continue;
            }
            let broken = match self.fate(number, scene, &entity.key, goal, *within, alone)? {
                Fate::After(passed) => within.is_some_and(|it| passed > it),
                Fate::Never => true,
                Fate::Unknown => false,
            };
            if broken {
                return Ok((true, true));
            }
        }
        Ok((false, looked))
    }

    /// The same, compared with following the clocks from this world where tests run.
    pub(super) fn is_late_checked(
        &self,
        number: usize,
        scene: &WorldState,
        alone: &mut TimeAlone,
    ) -> Result<(bool, bool), Fault> {
        let late = self.is_late(number, scene, alone);
        debug_assert_eq!(
            late.as_ref().ok().copied(),
            self.never_comes(number, scene).ok().map(|it| (it.broken.is_some(), it.looked)),
            "what is remembered differs from what follows"
        );
        late
    }

    /// Follows the clocks until the fate of an entity is known.
    fn fate(
        &self,
        number: usize,
        scene: &WorldState,
        key: &EntityKey,
        goal: &Guard,
        within: Option<Span>,
        alone: &mut TimeAlone,
    ) -> Result<Fate, Fault> {
        let pair = FixedState::with_seed(9).hash_one((number, key));
        if alone.worlds.is_empty() {
            alone.worlds.push((scene.clone(), world_key(&self.cone, scene, &self.no_symmetry)));
        }
        let mut seen: BTreeMap<u128, Span> = BTreeMap::new();
        let mut at = 0;
        let (fate, end) = loop {
            let Some((now, world)) = alone.worlds.get(at) else { break (Fate::Unknown, scene.now) };
            let passed = now.now.since(scene.now);
            if within.is_some_and(|it| passed > it) {
                // It is too late here, and nothing is known about the worlds on the way.
                return Ok(Fate::Never);
            }
            if let Some(known) = self.fates.get((*world, pair)) {
                break (known, now.now);
            }
            match now.view.get(key) {
                Some(entity) if !self.test(goal, now, entity, None, None)? => {}
                _ => break (Fate::After(Span(0)), now.now),
            }
            // The same world again by time alone: it repeats forever.
            if let Some(earlier) = seen.insert(*world, passed) {
                let endless = within.is_none() || passed > earlier;
                break (if endless { Fate::Never } else { Fate::Unknown }, now.now);
            }
            if at + 1 >= CLOCKS {
                break (Fate::Unknown, now.now);
            }
            at += 1;
            if at == alone.worlds.len() && !alone.ended {
                match wait(&self.law, now) {
                    Some((after, _)) => {
                        let world = world_key(&self.cone, &after, &self.no_symmetry);
                        alone.worlds.push((after, world));
                    }
                    None => alone.ended = true,
                }
            }
            if at == alone.worlds.len() {
                break (Fate::Never, scene.now);
            }
        };
        let since = |now: &WorldState| match fate {
            Fate::After(left) => Fate::After(Span(end.since(now.now).0.saturating_add(left.0))),
            other => other,
        };
        let way = alone.worlds.iter().take(at + 1).map(|(now, world)| ((*world, pair), since(now)));
        self.fates.remember(way);
        Ok(alone.worlds.first().map_or(fate, |(first, _)| since(first)))
    }

    /// Finds the first entity of an `eventually` for which the condition never becomes true.
    pub(super) fn never_comes(&self, number: usize, scene: &WorldState) -> Result<Later, Fault> {
        let mut later = Later::default();
        let Some(promise) = self.list.get(number) else { return Ok(later) };
        let PropertyKind::Eventually { goal, when, within } = &promise.property.kind else {
            return Ok(later);
        };
        for entity in scene.entities().into_iter().filter(|it| promise.concerns(it)) {
            let asked = match when {
                Some(when) => self.test(when, scene, entity, None, None)?,
                None => true,
            };
            if !asked {
                continue;
            }
            later.looked = true;
            let ends = self.wait_for(scene, &entity.key, goal, *within)?;
            if !matches!(ends, Ends::True | Ends::Unknown) {
                later.broken = Some((entity.key.clone(), ends));
                return Ok(later);
            }
        }
        Ok(later)
    }

    fn wait_for(
        &self,
        scene: &WorldState,
        key: &EntityKey,
        goal: &Guard,
        within: Option<Span>,
    ) -> Result<Ends, Fault> {
        let mut now = scene.clone();
        let mut seen: BTreeSet<u128> = BTreeSet::new();
        for _ in 0..CLOCKS {
            let passed = now.now.since(scene.now);
            if within.is_some_and(|it| passed > it) {
                return Ok(Ends::Late(passed));
            }
            match now.view.get(key) {
                Some(entity) if !self.test(goal, &now, entity, None, None)? => {}
                _ => return Ok(Ends::True),
            }
            // The same world again by time alone: it repeats forever.
            if within.is_none() && !seen.insert(world_key(&self.cone, &now, &self.no_symmetry)) {
                return Ok(Ends::Rounds);
            }
            match wait(&self.law, &now) {
                Some((after, _)) => now = after,
                None => return Ok(Ends::Silence(passed)),
            }
        }
        Ok(Ends::Unknown)
    }
}

/// The result of waiting.
#[derive(Clone, Debug, Default)]
pub(crate) struct Later {
    /// Whether there was an entity to wait for.
    pub(crate) looked: bool,
    pub(crate) broken: Option<(EntityKey, Ends)>,
}
