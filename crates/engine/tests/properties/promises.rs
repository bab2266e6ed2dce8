//! The promises.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::view::{Project, View};
use trackside_engine::world::{Outcome, World};
use trackside_engine::{Decision, Law, apply, decide};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use crate::definition::{RandomDefinition, definitions};
use crate::walk::{PropertyStep, command, span, steps};

const LIFECYCLE: &str = "made.thing";

fn start(law: Arc<Law>) -> World {
    World::new(law, Project::default(), Timestamp::parse("2026-01-01T00:00:00Z").unwrap())
}

/// Takes a step; a refused command must leave everything as it was.
fn take(world: &mut World, step: &PropertyStep) {
    match step {
        PropertyStep::Advance(seconds) => world.advance(span(*seconds)),
        PropertyStep::Sweep => world.sweep(),
        _ => {
            let command = command(step, world, LIFECYCLE).expect("a command");
            let once = decide(&world.law, &world.view, &command, world.now);
            let twice = decide(&world.law, &world.view, &command, world.now);
            assert_eq!(format!("{once:?}"), format!("{twice:?}"), "deciding is deterministic");
            let before = (world.view.clone(), world.journal.len());
            let outcome = world.submit(&command);
            match outcome {
                Outcome::Accepted { .. } => assert!(matches!(once, Ok(Decision::Accepted(_)))),
                Outcome::Refused(refusal) => {
                    assert!(!refusal.errors.is_empty(), "a refusal says why: {refusal:?}");
                    assert_eq!(before.0, world.view, "a refused command changes nothing");
                    assert_eq!(before.1, world.journal.len());
                }
                Outcome::Replayed { .. } => assert_eq!(before.1, world.journal.len()),
            }
        }
    }
}

fn replay(journal: &[Entry]) -> View {
    let mut view = View::default();
    for entry in journal {
        apply(&mut view, entry);
    }
    view
}

type Members = BTreeMap<Name, BTreeSet<EntityKey>>;

/// Recounts the groups from the entities themselves.
fn recount(view: &View) -> BTreeMap<GroupKey, (BTreeMap<Name, u64>, Members)> {
    let mut groups: BTreeMap<GroupKey, (BTreeMap<Name, u64>, Members)> = BTreeMap::new();
    for entity in view.entities() {
        for id in entity.ids("parent_id") {
            let group = GroupKey { of: EntityKey::new(LIFECYCLE, id), name: Name::new("kids") };
            let (counts, members) = groups.entry(group).or_default();
            *counts.entry(entity.state.clone()).or_default() += 1;
            members.entry(entity.state.clone()).or_default().insert(entity.key.clone());
        }
    }
    groups
}

fn promises(definition: &RandomDefinition, world: &World) {
    // Replaying the events gives the same state, also when they were stored as text in between.
    let view = replay(&world.journal);
    assert_eq!(view, world.view, "replay equals live");
    let text: Vec<String> = world.journal.iter().map(|it| serde_json::to_string(it).unwrap()).collect();
    let stored: Vec<Entry> = text.iter().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(stored, world.journal, "entries read back as they were written");

    // Numbers without gaps; versions never fall.
    let mut versions: BTreeMap<&EntityKey, u64> = BTreeMap::new();
    for (n, entry) in world.journal.iter().enumerate() {
        assert_eq!(entry.seq, n as u64 + 1);
        let before = versions.insert(&entry.entity, entry.version).unwrap_or(0);
        assert!(entry.version >= before, "{entry:?}");
        assert!(entry.cause.is_none_or(|it| it < entry.seq), "a cause comes before: {entry:?}");
    }

    // No event leads outside the definition.
    let edges = definition.edges();
    for entry in &world.journal {
        if let Event::Transitioned { from, to, .. } = &entry.event {
            let edge = (entry.trigger.to_string(), from.to_string(), to.to_string());
            assert!(edges.contains(&edge), "{edge:?} is no edge of\n{}", definition.yaml());
        }
    }

    // Counts equal a recount.
    let groups = recount(&world.view);
    for (key, (counts, members)) in &groups {
        let group = world.view.group(key).here().expect("the group");
        assert_eq!((&group.counts, &group.members), (counts, members), "{key:?}");
    }

    for entity in world.view.entities() {
        // Invariants hold after every step.
        let n = entity.fields.get("n").and_then(|it| it.as_int()).unwrap_or(0);
        assert!(n <= definition.ceiling, "{entity:?}");
        for (_, timer) in &entity.timers {
            assert!(timer.due.is_none_or(|it| it > world.now), "nothing due was left lying: {entity:?}");
            assert!(timer.due.is_none() || timer.running_since.is_some());
        }
        let visits: u32 = entity.stays.iter().map(|it| it.visits).sum();
        let entries = world.journal.iter().filter(|it| it.entity == entity.key);
        let entered = entries.filter(|it| match &it.event {
            Event::Created { .. } | Event::Transitioned { .. } => true,
            Event::Corrected { from, to, .. } => from.as_ref() != Some(to),
            _ => false,
        });
        assert_eq!(visits as usize, entered.count(), "every entry of a state is counted: {entity:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_promises_hold_for_any_definition_and_any_commands(definition in definitions(), steps in steps()) {
        let law = Arc::new(definition.law());
        let mut world = start(law);
        for step in &steps {
            take(&mut world, step);
        }
        promises(&definition, &world);
    }

    #[test]
    fn warnings_come_once_per_entry(definition in definitions(), steps in steps()) {
        let mut world = start(Arc::new(definition.law()));
        for step in &steps {
            take(&mut world, step);
        }
        // Between two entries of a state, each percentage of its clock is reported at most once.
        let mut told: BTreeSet<(EntityKey, String, u32)> = BTreeSet::new();
        for entry in &world.journal {
            match &entry.event {
                Event::Created { .. } | Event::Transitioned { .. } | Event::Corrected { .. } => {
                    told.retain(|(key, _, _)| *key != entry.entity);
                }
                Event::TimeoutWarned { timer, percent, .. } => {
                    let fresh = told.insert((entry.entity.clone(), timer.to_string(), *percent));
                    prop_assert!(fresh, "reported twice: {entry:?}");
                }
                _ => {}
            }
        }
    }

    #[test]
    fn one_holder_per_lease_and_fences_only_grow(definition in definitions(), steps in steps()) {
        let mut world = start(Arc::new(definition.law()));
        for step in &steps {
            take(&mut world, step);
        }
        let mut fences: BTreeMap<EntityKey, (u64, bool)> = BTreeMap::new();
        for entry in &world.journal {
            match &entry.event {
                Event::LeaseGranted { lease, .. } => {
                    let (fence, _) = fences.insert(entry.entity.clone(), (lease.fence, true)).unwrap_or((0, false));
                    prop_assert!(lease.fence > fence);
                }
                Event::LeaseReleased { .. } | Event::LeaseLost { .. } => {
                    if let Some(held) = fences.get_mut(&entry.entity) {
                        held.1 = false;
                    }
                }
                _ => {}
            }
        }
    }
}
