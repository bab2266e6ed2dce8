//! A transition is shown as open exactly if it can be taken, in every world that a scenario ends in.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod folder;

use std::path::Path;
use std::sync::Arc;

use trackside_engine::actor::Actor;
use trackside_engine::command::Command;
use trackside_engine::decide::{TransitionOption, transition_options};
use trackside_engine::fields::Fields;
use trackside_engine::trace::Trace;
use trackside_engine::{Decision, Law, decide_briefly};
use trackside_lifecycle::source::Problems;
use trackside_study::scenario::{self, Played};

use folder::{add, pack, yaml_in};

/// Transitions that were open and could be taken without fields, and refused ones.
#[derive(Default)]
struct TransitionCounts {
    open: usize,
    refused: usize,
    worlds: usize,
}

/// One of this many worlds is checked: each check tries every move of every entity for every actor.
const EVERY: usize = 5;

fn agrees(folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let (compiled, mut sources) = pack(&folder);
    let law = Arc::new(Law::new([compiled]));
    let mut problems = Problems::default();
    let mut seen = TransitionCounts::default();
    for path in yaml_in(&folder.join("scenarios")) {
        let file = add(&mut sources, &path);
        let scenarios = scenario::read_file(&sources, file, &mut problems).expect("a scenario file");
        let trace = Arc::new(Trace::default());
        scenario::run_watched(&law, &scenarios, &trace, &mut problems, &mut |it| compare(it, &mut seen));
    }
    assert!(seen.open > 20 && seen.refused > 20, "{} open, {} refused", seen.open, seen.refused);
}

fn compare(played: &Played<'_>, seen: &mut TransitionCounts) {
    seen.worlds += 1;
    if seen.worlds % EVERY != 1 {
        return;
    }
    let world = played.world;
    for (id, kinds) in &played.journal().about.actors {
        for (kind, roles) in kinds {
            let actor = Actor::new(id.clone(), *kind).with_roles(roles.iter().cloned());
            for entity in world.view.entities() {
                let ways = transition_options(&world.law, &world.view, entity, &actor, world.now).unwrap();
                for way in &ways {
                    let of_event: Vec<&TransitionOption> =
                        ways.iter().filter(|it| it.event == way.event).collect();
                    let fire =
                        Command::fire(actor.clone(), entity.key.clone(), &way.event, Fields::default());
                    let decision = world.dry_run(&fire);
                    let place = format!("{}: {id} on {}: {way:#?}", played.scenario, entity.key);
                    let brief = decide_briefly(&world.law, &world.view, &fire, world.now).unwrap();
                    match (&decision, brief) {
                        (Decision::Accepted(full), Decision::Accepted(brief)) => {
                            assert_eq!(full.entries, brief.entries, "{place}");
                        }
                        (Decision::Refused(full), Decision::Refused(brief)) => {
                            assert_eq!(full.code, brief.code, "{place}");
                        }
                        (_, brief) => panic!("{brief:?} in brief. {place}"),
                    }
                    match decision {
                        Decision::Accepted(_) => {
                            let open = of_event.iter().any(|it| it.is_open() && !it.needs_anything());
                            assert!(open, "it can be done but is not open. {place}");
                            seen.open += 1;
                        }
                        // An actor that may not see the entity does not see its transitions either.
                        Decision::Refused(refusal) if refusal.code.as_str() == "unknown-entity" => {}
                        Decision::Refused(refusal) => {
                            let closed = !way.is_open() || way.needs_anything();
                            assert!(closed, "it is open but cannot be done: {refusal}. {place}");
                            seen.refused += 1;
                        }
                        other => panic!("{other:?}. {place}"),
                    }
                }
            }
        }
    }
}

#[test]
fn open_moves_of_mission_can_be_taken() {
    agrees("../../packs/mission");
}

#[test]
fn open_moves_of_build_can_be_taken() {
    agrees("../../packs/build");
}

#[test]
fn open_moves_of_coding_can_be_taken() {
    agrees("../../packs/coding");
}

#[test]
fn open_moves_of_turns_can_be_taken() {
    agrees("../../packs/turns");
}

#[test]
fn open_moves_of_research_can_be_taken() {
    agrees("../../packs/research");
}
