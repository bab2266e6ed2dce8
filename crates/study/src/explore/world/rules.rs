//! Every expression of a lifecycle that affects behaviour, and its use.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{
    Arm, AssignTarget, Choice, Consequences, FollowUp, Lifecycle, ShareAmount, ShareRange, TallyBy,
    TimerKind, Warn,
};
use trackside_lifecycle::name::Name;

/// The use of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It decides, or its value goes to other entities.
    Decides,
    /// It sets a field of its own entity.
    Sets(Name),
}

/// Expressions of a lifecycle, texts for people left out.
pub(crate) fn of(life: &Lifecycle) -> Vec<(&Guard, Use)> {
    let mut all = Rules(Vec::new());
    all.decides(&life.read);
    for gate in &life.gates {
        all.decides(&gate.applies);
        all.decide(&gate.open);
    }
    let create = &life.create;
    all.decide(&create.by);
    all.decides(&create.same);
    create.checks.iter().for_each(|it| all.decide(&it.guard));
    all.consequences(&create.then);
    for state in &life.states {
        state.checks.iter().for_each(|it| all.decide(&it.guard));
        all.choices(&state.always);
        all.consequences(&state.enter);
        all.consequences(&state.exit);
    }
    life.arms().for_each(|it| all.arm(it));
    for timer in &life.timers {
        if let TimerKind::After(after) = &timer.kind {
            all.decide(after);
        }
        all.warn(&timer.warn);
        all.follow(timer.then.as_ref());
    }
    for counter in &life.counters {
        let guards = [&counter.add, &counter.only_if, &counter.within, &counter.last, &counter.limit];
        guards.into_iter().for_each(|it| all.decides(it));
        if let TallyBy::ByKey(keys) = &counter.tally {
            keys.iter().for_each(|it| all.decide(it));
        }
        all.warn(&counter.warn);
        all.follow(counter.then.as_ref());
    }
    for slot in &life.slots {
        all.decide(&slot.lasts);
        all.decides(&slot.grace);
    }
    for ranking in &life.rankings {
        [&ranking.when, &ranking.open, &ranking.meant_for].into_iter().for_each(|it| all.decides(it));
        ranking.by.iter().for_each(|it| all.decide(&it.by));
    }
    for reaction in &life.reactions {
        all.decide(&reaction.when);
        reaction.with.iter().for_each(|(_, it)| all.decide(it));
    }
    life.effects.iter().flat_map(|it| &it.with).for_each(|(_, it)| all.decide(it));
    life.effects.iter().filter_map(|it| it.while_true.as_ref()).for_each(|it| all.decide(it));
    for rule in &life.notify {
        [&rule.notification.to, &rule.notification.each, &rule.notification.when]
            .into_iter()
            .for_each(|it| all.decides(it));
    }
    life.invariants.iter().for_each(|it| all.decide(&it.holds));
    life.properties.iter().flat_map(|it| it.kind.guards()).for_each(|it| all.decide(it));
    life.settings.iter().flat_map(|it| &it.from).for_each(|it| all.decide(it));
    all.0
}

struct Rules<'a>(Vec<(&'a Guard, Use)>);

impl<'a> Rules<'a> {
    fn decide(&mut self, guard: &'a Guard) {
        self.0.push((guard, Use::Decides));
    }

    fn decides(&mut self, guard: &'a Option<Guard>) {
        self.0.extend(guard.iter().map(|it| (it, Use::Decides)));
    }

    fn arm(&mut self, arm: &'a Arm) {
        self.decide(&arm.by);
        arm.checks.iter().for_each(|it| self.decide(&it.guard));
        self.choices(arm.target.choices());
        self.consequences(&arm.then);
    }

    fn choices(&mut self, choices: &'a [Choice]) {
        for choice in choices {
            self.decides(&choice.when);
            self.consequences(&choice.then);
        }
    }

    fn warn(&mut self, steps: &'a [Warn]) {
        steps.iter().for_each(|it| self.consequences(&it.then));
    }

    fn follow(&mut self, follow: Option<&'a FollowUp>) {
        if let Some(follow) = follow {
            self.decides(&follow.when);
            self.decides(&follow.subject);
            follow.with.iter().for_each(|(_, it)| self.decide(it));
        }
    }

    fn consequences(&mut self, then: &'a Consequences) {
        for assign in &then.set {
            match &assign.target {
                AssignTarget::Field(field) => self.0.push((&assign.value, Use::Sets(field.clone()))),
                AssignTarget::Counter(_) => self.decide(&assign.value),
                AssignTarget::CounterAt(_, key) => {
                    self.decide(key);
                    self.decide(&assign.value);
                }
            }
        }
        if let Some(grant) = &then.lease {
            self.decides(&grant.to);
        }
        then.then.iter().for_each(|it| self.follow(Some(it)));
        for also in &then.also {
            self.decides(&also.when);
            also.with.iter().for_each(|(_, it)| self.decide(it));
            let part = also.share.as_ref().map(|it| &it.range);
            if let Some(
                ShareRange::First(ShareAmount::Number(it))
                | ShareRange::Last(ShareAmount::Number(it))
                | ShareRange::Below(it),
            ) = part
            {
                self.decide(it);
            }
        }
        for birth in &then.create {
            self.decide(&birth.id);
            self.decides(&birth.when);
            birth.fields.iter().for_each(|(_, it)| self.decide(it));
        }
        for call in &then.effects {
            self.decides(&call.when);
            call.with.iter().for_each(|(_, it)| self.decide(it));
        }
        for post in &then.post {
            let guards = [&post.to, &post.visible, &post.from, &post.each, &post.when];
            guards.into_iter().for_each(|it| self.decides(it));
        }
        for tell in &then.notify {
            [&tell.to, &tell.each, &tell.when].into_iter().for_each(|it| self.decides(it));
        }
        then.alert.iter().for_each(|it| self.decides(&it.when));
    }
}
