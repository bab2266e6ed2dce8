//! Chooses the next request: mostly one that the rules allow, so that walks get deep, and sometimes any.

use std::collections::BTreeMap;

use trackside_engine::actor::Actor;
use trackside_engine::command::{AlertAction, Ask, Claim, Command, Fire, TransitionRef};
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::ranking::RankingKey;
use trackside_engine::refusal::Stage;
use trackside_engine::world::World;
use trackside_engine::{Decision, decide};
use trackside_lifecycle::model::{Aim, Arm, Choice, Lifecycle, Take, Target};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_random::Random;

use crate::cast::WalkActors;
use crate::findings;
use crate::ids;
use crate::packs::WalkPack;
use crate::values::ValueGenerator;

/// Requests that are considered before a refused one is sent.
const THOUGHTS: usize = 7;
/// Actors that are tried for a request before the next one is considered.
const VOICES: usize = 12;

/// The expected answer to a request.
#[derive(Debug, PartialEq, Eq)]
enum ExpectedAnswer {
    Yes,
    /// Another actor might be admitted.
    NotYou,
    /// Refused for a reason that does not depend on the actor.
    NotSo,
}

/// Chooses a request by looking at the world.
#[derive(Debug)]
pub(crate) struct RequestChooser<'a> {
    pub(crate) ground: &'a WalkPack,
    pub(crate) world: &'a World,
    pub(crate) cast: &'a WalkActors,
    /// How often each transition of each lifecycle was taken; rare ones are preferred.
    pub(crate) taken: &'a BTreeMap<(Name, Name), usize>,
}

