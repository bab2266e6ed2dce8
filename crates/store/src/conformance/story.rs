//! Journals that packs have written, with the state that was lived through.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use trackside_engine::event::{Entry, Event};
use trackside_engine::trace::Trace;
use trackside_engine::view::View;
use trackside_engine::{Law, apply};
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::source::{Problems, Sources};
use trackside_study::scenario;

use crate::projection_builder::StateBefore;
use crate::{Projection, ProjectionBuilder};

pub(super) struct ConformanceStory {
    /// The pack and the scenario.
    pub name: String,
    pub law: Arc<Law>,
    pub entries: Vec<Entry>,
    /// The resulting view.
    pub view: View,
}

/// The longest stories of every pack, and one at least for every kind of event that it knows.
pub(super) fn stories() -> &'static [ConformanceStory] {
    static STORIES: OnceLock<Vec<ConformanceStory>> = OnceLock::new();
    STORIES.get_or_init(|| {
        let packs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs");
        let mut folders: Vec<PathBuf> =
            std::fs::read_dir(packs).unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_dir()).collect();
        folders.sort();
        assert!(folders.len() >= 5, "the packs are there");
        folders.iter().flat_map(|it| telling(told_by(it))).collect()
    })
}

/// Plays every scenario of a pack.
fn told_by(folder: &Path) -> Vec<ConformanceStory> {
    let mut sources = Sources::default();
    let mut add =
        |path: &Path| sources.add(path.display().to_string(), std::fs::read_to_string(path).unwrap());
    let pack = add(&folder.join("pack.yaml"));
    let lifecycles = yaml_in(&folder.join("lifecycles")).iter().map(|it| add(it)).collect();
    let files: Vec<_> = yaml_in(&folder.join("scenarios")).iter().map(|it| add(it)).collect();
    let Ok((pack, _)) = compile(&sources, &PackFiles { pack, lifecycles }) else {
        panic!("{} is no pack", folder.display());
    };
    let law = Arc::new(Law::new([pack]));
    let mut stories = Vec::new();
    for file in files {
        let mut problems = Problems::default();
        let mut scenarios = scenario::read_file(&sources, file, &mut problems).unwrap();
        // Tables test refusals and write almost nothing; a third of the other scenarios is enough.
        scenarios.matrix = None;
        let mut number = 0;
        if let Some(list) = &mut scenarios.scenarios {
            list.retain(|_| {
                number += 1;
                number % 3 == 0
            });
        }
        let mut watch = |played: &scenario::Played<'_>| {
            let name = format!("{}: {}", folder.display(), played.scenario);
            let (entries, view) = (played.world.journal.clone(), played.world.view.clone());
            stories.push(ConformanceStory { name, law: law.clone(), entries, view });
        };
        scenario::run_watched(&law, &scenarios, &Arc::new(Trace::default()), &mut problems, &mut watch);
    }
    stories
}

fn telling(mut stories: Vec<ConformanceStory>) -> Vec<ConformanceStory> {
    let mut seen: BTreeSet<&'static str> = BTreeSet::new();
    stories.sort_by_key(|it| std::cmp::Reverse(it.entries.len()));
    let mut most = 3;
    stories.retain(|story| {
        let new = story.entries.iter().filter(|it| seen.insert(it.event.kind().as_str())).count();
        most -= i32::from(most > 0);
        new > 0 || most > 0
    });
    stories
}

fn yaml_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == "yaml"));
    files.sort();
    files
}

/// Applies entries, and builds projections of so many at a time.
pub(super) fn projected(law: &Law, view: &mut View, entries: &[Entry], every: usize) -> Vec<Projection> {
    let mut all = Vec::new();
    for some in entries.chunks(every) {
        let mut builder = ProjectionBuilder::new(view.seq);
        for entry in some {
            builder.add(entry, view.get(&entry.entity).map(StateBefore::of).as_ref());
            apply(view, entry);
        }
        let images: BTreeMap<_, _> =
            builder.touched_entities().map(|it| (it.clone(), view.image(it))).collect();
        for entity in images.into_values().flatten() {
            let life = law.definition(&entity.key.lifecycle, entity.definition).unwrap().clone();
            builder.entity(entity, &life);
        }
        let changed = some.iter().any(|it| matches!(it.event, Event::ProjectChanged { .. }));
        if all.is_empty() || changed {
            builder.project(view.project.clone());
        }
        all.push(builder.build());
    }
    all
}
