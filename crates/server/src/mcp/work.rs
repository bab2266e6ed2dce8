//! The tool `my_work`: everything an actor could do now, found by how lifecycles relate actors to entities.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use serde_json::Value as Json;
use trackside_engine::Decision;
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Claim as Claiming};
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::{
    ApprovalBody, ClaimableEntity, EntityBody, EntityBrief, ProblemCode, TaskInstructions, WorkBody,
    WorkSummary, WorkerIdentity,
};
use trackside_runtime::read::{ListQuery, USUAL};
use trackside_runtime::{ReadError, Reads};

use super::actor_fields::{ActorField, actor_fields};
use super::args::MyWorkInput;
use super::tool_answer::ToolAnswer;
use crate::app::App;
use crate::auth::{Caller, PACK};
use crate::problem::Refused;
use crate::rest::approvals;
use crate::rest::work::instructions;
use crate::rest::{CommandHeaders, Paging, Parameters, command, entity_bodies};

/// Open entities per lifecycle that are checked for other moves, and how many are listed.
const LOOKS: usize = 100;
const FEW: usize = 20;
/// The longest text in a summary.
const SHORT: usize = 120;
/// The longest field, as JSON, of something to decide.
const LONG: usize = 8_000;

pub(super) async fn my_work(app: &App, caller: &Caller, asked: MyWorkInput) -> Result<ToolAnswer, Refused> {
    if asked.id.is_some() && asked.lifecycle.is_none() {
        return Err(Refused::parameter("lifecycle", "Name the `lifecycle` of the entity, too"));
    }
    let task = task(app, caller, &asked).await?;
    let lives = readable_lifecycles(app, caller, asked.lifecycle.as_deref()).await?;
    let mut claimable = Vec::new();
    for life in &lives {
        claimable.extend(claims(app, caller, life).await?);
    }
    let (decisions, too_many) = decisions(app, caller, asked.lifecycle.as_deref()).await?;
    let (subject, actor) = (caller.subject().clone(), caller.actor().clone());
    let looked = app.read(move |reads| {
        let mut found = Found { subject, actor, yours: Vec::new(), open: Vec::new(), more: false };
        lives.iter().try_for_each(|life| found.look(reads, life))?;
        Ok(found)
    });
    let Found { mut yours, open, more, .. } = looked.await?;
    // Entities that the caller can move come before those that wait for others.
    yours.sort_by_key(|it| it.allowed_transitions.is_empty());
    let work = WorkSummary {
        you: worker_identity(caller),
        now: app.reads.now().to_string(),
        task: task.as_ref().map(TaskInstructions::from),
        yours,
        claimable,
        decisions,
        open,
        more: more || too_many,
    };
    let words = in_words(&work);
    let words = task.map_or(words.clone(), |it| format!("{words}\n\n{}", it.instructions));
    Ok(ToolAnswer::new(words, &work))
}

/// The instructions for the named entity, or for that of the caller's run.
async fn task(app: &App, caller: &Caller, asked: &MyWorkInput) -> Result<Option<WorkBody>, Refused> {
    let named = asked.lifecycle.as_deref().zip(asked.id.as_deref());
    let of_run = caller.actor().scope.as_ref().filter(|_| asked.lifecycle.is_none());
    let key = match (named, of_run) {
        (Some((lifecycle, id)), _) => EntityKey::new(lifecycle, id),
        (None, Some(scope)) => scope.entity.clone(),
        (None, None) => return Ok(None),
    };
    match instructions(app, caller, key, None).await {
        Ok(work) => Ok(Some(work)),
        // The agent of a run asked for all its work: a task without instructions is no reason to refuse that.
        Err(_) if named.is_none() => Ok(None),
        Err(refused) => Err(refused),
    }
}

/// The lifecycles to search: the one that was named, or all but the server's own.
async fn readable_lifecycles(
    app: &App,
    caller: &Caller,
    named: Option<&str>,
) -> Result<Vec<Arc<Lifecycle>>, Refused> {
    let law = app.runtime.law();
    let Some(named) = named else {
        let newest = law.lifecycle_names().iter().filter_map(|it| law.newest(it));
        return Ok(newest.filter(|it| *it.pack != *PACK).cloned().collect());
    };
    if let Some(life) = law.newest(&Name::new(named)) {
        return Ok(vec![life.clone()]);
    }
    // An unknown name is refused with a suggestion.
    let query = ListQuery::of(named, caller.actor().clone());
    app.read(move |reads| reads.list(&query)).await?;
    Ok(Vec::new())
}

