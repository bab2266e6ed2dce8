//! `trackside runs`: the processes of agents.

use serde_json::Value as Json;

use crate::args::RunsArgs;
use crate::paging::fetch_list;
use crate::print::{self, Colour, painted_data};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{moment_at, number, places, seconds, text};
use crate::url::ApiPath;

pub(crate) fn run(args: &RunsArgs) -> u8 {
    refused::finish(runs(args), CommandSubject::default(), args.ask.json)
}

fn runs(args: &RunsArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    if let Some(id) = &args.run {
        let found = server.get(&ApiPath::new(&["runs", id]))?;
        return Ok(print::answer(&found, args.ask.json, print_details));
    }
    let route = ApiPath::new(&["runs"])
        .with_some("entity", args.entity.as_ref())
        .with_some("agent", args.agent.as_ref())
        .with_some("state", args.state.as_ref())
        .with_some("runner", args.runner.as_ref());
    let found = fetch_list(&server, &route, &args.page)?;
    Ok(found.print(args.ask.json, "no runs found", print_runs))
}

fn print_runs(runs: &[Json]) {
    print_table(
        ["RUN", "STATE", "AGENT", "ENTITY", "FOR", "TOKENS", "COST", "CONTEXT", "LAST"],
        runs,
        |it| {
            let or_dash =
                |name: &str| Some(text(it, name)).filter(|it| !it.is_empty()).unwrap_or("-").to_owned();
            let float = |name: &str| it.get(name).and_then(Json::as_f64);
            let tokens = it.get("tokens").map_or(0, |it| {
                ["input", "output", "cacheRead", "cacheWrite"]
                    .iter()
                    .map(|name| number(it, name))
                    .sum::<u64>()
            });
            let last = match (text(it, "exitClass"), text(it, "doing")) {
                ("", doing) => doing.to_owned(),
                (class, _) => [class, text(it, "exitText")].join(" ").trim().to_owned(),
            };
            [
                text(it, "id").to_owned(),
                text(it, "state").to_owned(),
                or_dash("agent"),
                or_dash("entity"),
                float("duration").map_or_else(|| "-".to_owned(), seconds),
                tokens.to_string(),
                float("cost").map_or_else(|| "-".to_owned(), |it| format!("${it:.2}")),
                float("context").map_or_else(|| "-".to_owned(), |it| format!("{it:.0} %")),
                last.split_whitespace().collect::<Vec<_>>().join(" "),
            ]
        },
    );
}

fn print_details(run: &Json) {
    let head = painted_data(text(run, "id"), Colour::Bold);
    print::line(styled!("{head} {} since {}", text(run, "state"), moment_at(run, "createdAt")));
    for line in places(run) {
        if !["id: ", "state: ", "createdAt: "].iter().any(|it| line.starts_with(it)) {
            print::line(styled!("  {line}"));
        }
    }
}
