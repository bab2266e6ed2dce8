//! Batches: several commands in one request.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use trackside_engine::command::{Ask, Command, Fire};
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Code;
use trackside_lifecycle::name::Name;
use trackside_protocol::{
    BatchBody, BatchCommand, BatchRefusal, BatchReply, BatchResult, Problem, ProblemCode,
};
use trackside_runtime::{BatchAnswer, BatchVerdict};

use super::body::fields;
use super::commands::{CommandSpan, Done, command, hand_in_all, hand_in_batch, to_outcome, tried_outcome};
use super::entities::made_up;
use super::transitions::what;
use super::{Body, CommandHeaders, DryRun, Parameters, under};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Commands of a batch whose answers are written before other requests get a turn.
const PAUSE: usize = 16;

/// Runs several commands in order. Each has its own outcome unless `atomic` is true. With `dryRun`,
/// each is decided on top of those before it, and nothing changes.
#[utoipa::path(
    post, path = "/v1/batch", tag = "entities", operation_id = "batch",
    params(super::DryRun, super::KeyHeader),
    request_body = BatchBody,
    responses((status = 200, body = BatchReply), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn batch(
    State(app): State<App>,
    caller: Caller,
    headers: CommandHeaders,
    Parameters(how): Parameters<DryRun>,
    Body(body): Body<BatchBody>,
) -> Result<Response, Refused> {
    let most = app.limits().batch;
    if body.commands.len() > most {
        return Err(Refused::shape(format!("A batch has at most {most} commands")));
    }
    // One key covers the whole body.
    let commands =
        body.commands.iter().enumerate().map(|(place, it)| {
            Ok(under(headers.used.as_ref(), Some(place), one(&caller, &headers, place, it)?))
        });
    if how.dry_run {
        return tried(&app, &caller, commands.collect(), body.atomic).await;
    }
    if body.atomic {
        let commands = commands.collect::<Result<Vec<Command>, _>>()?;
        return all_or_none(&app, &caller, commands).await;
    }
    // Submitted together, so that they are decided in order: all that are well formed, or none.
    let (mut valid, mut places) = (Vec::new(), Vec::new());
    for command in commands {
        places.push(command.map(|it| valid.push(it)));
    }
    let mut handed_in = hand_in_all(&app, valid)?.into_iter();
    let mut results = Vec::new();
    for (place, command) in places.into_iter().enumerate() {
        // A large batch gives way to other requests.
        if place % PAUSE == PAUSE - 1 {
            tokio::task::yield_now().await;
        }
        let done = match command.map(|()| handed_in.next()) {
            Ok(Some((pending, noting))) => {
                let answer = pending.await;
                noting.end();
                match answer {
                    Ok(answer) => to_outcome(&app, &caller, answer).await,
                    Err(failure) => Err(failure.into()),
                }
            }
            Ok(None) => Err(Refused::broken("a command of a batch was not submitted")),
            Err(refused) => Err(refused),
        };
        results.push(match done {
            Ok(done) => succeeded(done),
            // The key belongs to another request: no command ran.
            Err(refused) if refused.0.has_code(Code::IdempotencyConflict) => return Err(refused),
            Err(refused) => BatchResult::Refused(refused.0),
        });
    }
    Ok(Json(BatchReply { results }).into_response())
}

async fn all_or_none(app: &App, caller: &Caller, commands: Vec<Command>) -> Result<Response, Refused> {
    let (pending, noting) = hand_in_batch(app, commands)?;
    let outcome = pending.await;
    noting.into_iter().for_each(CommandSpan::end);
    let results: Vec<BatchResult> = match outcome? {
        BatchAnswer::Done(answers) => {
            let mut results = Vec::new();
            for answer in answers {
                results.push(match to_outcome(app, caller, answer).await {
                    Ok(done) => succeeded(done),
                    Err(refused) => BatchResult::Refused(refused.0),
                });
            }
            return Ok(Json(BatchReply { results }).into_response());
        }
        BatchAnswer::Refused(verdicts) => {
            let conflict = verdicts.iter().find_map(|it| match it {
                BatchVerdict::Refused(refusal) if refusal.code == Code::IdempotencyConflict => Some(refusal),
                _ => None,
            });
            if let Some(refusal) = conflict {
                return Err((&**refusal).into());
            }
            verdicts.iter().map(verdict).collect()
        }
    };
    none_done(results)
}

/// The answer to an atomic batch with a refused command.
fn none_done(results: Vec<BatchResult>) -> Result<Response, Refused> {
    let detail = "One of the commands was refused, so none took effect";
    let refused = BatchRefusal { problem: Problem::new(ProblemCode::BatchRefused, detail), results };
    let kind = [(axum::http::header::CONTENT_TYPE, "application/problem+json")];
    let body = serde_json::to_vec(&refused).map_err(Refused::broken)?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, kind, body).into_response())
}

