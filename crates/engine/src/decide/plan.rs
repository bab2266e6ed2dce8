//! The planned changes of a rule, before anything is written.

use trackside_lifecycle::guard::{Fault, Guard, Scope, Template};
use trackside_lifecycle::model::{
    Aim, Arm, Check, Choice, Consequences, Counter, Create, Lifecycle, State, Take, TallyBy, Target,
};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::DecisionBuilder;
use super::fire::plain_scope;
use super::request::{Request, names};
use super::scope::{EntityScope, Surroundings};
use crate::entity::Entity;
use crate::event::{Event, TallyChange};
use crate::fields::Fields;
use crate::view::{Lookup, Needs};

/// The parts that an arm, a creation and a state's `always` have in common.
pub(super) struct Rule<'r> {
    pub trigger: Name,
    /// Its path in the definition, for traces.
    pub label: String,
    pub takes: &'r [Take],
    pub reason: Option<&'r str>,
    /// The journalled reason of a request that gives none.
    pub default_reason: Option<&'r Template>,
    pub checks: &'r [Check],
    pub require: &'r [(Name, String)],
    pub count: &'r [Name],
    pub aims: Aims<'r>,
    pub then: &'r Consequences,
    pub keep: &'r [Name],
    pub holding: Option<&'r Name>,
    /// A creation: the entity enters its initial state.
    pub creating: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Aims<'r> {
    One(&'r Aim),
    Choices(&'r [Choice]),
}

const NOTHING: &Aim = &Aim::Stay;

impl<'r> Rule<'r> {
    pub fn arm(arm: &'r Arm, traced: bool) -> Self {
        Self {
            trigger: arm.transition.clone(),
            label: if traced { arm_label(&arm.transition, arm.index) } else { String::new() },
            takes: &arm.takes,
            reason: arm.reason.as_deref(),
            default_reason: arm.default_reason.as_ref(),
            checks: &arm.checks,
            require: &[],
            count: &arm.count,
            aims: match &arm.target {
                Target::One(aim) => Aims::One(aim),
                Target::Choices(choices) => Aims::Choices(choices),
            },
            then: &arm.then,
            keep: &arm.keep,
            holding: arm.holding.as_ref(),
            creating: false,
        }
    }

    pub fn create(create: &'r Create) -> Self {
        Self {
            trigger: names::CREATE.clone(),
            label: "create".to_owned(),
            takes: &create.takes,
            reason: create.reason.as_deref(),
            default_reason: None,
            checks: &create.checks,
            require: &create.require,
            count: &create.count,
            aims: Aims::One(NOTHING),
            then: &create.then,
            keep: &[],
            holding: None,
            creating: true,
        }
    }

    pub fn always(state: &'r State, then: &'r Consequences) -> Self {
        Self {
            trigger: names::ALWAYS.clone(),
            label: format!("states.{}.always", state.name),
            takes: &[],
            reason: None,
            default_reason: None,
            checks: &[],
            require: &[],
            count: &[],
            aims: Aims::Choices(&state.always),
            then,
            keep: &[],
            holding: None,
            creating: false,
        }
    }

    /// Whether the caller names the target.
    pub fn asks(&self) -> bool {
        let ask = |aim: &Aim| matches!(aim, Aim::Ask { .. });
        match self.aims {
            Aims::One(aim) => ask(aim),
            Aims::Choices(choices) => choices.iter().any(|it| ask(&it.aim)),
        }
    }

    pub fn choice(&self, plan: &RulePlan<'_>) -> Option<&'r Choice> {
        match self.aims {
            Aims::One(_) => None,
            Aims::Choices(choices) => choices.get(plan.choice?),
        }
    }
}

pub(crate) fn arm_label(transition: &Name, index: usize) -> String {
    if index == 0 {
        format!("transitions.{transition}")
    } else {
        format!("transitions.{transition}[{index}]")
    }
}

/// All changes of a rule to its own entity.
pub(super) struct RulePlan<'l> {
    /// None: it stays in its state.
    pub to: Option<Name>,
    pub choice: Option<usize>,
    /// Values of the request that are not stored.
    pub taken: Fields,
    /// Fields of the request.
    pub sent: Vec<(Name, Value)>,
    pub fields: Vec<(Name, Value)>,
    pub counted: Vec<CountedChange<'l>>,
    /// Tallies set or reset by the rule.
    pub tallies: Vec<TallyChange>,
    pub grants: Vec<(Name, Name)>,
    pub ignored: Vec<Name>,
}

/// A count and its consequences.
pub(super) struct CountedChange<'l> {
    pub counter: &'l Counter,
    pub change: TallyChange,
    /// The indexes of the warnings that are due.
    pub warned: std::ops::Range<usize>,
    /// The limit that they are percentages of.
    pub limit: Option<f64>,
    pub reached: bool,
}

