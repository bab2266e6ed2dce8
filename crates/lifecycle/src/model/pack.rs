//! The shared declarations of a pack, ready to run.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fit::FieldType;
use super::lifecycle::Lifecycle;
use super::read::Read;
use super::work::ControlFile;
use crate::guard::{Guard, Template, Type};
use crate::name::Name;
use crate::value::Value;

#[derive(Debug)]
pub struct Pack {
    pub name: Name,
    pub version: u32,
    pub about: String,
    /// Role to every role it includes, itself first.
    pub roles: BTreeMap<Name, Vec<Name>>,
    pub audiences: BTreeMap<Name, String>,
    pub lifecycles: Vec<Arc<Lifecycle>>,
    pub policy: Option<Arc<Policy>>,
    pub queries: Vec<Query>,
    pub settings: Vec<Setting>,
    /// Conditions on its settings.
    pub setting_checks: Vec<SettingCheck>,
    pub supervise: BTreeMap<Name, Supervise>,
    /// Files in the project folder by which people stop agents.
    pub control: Vec<ControlFile>,
    /// The source of each slot of its own expressions: those of `answers`, `supervise`, the agents of `work` and
    /// the checks of settings.
    pub reads: Vec<Read>,
}

/// A value that rules read.
#[derive(Clone, Debug)]
pub struct Setting {
    pub name: Name,
    pub about: String,
    pub ty: Type,
    pub default: Value,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// Over the entity; the first that is not null wins.
    pub from: Vec<Guard>,
}

/// A condition on the settings of a pack, as they are in force in the project.
#[derive(Clone, Debug)]
pub struct SettingCheck {
    /// The setting that declares it.
    pub setting: Name,
    pub guard: Guard,
    /// The message if it is false.
    pub says: String,
}

/// Risk levels of actions.
#[derive(Debug)]
pub struct Policy {
    pub levels: Vec<Name>,
    pub unknown: Name,
    pub rules: Vec<PolicyRule>,
    pub raise: Vec<PolicyRaise>,
    pub roles: BTreeMap<Name, Name>,
    pub tools: BTreeMap<Name, Tool>,
    pub request: Option<PolicyRequest>,
    /// The source of each slot of its expressions.
    pub reads: Vec<Read>,
    pub settings: Vec<Setting>,
    pub pack: Name,
}

/// A tool of agents, mapped to an action of the policy.
#[derive(Clone, Debug)]
pub struct Tool {
    pub action: Name,
    /// Laid over its own arguments.
    pub with: Vec<(Name, Guard)>,
}

/// The request for the approval of an action.
#[derive(Clone, Debug)]
pub struct PolicyRequest {
    /// The query of the agent's entities that a request can be about.
    pub work: Name,
    /// The transition that files the request.
    pub fire: Name,
    /// The transition that uses an approval.
    pub use_up: Name,
    /// The query of the requests for one action.
    pub approvals: Name,
    /// The fields of both transitions.
    pub with: Vec<(Name, Guard)>,
}

#[derive(Clone, Debug)]
pub struct PolicyRule {
    pub actions: Vec<Name>,
    pub when: Option<Guard>,
    pub level: Option<Name>,
    pub deny: Option<Template>,
    pub why: Option<Template>,
    /// The action that the call counts as for the tools of a state; its own if there is none.
    pub counts_as: Option<Name>,
}

#[derive(Clone, Debug)]
pub struct PolicyRaise {
    pub when: Guard,
    pub level: Name,
    pub why: Option<Template>,
}

#[derive(Clone, Debug)]
pub struct Query {
    pub name: Name,
    pub about: String,
    /// The lifecycle of the rows; none for a query that gives values.
    pub of: Option<Name>,
    pub takes: Vec<(Name, FieldType)>,
    pub filter: Option<Guard>,
    pub order: Vec<Order>,
    /// Instead of a list: the journal of this entity.
    pub history: Option<Guard>,
    /// With `history`: the members of a row. Empty: rows are journal entries.
    pub line: Vec<(Name, Guard)>,
    /// Instead of a list: tables of counts.
    pub groups: Vec<GroupTable>,
    /// Only entities that are open in this ranking, in its order.
    pub ranked: Option<Name>,
    pub meant_for: Option<Guard>,
    /// Other queries whose rows are counted.
    pub counts: Vec<Name>,
    /// Instead of rows: values.
    pub answers: Vec<(Name, Guard)>,
}

/// A table of a query: the number of entities, or of elements of their lists, by values.
#[derive(Clone, Debug)]
pub struct GroupTable {
    pub name: Name,
    pub each: Option<Guard>,
    pub by: Vec<(Name, Guard)>,
    pub measure: Vec<(Name, Guard)>,
}

/// The rules of the supervisor for the end of an agent's process.
#[derive(Clone, Debug)]
pub struct Supervise {
    pub role: Name,
    pub about: String,
    pub work: Option<Name>,
    /// By exit code; `other` last.
    pub exits: Vec<(Exit, AfterExit)>,
    /// The exit code that counts when a heartbeat said stop.
    pub stopped: Option<i64>,
    pub ends: Option<Name>,
    pub holds: Option<Name>,
    pub waits: Vec<Wait>,
    pub reruns: Option<Guard>,
    pub gives_up: Option<GiveUp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i64),
    Other,
}

#[derive(Clone, Debug)]
pub enum AfterExit {
    Stop,
    Restart { after: Guard, most: Option<Guard>, growth: Option<Guard>, limit: Option<Guard> },
}

/// A reason to wait before stopping.
#[derive(Clone, Debug)]
pub struct Wait {
    pub query: Name,
    pub lasts: Guard,
    pub most: Option<Guard>,
    pub says: String,
}

#[derive(Clone, Debug)]
pub struct GiveUp {
    pub on: Name,
    pub fire: Name,
    pub with: Vec<(Name, Guard)>,
}

#[derive(Clone, Debug)]
pub struct Order {
    pub by: Guard,
    pub descending: bool,
}
