//! A pause of the server costs no holder its lease: every slot of every pack, after gaps of every length.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod folder;

use std::path::Path;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Seed};
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_engine::view::Project;
use trackside_engine::world::{Outcome, World};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};

use folder::pack;

const PACKS: [&str; 5] = ["mission", "build", "coding", "turns", "research"];

fn law(name: &str) -> Arc<Law> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs").join(name);
    Arc::new(Law::new([pack(&folder).0]))
}

/// A world with one entity in this state, whose slot is held by `ada`.
fn held(law: &Arc<Law>, key: &EntityKey, state: &Name, slot: &Name) -> World {
    let mut world = World::new(law.clone(), Project::default(), Timestamp(0));
    let leases = vec![(slot.clone(), Name::new("ada"))];
    let seed = Seed { state: Some(state.clone()), leases, ..Seed::new(key.clone()) };
    let actor = Actor::new("given", ActorKind::System);
    let outcome = world.submit(&Command::new(actor, Ask::Seed(seed)));
    assert!(matches!(outcome, Outcome::Accepted { .. }), "{outcome:?}");
    world
}

fn lost<'a>(entries: &'a [Entry], key: &EntityKey) -> Option<&'a Entry> {
    entries.iter().find(|it| it.entity == *key && matches!(it.event, Event::LeaseLost { .. }))
}

fn holder(world: &World, key: &EntityKey, slot: &Name) -> Option<Name> {
    world.view.get(key)?.lease(slot)?.holder.clone()
}

#[test]
fn after_a_gap_every_holder_has_one_full_period() {
    let (mut slots, mut spared) = (0, 0);
    for name in PACKS {
        let law = law(name);
        for lifecycle in law.lifecycle_names() {
            let life = law.newest(lifecycle).unwrap().clone();
            let key = EntityKey { lifecycle: life.name.clone(), id: Name::new("x") };
            for slot in &life.slots {
                slots += 1;
                for state in &life.states {
                    let timer = format!("lease.{}", slot.name);
                    let period = {
                        let world = held(&law, &key, &state.name, &slot.name);
                        let due = world.view.get(&key).unwrap().timer(&timer).unwrap().due.unwrap();
                        Span(due.0)
                    };
                    for gap in
                        [Span(1), Span(period.0 / 2), period, Span(period.0 + 1), Span(period.0 * 1_000)]
                    {
                        let what = format!("{key} {} {}, away for {gap}", state.name, slot.name);
                        let mut world = held(&law, &key, &state.name, &slot.name);
                        let before = world.view.get(&key).unwrap().lease(&slot.name).unwrap().clone();
                        world.restart(gap);
                        assert_eq!(lost(&world.journal, &key), None, "{what}");
                        // A deadline that was due may have ended it in an orderly way.
                        if holder(&world, &key, &slot.name).is_none() {
                            continue;
                        }
                        world.advance(Span(period.0 - 1));
                        assert_eq!(lost(&world.journal, &key), None, "{what}");
                        let Some(still) = world.view.get(&key).unwrap().lease(&slot.name).cloned() else {
                            continue;
                        };
                        if still.holder.is_none() {
                            continue;
                        }
                        assert_eq!((&still.holder, still.fence), (&before.holder, before.fence), "{what}");
                        spared += 1;
                        world.advance(Span(1));
                        assert!(lost(&world.journal, &key).is_some(), "{what}");
                    }
                }
            }
        }
    }
    assert_eq!(slots, 7, "slots of the packs");
    assert!(spared > 100, "{spared}");
}

#[test]
fn a_spared_lease_is_journalled_and_shown() {
    let law = law("coding");
    let (key, slot) = (EntityKey::new("coding.task", "x"), Name::new("work"));
    let mut world = held(&law, &key, &Name::new("IN_PROGRESS"), &slot);
    let lasts = world.view.get(&key).unwrap().lease(&slot).unwrap().expires_at;
    let first = world.journal.len();
    world.restart(Span(lasts.0 * 2));
    let entry = world.journal[first..]
        .iter()
        .find(|it| it.event.kind().as_str() == "LEASE_RENEWED")
        .expect("a renewal");
    assert_eq!(entry.condition.as_deref(), Some("resumed"));
    assert_eq!(entry.actor_kind, ActorKind::Timeout);
    assert!(entry.reason.as_ref().unwrap().contains("ada has one full period"), "{:?}", entry.reason);
    let entity = world.view.get(&key).unwrap();
    let until = entity.lease(&slot).unwrap().expires_at;
    assert_eq!(until, Timestamp(lasts.0 * 3));
    assert_eq!(entity.fields.value("lease_expires").as_time(), Some(until));
}

#[test]
fn a_second_gap_spares_again_until_a_heartbeat() {
    let law = law("mission");
    let (key, slot) = (EntityKey::new("mission.agent", "x"), Name::new("presence"));
    let mut world = held(&law, &key, &Name::new("ACTIVE"), &slot);
    let period = Span(world.view.get(&key).unwrap().timer("lease.presence").unwrap().due.unwrap().0);
    for _ in 0..3 {
        world.restart(Span(period.0 * 2));
        assert!(holder(&world, &key, &slot).is_some());
    }
    let actor = Actor::new("ada", ActorKind::Agent);
    let ask = Ask::Heartbeat { entity: key.clone(), slot: slot.clone(), fence: Some(1) };
    world.advance(Span(1));
    assert!(matches!(world.submit(&Command::new(actor, ask)), Outcome::Accepted { .. }));
    world.advance(Span(period.0 - 1));
    assert!(holder(&world, &key, &slot).is_some());
    world.advance(Span(1));
    assert!(holder(&world, &key, &slot).is_none());
}
