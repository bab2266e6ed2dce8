//! Transcripts of runs: append, read, search and follow.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde::Deserialize;
use tokio::sync::mpsc;
use trackside_engine::decide::FLEET;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::value::Value;
use trackside_protocol::{
    AppendLines, LinesAppended, Page, Problem, ProblemCode, RunLine, RunSummary, UnmetBody,
};
use trackside_runtime::Failure;
use utoipa::IntoParams;

use super::run_actions::is_runner;
use super::runs::{RUNNER, visible_run, visible_run_body};
use super::{Large, Parameters};
use crate::app::App;
use crate::auth::{Caller, TokenLiveness};
use crate::events::StreamSlot;
use crate::problem::Refused;
use crate::transcripts::{AppendError, LinesFound, TranscriptLimits};

/// The role of programs that start agents.
pub(super) const RUNNER_ROLE: &str = "fleet:agent_runner";
/// Most lines of one request.
const MOST_LINES: usize = 10_000;
/// Lines that a stream reads at a time.
const PIECE: usize = 500;
/// How long a stream waits for news before it looks at the run again.
const LOOK: Duration = Duration::from_secs(1);
/// Looks at an ended run before a stream stops waiting for its last lines.
const LAST_LOOKS: u32 = 5;
/// The interval of keep-alive comments.
const BREATH: Duration = Duration::from_secs(15);

/// Appends lines to the transcript of a run. Only its runner may. Numbers continue without a gap; lines that are there
/// already are ignored. Keys of well-known forms are replaced.
#[utoipa::path(
    post, path = "/v1/runs/{id}/transcript", tag = "runs", operation_id = "appendTranscript",
    params(("id" = String, Path)),
    request_body = AppendLines,
    responses((status = 200, body = LinesAppended), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn append(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Large(body): Large<AppendLines>,
) -> Result<Json<LinesAppended>, Refused> {
    if body.lines.len() > MOST_LINES {
        return Err(Refused::shape(format!("One request has at most {MOST_LINES} lines")));
    }
    app.gateway.check_space()?;
    let next = app.blocking(move |app| {
        let run = visible_run(&app.reads, &caller, &id)?;
        let own = &caller.identity.actor;
        if !run.fields.text("runner").is_some_and(|it| is_runner(&own.id, it)) || !own.has_role(RUNNER_ROLE) {
            let runner = run.fields.text("runner").unwrap_or_default();
            let detail = format!("Only its runner {runner} appends to the transcript of run {id}");
            return Err(Refused::forbidden(detail, "the runner of the run"));
        }
        let runner = run.fields.text("runner").unwrap_or_default();
        let host = app.reads.entity(&EntityKey::new(RUNNER, runner))?;
        let present = host.and_then(|it| it.fields.get("generation").and_then(Value::as_int));
        let sent = body.generation.and_then(|it| i64::try_from(it).ok());
        if sent.is_some() && sent != present {
            let detail = format!("Runner {runner} has registered again since: this process has to end");
            return Err(Refused::forbidden(detail, "the present registration of the runner"));
        }
        app.transcripts.append(&id, &body.lines, limits(app)).map_err(refused)
    });
    Ok(Json(LinesAppended { next: next.await? }))
}

/// The limits that the settings of the pack give.
pub(crate) fn limits(app: &App) -> TranscriptLimits {
    let bytes = |name: &str| {
        app.setting(FLEET, name).as_int().and_then(|it| u64::try_from(it).ok()).unwrap_or(u64::MAX)
    };
    TranscriptLimits { run: bytes("transcriptBytes"), all: bytes("transcriptsBytes") }
}

fn refused(error: AppendError) -> Refused {
    let detail = error.to_string();
    match error {
        AppendError::Gap { next, .. } => {
            let mut refused = Refused::new(ProblemCode::TranscriptGap, detail.clone());
            refused.0.errors = vec![UnmetBody {
                field: Some("lines".to_owned()),
                message: detail,
                code: ProblemCode::TranscriptGap.as_str().to_owned(),
                rule: None,
                saw: [("next".to_owned(), next.into())].into(),
            }];
            refused
        }
        AppendError::LongLine { .. } | AppendError::RunFull(_) | AppendError::AllFull(_) => {
            Refused::new(ProblemCode::TooLarge, detail)
        }
        AppendError::Io(error) => unavailable(&error),
    }
}

fn unavailable(error: &std::io::Error) -> Refused {
    let why = format!("a transcript cannot be read or written: {error}");
    match error.kind() {
        std::io::ErrorKind::StorageFull => Failure::NoSpace(why).into(),
        _ => Failure::Unavailable(why).into(),
    }
}

/// Parameters of a transcript.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct TranscriptQuery {
    /// Only lines after this number. `Last-Event-ID` takes precedence.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// Page size: 50 by default, 200 at most.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// Only lines that contain this text, in any letter case.
    q: Option<String>,
}

