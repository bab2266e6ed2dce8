//! Alerts: which are open, and people who see them and see to them.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use trackside_engine::command::{Ask, Attention};
use trackside_engine::event::{Entry, Event};
use trackside_protocol::{AlertTold, Attend, Attended, Page, Problem};
use trackside_runtime::read::{Alert, MOST};
use trackside_runtime::{Answer, ReadError};
use utoipa::IntoParams;

use super::carry::{command, submit};
use super::{Body, Cursors, KeyUse, Parameters, Wanted, under};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Sight;
use crate::problem::Refused;

/// The longest note, in characters.
const LONGEST: usize = 2_000;

/// Most open alerts that are looked at for one that is named by what it is about.
const LOOKED: usize = 10_000;

/// Which alerts.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// Those that were resolved, too.
    #[serde(default)]
    all: bool,
    /// How many: 50 if nothing is said; of more than 200, 200.
    #[param(minimum = 1)]
    limit: Option<usize>,
    /// The `nextCursor` of the page before.
    cursor: Option<String>,
}

/// Alerts that nobody has resolved, the oldest first; with `all=true` every one.
#[utoipa::path(
    get, path = "/v1/alerts", tag = "notices", operation_id = "alerts", params(Which),
    responses((status = 200, body = Page<AlertTold>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Parameters(which): Parameters<Which>,
) -> Result<Json<Page<AlertTold>>, Refused> {
    let (limit, cursors) = (super::limit(which.limit)?, Cursors::of(&["alerts"]));
    let after = cursors.after(which.cursor.as_deref())?;
    let sight = Sight::of(&app, &caller);
    let page = app.read(move |reads| {
        let (found, next) = reads.alerts(after, limit, which.all)?;
        let mut items = Vec::new();
        for alert in &found {
            if sight.sees(reads, &alert.raised)? {
                items.push(told(alert));
            }
        }
        Ok(Page { items, next_cursor: next.map(|it| cursors.give(it)) })
    });
    Ok(Json(page.await?))
}

/// Says that an alert is seen. For people; whoever says so first is kept.
#[utoipa::path(
    post, path = "/v1/alerts/{id}/acknowledge", tag = "notices", operation_id = "acknowledgeAlert",
    params(("id" = String, Path, description = "Its `alertId`, or the id of the entity it is about: then the oldest that is open."), super::Keyed), request_body = Option<Attend>,
    responses((status = 200, body = Attended), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn acknowledge(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    wanted: Wanted,
    Body(body): Body<Attend>,
) -> Result<Json<Attended>, Refused> {
    attend(&app, &caller, &id, &wanted, &body, Attention::Acknowledge).await
}

/// Says that an alert is seen to: it leaves the list, and the same arising again is a new one. For people.
#[utoipa::path(
    post, path = "/v1/alerts/{id}/resolve", tag = "notices", operation_id = "resolveAlert",
    params(("id" = String, Path, description = "Its `alertId`, or the id of the entity it is about: then the oldest that is open."), super::Keyed), request_body = Option<Attend>,
    responses((status = 200, body = Attended), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn resolve(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    wanted: Wanted,
    Body(body): Body<Attend>,
) -> Result<Json<Attended>, Refused> {
    attend(&app, &caller, &id, &wanted, &body, Attention::Resolve).await
}

async fn attend(
    app: &App,
    caller: &Caller,
    id: &str,
    wanted: &Wanted,
    body: &Attend,
    how: Attention,
) -> Result<Json<Attended>, Refused> {
    if body.note.as_ref().is_some_and(|it| it.chars().count() > LONGEST) {
        return Err(Refused::shape(format!("note has more than {LONGEST} characters")));
    }
    let used = KeyUse::of(caller, wanted, &format!("/v1/alerts/{id}/{}", how.as_str()), body);
    let note = body.note.as_deref().map(str::trim).filter(|it| !it.is_empty());
    let (mut number, entity) = {
        let alert = meant(app, caller, id, how).await?;
        (alert.raised.seq, alert.raised.entity)
    };
    let ask = Ask::Attend { entity, alert: number, how };
    // Which alert is meant is looked up, and may be another one the next time.
    let command = under(used.as_ref(), None, command(caller, wanted, ask, note));
    let answer = submit(app, command).await?;
    let (changed, replayed) = match answer {
        Answer::Accepted(accepted) => (!accepted.entries.is_empty(), false),
        Answer::Replayed { first, root, .. } => {
            number =
                app.read(move |reads| reads.entry(first + u64::from(root))).await?.map_or(number, |it| {
                    match it.event {
                        Event::AlertAcknowledged { alert } | Event::AlertResolved { alert } => alert,
                        _ => number,
                    }
                });
            (true, true)
        }
        // Whoever comes second is told who was first.
        Answer::Refused(refusal) if refusal.code == "alert-resolved" && how == Attention::Resolve => {
            (false, false)
        }
        Answer::Refused(refusal) => {
            let mut refused = Refused::from(&*refusal);
            if refusal.code == "alert-resolved" {
                refused.0.detail = too_late(&find(app, caller, &number.to_string()).await?);
                let problem = &mut *refused.0;
                problem.errors.iter_mut().for_each(|it| it.message.clone_from(&problem.detail));
            }
            return Err(refused);
        }
    };
    let alert = find(app, caller, &number.to_string()).await?;
    Ok(Json(Attended { success: true, alert: told(&alert), changed, replayed }))
}

/// What is said where somebody acknowledges what is resolved.
fn too_late(alert: &Alert) -> String {
    let by = match &alert.resolved {
        Some(entry) => format!("{} resolved alert {} at {}", entry.actor, alert.raised.seq, entry.at),
        None => format!("Alert {} is resolved", alert.raised.seq),
    };
    format!("{by}: there is nothing left to acknowledge")
}

/// The alert that is meant: by its number, or by the id of what it is about, then the oldest to which
/// this would be news.
async fn meant(app: &App, caller: &Caller, id: &str, how: Attention) -> Result<Alert, Refused> {
    let unknown = match find(app, caller, id).await {
        Ok(alert) => return Ok(alert),
        Err(refused) if refused.0.code == "unknown-alert" => refused,
        Err(refused) => return Err(refused),
    };
    let (sight, id) = (Sight::of(app, caller), id.to_owned());
    let found = app.read(move |reads| {
        let mut last = None;
        // Where none is open, what was resolved last: somebody may ask again.
        for all in [false, true] {
            let (mut after, mut looked) = (0, 0);
            loop {
                let (alerts, next) = reads.alerts(after, MOST, all)?;
                looked += alerts.len();
                for alert in alerts.into_iter().filter(|it| *it.raised.entity.id == *id) {
                    let news = alert.is_open && (how == Attention::Resolve || alert.acknowledged.is_none());
                    if sight.sees(reads, &alert.raised)? {
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

/// The alert of this number, if the caller may see what it is about.
async fn find(app: &App, caller: &Caller, id: &str) -> Result<Alert, Refused> {
    let unknown = || {
        let detail = format!("There is no alert {id}. `GET /v1/alerts` lists those that are open");
        Refused::unknown("unknown-alert", detail)
    };
    let number: u64 = id.parse().ok().filter(|it| *it <= i64::MAX as u64).ok_or_else(unknown)?;
    let sight = Sight::of(app, caller);
    let found = app.read(move |reads| match reads.alert(number) {
        Ok(alert) => Ok(sight.sees(reads, &alert.raised)?.then_some(alert)),
        Err(ReadError::UnknownEntry(_)) => Ok(None),
        Err(error) => Err(error),
    });
    found.await?.ok_or_else(unknown)
}

fn told(alert: &Alert) -> AlertTold {
    let Alert { raised, is_open, acknowledged, resolved } = alert;
    let (kind, severity, message) = match &raised.event {
        Event::AlertRaised { kind, severity, message } => {
            (kind.to_string(), severity.as_str().to_owned(), message.to_string())
        }
        _ => Default::default(),
    };
    let by = |it: &Option<Entry>| it.as_ref().map(|it| it.actor.to_string());
    let at = |it: &Option<Entry>| it.as_ref().map(|it| it.at.to_string());
    let note = |it: &Option<Entry>| it.as_ref().and_then(|it| it.reason.as_ref()).map(|it| it.to_string());
    AlertTold {
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
