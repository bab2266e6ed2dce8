//! Runs of agents: list, show, stop, steer, and the decision after their end. Their rules are the pack `fleet`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use trackside_engine::Law;
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Fire, TransitionRef};
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::supervise::{Act, Ended, Verdict};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;
use trackside_protocol::{
    AccountHold, FieldMap, Moved, OpenRunsBody, Page, Problem, ProblemCode, RunAct, RunBody, RunVerdictBody,
    SteerRun, StopRun, VerdictEvent,
};
use trackside_runtime::read::{ListQuery, MOST};
use trackside_runtime::{ReadError, Reads};
use utoipa::IntoParams;

use super::commands::{carry_out_or_try, command};
use super::run_actions::is_runner;
use super::{Body, CommandHeaders, Cursors, Parameters, Required};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// The lifecycle of runs.
pub(crate) const RUN: &str = "fleet.run";
/// The lifecycle of accounts at model providers.
const ACCOUNT: &str = "fleet.account";
/// The lifecycle of runners.
pub(super) const RUNNER: &str = "fleet.runner";
/// Most pages that are read for one page of visible runs.
const PAGES: usize = 20;
/// Most runs of one entity that are shown with it.
const RUNS_OF_ENTITY: usize = 1_000;

/// Parameters of a list of runs.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunsQuery {
    /// Only of this entity, as `LIFECYCLE/ID`.
    entity: Option<String>,
    /// Only of this agent.
    agent: Option<String>,
    /// Only of this runner.
    runner: Option<String>,
    /// Only in this state; separate several with commas. `open`: all that have not ended.
    state: Option<String>,
    /// Page size: 50 by default, 200 at most.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    cursor: Option<String>,
}

