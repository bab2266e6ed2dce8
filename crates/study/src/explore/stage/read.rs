//! From a stage file to a stage.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::scenario::{ScenarioFile, opening};
use trackside_engine::Law;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::model::{FieldType, Pack, Take};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{At, FileId, FromNode, Json, Named, Problems, Sources, read};

use super::syntax::StageFile;
use super::{DEPTH, ExploreStage, WORLDS};
use crate::explore::search::SearchBound;
use crate::explore::world::{Cone, Samples, WorldState};

/// Reads a stage file. Errors go to `problems`.
pub fn read_stage(
    law: &Arc<Law>,
    sources: &Sources,
    file: FileId,
    problems: &mut Problems,
) -> Option<ExploreStage> {
    let node = read(sources, file, problems)?;
    let before = problems.count();
    let file = StageFile::from_node(&node, problems)?;
    if problems.count() > before {
        return None;
    }
    stage(law, file, problems)
}

fn stage(law: &Arc<Law>, file: StageFile, problems: &mut Problems) -> Option<ExploreStage> {
    let frame = ScenarioFile {
        pack: file.pack.clone(),
        now: file.now,
        zone: file.zone,
        people: file.people,
        settings: file.settings,
        actors: file.actors,
        given: file.given,
        scenarios: None,
        matrix: None,
    };
    let (world, actors) = opening(law, &frame, problems)?;
    let pack = law.pack(&file.pack.it)?.clone();
    let before = problems.count();
    let mut asks: BTreeMap<Name, BTreeMap<Name, Vec<Fields>>> = BTreeMap::new();
    for (name, samples) in file.asks.iter() {
        if let Some((life, transition)) = transition(&pack, name, problems) {
            let takes = sampled_fields(&pack, &life, &transition);
            samples.iter().for_each(|it| fits(it, &takes, &name.it, problems));
            let samples = samples.iter().map(fields).collect();
            asks.entry(life).or_default().insert(transition, samples);
        }
    }
    let mut creates = Vec::new();
    for (name, with) in file.creates.iter() {
        match EntityKey::parse(&name.it)
            .filter(|key| pack.lifecycles.iter().any(|it| it.name == key.lifecycle))
        {
            Some(key) => {
                fits(with, &sampled_fields(&pack, &key.lifecycle, "create"), &name.it, problems);
                creates.push((key, fields(with)));
            }
            None => {
                problems
                    .error("unknown-name", name.at, format!("`{}` is not LIFECYCLE/ID of this pack", name.it))
                    .hint(format!("its lifecycles are {}", lifecycle_names(&pack)));
            }
        }
    }
    let mut names = |list: Option<&trackside_lifecycle::source::OneOrMany<At<Name>>>| {
        let all: Vec<At<Name>> = list.iter().flat_map(|it| it.iter()).cloned().collect();
        for name in &all {
            if !pack.lifecycles.iter().any(|it| it.name == name.it) {
                transition(&pack, name, problems);
            }
        }
        all.into_iter().map(|it| it.it).collect::<Vec<Name>>()
    };
    let only = names(file.only.as_ref());
    let without = names(file.without.as_ref());
    if problems.count() > before {
        return None;
    }
    let bound = SearchBound {
        worlds: file.worlds.map_or(WORLDS, |it| it as usize),
        depth: file.depth.unwrap_or(DEPTH),
    };
    let stage = ExploreStage {
        name: file.stage.it,
        about: file.about.unwrap_or_default(),
        law: law.clone(),
        pack,
        start: WorldState::new(world.view, world.now),
        actors,
        bound,
        creates,
        asks,
        unasked: Vec::new(),
        cut: Vec::new(),
        only,
        without,
    };
    Some(stage.with_samples())
}

