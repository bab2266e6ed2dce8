//! The lives of entities as the engine lived them, for others to walk after it.
//!
//! A path is one life: where it starts, and for each step the event, the arm and the choice that the engine took, and the
//! state it was in afterwards. `scripts/check-exports` lets other people's state machines walk them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackside_engine::actor::ActorKind;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_engine::trace::Point;
use trackside_lifecycle::model::{Aim, Lifecycle, Target};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{Problems, Sources};
use trackside_random::Random;
use trackside_study::scenario;

use crate::folder::{add, yaml_in};
use crate::packs::{self, WalkPack};
use crate::setup::WalkSetup;
use crate::walk::RandomWalk;

/// Steps of one walk.
const STEPS: usize = 120;

/// One life of an entity, from its start or from being created again, to its end or the end of the walk.
#[derive(Debug)]
struct EntityLife {
    start: Name,
    /// It was put into its first state, not created.
    put: bool,
    /// The step by which an earlier life was left.
    again: Option<Json>,
    steps: Vec<Json>,
    /// It reached a final state.
    ended: bool,
}

/// One step as the engine took it.
#[derive(Clone, Copy, Debug)]
struct TakenStep {
    arm: usize,
    choice: usize,
    /// The caller or a field named the target.
    named: bool,
}

/// Every life of every lifecycle of a pack.
#[derive(Debug, Default)]
pub(crate) struct EntityPaths {
    lives: BTreeMap<Name, Vec<EntityLife>>,
    /// The life that each entity is in.
    under_way: BTreeMap<EntityKey, EntityLife>,
    /// Paths of scenarios, which often repeat each other: each is kept once.
    known: Option<BTreeSet<String>>,
    /// Moves that more than one of the rules taken in the same step explain.
    unsure: usize,
}

impl EntityPaths {
    /// The paths of this many walks over a pack.
    pub(crate) fn from_walks(pack: &str, walks: u64) -> Self {
        let ground = WalkPack::load(pack);
        let mut paths = Self::default();
        for walk in 0..walks {
            let mut dice = Random::new(walk.wrapping_mul(7_919).wrapping_add(11));
            let setup = WalkSetup::random(&ground, &mut dice);
            let mut walk = RandomWalk::new(&ground, &Arc::default(), &setup);
            paths.follow(&ground, &walk.so_far(), &BTreeSet::new());
            let mut opening = walk.opening().into_iter();
            for _ in 0..STEPS {
                let step = opening.next().unwrap_or_else(|| walk.think(&mut dice));
                let (entries, points) = walk.step_with_coverage(&step);
                paths.follow(&ground, &entries, &points);
            }
            paths.end();
        }
        paths
    }

    /// Plays every scenario of a pack.
    pub(crate) fn play(&mut self, pack: &str) {
        let ground = WalkPack::load(pack);
        self.known = Some(BTreeSet::new());
        let mut sources = Sources::default();
        let mut problems = Problems::default();
        for path in yaml_in(&packs::folder().join(pack).join("scenarios")) {
            let file = add(&mut sources, &path);
            let file = scenario::read_file(&sources, file, &mut problems).expect("a scenario file");
            scenario::run_watched(&ground.law, &file, &Arc::default(), &mut problems, &mut |ended| {
                self.follow(&ground, &ended.world.journal, &ended.trace.points());
                self.end();
            });
        }
    }

    /// The number of paths.
    pub(crate) fn count(&self) -> usize {
        self.lives.values().map(Vec::len).sum()
    }

    /// Writes one file per lifecycle.
    pub(crate) fn write(self, folder: &Path) {
        let mut steps = 0;
        for (name, lives) in &self.lives {
            steps += lives.iter().map(|it| it.steps.len()).sum::<usize>();
            let paths: Vec<Json> = lives
                .iter()
                .map(|it| {
                    let start = it.start.as_str();
                    json!({ "start": start, "put": it.put, "again": it.again, "steps": it.steps, "ended": it.ended })
                })
                .collect();
            let file = json!({ "lifecycle": name.as_str(), "paths": paths });
            std::fs::write(folder.join(format!("{name}.json")), file.to_string()).unwrap();
        }
        let (paths, unsure) = (self.count(), self.unsure);
        println!("{paths} paths, {steps} steps, {unsure} of them explained by more than one rule");
    }

    fn follow(&mut self, ground: &WalkPack, entries: &[Entry], points: &BTreeSet<Point>) {
        for entry in entries {
            // Entries of the project itself have no lifecycle.
            let Some(life) = ground.life(&entry.entity.lifecycle) else { continue };
            match &entry.event {
                Event::Created { state, .. } => self.begin(entry, state.clone(), false, None),
                Event::Corrected { to, .. } => {
                    if self.under_way.contains_key(&entry.entity) {
                        self.close(&entry.entity, false);
                    }
                    if life.state(to).is_some_and(|it| !it.last) {
                        self.begin(entry, to.clone(), true, None);
                    }
                }
                Event::Transitioned { from, to, .. } => {
                    let step = self.step(life, entry, points, from, Some(to));
                    match self.under_way.get_mut(&entry.entity) {
                        Some(under_way) => under_way.steps.push(step),
                        None => self.begin(entry, to.clone(), false, Some(step)),
                    }
                    if life.state(to).is_some_and(|it| it.last) {
                        self.close(&entry.entity, true);
                    }
                }
                // A field that a scenario sets on an existing entity is no event of its own.
                Event::FieldsChanged { .. } if entry.trigger != "given" => {
                    let Some(under_way) = self.under_way.get(&entry.entity) else { continue };
                    let here = under_way.here();
                    let step = self.step(life, entry, points, &here, None);
                    self.under_way.get_mut(&entry.entity).unwrap().steps.push(step);
                }
                _ => {}
            }
        }
    }

