//! `trackside violations`: invariants that were found broken.

use serde_json::Value as Json;

use crate::args::ViolationsArgs;
use crate::paging::fetch_list;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{entity_of, is_true, moment, text};
use crate::url::ApiPath;

pub(crate) fn run(args: &ViolationsArgs) -> u8 {
    refused::finish(violations(args), CommandSubject::default(), args.list.ask.json)
}

fn violations(args: &ViolationsArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.list.ask.reach)?;
    let route = ApiPath::new(&["violations"]).with_some("all", args.cleared.then_some(true));
    let found = fetch_list(&server, &route, &args.list.page)?;
    Ok(found.print(args.list.ask.json, "no violations", show))
}

fn show(violations: &[Json]) {
    print_table(["SINCE", "NOW", "SEVERITY", "OF", "RULE", "SAYS"], violations, |it| {
        [
            moment(text(it, "since")),
            if is_true(it, "cleared") { "holds again" } else { "broken" }.to_owned(),
            text(it, "severity").to_owned(),
            entity_of(it),
            text(it, "rule").to_owned(),
            text(it, "message").to_owned(),
        ]
    });
}
