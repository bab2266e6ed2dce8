//! The abstraction allows every move that the law allows; otherwise its verdicts would prove nothing.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

#[path = "../../../crates/engine/tests/folder/mod.rs"]
mod folder;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event};
use trackside_engine::trace::{PointKind, Trace};
use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Pack, Read};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Problems;
use trackside_spin::{AbstractModel, ModelSize, SearchModel, abstractions, coarsest};
use trackside_study::explore::promise::Promises;
use trackside_study::explore::search::{Model, SearchBound, Watch, search};
use trackside_study::explore::stage::default_stage;
use trackside_study::explore::world::{Reduce, StageModel, WorldMove, WorldState};
use trackside_study::scenario;

const PACKS: [&str; 5] = ["build", "coding", "mission", "research", "turns"];

fn folder_of(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs").join(name)
}

/// The smaller and the larger models of every lifecycle, each for one entity.
fn models(pack: &Pack) -> BTreeMap<Name, Vec<AbstractModel>> {
    let alone = |mut it: AbstractModel| {
        it.entities = 1;
        it
    };
    // A little smaller than by default: these tests are not optimised.
    let size = ModelSize { worlds: 3_000, moves: 300 };
    let all = pack
        .lifecycles
        .iter()
        .map(|life| (life.name.clone(), abstractions(pack, life, size).into_iter().map(alone).collect()));
    all.collect()
}

/// Every world of a model, found in the plainest way there is.
fn worlds(model: &AbstractModel) -> BTreeSet<Vec<u8>> {
    let explored = SearchModel::new(model, false);
    let mut open = explored.starts();
    let mut all: BTreeSet<Vec<u8>> = open.iter().cloned().collect();
    while let Some(world) = open.pop() {
        let mut next = Vec::new();
        explored.moves(&world, &mut next);
        open.extend(next.into_iter().map(|it| it.1).filter(|it| all.insert(it.clone())));
    }
    all
}

#[test]
fn every_edge_that_a_scenario_takes_is_there() {
    let mut looked_at = 0;
    for name in PACKS {
        let (pack, mut sources) = folder::pack(&folder_of(name));
        // Scenarios change settings, so only a model with arbitrary settings covers all of them.
        let models: BTreeMap<Name, AbstractModel> =
            pack.lifecycles.iter().map(|it| (it.name.clone(), coarsest(&pack, it))).collect();
        let law = Arc::new(Law::new([pack]));
        let trace = Arc::new(Trace::default());
        let mut problems = Problems::default();
        for path in folder::yaml_in(&folder_of(name).join("scenarios")) {
            let file = folder::add(&mut sources, &path);
            let scenarios = scenario::read_file(&sources, file, &mut problems).expect("a scenario file");
            scenario::run(&law, &scenarios, &trace, &mut problems);
        }
        for point in trace.points().iter().filter(|it| it.kind == PointKind::Transition) {
            let Some((label, from)) = point.what.split_once(" from ") else { continue };
            let trigger = label.trim_start_matches("transitions.").split('[').next().unwrap();
            looked_at += 1;
            let model = &models[&point.lifecycle];
            let there = model
                .steps
                .iter()
                .any(|(before, by, _)| before.as_ref().is_some_and(|it| *it == *from) && *by == *trigger);
            assert!(there, "{}: {} is not in the model", point.lifecycle, point.what);
        }
    }
    assert!(looked_at > 500, "only {looked_at} edges were taken");
}

/// A model and all of its worlds.
type Explored = (AbstractModel, BTreeSet<Vec<u8>>);

/// Compares every world of the law with the models.
struct AbstractionCheck {
    law: Arc<Law>,
    models: BTreeMap<Name, Vec<Explored>>,
    people: [String; 2],
    looked_at: std::sync::atomic::AtomicUsize,
    wrong: std::sync::Mutex<BTreeSet<String>>,
}

impl AbstractionCheck {
    /// Whether an entity has its own settings: the models know only the defaults.
    fn own_settings(&self, entity: &Entity) -> bool {
        let Some(life) = self.law.newest(&entity.key.lifecycle) else { return false };
        let reads = life.settings.iter().flat_map(|it| &it.from).flat_map(Guard::reads);
        let reads = reads.filter_map(|it| life.reads.get(it.slot.0 as usize));
        let mut fields = reads.filter_map(|it| if let Read::Field(name) = it { Some(name) } else { None });
        fields.any(|it| !entity.fields.value(it).is_blank())
    }

    fn step(&self, entry: &Entry) {
        let (from, to) = match &entry.event {
            Event::Created { state, .. } => (None, state),
            Event::Transitioned { from, to, .. } => (Some(from.clone()), to),
            _ => return,
        };
        let step = (from, entry.trigger.clone(), to.clone());
        for (model, _) in self.models.get(&entry.entity.lifecycle).into_iter().flatten() {
            if !model.steps.contains(&step) {
                self.wrong.lock().unwrap().insert(format!("{}: no step {step:?}", model.lifecycle));
            }
        }
    }

    fn world(&self, scene: &WorldState) {
        let people = [self.people[0].as_str(), self.people[1].as_str()];
        for entity in scene.entities() {
            if self.own_settings(entity) {
                continue;
            }
            for (model, worlds) in self.models.get(&entity.key.lifecycle).into_iter().flatten() {
                let seen = model.abstract_values(entity, people);
                self.looked_at.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if !worlds.contains(&seen) {
                    let told = model.variables.iter().zip(&seen);
                    let told: Vec<String> = told
                        .map(|(it, value)| format!("{} {}", it.name, it.values[usize::from(*value)]))
                        .collect();
                    let text = format!("{}: the law gets to {}", model.lifecycle, told.join(", "));
                    self.wrong.lock().unwrap().insert(text);
                }
            }
        }
    }
}

impl Watch<StageModel<'_>> for AbstractionCheck {
    fn start(&self, scene: &WorldState) -> Vec<u32> {
        self.world(scene);
        Vec::new()
    }

    fn marks(&self, _: &WorldState, by: &WorldMove, after: &WorldState, new: bool) -> Vec<u32> {
        by.entries.iter().for_each(|it| self.step(it));
        if new {
            self.world(after);
        }
        Vec::new()
    }
}

#[test]
fn every_world_of_the_law_is_a_world_of_the_models() {
    for name in PACKS {
        let (pack, _) = folder::pack(&folder_of(name));
        let models = models(&pack);
        let models = models
            .into_iter()
            .map(|(name, all)| {
                let with_worlds = all.into_iter().map(|it| {
                    let worlds = worlds(&it);
                    (it, worlds)
                });
                (name, with_worlds.collect())
            })
            .collect();
        let law = Arc::new(Law::new([pack]));
        let pack = law.pack(name).unwrap().clone();
        let stage = default_stage(&law, &pack);
        let promises = Arc::new(Promises::of(&law, &pack));
        let agents: Vec<String> = stage.actors.iter().map(|it| it.id.to_string()).collect();
        let play = StageModel::new(&stage, promises, Reduce::Cone);
        let held = AbstractionCheck {
            law: law.clone(),
            models,
            people: [agents[0].clone(), agents[agents.len() - 1].clone()],
            looked_at: Default::default(),
            wrong: Default::default(),
        };
        search(&play, &held, &SearchBound { worlds: 800, depth: 100 }, 2);
        let wrong = held.wrong.into_inner().unwrap();
        assert!(wrong.is_empty(), "{}", wrong.iter().take(12).cloned().collect::<Vec<_>>().join("\n"));
        let looked_at = held.looked_at.into_inner();
        assert!(looked_at > 500, "{name}: only {looked_at} entities were looked at");
    }
}
