//! The headline of an explanation: who has to act next on an entity, how, why, since when and until when.

use trackside_engine::decide::{BlockingEntity, TransitionOption};
use trackside_lifecycle::name::Name;
use trackside_protocol::{HeadlineBody, OpenEffectBody, OpenRequestBody, PendingTimerBody, RunSummary};
use trackside_runtime::read::{Explanation, Trial};

/// What the headline is made of.
pub(super) struct HeadlineFacts<'a> {
    pub explanation: &'a Explanation,
    /// The caller, or the actor on whose behalf it asks.
    pub caller: &'a Name,
    pub has_ended: bool,
    pub waits_for_people: bool,
    /// The transitions by which people decide in its state.
    pub decisions: &'a [Name],
    pub requests: &'a [OpenRequestBody],
    pub runs: &'a [RunSummary],
    pub effects: &'a [OpenEffectBody],
    pub timers: &'a [PendingTimerBody],
}

/// The actor of a headline that is about the caller.
const YOU: &str = "you";
/// The actor of a move that nobody requests.
const ENGINE: &str = "engine";
/// The most transitions that an action names.
const MOST: usize = 4;

/// The headline of an entity. The first that applies: it has ended, a run works on it, a request waits for a decision,
/// another entity blocks it, another actor holds its lease, it can be claimed, people decide in its state, an effect
/// is open, it is assigned to others, the caller can move it, others can, a timer will, nothing can.
pub(super) fn headline(facts: &HeadlineFacts<'_>) -> HeadlineBody {
    let it = facts.explanation;
    if facts.has_ended {
        return HeadlineBody { until: None, ..facts.about(None, None, "It has ended".to_owned()) };
    }
    if let Some(run) = facts.runs.first() {
        let agent = run.agent.clone().unwrap_or_else(|| "an agent".to_owned());
        let reason = format!("Run {} is {}", run.id, run.state);
        return HeadlineBody {
            since: run.created_at.clone(),
            ..facts.about(Some(agent), Some("work on it".to_owned()), reason)
        };
    }
    if let Some(request) = facts.requests.first() {
        return facts.decision(request);
    }
    let ready = ready_moves(it);
    if let Some(keeper) = it.blocked_by.first().filter(|_| ready.is_empty()) {
        return facts.blocked(keeper);
    }
    let now = it.now;
    let mut held =
        it.entity.leases.iter().filter_map(|(slot, lease)| Some((slot, lease, lease.holder.as_ref()?)));
    if let Some((slot, lease, holder)) =
        held.find(|(_, it, holder)| *holder != facts.caller && it.expires_at > now)
    {
        let reason = format!("{holder} holds the lease {slot}");
        return HeadlineBody {
            since: lease.granted_at.unwrap_or(it.entity.state_entered_at).to_string(),
            until: Some(lease.expires_at.to_string()),
            ..facts.about(Some(holder.to_string()), Some("work on it".to_owned()), reason)
        };
    }
    if !it.claimable.is_empty() {
        return facts.claim();
    }
    if let Some(made) = facts.decision_here() {
        return made;
    }
    let yours = your_moves(it, &ready);
    if facts.waits_for_people && yours.is_empty() {
        return facts.others().unwrap_or_else(|| facts.stuck());
    }
    if let Some(effect) = facts.effects.first().filter(|_| !facts.waits_for_people) {
        return facts.effect(effect);
    }
    if !it.able.is_empty() && !it.able.contains(facts.caller) {
        let names: Vec<&str> = it.able.iter().map(Name::as_str).collect();
        let (who, action) = (names.join(" or "), "move it on".to_owned());
        return facts.about(Some(who), Some(action), "It is assigned to them".to_owned());
    }
    if !yours.is_empty() {
        let reason =
            if ready.is_empty() { "You can move it once you send more" } else { "You can move it now" };
        return facts.about(Some(YOU.to_owned()), in_line(yours.into_iter()), reason.to_owned());
    }
    facts.others().or_else(|| facts.timer()).unwrap_or_else(|| facts.stuck())
}

