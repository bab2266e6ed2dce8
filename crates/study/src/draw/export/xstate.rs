//! XState 5, the configuration of a machine as JSON.
//!
//! Where an event can do several things, each is guarded by `taken`: the event carries the `arm` and the `choice` that the
//! engine took, and `to` where the caller or a field names the state.

use serde::{Serialize, Serializer};

use super::ids::IdentifierMap;
use super::moves::{EventMove, EventOutcomes, happenings};
use trackside_protocol::diagram::{Graph, StateLease, StateNode, StateTimer};

/// A lifecycle as the configuration of an XState machine.
pub fn xstate(graph: &Graph) -> String {
    let all: Vec<(&StateNode, Vec<EventOutcomes<'_>>)> =
        graph.nodes.iter().map(|it| (it, happenings(graph, it))).collect();
    let events = all.iter().flat_map(|(_, it)| it).map(|it| it.event.as_str());
    let keys = Keys {
        states: IdentifierMap::new(graph.nodes.iter().map(|it| it.name.as_str()), "s_", is_state),
        events: IdentifierMap::new(events, "e_", is_event),
    };
    let machine = Machine {
        id: &graph.name,
        version: graph.version.to_string(),
        description: &graph.about,
        initial: keys.states.get(&graph.initial),
        meta: MachineMeta { created_by: &graph.created_by },
        states: Ordered(
            all.iter().map(|(node, it)| (keys.states.get(&node.name), state(&keys, node, it))).collect(),
        ),
    };
    let mut text = serde_json::to_string_pretty(&machine).unwrap_or_default();
    text.push('\n');
    text
}

struct Keys {
    states: IdentifierMap,
    events: IdentifierMap,
}

#[derive(Serialize)]
struct Machine<'a> {
    id: &'a str,
    version: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    initial: &'a str,
    meta: MachineMeta<'a>,
    states: Ordered<'a, State<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MachineMeta<'a> {
    created_by: &'a str,
}

#[derive(Serialize)]
struct State<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    meta: StateMeta<'a>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    on: Ordered<'a, Vec<Step<'a>>>,
}

#[derive(Serialize)]
struct StateMeta<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'a str>,
    #[serde(skip_serializing_if = "<[StateTimer]>::is_empty")]
    clocks: &'a [StateTimer],
    #[serde(skip_serializing_if = "<[StateLease]>::is_empty")]
    leases: &'a [StateLease],
    /// A final entity can be created again, but a final state of XState has no transitions: it is only noted.
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    again: Ordered<'a, Vec<Step<'a>>>,
}

#[derive(Serialize)]
struct Step<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    /// Whether it leaves the state and enters it again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reenter: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    guard: Option<Guard<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    meta: StepMeta<'a>,
}

#[derive(Serialize)]
struct Guard<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    params: Taken<'a>,
}

#[derive(Serialize)]
struct Taken<'a> {
    arm: usize,
    choice: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
}

#[derive(Serialize)]
struct StepMeta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    when: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    checks: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    because: Vec<String>,
}

fn state<'a>(keys: &'a Keys, node: &'a StateNode, happenings: &'a [EventOutcomes<'a>]) -> State<'a> {
    let told =
        Ordered(happenings.iter().map(|it| (keys.events.get(&it.event), steps(keys, node, it))).collect());
    let (on, again) = if node.last { (Ordered(Vec::new()), told) } else { (told, Ordered(Vec::new())) };
    State {
        kind: node.last.then_some("final"),
        description: &node.about,
        meta: StateMeta {
            name: &node.name,
            outcome: node.outcome.as_deref(),
            clocks: &node.clocks,
            leases: &node.leases,
            again,
        },
        on,
    }
}

fn steps<'a>(keys: &'a Keys, node: &StateNode, happening: &'a EventOutcomes<'a>) -> Vec<Step<'a>> {
    let event = (keys.events.get(&happening.event) != happening.event).then_some(happening.event.as_str());
    let step = |it: &'a EventMove<'a>| {
        let to = it.to.map(|to| keys.states.get(to));
        let taken = Taken { arm: it.arm, choice: it.choice, to: to.filter(|_| it.named) };
        Step {
            target: to,
            reenter: it.to == Some(&node.name),
            guard: happening.is_guarded().then_some(Guard { kind: "taken", params: taken }),
            description: it.about(),
            meta: StepMeta {
                event,
                by: it.by(),
                when: it.when(),
                after: it.after(),
                checks: it.checks(),
                because: it.because(),
            },
        }
    };
    happening.moves.iter().map(step).collect()
}

/// A state's key that XState does not take for a path or for an id.
fn is_state(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('#') && !name.contains(['.', '\\']) && name != "__proto__"
}

/// An event that XState takes neither for a wildcard nor for its own.
fn is_event(name: &str) -> bool {
    !name.is_empty() && !name.contains('*') && !name.starts_with("xstate.") && name != "__proto__"
}

/// A map in declared order.
struct Ordered<'a, T>(Vec<(&'a str, T)>);

impl<T> Ordered<'_, T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize> Serialize for Ordered<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}
