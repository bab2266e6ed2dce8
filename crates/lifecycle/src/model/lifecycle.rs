//! The lifecycle itself: fields, states, relations and references.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::consequence::Consequences;
use super::fit::FieldType;
use super::pack::{Policy, Setting};
use super::presentation::{StateMeaning, WaitsFor};
use super::property::Property;
use super::read::Read;
use super::rule::{Counter, Effect, Invariant, NotifyRule, Ranking, Reaction, Slot, Timer};
use super::transition::{Arm, Check, Choice, Create, Take, Transition};
use super::work::RoleWork;
use crate::guard::{Guard, Template};
use crate::name::Name;
use crate::value::Value;

/// The declared state machine of one kind of thing.
#[derive(Debug)]
pub struct Lifecycle {
    pub name: Name,
    pub pack: Name,
    pub kind: Name,
    pub version: u32,
    pub about: String,
    /// Whether it has a single entity, whose id is `kind`.
    pub one: bool,
    pub face: Option<Face>,
    /// The field that names an entity in lists.
    pub title: Option<Name>,
    /// The fields and counters that lists show beside it.
    pub card: Vec<Name>,
    pub fields: BTreeMap<Name, Field>,
    pub assignee: Option<Name>,
    pub relations: Vec<Relation>,
    pub me: Option<Name>,
    pub gates: Vec<Gate>,
    /// The condition for reading it; none means everyone.
    pub read: Option<Guard>,
    /// The condition for reading its messages and journal entries; none means every reader.
    pub observe: Option<Observe>,
    pub refs: Vec<Ref>,
    pub inverses: Vec<Inverse>,
    pub path: Vec<Name>,
    pub create: Create,
    pub states: Vec<State>,
    pub initial: Name,
    pub transitions: Vec<Transition>,
    pub timers: Vec<Timer>,
    pub counters: Vec<Counter>,
    pub slots: Vec<Slot>,
    pub rankings: Vec<Ranking>,
    pub reactions: Vec<Reaction>,
    /// Transitions whose refused requests are stored as evidence.
    pub evidence: Vec<Name>,
    /// Rankings and reactions of other lifecycles that read this one, by the ref through which they do.
    pub watchers: Vec<Watcher>,
    /// Rankings of other lifecycles whose orders belong to entities of this one.
    pub closes: Vec<Closing>,
    pub invariants: Vec<Invariant>,
    /// Kinds of alerts that end by themselves, with the condition under which they stay open.
    pub alerts: BTreeMap<Name, Guard>,
    /// Properties that `check` and `explore` verify for every possible run.
    pub properties: Vec<Property>,
    pub notify: Vec<NotifyRule>,
    pub effects: Vec<Effect>,
    pub indexes: Vec<Name>,
    /// The form of its log lines.
    pub log: Option<LogLineFormat>,
    /// The work of agents on an entity, by role.
    pub work: BTreeMap<Name, RoleWork>,
    /// The transition that follows a report about the worktree of an entity, by the reported state.
    pub worktree: Vec<(Name, Name)>,
    /// The source of each slot of its expressions.
    pub reads: Vec<Read>,
    /// The pack's settings and its own.
    pub settings: Vec<Setting>,
    /// The pack's risk policy, for `policy(…)` in expressions.
    pub policy: Option<Arc<Policy>>,
}

/// The form of a log line. Its expressions read the journal entry as `it`.
#[derive(Clone, Debug)]
pub struct LogLineFormat {
    pub when: Option<Guard>,
    /// The members of the line, in order.
    pub line: Vec<(Name, Guard)>,
}

/// The role of a lifecycle in generic screens and routes, and the names it uses there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Face {
    /// Its role.
    pub is: Name,
    /// The transitions by which a request to people is decided.
    pub approve: Option<Name>,
    pub deny: Option<Name>,
    /// The field for the note of the deciding person.
    pub note: Option<Name>,
    /// The field that marks an urgent request.
    pub urgent: Option<Name>,
}