impl HeadlineFacts<'_> {
    /// A headline about the present state, until the next timer that moves the entity.
    fn about(&self, actor: Option<String>, action: Option<String>, reason: String) -> HeadlineBody {
        HeadlineBody {
            actor,
            action,
            on: None,
            reason,
            since: self.explanation.entity.state_entered_at.to_string(),
            until: next_end(self.timers).map(|it| it.due_at.clone()),
        }
    }

    fn decision(&self, request: &OpenRequestBody) -> HeadlineBody {
        let mine = request.deciders.iter().any(|it| it.permitted);
        let deciders = || request.deciders.iter().filter(|it| it.permitted || !mine);
        let actor = match mine {
            true => Some(YOU.to_owned()),
            false => in_line(deciders().map(|it| it.who.clone())),
        };
        HeadlineBody {
            on: Some(format!("{}/{}", request.lifecycle, request.id)),
            since: request.since.clone(),
            until: next_end(&request.timers).map(|it| it.due_at.clone()),
            ..self.about(
                actor,
                in_line(deciders().map(|it| it.event.to_string())),
                "It waits for a decision".to_owned(),
            )
        }
    }

    /// A decision by which people move the entity itself on.
    fn decision_here(&self) -> Option<HeadlineBody> {
        let ways = self.explanation.transitions.iter();
        let open = ways.filter(|it| self.decisions.contains(&it.event) && it.is_open_to_others());
        let open: Vec<&TransitionOption> = open.filter(|_| self.waits_for_people).collect();
        let mine = open.iter().filter_map(|it| Some(with_missing(&it.event, &it.missing()?)));
        let (actor, actions) = match in_line(mine) {
            Some(actions) => (YOU.to_owned(), actions),
            None => (
                in_line(open.iter().map(|it| it.who.clone()))?,
                in_line(open.iter().map(|it| it.event.to_string()))?,
            ),
        };
        Some(self.about(Some(actor), Some(actions), "It waits for a decision".to_owned()))
    }

    fn blocked(&self, keeper: &BlockingEntity) -> HeadlineBody {
        let mine = keeper.unblock_options.iter().any(|it| it.permitted);
        let options = || keeper.unblock_options.iter().filter(|it| it.permitted || !mine);
        let actor = match mine {
            true => Some(YOU.to_owned()),
            false => in_line(options().map(|it| it.who.clone())),
        };
        let reason = keeper.says.trim_end_matches('.').to_owned();
        let on = Some(keeper.entity.to_string());
        HeadlineBody { on, ..self.about(actor, in_line(options().map(|it| it.event.to_string())), reason) }
    }

    fn claim(&self) -> HeadlineBody {
        let it = self.explanation;
        let may = |event: &Name| {
            it.transitions.iter().any(|it| it.event == *event && it.permitted && it.gates_open)
        };
        let mine = it.claimable.iter().any(|(event, _)| may(event));
        let claims = || it.claimable.iter().filter(|(event, _)| may(event) || !mine);
        let actor = match mine {
            true => Some(YOU.to_owned()),
            false => in_line(claims().map(|(_, who)| who.clone())),
        };
        let actions = in_line(claims().map(|(event, _)| event.to_string()));
        self.about(actor, actions, "It waits to be claimed".to_owned())
    }

    fn effect(&self, effect: &OpenEffectBody) -> HeadlineBody {
        let (actor, reason) = match (&effect.taken_by, effect.behind) {
            (Some(taker), _) => (taker.clone(), "A worker has taken the effect".to_owned()),
            (None, Some(id)) => ("a worker".to_owned(), format!("The effect comes after effect {id}")),
            (None, None) => ("a worker".to_owned(), "No worker has taken the effect".to_owned()),
        };
        let plain = self.about(Some(actor), Some(effect.effect.to_string()), reason);
        HeadlineBody {
            since: effect.since.clone().unwrap_or_else(|| plain.since.clone()),
            until: effect.until.clone().or_else(|| plain.until.clone()),
            ..plain
        }
    }

    /// Others who can move it now.
    fn others(&self) -> Option<HeadlineBody> {
        let open = || self.explanation.transitions.iter().filter(|it| is_open_move(it));
        let who = in_line(open().map(|it| it.who.clone()))?;
        let actions = in_line(open().map(|it| it.event.to_string()));
        Some(self.about(Some(who), actions, "You may not move it".to_owned()))
    }

    fn timer(&self) -> Option<HeadlineBody> {
        let timer = next_end(self.timers)?;
        let reason = format!("It waits until {} ends", timer.name);
        Some(self.about(Some(ENGINE.to_owned()), timer.then.as_ref().map(Name::to_string), reason))
    }

    fn stuck(&self) -> HeadlineBody {
        let failed = self.explanation.transitions.iter().flat_map(|it| &it.checks).filter(|it| !it.passed);
        let unmet =
            failed.filter_map(|it| it.message.as_deref()).map(|it| it.trim_end_matches('.').to_owned());
        let reason = in_line(unmet).map(|it| format!("Nothing can move it now: {it}"));
        self.about(None, None, reason.unwrap_or_else(|| "Nothing can move it now".to_owned()))
    }
}

