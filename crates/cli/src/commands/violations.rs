//! `trackside violations`: invariants that were found broken.

use serde_json::Value as Json;

use crate::args::NoticesArgs;
use crate::listed::{Much, listed};
use crate::moment::{moment, text};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::table::Table;
use crate::{exit, print};

pub(crate) fn run(args: &NoticesArgs) -> u8 {
    refused::ended(violations(args), About::default(), args.ask.json)
}

fn violations(args: &NoticesArgs) -> Result<u8, Unanswered> {
    let much = Much::new(args.limit.map(|it| it as usize), args.all);
    let found = listed(&Server::find(&args.ask.reach)?, &Route::new(&["violations"]), much)?;
    if args.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if found.items.is_empty() {
        print::message("nothing was found broken");
        return Ok(exit::DONE);
    }
    let mut table = Table::new(&["SINCE", "NOW", "SEVERITY", "OF", "RULE", "SAYS"]);
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
