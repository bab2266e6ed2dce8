//! Gates that other entities keep closed, and the transitions of those entities that would open them.

use std::collections::BTreeSet;

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Gate, Lifecycle, Read};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::explain::TransitionOption;
use super::fire::plain_scope;
use super::plan::Rule;
use super::request::Request;
use super::scope::EntityScope;
use super::{DecisionBuilder, Stop};
use crate::actor::Actor;
use crate::entity::Entity;
use crate::event::{Changes, Event};
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::law::Law;
use crate::view::{Found, Lookup, Needs, View};

/// Another entity that keeps a gate closed to the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockingEntity {
    pub entity: EntityKey,
    /// The gate's message.
    pub says: String,
    /// Transitions of other entities that would open the gate.
    pub unblock_options: Vec<UnblockOption>,
}

/// A rule of another entity that would open a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct UnblockOption {
    pub event: Name,
    /// Who may take it, as text.
    pub who: String,
    /// Whether the caller is one of them.
    pub permitted: bool,
}

/// The entities that keep gates of an entity closed to the caller, as far as the caller may see them.
pub fn blocking_entities(
    law: &Law,
    view: &View,
    entity: &Entity,
    actor: &Actor,
    now: Timestamp,
) -> Result<Vec<BlockingEntity>, Needs> {
    let Some(life) = law.definition(&entity.key.lifecycle, entity.definition) else { return Ok(Vec::new()) };
    if life.state(&entity.state).is_some_and(|it| it.last) {
        return Ok(Vec::new());
    }
    let lookup = Lookup::new(view);
    let builder = DecisionBuilder::new(law, &lookup, now, false);
    let request = Request::by(actor.clone(), actor.subject.clone(), Fields::default(), None);
    let around = builder.surroundings();
    let scope = plain_scope(&around, life, entity, &request);
    let mut all: Vec<BlockingEntity> = Vec::new();
    for gate in life.gates.iter().filter(|it| !it.reads_request) {
        let binds = life.arms().any(|it| it.from.has(&entity.state) && gate.binds(&it.transition));
        if !binds || !builder.shut(&scope, gate).unwrap_or(false) {
            continue;
        }
        let mut others = BTreeSet::new();
        looked_at(&scope, &gate.open, &mut others);
        for key in others.into_iter().filter(|it| *it != entity.key) {
            // A check that needs more data is repeated once the data is loaded.
            if let Ok(Some(unblock_options)) = builder.unblock_options(life, entity, gate, &key, &request) {
                let says = gate.says.render(&scope).unwrap_or_else(|_| gate.says.source().to_owned());
                all.push(BlockingEntity { entity: key, says, unblock_options });
            }
        }
    }
    lookup.finish(all)
}

/// Other entities that an expression reads, by name.
fn looked_at(scope: &EntityScope<'_>, guard: &Guard, all: &mut BTreeSet<EntityKey>) {
    for read in guard.reads() {
        match scope.life.reads.get(read.slot.0 as usize) {
            Some(Read::Relation(guard) | Read::Computed(guard)) => looked_at(scope, guard, all),
            Some(read) => all.extend(scope.referenced_entity(read)),
            None => {}
        }
    }
}

impl DecisionBuilder<'_> {
    /// Transitions of another entity that would open a gate. Empty if that entity does not exist or the
    /// caller may not see it.
    fn unblock_options(
        &self,
        life: &Lifecycle,
        entity: &Entity,
        gate: &Gate,
        key: &EntityKey,
        request: &Request,
    ) -> Result<Option<Vec<UnblockOption>>, Stop> {
        let other = match self.draft.entity(key) {
            Found::Here(other) => other,
            Found::Absent => return Ok(None),
            Found::Unknown => return Err(Stop::NotLoaded),
        };
        let Some(there) = self.law.definition(&key.lifecycle, other.definition) else { return Ok(None) };
        if !self.may_read(there, other, request)? {
            return Ok(None);
        }
        let ended = there.state(&other.state).is_some_and(|it| it.last);
        let mut unblock_options: Vec<UnblockOption> = Vec::new();
        for arm in there.arms().filter(|it| !ended && it.from.has(&other.state)) {
            let transition = self.transition_option(there, other, arm, request)?;
            if transition.who == "engine" || !transition.is_open_to_others() {
                continue;
            }
            let rule = Rule::arm(arm, false);
            let option = UnblockOption {
                event: transition.event.clone(),
                who: transition.who.clone(),
                permitted: transition.permitted,
            };
            let around = self.surroundings();
            let scope = plain_scope(&around, there, other, request);
            if !unblock_options.contains(&option)
                && self.opens((life, entity, gate), &scope, &rule, &transition)?
            {
                unblock_options.push(option);
            }
        }
        Ok(Some(unblock_options))
    }

    /// Whether a gate would be open after an entity it reads has taken a rule.
    fn opens(
        &self,
        (life, entity, gate): (&Lifecycle, &Entity, &Gate),
        there: &EntityScope<'_>,
        rule: &Rule<'_>,
        transition: &TransitionOption,
    ) -> Result<bool, Stop> {
        let other = there.entity;
        let aimed = match self.aim(there, rule)? {
            Ok(aimed) => vec![aimed],
            Err(_) => transition.to.iter().map(|it| (None, Some(it.clone()))).collect(),
        };
        for (choice, to) in aimed {
            let fields = self.outcome(there, rule, choice, to.as_ref())?.fields;
            let event = Event::Corrected {
                from: Some(other.state.clone()),
                to: to.unwrap_or_else(|| other.state.clone()),
                definition: other.definition,
                changes: Changes { fields, ..Changes::default() },
            };
            let mut then = DecisionBuilder::new(self.law, self.draft.base(), self.now, false);
            then.record(&other.key, there.request, &rule.trigger, event);
            let around = then.surroundings();
            if !then.shut(&plain_scope(&around, life, entity, there.request), gate)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
