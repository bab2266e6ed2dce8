//! What people should look at, and looking at everything now.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use trackside_engine::event::{Entry, Event};
use trackside_lifecycle::name::Name;
use trackside_protocol::{Page, Problem};
use trackside_runtime::Depth;
use trackside_runtime::read::{MOST, USUAL, entry_json};
use utoipa::IntoParams;

use super::{Cursors, KeyUse, Paging, Parameters, Wanted, answer_once};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Sight;
use crate::problem::Refused;

/// Most notifications that are looked at for one page.
const LOOKED: usize = 5_000;

/// Which notifications.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// Only what this audience of a pack was told.
    audience: Option<String>,
    /// Only what this actor was told by name; `me` is the caller, or whom it acts for.
    to: Option<String>,
    /// How many: 50 if nothing is said; of more than 200, 200.
    #[param(minimum = 1)]
    limit: Option<usize>,
    /// The `nextCursor` of the page before.
    cursor: Option<String>,
}

/// What somebody was told, the oldest first.
#[utoipa::path(
    get, path = "/v1/notifications", tag = "notices", operation_id = "notifications", params(Which),
    responses((status = 200, body = Page<Value>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn notifications(
    State(app): State<App>,
    caller: Caller,
    Parameters(which): Parameters<Which>,
) -> Result<Json<Page<Value>>, Refused> {
    let (limit, cursors) = (super::limit(which.limit)?, Cursors::of(&["notifications"]));
    let mut after = cursors.after(which.cursor.as_deref())?;
    let most = if limit == 0 { USUAL } else { limit.min(MOST) };
    let own = caller.on_behalf_of.as_ref().unwrap_or(&caller.actor().id).clone();
    let to = which.to.map(|it| if it == "me" { own } else { Name::new(&it) });
    let sight = Sight::of(&app, &caller);
    let page = app.read(move |reads| {
        let (mut items, mut looked) = (Vec::new(), 0);
        loop {
            let found = reads.notifications(after, most - items.len())?;
            for record in &found.records {
                let entry = record.entry()?;
                let Event::Notified { audience, to: told, .. } = &entry.event else { continue };
                let wanted = which.audience.as_ref().is_none_or(|it| **audience == **it)
                    && to.as_ref().is_none_or(|it| told.contains(it));
                if wanted && sight.sees(reads, &entry)? {
                    items.push(notice(&entry));
                }
            }
            looked += found.records.len();
            let Some(next) = found.next_cursor else { return Ok(Page { items, next_cursor: None }) };
            // Few of many may be wanted: then the page is short, and the next one goes on.
            if items.len() >= most || looked >= LOOKED {
                return Ok(Page { items, next_cursor: Some(cursors.give(next)) });
            }
            after = next;
        }
    });
    Ok(Json(page.await?))
}

/// What somebody was told, as an item of a list.
pub(crate) fn notice(entry: &Entry) -> Value {
    let mut told = json!({
        "seq": entry.seq, "since": entry.at.to_string(), "lifecycle": entry.entity.lifecycle, "id": entry.entity.id,
    });
    if let (Event::Notified { audience, to, message }, Value::Object(told)) = (&entry.event, &mut told) {
        told.insert("audience".to_owned(), json!(audience));
        told.insert("to".to_owned(), json!(to));
        told.insert("message".to_owned(), json!(message));
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
    let (limit, cursors) = (super::limit(page.limit)?, Cursors::of(&["violations"]));
    let after = cursors.after(page.cursor.as_deref())?;
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
        Ok(Page { items, next_cursor: next.map(|it| cursors.give(it)) })
    });
    Ok(Json(page.await?))
}

/// How far a sweep goes.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct HowDeep {
    /// Through the whole journal too, for entities of which nothing is kept.
    #[serde(default)]
    deep: bool,
}

/// Looks at every entity now, and repairs what its definition says how to. What is kept of each is held against the
/// journal, and made anew where it is something else.
#[utoipa::path(
    post, path = "/v1/sweep", tag = "notices", operation_id = "sweep", params(HowDeep, super::Keyed),
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn sweep(
    State(app): State<App>,
    caller: Caller,
    wanted: Wanted,
    Parameters(how): Parameters<HowDeep>,
) -> Result<Json<Value>, Refused> {
    caller.must_be_admin("run the sweep")?;
    let depth = if how.deep { Depth::Journal } else { Depth::Entities };
    let (gateway, reads) = (app.gateway.clone(), app.reads.clone());
    let swept = async move {
        let after = reads.seq();
        let report = gateway.sweep_to(depth)?.await?;
        Ok(json!({
            "lookedAt": report.looked_at, "found": report.found, "cleared": report.cleared, "repaired": report.repaired,
            "compared": report.compared, "mended": report.mended, "unchecked": report.unchecked,
            "forged": report.forged,
            "journal": { "after": after, "upto": reads.seq() },
        }))
    };
    answer_once(&app, KeyUse::of(&caller, &wanted, "/v1/sweep", &how.deep), swept).await
}
