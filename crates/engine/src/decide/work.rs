//! The instructions of an agent for an entity, and the event that follows its run, by the `work` of the lifecycle.
//! Performs nothing.

use std::collections::{BTreeMap, BTreeSet};

use trackside_lifecycle::guard::{Fault, Guard, Scope};
use trackside_lifecycle::model::{
    Aim, Arm, FieldType, Lifecycle, Pack, RoleWork, Take, WorkAgent, WorkStep, run_members,
};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::draft::DecisionDraft;
use super::explain::{TransitionOption, transition_options};
use super::fire::plain_scope;
use super::journal_entry::ReaderScope;
use super::request::Request;
use super::scope::{EntityScope, Surroundings};
use super::work_text;
use crate::actor::Actor;
use crate::entity::Entity;
use crate::fields::Fields;
use crate::law::Law;
use crate::observe::EntryAccess;
use crate::query::{PackScope, QueryError};
use crate::trace::{Point, PointKind, Trace};
use crate::view::{Lookup, Needs, Project, View};

/// A question about the work of an agent in a role on an entity.
#[derive(Clone, Copy, Debug)]
pub struct WorkQuestion<'a> {
    pub law: &'a Law,
    pub view: &'a View,
    pub entity: &'a Entity,
    pub role: &'a Name,
    /// The agent, or an actor on its behalf.
    pub actor: &'a Actor,
    pub now: Timestamp,
    pub trace: Option<&'a Trace>,
}

/// The instructions of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Instructions {
    /// Everything the agent needs to know, as text.
    pub text: String,
    /// What the last review said.
    pub feedback: Value,
    /// The notes of the process before.
    pub handoff: Value,
    /// The events that the agent may fire now.
    pub events: Vec<OfferedEvent>,
    /// The transition that takes the entity, if the agent may fire it now.
    pub claim: Option<Name>,
    /// Conditions that must hold before an agent starts.
    pub waits: Vec<String>,
}

/// An event that an agent may fire now.
#[derive(Clone, Debug)]
pub struct OfferedEvent {
    pub event: Name,
    pub about: String,
    /// The possible target states; empty if it stays in its state.
    pub to: Vec<Name>,
    pub fields: Vec<OfferedField>,
    /// What the fields must fulfil, in the words of the rules.
    pub conditions: Vec<String>,
    pub needs_reason: bool,
    pub needs_target: bool,
}

impl PartialEq for OfferedEvent {
    fn eq(&self, other: &Self) -> bool {
        let names = |it: &Self| it.fields.iter().map(|it| (it.name.clone(), it.required)).collect::<Vec<_>>();
        (&self.event, &self.to, names(self)) == (&other.event, &other.to, names(other))
    }
}

/// The events that an agent may fire now, and those that it can fire in another state.
pub(super) struct OfferedEvents {
    pub now: Vec<OfferedEvent>,
    pub later: Vec<(OfferedEvent, Name)>,
}

/// A field of an offered event.
#[derive(Clone, Debug)]
pub struct OfferedField {
    pub name: Name,
    /// Whether the event is refused without it.
    pub required: bool,
    pub about: String,
    pub fits: FieldType,
}

/// The event that follows a step of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum NextEvent {
    Fire {
        event: Name,
        fields: Fields,
        reason: Option<String>,
    },
    /// There is nothing to fire, and why.
    Nothing(String),
}

/// Why a question about work has no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkError {
    /// The view does not hold everything: load it and ask again.
    Needs(Needs),
    /// The lifecycle declares no work for the role.
    NoWork(String),
    /// An expression cannot be evaluated.
    Failed(String),
}

impl From<Needs> for WorkError {
    fn from(needs: Needs) -> Self {
        Self::Needs(needs)
    }
}

impl std::fmt::Display for WorkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Needs(needs) => needs.fmt(f),
            Self::NoWork(why) | Self::Failed(why) => f.write_str(why),
        }
    }
}