/// The next timer that fires a transition.
fn next_end(timers: &[PendingTimerBody]) -> Option<&PendingTimerBody> {
    timers.iter().filter(|it| it.then.is_some()).min_by(|a, b| a.due_at.cmp(&b.due_at))
}

/// Whether the transition moves the entity and waits only for an actor.
fn is_open_move(it: &TransitionOption) -> bool {
    !it.to.is_empty() && it.who != ENGINE && it.is_open_to_others()
}

/// The transitions that would move the entity now, if the caller fired them without fields.
fn ready_moves(it: &Explanation) -> Vec<&Name> {
    let is_ready = |trial: &Trial| matches!(trial, Trial::Accepted { to: Some(_) });
    it.trials.iter().filter(|(_, trial)| is_ready(trial)).map(|(event, _)| event).collect()
}

/// The moves that the caller can make now; without any, those that need more fields: `start with workPlan`.
fn your_moves(it: &Explanation, ready: &[&Name]) -> Vec<String> {
    match ready {
        [] => movable_with_more(it, &[]),
        ready => ready.iter().map(|it| it.to_string()).collect(),
    }
}

/// Moves that the caller could make with further fields: `start with workPlan`.
pub(super) fn movable_with_more(it: &Explanation, ready: &[Name]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for way in it.transitions.iter().filter(|it| !it.to.is_empty() && !ready.contains(&it.event)) {
        let missing = way.missing().filter(|it| !it.is_empty());
        let Some(missing) = missing else { continue };
        let line = with_missing(&way.event, &missing);
        if !all.contains(&line) {
            all.push(line);
        }
    }
    all
}

/// A transition with what a request must still send: `start with workPlan`.
fn with_missing(event: &Name, missing: &[Name]) -> String {
    match missing {
        [] => event.to_string(),
        missing => format!("{event} with {}", missing.join(", ")),
    }
}