    fn begin(&mut self, entry: &Entry, start: Name, put: bool, again: Option<Json>) {
        self.under_way
            .insert(entry.entity.clone(), EntityLife { start, put, again, steps: Vec::new(), ended: false });
    }

    fn close(&mut self, entity: &EntityKey, ended: bool) {
        let life = self.under_way.remove(entity).expect("a life under way");
        if life.steps.is_empty() {
            return;
        }
        let life = EntityLife { ended, ..life };
        let told = format!("{} {life:?}", entity.lifecycle);
        if self.known.as_mut().is_some_and(|it| !it.insert(told)) {
            return;
        }
        self.lives.entry(entity.lifecycle.clone()).or_default().push(life);
    }

    fn end(&mut self) {
        for entity in self.under_way.keys().cloned().collect::<Vec<_>>() {
            self.close(&entity, false);
        }
    }

    fn step(
        &mut self,
        life: &Lifecycle,
        entry: &Entry,
        points: &BTreeSet<Point>,
        from: &Name,
        to: Option<&Name>,
    ) -> Json {
        let taken = explain_step(life, points, &entry.trigger, from, to);
        self.unsure += usize::from(taken.len() > 1);
        let Some(TakenStep { arm, choice, named }) = taken.first() else {
            panic!("{}: no rule explains {} from {from} to {to:?}", life.name, entry.trigger)
        };
        json!({
            "event": step_name(life, entry),
            "arm": arm,
            "choice": choice,
            "from": from.as_str(),
            "to": to.unwrap_or(from).as_str(),
            "stay": to.is_none(),
            "named": named,
        })
    }
}

impl EntityLife {
    fn here(&self) -> Name {
        let last = self.steps.last().and_then(|it| it["to"].as_str());
        last.map_or_else(|| self.start.clone(), Name::new)
    }
}

/// The name of the event in an export: timers and lost leases by their own names, everything else by the
/// transition.
fn step_name(life: &Lifecycle, entry: &Entry) -> String {
    match &entry.condition {
        Some(condition) if entry.actor_kind == ActorKind::Timeout => {
            let fires = |name: &str| {
                life.timer(name).and_then(|it| it.then.as_ref()).is_some_and(|it| it.fire == entry.trigger)
            };
            if fires(condition) {
                return match condition.strip_suffix(".retain") {
                    Some(state) => format!("retain.{state}"),
                    None => format!("timer.{condition}"),
                };
            }
            let lost = |slot: &str| life.slot(slot).and_then(|it| it.lost.clone());
            if condition.strip_prefix("lease.").and_then(lost).is_some_and(|it| it == entry.trigger) {
                return condition.to_string();
            }
            entry.trigger.to_string()
        }
        _ => entry.trigger.to_string(),
    }
}

/// The arms and choices that the engine took, as far as they lead from here to there.
fn explain_step(
    life: &Lifecycle,
    points: &BTreeSet<Point>,
    trigger: &Name,
    from: &Name,
    to: Option<&Name>,
) -> Vec<TakenStep> {
    let was = |what: &str| points.iter().any(|it| it.lifecycle == life.name && it.what == what);
    if *trigger == "always" {
        let always = &life.state(from).expect("a declared state").always;
        return (0..always.len())
            .filter(|n| {
                was(&format!("states.{from}.always.to[{n}]")) && leads(life, &always[*n].aim, from, to)
            })
            .map(|n| TakenStep { arm: 0, choice: n, named: is_named(&always[n].aim) })
            .collect();
    }
    let mut found = Vec::new();
    for arm in &life.transition(trigger).expect("a declared transition").arms {
        let label = match arm.index {
            0 => format!("transitions.{trigger}"),
            n => format!("transitions.{trigger}[{n}]"),
        };
        if !was(&format!("{label} from {from}")) {
            continue;
        }
        match &arm.target {
            Target::One(aim) if leads(life, aim, from, to) => {
                found.push(TakenStep { arm: arm.index, choice: 0, named: is_named(aim) });
            }
            Target::One(_) => {}
            Target::Choices(choices) => found.extend(
                (0..choices.len())
                    .filter(|n| was(&format!("{label}.to[{n}]")) && leads(life, &choices[*n].aim, from, to))
                    .map(|n| TakenStep { arm: arm.index, choice: n, named: is_named(&choices[n].aim) }),
            ),
        }
    }
    found
}

fn is_named(aim: &Aim) -> bool {
    matches!(aim, Aim::Field(_) | Aim::Ask { .. } | Aim::Next { of: Some(_) })
}

fn leads(life: &Lifecycle, aim: &Aim, from: &Name, to: Option<&Name>) -> bool {
    let Some(to) = to else { return *aim == Aim::Stay };
    match aim {
        Aim::Stay => false,
        Aim::State(it) => it == to,
        Aim::Field(_) | Aim::Next { of: Some(_) } => true,
        Aim::Ask { among, .. } => among.has(to),
        Aim::Next { of: None } => life.rank(from).zip(life.rank(to)).is_some_and(|(a, b)| b == a + 1),
        Aim::Table(table) => table.get(from) == Some(to),
    }
}
