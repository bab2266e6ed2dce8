//! The work of agents: what an agent is asked to do with an entity.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use trackside_engine::Law;
use trackside_engine::actor::Actor;
use trackside_engine::key::EntityKey;
use trackside_engine::work::{WorkError, agent_fields};
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_protocol::{Problem, ProblemCode, RoleWorkBody, WorkAgentBody, WorkBody};
use utoipa::IntoParams;

use super::changes::latest_change;
use super::worktrees::{worktree_body, worktree_of};
use super::{Parameters, entity_bodies};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// The role of an agent.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkQuery {
    /// The role, as the lifecycle names it in `work`. By default the only one, or the only one that the caller has.
    role: Option<String>,
}

/// Shows what an agent is asked to do with an entity.
#[utoipa::path(
    get, path = "/v1/entities/{lifecycle}/{id}/work", tag = "entities", operation_id = "work",
    params(("lifecycle" = String, Path), ("id" = String, Path), WorkQuery),
    responses((status = 200, body = WorkBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn work(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
    Parameters(which): Parameters<WorkQuery>,
) -> Result<Json<WorkBody>, Refused> {
    let key = EntityKey::new(lifecycle.as_str(), id.as_str());
    instructions(&app, &caller, key, which.role.as_deref()).await.map(Json)
}

/// The instructions of the caller's agent.
pub(crate) async fn instructions(
    app: &App,
    caller: &Caller,
    key: EntityKey,
    role: Option<&str>,
) -> Result<WorkBody, Refused> {
    let (law, actor) = (app.runtime.law(), caller.actor().clone());
    let role = match role {
        Some(role) => role_name(role),
        None => only_role(&law, &key.lifecycle, &actor)?,
    };
    let agent = caller.subject().clone();
    let body = app.read(move |reads| {
        let (entity, instructions) = match reads.instructions(&key, &role, &actor)? {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        let work = law.definition(&key.lifecycle, entity.definition).and_then(|it| it.work.get(&role));
        let shown = entity_bodies(reads, std::slice::from_ref(&entity), &actor)?.pop();
        let mut body = work.zip(shown).map(|(work, shown)| WorkBody::new(work, agent, &instructions, shown));
        if let Some(body) = &mut body {
            let worktree = worktree_of(reads, &key)?;
            body.change = latest_change(reads, &key, worktree.as_deref())?;
            body.worktree = worktree.as_deref().map(worktree_body);
        }
        Ok(body.ok_or_else(|| WorkError::NoWork(format!("{key} is not there any more"))))
    });
    body.await?.map_err(|error| no_work(&error))
}

/// A role without the name of its pack.
pub(super) fn role_name(role: &str) -> Name {
    Name::new(role.rsplit(':').next().unwrap_or(role))
}

/// The refusal of a question about work.
pub(super) fn no_work(error: &WorkError) -> Refused {
    match error {
        WorkError::NoWork(why) => Refused::new(ProblemCode::NoWork, why.clone()),
        WorkError::Failed(why) => Refused::new(ProblemCode::WorkFailed, why.clone()),
        WorkError::Needs(needs) => Refused::broken(needs),
    }
}

fn only_role(law: &Law, lifecycle: &Name, actor: &Actor) -> Result<Name, Refused> {
    let life = super::lifecycles::newest(law, lifecycle)?;
    let has = |role: &&Name| actor.has_role(role) || actor.has_role(&format!("{}:{role}", life.pack));
    if let [own] = life.work.keys().filter(has).collect::<Vec<_>>().as_slice() {
        return Ok((*own).clone());
    }
    match life.work.keys().collect::<Vec<_>>().as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(Refused::new(ProblemCode::NoWork, format!("{lifecycle} declares no work for agents"))),
        several => {
            let names: Vec<&str> = several.iter().map(|it| it.as_str()).collect();
            Err(Refused::parameter("role", format!("Name the role: {}", names.join(", "))))
        }
    }
}

/// The work of every role on a lifecycle, with the record that the caller's agent would get.
pub(super) fn role_bodies(
    app: &App,
    caller: &Caller,
    law: &Law,
    life: &Lifecycle,
) -> Result<BTreeMap<Name, RoleWorkBody>, Refused> {
    let agent = caller.on_behalf_of.as_ref().unwrap_or(&caller.identity.actor.id);
    let project = app.reads.project();
    let body = |(role, work): (&Name, &trackside_lifecycle::model::RoleWork)| {
        let record = match (&work.agent, law.pack(&life.pack)) {
            (Some(record), Some(pack)) => {
                let fields = agent_fields(pack, &project, record, agent, role);
                let fields = fields.map_err(|it| no_work(&WorkError::Failed(it.0.join("; "))))?;
                Some(WorkAgentBody {
                    lifecycle: record.lifecycle.clone(),
                    fields: fields.iter().collect(),
                    ready: record.ready.clone(),
                    leave: record.leave.clone(),
                })
            }
            _ => None,
        };
        Ok((role.clone(), RoleWorkBody::new(life, work, record)))
    };
    life.work.iter().map(body).collect()
}
