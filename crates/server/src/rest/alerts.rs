//! Alerts: list, acknowledge and resolve.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use trackside_engine::command::{AlertAction, Ask};
use trackside_engine::event::{Entry, Event};
use trackside_engine::refusal::Code;
use trackside_protocol::{AlertBody, AlertNote, AlertReply, Page, Problem, ProblemCode};
use trackside_runtime::read::{Alert, MOST};
use trackside_runtime::{CommandAnswer, ReadError};
use utoipa::IntoParams;

use super::commands::{command, submit};
use super::{Body, CommandHeaders, Cursors, Parameters, under};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Visibility;
use crate::problem::Refused;

/// The longest note, in characters.
const LONGEST: usize = 2_000;

/// Most open alerts that are searched for one that is named by its entity.
const LOOKED: usize = 10_000;

/// Parameters of the list of alerts.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct AlertsQuery {
    /// Include resolved alerts.
    #[serde(default)]
    all: bool,
    /// Page size: 50 by default, 200 at most.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    cursor: Option<String>,
}

/// Lists open alerts, the oldest first; with `all=true` also resolved ones.
#[utoipa::path(
    get, path = "/v1/alerts", tag = "notices", operation_id = "alerts", params(AlertsQuery),
    responses((status = 200, body = Page<AlertBody>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Parameters(which): Parameters<AlertsQuery>,
) -> Result<Json<Page<AlertBody>>, Refused> {
    let (limit, cursors) = (super::limit(which.limit)?, Cursors::of(&["alerts"]));
    let after = cursors.after(which.cursor.as_deref())?;
    let visibility = Visibility::of(&app, &caller);
    let page = app.read(move |reads| {
        let (found, next) = reads.alerts(after, limit, which.all)?;
        let mut items = Vec::new();
        for alert in &found {
            if visibility.sees(reads, &alert.raised)? {
                items.push(alert_body(alert));
            }
        }
        Ok(Page { items, next_cursor: next.map(|it| cursors.give(it)) })
    });
    Ok(Json(page.await?))
}

/// Acknowledges an alert. For people; the first acknowledgement is kept.
#[utoipa::path(
    post, path = "/v1/alerts/{id}/acknowledge", tag = "notices", operation_id = "acknowledgeAlert",
    params(("id" = String, Path, description = "Its `alertId`, or the id of its entity for the oldest open alert."), super::KeyHeader), request_body = Option<AlertNote>,
    responses((status = 200, body = AlertReply), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn acknowledge(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: CommandHeaders,
    Body(body): Body<AlertNote>,
) -> Result<Json<AlertReply>, Refused> {
    handle_alert(&app, &caller, &id, &headers, &body, AlertAction::Acknowledge).await
}

/// Resolves an alert: it leaves the list, and the same condition raises a new one. For people.
#[utoipa::path(
    post, path = "/v1/alerts/{id}/resolve", tag = "notices", operation_id = "resolveAlert",
    params(("id" = String, Path, description = "Its `alertId`, or the id of its entity for the oldest open alert."), super::KeyHeader), request_body = Option<AlertNote>,
    responses((status = 200, body = AlertReply), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn resolve(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: CommandHeaders,
    Body(body): Body<AlertNote>,
) -> Result<Json<AlertReply>, Refused> {
    handle_alert(&app, &caller, &id, &headers, &body, AlertAction::Resolve).await
}

pub(super) async fn handle_alert(
    app: &App,
    caller: &Caller,
    id: &str,
    headers: &CommandHeaders,
    body: &AlertNote,
    action: AlertAction,
) -> Result<Json<AlertReply>, Refused> {
    if body.note.as_ref().is_some_and(|it| it.chars().count() > LONGEST) {
        return Err(Refused::shape(format!("note has more than {LONGEST} characters")));
    }
    let note = body.note.as_deref().map(str::trim).filter(|it| !it.is_empty());
    let (mut number, entity) = {
        let alert = find_alert(app, caller, id, action).await?;
        (alert.raised.seq, alert.raised.entity)
    };
    let ask = Ask::HandleAlert { entity, alert: number, action };
    // The alert is looked up, and may be another one the next time.
    let command = under(headers.used.as_ref(), None, command(caller, headers, ask, note));
    let answer = submit(app, command).await?;
    let (changed, replayed) = match answer {
        CommandAnswer::Accepted(accepted) => (!accepted.entries.is_empty(), false),
        CommandAnswer::Replayed { first, root, .. } => {
            number =
                app.read(move |reads| reads.entry(first + u64::from(root))).await?.map_or(number, |it| {
                    match it.event {
                        Event::AlertAcknowledged { alert } | Event::AlertResolved { alert } => alert,
                        _ => number,
                    }
                });
            (true, true)
        }
        // The second caller gets the first resolution.
        CommandAnswer::Refused(refusal)
            if refusal.code == Code::AlertResolved && action == AlertAction::Resolve =>
        {
            (false, false)
        }
        CommandAnswer::Refused(refusal) => {
            let mut refused = Refused::from(&*refusal);
            if refusal.code == Code::AlertResolved {
                refused.0.detail = too_late(&find(app, caller, &number.to_string()).await?);
                let problem = &mut *refused.0;
                problem.errors.iter_mut().for_each(|it| it.message.clone_from(&problem.detail));
            }
            return Err(refused);
        }
    };
    let alert = find(app, caller, &number.to_string()).await?;
    Ok(Json(AlertReply { success: true, alert: alert_body(&alert), changed, replayed }))
}

/// The detail when a resolved alert is acknowledged.
fn too_late(alert: &Alert) -> String {
    let by = match &alert.resolved {
        Some(entry) => format!("{} resolved alert {} at {}", entry.actor, alert.raised.seq, entry.at),
        None => format!("Alert {} is resolved", alert.raised.seq),
    };
    format!("{by}: it cannot be acknowledged any more")
}

/// Finds an alert by its number, or by the id of its entity: then the oldest one that this would change.
async fn find_alert(app: &App, caller: &Caller, id: &str, action: AlertAction) -> Result<Alert, Refused> {
    let unknown = match find(app, caller, id).await {
        Ok(alert) => return Ok(alert),
        Err(refused) if refused.0.has_code(ProblemCode::UnknownAlert) => refused,
        Err(refused) => return Err(refused),
    };
    let (visibility, id) = (Visibility::of(app, caller), id.to_owned());
    let found = app.read(move |reads| {
        let mut last = None;
        // If none is open, the one resolved last, so that a repeated request finds it.
        for all in [false, true] {
            let (mut after, mut looked) = (0, 0);
            loop {
                let (alerts, next) = reads.alerts(after, MOST, all)?;
                looked += alerts.len();
                for alert in alerts.into_iter().filter(|it| *it.raised.entity.id == *id) {
                    let news =
                        alert.is_open && (action == AlertAction::Resolve || alert.acknowledged.is_none());
                    if visibility.sees(reads, &alert.raised)? {
                        if news {
                            return Ok(Some(alert));
                        }
                        last = Some(alert);
                    }
                }
                match next {
                    Some(next) if looked < LOOKED => after = next,
                    _ => break,
                }
            }
            if last.is_some() {
                break;
            }
        }
        Ok(last)
    });
    found.await?.ok_or(unknown)
}

/// The alert with this number, if the caller may see its entity.
async fn find(app: &App, caller: &Caller, id: &str) -> Result<Alert, Refused> {
    let unknown = || {
        let detail = format!("There is no alert {id}. `GET /v1/alerts` lists open alerts");
        Refused::new(ProblemCode::UnknownAlert, detail)
    };
    let number: u64 = id.parse().ok().filter(|it| *it <= i64::MAX as u64).ok_or_else(unknown)?;
    let visibility = Visibility::of(app, caller);
    let found = app.read(move |reads| match reads.alert(number) {
        Ok(alert) => Ok(visibility.sees(reads, &alert.raised)?.then_some(alert)),
        Err(ReadError::UnknownEntry(_)) => Ok(None),
        Err(error) => Err(error),
    });
    found.await?.ok_or_else(unknown)
}

fn alert_body(alert: &Alert) -> AlertBody {
    let Alert { raised, is_open, acknowledged, resolved } = alert;
    let (kind, severity, message) = match &raised.event {
        Event::AlertRaised { kind, severity, message, .. } => {
            (kind.to_string(), severity.as_str().to_owned(), message.to_string())
        }
        _ => Default::default(),
    };
    let by = |it: &Option<Entry>| it.as_ref().map(|it| it.actor.to_string());
    let at = |it: &Option<Entry>| it.as_ref().map(|it| it.at.to_string());
    let note = |it: &Option<Entry>| it.as_ref().and_then(|it| it.reason.as_ref()).map(|it| it.to_string());
    AlertBody {
        alert_id: raised.seq.to_string(),
        kind,
        severity,
        lifecycle: raised.entity.lifecycle.to_string(),
        id: raised.entity.id.to_string(),
        message,
        seq: raised.seq,
        since: raised.at.to_string(),
        acknowledged_by: by(acknowledged),
        acknowledged_at: at(acknowledged),
        acknowledged_note: note(acknowledged),
        resolved: !is_open,
        resolved_by: by(resolved),
        resolved_at: at(resolved),
        resolved_note: note(resolved),
    }
}
