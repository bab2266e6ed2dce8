//! The export as JSON lines: a header, definitions, the journal, artifacts.

use axum::extract::State;
use axum::response::Response;
use trackside_protocol::{ExportedEntry, Problem};
use trackside_store::{Artifacts, export_lines, rules};

use super::backups::unavailable;
use super::json_lines::{self, JsonLines, StreamEnd};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Visibility;
use crate::problem::Refused;

/// Exports the project as JSON lines. People with role admin get the stored records and artifacts; others get the
/// entries that they may see.
#[utoipa::path(
    get, path = "/v1/export", tag = "journal", operation_id = "export",
    responses((status = 200, description = "A header line, then one line per definition, entry and artifact.", body = String, content_type = "application/jsonl"),
        (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn export(State(app): State<App>, caller: Caller) -> Result<Response, Refused> {
    let visibility = Visibility::of(&app, &caller);
    let whole = caller.identity.is_admin();
    // Refuses an export that could not be imported again.
    let looked = app.blocking(move |app| {
        let mut reader = app.runtime.store().reader().map_err(unavailable)?;
        rules::check_unchanged(reader.as_mut(), &app.options.data.join("journal.db")).map_err(unavailable)
    });
    looked.await?;
    Ok(json_lines::answer(move |out| write(&app, &visibility, whole, out)))
}

fn write(app: &App, visibility: &Visibility, whole: bool, out: &mut JsonLines) -> Result<(), StreamEnd> {
    let store = app.runtime.store();
    // Later entries are left out.
    let upto = app.reads.seq();
    let (mut reader, archive) = (store.reader()?, store.archive()?);
    let now = app.reads.now();
    let clock = app.runtime.options().clock.is_manual().then_some(now);
    out.say(&export_lines::header_line(now, upto, whole, clock))?;
    for it in reader.definitions()? {
        out.say(&export_lines::definition(&it))?;
    }
    export_lines::each_record::<StreamEnd>(reader.as_mut(), &archive, upto, &mut |record| match whole {
        true => out.say(&export_lines::record(record)),
        false => match visibility.body(&app.reads, record)? {
            Some(entry) => out.say(&ExportedEntry { entry }),
            None => Ok(()),
        },
    })?;
    if whole {
        let shown = Artifacts::of(&app.options.data);
        shown
            .each(|id, content| -> Result<(), StreamEnd> { out.say(&export_lines::artifact(id, content)) })?;
    }
    Ok(())
}
