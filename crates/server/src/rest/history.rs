//! The history of an entity.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use trackside_engine::key::EntityKey;
use trackside_protocol::{HistoryBody, Problem};
use utoipa::IntoParams;

use super::{Cursors, Parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Visibility;
use crate::problem::Refused;

/// Parameters of a history.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct HistoryQuery {
    /// Page size: 50 by default, 200 at most.
    #[param(minimum = 1)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    cursor: Option<String>,
    /// Include lease renewals.
    #[serde(default)]
    all: bool,
}

/// Lists the journal entries of an entity, the oldest first, and the seconds spent in each state.
#[utoipa::path(
    get, path = "/v1/entities/{lifecycle}/{id}/history", tag = "entities", operation_id = "history",
    params(("lifecycle" = String, Path), ("id" = String, Path), HistoryQuery),
    responses((status = 200, body = HistoryBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn history(
    State(app): State<App>,
    caller: Caller,
    Path((lifecycle, id)): Path<(String, String)>,
    Parameters(which): Parameters<HistoryQuery>,
) -> Result<Json<HistoryBody>, Refused> {
    let limit = super::limit(which.limit)?;
    let cursors = Cursors::of(&["entities", &lifecycle, &id, "history"]);
    let after = cursors.after(which.cursor.as_deref())?;
    let key = EntityKey::new(lifecycle.as_str(), id.as_str());
    let visibility = Visibility::of(&app, &caller);
    let found = app.read(move |reads| {
        visibility.check_observer(reads, &key)?;
        let history = reads.history(&key, after, limit, which.all)?;
        let mut items = Vec::new();
        for record in &history.records {
            items.extend(visibility.body(reads, record)?);
        }
        let stays = reads.stays(&key)?;
        let seconds = stays.iter().map(|it| (it.state.to_string(), it.spent.0 as f64 / 1_000.0));
        Ok(HistoryBody {
            items,
            next_cursor: history.next_cursor.map(|it| cursors.give(it)),
            time_in_states: seconds.collect(),
            visits: stays.iter().map(|it| (it.state.to_string(), it.visits)).collect(),
            archived_before: history.archived_before,
        })
    });
    Ok(Json(found.await?))
}
