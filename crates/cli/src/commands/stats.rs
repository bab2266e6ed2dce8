//! `trackside stats`: how many are where, how long they stay, how many moves there were and what was refused.

use serde_json::Value as Json;

use crate::args::StatsArgs;
use crate::exit;
use crate::moment::{list, seconds, text};
use crate::print::{self, Colour, painted_data};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::table::Table;

pub(crate) fn run(args: &StatsArgs) -> u8 {
    let about = About { lifecycle: args.lifecycle.as_deref(), ..About::default() };
    refused::ended(stats(args), about, args.ask.json)
}

fn stats(args: &StatsArgs) -> Result<u8, Unanswered> {
    let route = Route::new(&["stats"]).with_some("lifecycle", args.lifecycle.as_ref());
    let found = Server::find(&args.ask.reach)?.get(&route)?;
    if args.ask.json {
        print::line(&format!("{found:#}"));
        return Ok(exit::DONE);
    }
    if args.lifecycle.is_some() {
        tell(&found);
        return Ok(exit::DONE);
    }
    let lived: Vec<&Json> = list(&found, "items").iter().filter(|it| total(it) > 0).collect();
    if lived.is_empty() {
        print::message("there is nothing yet: trackside new makes something");
    }
    lived.into_iter().for_each(tell);
    Ok(exit::DONE)
}

fn total(it: &Json) -> u64 {
    let states = it.get("states").and_then(Json::as_object).into_iter().flatten();
    states.filter_map(|(_, count)| count.as_u64()).sum()
}

fn tell(it: &Json) {
    print::line(&format!("{}  {} in all", painted_data(text(it, "lifecycle"), Colour::Bold), total(it)));
    let mut table = Table::new(&["  STATE", "NOW", "STAYS", "MEAN", "P50", "P90", "P99"]);
    let counts = it.get("states").and_then(Json::as_object);
    let stays = it.get("timeInState").and_then(Json::as_object);
    let mut states: Vec<&String> = counts.into_iter().chain(stays).flat_map(|it| it.keys()).collect();
    states.sort();
    states.dedup();
    for state in states {
        let now = counts.and_then(|it| it.get(state)).and_then(Json::as_u64).unwrap_or_default();
        let stay = stays.and_then(|it| it.get(state));
        let length = |name: &str| {
            let told = stay.and_then(|it| it.get(name)).and_then(Json::as_f64);
            told.map_or_else(|| "-".to_owned(), seconds)
        };
        let count = stay.and_then(|it| it.get("count")).and_then(Json::as_u64).unwrap_or_default();
        table.row([
            format!("  {state}"),
            now.to_string(),
            count.to_string(),
            length("mean"),
            length("p50"),
            length("p90"),
            length("p99"),
        ]);
    }
    table.show();
    let moves = |name: &str| {
        let told = it.pointer(&format!("/throughput/{name}")).and_then(Json::as_u64);
        told.unwrap_or_default()
    };
    let from = it.pointer("/throughput/countedFrom").and_then(Json::as_str);
    let from = from.map(|it| format!(" (counted from {it})")).unwrap_or_default();
    print::line(&format!(
        "  moves     {} in the last minute, {} in the last hour{from}, {} since the start",
        moves("lastMinute"),
        moves("lastHour"),
        moves("sinceStart")
    ));
    let refusals = it.get("refusals").and_then(Json::as_object).into_iter().flatten();
    let refusals: Vec<String> = refusals.map(|(code, many)| format!("{code} {many}")).collect();
    if !refusals.is_empty() {
        print::line(&format!("  refusals  {} since the start", refusals.join(", ")));
    }
}
