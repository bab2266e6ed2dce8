//! Requests for the approval of an action, by the rules that the policy of the pack names.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command, Fire, ServerAlert, TransitionRef};
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::policy::{ActionRequest, PolicyOutcome, request};
use trackside_lifecycle::model::{Pack, PolicyRequest, Severity};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::{ActionAnswer, ActionApproval, Evaluate, Problem, ProblemCode, RequestAction};
use trackside_runtime::CommandAnswer;

use super::commands::{command, submit};
use super::policy::{best_judgement, cannot_evaluate, find_policy, rows};
use super::{Body, CommandHeaders, entity_bodies, open_requests};
use crate::app::App;
use crate::auth::{Caller, TOKEN};
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
    let RequestAction { action, arguments, role, pack: named, entity, unattended } = body;
    let asked = Evaluate { action, arguments, role, pack: named, entity };
    let (pack, policy) = find_policy(&app, &caller, &asked)?;
    let (_, judged) = best_judgement(&app, &caller, &pack, &policy, &asked).await?;
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
        if judged.outcome == PolicyOutcome::Approve && unattended {
            report_unattended(&app, &caller, &asked, &judged.why).await?;
        }
        let outcome = judged.outcome.as_str().to_owned();
        return Ok(Json(ActionAnswer { outcome, why: judged.why, approval: None }));
    };
    let asking = Asking { app, caller, pack, declared: declared.clone(), action: asked.action.clone(), made };
    let work = asking.work(asked.entity.as_deref()).await?;
    let Some(first) = work.first().cloned() else {
        let mut why = format!(
            "{}. No request was filed: {} has no entity in the query {}",
            judged.why,
            asking.caller.subject(),
            asking.declared.work
        );
        if unattended {
            report_unattended(&asking.app, &asking.caller, &asked, &judged.why).await?;
            why.push_str(". An alert tells people about it: `trackside inbox`");
        }
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
    /// The caller's entities that the request can be about, the best first; the named one if one is named. An entity of
    /// another lifecycle than that of the query is what the caller works on, and names none of them.
    async fn work(&self, named: Option<&str>) -> Result<Vec<Arc<Entity>>, Refused> {
        let mut work = rows(&self.app, &self.caller, &self.pack, &self.declared.work, &[]).await?;
        let query = self.pack.queries.iter().find(|it| it.name == self.declared.work);
        let of = query.and_then(|it| it.of.as_deref());
        let id = match named.map(|it| it.split_once('/').unwrap_or((of.unwrap_or_default(), it))) {
            Some((lifecycle, id)) if Some(lifecycle) == of => Some(id),
            _ => None,
        };
        if let Some(id) = id {
            work.retain(|it| *it.key.id == *id);
            if work.is_empty() {
                let (agent, query) = (self.caller.subject(), &self.declared.work);
                return Err(Refused::shape(format!("The query {query} of {agent} does not list {id}")));
            }
        }
        work.truncate(MOST_WORK);
        Ok(work)
    }

    /// The answer of the newest request for this action about the entity; none if a new request is needed.
    async fn earlier(&self, entity: &Entity, why: &str) -> Result<Option<ActionAnswer>, Refused> {
        let more = [
            ("entity", Value::from(&entity.key.id)),
            ("action", Value::text(&self.action)),
            ("arguments", self.made.arguments.clone()),
        ];
        let Some(approval) = rows(&self.app, &self.caller, &self.pack, &self.declared.approvals, &more)
            .await?
            .into_iter()
            .next()
        else {
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

/// The kind of the alert about an action that nobody is asked about.
const UNATTENDED: &str = "unattended-action";
/// The longest part of the arguments in an alert, in characters.
const SHOWN: usize = 200;

/// Raises an alert about an action that needs an approval and for which no request can be filed, on the record of the
/// caller's token. One is open at a time for each token.
async fn report_unattended(app: &App, caller: &Caller, asked: &Evaluate, why: &str) -> Result<(), Refused> {
    let entity = EntityKey::new(TOKEN, caller.identity.token.clone());
    let arguments: String = asked.arguments.to_string().chars().take(SHOWN).collect();
    let message = format!(
        "{} was stopped at {} {arguments}: {why}. It has no work about which a request could be filed",
        caller.subject(),
        asked.action
    );
    let alert =
        ServerAlert { kind: Name::new(UNATTENDED), severity: Severity::Warning, message: Arc::from(message) };
    let command = Command::new(Actor::engine(), Ask::RaiseAlert { entity, alert });
    match submit(app, command).await? {
        CommandAnswer::Accepted(_) | CommandAnswer::Replayed { .. } => Ok(()),
        CommandAnswer::Refused(refusal) => Err((&*refusal).into()),
    }
}
