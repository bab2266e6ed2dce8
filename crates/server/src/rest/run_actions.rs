//! The events that follow the steps of a run, on the entity that it works on.

use axum::Json;
use axum::extract::{Path, State};
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Fire, TransitionRef};
use trackside_engine::decide::FLEET;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::present::PresentedEntity;
use trackside_engine::work::NextEvent;
use trackside_lifecycle::model::{WorkStep, run_members};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::{ApplyStep, Problem, StepApplied};

use super::commands::{submit, to_outcome};
use super::runs::visible_run;
use super::work::{no_work, role_name};
use super::{Body, CommandHeaders, command, entity_bodies, journalled, under};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// The role of programs that start agents.
pub(super) const RUNNER_ROLE: &str = "fleet:agent_runner";

/// Fires the event that the work of a run's role declares for a step, on the entity of the run and for its agent.
#[utoipa::path(
    post, path = "/v1/runs/{id}/apply", tag = "runs", operation_id = "applyStep",
    params(("id" = String, Path), super::KeyHeader),
    request_body = ApplyStep,
    responses((status = 200, body = StepApplied), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn apply(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: CommandHeaders,
    Body(body): Body<ApplyStep>,
) -> Result<Json<StepApplied>, Refused> {
    let step = step(&body.action)?;
    let (key, reader) =
        (EntityKey::new(format!("{FLEET}.run").as_str(), id.as_str()), caller.actor().clone());
    let (looking, named) = (caller.clone(), id.clone());
    let found = app.read(move |reads| {
        visible_run(reads, &looking, &named)?;
        reads.present(&key, &reader)
    });
    let run = found.await?;
    let caller = for_agent(&app, &caller, &run)?;
    let text = |name: &str| run.entity.fields.text(name).unwrap_or_default().to_owned();
    let (worked_on, role) = (text("entity"), role_name(&text("role")));
    let Some(entity) = EntityKey::parse(&worked_on) else {
        let why = format!("Run {id} works on no entity");
        return Ok(Json(nothing(why, None)));
    };
    let values = run_values(&run, &body)?;
    let replays = match &headers.used {
        Some(used) => journalled(&app, used).await?.is_some(),
        None => false,
    };
    let (asked, actor) = (entity.clone(), caller.actor().clone());
    let next = app.read(move |reads| reads.next_event(&asked, &role, &actor, step, values)).await?;
    let (event, fields, reason) = match (next, replays) {
        (Ok((_, NextEvent::Fire { event, fields, reason })), _) => (event, fields, reason),
        // The engine answers with the first outcome.
        (_, true) => (Name::new(step.as_str()), Fields::default(), None),
        (Ok((found, NextEvent::Nothing(why))), false) => {
            let actor = caller.actor().clone();
            let shown = app.read(move |reads| entity_bodies(reads, &[found], &actor)).await?.pop();
            return Ok(Json(nothing(why, shown)));
        }
        (Err(error), false) => return Err(no_work(&error)),
    };
    let fire =
        Fire { entity, what: TransitionRef::Event(event), fields, fence: body.fence, if_version: None };
    let command = command(&caller, &CommandHeaders::default(), Ask::Fire(fire), reason.as_deref());
    let command = under(headers.used.as_ref(), None, command);
    let moved = to_outcome(&app, &caller, submit(&app, command).await?).await?.moved;
    Ok(Json(StepApplied {
        applied: true,
        why: None,
        entity: moved.entity,
        transition: Some(moved.transition),
        replayed: moved.replayed,
    }))
}

fn step(action: &str) -> Result<WorkStep, Refused> {
    WorkStep::parse(action).ok_or_else(|| {
        let known = WorkStep::ALL.map(WorkStep::as_str).join(", ");
        Refused::parameter("action", format!("`{action}` is no step of a run: send one of {known}"))
    })
}

fn nothing(why: String, entity: Option<trackside_protocol::EntityBody>) -> StepApplied {
    StepApplied { applied: false, why: Some(why), entity, transition: None, replayed: false }
}

/// The caller on behalf of the agent of the run. Only the runner of the run may apply its steps.
fn for_agent(app: &App, caller: &Caller, run: &PresentedEntity) -> Result<Caller, Refused> {
    let text = |name: &str| Name::new(run.entity.fields.text(name).unwrap_or_default());
    let (runner, agent, identity) = (text("runner"), text("agent"), &caller.identity);
    if !is_runner(&identity.actor, &runner) && !identity.is_admin() {
        let detail = format!("Only {runner}, the runner of this run, applies its steps");
        return Err(Refused::forbidden(detail, "the runner of the run"));
    }
    if !app.access.may_act_for(identity, &agent)? && !identity.is_admin() {
        let detail = format!("This token may not act for {agent}, the agent of the run");
        return Err(Refused::forbidden(detail, "a token made with --for"));
    }
    Ok(Caller::new(identity.clone(), Some(agent)))
}

/// Whether an actor has the token of a runner, which needs the role for it. One token can serve several runners,
/// `ACTOR.NAME`.
pub(super) fn is_runner(actor: &Actor, runner: &str) -> bool {
    let is_its_id =
        runner.strip_prefix(actor.id.as_str()).is_some_and(|it| it.is_empty() || it.starts_with('.'));
    is_its_id && actor.has_role(RUNNER_ROLE)
}

/// The fields of the run, overridden by the values of the request.
fn run_values(run: &PresentedEntity, body: &ApplyStep) -> Result<Fields, Refused> {
    let mut values: Fields =
        run.fields().into_iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    values.put(&Name::new("id"), Value::from(&run.entity.key.id));
    let members = run_members();
    for (name, value) in &body.values {
        let Some((_, ty)) = members.iter().find(|(it, _)| it == name) else {
            let known: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
            let detail = format!("`{name}` is no value of a run; known are {}", known.join(", "));
            return Err(Refused::parameter(name, detail));
        };
        let value = Value::from_json(value);
        if !trackside_lifecycle::guard::Type::of(&value).fits(ty) {
            return Err(Refused::parameter(name, format!("`{name}` must be {ty}")));
        }
        values.put(&Name::new(name), value);
    }
    Ok(values)
}
