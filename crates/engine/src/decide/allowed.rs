//! The states to which an actor may move an entity now. Requirements are not checked.

use trackside_lifecycle::model::{Aim, Arm, Lifecycle, Target};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::assess::{askable, target};
use super::fire::plain_scope;
use super::plan::Rule;
use super::request::Request;
use super::scope::EntityScope;
use super::{DecisionBuilder, Stop, run_scope};
use crate::actor::Actor;
use crate::entity::Entity;
use crate::event::TallyChange;
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
    if !run_scope::reaches(builder.law, &request.actor, &entity.key) {
        return Ok(allowed);
    }
    for transition in &life.transitions {
        let mut open = None;
        for arm in transition.arms.iter().filter(|it| it.from.has(&entity.state)) {
            let mut aims = main_targets(&scope, arm);
            let chooses = matches!(arm.target, Target::Choices(_));
            if aims.is_empty() && !chooses || !builder.permits(life, entity, &arm.by, request)? {
                continue;
            }
            if chooses {
                aims.extend(builder.target_now(&scope, arm)?);
            }
            aims.retain(|it| !allowed.contains(it));
            if aims.is_empty() {
                continue;
            }
            let open = match open {
                Some(it) => it,
                None => *open.insert(gates_open(builder, life, &scope, &transition.name)?),
            };
            if open {
                aims.into_iter().for_each(|it| push_new(&mut allowed, it));
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

impl DecisionBuilder<'_> {
    /// The target of an arm for a request without fields; none if it stays or needs more.
    fn target_now(&self, scope: &EntityScope<'_>, arm: &Arm) -> Result<Option<Name>, Stop> {
        let rule = Rule::arm(arm, false);
        let counts = match self.count(scope.life, scope, rule.count) {
            Ok(it) => it,
            Err(Stop::Refused(_)) => return Ok(None),
            Err(stop) => return Err(stop),
        };
        let counted: Vec<TallyChange> = counts.into_iter().map(|it| it.change).collect();
        let scope = EntityScope { counted: &counted, ..*scope };
        Ok(self.aim(&scope, &rule)?.ok().and_then(|(_, to)| to))
    }
}

/// The targets of an arm, or of the last of its choices.
pub(super) fn main_targets(scope: &EntityScope<'_>, arm: &Arm) -> Vec<Name> {
    targets_of(scope, arm.target.main())
}

/// The targets of all choices of an arm, in declared order.
pub(super) fn possible_targets(scope: &EntityScope<'_>, arm: &Arm) -> Vec<Name> {
    let mut all = Vec::new();
    for aim in arm.target.aims() {
        targets_of(scope, aim).into_iter().for_each(|it| push_new(&mut all, it));
    }
    all
}

pub(super) fn targets_of(scope: &EntityScope<'_>, aim: &Aim) -> Vec<Name> {
    match aim {
        Aim::Stay => Vec::new(),
        Aim::Ask { among, earlier, of } => askable(scope, among, *earlier, of.as_ref()),
        aim => target(scope, aim).ok().flatten().into_iter().collect(),
    }
}

fn push_new(all: &mut Vec<Name>, one: Name) {
    if !all.contains(&one) {
        all.push(one);
    }
}