/// The face of an entity that is a member of another.
pub const MEMBER: &str = "member";

impl Lifecycle {
    /// Whether every actor sees its entities with all fields, entries and messages.
    pub fn is_open_to_all(&self) -> bool {
        self.read.is_none() && self.observe.is_none() && self.restricted_fields().next().is_none()
    }

    /// The fields that only some readers may see.
    pub fn restricted_fields(&self) -> impl Iterator<Item = (&Field, &Guard)> {
        self.fields.values().filter_map(|it| Some((it, it.read.as_ref()?)))
    }

    /// Its ids may join two ids of others by `:`.
    pub fn joins_ids(&self) -> bool {
        self.face.as_ref().is_some_and(|it| *it.is == *MEMBER)
    }

    pub fn state(&self, name: &str) -> Option<&State> {
        self.states.iter().find(|it| it.name == *name)
    }

    pub fn transition(&self, name: &str) -> Option<&Transition> {
        self.transitions.iter().find(|it| it.name == *name)
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.get(name)
    }

    pub fn counter(&self, name: &str) -> Option<&Counter> {
        self.counters.iter().find(|it| it.name == *name)
    }

    pub fn timer(&self, name: &str) -> Option<&Timer> {
        self.timers.iter().find(|it| it.name == *name)
    }

    pub fn slot(&self, name: &str) -> Option<&Slot> {
        self.slots.iter().find(|it| it.name == *name)
    }

    pub fn reference(&self, name: &str) -> Option<&Ref> {
        self.refs.iter().find(|it| it.name == *name)
    }

    pub fn inverse(&self, name: &str) -> Option<&Inverse> {
        self.inverses.iter().find(|it| it.name == *name)
    }

    pub fn ranking(&self, name: &str) -> Option<&Ranking> {
        self.rankings.iter().find(|it| it.name == *name)
    }

    pub fn effect(&self, name: &str) -> Option<&Effect> {
        self.effects.iter().find(|it| it.name == *name)
    }

    /// Every rule of every transition, in declared order.
    pub fn arms(&self) -> impl Iterator<Item = &Arm> {
        self.transitions.iter().flat_map(|it| &it.arms)
    }

    /// All consequences of a lifecycle.
    pub fn consequences(&self) -> Vec<&Consequences> {
        let mut all = vec![&self.create.then];
        for arm in self.arms() {
            all.push(&arm.then);
            all.extend(arm.target.choices().iter().map(|it| &it.then));
        }
        for state in &self.states {
            all.extend([&state.enter, &state.exit]);
            all.extend(state.always.iter().map(|it| &it.then));
        }
        let warnings = self.timers.iter().map(|it| &it.warn).chain(self.counters.iter().map(|it| &it.warn));
        all.extend(warnings.flatten().map(|it| &it.then));
        all
    }

    /// The position of a state in the declared order.
    pub fn rank(&self, state: &str) -> Option<usize> {
        self.path.iter().position(|it| it == state)
    }
}

/// A field of the entity.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: Name,
    pub fits: FieldType,
    pub default: Value,
    /// Only the engine writes it.
    pub engine: bool,
    /// Computed when read.
    pub is: Option<Guard>,
    /// The condition for reading it; none means every reader of the entity.
    pub read: Option<Guard>,
    pub about: String,
}

/// Who may read the messages and journal entries of an entity.
#[derive(Clone, Debug)]
pub struct Observe {
    pub by: Guard,
    /// The version of the entity after which the caller sees its entries; none or null means all.
    pub since: Option<Guard>,
    /// The number of earlier messages that the caller sees too.
    pub before: Option<Guard>,
    /// Who may read the refused requests that are stored as evidence, besides their senders.
    pub evidence: Option<Guard>,
    /// The message for a caller who may not.
    pub says: Option<Template>,
}

/// A relation of an actor to an entity.
#[derive(Clone, Debug)]
pub struct Relation {
    pub name: Name,
    pub guard: Guard,
}

