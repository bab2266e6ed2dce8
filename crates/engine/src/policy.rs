//! The risk policy: the level of an action, whether a role may perform it, and why.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use trackside_lifecycle::guard::{Fault, Guard, Scope, VarSlot};
use trackside_lifecycle::hex;
use trackside_lifecycle::model::{Policy, Read, StateTools, Tool};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::entity::Entity;
use crate::settings::effective;
use crate::view::Project;

/// The decision of the risk policy on an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub level: Name,
    pub outcome: PolicyOutcome,
    pub why: String,
    /// The action that the call counts as for the tools of a state.
    pub action: Name,
    /// The place of the rule that decided, among the rules of the policy.
    pub rule: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyOutcome {
    Allow,
    /// A person must approve the action first.
    Approve,
    Deny,
}

impl PolicyOutcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Approve => "approve",
            Self::Deny => "deny",
        }
    }
}

impl Judgement {
    pub fn to_value(&self) -> Value {
        Value::map(BTreeMap::from([
            (Name::new("level"), Value::from(&self.level)),
            (Name::new("outcome"), Value::text(self.outcome.as_str())),
            (Name::new("why"), Value::text(&self.why)),
        ]))
    }
}

/// Judges an action. A role that the policy does not name needs approval for everything above the lowest
/// level.
pub fn judge(
    policy: &Policy,
    project: &Project,
    action: &str,
    arguments: &Value,
    role: Option<&str>,
) -> Result<Judgement, Fault> {
    let arguments = &as_map(arguments);
    let asked = PolicyScope { policy, project, action, arguments, level: "", why: "" };
    let (action, arguments) = match policy.tools.get(action) {
        Some(tool) => (tool.action.as_str(), &asked.action_arguments(tool)?),
        None => (action, arguments),
    };
    let scope = PolicyScope { policy, project, action, arguments, level: "", why: "" };
    let mut why: Vec<String> = Vec::new();
    let (mut level, mut decided, mut counts_as) = (None, None, None);
    for (place, rule) in policy.rules.iter().enumerate() {
        if !rule.actions.is_empty() && !rule.actions.iter().any(|name| name == action) {
            continue;
        }
        let applies = rule.when.as_ref().map_or(Ok(true), |it| it.test(&scope))?;
        if !applies {
            continue;
        }
        let counted = rule.counts_as.clone().unwrap_or_else(|| Name::new(action));
        if let Some(deny) = &rule.deny {
            return Ok(Judgement {
                level: policy.levels.last().unwrap_or(&policy.unknown).clone(),
                outcome: PolicyOutcome::Deny,
                why: deny.render(&scope)?,
                action: counted,
                rule: Some(place),
            });
        }
        why.push(match &rule.why {
            Some(why) => why.render(&scope)?,
            None => format!("{action} is named by a rule"),
        });
        level = rule.level.clone();
        (decided, counts_as) = (Some(place), Some(counted));
        break;
    }
    let mut level = level.unwrap_or_else(|| {
        why.push(format!("no rule names {action}"));
        policy.unknown.clone()
    });
    let rank = |name: &Name| policy.levels.iter().position(|it| it == name).unwrap_or(usize::MAX);
    for raise in &policy.raise {
        if rank(&raise.level) > rank(&level) && raise.when.test(&scope)? {
            level = raise.level.clone();
            if let Some(reason) = &raise.why {
                why.push(reason.render(&scope)?);
            }
        }
    }
    let highest = role.and_then(|it| policy.roles.get(it)).or(policy.levels.first());
    let outcome = if highest.is_some_and(|it| rank(&level) <= rank(it)) {
        PolicyOutcome::Allow
    } else {
        PolicyOutcome::Approve
    };
    if outcome == PolicyOutcome::Approve {
        why.push(format!("{} may not do {level} without asking", role.unwrap_or("an actor without a role")));
    }
    let action = counts_as.unwrap_or_else(|| Name::new(action));
    Ok(Judgement { level, outcome, why: why.join("; "), action, rule: decided })
}

