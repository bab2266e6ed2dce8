//! Bytes to a pack: `pack.yaml`, a line `%%%%`, a lifecycle; more lifecycles may follow.
//!
//! For every input, formatting and compiling return, and their errors can be printed. What compiles is then lived:
//! each lifecycle has an entity made, and every transition asked for by everybody.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use trackside_engine::Law;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::view::Project;
use trackside_engine::world::World;
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::format::format;
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::source::Sources;
use trackside_lifecycle::time::Timestamp;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut sources = Sources::new();
    let mut files =
        text.split("\n%%%%\n").enumerate().map(|(at, text)| sources.add(format!("{at}.yaml"), text));
    let Some(pack) = files.next() else { return };
    let lifecycles: Vec<_> = files.take(4).collect();
    for file in lifecycles.iter().copied().chain([pack]) {
        let _ = std::hint::black_box(format(&sources, file));
    }
    match compile(&sources, &PackFiles { pack, lifecycles }) {
        Ok((pack, warnings)) => {
            assert!(!warnings.has_errors());
            std::hint::black_box(format!("{pack:?}"));
            live(pack);
        }
        Err(problems) => {
            assert!(problems.has_errors(), "nothing compiled and nothing was said about it");
            std::hint::black_box((problems.render(&sources, false), problems.to_json(&sources)));
        }
    }
});

/// Most transitions tried of a lifecycle: a definition may name thousands.
const TRIED: usize = 32;

fn live(pack: Pack) {
    let roles: Vec<_> = pack.roles.keys().cloned().chain(["admin".into()]).collect();
    let kinds = [ActorKind::Human, ActorKind::Agent, ActorKind::System];
    let actors = kinds.map(|kind| Actor::new(kind.as_str(), kind).with_roles(roles.clone()));
    let lifecycles = pack.lifecycles.clone();
    let mut world = World::new(Arc::new(Law::new([pack])), Project::default(), Timestamp(0));
    for actor in &actors {
        for life in &lifecycles {
            let entity = EntityKey::new(life.name.clone(), "x");
            let fields = Fields::default();
            world.submit(&Command::new(actor.clone(), Ask::Create { entity: entity.clone(), fields }));
            for transition in life.transitions.iter().take(TRIED) {
                let command =
                    Command::fire(actor.clone(), entity.clone(), &transition.name, Fields::default());
                world.submit(&command.with_reason("fuzz"));
            }
        }
    }
    world.sweep();
}
