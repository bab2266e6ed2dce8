//! Checks every move and every new world.

use trackside_engine::actor::Actor;
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event};
use trackside_lifecycle::model::{PropertyKind, Severity};

use super::marks::Mark;
use super::timers_only::TimeAlone;
use super::{Promise, PromiseEvidence, Promises};
use crate::explore::search::{Progress, Watch};
use crate::explore::world::{MoveKind, StageModel, Surprise, WorldMove, WorldState, dropped};

/// Checks every promise against each move and world.
pub struct PromiseWatcher<'a> {
    pub promises: &'a Promises,
    /// Called regularly; returns whether to continue.
    pub go_on: &'a (dyn Fn(&Progress) -> bool + Sync),
}

impl std::fmt::Debug for PromiseWatcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watcher").field("promises", &self.promises.list.len()).finish_non_exhaustive()
    }
}

impl Watch<StageModel<'_>> for PromiseWatcher<'_> {
    fn start(&self, world: &WorldState) -> Vec<u32> {
        let mut marks = Vec::new();
        for entity in world.entities() {
            marks.push(Mark::State(entity.key.lifecycle.clone(), entity.state.clone()));
        }
        self.world(world, &mut marks);
        self.numbers(&marks)
    }

    fn marks(&self, before: &WorldState, by: &WorldMove, after: &WorldState, new: bool) -> Vec<u32> {
        let mut marks = Vec::new();
        if let MoveKind::Surprise(kind, command, _) = &by.what {
            let of = command.entity().map(|it| it.lifecycle.clone());
            let of = of.or_else(|| self.promises.law.lifecycle_names().first().cloned());
            marks.extend(of.map(|it| Mark::Surprise(it, *kind)));
        }
        if let Some(entry) = dropped(&self.promises.law, &by.entries) {
            marks.push(Mark::Surprise(entry.entity.lifecycle.clone(), Surprise::Dropped));
        }
        let actor = match &by.what {
            MoveKind::Ask(command) => Some(&command.actor),
            _ => None,
        };
        for entry in &by.entries {
            let of = &entry.entity.lifecycle;
            match &entry.event {
                Event::Transitioned { to, .. } => marks.push(Mark::State(of.clone(), to.clone())),
                Event::Created { state, .. } => marks.push(Mark::State(of.clone(), state.clone())),
                _ => {}
            }
            if matches!(entry.event, Event::Transitioned { .. } | Event::FieldsChanged { .. }) {
                marks.push(Mark::Taken(of.clone(), entry.trigger.clone()));
            }
            self.after(before, entry, after, actor, &mut marks);
        }
        if new {
            self.world(after, &mut marks);
        }
        self.numbers(&marks)
    }

    fn go_on(&self, so_far: &Progress) -> bool {
        (self.go_on)(so_far)
    }
}

impl PromiseWatcher<'_> {
    fn numbers(&self, marks: &[Mark]) -> Vec<u32> {
        marks.iter().filter_map(|it| self.promises.marks.number(it)).collect()
    }

    /// Promises that look right after a transition.
    fn after(
        &self,
        before: &WorldState,
        entry: &Entry,
        after: &WorldState,
        actor: Option<&Actor>,
        marks: &mut Vec<Mark>,
    ) {
        for (number, promise) in self.promises.list.iter().enumerate() {
            let property = &promise.property;
            if !property.on.contains(&entry.trigger) || promise.lifecycle != entry.entity.lifecycle {
                continue;
            }
            let Some(entity) = after.view.get(&entry.entity).filter(|it| promise.concerns(it)) else {
                continue;
            };
            let Some((guard, wanted)) = promise.condition() else { continue };
            let was = before.view.get(&entry.entity);
            match self.promises.test(guard, after, entity, was, actor) {
                Ok(found) if found == wanted => marks.push(Mark::Promise(number)),
                Ok(_) => marks.push(Mark::ObservedReads(number)),
                Err(_) => marks.push(Mark::NoAnswer(number)),
            }
        }
    }

    /// Checks the promises about every world, and the invariants.
    fn world(&self, scene: &WorldState, marks: &mut Vec<Mark>) {
        let mut alone = TimeAlone::new();
        let entities = scene.entities();
        for (number, promise) in self.promises.list.iter().enumerate() {
            match &promise.property.kind {
                PropertyKind::Alone { .. } => match self.promises.acted_alone(number, scene) {
                    Ok(PromiseEvidence::Nothing) => {}
                    Ok(PromiseEvidence::ObservedReads) => marks.push(Mark::ObservedReads(number)),
                    Ok(PromiseEvidence::Broken) => marks.push(Mark::Promise(number)),
                    Err(_) => marks.push(Mark::NoAnswer(number)),
                },
                PropertyKind::Eventually { .. } => {
                    match self.promises.is_late_checked(number, scene, &mut alone) {
                        Ok((true, _)) => marks.push(Mark::Promise(number)),
                        Ok((false, true)) => marks.push(Mark::ObservedReads(number)),
                        Ok((false, false)) => {}
                        Err(_) => marks.push(Mark::NoAnswer(number)),
                    }
                }
                _ => self.entities(number, promise, scene, &entities, marks),
            }
        }
        for entity in entities.iter().filter(|it| !it.broken.is_empty()) {
            let life = self.promises.law.definition(&entity.key.lifecycle, entity.definition);
            let serious = life
                .iter()
                .flat_map(|it| &it.invariants)
                .any(|it| it.severity >= Severity::Error && entity.broken.contains(&it.name));
            if serious {
                marks.push(Mark::Surprise(entity.key.lifecycle.clone(), Surprise::Broken));
            }
        }
    }

    fn entities(
        &self,
        number: usize,
        promise: &Promise,
        scene: &WorldState,
        entities: &[&Entity],
        marks: &mut Vec<Mark>,
    ) {
        let Some((guard, wanted)) = promise.condition().filter(|_| promise.property.on.is_empty()) else {
            return;
        };
        for entity in entities.iter().filter(|it| promise.concerns(it)) {
            if self.promises.is_settled(number, entity) {
                marks.push(Mark::ObservedReads(number));
                continue;
            }
            match self.promises.test(guard, scene, entity, None, None) {
                Ok(found) if found == wanted => marks.push(Mark::Promise(number)),
                Ok(_) => marks.push(Mark::ObservedReads(number)),
                Err(_) => marks.push(Mark::NoAnswer(number)),
            }
        }
    }
}
