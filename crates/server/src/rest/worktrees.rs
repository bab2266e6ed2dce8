//! Worktrees of entities, as runners report them. Their records are the pack `fleet`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use trackside_engine::actor::ActorKind;
use trackside_engine::command::{Fire, TransitionRef};
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::{EntityKey, id_from_text};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::{Problem, ProblemCode, ReportWorktree, ReportedBody, WorktreeBody};
use trackside_runtime::{ReadError, Reads};

use super::changes::put_record;
use super::run_actions::RUNNER_ROLE;
use super::{CommandHeaders, Required};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// The lifecycle of worktrees.
const WORKTREE: &str = "fleet.worktree";

/// Only systems, runners and people with role admin report on worktrees and changes.
pub(super) fn must_report(caller: &Caller) -> Result<(), Refused> {
    let identity = &caller.identity;
    if identity.actor.kind == ActorKind::System || identity.is_admin() || identity.actor.has_role(RUNNER_ROLE)
    {
        return Ok(());
    }
    let detail = format!(
        "Reports about worktrees are for systems, actors with the role {RUNNER_ROLE} and people with role admin"
    );
    Err(Refused::forbidden(detail, "system, agent_runner, or human and admin"))
}

/// The record of an entity's worktree.
fn record_of(entity: &EntityKey) -> EntityKey {
    EntityKey::new(WORKTREE, id_from_text(&entity.to_string(), false).as_str())
}

/// The record of an entity's worktree, if it was reported.
pub(super) fn worktree_of(reads: &Reads, entity: &EntityKey) -> Result<Option<Arc<Entity>>, ReadError> {
    let found = reads.entity(&record_of(entity))?;
    // Two long ids can become the same id of a record.
    Ok(found.filter(|it| it.fields.text("entity") == Some(entity.to_string().as_str())))
}

/// Reports the state of the worktree of an entity.
#[utoipa::path(
    post, path = "/v1/entities/{lifecycle}/{id}/worktree", tag = "worktrees", operation_id = "reportWorktree",
    params(("lifecycle" = String, Path), ("id" = String, Path), super::KeyHeader),
    request_body = ReportWorktree,
    responses((status = 200, body = ReportedBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn report(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
    headers: CommandHeaders,
    Required(body): Required<ReportWorktree>,
) -> Result<Json<ReportedBody>, Refused> {
    must_report(&caller)?;
    let (key, actor) = (EntityKey::new(lifecycle.as_str(), id.as_str()), caller.actor().clone());
    let entity = app.read(move |reads| reads.readable(&key, &actor)).await?;
    let mut fields = report_fields(&body);
    let event = event_after(&app, &entity, &body.state, &fields);
    fields.put(&Name::new("entity"), Value::text(&entity.key.to_string()));
    put_record(&app, &caller, &headers, record_of(&entity.key), "report", fields, event).await.map(Json)
}

/// The event of the entity that follows a report, if an arm of it leaves the present state. It gets the members that it
/// takes.
fn event_after(app: &App, entity: &Entity, state: &str, report: &Fields) -> Option<Fire> {
    let law = app.runtime.law();
    let life = law.definition(&entity.key.lifecycle, entity.definition)?;
    let (_, event) = life.worktree.iter().find(|(it, _)| **it == *state)?;
    let arms = life.transition(event)?.arms.iter().filter(|it| it.from.has(&entity.state));
    let takes: Vec<&Name> = arms.clone().flat_map(|it| &it.takes).map(|it| &it.name).collect();
    arms.clone().next()?;
    let fields = report.iter().filter(|(name, _)| takes.contains(name));
    Some(Fire {
        entity: entity.key.clone(),
        what: TransitionRef::Event(event.clone()),
        fields: fields.map(|(name, value)| (name.clone(), value.clone())).collect(),
        fence: None,
        if_version: None,
    })
}

/// The members of a report. Fields that the report omits stay as they are.
fn report_fields(body: &ReportWorktree) -> Fields {
    let text = |it: &Option<String>| it.as_ref().map(|it| Value::text(it));
    let count = |it: Option<u64>| it.map(|it| Value::Int(i64::try_from(it).unwrap_or(i64::MAX)));
    let texts = |it: &Option<Vec<String>>| {
        it.as_ref().map(|it| Value::list(it.iter().map(|it| Value::text(it)).collect()))
    };
    let members = [
        ("reported", Some(Value::text(&body.state))),
        ("path", text(&body.path)),
        ("branch", text(&body.branch)),
        ("base", text(&body.base)),
        ("head", text(&body.head)),
        ("unmerged", count(body.unmerged)),
        ("dirty", body.dirty.map(Value::Bool)),
        ("additions", count(body.additions)),
        ("deletions", count(body.deletions)),
        ("kind", text(&body.kind)),
        ("integration", text(&body.integration)),
        ("slot", text(&body.slot)),
        ("touched", texts(&body.touched)),
    ];
    members.into_iter().filter_map(|(name, value)| Some((Name::new(name), value?))).collect()
}

/// Shows the worktree of an entity: its branch, unmerged commits, changed lines and state.
#[utoipa::path(
    get, path = "/v1/entities/{lifecycle}/{id}/worktree", tag = "worktrees", operation_id = "worktree",
    params(("lifecycle" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = WorktreeBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
) -> Result<Json<WorktreeBody>, Refused> {
    let (key, actor) = (EntityKey::new(lifecycle.as_str(), id.as_str()), caller.actor().clone());
    let (entity, found) = app
        .read(move |reads| {
            let entity = reads.readable(&key, &actor)?.key.clone();
            let found = worktree_of(reads, &entity)?;
            Ok((entity, found))
        })
        .await?;
    let unknown = || {
        let detail = format!("No runner has reported a worktree of {entity}");
        Refused::new(ProblemCode::UnknownWorktree, detail)
    };
    let found = found.ok_or_else(unknown)?;
    Ok(Json(worktree_body(&found)))
}

pub(super) fn worktree_body(record: &Entity) -> WorktreeBody {
    let text = |name: &str| record.fields.text(name).map(str::to_owned);
    let count = |name: &str| record.fields.get(name).and_then(Value::as_int);
    WorktreeBody {
        state: record.state.to_ascii_lowercase(),
        since: record.state_entered_at.to_string(),
        runner: text("runner"),
        reported_at: record.fields.get("reportedAt").and_then(Value::as_time).map(|it| it.to_string()),
        path: text("path"),
        branch: text("branch"),
        base: text("base"),
        head: text("head"),
        unmerged: count("unmerged"),
        dirty: record.fields.get("dirty").and_then(Value::as_bool),
        additions: count("additions"),
        deletions: count("deletions"),
        kind: text("kind"),
        integration: text("integration"),
        slot: text("slot"),
        touched: record.fields.get("touched").map(texts_of).unwrap_or_default(),
    }
}

fn texts_of(value: &Value) -> Vec<String> {
    value.as_list().into_iter().flatten().filter_map(|it| it.as_str().map(str::to_owned)).collect()
}
