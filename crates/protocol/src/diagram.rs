//! The diagram of a lifecycle: its states, and every move between them.

use serde::Serialize;
use trackside_lifecycle::name::Name;
use utoipa::ToSchema;

/// A lifecycle to be drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Graph {
    /// Its full name: `pack.kind`.
    #[schema(value_type = String)]
    pub name: Name,
    #[schema(value_type = String)]
    pub pack: Name,
    #[schema(value_type = String)]
    pub kind: Name,
    pub version: u32,
    pub about: String,
    #[schema(value_type = String)]
    pub initial: Name,
    /// The declared order of states, if there is one.
    #[schema(value_type = Vec<String>)]
    pub path: Vec<Name>,
    /// Who may create one, as text.
    pub created_by: String,
    /// In declared order.
    pub nodes: Vec<StateNode>,
    /// By transition, arm, state left and target, each in declared order; then `always`.
    pub edges: Vec<Edge>,
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StateNode {
    #[schema(value_type = String)]
    pub name: Name,
    pub about: String,
    pub initial: bool,
    /// Whether only a second creation leaves it.
    pub last: bool,
    #[schema(value_type = Option<String>)]
    pub outcome: Option<Name>,
    /// Its place in the declared order.
    pub step: Option<usize>,
    /// The clocks that run in this state.
    pub clocks: Vec<StateTimer>,
    /// Leases that may be held here.
    pub leases: Vec<StateLease>,
    /// Rules that apply here without a move.
    pub stays: Vec<DiagramRule>,
}

/// A clock that runs in a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StateTimer {
    #[schema(value_type = String)]
    pub name: Name,
    pub kind: StateTimerKind,
    /// The time at which it is due: `4h`, `daily 09:00`, `at expiresAt`.
    pub span: String,
    /// Percentages, ascending.
    pub warn: Vec<u32>,
    /// The transition it fires.
    #[schema(value_type = Option<String>)]
    pub then: Option<Name>,
    /// The clock as text: `4h, then escalate`.
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StateTimerKind {
    /// A clock of this state alone: starts on every entry.
    Deadline,
    /// The time it stays before it is cleared away.
    Retain,
    /// Runs in several states, or starts by rules of its own.
    Timer,
}

/// A lease that may be held in a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StateLease {
    #[schema(value_type = String)]
    pub slot: Name,
    pub span: String,
    /// The transition fired when it is lost.
    #[schema(value_type = Option<String>)]
    pub lost: Option<Name>,
}

/// A way from a state to a state, or back to itself by leaving and entering.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Edge {
    #[schema(value_type = String)]
    pub from: Name,
    #[schema(value_type = String)]
    pub to: Name,
    /// Set where the target is only one of several that are possible.
    pub free: Option<OpenTarget>,
    #[serde(flatten)]
    pub rule: DiagramRule,
}

/// Why a target is only one of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OpenTarget {
    /// The caller names it.
    Asked,
    /// The state in this field, or computed from it.
    #[schema(value_type = String)]
    Field(Name),
}

/// The rule behind an edge, or behind a change without a move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DiagramRule {
    /// The transition; none for `always`.
    #[schema(value_type = Option<String>)]
    pub transition: Option<Name>,
    /// The index of the transition's rule; zero for `always`.
    pub arm: usize,
    /// The index of the choice.
    pub choice: Option<usize>,
    pub kind: RuleKind,
    /// The callers as text; `engine` if no caller can request it.
    pub who: String,
    /// The condition of the choice as text: `reviewCycles ≥ 3`; `otherwise` for the last of several.
    pub when: Option<String>,
    /// Its further conditions, in the words of the definition.
    pub checks: Vec<String>,
    /// The time after which it is taken, if it is timed.
    pub span: Option<String>,
    /// The causes for which the engine fires it.
    pub triggers: Vec<Trigger>,
    pub about: String,
}

impl DiagramRule {
    /// Its name in a diagram.
    pub fn label(&self) -> &str {
        self.transition.as_ref().map_or("always", Name::as_str)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleKind {
    /// By people and agents.
    Asked,
    /// By time passing: a timer, a deadline, a lease that is lost.
    Timed,
    /// By the engine, because of another event.
    Engine,
}

/// The cause for which the engine fires a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    Timer,
    /// This percentage of a timer has passed.
    Warning(u32),
    /// A lease is lost.
    Lease,
    /// `then` of a transition, or of entering or leaving a state.
    Then,
    /// `then` of an `always` of a state.
    Always,
    Reaction,
    /// A counter reached its limit, or a warning before it.
    Counter,
    /// The result of an effect.
    Effect,
    /// A transition of another lifecycle.
    Also,
    /// The sweep found a broken invariant.
    Repair,
    /// Creating an entity that exists already.
    Again,
    /// A supervisor gave up.
    Supervision,
}

/// A cause for which the engine fires a transition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Trigger {
    pub cause: Cause,
    /// The name of the timer, counter, reaction, effect, slot, invariant, transition or state.
    #[schema(value_type = String)]
    pub name: Name,
}

impl Trigger {
    /// The cause as text.
    pub fn words(&self) -> String {
        let name = &self.name;
        match self.cause {
            Cause::Timer => format!("timer {name}"),
            Cause::Warning(percent) => format!("{percent} % of {name}"),
            Cause::Lease => format!("{name} lease lost"),
            Cause::Then => format!("after {name}"),
            Cause::Always => format!("on entering {name}"),
            Cause::Reaction => format!("reaction {name}"),
            Cause::Counter => format!("limit of {name}"),
            Cause::Effect => format!("result of {name}"),
            Cause::Also => format!("with {name}"),
            Cause::Repair => format!("repair of {name}"),
            Cause::Again => "created again".to_owned(),
            Cause::Supervision => format!("supervisor of {name} gave up"),
        }
    }
}

impl Graph {
    pub fn node(&self, name: &str) -> Option<&StateNode> {
        self.nodes.iter().find(|it| it.name == *name)
    }

    /// The edges that leave a state.
    pub fn leaving<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Edge> {
        self.edges.iter().filter(move |it| it.from == *name)
    }
}
