//! `trackside history`: the entries of an entity.

use serde_json::Value as Json;

use crate::args::{EntryForm, HistoryArgs};
use crate::log_lines::print_lines;
use crate::paging::{ListSize, fetch_list};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{list, number, seconds};
use crate::url::ApiPath;
use crate::{print, print_entry, refused};

pub(crate) fn run(args: &HistoryArgs) -> u8 {
    refused::finish_entity(&args.entity, args.ask.json, |lifecycle, id| history(args, lifecycle, id))
}

fn history(args: &HistoryArgs, lifecycle: &str, id: &str) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["entities", lifecycle, id, "history"]);
    let route = route.with_some("all", args.renewals.then_some(true));
    let much = args.limit.map_or(ListSize::All, |it| ListSize::Most(it as usize));
    if args.form == Some(EntryForm::Pack) {
        return print_lines(&ServerConnection::find(&args.ask.reach)?, &route, much);
    }
    let found = fetch_list(&ServerConnection::find(&args.ask.reach)?, &route, much)?;
    Ok(print::answer(&found.to_json(), args.ask.json, show))
}

fn show(found: &Json) {
    let before = number(found, "archivedBefore");
    if before > 0 {
        print::message(styled!("entries before {before} are archived"));
    }
    for it in list(found, "items") {
        print::line(print_entry::line(it, false));
    }
    let stays = found.get("timeInStates").and_then(Json::as_object);
    let stays: Vec<String> = stays
        .into_iter()
        .flatten()
        .map(|(state, it)| format!("{state} {}", seconds(it.as_f64().unwrap_or_default())))
        .collect();
    if !stays.is_empty() {
        print::line(styled!("time in states: {}", stays.join(", ")));
    }
}
