//! Explanations: why an entity is in its state, what would move it, and who may do that.

use std::collections::BTreeMap;

use serde::Serialize;
use trackside_engine::decide::{BlockingEntity, Checked, TransitionOption, UnblockOption};
use trackside_lifecycle::name::Name;
use utoipa::ToSchema;

use crate::entity::{EntityBody, FieldMap};
use crate::problem::UnmetBody;
use crate::runs::{AccountHold, RunSummary};

/// An explanation of an entity: its state, its transitions and the conditions it waits for.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Explanation)]
pub struct ExplainBody {
    pub entity: Option<EntityBody>,
    /// The time of the answer.
    #[schema(format = DateTime)]
    pub now: String,
    /// When the entity entered its state.
    #[schema(format = DateTime)]
    pub since: String,
    /// The description of the state in the definition.
    pub about: Option<String>,
    /// Who has to act next, how and why.
    pub headline: HeadlineBody,
    /// The headline as text.
    pub headline_text: String,
    /// A summary: the state and since when, the transitions that you can request, and the next timer.
    pub summary: String,
    /// The transition that led to the state; null if it is no longer stored.
    pub arrival: Option<ArrivalBody>,
    /// Open approval requests about the entity.
    pub requests: Vec<OpenRequestBody>,
    /// The assignees of the entity.
    #[schema(value_type = Vec<String>)]
    pub given_to: Vec<Name>,
    /// The assignees who could take a transition.
    #[schema(value_type = Vec<String>)]
    pub able_to_act: Vec<Name>,
    /// The transitions by which the entity can be claimed now.
    pub claimable: Vec<ClaimOption>,
    /// Other entities that close a gate for you, with the transitions that would open it and who may take them.
    pub kept_back_by: Vec<BlockingEntityBody>,
    /// Transitions that would be accepted now without any fields.
    #[schema(value_type = Vec<String>)]
    pub ready: Vec<Name>,
    /// Every transition out of the current state: who may, its fields, and each check with its result and the values
    /// it read.
    pub transitions: Vec<TransitionOptionBody>,
    /// The outcome of each transition if you requested it now without fields.
    pub attempts: Vec<AttemptBody>,
    /// Who must act, and the conditions that are not met yet.
    pub waiting_for: Vec<WaitingFor>,
    /// The running timers.
    pub timers: Vec<PendingTimerBody>,
    /// The next timer, with its time and its transition; null if there is none.
    pub next: Option<PendingTimerBody>,
    /// Effects without a result.
    pub open_effects: Vec<OpenEffectBody>,
    /// Why no agent starts to work on it yet, by role. A role without a reason to wait is left out.
    #[schema(value_type = Object)]
    pub not_ready: BTreeMap<Name, Vec<String>>,
    /// The rules that the entity violates.
    #[schema(value_type = Vec<String>)]
    pub broken: Vec<Name>,
    /// Open runs of agents for the entity.
    pub runs: Vec<RunSummary>,
    /// Accounts of its runs that start no more runs for now.
    pub holds: Vec<AccountHold>,
}

/// Who has to act next on an entity, how and why.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Headline)]
pub struct HeadlineBody {
    /// `you`, the id of another actor, or who may act; `engine` for a timer. Null if no actor can act.
    pub actor: Option<String>,
    /// The transitions or the work that would help, such as `approve or deny`. Null if no actor can act.
    pub action: Option<String>,
    /// The entity of the action, as `LIFECYCLE/ID`, if it is another one. Otherwise null.
    pub on: Option<String>,
    pub reason: String,
    /// When the reason began.
    #[schema(format = DateTime)]
    pub since: String,
    /// When a timer or the end of a lease changes it; null if none does.
    #[schema(format = DateTime)]
    pub until: Option<String>,
}

impl HeadlineBody {
    pub fn in_words(&self) -> String {
        let on = self.on.as_deref();
        let what = headline_in_words(self.actor.as_deref(), self.action.as_deref(), on, &self.reason);
        let until = self.until.as_ref().map(|it| format!(", until {it}")).unwrap_or_default();
        format!("{what} Since {}{until}.", self.since)
    }
}

