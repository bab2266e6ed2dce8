//! Everything, as JSON lines: a line about it, the definitions, then the journal, then artifacts.

use axum::extract::State;
use axum::response::Response;
use serde_json::json;
use trackside_protocol::Problem;
use trackside_runtime::read::entry_json;
use trackside_store::{Artifacts, lines, rules};

use super::backups::unavailable;
use super::streamed::{self, Ended, Lines};
use crate::app::App;
use crate::auth::Caller;
use crate::events::Sight;
use crate::problem::Refused;

/// Exports the project as JSON lines. People with role admin get the records as they are kept, and artifacts; others
/// the entries that they may see, as the journal shows them.
#[utoipa::path(
    get, path = "/v1/export", tag = "journal", operation_id = "export",
    responses((status = 200, description = "One line about it, one per definition, one per entry, one per artifact.", body = String, content_type = "application/jsonl"),
        (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn export(State(app): State<App>, caller: Caller) -> Result<Response, Refused> {
    let sight = Sight::of(&app, &caller);
    let whole = caller.identity.is_admin();
    // What could not be brought back in is not handed out as if it could.
    let looked = app.blocking(move |app| {
        let mut reader = app.runtime.store().reader().map_err(unavailable)?;
        rules::hold(reader.as_mut(), &app.options.data.join("journal.db")).map_err(unavailable)
    });
    looked.await?;
    Ok(streamed::answer(move |out| write(&app, &sight, whole, out)))
}

fn write(app: &App, sight: &Sight, whole: bool, out: &mut Lines) -> Result<(), Ended> {
    let store = app.runtime.store();
    // What comes meanwhile is left out: it ends where it began to be read.
    let upto = app.reads.seq();
    let (mut reader, archive) = (store.reader()?, store.archive()?);
    let now = app.reads.now();
    let clock = app.runtime.options().clock.is_manual().then_some(now);
    out.say(&lines::about(now, upto, whole, clock))?;
    for it in reader.definitions()? {
        out.say(&lines::definition(&it))?;
    }
    lines::each_record::<Ended>(reader.as_mut(), &archive, upto, &mut |record| match whole {
        true => out.say(&lines::record(record)),
        false if sight.sees(&app.reads, &record.entry()?)? => {
            out.say(&json!({ "entry": entry_json(record)? }))
        }
        false => Ok(()),
    })?;
    if whole {
        let shown = Artifacts::of(&app.options.data);
        shown.each(|id, content| -> Result<(), Ended> { out.say(&lines::artifact(id, content)) })?;
    }
    Ok(())
}
