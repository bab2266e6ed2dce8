//! Claims, shares, and arms that are never taken.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{
    Also, Arm, AssignTarget, Lifecycle, Ranking, Read, ShareAmount, ShareRange as RankingShare, TimerKind,
};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;

use crate::check::class::Class;
use crate::check::facts::by_default;
use crate::check::finding::Finding;
use crate::check::firing::EngineMove;
use crate::check::reads::depends;
use crate::check::satisfy::{Assumptions, CallerKind, implies, possible};
use crate::check::survey::{Study, Survey};
use crate::graph::Cause;
use crate::graph::after;
use crate::graph::{arm_way, sites, timer_way, timer_word};

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        for ranking in &study.life().rankings {
            shared_claims(study, ranking, found);
        }
        shares(survey, study, found);
        shadowed_arms(study, found);
        unfired_moves(survey, study, found);
        late(study, found);
        in_vain(study, found);
    }
}

/// Claims that change nothing, and so hand the same entity to every caller.
fn shared_claims(study: &Study<'_>, ranking: &Ranking, found: &mut Vec<Finding>) {
    let life = study.life();
    let Some(claims) = ranking.claims.as_ref().and_then(|it| life.transition(it)) else { return };
    for arm in &claims.arms {
        let stays = |state: &&Name| {
            ranking.within_states.has(state) && after(life, arm, state).iter().any(|it| it == *state)
        };
        let leases =
            arm.then.lease.is_some() || arm.target.choices().iter().any(|it| it.then.lease.is_some());
        let Some(state) = arm.from.0.iter().find(stays).filter(|_| !leases && !leaves(life, ranking, arm))
        else {
            continue;
        };
        let message = format!(
            "`{}` claims from ranking `{}` but leaves the entity in {state} without a lease: the next claim returns the same entity",
            arm.transition, ranking.name
        );
        let advice = "move the entity to another state, or grant a lease: `lease: …`";
        let route = study.graph.place(state).map(|it| study.graph.route(it)).unwrap_or_default();
        found.push(
            Finding::new(Class::SharedClaim, study.name(), arm_way(arm), message, advice).by_way_of(route),
        );
    }
}

/// Whether an arm changes a value that the ranking reads.
fn leaves(life: &Lifecycle, ranking: &Ranking, arm: &Arm) -> bool {
    let consequences = || std::iter::once(&arm.then).chain(arm.target.choices().iter().map(|it| &it.then));
    let set = consequences().flat_map(|it| &it.set).filter_map(|it| match &it.target {
        AssignTarget::Field(name) => Some(name),
        _ => None,
    });
    let taken = arm.takes.iter().filter(|it| it.stored).map(|it| &it.name);
    let changed: Vec<&Name> = set.chain(consequences().flat_map(|it| &it.clear)).chain(taken).collect();
    let looks = [&ranking.when, &ranking.meant_for, &ranking.open];
    looks.into_iter().flatten().any(|guard| {
        depends(life, guard, &|it| matches!(it, Read::Field(name) if changed.contains(&name)))
            || (!arm.count.is_empty() && depends(life, guard, &|it| matches!(it, Read::Counter(_))))
    })
}

fn shares(survey: &Survey<'_>, study: &Study<'_>, found: &mut Vec<Finding>) {
    for part in sites(study.life()) {
        for (n, also) in part.then.also.iter().enumerate() {
            let way = part.way.clone().key("also").item(n);
            if let Some((key, message, advice)) = empty_share(survey, study.life(), also) {
                found.push(Finding::new(Class::ShareOfNobody, study.name(), way.key(key), message, advice));
            }
        }
    }
}

/// Why a share of a ranking moves no entity: the key, the problem and the advice.
fn empty_share(
    survey: &Survey<'_>,
    life: &Lifecycle,
    also: &Also,
) -> Option<(&'static str, String, &'static str)> {
    let share = also.share.as_ref()?;
    let few = |key: &'static str, guard: &Guard| {
        let number = by_default(life, guard)?.as_float().filter(|it| *it < 1.0)?;
        let message = format!(
            "`{key}: {}` is {number}, which is rounded down to 0: no entity is moved",
            guard.source()
        );
        Some((key, message, "write a percentage, such as 10%, or a number of at least 1"))
    };
    match &share.range {
        RankingShare::First(ShareAmount::Number(guard)) => few("first", guard),
        RankingShare::Last(ShareAmount::Number(guard)) => few("last", guard),
        RankingShare::Below(guard) => {
            let other = survey.study(&also.to)?;
            let by = &other.life().ranking(&share.ranking)?.by.first()?.by;
            let fits = guard.ty().fits(by.ty()) || by.ty().fits(guard.ty());
            let message = format!(
                "`below: {}` is {}, but ranking `{}` is ordered by {}: the two cannot be compared",
                guard.source(),
                guard.ty(),
                share.ranking,
                by.ty()
            );
            (!fits).then_some((
                "below",
                message,
                "compare with a value of the type that the ranking is ordered by",
            ))
        }
        RankingShare::First(ShareAmount::Percent(_)) | RankingShare::Last(ShareAmount::Percent(_)) => None,
    }
}