impl Judgement {
    /// This judgement, denied if the state of an entity does not admit the action.
    pub fn limited_to(mut self, entity: &Entity, tools: Option<&StateTools>) -> Self {
        if let Some(tools) = tools
            && !tools.admits(&self.action)
        {
            self.outcome = PolicyOutcome::Deny;
            let (Entity { key, state, .. }, action) = (entity, &self.action);
            self.why =
                format!("{key} is {state}, in which agents may use {}, not {action}", tools.in_words());
        }
        self
    }
}

/// The longest text in the arguments of a request, in characters. A longer one is stored as its beginning and its hash.
const LONGEST: usize = 4_000;
/// The part of a longer text that is stored, in characters.
const BEGINNING: usize = 1_000;

/// A request for the approval of an action, by the rules of the pack.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionRequest {
    /// The arguments as they are stored: long texts are shortened.
    pub arguments: Value,
    /// The fields of the transitions that file the request and use the approval.
    pub fields: Vec<(Name, Value)>,
}

/// The request for the approval of an action that was judged; none if the policy declares no request.
pub fn request(
    policy: &Policy,
    project: &Project,
    action: &str,
    arguments: &Value,
    judged: &Judgement,
) -> Result<Option<ActionRequest>, Fault> {
    let Some(declared) = &policy.request else { return Ok(None) };
    let arguments = match as_map(arguments) {
        Value::Null => Value::map(BTreeMap::new()),
        given => shortened(&given),
    };
    let scope = PolicyScope {
        policy,
        project,
        action,
        arguments: &arguments,
        level: &judged.level,
        why: &judged.why,
    };
    let value = |(name, guard): &(Name, Guard)| Ok((name.clone(), guard.eval(&scope)?));
    let fields = declared.with.iter().map(value).collect::<Result<Vec<_>, Fault>>()?;
    Ok(Some(ActionRequest { arguments, fields }))
}

/// Arguments as rules read them: a value that is not a map is its member `input`.
fn as_map(arguments: &Value) -> Value {
    match arguments {
        Value::Map(_) | Value::Null => arguments.clone(),
        other => Value::map(BTreeMap::from([(Name::new("input"), other.clone())])),
    }
}

/// The value with its long texts shortened. Different texts stay different: the hash is part of the result.
fn shortened(value: &Value) -> Value {
    match value {
        Value::Text(text) if text.chars().count() > LONGEST => {
            let beginning: String = text.chars().take(BEGINNING).collect();
            let hash = hex::encode(Sha256::digest(text.as_bytes()));
            Value::text(&format!("{beginning}… ({} characters, sha256 {hash})", text.chars().count()))
        }
        Value::List(items) => Value::list(items.iter().map(shortened).collect()),
        Value::Map(members) => {
            Value::map(members.iter().map(|(name, it)| (name.clone(), shortened(it))).collect())
        }
        other => other.clone(),
    }
}

struct PolicyScope<'a> {
    policy: &'a Policy,
    project: &'a Project,
    action: &'a str,
    arguments: &'a Value,
    level: &'a str,
    why: &'a str,
}

impl PolicyScope<'_> {
    /// The arguments of a tool, mapped to those of the action.
    fn action_arguments(&self, tool: &Tool) -> Result<Value, Fault> {
        let mut arguments = match self.arguments {
            Value::Map(given) => (**given).clone(),
            _ => BTreeMap::new(),
        };
        for (name, value) in &tool.with {
            arguments.insert(name.clone(), value.eval(self)?);
        }
        Ok(Value::map(arguments))
    }
}

impl Scope for PolicyScope<'_> {
    fn read(&self, slot: VarSlot) -> Result<Value, Fault> {
        Ok(match self.policy.reads.get(slot.0 as usize) {
            Some(Read::Given(name)) if *name == *"action" => Value::text(self.action),
            Some(Read::Given(name)) if *name == *"level" => Value::text(self.level),
            Some(Read::Given(name)) if *name == *"why" => Value::text(self.why),
            Some(Read::Given(_)) => self.arguments.clone(),
            Some(Read::Setting(place)) => match self.policy.settings.get(*place) {
                Some(setting) => effective(setting, &self.policy.pack, self.project, None),
                None => Value::Null,
            },
            _ => Value::Null,
        })
    }

    fn call(&self, _: u16, _: &[Value]) -> Result<Value, Fault> {
        Err(Fault::Failed("a policy cannot ask the policy".to_owned()))
    }
}
