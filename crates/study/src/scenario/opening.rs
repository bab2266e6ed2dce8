//! The initial world of a scenario file, for tools that continue from it.

use std::sync::Arc;

use trackside_engine::actor::Actor;
use trackside_engine::law::Law;
use trackside_engine::trace::Trace;
use trackside_engine::world::World;
use trackside_lifecycle::source::{Named, Problems};

use super::check::Checker;
use super::run::{ScenarioSetup, actors, plant};
use super::syntax::ScenarioFile;

/// The world of a file's `given`, `settings`, `people`, `now` and `zone`, and its actors.
pub fn opening(law: &Arc<Law>, file: &ScenarioFile, problems: &mut Problems) -> Option<(World, Vec<Actor>)> {
    let Some(pack) = law.pack(&file.pack.it).cloned() else {
        problems.error("unknown-name", file.pack.at, format!("there is no pack called `{}`", file.pack.it));
        return None;
    };
    let before = problems.count();
    Checker { law, pack: &pack, problems }.file(file);
    let stage = ScenarioSetup {
        law: law.clone(),
        file,
        actors: actors(&file.actors, problems),
        trace: Arc::new(Trace::default()),
    };
    if problems.count() > before {
        return None;
    }
    let mut world = match stage.world(&Named(Vec::new()), None, None, None) {
        Ok(world) => world,
        Err(why) => {
            problems.error("no-world", file.pack.at, why);
            return None;
        }
    };
    for (name, fields) in file.given.iter().flatten().flat_map(|it| it.iter()) {
        if let Err(why) = plant(&mut world, &name.it, fields) {
            problems.error("cannot-be-given", name.at, why);
            return None;
        }
    }
    Some((world, stage.actors.into_iter().map(|(_, it)| it).collect()))
}