/// Arms that an earlier one always takes the place of.
fn shadowed_arms(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    for transition in &life.transitions {
        for (n, late) in transition.arms.iter().enumerate() {
            let earlier = transition.arms.iter().take(n).find(|it| covers(study, it, late));
            if let Some(first) = earlier {
                let message = format!(
                    "this arm of `{}` is never taken: arm {} has the same states and `by` `{}`, with fewer conditions",
                    transition.name,
                    first.index + 1,
                    first.by.source()
                );
                let advice = "put the narrower arm first, or remove it";
                let route =
                    late.from.0.first().and_then(|it| study.graph.place(it)).map(|it| study.graph.route(it));
                found.push(
                    Finding::new(Class::ShadowedArm, study.name(), arm_way(late), message, advice)
                        .by_way_of(route.unwrap_or_default()),
                );
            }
        }
    }
}

fn covers(study: &Study<'_>, first: &Arm, late: &Arm) -> bool {
    let life = study.life();
    let free = first.checks.is_empty() && first.holding.is_none() && first.reason.is_none();
    let asks_nothing = first.takes.iter().all(|it| it.required.is_none());
    let open_there = first
        .from
        .0
        .iter()
        .flat_map(|it| after(life, first, it))
        .all(|it| life.state(&it).is_some_and(|it| it.require.is_empty() && it.checks.is_empty()));
    let aims_surely = matches!(
        first.target,
        trackside_lifecycle::model::Target::One(
            trackside_lifecycle::model::Aim::State(_) | trackside_lifecycle::model::Aim::Stay
        )
    );
    // A field that the first arm does not take makes it refuse, and the next arm is tried.
    let takes_as_much = late.takes.iter().all(|it| first.takes.iter().any(|other| other.name == it.name));
    let calm = first.then.set.is_empty() && first.keep.is_empty() && first.then.lease.is_none();
    let given = Assumptions { states: &late.from.0, who: None, takes: &[] };
    free && asks_nothing
        && open_there
        && aims_surely
        && takes_as_much
        && calm
        && late.from.0.iter().all(|it| first.from.has(it))
        && implies(study.facts, &late.by, &first.by, given)
        && possible(study.facts, &[&late.by], given)
}

/// Moves for the engine alone that no rule makes.
fn unfired_moves(survey: &Survey<'_>, study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    for transition in &life.transitions {
        let again = life.create.again.as_ref() == Some(&transition.name);
        let fires = |it: &&EngineMove<'_>| it.rule.lifecycle == life.name && it.rule.fire == transition.name;
        let firings: Vec<&EngineMove<'_>> = survey.firings.iter().filter(fires).collect();
        for arm in &transition.arms {
            let given = |who: CallerKind| Assumptions { states: &arm.from.0, who: Some(who), takes: &[] };
            let outside =
                CallerKind::OUTSIDE.into_iter().any(|it| possible(study.facts, &[&arm.by], given(it)));
            let inside = possible(study.facts, &[&arm.by], given(CallerKind::Engine));
            let fired = firings
                .iter()
                .any(|it| it.rule.cause == Cause::Effect || it.states.iter().any(|it| arm.from.has(it)));
            // The finding for the timer covers it.
            let waits = life.timers.iter().filter(|it| study.facts.waits_for_nothing(it).is_some());
            let in_vain = waits.filter_map(|it| it.then.as_ref()).any(|it| it.fire == transition.name);
            if outside || !inside || fired || again || in_vain {
                continue;
            }
            let message = if firings.is_empty() {
                format!("only the engine may take `{}`, and no rule fires it", transition.name)
            } else {
                format!(
                    "only the engine may take this arm of `{}`, and no rule fires it in {}",
                    transition.name,
                    super::join_names(&arm.from.0.iter().map(Name::as_str).collect::<Vec<_>>())
                )
            };
            let advice =
                "fire it from a rule (`then`, `also`, a timer, a reaction), or admit other callers in `by`";
            found.push(Finding::new(Class::NobodyFires, study.name(), arm_way(arm), message, advice));
        }
    }
}

/// Deadlines that are later than the end of their state's retention.
fn late(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    let length = |guard: &Guard| match by_default(life, guard) {
        Some(Value::Span(span)) => Some(span),
        _ => None,
    };
    for kept in life.timers.iter().filter(|it| it.name.ends_with(".retain")) {
        let (TimerKind::After(after), Some(then)) = (&kept.kind, &kept.then) else { continue };
        let Some(end) = length(after).filter(|_| then.when.is_none()) else { continue };
        for timer in life.timers.iter().filter(|it| it.name != kept.name && it.runs == kept.runs) {
            let TimerKind::After(after) = &timer.kind else { continue };
            let Some(whole) = length(after) else { continue };
            let first: Span = timer.warn.first().map_or(whole, |it| whole.percent(it.percent));
            if first >= end {
                let message = format!(
                    "{} is due after {first}, but {} moves the entity on after {end}",
                    timer_word(life, timer),
                    timer_word(life, kept)
                );
                let advice = "make it shorter than `retain`, or remove one of them";
                found.push(Finding::new(
                    Class::LateTimer,
                    study.name(),
                    timer_way(life, timer),
                    message,
                    advice,
                ));
            }
        }
    }
}

/// Timers that are due at a time that never is.
fn in_vain(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    for timer in &life.timers {
        if let Some(field) = study.facts.waits_for_nothing(timer) {
            let message = format!(
                "{} is due at `{field}`, which no rule ever sets: it never fires",
                timer_word(life, timer)
            );
            let advice = format!("take or set `{field}` in a transition, or use `after` with a duration");
            found.push(Finding::new(Class::LateTimer, study.name(), timer_way(life, timer), message, advice));
        }
    }
}
