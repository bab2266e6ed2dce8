//! Random sequences of commands.

use proptest::prelude::*;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Fire, TransitionRef};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::world::World;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;

/// One step of a walk. Indexes are taken modulo the number of items.
#[derive(Clone, Debug)]
pub(crate) enum PropertyStep {
    Create {
        actor: usize,
        id: usize,
        parent: Option<usize>,
    },
    Fire {
        actor: usize,
        id: usize,
        verb: usize,
        note: bool,
        to: Option<usize>,
        key: Option<u8>,
        fence: Option<u8>,
    },
    Move {
        actor: usize,
        id: usize,
        to: usize,
    },
    Heartbeat {
        actor: usize,
        id: usize,
    },
    Advance(u32),
    Correct {
        id: usize,
        to: usize,
    },
    Sweep,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<PropertyStep>> {
    let step = prop_oneof![
        3 => (0..4_usize, 0..4_usize, prop::option::of(0..4_usize))
            .prop_map(|(actor, id, parent)| PropertyStep::Create { actor, id, parent }),
        12 => (0..4_usize, 0..4_usize, 0..7_usize, any::<bool>(), prop::option::of(0..6_usize),
               prop::option::weighted(0.2, 0..3_u8), prop::option::weighted(0.2, 0..3_u8))
            .prop_map(|(actor, id, verb, note, to, key, fence)| PropertyStep::Fire { actor, id, verb, note, to, key, fence }),
        4 => (0..4_usize, 0..4_usize, 0..6_usize).prop_map(|(actor, id, to)| PropertyStep::Move { actor, id, to }),
        1 => (0..4_usize, 0..4_usize).prop_map(|(actor, id)| PropertyStep::Heartbeat { actor, id }),
        3 => (0..4_000_u32).prop_map(PropertyStep::Advance),
        1 => (0..4_usize, 0..6_usize).prop_map(|(id, to)| PropertyStep::Correct { id, to }),
        1 => Just(PropertyStep::Sweep),
    ];
    prop::collection::vec(step, 1..40)
}

pub(crate) fn actors() -> [Actor; 4] {
    [
        Actor::new("hank", ActorKind::Human).with_roles(["admin"]),
        Actor::new("ada", ActorKind::Agent),
        Actor::new("lea", ActorKind::Agent).with_roles(["lead"]),
        Actor::new("cron", ActorKind::System),
    ]
}

/// The command of a step, if it is one.
pub(crate) fn command(step: &PropertyStep, world: &World, lifecycle: &str) -> Option<Command> {
    let law = &world.law;
    let life = law.newest(&Name::new(lifecycle)).expect("the lifecycle");
    let key = |id: usize| EntityKey::new(lifecycle, format!("e{id}"));
    let who = |actor: usize| actors()[actor % 4].clone();
    let state = |n: usize| life.states[n % life.states.len()].name.clone();
    match step {
        PropertyStep::Create { actor, id, parent } => {
            let mut fields = Fields::default();
            if let Some(parent) = parent {
                fields.put(&Name::new("parent_id"), Value::text(&format!("e{parent}")));
            }
            Some(Command::new(who(*actor), Ask::Create { entity: key(*id), fields }))
        }
        PropertyStep::Fire { actor, id, verb, note, to, key: idempotency, fence } => {
            let verb = &life.transitions[verb % life.transitions.len()].name;
            let mut fields = Fields::default();
            if *note {
                fields.put(&Name::new("note"), Value::text("hello"));
            }
            if let Some(to) = to {
                fields.put(&Name::new("to"), Value::from(state(*to)));
            }
            let fire = Fire {
                entity: key(*id),
                what: TransitionRef::Event(verb.clone()),
                fields,
                fence: fence.map(u64::from),
                if_version: None,
            };
            let mut command = Command::new(who(*actor), Ask::Fire(fire));
            command.idempotency_key = idempotency.map(|it| Name::from(format!("k{it}")));
            Some(command)
        }
        PropertyStep::Move { actor, id, to } => {
            let fire = Fire {
                entity: key(*id),
                what: TransitionRef::To(state(*to)),
                fields: Fields::default(),
                fence: None,
                if_version: None,
            };
            Some(Command::new(who(*actor), Ask::Fire(fire)))
        }
        PropertyStep::Heartbeat { actor, id } => Some(Command::new(
            who(*actor),
            Ask::Heartbeat { entity: key(*id), slot: Name::new("work"), fence: None },
        )),
        PropertyStep::Correct { id, to } => {
            let ask = Ask::Correct { entity: key(*id), to: Some(state(*to)), fields: Fields::default() };
            Some(Command::new(who(0), ask).with_reason("it was wrong"))
        }
        PropertyStep::Advance(_) | PropertyStep::Sweep => None,
    }
}

pub(crate) fn span(seconds: u32) -> Span {
    Span::seconds(i64::from(seconds))
}
