//! `trackside stats`: entities per state, time in states, transitions and refusals.

use serde_json::Value as Json;

use crate::args::StatsArgs;
use crate::print::{self, Colour, painted_data};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{list, seconds, text};
use crate::url::ApiPath;

pub(crate) fn run(args: &StatsArgs) -> u8 {
    let about = CommandSubject { lifecycle: args.lifecycle.as_deref(), ..CommandSubject::default() };
    refused::finish(stats(args), about, args.ask.json)
}

fn stats(args: &StatsArgs) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["stats"]).with_some("lifecycle", args.lifecycle.as_ref());
    let found = ServerConnection::find(&args.ask.reach)?.get(&route)?;
    let show = if args.lifecycle.is_some() { print_answer } else { show_all };
    Ok(print::answer(&found, args.ask.json, show))
}

fn show_all(found: &Json) {
    let lived: Vec<&Json> = list(found, "items").iter().filter(|it| total(it) > 0).collect();
    if lived.is_empty() {
        print::message("no entities yet. Create one with: trackside new LIFECYCLE");
    }
    lived.into_iter().for_each(print_answer);
}

fn total(it: &Json) -> u64 {
    let states = it.get("states").and_then(Json::as_object).into_iter().flatten();
    states.filter_map(|(_, count)| count.as_u64()).sum()
}

fn print_answer(it: &Json) {
    print::line(styled!("{}  {} in all", painted_data(text(it, "lifecycle"), Colour::Bold), total(it)));
    let counts = it.get("states").and_then(Json::as_object);
    let stays = it.get("timeInState").and_then(Json::as_object);
    let mut states: Vec<&String> = counts.into_iter().chain(stays).flat_map(|it| it.keys()).collect();
    states.sort();
    states.dedup();
    print_table(["  STATE", "NOW", "STAYS", "MEAN", "P50", "P90", "P99"], states, |state| {
        let now = counts.and_then(|it| it.get(state)).and_then(Json::as_u64).unwrap_or_default();
        let stay = stays.and_then(|it| it.get(state));
        let length = |name: &str| {
            let answer = stay.and_then(|it| it.get(name)).and_then(Json::as_f64);
            answer.map_or_else(|| "-".to_owned(), seconds)
        };
        let count = stay.and_then(|it| it.get("count")).and_then(Json::as_u64).unwrap_or_default();
        [
            format!("  {state}"),
            now.to_string(),
            count.to_string(),
            length("mean"),
            length("p50"),
            length("p90"),
            length("p99"),
        ]
    });
    let moves = |name: &str| {
        let answer = it.pointer(&format!("/throughput/{name}")).and_then(Json::as_u64);
        answer.unwrap_or_default()
    };
    let from = it.pointer("/throughput/countedFrom").and_then(Json::as_str);
    let from = from.map(|it| format!(" (counted from {it})")).unwrap_or_default();
    print::line(styled!(
        "  moves     {} in the last minute, {} in the last hour{from}, {} since the start",
        moves("lastMinute"),
        moves("lastHour"),
        moves("sinceStart")
    ));
    let runs = |name: &str| it.pointer(&format!("/runs/{name}")).and_then(Json::as_u64).unwrap_or_default();
    if runs("open") > 0 {
        print::line(styled!(
            "  runs      {} open, {} of processor time, {} MiB of memory",
            runs("open"),
            seconds(runs("processor") as f64 / 1_000.0),
            runs("memory") / (1 << 20)
        ));
    }
    let refusals = it.get("refusals").and_then(Json::as_object).into_iter().flatten();
    let refusals: Vec<String> = refusals.map(|(code, many)| format!("{code} {many}")).collect();
    if !refusals.is_empty() {
        print::line(styled!("  refusals  {} since the start", refusals.join(", ")));
    }
}