/// A headline in words, without its times.
pub fn headline_in_words(
    actor: Option<&str>,
    action: Option<&str>,
    on: Option<&str>,
    reason: &str,
) -> String {
    let on = on.map(|it| format!(" of {it}")).unwrap_or_default();
    match (actor, action) {
        (Some(actor), Some(action)) => format!("Waiting for {actor}: {action}{on}. {reason}."),
        (Some(actor), None) => format!("Waiting for {actor}. {reason}."),
        (None, _) => format!("{reason}."),
    }
}

/// The transition that led to the current state.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Arrival)]
pub struct ArrivalBody {
    #[schema(value_type = String)]
    pub event: Name,
    /// The state before; null if the entity was created in this one.
    #[schema(value_type = Option<String>)]
    pub from: Option<Name>,
    #[schema(format = DateTime)]
    pub at: String,
    #[schema(value_type = String)]
    pub actor: Name,
    /// `human`, `agent`, `system` or `engine`.
    pub actor_kind: String,
    #[schema(value_type = Option<String>)]
    pub on_behalf_of: Option<Name>,
    pub reason: Option<String>,
    /// The request that the engine followed; null if the transition was requested itself.
    pub after: Option<ArrivalCause>,
    /// The current values of the fields that the transition changed.
    #[schema(value_type = Object)]
    pub fields: FieldMap,
}

/// The request that a transition of the engine followed.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArrivalCause {
    #[schema(value_type = String)]
    pub event: Name,
    #[schema(value_type = String)]
    pub actor: Name,
    #[schema(value_type = Option<String>)]
    pub on_behalf_of: Option<Name>,
}

/// An open approval request about an entity.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = OpenRequest)]
pub struct OpenRequestBody {
    #[schema(value_type = String)]
    pub lifecycle: Name,
    #[schema(value_type = String)]
    pub id: Name,
    #[schema(value_type = String)]
    pub state: Name,
    #[schema(format = DateTime)]
    pub since: String,
    #[schema(value_type = Option<Object>)]
    pub fields: Option<FieldMap>,
    /// The transitions that decide it, and who may take them.
    pub deciders: Vec<EventOption>,
    pub timers: Vec<PendingTimerBody>,
}

/// A transition, who may take it, and whether you are one of them.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EventOption {
    #[schema(value_type = String)]
    pub event: Name,
    pub who: String,
    pub permitted: bool,
}

/// A transition by which an entity can be claimed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ClaimOption {
    #[schema(value_type = String)]
    pub event: Name,
    pub who: String,
}

/// Another entity that closes a gate.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = BlockingEntity)]
pub struct BlockingEntityBody {
    #[schema(value_type = String)]
    pub lifecycle: Name,
    #[schema(value_type = String)]
    pub id: Name,
    /// The message of the gate.
    pub says: String,
    /// Transitions there that would open the gate.
    pub openers: Vec<EventOption>,
}

/// A transition out of the current state.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TransitionOption)]
pub struct TransitionOptionBody {
    #[schema(value_type = String)]
    pub event: Name,
    pub about: String,
    /// The possible target states; empty if the entity stays in its state.
    #[schema(value_type = Vec<String>)]
    pub to: Vec<Name>,
    /// Who may take it.
    pub who: String,
    /// True if you are one of them.
    pub permitted: bool,
    /// False if a gate is closed to you.
    pub heard: bool,
    pub takes: Vec<TakenField>,
    pub needs_reason: bool,
    pub needs_target: bool,
    /// What a request of yours must still send: fields, `reason` or `to`. Null if you may not take it, or if a condition
    /// fails that no field changes.
    #[schema(value_type = Option<Vec<String>>)]
    pub missing: Option<Vec<Name>>,
    /// Every condition, in the order of evaluation.
    pub checks: Vec<CheckBody>,
    /// True if you can take it once you send the required fields.
    pub open: bool,
    /// True if every condition that does not depend on the caller passes.
    pub open_to_others: bool,
}

/// A field that a transition takes.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TakenField {
    #[schema(value_type = String)]
    pub field: Name,
    pub required: bool,
}