impl ExploreStage {
    /// Samples are generated where the stage gives none.
    pub(super) fn with_samples(mut self) -> Self {
        let mut ids: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
        for entity in self.start.entities() {
            ids.entry(entity.key.lifecycle.clone()).or_default().push(entity.key.id.clone());
        }
        for (key, _) in &self.creates {
            let known = ids.entry(key.lifecycle.clone()).or_default();
            if !known.contains(&key.id) {
                known.push(key.id.clone());
            }
        }
        let actors: Vec<Name> = self.actors.iter().map(|it| it.id.clone()).collect();
        let pack = self.pack.clone();
        let cone = Cone::of(&pack);
        for life in &pack.lifecycles {
            let samples = Samples::new(life, &cone, actors.clone(), ids.clone(), self.start.now);
            for transition in &life.transitions {
                let known = self.asks.get(&life.name).is_some_and(|it| it.contains_key(&transition.name));
                let asked = self.is_asked(&life.name, &transition.name);
                if known || !asked {
                    continue;
                }
                let (thought, cut) = samples.of(transition);
                if cut {
                    self.cut.push((life.name.clone(), transition.name.clone()));
                }
                if thought.is_empty() {
                    self.unasked.push((life.name.clone(), transition.name.clone()));
                }
                self.asks.entry(life.name.clone()).or_default().insert(transition.name.clone(), thought);
            }
            let only: Vec<Name> = life.transitions.iter().map(|it| it.name.clone()).collect();
            for name in only {
                if !self.is_asked(&life.name, &name)
                    && let Some(asks) = self.asks.get_mut(&life.name)
                {
                    asks.remove(&name);
                }
            }
        }
        let creates = std::mem::take(&mut self.creates);
        self.creates =
            creates.into_iter().filter(|(key, _)| self.is_asked(&key.lifecycle, "create")).collect();
        self
    }
}

/// `LIFECYCLE.TRANSITION`.
fn transition(pack: &Pack, name: &At<Name>, problems: &mut Problems) -> Option<(Name, Name)> {
    let (life, event) = name.it.rsplit_once('.').unwrap_or((&name.it, ""));
    let Some(life) = pack.lifecycles.iter().find(|it| it.name == *life) else {
        problems
            .error("unknown-name", name.at, format!("`{}` is not LIFECYCLE.TRANSITION of this pack", name.it))
            .hint(format!("its lifecycles are {}", lifecycle_names(pack)));
        return None;
    };
    if event == "create" {
        return Some((life.name.clone(), Name::new(event)));
    }
    if life.transition(event).is_none() {
        let known: Vec<&str> = life.transitions.iter().map(|it| it.name.as_str()).collect();
        let problem =
            problems.error("unknown-name", name.at, format!("{} has no transition `{event}`", life.name));
        problem.hint(match nearest(event, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its transitions are {}", known.join(", ")),
        });
        return None;
    }
    Some((life.name.clone(), Name::new(event)))
}

fn lifecycle_names(pack: &Pack) -> String {
    let names: Vec<&str> = pack.lifecycles.iter().map(|it| it.name.as_str()).collect();
    names.join(", ")
}

fn fields(from: &Named<Json>) -> Fields {
    from.iter().map(|(name, Json(value))| (name.it.clone(), value.clone())).collect()
}

/// Sample requests of a transition or of creation.
fn sampled_fields<'a>(pack: &'a Pack, life: &Name, transition: &str) -> Vec<(Name, Option<&'a FieldType>)> {
    let Some(life) = pack.lifecycles.iter().find(|it| it.name == *life) else { return Vec::new() };
    let mut all: Vec<(Name, Option<&FieldType>)> = Vec::new();
    let mut add = |takes: &'a [Take]| all.extend(takes.iter().map(|it| (it.name.clone(), Some(&it.fits))));
    if transition == "create" {
        add(&life.create.takes);
    }
    for arm in life.transition(transition).iter().flat_map(|it| &it.arms) {
        add(&arm.takes);
    }
    life.gates.iter().filter(|it| it.binds(transition)).for_each(|it| add(&it.takes));
    // A target that the caller names.
    all.push((Name::new("to"), None));
    all
}

/// A sample that no caller could send would always be refused without notice.
fn fits(sample: &Named<Json>, takes: &[(Name, Option<&FieldType>)], what: &Name, problems: &mut Problems) {
    for (name, Json(value)) in sample.iter() {
        let known: Vec<_> = takes.iter().filter(|(it, _)| *it == name.it).collect();
        if known.is_empty() {
            let names: Vec<&str> =
                takes.iter().filter(|(_, it)| it.is_some()).map(|(it, _)| it.as_str()).collect();
            let problem =
                problems.error("unexpected-field", name.at, format!("{what} does not take `{}`", name.it));
            problem.hint(match (nearest(&name.it, names.iter().copied()), names.is_empty()) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, true) => "it takes nothing".to_owned(),
                (None, false) => format!("it takes {}", names.join(", ")),
            });
            continue;
        }
        let wrong: Vec<_> =
            known.iter().filter_map(|(_, it)| it.map(|it| it.accept(&name.it, value))).collect();
        if !wrong.is_empty()
            && wrong.iter().all(Result::is_err)
            && let Some(Err(misfits)) = wrong.into_iter().next()
        {
            let said: Vec<String> = misfits.into_iter().map(|it| it.message).collect();
            problems.error("invalid-field", name.at, said.join("; "));
        }
    }
}
