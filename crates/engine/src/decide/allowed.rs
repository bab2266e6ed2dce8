//! The states to which an actor may move an entity now. Requirements are not checked.

use trackside_lifecycle::model::{Aim, Arm, Lifecycle};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::assess::{askable, target};
use super::fire::plain_scope;
use super::request::Request;
use super::scope::EntityScope;
use super::{DecisionBuilder, Stop};
use crate::actor::Actor;
use crate::entity::Entity;
use crate::fields::Fields;
use crate::law::Law;
use crate::view::{Lookup, Needs, View};

/// The targets that the rules permit this actor, in declared order.
pub fn allowed(
    law: &Law,
    view: &View,
    entity: &Entity,
    actor: &Actor,
    now: Timestamp,
) -> Result<Vec<Name>, Needs> {
    let Some(life) = law.definition(&entity.key.lifecycle, entity.definition) else { return Ok(Vec::new()) };
    let lookup = Lookup::new(view);
    let builder = DecisionBuilder::new(law, &lookup, now, false);
    let request = Request::by(actor.clone(), actor.subject.clone(), Fields::default(), None);
    lookup.finish(allowed_here(&builder, life, entity, &request).unwrap_or_default())
}

pub(super) fn allowed_here(
    builder: &DecisionBuilder<'_>,
    life: &Lifecycle,
    entity: &Entity,
    request: &Request,
) -> Result<Vec<Name>, Stop> {
    let around = builder.surroundings();
    let scope = plain_scope(&around, life, entity, request);
    let mut allowed: Vec<Name> = Vec::new();
    // Only being created again leads out of a final state.
    if life.state(&entity.state).is_some_and(|it| it.last) {
        return Ok(allowed);
    }
    for transition in &life.transitions {
        let mut open = None;
        for arm in transition.arms.iter().filter(|it| it.from.has(&entity.state)) {
            let aims: Vec<Name> =
                targets(&scope, arm).into_iter().filter(|it| !allowed.contains(it)).collect();
            if aims.is_empty() || !builder.permits(life, entity, &arm.by, request)? {
                continue;
            }
            let open = match open {
                Some(it) => it,
                None => *open.insert(gates_open(builder, life, &scope, &transition.name)?),
            };
            if open {
                allowed.extend(aims);
            }
        }
    }
    Ok(allowed)
}

/// Gates that the request itself cannot open.
fn gates_open(
    builder: &DecisionBuilder<'_>,
    life: &Lifecycle,
    scope: &EntityScope<'_>,
    trigger: &Name,
) -> Result<bool, Stop> {
    for gate in life.gates.iter().filter(|it| !it.reads_request) {
        if gate.binds(trigger) && builder.shut(scope, gate)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The target states that select an arm.
pub(super) fn targets(scope: &EntityScope<'_>, arm: &Arm) -> Vec<Name> {
    match arm.target.main() {
        Aim::Stay => Vec::new(),
        Aim::Ask { among, earlier, of } => askable(scope, among, *earlier, of.as_ref()),
        aim => target(scope, aim).ok().flatten().into_iter().collect(),
    }
}
