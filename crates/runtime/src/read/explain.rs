//! Why an entity is where it is, and what would move it on.

use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::Command;
use trackside_engine::decide::{Keeper, Way, keepers, ways};
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::query::Asking;
use trackside_engine::refusal::Refusal;
use trackside_engine::view::{Found, Need};
use trackside_engine::{Decision, Law, View, decide};
use trackside_lifecycle::model::{Lifecycle, Read};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::{ReadError, Reads};

/// What can be said about an entity that stands still. Its timers, leases and open effects are its own.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub entity: Arc<Entity>,
    pub now: Timestamp,
    /// Every rule that could be taken from here, with each of its conditions.
    pub ways: Vec<Way>,
    /// What would come of each event now, asked by this actor with nothing in its hands.
    pub trials: Vec<(Name, Trial)>,
    /// Who it is given to, by the field that its lifecycle names for that.
    pub given_to: Vec<Name>,
    /// Those of them whom a rule that moves it would hear, whatever roles they hold.
    pub able: Vec<Name>,
    /// Events by which it can be claimed now, each with who may, in words.
    pub claimable: Vec<(Name, String)>,
    /// Other entities because of which a gate is shut to this actor, and what done there would open it.
    pub kept_back_by: Vec<Keeper>,
}

/// What would come of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Trial {
    /// It would be done, and lead there.
    Accepted {
        to: Option<Name>,
    },
    Refused(Box<Refusal>),
}

impl Reads {
    /// Decides a command after all that was asked before, and changes nothing.
    pub fn dry_run(&self, command: Command) -> Result<Decision, ReadError> {
        Ok(self.gateway.dry_run(command)?.wait()?)
    }

    /// Why an entity is not moving, as far as the actor may see it.
    pub fn explain(&self, key: &EntityKey, actor: &Actor) -> Result<Explanation, ReadError> {
        let (wanted, actor) = (key.clone(), actor.clone());
        let explained =
            self.gateway.look(move |law, view, now| explained(law, view, &wanted, &actor, now))?;
        explained.wait()?.ok_or_else(|| self.unknown(key))
    }

    /// Why the holder of a lease should not go on.
    pub fn stops(&self, key: &EntityKey, slot: &Name, actor: &Actor) -> Result<Vec<String>, ReadError> {
        let says = |it: &trackside_lifecycle::model::Slot| it.name == *slot && !it.goes_on.is_empty();
        let asked = self.shared.law().newest(&key.lifecycle).is_some_and(|it| it.slots.iter().any(says));
        if !asked {
            return Ok(Vec::new());
        }
        let (key, slot, actor) = (key.clone(), slot.clone(), actor.clone());
        let stops = self.gateway.look(move |law, view, now| {
            let Found::Here(_) = view.entity(&key) else { return Vec::new() };
            let Some(entity) = view.image(&key) else { return Vec::new() };
            Asking { law, view, actor: &actor, shown: true, now }.stops(&entity, &slot)
        })?;
        Ok(stops.wait()?)
    }
}

fn explained(law: &Law, view: &View, key: &EntityKey, actor: &Actor, now: Timestamp) -> Option<Explanation> {
    let Found::Here(_) = view.entity(key) else { return None };
    let entity = view.image(key)?;
    let life = law.definition(&key.lifecycle, entity.definition)?;
    let here = |arms: &[trackside_lifecycle::model::Arm]| arms.iter().any(|it| it.from.has(&entity.state));
    let ended = life.state(&entity.state).is_some_and(|it| it.last);
    let events = life.transitions.iter().filter(|it| !ended && here(&it.arms)).map(|it| &it.name);
    // A decision takes note of what it misses itself: it is put back when all have been made.
    let mut needs = Vec::new();
    let mut trials = Vec::new();
    for event in events {
        let command = Command::fire(actor.clone(), key.clone(), event, Fields::default());
        let trial = match tried(law, view, &command, now, &mut needs) {
            Decision::Accepted(it) => {
                let to = it.entries.get(it.root).and_then(|it| it.edge().1.cloned());
                Trial::Accepted { to }
            }
            Decision::Refused(refusal) => Trial::Refused(refusal),
            Decision::Replayed { .. } | Decision::Needs(_) => continue,
        };
        trials.push((event.clone(), trial));
    }
    needs.into_iter().for_each(|it| view.want(it));
    let asking = Asking { law, view, actor, shown: true, now };
    if !asking.may_read(&entity).unwrap_or(false) {
        return None;
    }
    let mut given_to = life.assignee.as_ref().map(|it| entity.ids(it)).unwrap_or_default();
    given_to.retain(|it| !it.is_empty());
    let able = given_to.iter().filter(|id| is_able(law, view, &entity, life, id, now)).cloned().collect();
    let ways = ways(law, view, &entity, actor, now);
    let claimable = claimable(life, &ways);
    let kept_back_by = keepers(law, view, &entity, actor, now);
    Some(Explanation { entity, now, ways, trials, given_to, able, claimable, kept_back_by })
}

/// What a claim from one of its rankings would do with it, for those who may. Whoever asks need not be one of them.
fn claimable(life: &Lifecycle, ways: &[Way]) -> Vec<(Name, String)> {
    let mut all: Vec<(Name, String)> = Vec::new();
    for event in life.rankings.iter().filter_map(|it| it.claims.as_ref()) {
        let open = ways.iter().filter(|it| it.event == *event && it.is_open_to_others());
        let mut who: Vec<&str> = open.map(|it| it.who.as_str()).collect();
        who.dedup();
        if !who.is_empty() && !all.iter().any(|(it, _)| it == event) {
            all.push((event.clone(), who.join("; or ")));
        }
    }
    all
}

/// Whether a rule that moves the entity would hear somebody. Their roles are not known here: they are granted all.
fn is_able(law: &Law, view: &View, entity: &Entity, life: &Lifecycle, id: &Name, now: Timestamp) -> bool {
    let is_person = view.project.people.contains(id);
    let kind = if is_person { ActorKind::Human } else { ActorKind::Agent };
    let roles = life.reads.iter().filter_map(|it| match it {
        Read::Role(holders) => Some(holders),
        _ => None,
    });
    let somebody = Actor::new(id.clone(), kind).with_roles(roles.flatten().cloned());
    let leads_on = |it: &Way| !it.to.is_empty();
    ways(law, view, entity, &somebody, now).iter().any(|it| it.permitted && it.heard && leads_on(it))
}

/// Decides and keeps nothing; what it misses is added to `needs`.
fn tried(law: &Law, view: &View, command: &Command, now: Timestamp, needs: &mut Vec<Need>) -> Decision {
    let mut decision = decide(law, view, command, now);
    match &mut decision {
        Decision::Needs(more) => needs.extend(more.iter().cloned()),
        Decision::Refused(refusal) => refusal.kept = None,
        Decision::Accepted(_) | Decision::Replayed { .. } => {}
    }
    decision
}
