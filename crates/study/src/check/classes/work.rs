//! RoleWork of agents that can never succeed: events that their role may not fire, and fields that are not sent.

use trackside_lifecycle::guard::VarSlot;
use trackside_lifecycle::model::{ANY_AGENT, Arm, KnownReads, Lifecycle, Partial, Read, RoleWork, WorkEvent};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;
use trackside_lifecycle::value::Value;

use crate::check::class::Class;
use crate::check::finding::Finding;
use crate::check::survey::Survey;

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        let life = study.life();
        for (role, work) in &life.work {
            check_role(life, role, work, found);
        }
    }
}

fn check_role(life: &Lifecycle, role: &Name, work: &RoleWork, found: &mut Vec<Finding>) {
    let mut report = |way: DefinitionPath, message: String, advice: String| {
        found.push(Finding::new(Class::DeadWork, &life.name, way, message, advice));
    };
    if let Some(claim) = &work.claim
        && arms_for(life, role, claim).is_empty()
    {
        let way = DefinitionPath::of(["work", role, "claim"]);
        report(way, format!("{} can never fire `{claim}`", who(role)), admit(role, claim));
    }
    for offer in work.offers.iter().filter(|it| arms_for(life, role, it).is_empty()) {
        let way = DefinitionPath::of(["work", role, "offers"]);
        report(way, format!("{} can never fire `{offer}`", who(role)), admit(role, offer));
    }
    for (step, event) in &work.events {
        let way = DefinitionPath::of(["work", role, step.as_str()]);
        let arms = arms_for(life, role, &event.fire);
        if arms.is_empty() {
            let message = format!("{} can never fire `{}`", who(role), event.fire);
            report(way, message, admit(role, &event.fire));
            continue;
        }
        let missing = arms.iter().map(|it| missing(it, event)).min_by_key(Vec::len).unwrap_or_default();
        if let Some(first) = missing.first() {
            let message = format!(
                "`{}` sends no {}, so `{}` is refused",
                step.as_str(),
                missing.join(", "),
                event.fire
            );
            let advice = match first.as_str() {
                REASON => "give it: `reason: EXPRESSION`".to_owned(),
                field => format!("send it: `with: {{ {field}: … }}`"),
            };
            report(way, message, advice);
        }
    }
}

/// A reason, among the fields that a request must send.
const REASON: &str = "reason";

/// The fields that an arm requires and the event does not send.
fn missing(arm: &Arm, event: &WorkEvent) -> Vec<Name> {
    let sends = |name: &Name| event.with.iter().any(|(it, _)| it == name);
    let required = arm.takes.iter().filter(|it| it.required.is_some() && !sends(&it.name));
    let reason = arm.reason.is_some() && event.reason.is_none();
    required.map(|it| it.name.clone()).chain(reason.then(|| Name::new(REASON))).collect()
}

/// The arms of a transition that an agent with only this role might take.
fn arms_for<'a>(life: &'a Lifecycle, role: &Name, event: &Name) -> Vec<&'a Arm> {
    let arms = life.transition(event).map(|it| it.arms.as_slice()).unwrap_or_default();
    let admitted = |arm: &&Arm| Partial::new(&life.reads, AgentInRole(role)).truth(&arm.by) != Some(false);
    arms.iter().filter(admitted).collect()
}

/// An agent that has one role and no other.
struct AgentInRole<'a>(&'a Name);

impl KnownReads for AgentInRole<'_> {
    fn value(&self, _: VarSlot, read: &Read) -> Option<Value> {
        match read {
            Read::Human | Read::System | Read::Engine | Read::Admin => Some(Value::Bool(false)),
            Read::Agent => Some(Value::Bool(true)),
            Read::ActorKind => Some(Value::text("agent")),
            Read::Role(holders) => Some(Value::Bool(holders.contains(self.0))),
            _ => None,
        }
    }
}

fn who(role: &Name) -> String {
    match role.as_str() {
        ANY_AGENT => "an agent without a role".to_owned(),
        role => format!("an agent with the role `{role}`"),
    }
}

fn admit(role: &Name, event: &Name) -> String {
    format!("admit it in `by` of `{event}`, or name another event for `{role}`")
}