/// Decides the commands in order, each on top of those before it that would be accepted, and changes nothing.
async fn tried(
    app: &App,
    caller: &Caller,
    commands: Vec<Result<Command, Refused>>,
    atomic: bool,
) -> Result<Response, Refused> {
    let mut well_formed = Vec::new();
    let mut malformed = Vec::new();
    for command in commands {
        match command {
            Ok(command) => {
                well_formed.push(command);
                malformed.push(None);
            }
            // A whole batch is not begun with a malformed command.
            Err(refused) if atomic => return Err(refused),
            Err(refused) => malformed.push(Some(refused)),
        }
    }
    let mut decisions = app.gateway.dry_run_batch(well_formed)?.await?.into_iter();
    let mut results = Vec::new();
    for malformed in malformed {
        let outcome = match malformed {
            Some(refused) => Err(refused),
            None => match decisions.next() {
                Some(decision) => tried_outcome(app, caller, decision).await,
                None => Err(Refused::broken("a command of a batch was not decided")),
            },
        };
        results.push(match outcome {
            Ok(done) => succeeded(done),
            Err(refused) if refused.0.has_code(Code::IdempotencyConflict) => return Err(refused),
            Err(refused) => BatchResult::Refused(refused.0),
        });
    }
    match atomic && results.iter().any(|it| matches!(it, BatchResult::Refused(_))) {
        true => none_done(results.into_iter().map(as_not_done).collect()),
        false => Ok(Json(BatchReply { results }).into_response()),
    }
}

fn succeeded(done: Done) -> BatchResult {
    BatchResult::Done { status: if done.created { 201 } else { 200 }, moved: Box::new(done.moved) }
}

fn verdict(verdict: &BatchVerdict) -> BatchResult {
    match verdict {
        BatchVerdict::Refused(refusal) => BatchResult::Refused(Box::new((&**refusal).into())),
        BatchVerdict::Passed => not_done(),
    }
}

fn not_done() -> BatchResult {
    let detail = "It would have been accepted, but another command was refused";
    BatchResult::Refused(Box::new(Problem::new(ProblemCode::NotDone, detail)))
}

/// The same result in a batch that is not done.
fn as_not_done(result: BatchResult) -> BatchResult {
    match result {
        BatchResult::Done { .. } => not_done(),
        refused @ BatchResult::Refused(_) => refused,
    }
}

fn one(
    caller: &Caller,
    headers: &CommandHeaders,
    place: usize,
    it: &BatchCommand,
) -> Result<Command, Refused> {
    let moves = it.to.is_some() || it.event.is_some();
    let id = match &it.id {
        Some(id) => Name::new(id),
        None if moves => return Err(Refused::shape("A command that moves an entity needs its `id`")),
        None => made_up(caller, headers, &it.lifecycle, Some(place))?,
    };
    let entity = EntityKey { lifecycle: Name::new(&it.lifecycle), id };
    let fields = fields(&it.fields);
    let ask = match moves {
        true => {
            let what = what(it.to.as_deref(), it.event.as_deref())?;
            Ask::Fire(Fire { entity, what, fields, fence: it.fence, if_version: None })
        }
        false => Ask::Create { entity, fields },
    };
    Ok(command(caller, headers, ask, it.reason.as_deref()))
}
