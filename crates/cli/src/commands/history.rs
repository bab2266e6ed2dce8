//! `trackside history`: what happened to an entity.

use serde_json::Value as Json;

use crate::args::HistoryArgs;
use crate::listed::{Much, listed};
use crate::moment::seconds;
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::{entry, exit, moved, print};

pub(crate) fn run(args: &HistoryArgs) -> u8 {
    let (lifecycle, id) = match moved::named(&args.entity) {
        Ok(named) => named,
        Err(stopped) => return stopped.told(),
    };
    refused::ended(history(args, lifecycle, id), About::entity(lifecycle, id), args.ask.json)
}

fn history(args: &HistoryArgs, lifecycle: &str, id: &str) -> Result<u8, Unanswered> {
    let route = Route::new(&["entities", lifecycle, id, "history"]);
    let route = route.with_some("all", args.renewals.then_some(true));
    let much = args.limit.map_or(Much::All, |it| Much::Most(it as usize));
    let found = listed(&Server::find(&args.ask.reach)?, &route, much)?;
    if args.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if let Some(before) = found.first.get("archivedBefore").and_then(Json::as_u64).filter(|it| *it > 0) {
        print::message(&format!("what happened before entry {before} is in an archive"));
    }
    for it in &found.items {
        print::line(&entry::line(it, false));
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
