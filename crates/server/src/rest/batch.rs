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
use trackside_runtime::{BatchAnswer, BatchVerdict, CommandAnswer};

use super::body::fields;
use super::claims::LeaseRenewal;
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
    let mut commands = Vec::new();
    for (place, it) in body.commands.into_iter().enumerate() {
        let read = one(&app, &caller, &headers, place, it).await;
        commands.push(read.map(|it| it.under(&headers, place)));
    }
    if how.dry_run {
        return tried(&app, commands, body.atomic).await;
    }
    if body.atomic {
        let commands = commands.into_iter().collect::<Result<Vec<BatchItem>, _>>()?;
        return all_or_none(&app, commands).await;
    }
    // Submitted together, so that they are decided in order: all that are well formed, or none.
    let (mut valid, mut places) = (Vec::new(), Vec::new());
    for command in commands {
        places.push(command.map(|BatchItem { command, outcome }| {
            valid.push(command);
            outcome
        }));
    }
    let mut handed_in = hand_in_all(&app, valid)?.into_iter();
    let mut results = Vec::new();
    for (place, command) in places.into_iter().enumerate() {
        // A large batch gives way to other requests.
        if place % PAUSE == PAUSE - 1 {
            tokio::task::yield_now().await;
        }
        let done = match command.map(|outcome| handed_in.next().map(|it| (outcome, it))) {
            Ok(Some((outcome, (pending, noting)))) => {
                let answer = pending.await;
                noting.end();
                match answer {
                    Ok(answer) => outcome.of(&app, answer).await,
                    Err(failure) => Err(failure.into()),
                }
            }
            Ok(None) => Err(Refused::broken("a command of a batch was not submitted")),
            Err(refused) => Err(refused),
        };
        results.push(match done {
            Ok(done) => done,
            // The key belongs to another request: no command ran.
            Err(refused) if refused.0.has_code(Code::IdempotencyConflict) => return Err(refused),
            Err(refused) => BatchResult::Refused(refused.0),
        });
    }
    Ok(Json(BatchReply { results }).into_response())
}

async fn all_or_none(app: &App, commands: Vec<BatchItem>) -> Result<Response, Refused> {
    let (commands, outcomes): (Vec<Command>, Vec<OutcomeOf>) =
        commands.into_iter().map(|it| (it.command, it.outcome)).unzip();
    let (pending, noting) = hand_in_batch(app, commands)?;
    let outcome = pending.await;
    noting.into_iter().for_each(CommandSpan::end);
    let results: Vec<BatchResult> = match outcome? {
        BatchAnswer::Done(answers) => {
            let mut results = Vec::new();
            for (answer, outcome) in answers.into_iter().zip(outcomes) {
                let done = outcome.of(app, answer).await;
                results.push(done.unwrap_or_else(|refused| BatchResult::Refused(refused.0)));
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
    commands: Vec<Result<BatchItem, Refused>>,
    atomic: bool,
) -> Result<Response, Refused> {
    let mut well_formed = Vec::new();
    let mut places = Vec::new();
    for command in commands {
        let tried = command.and_then(|it| match it.outcome {
            OutcomeOf::Move(caller) => Ok((it.command, caller)),
            OutcomeOf::Heartbeat(..) => Err(Refused::shape("A heartbeat cannot be tried: leave it out")),
        });
        match tried {
            Ok((command, caller)) => {
                well_formed.push(command);
                places.push(Ok(caller));
            }
            // A whole batch is not begun with a malformed command.
            Err(refused) if atomic => return Err(refused),
            Err(refused) => places.push(Err(refused)),
        }
    }
    let mut decisions = app.gateway.dry_run_batch(well_formed)?.await?.into_iter();
    let mut results = Vec::new();
    for place in places {
        let outcome = match place {
            Err(refused) => Err(refused),
            Ok(caller) => match decisions.next() {
                Some(decision) => tried_outcome(app, &caller, decision).await,
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
        BatchResult::Done { .. } | BatchResult::Renewed { .. } => not_done(),
        refused @ BatchResult::Refused(_) => refused,
    }
}

/// A command of a batch, and how its answer becomes a result.
struct BatchItem {
    command: Command,
    outcome: OutcomeOf,
}

impl BatchItem {
    /// The same command under the key of the whole batch.
    fn under(self, headers: &CommandHeaders, place: usize) -> Self {
        Self { command: under(headers.used.as_ref(), Some(place), self.command), ..self }
    }
}

/// How the answer to a command becomes a result, for this caller.
enum OutcomeOf {
    Move(Caller),
    Heartbeat(Caller, LeaseRenewal),
}

impl OutcomeOf {
    async fn of(self, app: &App, answer: CommandAnswer) -> Result<BatchResult, Refused> {
        match self {
            Self::Move(caller) => Ok(succeeded(to_outcome(app, &caller, answer).await?)),
            Self::Heartbeat(caller, beat) => {
                let reply = Box::new(beat.reply(app, &caller, answer).await?);
                Ok(BatchResult::Renewed { status: 200, reply })
            }
        }
    }
}

async fn one(
    app: &App,
    caller: &Caller,
    headers: &CommandHeaders,
    place: usize,
    it: BatchCommand,
) -> Result<BatchItem, Refused> {
    let caller = match it.r#for.as_deref() {
        Some(id) => caller.acting_for(app, id)?,
        None => caller.clone(),
    };
    let moves = it.to.is_some() || it.event.is_some();
    let id = match &it.id {
        Some(id) => Name::new(id),
        None if moves || it.heartbeat.is_some() => {
            return Err(Refused::shape("A command for an existing entity needs its `id`"));
        }
        None => made_up(&caller, headers, &it.lifecycle, Some(place))?,
    };
    let entity = EntityKey { lifecycle: Name::new(&it.lifecycle), id };
    if let Some(beat) = it.heartbeat {
        if moves || !it.fields.is_empty() || it.fence.is_some() || it.reason.is_some() {
            let detail = "A heartbeat has only `slot` and `fence`, inside `heartbeat`: send the rest as another command";
            return Err(Refused::shape(detail));
        }
        let beat = LeaseRenewal::of(app, &caller, entity, beat).await?;
        let command = command(&caller, headers, beat.ask(), None);
        return Ok(BatchItem { command, outcome: OutcomeOf::Heartbeat(caller, beat) });
    }
    let fields = fields(&it.fields);
    let ask = match moves {
        true => {
            let what = what(it.to.as_deref(), it.event.as_deref())?;
            Ask::Fire(Fire { entity, what, fields, fence: it.fence, if_version: None })
        }
        false => Ask::Create { entity, fields },
    };
    let command = command(&caller, headers, ask, it.reason.as_deref());
    Ok(BatchItem { command, outcome: OutcomeOf::Move(caller) })
}
