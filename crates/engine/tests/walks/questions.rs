//! Every query of a pack has an answer in every world.

use trackside_engine::fields::Fields;
use trackside_engine::query::{QueryError, ask};
use trackside_engine::world::World;
use trackside_lifecycle::model::{FieldType, Fit};
use trackside_lifecycle::value::Value;

use crate::cast::WalkActors;
use crate::findings::Findings;
use crate::packs::WalkPack;

/// Runs all queries, with the first entity and the first actor for name parameters.
pub(crate) fn have_answers(ground: &WalkPack, world: &World, cast: &WalkActors, findings: &mut Findings) {
    let (Some(actor), Some(entity)) =
        (cast.present().first().copied(), world.view.entities().first().copied())
    else {
        return;
    };
    let values = [Value::from(&entity.key.id), Value::from(&entity.state), Value::from(&actor.id)];
    for query in &ground.pack.queries {
        for value in &values {
            let asked: Fields =
                query.takes.iter().map(|(name, fits)| (name.clone(), fitting(fits, value))).collect();
            match ask(&world.law, &world.view, query, actor, &asked, world.now) {
                Ok(_) => {}
                // No entity of this name has a history.
                Err(QueryError(_)) if query.history.is_some() => {}
                Err(QueryError(why)) => findings.describe_command(ground, &query.name, &why.join("; ")),
            }
        }
    }
}

fn fitting(fits: &FieldType, text: &Value) -> Value {
    match &fits.fit {
        Fit::Int { .. } | Fit::Number { .. } => Value::Int(1),
        Fit::Bool => Value::Bool(true),
        Fit::Choice(names) => names.first().map(Value::from).unwrap_or_default(),
        _ => text.clone(),
    }
}