/// A condition on every request.
#[derive(Clone, Debug)]
pub struct Gate {
    pub name: Name,
    pub applies: Option<Guard>,
    pub open: Guard,
    pub says: Template,
    pub only: Vec<Name>,
    pub except: Vec<Name>,
    /// Values that every request under the gate may send.
    pub takes: Vec<Take>,
    /// Whether it reads a value of the request, so that it cannot be evaluated without one.
    pub reads_request: bool,
}

/// Another entity reached by a field.
#[derive(Clone, Debug)]
pub struct Ref {
    pub name: Name,
    pub to: Name,
    /// The field with the id or ids; none for a lifecycle that has a single entity.
    pub by: Option<Name>,
    pub many: bool,
    pub inverse: Option<Name>,
    /// No entity may reach itself through it.
    pub acyclic: bool,
}

/// The other side of a ref: the entities of another lifecycle that refer to this one.
#[derive(Clone, Debug)]
pub struct Inverse {
    pub name: Name,
    pub from: Name,
    pub by_ref: Name,
}

/// A lifecycle whose reactions or rankings read this one through a ref. Its entities are evaluated again
/// when the one they refer to moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watcher {
    pub inverse: Name,
    /// A ranking of theirs, or else a reaction.
    pub ranking: bool,
    /// Only entities in these states read it.
    pub states: StateSet,
}

/// A ranking whose orders belong to entities of this lifecycle: they may open and close as those move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    pub lifecycle: Name,
    pub ranking: Name,
    /// The index of the `within` that names them.
    pub place: usize,
}

/// A set of states, in declared order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateSet(pub Vec<Name>);

impl Gate {
    /// Whether it applies to a transition, or to `create`.
    pub fn binds(&self, trigger: &str) -> bool {
        (self.only.is_empty() || self.only.iter().any(|it| it == trigger))
            && !self.except.iter().any(|it| it == trigger)
    }
}

impl StateSet {
    pub fn has(&self, state: &str) -> bool {
        self.0.iter().any(|it| it == state)
    }
}

/// A state of an entity.
#[derive(Clone, Debug)]
pub struct State {
    pub name: Name,
    pub about: String,
    pub last: bool,
    pub outcome: Option<Name>,
    pub require: Vec<(Name, String)>,
    pub checks: Vec<Check>,
    pub always: Vec<Choice>,
    pub frozen: Vec<Name>,
    pub enter: Consequences,
    pub exit: Consequences,
    /// Entering drops every stored field but these.
    pub erase: Option<Vec<Name>>,
    /// Long-term storage: payloads and artifacts are moved to archive files.
    pub archive: bool,
    /// Its names in other tools.
    pub known_as: Vec<Name>,
    /// Its meaning for people, as declared.
    pub shows: Option<StateMeaning>,
    /// Whether it waits for people, as declared.
    pub waits_for: Option<WaitsFor>,
    /// The actions of agents that the policy can allow in it; all if there is none.
    pub tools: Option<StateTools>,
}

/// The actions of agents that the policy can allow in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateTools {
    Only(Vec<Name>),
    AllExcept(Vec<Name>),
}

impl StateTools {
    pub fn admits(&self, action: &str) -> bool {
        match self {
            Self::Only(actions) => actions.iter().any(|it| **it == *action),
            Self::AllExcept(actions) => !actions.iter().any(|it| **it == *action),
        }
    }

    /// The limit as a sentence part: `only read and test`, or `all but write_file`.
    pub fn in_words(&self) -> String {
        let listed = |actions: &[Name]| match actions {
            [] => "nothing".to_owned(),
            [only] => only.to_string(),
            [first @ .., last] => format!("{} and {last}", first.join(", ")),
        };
        match self {
            Self::Only(actions) => format!("only {}", listed(actions)),
            Self::AllExcept(actions) => format!("all but {}", listed(actions)),
        }
    }
}
