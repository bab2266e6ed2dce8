//! The journal.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use trackside_protocol::{EntryBody, HistoryItem, Page, Problem};
use utoipa::IntoParams;

use super::Parameters;
use super::history::{LineForm, items};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Visibility;
use crate::problem::Refused;

/// Parameters of the journal.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct JournalQuery {
    /// Entries after this one.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// Page size: 50 by default, 200 at most.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page; the same as `after`.
    cursor: Option<String>,
    /// `pack`: the log lines that the packs declare, instead of the entries. Entries without a log line are left out.
    #[param(value_type = Option<String>)]
    form: Option<LineForm>,
}

/// Lists the journal in order, as far as the caller may see it.
#[utoipa::path(
    get, path = "/v1/journal", tag = "journal", operation_id = "journal",
    params(JournalQuery),
    responses((status = 200, body = Page<EntryBody>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn journal(
    State(app): State<App>,
    caller: Caller,
    Parameters(which): Parameters<JournalQuery>,
) -> Result<Json<Page<HistoryItem>>, Refused> {
    let limit = super::limit(which.limit)?;
    let after = entry(which.cursor.as_deref())?.max(super::number("after", which.after)?.unwrap_or(0));
    let (visibility, reader) = (Visibility::of(&app, &caller), caller.actor().clone());
    let page = app.read(move |reads| {
        let (records, next) = reads.journal_page(after, limit)?;
        let mut entries = Vec::new();
        for record in &records {
            entries.extend(visibility.entry_and_body(reads, record)?);
        }
        let items = items(reads, entries, which.form, &reader)?;
        Ok(Page { items, next_cursor: next.map(|it| it.to_string()) })
    });
    Ok(Json(page.await?))
}

/// Entry numbers are public, so the cursor is one.
fn entry(cursor: Option<&str>) -> Result<u64, Refused> {
    let parse = |it: &str| {
        let detail = format!(
            "`{it}` is not a cursor of the journal. Send the `nextCursor` of the previous page, or an entry number"
        );
        it.parse().map_err(|_| Refused::parameter("cursor", detail))
    };
    cursor.map_or(Ok(0), parse)
}
