//! `trackside violations`: invariants that were found broken.

use serde_json::Value as Json;

use crate::args::NoticesArgs;
use crate::paging::{ListSize, fetch_list};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::TextTable;
use crate::time_format::{moment, text};
use crate::url::ApiPath;
use crate::{exit, print};

pub(crate) fn run(args: &NoticesArgs) -> u8 {
    refused::finish(violations(args), CommandSubject::default(), args.ask.json)
}

fn violations(args: &NoticesArgs) -> Result<u8, RequestError> {
    let much = ListSize::new(args.limit.map(|it| it as usize), args.all);
    let found = fetch_list(&ServerConnection::find(&args.ask.reach)?, &ApiPath::new(&["violations"]), much)?;
    if args.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if found.items.is_empty() {
        print::message("no violations");
        return Ok(exit::DONE);
    }
    let mut table = TextTable::new(&["SINCE", "NOW", "SEVERITY", "OF", "RULE", "SAYS"]);
    for it in &found.items {
        let cleared = it.get("cleared") == Some(&Json::Bool(true));
        table.row([
            moment(text(it, "since")),
            if cleared { "holds again" } else { "broken" }.to_owned(),
            text(it, "severity").to_owned(),
            format!("{}/{}", text(it, "lifecycle"), text(it, "id")),
            text(it, "rule").to_owned(),
            text(it, "message").to_owned(),
        ]);
    }
    table.show();
    found.tell_more();
    Ok(exit::DONE)
}