fn worker_identity(caller: &Caller) -> WorkerIdentity {
    let actor = caller.actor();
    WorkerIdentity {
        actor: actor.id.to_string(),
        kind: actor.kind.as_str().to_owned(),
        roles: actor.roles.iter().map(Name::to_string).collect(),
        acting_for: caller.on_behalf_of.as_ref().map(Name::to_string),
    }
}

/// The result that each way to claim would have now.
pub(super) async fn claims(
    app: &App,
    caller: &Caller,
    life: &Lifecycle,
) -> Result<Vec<ClaimableEntity>, Refused> {
    let mut found = Vec::new();
    for event in life.rankings.iter().filter_map(|it| it.claims.as_ref()) {
        let (lifecycle, fields) = (life.name.clone(), Fields::default());
        let ask = Ask::Claim(Claiming { lifecycle, event: Some(event.clone()), only: None, fields });
        let tried = app.gateway.dry_run(command(caller, &CommandHeaders::default(), ask, None))?.await?;
        if let Decision::Accepted(accepted) = tried
            && let Some(entry) = accepted.entries.get(accepted.root)
        {
            let (lifecycle, id) = (life.name.to_string(), entry.entity.id.to_string());
            found.push(ClaimableEntity { lifecycle, event: event.to_string(), id });
        }
    }
    Ok(found)
}

/// Approval requests that the caller may decide, and whether there are more.
async fn decisions(
    app: &App,
    caller: &Caller,
    only: Option<&str>,
) -> Result<(Vec<EntityBrief>, bool), Refused> {
    let page = Paging { limit: None, cursor: None };
    let page = match approvals::list(State(app.clone()), caller.clone(), Parameters(page)).await {
        Ok(page) => page.0,
        Err(refused) if refused.0.has_code(ProblemCode::TooExpensive) => return Ok((Vec::new(), true)),
        Err(refused) => return Err(refused),
    };
    // Other states that wait for people are in the inbox.
    let law = app.runtime.law();
    let asks = |it: &&ApprovalBody| law.newest(&it.entity.lifecycle).is_some_and(|it| it.asks_people());
    let briefs = page.items.iter().filter(asks).map(|it| full_brief(&it.entity, caller.subject()));
    let mine =
        |it: &EntityBrief| !it.allowed_transitions.is_empty() && only.is_none_or(|only| it.lifecycle == only);
    Ok((briefs.filter(mine).collect(), page.next_cursor.is_some()))
}

/// The result, collected lifecycle by lifecycle.
struct Found {
    subject: Name,
    actor: Actor,
    yours: Vec<EntityBrief>,
    open: Vec<EntityBrief>,
    more: bool,
}

