//! The problems of one entity under a definition.

use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command};
use trackside_engine::decide::answer;
use trackside_engine::entity::{Entity, Tally};
use trackside_engine::event::Event;
use trackside_engine::{Decision, Law, View, decide};
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::model::{Lifecycle, State};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::Trouble;
use super::reachable::{ReachableStates, ends};

pub(super) struct EntityProblem {
    pub trouble: Trouble,
    pub why: String,
    pub advice: String,
}

struct Look<'a> {
    law: &'a Law,
    view: &'a View,
    life: &'a Lifecycle,
    entity: &'a Entity,
    now: Timestamp,
    found: Vec<EntityProblem>,
}

/// All problems of an entity.
pub(super) fn entity_problems(law: &Law, view: &View, entity: &Entity, now: Timestamp) -> Vec<EntityProblem> {
    let name = &entity.key.lifecycle;
    let Some(life) = law.definition(name, entity.definition) else {
        let why = format!("lifecycle {name} no longer exists");
        let advice = "keep the lifecycle until its last entity is closed".to_owned();
        return vec![EntityProblem { trouble: Trouble::LifecycleGone, why, advice }];
    };
    let mut look = Look { law, view, life, entity, now, found: Vec::new() };
    match life.state(&entity.state) {
        Some(state) => {
            look.state(state);
            look.violations();
        }
        None => look.no_state(),
    }
    look.fields();
    look.clocks();
    look.counters();
    look.effects();
    look.found
}

