//! Notifications, violations and the sweep.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use trackside_engine::event::{Entry, Event};
use trackside_lifecycle::name::Name;
use trackside_protocol::{JournalRange, NotificationBody, Page, Problem, SweepBody, ViolationBody};
use trackside_runtime::Depth;
use trackside_runtime::read::Violation;
use utoipa::IntoParams;

use super::{Cursors, Parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Visibility;
use crate::problem::Refused;

/// Most notifications or violations that are read for one page.
const LOOKED: usize = 5_000;

/// Parameters of the list of notifications.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoticesQuery {
    /// Only notifications to this audience.
    audience: Option<String>,
    /// Only notifications to this actor; `me` is the caller, or the id it acts for.
    to: Option<String>,
    /// Page size: 50 by default, 200 at most.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    cursor: Option<String>,
}

/// Lists notifications, the oldest first.
#[utoipa::path(
    get, path = "/v1/notifications", tag = "notices", operation_id = "notifications", params(NoticesQuery),
    responses((status = 200, body = Page<NotificationBody>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn notifications(
    State(app): State<App>,
    caller: Caller,
    Parameters(which): Parameters<NoticesQuery>,
) -> Result<Json<Page<NotificationBody>>, Refused> {
    let (most, cursors) = (super::page_size(which.limit)?, Cursors::of(&["notifications"]));
    let mut after = cursors.after(which.cursor.as_deref())?;
    let own = caller.on_behalf_of.as_ref().unwrap_or(&caller.actor().id).clone();
    let to = which.to.map(|it| if it == "me" { own } else { Name::new(&it) });
    let visibility = Visibility::of(&app, &caller);
    let page = app.read(move |reads| {
        let (mut items, mut looked) = (Vec::new(), 0);
        loop {
            let found = reads.notifications(after, most - items.len())?;
            for record in &found.records {
                let entry = record.entry()?;
                let Some(notification) = notification_body(&entry) else { continue };
                let wanted = which.audience.as_ref().is_none_or(|it| *notification.audience == **it)
                    && to.as_ref().is_none_or(|it| notification.to.contains(it));
                if wanted && visibility.sees(reads, &entry)? {
                    items.push(notification);
                }
            }
            looked += found.records.len();
            let Some(next) = found.next_cursor else { return Ok(Page { items, next_cursor: None }) };
            // If few match, the page is short and the cursor continues after it.
            if items.len() >= most || looked >= LOOKED {
                return Ok(Page { items, next_cursor: Some(cursors.give(next)) });
            }
            after = next;
        }
    });
    Ok(Json(page.await?))
}

/// The body of a notification; none for other entries.
pub(crate) fn notification_body(entry: &Entry) -> Option<NotificationBody> {
    let Event::Notified { audience, to, message } = &entry.event else { return None };
    Some(NotificationBody {
        seq: entry.seq,
        since: entry.at.to_string(),
        lifecycle: entry.entity.lifecycle.clone(),
        id: entry.entity.id.clone(),
        audience: audience.clone(),
        to: to.to_vec(),
        message: message.to_string(),
    })
}

/// Parameters of the list of violations.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ViolationsQuery {
    /// Include violations of invariants that hold again.
    #[serde(default)]
    all: bool,
    /// Page size: 50 by default, 200 at most.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    cursor: Option<String>,
}

/// Lists invariants that are violated now, the oldest first; with `all`, also those that hold again.
#[utoipa::path(
    get, path = "/v1/violations", tag = "notices", operation_id = "violations", params(ViolationsQuery),
    responses((status = 200, body = Page<ViolationBody>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn violations(
    State(app): State<App>,
    caller: Caller,
    Parameters(which): Parameters<ViolationsQuery>,
) -> Result<Json<Page<ViolationBody>>, Refused> {
    let (most, cursors) = (super::page_size(which.limit)?, Cursors::of(&["violations"]));
    let mut after = cursors.after(which.cursor.as_deref())?;
    let visibility = Visibility::of(&app, &caller);
    let page = app.read(move |reads| {
        let (mut items, mut looked) = (Vec::new(), 0);
        loop {
            let (found, next) = reads.violations(after, most - items.len())?;
            for it in found.iter().filter(|it| which.all || it.cleared_by.is_none()) {
                let entry = it.record.entry()?;
                if visibility.sees(reads, &entry)? {
                    items.extend(violation_body(it, &entry));
                }
            }
            looked += found.len();
            let Some(next) = next else { return Ok(Page { items, next_cursor: None }) };
            // If few match, the page is short and the cursor continues after it.
            if items.len() >= most || looked >= LOOKED {
                return Ok(Page { items, next_cursor: Some(cursors.give(next)) });
            }
            after = next;
        }
    });
    Ok(Json(page.await?))
}

/// The body of a violation; none for other entries.
fn violation_body(it: &Violation, entry: &Entry) -> Option<ViolationBody> {
    let Event::ViolationFound { severity, message, evidence, .. } = &entry.event else { return None };
    Some(ViolationBody {
        seq: entry.seq,
        since: entry.at.to_string(),
        rule: it.rule.clone(),
        severity: severity.as_str(),
        message: message.to_string(),
        evidence: evidence.iter().collect(),
        lifecycle: it.entity.lifecycle.clone(),
        id: it.entity.id.clone(),
        entities: vec![it.entity.to_string()],
        cleared: it.cleared_by.is_some(),
        cleared_by: it.cleared_by,
    })
}

/// Parameters of a sweep.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct SweepQuery {
    /// Also read the whole journal, for entities without a stored row.
    #[serde(default)]
    deep: bool,
}

/// Checks every entity now and applies the repairs that its definition declares. Compares every stored row with the
/// journal and rebuilds those that differ.
#[utoipa::path(
    post, path = "/v1/sweep", tag = "notices", operation_id = "sweep", params(SweepQuery, super::KeyHeader),
    responses((status = 200, body = SweepBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn sweep(
    State(app): State<App>,
    caller: Caller,
    Parameters(how): Parameters<SweepQuery>,
) -> Result<Json<SweepBody>, Refused> {
    caller.must_be_admin("run the sweep")?;
    let depth = if how.deep { Depth::Journal } else { Depth::Entities };
    let after = app.reads.seq();
    let report = app.gateway.sweep_to(depth)?.await?;
    Ok(Json(SweepBody {
        looked_at: report.looked_at,
        found: report.found,
        cleared: report.cleared,
        repaired: report.repaired,
        compared: report.compared,
        mended: report.mended,
        unchecked: report.unchecked,
        forged: report.forged,
        journal: JournalRange { after, upto: app.reads.seq() },
    }))
}