impl Found {
    fn look(&mut self, reads: &Reads, life: &Lifecycle) -> Result<(), ReadError> {
        let open: Vec<Name> = life.states.iter().filter(|it| !it.last).map(|it| it.name.clone()).collect();
        if open.is_empty() {
            return Ok(());
        }
        let mut mine: BTreeMap<Name, (Arc<Entity>, Vec<String>)> = BTreeMap::new();
        for place in actor_fields(life) {
            for entity in self.named_in(reads, life, &open, &place)? {
                let known = mine.entry(entity.key.id.clone()).or_insert_with(|| (entity, Vec::new()));
                known.1.push(place.word().to_owned());
            }
        }
        let (entities, places): (Vec<_>, Vec<_>) = mine.values().cloned().unzip();
        let told = entity_bodies(reads, &entities, &self.actor)?;
        self.yours.extend(told.iter().zip(places).map(|(it, named)| brief(it, named, &self.subject)));
        let asks_people = life.asks_people();
        if !asks_people {
            self.others(reads, life, open, &mine.into_keys().collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Open entities that name the subject in one field.
    fn named_in(
        &mut self,
        reads: &Reads,
        life: &Lifecycle,
        open: &[Name],
        place: &ActorField,
    ) -> Result<Vec<Arc<Entity>>, ReadError> {
        let id = &self.subject;
        let ActorField::Field(field) = place else {
            let key = EntityKey { lifecycle: life.name.clone(), id: id.clone() };
            return match reads.readable(&key, &self.actor) {
                Ok(entity) => Ok(Some(entity).filter(|it| open.contains(&it.state)).into_iter().collect()),
                Err(ReadError::UnknownEntity(_)) => Ok(Vec::new()),
                Err(error) => Err(error),
            };
        };
        // A field holds one actor or several.
        let one = reads.condition(&life.name, &format!("{field} == \"{id}\""));
        let Ok(filter) = one.or_else(|_| reads.condition(&life.name, &format!("\"{id}\" in {field}"))) else {
            return Ok(Vec::new());
        };
        let mut query = ListQuery::of(life.name.clone(), self.actor.clone());
        (query.states, query.filter, query.limit) = (open.to_vec(), Some(filter), USUAL);
        self.listed(reads, &query)
    }

    /// A page. Sets `more` if something is not on it, or would take too long to find.
    fn listed(&mut self, reads: &Reads, query: &ListQuery) -> Result<Vec<Arc<Entity>>, ReadError> {
        match reads.list(query) {
            Ok(listed) => {
                self.more |= listed.next_cursor.is_some();
                Ok(listed.items)
            }
            Err(ReadError::TooExpensive { .. }) => {
                self.more = true;
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    /// Other entities that the rules let the caller move.
    fn others(
        &mut self,
        reads: &Reads,
        life: &Lifecycle,
        open: Vec<Name>,
        mine: &[Name],
    ) -> Result<(), ReadError> {
        let mut query = ListQuery::of(life.name.clone(), self.actor.clone());
        (query.states, query.limit) = (open, LOOKS);
        let mut found = self.listed(reads, &query)?;
        found.retain(|it| !mine.contains(&it.key.id));
        let told = entity_bodies(reads, &found, &self.actor)?;
        let briefs = told.iter().map(|it| brief(it, Vec::new(), &self.subject));
        let mut movable: Vec<EntityBrief> = briefs.filter(|it| !it.allowed_transitions.is_empty()).collect();
        self.more |= movable.len() > FEW;
        movable.truncate(FEW);
        self.open.append(&mut movable);
        Ok(())
    }
}

/// A summary of an entity.
fn brief(entity: &EntityBody, named: Vec<String>, subject: &Name) -> EntityBrief {
    let is_short = |value: &Value| match value {
        Value::Null | Value::List(_) | Value::Map(_) => false,
        Value::Text(text) => text.chars().count() <= SHORT,
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Time(_) | Value::Span(_) => true,
    };
    let short = entity.fields.0.iter().filter(|(_, it)| is_short(it));
    EntityBrief {
        lifecycle: entity.lifecycle.to_string(),
        id: entity.id.to_string(),
        state: entity.state.to_string(),
        version: entity.version,
        naming_fields: named,
        allowed_transitions: entity.allowed_transitions.iter().map(Name::to_string).collect(),
        fields: short.map(|(name, value)| (name.to_string(), value.to_json())).collect(),
        left_out: Vec::new(),
        leases: entity.leases.iter().filter(|it| it.holder == *subject).cloned().collect(),
    }
}

/// Something to decide, with all fields that are not too long, because the decision depends on them.
fn full_brief(entity: &EntityBody, subject: &Name) -> EntityBrief {
    let mut brief = brief(entity, Vec::new(), subject);
    for (name, value) in entity.fields.0.iter().filter(|(_, it)| !it.is_null()) {
        let json = value.to_json();
        if json.to_string().len() <= LONG {
            brief.fields.insert(name.to_string(), json);
        } else {
            brief.left_out.push(name.to_string());
        }
    }
    brief
}

/// The result as text.
fn in_words(work: &WorkSummary) -> String {
    let WorkerIdentity { actor, kind, roles, acting_for } = &work.you;
    let mut text = format!("You are {actor} ({kind}");
    if !roles.is_empty() {
        text.push_str(&format!("; {}", roles.join(", ")));
    }
    text.push(')');
    if let Some(id) = acting_for {
        text.push_str(&format!(", acting for {id}"));
    }
    text.push('.');
    let mut group = |title: &str, all: &[EntityBrief], whole: bool| {
        for (place, it) in all.iter().enumerate() {
            let title = if place == 0 { format!("\n{title}:") } else { String::new() };
            let next = match it.allowed_transitions.as_slice() {
                [] => "waits for others".to_owned(),
                to => format!("you can move it to: {}", to.join(", ")),
            };
            text.push_str(&format!("{title}\n- {}/{} is {}: {next}", it.lifecycle, it.id, it.state));
            if whole {
                text.push_str(&format!("\n  {}", Json::Object(it.fields.clone())));
            }
            if !it.left_out.is_empty() {
                text.push_str(&format!(
                    "\n  call `show` for {}: too long to list here",
                    it.left_out.join(", ")
                ));
            }
        }
    };
    group("Yours", &work.yours, false);
    group("For you to decide", &work.decisions, true);
    group("Open to you", &work.open, false);
    for it in &work.claimable {
        text.push_str(&format!("\nclaim {} would give you {} ({})", it.lifecycle, it.id, it.event));
    }
    if work.yours.is_empty() && work.claimable.is_empty() && work.decisions.is_empty() && work.open.is_empty()
    {
        text.push_str(
            " You have nothing to do now. Call `wait` with a lifecycle to wait for something to claim.",
        );
    }
    if work.more {
        text.push_str("\nThere is more: ask for one lifecycle, or use list.");
    }
    text
}
