//! What people should look at, and looking at everything now.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use trackside_engine::event::{Entry, Event};
use trackside_protocol::{Page, Problem};
use trackside_runtime::read::{MOST, entry_json};

use super::{Paging, Parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Sight;
use crate::problem::Refused;

/// Alerts, the oldest first.
#[utoipa::path(
    get, path = "/v1/alerts", tag = "notices", operation_id = "alerts", params(Paging),
    responses((status = 200, body = Page<Value>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn alerts(
    State(app): State<App>,
    caller: Caller,
    Parameters(page): Parameters<Paging>,
) -> Result<Json<Page<Value>>, Refused> {
    noticed(&app, &caller, "ALERT_RAISED", &page).await
}

/// What somebody was told, the oldest first.
#[utoipa::path(
    get, path = "/v1/notifications", tag = "notices", operation_id = "notifications", params(Paging),
    responses((status = 200, body = Page<Value>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn notifications(
    State(app): State<App>,
    caller: Caller,
    Parameters(page): Parameters<Paging>,
) -> Result<Json<Page<Value>>, Refused> {
    noticed(&app, &caller, "NOTIFIED", &page).await
}

async fn noticed(
    app: &App,
    caller: &Caller,
    kind: &'static str,
    page: &Paging,
) -> Result<Json<Page<Value>>, Refused> {
    let (limit, after) = (super::limit(page.limit)?, page.after()?);
    let sight = Sight::of(app, caller);
    let page = app.read(move |reads| {
        let found = reads.noticed(&[kind], after, limit)?;
        let mut items = Vec::new();
        for record in &found.records {
            let entry = record.entry()?;
            if sight.sees(reads, &entry)? {
                items.push(notice(&entry));
            }
        }
        Ok(Page { items, next_cursor: found.next_cursor.map(|it| it.to_string()) })
    });
    Ok(Json(page.await?))
}

/// One of them, as people read it.
pub(crate) fn notice(entry: &Entry) -> Value {
    let mut told = json!({
        "id": entry.entity.id, "lifecycle": entry.entity.lifecycle, "seq": entry.seq, "since": entry.at.to_string(),
        "alertId": entry.seq.to_string(),
    });
    let more = match &entry.event {
        Event::AlertRaised { kind, severity, message } => json!({
            "kind": kind, "severity": severity.as_str(), "message": message, "acknowledgedBy": null,
        }),
        Event::Notified { audience, to, message } => {
            json!({ "audience": audience, "to": to, "message": message })
        }
        _ => json!({}),
    };
    if let (Value::Object(told), Value::Object(more)) = (&mut told, more) {
        told.extend(more);
    }
    told
}

/// Invariants that were found broken, the oldest first; those that hold again say so.
#[utoipa::path(
    get, path = "/v1/violations", tag = "notices", operation_id = "violations", params(Paging),
    responses((status = 200, body = Page<Value>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn violations(
    State(app): State<App>,
    caller: Caller,
    Parameters(page): Parameters<Paging>,
) -> Result<Json<Page<Value>>, Refused> {
    let (limit, after) = (super::limit(page.limit)?, page.after()?);
    let sight = Sight::of(&app, &caller);
    let page = app.read(move |reads| {
        let (found, next) = reads.violations(after, limit.min(MOST))?;
        let mut items = Vec::new();
        for it in &found {
            let entry = it.record.entry()?;
            if !sight.sees(reads, &entry)? {
                continue;
            }
            let told = entry_json(&it.record)?;
            let part = |name: &str| told.pointer(&format!("/metadata/{name}")).cloned().unwrap_or_default();
            items.push(json!({
                "seq": entry.seq, "since": entry.at.to_string(), "rule": it.rule, "severity": part("severity"),
                "message": part("message"), "evidence": part("evidence"),
                "lifecycle": it.entity.lifecycle, "id": it.entity.id,
                "entities": [it.entity.to_string()], "cleared": it.cleared_by.is_some(), "clearedBy": it.cleared_by,
            }));
        }
        Ok(Page { items, next_cursor: next.map(|it| it.to_string()) })
    });
    Ok(Json(page.await?))
}

/// Looks at every entity now, and repairs what its definition says how to.
#[utoipa::path(
    post, path = "/v1/sweep", tag = "notices", operation_id = "sweep",
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn sweep(State(app): State<App>, caller: Caller) -> Result<Json<Value>, Refused> {
    caller.must_be_admin("run the sweep")?;
    let report = app.gateway.sweep()?.await?;
    Ok(Json(json!({
        "lookedAt": report.looked_at, "found": report.found, "cleared": report.cleared, "repaired": report.repaired,
    })))
}
