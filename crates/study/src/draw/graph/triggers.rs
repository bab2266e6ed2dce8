//! The rules that make the engine fire transitions of a lifecycle, as a diagram names them.

use trackside_lifecycle::model::{Lifecycle, Pack, StateSet};
use trackside_lifecycle::name::Name;
use trackside_protocol::diagram::Trigger;

use super::words;
use crate::graph::{Cause, Firing, firings, supervision};

/// A trigger, the transition it fires, and where.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EngineTrigger {
    pub fires: Name,
    pub trigger: Trigger,
    /// The delay, if time alone fires it.
    pub span: Option<String>,
    /// Only in these states.
    pub within: Option<StateSet>,
}

impl EngineTrigger {
    pub fn can_be_in(&self, state: &str) -> bool {
        self.within.as_ref().is_none_or(|it| it.has(state))
    }
}

/// All causes that fire transitions of a lifecycle, also those in other lifecycles of its pack.
pub(super) fn engine_triggers(life: &Lifecycle, pack: &Pack) -> Vec<EngineTrigger> {
    let mut found: Vec<EngineTrigger> = Vec::new();
    let mut add = |rule: &Firing<'_>, name: &Name, span: Option<String>, within: Option<StateSet>| {
        let trigger = Trigger { cause: rule.cause, name: name.clone() };
        let is_known =
            |it: &EngineTrigger| it.fires == rule.fire && it.trigger == trigger && it.within == within;
        if !found.iter().any(is_known) {
            found.push(EngineTrigger { fires: rule.fire.clone(), trigger, span, within });
        }
    };
    for rule in firings(life).iter().filter(|it| it.cause != Cause::Also) {
        let within = rule.within.cloned();
        match (rule.timer, rule.cause) {
            (Some(timer), _) => {
                for state in &timer.runs.0 {
                    let due = words::due(&timer.kind, life, Some(state));
                    let span = if let Cause::Warning(percent) = rule.cause {
                        format!("{percent} % of {due}")
                    } else {
                        due
                    };
                    add(rule, &rule.name, Some(span), Some(StateSet(vec![state.clone()])));
                }
            }
            (None, Cause::Lease) => {
                let lasts = life.slot(&rule.name).map(|it| words::span(&it.lasts, life, None));
                add(rule, &rule.name, lasts.map(|it| format!("{it} of silence")), within);
            }
            _ => add(rule, &rule.name, None, within),
        }
    }
    for other in &pack.lifecycles {
        for rule in firings(other).iter().filter(|it| it.cause == Cause::Also && it.lifecycle == life.name) {
            let of_move = rule.site.as_ref().is_some_and(|it| it.follows_move());
            let name = if of_move {
                Name::from(format!("{}.{}", other.kind, rule.name))
            } else {
                other.kind.clone()
            };
            add(rule, &name, None, rule.within.cloned());
        }
    }
    for rule in supervision(pack).iter().filter(|it| it.lifecycle == life.name) {
        add(rule, &rule.name, None, None);
    }
    found
}