/// Lists the lines of a transcript. `nextCursor` is the number to send as `after`. With `Accept: text/event-stream`, it
/// streams lines as they come: `id` is the number of the line, and the event `end` follows the last one.
#[utoipa::path(
    get, path = "/v1/runs/{id}/transcript", tag = "runs", operation_id = "readTranscript",
    params(("id" = String, Path), TranscriptQuery),
    responses((status = 200, body = Page<RunLine>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn read(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Parameters(which): Parameters<TranscriptQuery>,
) -> Result<Response, Refused> {
    let limit = super::page_size(which.limit)?;
    let after = super::number("after", which.after)?.unwrap_or(0);
    let accepts = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or_default();
    if accepts.split(',').any(|it| it.trim().starts_with("text/event-stream")) {
        let last = headers.get("last-event-id").and_then(|it| it.to_str().ok()?.trim().parse().ok());
        let (looking, run) = (caller.clone(), id.clone());
        // Refuses now: a client would reconnect to a stream that ends.
        app.read(move |reads| visible_run(reads, &looking, &run).map(drop)).await?;
        let slot = StreamSlot::take(&app, &caller)?;
        let following =
            Following { app, caller, id, after: last.unwrap_or(after), search: which.q, looks: LAST_LOOKS };
        let (sender, lines) = mpsc::channel(64);
        tokio::spawn(async move {
            following.run(sender).await;
            drop(slot);
        });
        let stream = Sse::new(Frames(lines));
        return Ok(stream.keep_alive(KeepAlive::new().interval(BREATH).text("still here")).into_response());
    }
    let found = app.blocking(move |app| {
        visible_run(&app.reads, &caller, &id)?;
        app.transcripts.read(&id, after, limit, which.q.as_deref()).map_err(|it| unavailable(&it))
    });
    let LinesFound { lines, next, .. } = found.await?;
    Ok(Json(Page { items: lines, next_cursor: next.map(|it| it.to_string()) }).into_response())
}

/// One open stream.
struct Following {
    app: App,
    caller: Caller,
    id: String,
    after: u64,
    search: Option<String>,
    looks: u32,
}

impl Following {
    /// Sends lines until the run has ended, the client is gone, or it may not see them any more.
    async fn run(mut self, sender: mpsc::Sender<Frame>) {
        let (mut stopping, mut appended) = (self.app.stopping.subscribe(), self.app.transcripts.appended());
        let mut liveness = TokenLiveness::of(&self.caller);
        loop {
            appended.mark_unchanged();
            let (caller, id, after, search) =
                (self.caller.clone(), self.id.clone(), self.after, self.search.clone());
            let found = self.app.blocking(move |app| {
                // The state first, so that no line is missed before the end.
                let run = visible_run_body(&app.reads, &caller, &id)?;
                let found = app.transcripts.read(&id, after, PIECE, search.as_deref());
                Ok((run, found.map_err(|it| unavailable(&it))?))
            });
            let Ok((run, found)) = found.await else { return };
            if !liveness.is_good(&self.app, &[]).unwrap_or(false) {
                return;
            }
            for line in &found.lines {
                let text = serde_json::to_string(line).unwrap_or_default();
                if sender.send(Frame::default().id(line.number.to_string()).data(text)).await.is_err() {
                    return;
                }
            }
            self.after = found.reached;
            if found.next.is_some() {
                continue;
            }
            if run.ended {
                let all_here = u64::try_from(run.lines).is_ok_and(|it| found.reached >= it);
                if all_here || self.looks == 0 {
                    let text = serde_json::to_string(&RunSummary::from(run)).unwrap_or_default();
                    sender.send(Frame::default().event("end").data(text)).await.ok();
                    return;
                }
                self.looks -= 1;
            }
            tokio::select! {
                _ = appended.changed() => {}
                () = tokio::time::sleep(LOOK) => {}
                () = sender.closed() => return,
                _ = stopping.wait_for(|it| *it) => return,
            }
        }
    }
}

struct Frames(mpsc::Receiver<Frame>);

impl Stream for Frames {
    type Item = Result<Frame, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|it| it.map(Ok))
    }
}
