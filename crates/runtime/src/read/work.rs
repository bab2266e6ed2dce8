//! The work of agents on entities.

use std::sync::Arc;

use trackside_engine::actor::Actor;
use trackside_engine::decide::is_effect_wanted;
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::view::Needs;
use trackside_engine::work::{Instructions, NextEvent, WorkError, WorkQuestion};
use trackside_engine::{Law, View};
use trackside_lifecycle::model::WorkStep;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::{ReadError, Reads};

impl Reads {
    /// What an agent in a role is asked to do with an entity that it may read.
    pub fn instructions(
        &self,
        key: &EntityKey,
        role: &Name,
        actor: &Actor,
    ) -> Result<Result<(Arc<Entity>, Instructions), WorkError>, ReadError> {
        self.work(key, role, actor, |question| question.instructions())
    }

    /// The event that follows a step of a run.
    pub fn next_event(
        &self,
        key: &EntityKey,
        role: &Name,
        actor: &Actor,
        step: WorkStep,
        run: Fields,
    ) -> Result<Result<(Arc<Entity>, NextEvent), WorkError>, ReadError> {
        self.work(key, role, actor, move |question| question.next_event(step, &run))
    }

    fn work<T: Send + 'static>(
        &self,
        key: &EntityKey,
        role: &Name,
        actor: &Actor,
        ask: impl Fn(&WorkQuestion<'_>) -> Result<T, WorkError> + Send + 'static,
    ) -> Result<Result<(Arc<Entity>, T), WorkError>, ReadError> {
        self.readable(key, actor)?;
        let (wanted, role, actor) = (key.clone(), role.clone(), actor.clone());
        let sender = actor.clone();
        let question = move |law: &Law, view: &View, now: Timestamp| {
            view.read(|it| it.entity(&wanted))?;
            let Some(entity) = view.image(&wanted) else { return Ok(None) };
            let question =
                WorkQuestion { law, view, entity: &entity, role: &role, actor: &actor, now, trace: None };
            match ask(&question) {
                Err(WorkError::Needs(needs)) => Err::<_, Needs>(needs),
                answer => Ok(Some(answer.map(|it| (entity.clone(), it)))),
            }
        };
        let answer = self.gateway.evaluate_for(&sender, question)?.wait()?;
        answer.ok_or_else(|| self.unknown(key))
    }

    /// Whether a worker may still get an effect, by its `while`. One whose condition cannot be evaluated may be had.
    pub fn is_effect_wanted(&self, key: &EntityKey, effect: &Name, with: &Fields) -> Result<bool, ReadError> {
        let (wanted, effect, with) = (key.clone(), effect.clone(), with.clone());
        let question = move |law: &Law, view: &View, now: Timestamp| {
            view.read(|it| it.entity(&wanted))?;
            let Some(entity) = view.image(&wanted) else { return Ok(true) };
            is_effect_wanted(law, view, &entity, &effect, &with, now).map(|it| it.unwrap_or(true))
        };
        Ok(self.gateway.evaluate_for(&Actor::engine(), question)?.wait()?)
    }
}
