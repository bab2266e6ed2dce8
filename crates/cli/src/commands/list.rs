//! `trackside list`: entities of a lifecycle.

use serde_json::Value as Json;

use crate::args::ListArgs;
use crate::entity_labels::EntityLabels;
use crate::paging::fetch_list;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::{cut, print_table};
use crate::time_format::{list, moment, seconds, text};
use crate::url::ApiPath;

/// The longest title in a row, in characters. `--json` has the whole.
const LONGEST_TITLE: usize = 60;

pub(crate) fn run(args: &ListArgs) -> u8 {
    refused::finish(entities(args), CommandSubject::lifecycle(&args.lifecycle), args.ask.json)
}

fn entities(args: &ListArgs) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["entities", &args.lifecycle])
        .with_some("state", args.state.as_ref())
        .with_some("where", args.only.as_ref())
        .with_some("overdue", args.overdue.then_some(true));
    let server = ServerConnection::find(&args.ask.reach)?.acting_for(args.eyes.on_behalf.as_deref());
    let found = fetch_list(&server, &route, &args.page)?;
    let none = format!("no {} found", args.lifecycle);
    Ok(found.print(args.ask.json, &none, |items| {
        print_entities(items, &EntityLabels::fetch(&server, &args.lifecycle));
    }))
}

/// Entities as a table, with what their lifecycle declares for lists.
pub(super) fn print_entities(entities: &[Json], labels: &EntityLabels) {
    let headings = ["ID", "TITLE", "HELD BY", "FOR", "STATE", "NEXT TIMER", "FIELDS"];
    print_table(headings, entities, |it| {
        let stay = it.get("timeInState").and_then(Json::as_f64).unwrap_or_default();
        let next = list(it, "timers").iter().map(|it| text(it, "dueAt")).min().map(moment);
        let title = Some(labels.title(it)).filter(|it| !it.is_empty());
        [
            text(it, "id").to_owned(),
            title.map_or_else(|| "-".to_owned(), |it| cut(&it, Some(LONGEST_TITLE))),
            labels.holder(it),
            seconds(stay),
            text(it, "state").to_owned(),
            next.unwrap_or_else(|| "-".to_owned()),
            labels.card(it),
        ]
    });
}
