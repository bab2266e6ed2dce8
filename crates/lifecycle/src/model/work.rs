//! What an agent is asked to do, and what ends its task.

use super::consequence::With;
use super::lifecycle::Lifecycle;
use super::transition::Check;
use crate::guard::{Guard, Template, Type};
use crate::name::Name;

/// The key of `work` for every agent, whatever its roles.
pub const ANY_AGENT: &str = "agent";

/// The work of one role on an entity. Its expressions read `agent` and `role`, those of its events also `run`.
#[derive(Clone, Debug)]
pub struct RoleWork {
    pub role: Name,
    pub about: String,
    /// The transition by which an agent takes an entity.
    pub claim: Option<Name>,
    /// The query of the pack that lists the entities that wait for the role.
    pub query: Option<Name>,
    pub ask: Template,
    /// The events that the instructions offer; empty means all.
    pub offers: Vec<Name>,
    /// The lifecycles in which the agent may create entities during a run.
    pub creates: Vec<Name>,
    pub feedback: Option<Guard>,
    pub handoff: Option<Guard>,
    /// Checks that must pass before an agent starts.
    pub ready: Vec<Check>,
    /// The events that follow a run.
    pub events: Vec<(WorkStep, WorkEvent)>,
    pub agent: Option<WorkAgent>,
}

impl RoleWork {
    /// The event of a step, if it has one.
    pub fn event(&self, step: WorkStep) -> Option<&WorkEvent> {
        self.events.iter().find(|(it, _)| *it == step).map(|(_, event)| event)
    }
}

impl Lifecycle {
    /// Whether a ranking claims with the transition by which a role takes entities.
    pub fn claims_by_ranking(&self, work: &RoleWork) -> bool {
        work.claim.is_some() && self.rankings.iter().any(|it| it.claims == work.claim)
    }
}

/// A step of a run that may fire an event of its entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkStep {
    /// The process starts.
    Begin,
    /// The run ended well, and the agent did not move the entity.
    Done,
    /// The run failed for good.
    Failed,
    /// Cost was metered.
    Meter,
    /// The agent left notes for the next process.
    Note,
}

impl WorkStep {
    pub const ALL: [Self; 5] = [Self::Begin, Self::Done, Self::Failed, Self::Meter, Self::Note];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Meter => "meter",
            Self::Note => "note",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == text)
    }
}

/// An event of the entity that follows a run.
#[derive(Clone, Debug)]
pub struct WorkEvent {
    pub fire: Name,
    pub with: With,
    pub when: Option<Guard>,
    pub reason: Option<Guard>,
}

/// The record of an agent. Its expressions belong to the pack: they read `agent`, `role` and `settings`.
#[derive(Clone, Debug)]
pub struct WorkAgent {
    pub lifecycle: Name,
    pub with: With,
    /// The transition that is fired after the registration.
    pub ready: Option<Name>,
    /// The transition that is fired after the work.
    pub leave: Option<Name>,
}

/// A control file: the entities that it moves, and those because of which it exists.
#[derive(Clone, Debug)]
pub struct ControlFile {
    pub name: Name,
    pub about: String,
    /// Queries of the pack.
    pub on: Vec<Name>,
    pub fire: Name,
    pub undo: Option<Name>,
    /// Queries of the pack: the file exists while one of them has a row.
    pub exists_while: Vec<Name>,
}

/// The members of `run`, with their types: the fields of a run, and the values that its runner sends.
pub fn run_members() -> Vec<(&'static str, Type)> {
    let texts = TEXTS.iter().map(|it| (*it, Type::Text));
    let integers = INTEGERS.iter().map(|it| (*it, Type::Int));
    let numbers = NUMBERS.iter().map(|it| (*it, Type::Float));
    let times = ["startedAt", "endedAt"].map(|it| (it, Type::Time));
    texts.chain(integers).chain(numbers).chain(times).collect()
}

const TEXTS: &[&str] = &[
    "id",
    "entity",
    "agent",
    "role",
    "runner",
    "adapter",
    "folder",
    "model",
    "session",
    "account",
    "previous",
    "exitClass",
    "exitText",
    "stopReason",
    // Sent by the runner with the step.
    "commit",
    "summary",
    "next",
    "why",
];
const INTEGERS: &[&str] = &[
    "restarts",
    "input",
    "output",
    "cacheRead",
    "cacheWrite",
    "lines",
    "exitCode",
    "signal",
    "meteredTokens",
];
const NUMBERS: &[&str] = &["cost", "context", "duration", "metered"];
