//! A pause of the server costs no holder its lease: every slot of every pack, after gaps of every length.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod folder;

use std::path::Path;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{AlertAction, Ask, ClockNews, Command, Seed};
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

#[test]
fn a_pause_of_the_loop_is_not_counted_and_no_more_than_that() {
    let law = law("coding");
    let (key, slot) = (EntityKey::new("coding.task", "x"), Name::new("work"));
    for paused in [Span(1_001), Span(7_000), Span(9_999)] {
        let mut world = held(&law, &key, &Name::new("IN_PROGRESS"), &slot);
        let due = world.view.get(&key).unwrap().timer("lease.work").unwrap().due.unwrap();
        // Half of the lease has passed when the loop stands still.
        world.advance(Span(due.0 / 2));
        world.now = world.now.plus(paused);
        world.view.pauses.add(world.now, paused);
        world.advance(Span(due.0 - due.0 / 2 - 1));
        assert_eq!(lost(&world.journal, &key), None, "{paused}");
        world.advance(Span(1));
        assert!(lost(&world.journal, &key).is_some(), "{paused}: a dead holder is noticed");
        let renewed = world.journal.iter().find(|it| it.condition.as_deref() == Some("resumed")).unwrap();
        assert!(renewed.reason.as_ref().unwrap().contains("does not count"), "{renewed:?}");
    }
}

#[test]
fn pauses_before_a_heartbeat_do_not_extend_the_lease() {
    let law = law("coding");
    let (key, slot) = (EntityKey::new("coding.task", "x"), Name::new("work"));
    let mut world = held(&law, &key, &Name::new("IN_PROGRESS"), &slot);
    world.now = world.now.plus(Span(5_000));
    world.view.pauses.add(world.now, Span(5_000));
    let fence = Some(world.view.get(&key).unwrap().lease(&slot).unwrap().fence);
    let beat = Ask::Heartbeat { entity: key.clone(), slot: slot.clone(), fence };
    let outcome = world.submit(&Command::new(Actor::new("ada", ActorKind::Agent), beat));
    assert!(matches!(outcome, Outcome::Accepted { .. }), "{outcome:?}");
    let due = world.view.get(&key).unwrap().timer("lease.work").unwrap().due.unwrap();
    world.advance(Span(due.0 - world.now.0));
    assert!(lost(&world.journal, &key).is_some());
}

/// Project time goes back by a century: timers keep their remaining time, leases get a full period.
#[test]
fn timers_of_a_wrong_time_are_moved_back_with_it() {
    let century = Span(100 * 365 * 86_400_000);
    let (mut timers, mut leases) = (0, 0);
    for name in PACKS {
        let law = law(name);
        for lifecycle in law.lifecycle_names() {
            let life = law.newest(lifecycle).unwrap().clone();
            let key = EntityKey { lifecycle: life.name.clone(), id: Name::new("x") };
            for state in &life.states {
                let mut world = World::new(law.clone(), Project::default(), Timestamp(century.0 + 1));
                let held = life.slots.iter().map(|it| (it.name.clone(), Name::new("ada"))).collect();
                let seed = Seed { state: Some(state.name.clone()), leases: held, ..Seed::new(key.clone()) };
                let given = Actor::new("given", ActorKind::System);
                if !matches!(world.submit(&Command::new(given, Ask::Seed(seed))), Outcome::Accepted { .. }) {
                    continue;
                }
                let before = world.view.get(&key).unwrap().timers.clone();
                world.now = Timestamp(1);
                let rebase = Ask::Rebase { entity: key.clone(), by: century };
                world.submit(&Command::new(Actor::engine(), rebase.clone()));
                let entity = world.view.get(&key).unwrap();
                for (name, was) in before.iter().filter(|(_, it)| it.due.is_some()) {
                    let (is, what) = (entity.timer(name).unwrap(), format!("{key} {} {name}", state.name));
                    let left = is.due.unwrap().since(world.now);
                    assert!(
                        left.0 <= was.due.unwrap().0 - century.0 - 1 + 86_400_000,
                        "{what}: {left} is left"
                    );
                    assert!(is.started_at <= world.now, "{what}");
                    match name.starts_with("lease.") {
                        true => leases += 1,
                        false => timers += 1,
                    }
                }
                // A second time moves nothing.
                let written = world.journal.len();
                world.submit(&Command::new(Actor::engine(), rebase));
                assert_eq!(world.journal.len(), written, "{key} {}", state.name);
            }
        }
    }
    assert!(timers > 20 && leases > 20, "{timers} timers, {leases} leases");
}

#[test]
fn only_an_admin_corrects_the_clock_and_nobody_else_raises_its_alert() {
    let law = law("coding");
    let mut world = World::new(law, Project::default(), Timestamp(5_000));
    let moved = ClockNews::Moved { from: Timestamp(9_000_000), alert: None };
    let alarm = ClockNews::Alarm { machine: Timestamp(9_000_000) };
    let ann = Actor::new("ann", ActorKind::Human);
    for (actor, news) in
        [(ann.clone(), moved), (ann.clone().with_roles(["admin"]), alarm), (Actor::engine(), moved)]
    {
        let outcome = world.submit(&Command::new(actor, Ask::Clock(news)));
        assert!(matches!(outcome, Outcome::Refused(_)), "{news:?}: {outcome:?}");
    }
    let first = world.journal.len();
    let admin = Command::new(ann.with_roles(["admin"]), Ask::Clock(moved)).with_reason("It was in 1999");
    assert!(matches!(world.submit(&admin), Outcome::Accepted { .. }));
    let [raised, resolved] = &world.journal[first..] else { panic!("{:?}", &world.journal[first..]) };
    assert!(matches!(raised.event, Event::AlertRaised { .. }));
    assert!(matches!(resolved.event, Event::AlertResolved { alert } if alert == raised.seq));
    assert!(resolved.reason.as_ref().unwrap().contains("It was in 1999"));
    let alert = AlertAction::Resolve;
    let by_hand = Ask::HandleAlert { entity: raised.entity.clone(), alert: raised.seq, action: alert };
    let outcome = world.submit(&Command::new(Actor::new("ann", ActorKind::Human), by_hand));
    assert!(format!("{outcome:?}").contains("clock accept"), "{outcome:?}");
}