impl RequestChooser<'_> {
    /// A request that will be accepted, if one is found.
    pub(crate) fn choose_guided(&self, dice: &mut Random) -> Option<Command> {
        let mut last = None;
        for _ in 0..THOUGHTS {
            let Some((entity, arm)) = self.tempting(dice) else { continue };
            for (actor, subject) in
                self.likely_actor(&entity.key.id, Some(entity), dice).into_iter().take(VOICES)
            {
                let command = self.fire(entity, arm, actor, subject, dice);
                match self.try_command(&command) {
                    ExpectedAnswer::Yes => return Some(command),
                    ExpectedAnswer::NotYou => last = Some(command),
                    ExpectedAnswer::NotSo => {
                        let (actor, subject) = (command.actor.clone(), command.on_behalf_of.clone());
                        let again = self.fire(entity, arm, actor, subject, dice);
                        if self.try_command(&again) == ExpectedAnswer::Yes {
                            return Some(again);
                        }
                        last = Some(again);
                        break;
                    }
                }
            }
        }
        last
    }

    /// Any request about any entity by any actor.
    pub(crate) fn choose_blind(&self, dice: &mut Random) -> Option<Command> {
        let entities = self.world.view.entities();
        let entity = dice.pick(&entities)?;
        let life = self.ground.life(&entity.key.lifecycle)?;
        let transition = dice.pick(&life.transitions)?;
        let arm = dice.pick(&transition.arms)?;
        let (actor, subject) = self.any_actor(dice)?;
        Some(self.fire(entity, arm, actor, subject, dice))
    }

    /// A creation.
    pub(crate) fn create(&self, dice: &mut Random) -> Option<Command> {
        let lives: Vec<_> = self.ground.pack.lifecycles.iter().filter(|it| !it.one).collect();
        let mut last = None;
        for _ in 0..THOUGHTS {
            // The lifecycle with the fewest entities comes first.
            let open = |life: &Lifecycle| {
                let all = self.world.view.entities();
                all.iter().filter(|it| it.key.lifecycle == life.name && ids::goes_on(self.ground, it)).count()
            };
            let mut life = dice.pick(&lives)?;
            for _ in 0..2 {
                let other = dice.pick(&lives)?;
                if open(other) < open(life) {
                    life = other;
                }
            }
            let id = ids::fresh(self.ground, &self.world.view, self.cast, life, dice)?;
            for (actor, subject) in self.likely_actor(&id, None, dice).into_iter().take(VOICES) {
                let mut fields = self.sent_fields(life, None, &life.create.takes, &[], dice);
                for (name, _) in &life.create.require {
                    if fields.get(name).is_none()
                        && let Some(take) = life.create.takes.iter().find(|it| it.name == *name)
                    {
                        fields.put(name, self.source(life, None).field(name, &take.fits, dice));
                    }
                }
                let entity = EntityKey { lifecycle: life.name.clone(), id: id.clone() };
                let mut command = Command::new(actor, Ask::Create { entity, fields });
                command.on_behalf_of = subject;
                if life.create.reason.is_some() || dice.percent(20) {
                    command = command.with_reason("it is needed");
                }
                match self.try_command(&command) {
                    ExpectedAnswer::Yes => return Some(command),
                    ExpectedAnswer::NotYou => last = Some(command),
                    ExpectedAnswer::NotSo => {
                        last = Some(command);
                        if dice.percent(50) {
                            break;
                        }
                    }
                }
            }
        }
        last
    }

    /// The next one of a ranking.
    pub(crate) fn claim(&self, dice: &mut Random) -> Option<Command> {
        let lives = self.ground.pack.lifecycles.iter();
        let mut claims: Vec<(&Name, &Name)> = Vec::new();
        for life in lives {
            for ranking in &life.rankings {
                let key = RankingKey { lifecycle: life.name.clone(), name: ranking.name.clone() };
                let offered =
                    self.world.view.rankings.get(&key).is_some_and(|it| it.open(None).next().is_some());
                // A claim on an empty ranking is refused, so it is made rarely.
                if offered || dice.percent(5) {
                    claims.extend(ranking.claims.as_ref().map(|it| (&life.name, it)));
                }
            }
        }
        let (lifecycle, event) = dice.pick(&claims)?;
        let life = self.ground.life(lifecycle)?;
        let arm = life.transition(event)?.arms.first()?;
        let mut last = None;
        for (actor, subject) in self.likely_actor(&Name::new(""), None, dice) {
            let mut fields = Fields::default();
            for take in arm.takes.iter().filter(|it| it.required.is_some()) {
                fields.put(&take.name, self.source(life, None).field(&take.name, &take.fits, dice));
            }
            // Without an event, any event that claims.
            let event = (!dice.percent(15)).then(|| (*event).clone());
            let claim = Claim { lifecycle: (*lifecycle).clone(), event, only: None, fields };
            let mut command = Command::new(actor, Ask::Claim(claim));
            command.on_behalf_of = subject;
            if self.try_command(&command) == ExpectedAnswer::Yes {
                return Some(command);
            }
            last = Some(command);
        }
        last
    }

    /// Renews a lease, or tries to with an old fence.
    pub(crate) fn heartbeat(&self, dice: &mut Random) -> Option<Command> {
        let held = self.held();
        let (entity, slot, holder, fence) = dice.pick(&held)?.clone();
        let right = dice.percent(85);
        let mut command = self.beat(&entity, &slot, &holder, fence)?;
        if !right && let Ask::Heartbeat { fence, .. } = &mut command.ask {
            *fence = match dice.below(3) {
                0 => None,
                1 => fence.map(|it| it.saturating_sub(1)),
                _ => fence.map(|it| it + 1),
            };
        }
        Some(command)
    }

    /// Every lease: entity, slot, holder, fence.
    pub(crate) fn held(&self) -> Vec<(EntityKey, Name, Name, u64)> {
        let mut held = Vec::new();
        for entity in self.world.view.entities() {
            for (slot, lease) in &entity.leases {
                if let Some(holder) = &lease.holder {
                    held.push((entity.key.clone(), slot.clone(), holder.clone(), lease.fence));
                }
            }
        }
        held
    }

    /// The heartbeat of a holder, if it is here.
    pub(crate) fn beat(&self, entity: &EntityKey, slot: &Name, holder: &Name, fence: u64) -> Option<Command> {
        let actor = self.cast.find(holder)?.clone();
        let ask = Ask::Heartbeat { entity: entity.clone(), slot: slot.clone(), fence: Some(fence) };
        Some(Command::new(actor, ask))
    }

    /// An outside worker reports success or failure of an effect.
    pub(crate) fn settle(&self, dice: &mut Random) -> Option<Command> {
        let entities = self.world.view.entities();
        let open: Vec<(&Entity, u64, &Name)> = entities
            .iter()
            .flat_map(|it| it.effects.iter().map(|open| (*it, open.id, &open.effect)))
            .collect();
        let (entity, id, effect) = dice.pick(&open)?;
        let life = self.ground.life(&entity.key.lifecycle)?;
        let effect = life.effect(effect)?;
        let ok = dice.percent(65);
        let home = if ok { effect.ok.as_ref() } else { effect.failed.as_ref() };
        let arm = home.and_then(|it| life.transition(it)).and_then(|it| it.arms.first());
        let takes = arm.map(|it| it.takes.as_slice()).unwrap_or_default();
        let fields = self.sent_fields(life, Some(entity), takes, &[], dice);
        // An effect that was answered before, or never requested.
        let effect = if dice.percent(95) { *id } else { *id + 1_000 };
        let actor = self.cast.find(&Name::new("cron"))?.clone();
        Some(Command::new(actor, Ask::EffectResult { entity: entity.key.clone(), effect, ok, fields }))
    }

    /// A correction; mostly by an admin.
    pub(crate) fn correct(&self, dice: &mut Random) -> Option<Command> {
        let entities = self.world.view.entities();
        let entity = dice.pick(&entities)?;
        let life = self.ground.life(&entity.key.lifecycle)?;
        let to = dice.pick(&life.states).map(|it| it.name.clone()).filter(|_| dice.percent(70));
        let mut fields = Fields::default();
        let known: Vec<_> = life.fields.values().filter(|it| it.is.is_none()).collect();
        for _ in 0..dice.below(3) {
            if let Some(field) = dice.pick(&known) {
                fields
                    .put(&field.name, self.source(life, Some(entity)).field(&field.name, &field.fits, dice));
            }
        }
        let ada = Name::new("ada");
        let actor = if dice.percent(85) { self.cast.find(&ada)?.clone() } else { self.any_actor(dice)?.0 };
        let ask = Ask::Correct { entity: entity.key.clone(), to, fields };
        Some(Command::new(actor, ask).with_reason("it was wrong"))
    }

    /// An actor answers an alert: mostly a person, mostly an open alert.
    pub(crate) fn attend(&self, dice: &mut Random) -> Option<Command> {
        let entities = self.world.view.entities();
        let open: Vec<(&Entity, u64)> =
            entities.iter().flat_map(|it| it.alerts.iter().map(|alert| (*it, alert.seq))).collect();
        let (entity, alert) = dice.pick(&open)?;
        let alert = if dice.percent(90) { *alert } else { *alert + 1 };
        let action = if dice.percent(50) { AlertAction::Acknowledge } else { AlertAction::Resolve };
        let ada = Name::new("ada");
        let actor = if dice.percent(70) { self.cast.find(&ada)?.clone() } else { self.any_actor(dice)?.0 };
        Some(Command::new(actor, Ask::HandleAlert { entity: entity.key.clone(), alert, action }))
    }

    /// The engine's answer in a dry run.
    fn try_command(&self, command: &Command) -> ExpectedAnswer {
        match decide(&self.world.law, &self.world.view, command, self.world.now) {
            Ok(Decision::Accepted(_)) => ExpectedAnswer::Yes,
            // Faults of the pack are worth sending.
            Ok(Decision::Refused(refusal)) if findings::is_mistake(&refusal) => ExpectedAnswer::Yes,
            Ok(Decision::Refused(refusal)) if refusal.stage <= Stage::Who => ExpectedAnswer::NotYou,
            Ok(Decision::Refused(_) | Decision::Replayed { .. }) | Err(_) => ExpectedAnswer::NotSo,
        }
    }

    /// A transition out of an entity's state, preferably a rare one.
    fn tempting(&self, dice: &mut Random) -> Option<(&Entity, &Arm)> {
        let mut best: Option<(usize, &Entity, &Arm)> = None;
        for _ in 0..3 {
            let Some((entity, arm)) = self.leaving(dice) else { continue };
            let key = (entity.key.lifecycle.clone(), arm.transition.clone());
            let taken = self.taken.get(&key).copied().unwrap_or(0);
            if best.is_none_or(|(least, _, _)| taken < least) {
                best = Some((taken, entity, arm));
            }
        }
        best.map(|(_, entity, arm)| (entity, arm))
    }

    /// An arm that leaves where some entity is, and that is not for the engine alone.
    fn leaving(&self, dice: &mut Random) -> Option<(&Entity, &Arm)> {
        let entities = self.world.view.entities();
        let lives = &self.ground.pack.lifecycles;
        // Lifecycles with more transitions are chosen more often; a singleton rarely.
        let weight = |life: &Lifecycle| {
            let there =
                entities.iter().any(|it| it.key.lifecycle == life.name && ids::goes_on(self.ground, it));
            let ways = life.transitions.iter().flat_map(|it| &it.arms).filter(|it| askable(it)).count();
            if !there {
                0
            } else if life.one {
                1
            } else {
                4 + ways
            }
        };
        let weights: Vec<usize> = lives.iter().map(|it| weight(it)).collect();
        let life = lives.get(dice.pick_weighted(&weights))?;
        let of: Vec<&Entity> = entities
            .iter()
            .filter(|it| it.key.lifecycle == life.name && ids::goes_on(self.ground, it))
            .copied()
            .collect();
        // Prefers the entity with more visited states.
        let (one, other) = (*dice.pick(&of)?, *dice.pick(&of)?);
        let entity = if other.stays.len() > one.stays.len() { other } else { one };
        let arms = life.transitions.iter().flat_map(|it| &it.arms);
        let arms: Vec<&Arm> = arms.filter(|it| it.from.has(&entity.state) && askable(it)).collect();
        let arm = *dice.pick(&arms)?;
        // Transitions that end the entity, or only change fields, are often postponed.
        let wait = match arm.target.main() {
            Aim::Stay => 40,
            Aim::State(state) if life.state(state).is_some_and(|it| it.last || it.outcome.is_some()) => 65,
            _ => 0,
        };
        (!dice.percent(wait)).then_some((entity, arm))
    }

    fn fire(
        &self,
        entity: &Entity,
        arm: &Arm,
        actor: Actor,
        subject: Option<Name>,
        dice: &mut Random,
    ) -> Command {
        let life = self.ground.life(&entity.key.lifecycle).expect("its lifecycle");
        let wanted = wanted_fields(life, entity, arm);
        let mut fields = self.sent_fields(life, Some(entity), &arm.takes, &wanted, dice);
        for aim in aims(&arm.target) {
            if let Aim::Ask { among, .. } = aim
                && let Some(state) = dice.pick(&among.0)
            {
                fields.put(&Name::new("to"), Value::from(state));
            }
        }
        for take in life.gates.iter().filter(|it| it.binds(&arm.transition)).flat_map(|it| &it.takes) {
            if dice.percent(30) {
                fields.put(&take.name, self.source(life, Some(entity)).field(&take.name, &take.fits, dice));
            }
        }
        let by_target = match arm.target.main() {
            Aim::State(state) if dice.percent(12) => Some(state),
            _ => None,
        };
        let what = match by_target {
            Some(state) => TransitionRef::To(state.clone()),
            None => TransitionRef::Event(arm.transition.clone()),
        };
        let held = arm.holding.as_ref().and_then(|it| entity.lease(it)).map(|it| it.fence);
        let fence = match dice.below(10) {
            0 => held.map(|it| it.saturating_sub(1)),
            1..=3 => None,
            _ => held,
        };
        let if_version = match dice.below(40) {
            0 => Some(entity.version + 1),
            1..=4 => Some(entity.version),
            _ => None,
        };
        let fire = Fire { entity: entity.key.clone(), what, fields, fence, if_version };
        let mut command = Command::new(actor, Ask::Fire(fire));
        command.on_behalf_of = subject;
        if arm.reason.is_some() || dice.percent(40) {
            command = command.with_reason("for a reason");
        }
        command
    }

    /// The fields to send: all required ones and some of the rest.
    fn sent_fields(
        &self,
        life: &Lifecycle,
        entity: Option<&Entity>,
        takes: &[Take],
        wanted: &[Name],
        dice: &mut Random,
    ) -> Fields {
        let share = [0, 50, 50, 100][dice.below(4)];
        let source = self.source(life, entity);
        let mut fields = Fields::default();
        for take in takes {
            if take.required.is_some() || wanted.contains(&take.name) || dice.percent(share) {
                fields.put(&take.name, source.field(&take.name, &take.fits, dice));
            }
        }
        // Sometimes a field is missing.
        if dice.percent(4)
            && let Some(take) = dice.pick(takes)
        {
            fields.put(&take.name, Value::Null);
        }
        fields
    }

    fn source<'s>(&'s self, life: &'s Lifecycle, entity: Option<&'s Entity>) -> ValueGenerator<'s> {
        let (ground, view, cast, now) = (self.ground, &self.world.view, self.cast, self.world.now);
        ValueGenerator { ground, view, cast, now, life, entity }
    }
}

/// Fields that the possible target states require and that are not set.
fn wanted_fields(life: &Lifecycle, entity: &Entity, arm: &Arm) -> Vec<Name> {
    let mut wanted = Vec::new();
    for aim in aims(&arm.target) {
        if let Aim::State(state) = aim
            && let Some(state) = life.state(state)
        {
            wanted.extend(state.require.iter().map(|(name, _)| name.clone()));
        }
    }
    wanted.retain(|it| entity.fields.value(it).is_blank());
    wanted
}

/// Whether actors other than the engine may take it.
fn askable(arm: &Arm) -> bool {
    arm.by.source() != "engine"
}

/// Everywhere an arm may lead.
fn aims(target: &Target) -> Vec<&Aim> {
    match target {
        Target::One(aim) => vec![aim],
        Target::Choices(choices) => choices.iter().map(|Choice { aim, .. }| aim).collect(),
    }
}
