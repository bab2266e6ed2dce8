//! Timers, counters, leases, reactions, invariants, notifications and effects.

use super::arms::syntax_list;
use super::context::{CompileContext, is_id, needs_now};
use super::reachability::fired_transition;
use crate::guard::Type;
use crate::model::{
    Consequences, Counter, Effect, Every, Invariant, InvariantsOf, NotifyOn, NotifyRule, Reaction, Read,
    Severity, Slot, Starts, StateSet, TallyBy, Timer, TimerKind, Warn,
};
use crate::name::Name;
use crate::source::{At, Named, OneOrMany, Percent, Place};
use crate::syntax::{self, CounterDecl, Deadline, Retain, SlotDecl, TimerDecl};
use crate::time::Span;

impl CompileContext<'_> {
    /// The timer behind a state's deadline: named after the state, started on every entry.
    pub fn deadline(&mut self, state: &Name, from: &Deadline) -> Option<Timer> {
        let runs = StateSet(vec![state.clone()]);
        if let Some(then) = &from.then {
            self.can_leave(fired_transition(then), &runs, "the deadline");
        }
        Some(Timer {
            name: state.clone(),
            kind: TimerKind::After(self.some_span(&from.after)?),
            runs,
            starts: Starts::Entry,
            restarts: Vec::new(),
            warn: self.warn(from.warn.as_ref()),
            then: from.then.as_ref().and_then(|it| self.follow(it)),
        })
    }

    /// The timer behind a state's retention.
    pub fn retain(&mut self, state: &Name, from: &Retain) -> Option<Timer> {
        let runs = StateSet(vec![state.clone()]);
        self.can_leave(fired_transition(&from.then), &runs, "the end of `retain`");
        Some(Timer {
            name: Name::from(format!("{state}.retain")),
            kind: TimerKind::After(self.some_span(&from.r#for)?),
            runs,
            starts: Starts::Entry,
            restarts: Vec::new(),
            warn: Vec::new(),
            then: self.follow(&from.then),
        })
    }

    pub fn timer(&mut self, name: &At<Name>, from: &TimerDecl) -> Option<Timer> {
        let kind = match (&from.after, &from.at, &from.every) {
            (Some(after), None, None) => TimerKind::After(self.some_span(after)?),
            (None, Some(field), None) => {
                if self.shape.fields.get(&field.it).is_some_and(|it| it.ty() != Type::Time) {
                    self.error("not-a-time", field.at, format!("field `{}` is not of type time", field.it));
                }
                self.starts_by_itself(from);
                TimerKind::At(self.field(field))
            }
            (None, None, Some(every)) => match parse_every(&every.text) {
                Some(it) => TimerKind::Every(self.rhythm(it, every.at)),
                None => {
                    self.error("bad-every", every.at, format!("`{}` is not a valid interval", every.text))
                        .hint("write `daily 09:00` or a span such as `60s`");
                    return None;
                }
            },
            _ => {
                self.error("timer-kind", name.at, "a timer has exactly one of `after`, `at` and `every`");
                return None;
            }
        };
        let runs = match &from.runs {
            Some(names) => self.states(names),
            None => {
                let shape = self.shape;
                StateSet(shape.states.iter().filter(|it| !shape.finals.contains(it)).cloned().collect())
            }
        };
        let starts = match from.starts.as_ref().map(|it| it.iter().cloned().collect::<Vec<_>>()) {
            None => Starts::Once,
            Some(words) => match words.as_slice() {
                [word] if word.it == "once" => Starts::Once,
                [word] if word.it == "entry" => Starts::Entry,
                words => Starts::On(words.iter().map(|it| self.transition(it)).collect()),
            },
        };
        if let Some(then) = &from.then {
            self.can_leave(fired_transition(then), &runs, "the timer");
        }
        let timed = Timer {
            name: name.it.clone(),
            kind,
            runs,
            starts,
            restarts: syntax_list(&from.restarts).iter().map(|it| self.transition(it)).collect(),
            warn: self.warn(from.warn.as_ref()),
            then: from.then.as_ref().and_then(|it| self.follow(it)),
        };
        if matches!(timed.kind, TimerKind::Every(_)) && !timed.warn.is_empty() {
            self.error(
                "warn-without-after",
                name.at,
                "`warn` needs `after` or `at`: its percentages refer to that span",
            );
        }
        Some(timed)
    }

    /// The field alone determines when an `at` timer is due.
    fn starts_by_itself(&mut self, from: &TimerDecl) {
        let words = [("starts", &from.starts), ("restarts", &from.restarts)];
        for (key, names) in words {
            if let Some(first) = names.iter().flat_map(|it| it.iter()).next() {
                self.error(
                    "at-starts",
                    first.at,
                    format!("a timer with `at` has no `{key}`: its field says when it is due"),
                )
                .hint(format!("leave out `{key}`, and let a transition set the field"));
            }
        }
    }

    fn rhythm(&mut self, every: Every, at: Place) -> Every {
        if matches!(every, Every::Span(span) if span < Span::seconds(1)) {
            self.error("bad-every", at, "an interval must be at least one second").hint("write `1s` or more");
        }
        every
    }

    fn warn(&mut self, from: Option<&syntax::WarnDecl>) -> Vec<Warn> {
        let mut steps = match from {
            None => Vec::new(),
            Some(syntax::WarnDecl::List(list)) => list
                .iter()
                .map(|it| Warn {
                    percent: it.it.0,
                    severity: Some(usual_severity(it.it.0)),
                    then: Consequences::default(),
                })
                .collect(),
            Some(syntax::WarnDecl::Steps(steps)) => steps
                .iter()
                .filter_map(|(name, step)| {
                    let Some(Percent(percent)) = Percent::parse(&name.it) else {
                        self.error(
                            "bad-percentage",
                            name.at,
                            format!("`{}` is not a percentage such as 80%", name.it),
                        );
                        return None;
                    };
                    let severity = match &step.severity {
                        None => Some(usual_severity(percent)),
                        Some(word) if word.it == "none" => None,
                        Some(word) => self.severity(word),
                    };
                    Some(Warn { percent, severity, then: self.warning_step(&step.consequences()) })
                })
                .collect(),
        };
        steps.sort_by_key(|it| it.percent);
        steps
    }

    pub fn tally(&mut self, name: &At<Name>, from: &CounterDecl) -> Option<Counter> {
        let tally = match (&from.per, &from.key) {
            (Some(_), Some(keys)) => {
                let at = keys.iter().next().map_or(name.at, |it| it.at);
                self.error("per-and-key", at, "a counter has `per` or `key`, not both");
                return None;
            }
            (Some(per), None) if per.it == "state" => TallyBy::PerState,
            (Some(per), None) => {
                self.unknown("unknown-word", "way to keep tallies called", per, &["state"]);
                return None;
            }
            (None, Some(keys)) => {
                TallyBy::ByKey(keys.iter().filter_map(|it| self.guard(it, &Type::Any)).collect())
            }
            (None, None) => TallyBy::One,
        };
        if let Some(on) = &from.on
            && on.it != "moves"
        {
            self.unknown("unknown-word", "moment called", on, &["moves"]);
        }
        let within = from.within.as_ref().and_then(|it| self.some_span(it));
        let within = self.window(within, &from.within, "within");
        let last = from.last.as_ref().and_then(|it| self.guard(it, &Type::Int));
        let last = self.window(last, &from.last, "last");
        let limit = from.limit.as_ref().and_then(|it| self.guard(it, &Type::Float));
        let limit = self.limit(limit, &from.limit, &name.it);
        let mut counter = Counter {
            name: name.it.clone(),
            about: from.about.clone().unwrap_or_default(),
            tally,
            add: from.add.as_ref().and_then(|it| self.guard(it, &Type::Float)),
            only_if: from.r#if.as_ref().and_then(|it| self.guard(it, &Type::Bool)),
            within,
            last,
            on_moves: from.on.is_some(),
            failure: from.failure.unwrap_or(false),
            limit,
            warn: self.warn(from.warn.as_ref()),
            then: from.then.as_ref().and_then(|it| self.follow(it)),
            reset_forward: false,
            reset_on: Vec::new(),
            reset_every: None,
        };
        for word in syntax_list(&from.reset) {
            if word.it == "forward" {
                if self.shape.path.is_empty() || !matches!(counter.tally, TallyBy::PerState) {
                    self.error("no-path", word.at, "`forward` needs `per: state` and a `path`");
                }
                counter.reset_forward = true;
            } else if let Some(every) = parse_every(&word.it) {
                counter.reset_every = Some(self.rhythm(every, word.at));
            } else {
                let transition = self.transition(&word);
                counter.reset_on.push(transition);
            }
        }
        if counter.limit.is_none() && (counter.then.is_some() || !counter.warn.is_empty()) {
            self.error(
                "no-limit",
                name.at,
                format!("counter `{}` has a consequence but no `limit`", name.it),
            );
        }
        if counter.within.is_some() && counter.last.is_some() {
            self.error("within-and-last", name.at, "a counter has `within` or `last`, not both");
        }
        Some(counter)
    }

    pub fn lease_slot(&mut self, name: &At<Name>, from: &SlotDecl) -> Option<Slot> {
        Some(Slot {
            name: name.it.clone(),
            lasts: self.some_span(&from.r#for)?,
            grace: match &from.grace {
                Some(it) => Some(self.span(it)?),
                None => None,
            },
            holder: from
                .holder
                .as_ref()
                .map(|it| self.field_of(it, is_id, "who holds it", "give it `type: string`")),
            until: from
                .until
                .as_ref()
                .map(|it| self.field_of(it, |ty| *ty == Type::Time, "a moment", "give it `type: time`")),
            lost: from.lost.as_ref().map(|it| self.transition(it)),
            goes_on: self.checks(from.r#while.as_ref()),
            invariants_of: syntax_list(&from.invariants)
                .into_iter()
                .filter_map(|it| self.invariants_of(&it))
                .collect(),
        })
    }

    /// `this`, or a ref to one other entity.
    fn invariants_of(&mut self, name: &At<Name>) -> Option<InvariantsOf> {
        if name.it == "this" {
            return Some(InvariantsOf::This);
        }
        match self.shape.refs.get(&name.it) {
            Some(it) if !it.many => Some(InvariantsOf::Ref(name.it.clone())),
            Some(_) => {
                self.error(
                    "on-or-each",
                    name.at,
                    format!("`{}` names many entities, but `invariants` needs one", name.it),
                )
                .hint("name `this` or a ref without `many`");
                None
            }
            None => {
                let single = self.shape.refs.iter().filter(|(_, it)| !it.many).map(|(name, _)| name.clone());
                let single: Vec<Name> = single.collect();
                let known: Vec<&str> = single.iter().map(Name::as_str).chain(["this"]).collect();
                self.unknown_in(Some("`refs`"), "unknown-ref", "ref", name, &known);
                None
            }
        }
    }

    pub fn reaction(&mut self, name: &At<Name>, from: &syntax::ReactionDecl) -> Option<Reaction> {
        let when = self.guard(&from.when, &Type::Bool)?;
        self.timeless(&when, &from.when, "a reaction");
        self.wakes(&when, &from.when);
        if self.depends(&when, |it| matches!(it, Read::Rank(_) | Read::RankSize(_))) {
            self.error(
                "deaf-reaction",
                from.when.at,
                "a reaction cannot read a rank, because it does not run when others move past",
            )
            .hint("use `also` with `ranked` on the entity that they are ranked within");
        }
        let within = self.maybe_states(&from.r#in);
        if let Some(states) = &within {
            self.can_leave(&from.fire, states, "the reaction");
        }
        let own = self.shape.name.clone();
        Some(Reaction {
            name: name.it.clone(),
            when,
            fire: self.transition(&from.fire),
            with: self.with(&from.with, &own, &from.fire),
            within,
        })
    }

    pub fn invariant(&mut self, name: &At<Name>, from: &syntax::InvariantDecl) -> Option<Invariant> {
        let holds = self.guard(&from.holds, &Type::Bool)?;
        let severity = match from.severity.as_ref().map(|it| it.it.as_str()) {
            None | Some("error") => Severity::Error,
            Some("warning") => Severity::Warning,
            Some(_) => {
                if let Some(word) = &from.severity {
                    self.unknown("unknown-severity", "severity", word, &["error", "warning"]);
                }
                return None;
            }
        };
        let needs_now = needs_now(&holds, &self.table.reads);
        let within = self.maybe_states(&from.r#in);
        if let (Some(repair), Some(states)) = (&from.repair, &within) {
            self.can_leave(repair, states, "the repair");
        }
        Some(Invariant {
            name: name.it.clone(),
            holds,
            within,
            severity,
            says: self.template(&from.says)?,
            repair: from.repair.as_ref().map(|it| self.transition(it)),
            alert: from.alert.as_ref().map(|it| it.it.clone()),
            needs_now,
        })
    }

    pub fn notify_rule(&mut self, from: &syntax::NotifyRuleDecl) -> Option<NotifyRule> {
        let words: Vec<At<Name>> = from.on.iter().cloned().collect();
        let on = match words.as_slice() {
            [word] if word.it == "moves" => NotifyOn::Moves,
            words => NotifyOn::Transitions(words.iter().map(|it| self.transition(it)).collect()),
        };
        let within = self.maybe_states(&from.r#in);
        Some(NotifyRule {
            on,
            within,
            notification: self.notification(&from.audience, &from.to, &from.message, None, &from.when)?,
        })
    }

    pub fn effect(&mut self, name: &At<Name>, from: &syntax::EffectDecl) -> Effect {
        let with = self.expressions(&from.with);
        let queue = syntax_list(&from.queue);
        for member in queue.iter().filter(|it| from.with.get(&it.it).is_none()) {
            let known: Vec<&str> = from.with.names().map(|it| it.it.as_str()).collect();
            self.unknown_in(Some("its `with`"), "unknown-member", "member", member, &known);
        }
        self.taken = from.with.names().map(|it| (it.it.clone(), Type::Any)).collect();
        let while_true = self.when(&from.r#while);
        self.taken.clear();
        Effect {
            name: name.it.clone(),
            about: from.about.clone().unwrap_or_default(),
            with,
            queue: queue.into_iter().map(|it| it.it).collect(),
            while_true,
            ok: from.ok.as_ref().map(|it| self.transition(it)),
            failed: from.failed.as_ref().map(|it| self.transition(it)),
        }
    }

    pub fn maybe_states(&mut self, from: &Option<OneOrMany<At<Name>>>) -> Option<StateSet> {
        from.as_ref().map(|it| self.states(it))
    }
}

pub(super) fn parse_every(text: &str) -> Option<Every> {
    if let Some(clock) = text.strip_prefix("daily ") {
        let (hour, minute) = clock.trim().split_once(':')?;
        let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
        return ((0..24).contains(&hour) && (0..60).contains(&minute))
            .then_some(Every::Daily { hour, minute });
    }
    Span::parse(text).filter(|it| it.0 > 0).map(Every::Span)
}

fn usual_severity(percent: u32) -> Severity {
    match percent {
        0..100 => Severity::Warning,
        100 => Severity::Error,
        _ => Severity::Critical,
    }
}

/// Names declared twice under different keys would hide each other in expressions.
pub(super) fn clash<T>(
    context: &mut CompileContext<'_>,
    kind: &'static str,
    named: &Named<T>,
    taken: &mut Vec<(Name, &'static str)>,
    may_reuse: impl Fn(&Name, &T) -> bool,
) {
    for (name, it) in named.iter() {
        if super::names::is_reserved(&name.it) && !may_reuse(&name.it, it) {
            context.error(
                "reserved-name",
                name.at,
                format!("`{}` is a reserved word; choose another name for this {kind}", name.it),
            );
        } else if let Some((_, other)) = taken.iter().find(|(it, _)| *it == name.it) {
            context.error("name-taken", name.at, format!("`{}` is already the name of a {other}", name.it));
        } else {
            taken.push((name.it.clone(), kind));
        }
    }
}