impl Look<'_> {
    fn add(&mut self, trouble: Trouble, why: String, advice: String) {
        self.found.push(EntityProblem { trouble, why, advice });
    }

    fn no_state(&mut self) {
        let known = self.life.states.iter().map(|it| it.name.as_str());
        let near = nearest(&self.entity.state, known).map(str::to_owned);
        let back = self.entity.previous_state.as_ref().filter(|it| self.life.state(it).is_some());
        let to = near.or_else(|| back.map(Name::to_string)).unwrap_or_else(|| self.life.initial.to_string());
        let state = &self.entity.state;
        let why = format!("state {state} no longer exists");
        let advice = format!(
            "correct the entities to another state, such as {to}; or keep {state} with a transition out of it"
        );
        self.add(Trouble::StateGone, why, advice);
    }

    fn state(&mut self, state: &State) {
        for (field, message) in &state.require {
            if self.entity.fields.get(field).is_none_or(trackside_lifecycle::value::Value::is_blank) {
                let why = format!("{} requires `{field}`, which is missing: {message}", state.name);
                let advice = format!("set `{field}` before the change, or correct it after the change");
                self.add(Trouble::Missing, why, advice);
            }
        }
        if state.last {
            return;
        }
        let ways = ReachableStates::new(self.law, self.life);
        let end = ways.leads_to_end(&state.name);
        let toward = self.life.states.iter().find(|it| it.name != state.name && ways.leads_to_end(&it.name));
        let toward = toward.map_or_else(|| self.life.initial.clone(), |it| it.name.clone());
        let advice =
            format!("add an edge from {} to {toward}, or move the entities on before the change", state.name);
        if ways.next_states(&state.name).is_empty() {
            let shut = ways.blocked_transitions(&state.name);
            let why = if shut.is_empty() {
                format!("no transition leaves {}", state.name)
            } else {
                format!("no actor can take the transitions out of {}: {}", state.name, shut.join(", "))
            };
            self.add(Trouble::NoWayOut, why, advice);
        } else if !end && self.life.states.iter().any(ends) {
            self.add(Trouble::NoEnd, format!("no final state can be reached from {}", state.name), advice);
        }
    }

    fn fields(&mut self) {
        let stored: Vec<_> = self.entity.fields.iter().map(|(name, it)| (name.clone(), it.clone())).collect();
        for (name, value) in stored {
            let Some(field) = self.life.field(&name) else {
                let why = format!("field `{name}` no longer exists, so its value can no longer be read");
                let advice = format!("move the value elsewhere before the change, or keep `{name}`");
                self.add(Trouble::FieldGone, why, advice);
                continue;
            };
            if field.is.is_some() {
                continue;
            }
            if let Err(misfits) = field.fits.accept(&name, &value) {
                let said = misfits.first().map(|it| it.message.clone()).unwrap_or_default();
                let advice = format!("correct `{name}`, or widen its type");
                self.add(Trouble::Misfit, format!("`{name}` no longer fits its type: {said}"), advice);
            }
        }
    }

    fn clocks(&mut self) {
        for (slot, lease) in &self.entity.leases {
            if lease.holder.is_some() && self.life.slot(slot).is_none() {
                let why = format!("lease `{slot}` is held and no longer exists");
                let advice = format!("release `{slot}` before the change");
                self.found.push(EntityProblem { trouble: Trouble::LeaseGone, why, advice });
            }
        }
        for (name, timer) in &self.entity.timers {
            let known = match (name.strip_prefix("lease."), name.strip_prefix("reset.")) {
                (Some(_), _) => continue,
                (_, Some(counter)) => self.life.counter(counter).is_some_and(|it| it.reset_every.is_some()),
                (None, None) => self.life.timer(name).is_some(),
            };
            if timer.due.is_some() && !known {
                let why =
                    format!("timer `{name}` is running and no longer exists: it will end and do nothing");
                let advice =
                    "give the state another deadline, or move the entities on before the change".to_owned();
                self.found.push(EntityProblem { trouble: Trouble::TimerGone, why, advice });
            }
        }
    }

    fn counters(&mut self) {
        for tallies in &self.entity.tallies {
            let Some(counter) = self.life.counter(&tallies.counter) else { continue };
            let Some(limit) = &counter.limit else { continue };
            let limit = answer(self.law, self.view, self.entity, limit, self.now);
            let Some(limit) = limit.ok().and_then(|it| it.as_float()) else { continue };
            let count = |it: &Tally| {
                if it.marks.is_empty() { it.value } else { it.marks.iter().map(|(_, value)| value).sum() }
            };
            let most = tallies.by_key.iter().map(|(_, it)| count(it)).fold(f64::MIN, f64::max);
            if most >= limit {
                let name = &counter.name;
                let follows = counter.then.as_ref().map_or_else(
                    || "it is over its limit immediately".to_owned(),
                    |it| format!("its next count fires `{}`", it.fire),
                );
                let why = format!("counter `{name}` has reached its limit of {limit}: {follows}");
                let advice = format!("reset `{name}`, or raise the limit for the open entities");
                self.found.push(EntityProblem { trouble: Trouble::OverLimit, why, advice });
            }
        }
    }

    fn effects(&mut self) {
        let last = self.life.state(&self.entity.state).is_some_and(|it| it.last);
        for open in &self.entity.effects {
            let name = &open.effect;
            let Some(effect) = self.life.effect(name) else {
                let why = format!(
                    "effect `{name}` is in progress and no longer exists: its result will be ignored"
                );
                let advice = "wait for its result before the change, or keep the effect".to_owned();
                self.found.push(EntityProblem { trouble: Trouble::EffectUnheard, why, advice });
                continue;
            };
            for fire in [&effect.ok, &effect.failed].into_iter().flatten().filter(|_| !last) {
                let arms = self.life.transition(fire).map(|it| it.arms.as_slice()).unwrap_or_default();
                if arms.iter().any(|it| it.from.has(&self.entity.state)) {
                    continue;
                }
                let state = &self.entity.state;
                let why = format!(
                    "effect `{name}` is in progress, but `{fire}`, which handles its result, does not leave {state}"
                );
                let advice = format!("add {state} to the `from` of `{fire}`");
                self.found.push(EntityProblem { trouble: Trouble::EffectUnheard, why, advice });
            }
        }
    }

    fn violations(&mut self) {
        let sweep = Actor::engine();
        let command = Command::new(sweep, Ask::Inspect { entity: self.entity.key.clone() });
        let Ok(Decision::Accepted(accepted)) = decide(self.law, self.view, &command, self.now) else {
            return;
        };
        for entry in accepted.entries.iter().filter(|it| it.entity == self.entity.key) {
            if let Event::ViolationFound { rule, message, .. } = &entry.event {
                let why = format!("it would violate `{rule}` immediately: {message}");
                let advice = "correct the values before the change or after it".to_owned();
                self.add(Trouble::Violation, why, advice);
            }
        }
    }
}
