//! `trackside history`: the entries of an entity.

use serde_json::Value as Json;

use crate::args::HistoryArgs;
use crate::paging::{ListSize, fetch_list};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::seconds;
use crate::url::ApiPath;
use crate::{exit, print, print_entry, print_transition};

pub(crate) fn run(args: &HistoryArgs) -> u8 {
    let (lifecycle, id) = match print_transition::parse_entity(&args.entity) {
        Ok(named) => named,
        Err(stopped) => return stopped.report(),
    };
    refused::finish(history(args, lifecycle, id), CommandSubject::entity(lifecycle, id), args.ask.json)
}

fn history(args: &HistoryArgs, lifecycle: &str, id: &str) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["entities", lifecycle, id, "history"]);
    let route = route.with_some("all", args.renewals.then_some(true));
    let much = args.limit.map_or(ListSize::All, |it| ListSize::Most(it as usize));
    let found = fetch_list(&ServerConnection::find(&args.ask.reach)?, &route, much)?;
    if args.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if let Some(before) = found.first.get("archivedBefore").and_then(Json::as_u64).filter(|it| *it > 0) {
        print::message(&format!("entries before {before} are archived"));
    }
    for it in &found.items {
        print::line(&print_entry::line(it, false));
    }
    let stays = found.first.get("timeInStates").and_then(Json::as_object);
    let stays: Vec<String> = stays
        .into_iter()
        .flatten()
        .map(|(state, it)| format!("{state} {}", seconds(it.as_f64().unwrap_or_default())))
        .collect();
    if !stays.is_empty() {
        print::line(&format!("time in states: {}", stays.join(", ")));
    }
    Ok(exit::DONE)
}
