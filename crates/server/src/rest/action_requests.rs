//! Requests for the approval of an action, by the rules that the policy of the pack names.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use trackside_engine::command::{Ask, Fire, TransitionRef};
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::policy::{ActionRequest, PolicyOutcome, request};
use trackside_lifecycle::model::{Pack, PolicyRequest};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::{ActionAnswer, ActionApproval, Evaluate, Problem, ProblemCode, RequestAction};
use trackside_runtime::CommandAnswer;
use trackside_runtime::read::NamedAnswer;

use super::commands::{command, submit};
use super::policy::{best_judgement, cannot_evaluate, find_policy};
use super::{Body, CommandHeaders, entity_bodies, open_requests};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Most entities of the caller whose requests are searched.
const MOST_WORK: usize = 20;

/// Asks whether an action may be done now, and requests its approval if it needs one. The same action with the same
/// arguments finds the request it made before: an approval is used, a denial and an open request are returned.
#[utoipa::path(
    post, path = "/v1/policy/request", tag = "approvals", operation_id = "requestAction", params(super::KeyHeader), request_body = RequestAction,
    responses((status = 200, body = ActionAnswer), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn request_action(
    State(app): State<App>,
    caller: Caller,
    Body(body): Body<RequestAction>,
) -> Result<Json<ActionAnswer>, Refused> {
    let (pack, policy) = find_policy(&app, body.pack.as_deref())?;
    let RequestAction { action, arguments, role, pack: named, entity } = body;
    let asked = Evaluate { action, arguments, role, pack: named };
    let (_, judged) = best_judgement(&app, &caller, &pack, &policy, &asked)?;
    let sent = Value::from_json(&asked.arguments);
    let project = app.reads.project();
    let (declared, made) = match judged.outcome {
        PolicyOutcome::Approve => {
            let made = request(&policy, &project, &asked.action, &sent, &judged);
            (policy.request.as_ref(), made.map_err(|it| cannot_evaluate(&pack, &it))?)
        }
        PolicyOutcome::Allow | PolicyOutcome::Deny => (None, None),
    };
    let (Some(declared), Some(made)) = (declared, made) else {
        let outcome = judged.outcome.as_str().to_owned();
        return Ok(Json(ActionAnswer { outcome, why: judged.why, approval: None }));
    };
    let asking = Asking { app, caller, pack, declared: declared.clone(), action: asked.action, made };
    let work = asking.work(entity.as_deref()).await?;
    let Some(first) = work.first().cloned() else {
        let why = format!(
            "{}. No request was filed: {} has no entity in the query {}",
            judged.why,
            asking.caller.subject(),
            asking.declared.work
        );
        let outcome = PolicyOutcome::Approve.as_str().to_owned();
        return Ok(Json(ActionAnswer { outcome, why, approval: None }));
    };
    for entity in work {
        if let Some(answer) = asking.earlier(&entity, &judged.why).await? {
            return Ok(Json(answer));
        }
    }
    let fire = asking.declared.fire.clone();
    if let CommandAnswer::Refused(refusal) = asking.fire(&first, &fire).await? {
        return Err((&*refusal).into());
    }
    let answer = asking.earlier(&first, &judged.why).await?;
    answer.map(Json).ok_or_else(|| {
        let Asking { pack, declared, .. } = &asking;
        let detail = format!(
            "{fire} filed no request that the query {} of {} lists. Correct `policy.request` of the pack",
            declared.approvals, pack.name
        );
        Refused::new(ProblemCode::PolicyFailed, detail)
    })
}

/// One call of an action that needs an approval.
struct Asking {
    app: App,
    caller: Caller,
    pack: Arc<Pack>,
    declared: PolicyRequest,
    action: String,
    made: ActionRequest,
}

impl Asking {
    /// The caller's entities that the request can be about, the best first; the named one if one is named.
    async fn work(&self, named: Option<&str>) -> Result<Vec<Arc<Entity>>, Refused> {
        let mut work = self.rows(&self.declared.work, &[]).await?;
        if let Some(named) = named {
            work.retain(|it| *it.key.id == *named);
            if work.is_empty() {
                let (agent, query) = (self.caller.subject(), &self.declared.work);
                return Err(Refused::shape(format!("The query {query} of {agent} does not list {named}")));
            }
        }
        work.truncate(MOST_WORK);
        Ok(work)
    }

    /// The rows of a query of the pack. It gets those of the values that it takes.
    async fn rows(&self, query: &Name, more: &[(&str, Value)]) -> Result<Vec<Arc<Entity>>, Refused> {
        let agent = ("agent", Value::from(self.caller.subject()));
        let declared = self.pack.queries.iter().find(|it| it.name == *query);
        let takes = |name: &str| declared.is_some_and(|it| it.takes.iter().any(|(it, _)| *it == *name));
        let asked: Fields =
            std::iter::once(&agent).chain(more).filter(|(name, _)| takes(name)).cloned().collect();
        let (pack, query, actor) = (self.pack.name.clone(), query.clone(), self.caller.actor().clone());
        let answer = self.app.read(move |reads| reads.run_query(&pack, &query, &asked, &actor)).await?;
        match answer {
            NamedAnswer::Entities(found) => Ok(found),
            NamedAnswer::Values(_) | NamedAnswer::History(_) => {
                Err(Refused::broken("a query of a policy's request has no rows"))
            }
        }
    }

    /// The answer of the newest request for this action about the entity; none if a new request is needed.
    async fn earlier(&self, entity: &Entity, why: &str) -> Result<Option<ActionAnswer>, Refused> {
        let more = [
            ("entity", Value::from(&entity.key.id)),
            ("action", Value::text(&self.action)),
            ("arguments", self.made.arguments.clone()),
        ];
        let Some(approval) = self.rows(&self.declared.approvals, &more).await?.into_iter().next() else {
            return Ok(None);
        };
        let law = self.app.runtime.law();
        let life = law.definition(&approval.key.lifecycle, approval.definition).cloned();
        let state = life.as_ref().and_then(|it| it.states.iter().find(|it| it.name == approval.state));
        let is_final = state.is_some_and(|it| it.last);
        let outcome = match state.and_then(|it| it.outcome.as_ref()).filter(|_| is_final) {
            Some(outcome) if *outcome == *"success" => match self.use_up(entity).await? {
                true => PolicyOutcome::Allow,
                false => return Ok(None),
            },
            Some(outcome) if *outcome == *"failure" => PolicyOutcome::Deny,
            _ if is_final => return Ok(None),
            _ => PolicyOutcome::Approve,
        };
        let (key, actor) = (approval.key.clone(), self.caller.actor().clone());
        let note = life.as_ref().and_then(|it| it.face.as_ref()?.note.clone());
        let why = why.to_owned();
        let found = approval.clone();
        let why = self.app.read(move |reads| {
            Ok(match outcome {
                PolicyOutcome::Allow => format!("{key} is {}", found.state),
                PolicyOutcome::Approve => {
                    let open = open_requests::request(reads, &law, &key, &actor)?;
                    format!("{why}. {}", open.in_words)
                }
                PolicyOutcome::Deny => {
                    let by = reads.arrival(&key)?.map(|it| it.entry);
                    let by = by.map(|it| it.on_behalf_of.unwrap_or(it.actor));
                    let shown = entity_bodies(reads, std::slice::from_ref(&found), &actor)?.pop();
                    let words = note.and_then(|it| Some(shown?.fields.get(&it)?.as_str()?.to_owned()));
                    let by = by.map(|it| format!(", by {it}")).unwrap_or_default();
                    let words = words.map(|it| format!(": {it}")).unwrap_or_default();
                    format!("{key} is {}{by}{words}", found.state)
                }
            })
        });
        let approval = ActionApproval {
            lifecycle: approval.key.lifecycle.to_string(),
            id: approval.key.id.to_string(),
            state: approval.state.to_string(),
            about: entity.key.to_string(),
        };
        Ok(Some(ActionAnswer {
            outcome: outcome.as_str().to_owned(),
            why: why.await?,
            approval: Some(approval),
        }))
    }

    /// Uses an approval; false if the rules of the pack refuse that, because it was used before.
    async fn use_up(&self, entity: &Entity) -> Result<bool, Refused> {
        Ok(match self.fire(entity, &self.declared.use_up).await? {
            CommandAnswer::Accepted(_) => true,
            CommandAnswer::Refused(_) | CommandAnswer::Replayed { .. } => false,
        })
    }

    /// Fires a transition as the caller, with those of the fields that it takes.
    async fn fire(&self, entity: &Entity, event: &Name) -> Result<CommandAnswer, Refused> {
        let law = self.app.runtime.law();
        let life = law.definition(&entity.key.lifecycle, entity.definition);
        let arms = life.and_then(|it| it.transition(event)).map(|it| it.arms.as_slice()).unwrap_or_default();
        let takes = |name: &Name| arms.iter().any(|arm| arm.takes.iter().any(|it| it.name == *name));
        let mut fields = Fields::default();
        for (name, value) in self.made.fields.iter().filter(|(name, _)| takes(name)) {
            fields.put(name, value.clone());
        }
        let entity: EntityKey = entity.key.clone();
        let what = TransitionRef::Event(event.clone());
        let fire = Fire { entity, what, fields, fence: None, if_version: None };
        let command = command(&self.caller, &CommandHeaders::default(), Ask::Fire(fire), None);
        submit(&self.app, command).await
    }
}