impl WorkQuestion<'_> {
    /// The instructions for the agent.
    pub fn instructions(&self) -> Result<Instructions, WorkError> {
        let (life, work) = self.work()?;
        let given = self.given(None);
        let (ask, feedback, handoff) = self.look(life, &given, |scope| {
            let value = |guard: &Option<Guard>| guard.as_ref().map_or(Ok(Value::Null), |it| it.eval(scope));
            Ok((work.ask.render(scope)?, value(&work.feedback)?, value(&work.handoff)?))
        })?;
        let waits = self.look(life, &given, |scope| {
            let open = work.ready.iter().filter_map(|it| match it.guard.test(scope) {
                Ok(true) => None,
                Ok(false) => Some(it.says.render(scope)),
                Err(fault) => Some(Err(fault)),
            });
            open.collect::<Result<Vec<String>, Fault>>()
        })?;
        if !waits.is_empty() {
            self.hit(life, "ready");
        }
        let options = transition_options(self.law, self.view, self.entity, self.actor, self.now)?;
        let events = self.offered(life, work, &options);
        let claim = work
            .claim
            .clone()
            .filter(|it| options.iter().any(|option| option.event == *it && option.missing().is_some()));
        self.hit(life, "ask");
        if !feedback.is_blank() {
            self.hit(life, "feedback");
        }
        if !handoff.is_blank() {
            self.hit(life, "handoff");
        }
        let later = self.later(life, work);
        let events = OfferedEvents { now: events, later };
        let text = work_text::instructions(self.entity, life, work, &ask, &feedback, &handoff, &events);
        let events = events.now;
        Ok(Instructions { text, feedback, handoff, events, claim, waits })
    }

    /// The event that follows a step of a run. `run` has the fields of the run and the values that its runner sent.
    pub fn next_event(&self, step: WorkStep, run: &Fields) -> Result<NextEvent, WorkError> {
        let (life, work) = self.work()?;
        let nothing = |why: String| Ok(NextEvent::Nothing(why));
        let Some(event) = work.event(step) else {
            return nothing(format!("{} declares no `{}` for {}", life.name, step.as_str(), self.role));
        };
        let leaves = |arm: &Arm| arm.from.has(&self.entity.state);
        if !life.transition(&event.fire).is_some_and(|it| it.arms.iter().any(leaves)) {
            let Entity { key, state, .. } = self.entity;
            return nothing(format!("{key} is {state}, and {} does not leave this state", event.fire));
        }
        let given = self.given(Some(run));
        let planned = self.look(life, &given, |scope| {
            if let Some(when) = &event.when
                && !when.test(scope)?
            {
                return Ok(Err(format!("the condition of `{}` is false: {}", step.as_str(), when.source())));
            }
            let mut fields = Fields::default();
            for (name, guard) in &event.with {
                let value = guard.eval(scope).map_err(|fault| named(fault, name, guard))?;
                // A value that is not known is not sent.
                if !value.is_null() {
                    fields.put(name, value);
                }
            }
            let reason = match event.reason.as_ref().map(|it| it.eval(scope)).transpose()? {
                Some(Value::Text(text)) => Some(text.to_string()),
                _ => None,
            };
            Ok(Ok((fields, reason)))
        })?;
        match planned {
            Err(why) => nothing(why),
            Ok((fields, reason)) => {
                self.hit(life, step.as_str());
                Ok(NextEvent::Fire { event: event.fire.clone(), fields, reason })
            }
        }
    }

    /// The definition of the entity, and its work for the role.
    fn work(&self) -> Result<(&Lifecycle, &RoleWork), WorkError> {
        let Entity { key, definition, .. } = self.entity;
        let life = self.law.definition(&key.lifecycle, *definition);
        let life = life.ok_or_else(|| WorkError::NoWork(format!("{} is not a lifecycle", key.lifecycle)))?;
        let work = life.work.get(self.role).ok_or_else(|| {
            let roles: Vec<&str> = life.work.keys().map(Name::as_str).collect();
            let known = match roles.as_slice() {
                [] => "it declares no work at all".to_owned(),
                some => format!("it does for {}", some.join(", ")),
            };
            let version = life.version;
            WorkError::NoWork(format!(
                "{} (version {version}) declares no work for {}; {known}",
                life.name, self.role
            ))
        })?;
        Ok((life, work))
    }

    /// The values that the expressions read besides the entity.
    fn given(&self, run: Option<&Fields>) -> Fields {
        let mut given = Fields::default();
        let agent = self.actor.subject.as_ref().unwrap_or(&self.actor.id);
        given.put(&Name::new("agent"), Value::from(agent));
        given.put(&Name::new("role"), Value::from(self.role));
        if let Some(run) = run {
            let member = |name: &str| (Name::new(name), run.value(name));
            let all: BTreeMap<Name, Value> = run_members().iter().map(|(name, _)| member(name)).collect();
            given.put(&Name::new("run"), Value::map(all));
        }
        given
    }

    /// Evaluates expressions as the agent may see the entity.
    fn look<T>(
        &self,
        life: &Lifecycle,
        given: &Fields,
        look: impl FnOnce(&dyn Scope) -> Result<T, Fault>,
    ) -> Result<T, WorkError> {
        let Self { law, view, now, actor, .. } = *self;
        let hidden = EntryAccess::of(law, view, self.entity, actor, now)?.hidden;
        let mut entity = self.entity.clone();
        hidden.iter().for_each(|it| entity.fields.set(it, Value::Null));
        let lookup = Lookup::new(view);
        let draft = DecisionDraft::new(&lookup);
        let around = Surroundings { law, draft: &draft, project: &view.project, now };
        let request = Request::by(actor.clone(), actor.subject.clone(), Fields::default(), None);
        let scope = EntityScope { taken: given, ..plain_scope(&around, life, &entity, &request) };
        let answer = look(&ReaderScope { law, life, hidden: &hidden, scope: &scope });
        lookup.finish(answer)?.map_err(|fault| WorkError::Failed(fault.to_string()))
    }

    /// The events that the agent may fire now, each once. Those of the runner are left out.
    fn offered(&self, life: &Lifecycle, work: &RoleWork, options: &[TransitionOption]) -> Vec<OfferedEvent> {
        let of_runner = |event: &Name| {
            let steps = [WorkStep::Begin, WorkStep::Meter];
            work.claim.as_ref() == Some(event)
                || steps.iter().filter_map(|it| work.event(*it)).any(|it| it.fire == *event)
        };
        let is_offered = |event: &Name| work.offers.is_empty() || work.offers.contains(event);
        let mut seen: BTreeSet<&Name> = BTreeSet::new();
        let mut events = Vec::new();
        for option in options {
            let Some(wanted) = wanted(option) else { continue };
            if of_runner(&option.event) || !is_offered(&option.event) || !seen.insert(&option.event) {
                continue;
            }
            let arm = self.arm(life, option);
            events.push(OfferedEvent {
                event: option.event.clone(),
                about: about(option, arm),
                to: option.to.clone(),
                fields: fields(life, arm, &wanted.fields),
                conditions: wanted.conditions,
                needs_reason: option.needs_reason,
                needs_target: option.needs_target,
            });
        }
        events
    }

    /// The events that the block names and that leave another state than this one, with that state.
    fn later(&self, life: &Lifecycle, work: &RoleWork) -> Vec<(OfferedEvent, Name)> {
        let event = |name: &Name| {
            let arms = &life.transition(name)?.arms;
            if arms.iter().any(|it| it.from.has(&self.entity.state)) {
                return None;
            }
            let arm = arms.first()?;
            let from = life.states.iter().find(|it| arm.from.has(&it.name))?;
            let to = arm.target.aims().into_iter().filter_map(|it| match it {
                Aim::State(name) => Some(name.clone()),
                Aim::Stay | Aim::Field(_) | Aim::Ask { .. } | Aim::Next { .. } | Aim::Table(_) => None,
            });
            let to: Vec<Name> = to.collect();
            let into = to.iter().filter_map(|it| life.state(it)).flat_map(|it| &it.require);
            let needed: BTreeSet<&Name> = into.map(|(name, _)| name).collect();
            let is_required = |it: &&Take| {
                it.required.is_some()
                    || needed.contains(&it.name) && self.entity.fields.value(&it.name).is_blank()
            };
            let required: Vec<Name> =
                arm.takes.iter().filter(is_required).map(|it| it.name.clone()).collect();
            let offered = OfferedEvent {
                event: name.clone(),
                about: arm.about.clone(),
                to,
                fields: fields(life, Some(arm), &required),
                conditions: Vec::new(),
                needs_reason: arm.reason.is_some(),
                needs_target: false,
            };
            Some((offered, from.name.clone()))
        };
        work.offers.iter().filter_map(event).collect()
    }

    /// The arm of an option.
    fn arm<'l>(&self, life: &'l Lifecycle, option: &TransitionOption) -> Option<&'l Arm> {
        let same = |arm: &&Arm| {
            let names = arm.takes.iter().map(|it| &it.name);
            arm.from.has(&self.entity.state) && names.eq(option.takes.iter().map(|(name, _)| name))
        };
        life.transition(&option.event)?.arms.iter().find(same)
    }

    fn hit(&self, life: &Lifecycle, what: &str) {
        if let Some(trace) = self.trace {
            trace.add(vec![point(life, self.role, what)]);
        }
    }
}