impl CountedChange<'_> {
    /// Its event, if it counts failures.
    pub fn failure(&self) -> Option<Event> {
        let TallyChange { counter, key, tally } = self.counter.failure.then(|| self.change.clone())?;
        Some(Event::FailureCounted { counter, key, tally: tally.unwrap_or_default() })
    }

    /// The text of the warning that a counter is near its limit.
    pub fn nearing(&self, percent: u32) -> String {
        let of = match &self.counter.tally {
            TallyBy::One => String::new(),
            TallyBy::PerState | TallyBy::ByKey(_) => format!(" ({})", self.change.key),
        };
        let value = self.change.tally.as_ref().map_or(0.0, |it| it.value);
        let limit = self.limit.unwrap_or_default();
        format!("{}{of} has reached {percent}% of its limit: {value} of {limit}", self.counter.name)
    }
}

impl DecisionBuilder<'_> {
    pub fn is_traced(&self) -> bool {
        self.traced
    }
}

/// Evaluates expressions of an entity's definition against it.
#[expect(clippy::too_many_arguments, reason = "everything an expression may look at")]
pub(crate) fn sample_scope<T>(
    law: &crate::law::Law,
    view: &crate::view::View,
    life: &Lifecycle,
    entity: &Entity,
    actor: &crate::actor::Actor,
    now: trackside_lifecycle::time::Timestamp,
    ask: Option<&Fields>,
    look: impl FnOnce(&dyn Scope) -> T,
) -> Result<T, Needs> {
    sample_entity_scope(law, view, life, entity, actor, now, ask, |scope| look(scope))
}

/// Evaluates an expression of an entity, with an element of a list as `it`.
pub(crate) type ElementEval<'e> = dyn Fn(Option<&Value>, &Guard) -> Result<Value, Fault> + 'e;

/// Like `sample_scope`, for expressions that read elements of lists.
#[expect(clippy::too_many_arguments, reason = "the inputs of a query")]
pub(crate) fn sample_elements<T>(
    law: &crate::law::Law,
    view: &crate::view::View,
    life: &Lifecycle,
    entity: &Entity,
    actor: &crate::actor::Actor,
    now: trackside_lifecycle::time::Timestamp,
    ask: &Fields,
    look: impl FnOnce(&ElementEval<'_>) -> T,
) -> Result<T, Needs> {
    sample_entity_scope(law, view, life, entity, actor, now, Some(ask), |scope| {
        look(&|it, guard| guard.eval(&EntityScope { it, ..*scope }))
    })
}

#[expect(clippy::too_many_arguments, reason = "everything an expression may look at")]
pub(super) fn sample_entity_scope<T>(
    law: &crate::law::Law,
    view: &crate::view::View,
    life: &Lifecycle,
    entity: &Entity,
    actor: &crate::actor::Actor,
    now: trackside_lifecycle::time::Timestamp,
    ask: Option<&Fields>,
    look: impl FnOnce(&EntityScope<'_>) -> T,
) -> Result<T, Needs> {
    let lookup = Lookup::new(view);
    let draft = super::draft::DecisionDraft::new(&lookup);
    let around = Surroundings { law, draft: &draft, project: &view.project, now };
    let request = Request::by(actor.clone(), actor.subject.clone(), Fields::default(), None);
    lookup.finish(look(&EntityScope { ask, ..plain_scope(&around, life, entity, &request) }))
}

/// Like `sample_scope`, with the fields as they were before.
pub(crate) fn sample_scope_after<T>(
    looking: &crate::condition::ConditionScope<'_>,
    life: &Lifecycle,
    look: impl FnOnce(&dyn Scope) -> T,
) -> Result<T, Needs> {
    let lookup = Lookup::new(looking.view);
    let draft = super::draft::DecisionDraft::new(&lookup);
    let (law, project) = (looking.law, &looking.view.project);
    let around = Surroundings { law, draft: &draft, project, now: looking.now };
    let request = match looking.actor {
        Some(actor) => Request::by(actor.clone(), actor.subject.clone(), Fields::default(), None),
        None => Request::engine(crate::actor::ActorKind::System, Fields::default(), Name::new(""), None),
    };
    lookup.finish(look(&EntityScope {
        was: looking.was,
        ..plain_scope(&around, life, looking.entity, &request)
    }))
}
