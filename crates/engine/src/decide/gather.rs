//! Builds a view of given entities, and evaluates expressions on one of them.

use trackside_lifecycle::guard::{Fault, Guard};
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::carry::shifts;
use super::plan::sample_scope;
use super::rerank::reindex;
use crate::actor::Actor;
use crate::entity::Entity;
use crate::law::Law;
use crate::view::{Ledger, View};

/// A view of entities without a journal: counts and rankings are computed.
pub fn view_of_entities(law: &Law, entities: Vec<Entity>, now: Timestamp) -> View {
    let mut view = View::default();
    for entity in entities {
        let life = law.definition(&entity.key.lifecycle, entity.definition);
        for shift in life.map(|it| shifts(it, None, &entity)).unwrap_or_default() {
            view.shift(&entity.key, &shift, entity.state_entered_at);
        }
        view.set_unique(&entity.key, None, entity.same.as_ref());
        view.put(entity);
    }
    for change in reindex(law, &view, now) {
        view.rankings.change(&change, false);
    }
    view
}

/// Evaluates an expression of an entity's definition for the engine.
pub fn answer(
    law: &Law,
    view: &View,
    entity: &Entity,
    guard: &Guard,
    now: Timestamp,
) -> Result<Value, Fault> {
    let Some(life) = law.definition(&entity.key.lifecycle, entity.definition) else {
        return Err(Fault::Failed(format!("there is no lifecycle {}", entity.key.lifecycle)));
    };
    let engine = Actor::engine();
    sample_scope(law, view, life, entity, &engine, now, None, |scope| guard.eval(scope))
        .unwrap_or(Err(Fault::NotLoaded))
}