/// Names in a line, each once: `approve or deny`. None if there are none.
fn in_line(names: impl Iterator<Item = String>) -> Option<String> {
    let mut all: Vec<String> = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    let more = all.len() > MOST;
    all.truncate(MOST);
    all.extend(more.then(|| "…".to_owned()));
    (!all.is_empty()).then(|| all.join(" or "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trackside_engine::decide::Checked;
    use trackside_engine::entity::{Entity, Lease};
    use trackside_engine::key::EntityKey;
    use trackside_lifecycle::time::Timestamp;
    use trackside_protocol::EventOption;

    use super::*;

    /// What is known about an entity; everything is empty at first.
    struct Case {
        explanation: Explanation,
        has_ended: bool,
        waits_for_people: bool,
        decisions: Vec<Name>,
        requests: Vec<OpenRequestBody>,
        runs: Vec<RunSummary>,
        effects: Vec<OpenEffectBody>,
        timers: Vec<PendingTimerBody>,
    }

    fn case() -> Case {
        let entity = Entity::new(EntityKey::new("x.y", "1"), 1, Name::new("OPEN"), Timestamp(0));
        let explanation = Explanation {
            entity: Arc::new(entity),
            now: Timestamp(1_000),
            transitions: Vec::new(),
            trials: Vec::new(),
            given_to: Vec::new(),
            able: Vec::new(),
            claimable: Vec::new(),
            blocked_by: Vec::new(),
        };
        Case {
            explanation,
            has_ended: false,
            waits_for_people: false,
            decisions: Vec::new(),
            requests: Vec::new(),
            runs: Vec::new(),
            effects: Vec::new(),
            timers: Vec::new(),
        }
    }

    impl Case {
        fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
            change(&mut self);
            self
        }

        /// A move; `takes` is a field that a request must send.
        fn way(self, event: &str, who: &str, permitted: bool, takes: Option<&str>) -> Self {
            self.with(|it| {
                let option = TransitionOption {
                    event: Name::new(event),
                    about: String::new(),
                    to: vec![Name::new("DONE")],
                    who: who.to_owned(),
                    permitted,
                    gates_open: true,
                    for_no_actor: false,
                    takes: takes.iter().map(|it| (Name::new(it), true)).collect(),
                    needs_reason: false,
                    needs_target: false,
                    checks: Vec::new(),
                };
                it.explanation.transitions.push(option);
                if permitted && takes.is_none() {
                    let accepted = Trial::Accepted { to: Some(Name::new("DONE")) };
                    it.explanation.trials.push((Name::new(event), accepted));
                }
            })
        }

        fn lease(self, holder: &str) -> Self {
            self.with(|it| {
                let lease = Lease {
                    holder: Some(Name::new(holder)),
                    fence: 1,
                    expires_at: Timestamp(60_000),
                    granted_at: Some(Timestamp(500)),
                };
                Arc::make_mut(&mut it.explanation.entity).leases.push((Name::new("work"), lease));
            })
        }

        fn request(self, permitted: bool) -> Self {
            let decider =
                |event: &str| EventOption { event: Name::new(event), who: "human".to_owned(), permitted };
            self.with(|it| {
                it.requests.push(OpenRequestBody {
                    lifecycle: Name::new("x.approval"),
                    id: Name::new("A-1"),
                    state: Name::new("ASKED"),
                    since: "1970-01-01T00:00:00.700Z".to_owned(),
                    fields: None,
                    deciders: vec![decider("approve"), decider("deny")],
                    timers: Vec::new(),
                });
            })
        }

        fn effect(self, taken_by: Option<&str>) -> Self {
            self.with(|it| {
                it.effects.push(OpenEffectBody {
                    id: 9,
                    effect: Name::new("merge"),
                    since: Some("1970-01-01T00:00:00.800Z".to_owned()),
                    taken_by: taken_by.map(str::to_owned),
                    until: None,
                    behind: None,
                    behind_entity: None,
                });
            })
        }

        fn timer(self) -> Self {
            let at = "1970-01-01T01:00:00Z".to_owned();
            self.with(|it| {
                it.timers.push(PendingTimerBody {
                    timer: Name::new("review"),
                    name: Name::new("review"),
                    at: at.clone(),
                    next_step_at: at.clone(),
                    step: "end",
                    due_at: at,
                    then: Some(Name::new("expire")),
                    to: vec![Name::new("DONE")],
                });
            })
        }

        fn headline(&self) -> HeadlineBody {
            headline(&HeadlineFacts {
                explanation: &self.explanation,
                caller: &Name::new("me"),
                has_ended: self.has_ended,
                waits_for_people: self.waits_for_people,
                decisions: &self.decisions,
                requests: &self.requests,
                runs: &self.runs,
                effects: &self.effects,
                timers: &self.timers,
            })
        }
    }

    #[test]
    fn the_first_reason_that_applies_makes_the_headline() {
        let mine = || case().way("finish", "human", true, None);
        let claimable =
            |it: &mut Case| it.explanation.claimable.push((Name::new("take"), "agent".to_owned()));
        let assigned = |it: &mut Case| it.explanation.able.push(Name::new("ada"));
        let failed = |it: &mut Case| {
            let check = Checked {
                rule: Name::new("ready"),
                passed: false,
                of_caller: false,
                message: Some("Not ready.".to_owned()),
                saw: std::collections::BTreeMap::new(),
            };
            it.explanation.transitions.iter_mut().for_each(|it| it.checks.push(check.clone()));
        };
        let people = |it: &mut Case| it.waits_for_people = true;
        let decided = |it: &mut Case| {
            it.waits_for_people = true;
            it.decisions = vec![Name::new("approve"), Name::new("deny")];
        };
        let asked = || case().way("cancel", "human", true, None);
        let ended = |it: &mut Case| it.has_ended = true;
        for (case, expected) in [
            (mine().timer().with(ended), "It has ended."),
            (
                mine().lease("ada").request(true),
                "Waiting for you: approve or deny of x.approval/A-1. It waits for a decision.",
            ),
            (
                mine().lease("ada").request(false),
                "Waiting for human: approve or deny of x.approval/A-1. It waits for a decision.",
            ),
            (mine().lease("ada").with(claimable), "Waiting for ada: work on it. ada holds the lease work."),
            (mine().lease("me"), "Waiting for you: finish. You can move it now."),
            (mine().with(claimable), "Waiting for agent: take. It waits to be claimed."),
            (
                mine().way("take", "agent", true, None).with(claimable),
                "Waiting for you: take. It waits to be claimed.",
            ),
            (mine().effect(None), "Waiting for a worker: merge. No worker has taken the effect."),
            (mine().effect(Some("git-1")), "Waiting for git-1: merge. A worker has taken the effect."),
            (mine().effect(None).with(people), "Waiting for you: finish. You can move it now."),
            (
                asked().way("approve", "human", true, Some("note")).with(decided),
                "Waiting for you: approve with note. It waits for a decision.",
            ),
            (
                asked().way("approve", "human and not requester", false, None).with(decided),
                "Waiting for human and not requester: approve. It waits for a decision.",
            ),
            (mine().with(assigned), "Waiting for ada: move it on. It is assigned to them."),
            (mine(), "Waiting for you: finish. You can move it now."),
            (
                case().way("start", "human", true, Some("plan")),
                "Waiting for you: start with plan. You can move it once you send more.",
            ),
            (
                case().way("finish", "lead", false, None).timer(),
                "Waiting for lead: finish. You may not move it.",
            ),
            (
                case().way("finish", "lead", false, None).with(people),
                "Waiting for lead: finish. You may not move it.",
            ),
            (
                case().way("expire", "engine", false, None).timer(),
                "Waiting for engine: expire. It waits until review ends.",
            ),
            (case().way("finish", "lead", false, None).with(failed), "Nothing can move it now: Not ready."),
            (case(), "Nothing can move it now."),
        ] {
            let made = case.headline();
            let on = made.on.as_deref();
            let said = trackside_protocol::headline_in_words(
                made.actor.as_deref(),
                made.action.as_deref(),
                on,
                &made.reason,
            );
            assert_eq!(said, expected);
        }
    }

    #[test]
    fn a_headline_has_the_times_of_its_reason() {
        let times = |case: Case| {
            let made = case.headline();
            (made.since, made.until)
        };
        let end = Some("1970-01-01T01:00:00Z".to_owned());
        assert_eq!(times(case().timer()), ("1970-01-01T00:00:00Z".to_owned(), end.clone()));
        assert_eq!(times(case().timer().with(|it| it.has_ended = true)).1, None);
        let lease = Some("1970-01-01T00:01:00Z".to_owned());
        assert_eq!(times(case().timer().lease("ada")), ("1970-01-01T00:00:00.5Z".to_owned(), lease));
        assert_eq!(times(case().timer().request(true)), ("1970-01-01T00:00:00.700Z".to_owned(), None));
        assert_eq!(times(case().timer().effect(None)), ("1970-01-01T00:00:00.800Z".to_owned(), end));
    }
}