/// What a request must send so that an event is accepted.
struct Wanted {
    fields: Vec<Name>,
    conditions: Vec<String>,
}

/// What a request of the agent must send; none if something else prevents the event.
fn wanted(option: &TransitionOption) -> Option<Wanted> {
    if let Some(fields) = option.missing() {
        return Some(Wanted { fields, conditions: Vec::new() });
    }
    if !option.permitted || !option.gates_open {
        return None;
    }
    let takes = |name: &Name| option.takes.iter().any(|(it, _)| it == name);
    let required = option.takes.iter().filter(|(_, required)| *required).map(|(name, _)| name.clone());
    let mut wanted = Wanted { fields: required.collect(), conditions: Vec::new() };
    for check in option.checks.iter().filter(|it| !it.passed) {
        // The fields of the request that the condition reads.
        let root = |name: &Name| Name::new(name.split(['.', '[']).next().unwrap_or_default());
        let sent: BTreeSet<Name> =
            check.saw.keys().map(root).chain([check.rule.clone()]).filter(|it| takes(it)).collect();
        match sent.iter().collect::<Vec<_>>().as_slice() {
            [] => return None,
            [one] if !wanted.fields.contains(one) => wanted.fields.push((*one).clone()),
            _ => {}
        }
        wanted.conditions.extend(check.message.clone());
    }
    Some(wanted)
}

