//! The moves of each state, grouped by event, for state machine formats.

use trackside_lifecycle::name::Name;
use trackside_protocol::diagram::{Cause, DiagramRule, Edge, Graph, RuleKind, StateNode, Trigger};

/// All outcomes of one event in a state.
#[derive(Debug)]
pub(super) struct EventOutcomes<'a> {
    pub event: String,
    pub moves: Vec<EventMove<'a>>,
}

/// One arm and choice of an event, and where it leads.
#[derive(Debug)]
pub(super) struct EventMove<'a> {
    pub arm: usize,
    pub choice: usize,
    /// None: it stays in its state.
    pub to: Option<&'a Name>,
    /// Whether the caller or a field names the target: then the event must contain it.
    pub named: bool,
    pub rules: Vec<&'a DiagramRule>,
}

impl EventOutcomes<'_> {
    /// The event alone does not tell which it is.
    pub fn is_guarded(&self) -> bool {
        self.moves.len() > 1
    }
}

impl<'a> EventMove<'a> {
    pub fn about(&self) -> &'a str {
        self.rules.first().map_or("", |it| it.about.as_str())
    }

    /// Who may request it.
    pub fn by(&self) -> Option<&'a str> {
        self.rules.iter().find(|it| it.kind == RuleKind::Asked).map(|it| it.who.as_str())
    }

    pub fn when(&self) -> Option<&'a str> {
        self.rules.iter().find_map(|it| it.when.as_deref())
    }

    pub fn after(&self) -> Option<&'a str> {
        self.rules.iter().find_map(|it| it.span.as_deref())
    }

    pub fn checks(&self) -> &'a [String] {
        self.rules.first().map_or(&[], |it| it.checks.as_slice())
    }

    /// The causes for which the engine fires it, as text.
    pub fn because(&self) -> Vec<String> {
        self.rules.iter().flat_map(|it| &it.triggers).map(because).collect()
    }
}

/// All events of a state in declared order, then its timers.
pub(super) fn happenings<'a>(graph: &'a Graph, node: &'a StateNode) -> Vec<EventOutcomes<'a>> {
    let mut found: Vec<EventOutcomes<'a>> = Vec::new();
    let mut add = |rule: &'a DiagramRule, edge: Option<&'a Edge>| {
        for event in events(rule) {
            let place = found.iter().position(|it| it.event == event).unwrap_or_else(|| {
                found.push(EventOutcomes { event, moves: Vec::new() });
                found.len() - 1
            });
            let Some(happening) = found.get_mut(place) else { continue };
            let (choice, to) = (rule.choice.unwrap_or(0), edge.map(|it| &it.to));
            let same = |it: &&mut EventMove<'a>| it.arm == rule.arm && it.choice == choice && it.to == to;
            match happening.moves.iter_mut().find(same) {
                Some(known) => known.rules.push(rule),
                None => {
                    let named = edge.is_some_and(|it| it.free.is_some());
                    happening.moves.push(EventMove { arm: rule.arm, choice, to, named, rules: vec![rule] });
                }
            }
        }
    };
    for edge in graph.leaving(&node.name) {
        add(&edge.rule, Some(edge));
    }
    for rule in &node.stays {
        add(rule, None);
    }
    for happening in &mut found {
        happening.moves.sort_by_key(|it| (it.arm, it.choice));
    }
    // Stable sort: requests keep their declared order.
    found.sort_by_key(|it| it.event.contains('.'));
    found
}

/// The event names of a rule: timers and lost leases have their own.
fn events(rule: &DiagramRule) -> Vec<String> {
    if rule.kind == RuleKind::Timed {
        let own: Vec<String> = rule.triggers.iter().filter_map(timed).collect();
        if !own.is_empty() {
            return own;
        }
    }
    vec![rule.label().to_owned()]
}

fn timed(trigger: &Trigger) -> Option<String> {
    let name = &trigger.name;
    match trigger.cause {
        Cause::Timer => Some(match name.strip_suffix(".retain") {
            Some(state) => format!("retain.{state}"),
            None => format!("timer.{name}"),
        }),
        Cause::Lease => Some(format!("lease.{name}")),
        _ => None,
    }
}

/// The cause for which the engine fires a transition.
pub(super) fn because(trigger: &Trigger) -> String {
    let name = &trigger.name;
    match trigger.cause {
        Cause::Timer => format!("timer {name}"),
        Cause::Warning(percent) => format!("timer {name} at {percent} %"),
        Cause::Lease => format!("lease {name} lost"),
        Cause::Then => format!("then of {name}"),
        Cause::Always => format!("always of {name}"),
        Cause::Reaction => format!("reaction {name}"),
        Cause::Counter => format!("counter {name}"),
        Cause::Effect => format!("effect {name}"),
        Cause::Also => format!("also of {name}"),
        Cause::Repair => format!("repair of {name}"),
        Cause::Again => "created again".to_owned(),
        Cause::Supervision => format!("supervision of {name}"),
    }
}
