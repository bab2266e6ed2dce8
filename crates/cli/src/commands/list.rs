//! `trackside list`: entities of a lifecycle.

use serde_json::Value as Json;

use super::show::says_something;
use crate::args::ListArgs;
use crate::paging::fetch_list;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{list, moment, seconds, text, value};
use crate::url::ApiPath;

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
    Ok(found.print(args.ask.json, &format!("no {} found", args.lifecycle), print_entities))
}

/// Entities as a table.
pub(super) fn print_entities(entities: &[Json]) {
    print_table(["ID", "STATE", "FOR", "HELD BY", "NEXT TIMER", "FIELDS"], entities, |it| {
        let stay = it.get("timeInState").and_then(Json::as_f64).unwrap_or_default();
        let holders: Vec<&str> = list(it, "leases").iter().map(|it| text(it, "holder")).collect();
        let next = list(it, "timers").iter().map(|it| text(it, "dueAt")).min().map(moment);
        [
            text(it, "id").to_owned(),
            text(it, "state").to_owned(),
            seconds(stay),
            if holders.is_empty() { "-".to_owned() } else { holders.join(", ") },
            next.unwrap_or_else(|| "-".to_owned()),
            says(it),
        ]
    });
}

/// The short values of an entity in a line, without empty and false ones.
fn says(entity: &Json) -> String {
    let fields = entity.get("fields").and_then(Json::as_object).into_iter().flatten();
    let short = fields.filter(|(_, it)| match it {
        Json::Object(_) => false,
        Json::Bool(yes) => *yes,
        Json::Number(number) => number.as_f64() != Some(0.0),
        Json::Array(some) => some.iter().all(|it| !it.is_object()) && says_something(it),
        it => says_something(it),
    });
    short.map(|(name, it)| format!("{name}: {}", value(it))).collect::<Vec<_>>().join(" · ")
}
