//! `trackside list`: entities of a lifecycle.

use serde_json::{Value as Json, json};

use crate::args::ListArgs;
use crate::entity_labels::EntityLabels;
use crate::paging::fetch_list;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::{cut, print_table};
use crate::time_format::{list, moment, seconds, text};
use crate::url::ApiPath;
use crate::{exit, print};

/// The longest title in a row, in characters. `--json` has the whole.
const LONGEST_TITLE: usize = 60;

pub(crate) fn run(args: &ListArgs) -> u8 {
    match &args.lifecycle {
        Some(lifecycle) => {
            refused::finish(entities(args, lifecycle), CommandSubject::lifecycle(lifecycle), args.ask.json)
        }
        None => refused::finish(lifecycles(args), CommandSubject::default(), args.ask.json),
    }
}

/// The lifecycles that have entities, each with their number in each state.
fn lifecycles(args: &ListArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?.acting_for(args.eyes.on_behalf.as_deref());
    let found = server.get(&ApiPath::new(&["stats"]))?;
    let states = |it: &Json| -> Vec<(String, u64)> {
        let states = it.get("states").and_then(Json::as_object).into_iter().flatten();
        states
            .filter_map(|(name, count)| Some((name.clone(), count.as_u64().filter(|it| *it > 0)?)))
            .collect()
    };
    let lived: Vec<&Json> = list(&found, "items").iter().filter(|it| !states(it).is_empty()).collect();
    if args.ask.json {
        let items =
            lived.iter().map(|it| json!({ "lifecycle": it.get("lifecycle"), "states": it.get("states") }));
        print::json(&json!({ "items": items.collect::<Vec<_>>() }));
        return Ok(exit::DONE);
    }
    if lived.is_empty() {
        print::message("no entities yet. Create one with: trackside new LIFECYCLE");
        return Ok(exit::DONE);
    }
    print_table(["LIFECYCLE", "ENTITIES", "STATES"], lived, |it| {
        let states = states(it);
        let named: Vec<String> = states.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let all: u64 = states.iter().map(|(_, count)| count).sum();
        [text(it, "lifecycle").to_owned(), all.to_string(), named.join(", ")]
    });
    print::message("list the entities of one with: trackside list LIFECYCLE");
    Ok(exit::DONE)
}

fn entities(args: &ListArgs, lifecycle: &str) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["entities", lifecycle])
        .with_some("state", args.state.as_ref())
        .with_some("where", args.only.as_ref())
        .with_some("overdue", args.overdue.then_some(true));
    let server = ServerConnection::find(&args.ask.reach)?.acting_for(args.eyes.on_behalf.as_deref());
    let found = fetch_list(&server, &route, &args.page)?;
    let none = format!("no {lifecycle} found");
    Ok(found.print(args.ask.json, &none, |items| {
        print_entities(items, &EntityLabels::fetch(&server, lifecycle));
    }))
}

/// Entities as a table, with what their lifecycle declares for lists.
pub(super) fn print_entities(entities: &[Json], labels: &EntityLabels) {
    let headings = ["ID", "TITLE", "HELD BY", "FOR", "STATE", "NEXT TIMER", "FIELDS"];
    print_table(headings, entities, |it| {
        let stay = it.get("timeInState").and_then(Json::as_f64).unwrap_or_default();
        let next = list(it, "timers")
            .iter()
            .map(|it| text(it, "dueAt"))
            .filter(|it| !it.is_empty())
            .min()
            .map(moment);
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
