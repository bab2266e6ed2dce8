//! The history of an entity.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use trackside_engine::actor::Actor;
use trackside_engine::event::Entry;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_protocol::{EntryBody, FieldMap, HistoryBody, HistoryItem, Problem, RunSummary, entry_value};
use trackside_runtime::ReadError;
use trackside_runtime::read::Reads;
use utoipa::IntoParams;

use super::runs::runs_of_entity;
use super::{Cursors, Parameters, stored_body};
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
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    cursor: Option<String>,
    /// Include lease renewals.
    #[serde(default)]
    all: bool,
    /// Include the runs of agents for the entity.
    #[serde(default)]
    runs: bool,
    /// `pack`: the log lines that the pack declares, instead of the entries.
    #[param(value_type = Option<String>)]
    form: Option<LineForm>,
}

/// The form of journal entries in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LineForm {
    /// As the journal has them.
    Entry,
    /// Log lines, as the pack declares them.
    Pack,
}

/// Entries as items of a list, in the wanted form.
pub(crate) fn items(
    reads: &Reads,
    entries: Vec<(Entry, EntryBody)>,
    form: Option<LineForm>,
    reader: &Actor,
) -> Result<Vec<HistoryItem>, ReadError> {
    if form != Some(LineForm::Pack) {
        return Ok(entries.into_iter().map(|(_, body)| HistoryItem::Entry(Box::new(body))).collect());
    }
    let values = entries.iter().map(|(entry, _)| (entry.entity.clone(), entry_value(entry)));
    let lines = reads.log_lines(values, Some(reader))?;
    Ok(lines.into_iter().map(|it| HistoryItem::Line(FieldMap(it))).collect())
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
    let law = app.runtime.law();
    if which.form == Some(LineForm::Pack)
        && law.newest(&Name::new(&lifecycle)).is_some_and(|it| it.log.is_none())
    {
        let detail =
            format!("{lifecycle} declares no log line. Leave out form=pack, or add `log` to the lifecycle.");
        return Err(Refused::parameter("form", detail));
    }
    let cursors = Cursors::of(&["entities", &lifecycle, &id, "history"]);
    let after = cursors.after(which.cursor.as_deref())?;
    let key = EntityKey::new(lifecycle.as_str(), id.as_str());
    let (visibility, reader) = (Visibility::of(&app, &caller), caller.actor().clone());
    let found = app.read(move |reads| {
        visibility.check_observer(reads, &key)?;
        let history = reads.history(&key, after, limit, which.all)?;
        let mut entries = Vec::new();
        for record in &history.records {
            let entry = record.entry()?;
            if let Some(seen) = visibility.entry(reads, &entry)? {
                let body = stored_body(record, &seen);
                entries.push((seen.into_owned(), body));
            }
        }
        let runs = which.runs.then(|| runs_of_entity(reads, &key)).transpose()?;
        let runs = runs.map(|it| it.into_iter().map(RunSummary::from).collect());
        let stays = reads.stays(&key)?;
        let seconds = stays.iter().map(|it| (it.state.to_string(), it.spent.0 as f64 / 1_000.0));
        Ok(HistoryBody {
            items: items(reads, entries, which.form, &reader)?,
            next_cursor: history.next_cursor.map(|it| cursors.give(it)),
            time_in_states: seconds.collect(),
            visits: stays.iter().map(|it| (it.state.to_string(), it.visits)).collect(),
            archived_before: history.archived_before,
            runs,
        })
    });
    Ok(Json(found.await?))
}
