//! `trackside list`: entities of a lifecycle.

use serde_json::Value as Json;

use super::show::says_something;
use crate::args::ListArgs;
use crate::exit;
use crate::listed::{Much, listed};
use crate::moment::{list, moment, seconds, text, value};
use crate::print;
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::table::Table;

pub(crate) fn run(args: &ListArgs) -> u8 {
    refused::ended(entities(args), About::lifecycle(&args.lifecycle), args.ask.json)
}

fn entities(args: &ListArgs) -> Result<u8, Unanswered> {
    let route = Route::new(&["entities", &args.lifecycle])
        .with_some("state", args.state.as_ref())
        .with_some("where", args.only.as_ref())
        .with_some("overdue", args.overdue.then_some(true));
    let much = Much::new(args.limit.map(|it| it as usize), args.all);
    let found =
        listed(&Server::find(&args.ask.reach)?.acting_for(args.eyes.on_behalf.as_deref()), &route, much)?;
    if args.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if found.items.is_empty() {
        print::message(&format!("there is no such {}", args.lifecycle));
        return Ok(exit::DONE);
    }
    tell(&found.items);
    found.tell_more();
    Ok(exit::DONE)
}

/// Entities as a table.
pub(super) fn tell(entities: &[Json]) {
    let mut table = Table::new(&["ID", "STATE", "FOR", "HELD BY", "NEXT BY ITSELF", "SAYS"]);
    for it in entities {
        let stay = it.get("timeInState").and_then(Json::as_f64).unwrap_or_default();
        let holders: Vec<&str> = list(it, "leases").iter().map(|it| text(it, "holder")).collect();
        let next = list(it, "timers").iter().map(|it| text(it, "dueAt")).min().map(moment);
        table.row([
            text(it, "id").to_owned(),
            text(it, "state").to_owned(),
            seconds(stay),
            if holders.is_empty() { "-".to_owned() } else { holders.join(", ") },
            next.unwrap_or_else(|| "-".to_owned()),
            says(it),
        ]);
    }
    table.show();
}

/// The short values of an entity in a line; what is nothing, no or none is left out.
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