/// What an event does, in its own words or those of its usual reason.
fn about(option: &TransitionOption, arm: Option<&Arm>) -> String {
    let usual = arm.and_then(|it| it.default_reason.as_ref()).map(|it| it.source());
    match (option.about.as_str(), usual.filter(|it| !it.contains('{'))) {
        ("", Some(usual)) => usual.to_owned(),
        (about, _) => about.to_owned(),
    }
}

fn fields(life: &Lifecycle, arm: Option<&Arm>, missing: &[Name]) -> Vec<OfferedField> {
    let field = |it: &Take| OfferedField {
        name: it.name.clone(),
        required: missing.contains(&it.name),
        about: life.field(&it.name).map(|it| it.about.clone()).unwrap_or_default(),
        fits: it.fits.clone(),
    };
    arm.into_iter().flat_map(|it| &it.takes).map(field).collect()
}

/// The fields with which the record of an agent is created.
pub fn agent_fields(
    pack: &Pack,
    project: &Project,
    record: &WorkAgent,
    agent: &Name,
    role: &Name,
) -> Result<Fields, QueryError> {
    let none = Fields::default();
    let given: Fields = [("agent", Value::from(agent)), ("role", Value::from(role))].into_iter().collect();
    let scope = PackScope { pack, project, params: &none, rows: &none, given: &given };
    let mut fields = Fields::default();
    for (name, guard) in &record.with {
        fields.set(name, guard.eval(&scope)?);
    }
    Ok(fields)
}

/// Every part of `work` that a scenario can exercise.
pub fn points(life: &Lifecycle) -> BTreeSet<Point> {
    let mut points = BTreeSet::new();
    for (role, work) in &life.work {
        let said = [
            ("ask", true),
            ("feedback", work.feedback.is_some()),
            ("handoff", work.handoff.is_some()),
            ("ready", !work.ready.is_empty()),
        ];
        let said = said.into_iter().filter(|(_, it)| *it).map(|(what, _)| what);
        for what in said.chain(work.events.iter().map(|(step, _)| step.as_str())) {
            points.insert(point(life, role, what));
        }
    }
    points
}

fn point(life: &Lifecycle, role: &Name, what: &str) -> Point {
    Point { lifecycle: life.name.clone(), kind: PointKind::Work, what: format!("work.{role}.{what}") }
}

/// A fault with the field that was computed.
fn named(fault: Fault, name: &Name, guard: &Guard) -> Fault {
    match fault {
        Fault::Failed(text) => {
            Fault::Failed(format!("`{name}` cannot be computed from `{}`: {text}", guard.source()))
        }
        other => other,
    }
}