/// Lists runs of agents, in the order of their ids: those for entities that you may see, and your own.
#[utoipa::path(
    get, path = "/v1/runs", tag = "runs", operation_id = "listRuns", params(RunsQuery),
    responses((status = 200, body = Page<RunBody>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Parameters(which): Parameters<RunsQuery>,
) -> Result<Json<Page<RunBody>>, Refused> {
    let limit = super::page_size(which.limit)?;
    let cursors = Cursors::of(&["runs"]);
    let after = cursors.place(which.cursor.as_deref())?;
    let page = app.read(move |reads| {
        let mut query = runs_query(reads, &which)?;
        query.cursor = after;
        let mut items = Vec::new();
        for _ in 0..PAGES {
            query.limit = limit - items.len();
            let listed = match reads.list(&query) {
                // Nothing was found so far: the refusal names the cursor to continue from.
                Err(ReadError::TooExpensive { looked, hint, reached }) if items.is_empty() => {
                    let reached = reached.map(|it| cursors.give(it));
                    return Ok(Err(ReadError::TooExpensive { looked, hint, reached }));
                }
                Err(ReadError::TooExpensive { reached, .. }) => {
                    query.cursor = reached;
                    break;
                }
                listed => listed?,
            };
            for run in listed.items {
                if sees_run(reads, &caller, &run)? {
                    items.push(run_body(reads, &reads.law(), &run));
                }
            }
            query.cursor = listed.next_cursor;
            if query.cursor.is_none() || items.len() >= limit {
                break;
            }
        }
        Ok(Ok(Page { items, next_cursor: query.cursor.map(|it| cursors.give(it)) }))
    });
    Ok(Json(page.await??))
}

/// The runs that match, visible or not.
fn runs_query(reads: &Reads, which: &RunsQuery) -> Result<ListQuery, ReadError> {
    let lifecycle = Name::new(RUN);
    let mut query = ListQuery::of(lifecycle.clone(), Actor::engine());
    let wanted = [("entity", &which.entity), ("agent", &which.agent), ("runner", &which.runner)];
    let quoted = |it: &str| serde_json::to_string(it).unwrap_or_default();
    let terms = wanted.iter().filter_map(|(name, it)| Some(format!("{name} == {}", quoted(it.as_ref()?))));
    let terms: Vec<String> = terms.collect();
    if !terms.is_empty() {
        query.filter = Some(reads.condition(&lifecycle, &terms.join(" && "))?);
    }
    let states = which.state.iter().flat_map(|it| it.split(',')).map(str::trim).filter(|it| !it.is_empty());
    for state in states {
        match state {
            "open" => query.states.extend(open_states(&reads.law())),
            state => query.states.push(Name::new(state)),
        }
    }
    Ok(query)
}

/// The states of a run that has not ended.
fn open_states(law: &Law) -> Vec<Name> {
    let states = law.newest(&Name::new(RUN)).into_iter().flat_map(|it| it.states.clone());
    states.filter(|it| !it.last).map(|it| it.name).collect()
}

/// Whether an entity is in a final state.
fn has_ended(law: &Law, entity: &Entity) -> bool {
    let life = law.definition(&entity.key.lifecycle, entity.definition);
    life.and_then(|it| it.state(&entity.state)).is_some_and(|it| it.last)
}

fn run_body(reads: &Reads, law: &Law, run: &Entity) -> RunBody {
    RunBody::of(run, has_ended(law, run), reads.now())
}

/// The entity that a run works on.
pub(super) fn entity_of_run(run: &Entity) -> Option<EntityKey> {
    let (lifecycle, id) = run.fields.text("entity")?.split_once('/')?;
    Some(EntityKey::new(lifecycle, id))
}

/// Whether the caller may see a run: its runner, its agent, and everybody who may see its entity.
fn sees_run(reads: &Reads, caller: &Caller, run: &Entity) -> Result<bool, ReadError> {
    let is = |name: &str, id: &Name| run.fields.text(name) == Some(id.as_str());
    let own = &caller.identity.actor.id;
    let is_own_runner = run.fields.text("runner").is_some_and(|it| is_runner(&caller.identity.actor, it));
    if is_own_runner || is("agent", own) || caller.on_behalf_of.as_ref().is_some_and(|it| is("agent", it)) {
        return Ok(true);
    }
    let entity = match entity_of_run(run) {
        Some(entity) => reads.entity(&entity)?.map(|it| it.key.clone()),
        None => None,
    };
    // Without an entity, the rule of the run itself applies.
    match reads.readable(entity.as_ref().unwrap_or(&run.key), caller.actor()) {
        Ok(_) => Ok(true),
        Err(ReadError::UnknownEntity(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A run that the caller may see.
pub(super) fn visible_run(reads: &Reads, caller: &Caller, id: &str) -> Result<Arc<Entity>, ReadError> {
    let key = EntityKey::new(RUN, id);
    let run = reads.entity(&key)?;
    match run {
        Some(run) if sees_run(reads, caller, &run)? => Ok(run),
        _ => Err(ReadError::UnknownEntity(key)),
    }
}

/// A run that the caller may see, and whether it has ended.
pub(super) fn visible_run_body(reads: &Reads, caller: &Caller, id: &str) -> Result<RunBody, ReadError> {
    let run = visible_run(reads, caller, id)?;
    Ok(run_body(reads, &reads.law(), &run))
}

/// Shows a run.
#[utoipa::path(
    get, path = "/v1/runs/{id}", tag = "runs", operation_id = "showRun", params(("id" = String, Path)),
    responses((status = 200, body = RunBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<RunBody>, Refused> {
    Ok(Json(app.read(move |reads| visible_run_body(reads, &caller, &id)).await?))
}

/// Asks the runner to end a run.
#[utoipa::path(
    post, path = "/v1/runs/{id}/stop", tag = "runs", operation_id = "stopRun",
    params(("id" = String, Path), super::KeyHeader),
    request_body = Option<StopRun>,
    responses((status = 200, body = Moved), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn stop(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: CommandHeaders,
    Body(body): Body<StopRun>,
) -> Result<Response, Refused> {
    let fields = body.reason.map(|it| (Name::new("stopReason"), Value::text(&it)));
    fire(&app, caller, &headers, id, "stop", fields.into_iter().collect()).await
}

/// Sends a message to a running agent.
#[utoipa::path(
    post, path = "/v1/runs/{id}/steer", tag = "runs", operation_id = "steerRun",
    params(("id" = String, Path), super::KeyHeader),
    request_body = SteerRun,
    responses((status = 200, body = Moved), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn steer(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: CommandHeaders,
    Required(body): Required<SteerRun>,
) -> Result<Response, Refused> {
    let mode = body.mode.map(|it| (Name::new("mode"), Value::text(&it)));
    let fields = std::iter::once((Name::new("text"), Value::text(&body.text))).chain(mode);
    fire(&app, caller, &headers, id, "steer", fields.collect()).await
}

/// Fires a transition of a run that the caller may see.
async fn fire(
    app: &App,
    caller: Caller,
    headers: &CommandHeaders,
    id: String,
    event: &str,
    fields: Fields,
) -> Result<Response, Refused> {
    let looking = caller.clone();
    let run = app.read(move |reads| visible_run(reads, &looking, &id)).await?;
    let what = TransitionRef::Event(Name::new(event));
    let ask = Ask::Fire(Fire {
        entity: run.key.clone(),
        what,
        fields,
        fence: None,
        if_version: headers.if_version,
    });
    let command = command(&caller, headers, ask, None);
    let done = carry_out_or_try(app, &caller, command, false).await?;
    Ok(done.into_response_with(StatusCode::OK))
}

/// Parameters of a verdict.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerdictQuery {
    /// Seconds that the supervisor has waited instead of stopping the agent.
    #[param(minimum = 0)]
    waited: Option<f64>,
    /// The exit code that counts. Default: that of the run.
    code: Option<i64>,
}

/// Shows the decision of the pack after the end of a run: stop, restart, wait, hold or give up.
#[utoipa::path(
    get, path = "/v1/runs/{id}/verdict", tag = "runs", operation_id = "runVerdict",
    params(("id" = String, Path), VerdictQuery),
    responses((status = 200, body = RunVerdictBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn verdict(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Parameters(asked): Parameters<VerdictQuery>,
) -> Result<Json<RunVerdictBody>, Refused> {
    let waited = asked.waited.unwrap_or(0.0);
    if !(0.0..1.0e12).contains(&waited) {
        return Err(Refused::parameter("waited", "waited is a number of seconds, 0 or more"));
    }
    let looking = caller.clone();
    let (run, body) = app
        .read(move |reads| {
            let run = visible_run(reads, &looking, &id)?;
            let body = run_body(reads, &reads.law(), &run);
            Ok((run, body))
        })
        .await?;
    let code = asked.code.or(body.exit_code).or(body.signal.map(|it| 128 + it));
    let code = match code {
        Some(code) => code,
        // Its runner never came back: any other exit code.
        None if body.ended => -1,
        None => {
            let detail = format!("Run {} has not ended: it is {}", body.id, body.state);
            return Err(Refused::new(ProblemCode::NotYet, detail));
        }
    };
    let role = body.role.unwrap_or_default();
    let (pack, role) = match role.split_once(':') {
        Some((pack, role)) => (pack.to_owned(), role.to_owned()),
        None => {
            let lifecycle = entity_of_run(&run).map(|it| it.lifecycle.to_string()).unwrap_or_default();
            (lifecycle.split('.').next().unwrap_or_default().to_owned(), role)
        }
    };
    let whole = |it: i64| u32::try_from(it).unwrap_or(u32::MAX);
    let ended = Ended {
        role: Name::new(&role),
        agent: Name::new(body.agent.as_deref().unwrap_or_default()),
        code,
        restarts: whole(body.restarts),
        reruns: whole(body.reruns),
        waited: Span((waited * 1_000.0) as i64),
    };
    let verdict = app.read(move |reads| {
        let supervises = reads.law().pack(&pack).is_some_and(|it| it.supervise.contains_key(&ended.role));
        match supervises {
            true => reads.after_exit(&pack, &ended),
            false => {
                let why = format!("{pack} does not say how to supervise {role}");
                Ok(Verdict { act: Act::Stop, why })
            }
        }
    });
    Ok(Json(verdict_body(verdict.await?)))
}

fn verdict_body(verdict: Verdict) -> RunVerdictBody {
    let seconds = |it: Span| Some(it.0 as f64 / 1_000.0);
    let (act, after, fire) = match verdict.act {
        Act::Stop => (RunAct::Stop, None, None),
        Act::Restart { after } => (RunAct::Restart, seconds(after), None),
        Act::Wait { after } => (RunAct::Wait, seconds(after), None),
        Act::Hold => (RunAct::Hold, None, None),
        Act::GiveUp { on, fire, fields } => {
            let fields: FieldMap = fields.iter().collect();
            (RunAct::GiveUp, None, Some(VerdictEvent { lifecycle: on, event: fire, fields }))
        }
    };
    RunVerdictBody { act, after, why: verdict.why, fire }
}

/// The runs for an entity, the oldest first. The caller may see the entity.
pub(super) fn runs_of_entity(reads: &Reads, entity: &EntityKey) -> Result<Vec<RunBody>, ReadError> {
    let which = RunsQuery { entity: Some(entity.to_string()), ..RunsQuery::default() };
    let mut query = runs_query(reads, &which)?;
    query.limit = MOST;
    let (law, mut runs) = (reads.law(), Vec::new());
    while runs.len() < RUNS_OF_ENTITY {
        let listed = reads.list(&query)?;
        runs.extend(listed.items.iter().map(|it| run_body(reads, &law, it)));
        query.cursor = listed.next_cursor;
        if query.cursor.is_none() {
            break;
        }
    }
    runs.sort_by(|one, other| (&one.created_at, &one.id).cmp(&(&other.created_at, &other.id)));
    Ok(runs)
}

/// The open runs for the entities of each lifecycle, with the resources that their runners sampled last.
pub(super) fn open_runs(reads: &Reads) -> Result<BTreeMap<String, OpenRunsBody>, ReadError> {
    let open = RunsQuery { state: Some("open".to_owned()), ..RunsQuery::default() };
    let mut query = runs_query(reads, &open)?;
    query.limit = MOST;
    let mut found: BTreeMap<String, OpenRunsBody> = BTreeMap::new();
    loop {
        let listed = reads.list(&query)?;
        for run in &listed.items {
            let Some((lifecycle, _)) = run.fields.text("entity").and_then(|it| it.split_once('/')) else {
                continue;
            };
            let sum = found.entry(lifecycle.to_owned()).or_default();
            let sampled = |name: &str| run.fields.get(name).and_then(Value::as_int).unwrap_or_default();
            sum.open += 1;
            sum.processor = sum.processor.saturating_add(sampled("processor"));
            sum.memory = sum.memory.saturating_add(sampled("memory"));
        }
        query.cursor = listed.next_cursor;
        if query.cursor.is_none() {
            return Ok(found);
        }
    }
}

/// Accounts of these runs that start no runs for now.
pub(super) fn holds_of(reads: &Reads, runs: &[RunBody]) -> Result<Vec<AccountHold>, ReadError> {
    let accounts: std::collections::BTreeSet<&str> =
        runs.iter().filter_map(|it| it.account.as_deref()).collect();
    let law = reads.law();
    let mut holds = Vec::new();
    for account in accounts {
        let Some(entity) = reads.entity(&EntityKey::new(ACCOUNT, account))? else { continue };
        let life = law.definition(&entity.key.lifecycle, entity.definition);
        if life.is_some_and(|it| it.initial != entity.state) {
            holds.push(AccountHold {
                account: account.to_owned(),
                until: entity.fields.get("heldUntil").and_then(Value::as_time).map(|it| it.to_string()),
                why: entity.fields.text("why").map(str::to_owned),
            });
        }
    }
    Ok(holds)
}

/// A run that has ended; none if it has not.
pub(crate) fn ended_run(reads: &Reads, key: &EntityKey) -> Result<Option<RunBody>, ReadError> {
    let run = reads.entity(key)?;
    Ok(run.map(|it| run_body(reads, &reads.law(), &it)).filter(|it| it.ended))
}