/// A condition with its result.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Check)]
pub struct CheckBody {
    /// The expression, the required field, or the slot that must be held.
    #[schema(value_type = String)]
    pub rule: Name,
    pub passed: bool,
    /// True if the result depends on the caller.
    pub of_caller: bool,
    pub message: Option<String>,
    /// The values that it read.
    #[schema(value_type = Object)]
    pub saw: FieldMap,
}

/// The outcome of a transition if you requested it now without fields.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Attempt)]
pub struct AttemptBody {
    #[schema(value_type = String)]
    pub event: Name,
    pub accepted: bool,
    #[serde(flatten)]
    pub outcome: AttemptOutcome,
}

/// The rest of an attempt, by its outcome.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum AttemptOutcome {
    Accepted {
        /// The state it would lead to; null if the entity stays in its state.
        #[schema(value_type = Option<String>, required = true)]
        to: Option<Name>,
    },
    Refused {
        code: String,
        detail: String,
        errors: Vec<UnmetBody>,
        who: Option<String>,
    },
}

/// Something that an entity waits for.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct WaitingFor {
    #[schema(value_type = String)]
    pub event: Name,
    #[schema(value_type = Vec<String>)]
    pub to: Vec<Name>,
    pub who: String,
    /// The conditions that fail.
    pub unmet: Vec<String>,
}

/// A running timer: what it will do, and when.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PendingTimer)]
pub struct PendingTimerBody {
    #[schema(value_type = String)]
    pub timer: Name,
    #[schema(value_type = String)]
    pub name: Name,
    /// When its next step is: a warning, or its end.
    #[schema(format = DateTime)]
    pub at: String,
    #[schema(format = DateTime)]
    pub next_step_at: String,
    /// `warning` or `end`.
    pub step: &'static str,
    /// When it ends.
    #[schema(format = DateTime)]
    pub due_at: String,
    /// The transition that it fires when it ends.
    #[schema(value_type = Option<String>)]
    pub then: Option<Name>,
    /// The states to which that leads.
    #[schema(value_type = Vec<String>)]
    pub to: Vec<Name>,
}

/// An effect without a result.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = OpenEffect)]
#[serde(rename_all = "camelCase")]
pub struct OpenEffectBody {
    pub id: u64,
    #[schema(value_type = String)]
    pub effect: Name,
    /// When it was requested.
    #[schema(format = DateTime)]
    pub since: Option<String>,
    /// The worker that has taken it; null if none has.
    pub taken_by: Option<String>,
    /// When that worker loses it without a result.
    #[schema(format = DateTime)]
    pub until: Option<String>,
    /// The effect of its queue that has to be answered first; null if it is the first.
    pub behind: Option<u64>,
    /// The entity of that effect, as `LIFECYCLE/ID`; null if you may not see it.
    pub behind_entity: Option<String>,
}

impl From<&TransitionOption> for TransitionOptionBody {
    fn from(option: &TransitionOption) -> Self {
        let takes = option.takes.iter();
        Self {
            event: option.event.clone(),
            about: option.about.clone(),
            to: option.to.clone(),
            who: option.who.clone(),
            permitted: option.permitted,
            heard: option.gates_open,
            takes: takes
                .map(|(field, required)| TakenField { field: field.clone(), required: *required })
                .collect(),
            needs_reason: option.needs_reason,
            needs_target: option.needs_target,
            missing: option.missing(),
            checks: option.checks.iter().map(CheckBody::from).collect(),
            open: option.is_open(),
            open_to_others: option.is_open_to_others(),
        }
    }
}

impl From<&Checked> for CheckBody {
    fn from(checked: &Checked) -> Self {
        Self {
            rule: checked.rule.clone(),
            passed: checked.passed,
            of_caller: checked.of_caller,
            message: checked.message.clone(),
            saw: checked.saw.iter().collect(),
        }
    }
}

impl From<&BlockingEntity> for BlockingEntityBody {
    fn from(blocking: &BlockingEntity) -> Self {
        let opener = |it: &UnblockOption| EventOption {
            event: it.event.clone(),
            who: it.who.clone(),
            permitted: it.permitted,
        };
        Self {
            lifecycle: blocking.entity.lifecycle.clone(),
            id: blocking.entity.id.clone(),
            says: blocking.says.clone(),
            openers: blocking.unblock_options.iter().map(opener).collect(),
        }
    }
}
