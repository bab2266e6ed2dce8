//! Timers that fire at another time, no longer, or only now.

use std::collections::BTreeMap;

use trackside_engine::actor::{ActorKind, ENGINE};
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::outcome::{Difference, DifferenceKind, WhatIf};

/// Entity, clock, and which of its steps.
type Strike = (EntityKey, Name, String);

fn strikes(entries: &[Entry]) -> BTreeMap<Strike, Vec<(Timestamp, Option<Name>)>> {
    let mut all: BTreeMap<Strike, Vec<_>> = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        if entry.actor_kind != ActorKind::Timeout || entry.cause.is_some() {
            continue;
        }
        let (timer, step) = match &entry.event {
            Event::TimerFired { timer, .. } => (timer.clone(), String::new()),
            Event::TimeoutWarned { timer, percent, .. } => (timer.clone(), format!(" at {percent}%")),
            Event::LeaseLost { slot, .. } => (Name::from(format!("lease.{slot}")), String::new()),
            _ => continue,
        };
        // The state to which it moved the entity, if it did.
        let follows = entries.iter().skip(place + 1).take_while(|it| it.cause == Some(entry.seq));
        let moved =
            follows.filter(|it| it.entity == entry.entity).filter_map(|it| it.edge().1.cloned()).last();
        all.entry((entry.entity.clone(), timer, step)).or_default().push((entry.at, moved));
    }
    all
}

/// The differences between the timers of two journals.
pub(super) fn timer_differences(old: &[Entry], new: &[Entry], so_far: &WhatIf) -> Vec<Difference> {
    let (before, after) = (strikes(old), strikes(new));
    let mut differences = Vec::new();
    let apart = |entity: &EntityKey, at: Timestamp| {
        so_far.differences.iter().any(|it| it.entity == *entity && it.at <= at)
    };
    let mut keys: Vec<&Strike> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let (entity, timer, step) = key;
        let none = Vec::new();
        let (was, is) = (before.get(key).unwrap_or(&none), after.get(key).unwrap_or(&none));
        for n in 0..was.len().max(is.len()) {
            let (was, is) = (was.get(n), is.get(n));
            if was.map(|it| it.0) == is.map(|it| it.0) {
                continue;
            }
            let at = [was, is].into_iter().flatten().map(|it| it.0).min().unwrap_or_default();
            differences.push(Difference {
                at,
                actor: Name::new(ENGINE),
                did: Name::from(format!("{timer}{step}")),
                entity: entity.clone(),
                what: DifferenceKind::Timer { was: was.cloned(), is: is.cloned() },
                follow_up: apart(entity, at),
            });
        }
    }
    differences
}
